#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run-demo.sh: what `make run` shows: a search of the text that is on this
# machine, with the devices there are, then the same search on a modelled
# machine with two GPUs. Usage: run-demo.sh path/to/string_search [PATTERN]
set -u
search=$1
pattern=${2:-warranty}
top=$(cd "$(dirname "$0")/.." && pwd)
texts=()
for d in /usr/include /usr/share/doc /usr/share/common-licenses \
         /usr/share/perl /usr/lib/python3 /usr/lib/gcc; do
  [ -d "$d" ] && texts+=("$d")
done
[ ${#texts[@]} -gt 0 ] || texts=("$top")
out=$(mktemp)
report=$(mktemp)
trap 'rm -f "$out" "$report"' EXIT

echo "== string_search -i -n \"$pattern\" ${texts[*]}"
"$search" --report -i -n "$pattern" "${texts[@]}" >"$out" 2>"$report"
status=$?
[ $status -lt 2 ] || grep -q '^farm' "$report" || { cat "$report"; exit 1; }
head -n 5 "$out" | cut -c 1-100
echo "... $(wc -l <"$out") lines match in all"
# The second time the text is in the page cache.
"$search" --report -i -n "$pattern" "${texts[@]}" 2>"$report" | cmp -s - "$out" \
  || { echo "a second search gave another answer"; exit 1; }
sed -n '/^farm/,$p' "$report"

if ! command -v nvidia-smi >/dev/null 2>&1; then
  platform=$top/doc/platforms/thesis.platform
  echo
  echo "== the same on a modelled machine, in virtual time: 4 cores, Tesla"
  echo "   C1060, Quadro FX1800 (Zhang 2011; no GPU is needed for this)"
  "$search" --platform "$platform" --report -i -n "$pattern" "${texts[@]}" \
    2>"$report" | cmp -s - "$out" || { echo "the answer differs"; exit 1; }
  echo "same $(wc -l <"$out") lines"
  sed -n '/^farm/,$p' "$report"
fi

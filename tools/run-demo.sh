#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run-demo.sh: what `make run` shows: a search of the text that is on this
# machine, with the devices there are, then the same search on a modelled
# machine with two GPUs; then the text is compressed, beside gzip.
# Usage: run-demo.sh path/to/string_search [path/to/hzip]
set -u
search=$1
hzip=${2:-}
pattern=warranty
top=$(cd "$(dirname "$0")/.." && pwd)
texts=()
for d in /usr/include /usr/share/doc /usr/share/common-licenses \
         /usr/share/perl /usr/lib/python3 /usr/lib/gcc; do
  [ -d "$d" ] && texts+=("$d")
done
[ ${#texts[@]} -gt 0 ] || texts=("$top")
out=$(mktemp)
report=$(mktemp)
text=$(mktemp)
trap 'rm -f "$out" "$report" "$text"' EXIT

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

echo
[ -n "$hzip" ] || { echo "hzip is left out: it needs libdeflate and zlib"; exit 0; }
find "${texts[@]}" -type f ! -name "*.gz" -exec cat {} + 2>/dev/null |
  head -c $((128 << 20)) >"$text"
bytes=$(stat -c %s "$text")
echo "== hzip, a pipeline, on $((bytes >> 20)) MiB of that text, and gzip"
now() { date +%s%N; }
compress() { # PROGRAM OPTIONS...: prints rate and ratio
  local begin end size
  begin=$(now)
  size=$("$@" <"$text" | wc -c)
  end=$(now)
  awk -v name="${1##*/} ${*:2}" -v n="$bytes" -v z="$size" -v ns=$((end - begin)) \
    'BEGIN { printf "%-10s %7.1f MB/s, %.1f %% of the size\n", name, 1e3 * n / ns, 100 * z / n }'
}
for level in -1 -6; do
  compress "$hzip" $level
  compress gzip $level
done
"$hzip" <"$text" | gzip -d | cmp - "$text" ||
  { echo "gzip -d reads other bytes than hzip wrote"; exit 1; }
echo "gzip -d reads what hzip writes"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# search.sh: string_search beside ripgrep and GNU grep, whole processes on a
# 2 GiB file of real text in the page cache, in interleaved rounds; medians.
# Usage: search.sh STRING_SEARCH [ROUNDS]; BENCH_TMP=DIR for the file.
set -u
search=$1
rounds=${2:-11}
dir=${BENCH_TMP:-${TMPDIR:-/tmp}}
file=$dir/hass-bench-2g.txt
wanted=$((2 << 30))

make_text() {
  local part=$dir/hass-bench-part.txt
  find /usr/include /usr/share/cppreference /usr/share/doc -type f \
    \( -name '*.h' -o -name '*.hpp' -o -name '*.html' -o -name copyright \) \
    -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 cat >"$part"
  [ -s "$part" ] || { echo "search: no text on this machine"; exit 0; }
  : >"$file"
  while [ "$(stat -c %s "$file")" -lt $wanted ]; do cat "$part" >>"$file"; done
  truncate -s $wanted "$file"
  rm -f "$part"
}
[ -f "$file" ] && [ "$(stat -c %s "$file")" -eq $wanted ] || make_text

patterns=$dir/hass-bench-patterns.txt
printf '%s\n' qzxjqv wombatting flibberti zzyzxroad quixotryy mxyzptlkk \
  xylophonist brobdingnag syzygetical kwyjibohood phlogistony jabberwocks \
  vorpalblade frumiousban slithytoves momerathsou >"$patterns"

names=() commands=()
add() { names+=("$1"); commands+=("$2"); }
one() {
  add string_search "$search --no-progress -c $1 $file"
  add "one core" "$search --no-progress --cores 1 -c $1 $file"
  command -v rg >/dev/null && add ripgrep "rg -c -F $1 $file"
  add grep "grep -c -F $1 $file"
}
measure() { # title
  local i r n=${#names[@]} start end t
  echo "$1"
  for ((i = 0; i < n; i++)); do : >"$dir/hass-bench-$i.ns"; done
  for ((r = -1; r < rounds; r++)); do
    for ((i = 0; i < n; i++)); do
      start=$(date +%s%N)
      ${commands[i]} >/dev/null
      end=$(date +%s%N)
      [ $r -lt 0 ] || echo $((end - start)) >>"$dir/hass-bench-$i.ns"
    done
  done
  local rival=
  for ((i = 0; i < n; i++)); do
    t=$(sort -n "$dir/hass-bench-$i.ns" | sed -n "$((rounds / 2 + 1))p")
    least=$(sort -n "$dir/hass-bench-$i.ns" | head -1)
    [ "${names[i]}" = ripgrep ] && rival=$t
    [ $i -eq 0 ] && ours=$t
    awk -v n="${names[i]}" -v t="$t" -v l="$least" -v b=$wanted 'BEGIN {
      printf "  %-14s median %7.1f ms  least %7.1f ms  %6.2f GB/s\n", n, t / 1e6,
             l / 1e6, b / t }'
    rm -f "$dir/hass-bench-$i.ns"
  done
  [ -z "$rival" ] || awk -v a="$rival" -v b="$ours" -v want="$2" 'BEGIN {
    printf "  string_search / ripgrep: %.2f times the rate, wanted %.2f: %s\n",
           a / b, want, (a / b >= want) ? "PASS" : "MISS" }'
}

export LC_ALL=C.UTF-8
echo "2 GiB of text, $(nproc) cores, $rounds rounds, load $(cut -d' ' -f1 /proc/loadavg)"
cat "$file" >/dev/null
one qzxjqv
measure "a rare literal, -c" 1.3
names=() commands=()
one "-f $patterns"
commands[2]="rg -c -F -f $patterns $file"
measure "16 patterns, -c" 1.0

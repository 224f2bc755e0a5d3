#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hzip.sh: hzip beside pigz, gzip and bgzip, whole processes on 300 MB of real
# text in the page cache, in interleaved rounds; medians of the times, and of
# the ratios within a round. Usage: hzip.sh HZIP [ROUNDS];
# BENCH_TMP=DIR for the files, BENCH_CORES=N for the cores of each program.
set -u
hzip=$1
rounds=${2:-5}
cores=${BENCH_CORES:-$(nproc)}
dir=${BENCH_TMP:-${TMPDIR:-/tmp}}
text=$dir/hass-bench-300m.txt
wanted=300000000
export LC_ALL=C

make_text() {
  find /usr/include /usr/lib/python3* /usr/share/perl /usr/lib/gcc \
    /usr/share/cppreference /usr/share/doc -type f \( -name '*.h' -o \
    -name '*.hpp' -o -name '*.py' -o -name '*.pm' -o -name '*.html' -o \
    -name copyright \) -print0 2>/dev/null | sort -z | xargs -0 cat 2>/dev/null |
    head -c $wanted >"$text"
  [ -s "$text" ] || { echo "hzip: no text on this machine"; exit 0; }
  local had
  had=$(stat -c %s "$text")
  while [ "$(stat -c %s "$text")" -lt $wanted ]; do
    head -c "$had" "$text" >>"$text.more" && cat "$text.more" >>"$text"
    rm -f "$text.more"
  done
  truncate -s $wanted "$text"
}
[ -f "$text" ] && [ "$(stat -c %s "$text")" -eq $wanted ] || make_text
cat "$text" >/dev/null

have() { command -v "$1" >/dev/null; }
names=() commands=() inputs=()
add() { names+=("$1"); commands+=("$2"); inputs+=("$3"); }
median() { sort -g | sed -n "$((rounds / 2 + 1))p"; }

# Runs what was added; then prints, for each, its time, the size of its output
# and the ratio of the first one's time to its own.
measure() { # title
  local i r n=${#names[@]} start t
  echo "$1"
  for ((i = 0; i < n; i++)); do : >"$dir/hass-bench-$i.s"; done
  for ((r = -1; r < rounds; r++)); do
    for ((i = 0; i < n; i++)); do
      start=$EPOCHREALTIME
      ${commands[i]} <"${inputs[i]}" >"$dir/hass-bench.out" || exit 1
      t=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
      [ "$r" -ge 0 ] || stat -c %s "$dir/hass-bench.out" >"$dir/hass-bench-$i.n"
      [ "$r" -lt 0 ] || echo "$t" >>"$dir/hass-bench-$i.s"
    done
  done
  for ((i = 0; i < n; i++)); do
    t=$(median <"$dir/hass-bench-$i.s")
    awk -v n="${names[i]}" -v t="$t" -v b="$(cat "$dir/hass-bench-$i.n")" \
      -v x="$(paste "$dir/hass-bench-0.s" "$dir/hass-bench-$i.s" |
              awk '{ print $1 / $2 }' | median)" \
      -v first="$(cat "$dir/hass-bench-0.n")" 'BEGIN {
        printf "  %-22s %7.3f s  %10d bytes  %5.2f times as fast, size %.4f\n",
               n, t, b, x, b / first }'
  done
  for ((i = 0; i < n; i++)); do
    rm -f "$dir/hass-bench-$i.s" "$dir/hass-bench-$i.n"
  done
  names=() commands=() inputs=()
}

echo "300 MB of text, $cores cores, $rounds rounds, load" \
  "$(cut -d' ' -f1 /proc/loadavg)"
for level in 1 6 9; do
  have pigz && add "pigz -$level" "pigz -c -p $cores -$level" "$text"
  add "hzip -$level" "$hzip -c -p $cores -$level" "$text"
  [ $level -ne 6 ] || add "hzip -$level -p 1" "$hzip -c -p 1 -$level" "$text"
  measure "compression, -$level"
done
have bgzip && add "bgzip" "bgzip -c -@ $cores" "$text"
add "hzip --bgzf" "$hzip -c -p $cores --bgzf" "$text"
measure "compression into BGZF"

own=$dir/hass-bench-own.gz other=$dir/hass-bench-other.gz
bgzf=$dir/hass-bench-bgzf.gz
"$hzip" -c <"$text" >"$own" && gzip -c <"$text" >"$other" &&
  "$hzip" --bgzf -c <"$text" >"$bgzf" || exit 1
add "gzip -d" "gzip -dc" "$own"
add "hzip -d" "$hzip -dc -p $cores" "$own"
add "hzip -d -p 1" "$hzip -dc -p 1" "$own"
measure "decompression of hzip's file"
have pigz && add "pigz -d" "pigz -dc -p $cores" "$other"
add "hzip -d" "$hzip -dc -p $cores" "$other"
add "gzip -d" "gzip -dc" "$other"
measure "decompression of gzip's file"
have bgzip && add "bgzip -d" "bgzip -dc -@ $cores" "$bgzf"
add "hzip -d" "$hzip -dc -p $cores" "$bgzf"
measure "decompression of BGZF"
rm -f "$own" "$other" "$bgzf" "$dir/hass-bench.out"

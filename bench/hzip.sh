#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hzip.sh: hzip beside pigz, gzip and bgzip, whole processes on 300 MB of real
# text in the page cache, to /dev/null, in interleaved rounds; medians of the times, and of
# the ratios within a round, of wall-clock time and of CPU time. The latter says
# more where other programs run. Usage: hzip.sh HZIP [ROUNDS];
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

TIMEFORMAT='%R %U %S'
# Median of column $3 of $1 / column $3 of $2, rounds being lines.
ratio() {
  paste -d ' ' "$1" "$2" |
    awk -v c="$3" '{ b = $(c + 2); print (b > 0) ? $c / b : 0 }' | median
}

# Runs what was added; then prints, for each, its times, the size of its output
# and the ratios of the first one's times to its own.
measure() { # title
  local i r n=${#names[@]} file=$dir/hass-bench
  echo "$1"
  for ((i = 0; i < n; i++)); do : >"$file-$i.s"; done
  for ((r = -1; r < rounds; r++)); do
    for ((i = 0; i < n; i++)); do
      if [ "$r" -lt 0 ]; then
        ${commands[i]} <"${inputs[i]}" | wc -c >"$file-$i.n" || exit 1
        continue
      fi
      { time ${commands[i]} <"${inputs[i]}" >/dev/null 2>&3; } \
        3>&2 2>"$file.time" || exit 1
      awk '{ print $1, $2 + $3 }' "$file.time" >>"$file-$i.s"
    done
  done
  for ((i = 0; i < n; i++)); do
    awk -v n="${names[i]}" -v t="$(cut -d' ' -f1 "$file-$i.s" | median)" \
      -v u="$(cut -d' ' -f2 "$file-$i.s" | median)" \
      -v b="$(cat "$file-$i.n")" -v first="$(cat "$file-0.n")" \
      -v x="$(ratio "$file-0.s" "$file-$i.s" 1)" \
      -v y="$(ratio "$file-0.s" "$file-$i.s" 2)" 'BEGIN {
        printf "  %-14s %7.3f s, CPU %7.3f s, %10d bytes; %5.2f times as fast, " \
               "CPU %5.2f, size %.4f\n", n, t, u, b, x, y, b / first }'
  done
  rm -f "$file"-*.s "$file"-*.n "$file.time"
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
rm -f "$own" "$other" "$bgzf"

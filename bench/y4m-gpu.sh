#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# y4m-gpu.sh: y4m_denoise with the default strategy beside fixed mappings of
# its denoise stage: cores alone, each GPU alone with bundles of several
# sizes, and all devices, greedily, with bundles of several sizes. The clip is
# noise, which costs as much as any other, made here and kept in memory. Rates are
# frames over the makespan of the pipeline's report, medians of interleaved
# rounds; the cores alone get fewer frames and one round. Takes about a
# minute; after BENCH_SECONDS (75) it begins no further round.
# Usage: y4m-gpu.sh Y4M_DENOISE [ROUNDS]; Y4M_CLIP=1920x1080:480 (size,
# frames), Y4M_FLAGS="--platform=FILE" or any options of y4m_denoise,
# BENCH_TMP=DIR for the clip (/dev/shm).
set -u -o pipefail
export LC_ALL=C
denoise=$1
rounds=${2:-3}
clip=${Y4M_CLIP:-1920x1080:480}
size=${clip%:*} frames=${clip#*:}
width=${size%x*} height=${size#*x}
bytes=$((width * height * 3 / 2))
dir=$(mktemp -d "${BENCH_TMP:-/dev/shm}/hass-y4m-XXXXXX")
trap 'rm -rf "$dir"' EXIT

make_clip() { # frames file
  for ((i = 0; i < 8; i++)); do
    [ -f "$dir/frame-$i" ] || { printf 'FRAME\n'; head -c $bytes /dev/urandom; } \
      >"$dir/frame-$i"
  done
  {
    printf 'YUV4MPEG2 W%d H%d F25:1 C420mpeg2\n' "$width" "$height"
    for ((i = 0; i < $1; i++)); do cat "$dir/frame-$((i % 8))"; done
  } >"$2"
}
make_clip "$frames" "$dir/long.y4m"
make_clip $((frames / 8 + 1)) "$dir/short.y4m"

# Appends frames/s to NAME.rate; the report of the last run is in NAME.report.
measure() { # name clip frames options
  # shellcheck disable=SC2086
  "$denoise" --report ${Y4M_FLAGS:-} $4 "$dir/$2.y4m" /dev/null \
    2>"$dir/$1.report" || { cat "$dir/$1.report"; exit 1; }
  awk -v n="$3" '/^pipeline / {
    for (i = 2; i <= NF; i++)
      if ($i ~ /^(us|ms|s),$/) {
        t = $(i - 1) * ($i == "us," ? 1e-6 : $i == "ms," ? 1e-3 : 1)
        print n / t
        exit
      }
  }' "$dir/$1.report" >>"$dir/$1.rate"
}
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

names=(pipe-auto pipe-greedy pipe-lp)
for units in 0 1 2 4 8 16; do
  names+=("pipe-fixed:s1=1,units=$units" "pipe-fixed:s1=-1,units=$units")
done
measure pipe-fixed:s1=0 short $((frames / 8 + 1)) --strategy=pipe-fixed:s1=0
for ((r = 0; r < rounds && (r == 0 || SECONDS < ${BENCH_SECONDS:-75}); r++)); do
  for name in "${names[@]}"; do
    measure "$name" long "$frames" "--strategy=$name"
  done
done

echo "$frames frames of $size, $(nproc) cores, $r rounds, load" \
  "$(cut -d' ' -f1 /proc/loadavg) ${Y4M_FLAGS:-}"
best=0
for name in "${names[@]}" pipe-fixed:s1=0; do
  rate=$(median "$dir/$name.rate")
  printf '  %-26s %9.1f frames/s  %s\n' "$name" "$rate" \
    "$(sed -n '/ binds: /p' "$dir/$name.report")"
  [[ $name != pipe-fixed* ]] ||
    best=$(awk -v a="$best" -v b="$rate" 'BEGIN { print (b > a) ? b : a }')
done
awk -v a="$(median "$dir/pipe-auto.rate")" -v b="$best" 'BEGIN {
  printf "pipe-auto: %.1f %% of the best fixed mapping, wanted 97: %s\n", 100 * a / b,
         (a >= 0.97 * b) ? "PASS" : "MISS" }'
awk '/ binds: / || /^the generator binds/ {
  part = 0
  for (i = 2; i <= NF; i++) if ($i == "%") part = $(i - 1)
  printf "pipe-auto: %s; wanted 95 %%: %s\n", $0,
         (part >= 95 && !/^the generator/) ? "PASS" : "MISS" }' "$dir/pipe-auto.report"
sed -n '/^stage /,/^stage .* binds\|binds:/p; /^device /,$p' "$dir/pipe-auto.report"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# y4m.sh: y4m_denoise beside ffmpeg's nlmeans: the same patch, search window,
# and number of cores, whole processes from a file in the page cache to
# /dev/null, in interleaved rounds; medians. PSNR against the clean clip, at
# the strength at which each is best. The blend over time is off, as ffmpeg's
# filter has none; one line shows what it adds.
# Usage: y4m.sh Y4M_DENOISE [ROUNDS]; Y4M_CLIP=640x360:25 (size, frames),
# Y4M_PATCH=7, Y4M_SEARCH=15, BENCH_TMP=DIR for the clips.
set -u -o pipefail
denoise=$1
rounds=${2:-7}
clip=${Y4M_CLIP:-640x360:25} patch=${Y4M_PATCH:-7} search=${Y4M_SEARCH:-15}
size=${clip%:*} frames=${clip#*:}
command -v ffmpeg >/dev/null || { echo 'y4m: no ffmpeg on this machine'; exit 0; }
dir=$(mktemp -d "${BENCH_TMP:-${TMPDIR:-/tmp}}/hass-y4m-XXXXXX")
trap 'rm -rf "$dir"' EXIT
clean=$dir/clean.y4m noisy=$dir/noisy.y4m out=$dir/out.y4m

ff() { ffmpeg -nostdin -v error -y "$@"; }
theirs() { # cores strength output
  ff -threads "$1" -filter_threads "$1" -i "$noisy" \
    -vf "nlmeans=s=$2:p=$patch:r=$search" -f yuv4mpegpipe "$3"
}
ours() { # cores strength output [temporal]
  "$denoise" --cpu-only --cores="$1" -s "$2" -p "$patch" -r "$search" \
    -t "${4:-0}" "$noisy" "$3"
}
psnr() {
  ffmpeg -nostdin -i "$1" -i "$clean" -lavfi psnr -f null - 2>&1 |
    sed -n 's/.*average:\([0-9.]*\).*/\1/p'
}
# The strength of the highest PSNR in steps of 0.5, as "STRENGTH PSNR".
best() { # ours|theirs first
  local s=$2 p best=0 at=0
  while p=$($1 "$(nproc)" "$s" "$out" && psnr "$out") &&
    awk "BEGIN { exit !($p > $best) }"; do
    best=$p at=$s
    s=$(awk "BEGIN { print $s + 0.5 }")
  done
  echo "$at $best"
}
median() { sort -n "$1" | sed -n "$((rounds / 2 + 1))p"; }
measure() { # cores: medians of both
  local r start
  rm -f "$dir"/*.ns
  for ((r = -1; r < rounds; r++)); do
    for who in ours theirs; do
      start=$(date +%s%N)
      if [ $who = ours ]; then ours "$1" "$our_s" /dev/null
      else theirs "$1" "$their_s" /dev/null; fi
      [ $r -lt 0 ] || echo $(($(date +%s%N) - start)) >>"$dir/$who.ns"
    done
  done
  awk -v c="$1" -v a="$(median "$dir/ours.ns")" \
    -v b="$(median "$dir/theirs.ns")" -v n="$frames" 'BEGIN {
      printf "  %d core%s  y4m_denoise %8.1f ms %7.1f frames/s   ffmpeg %8.1f ms" \
             " %7.1f frames/s   %5.2f times the rate, wanted 1: %s\n", c,
             (c > 1) ? "s" : " ", a / 1e6, n * 1e9 / a, b / 1e6, n * 1e9 / b, b / a,
             (b >= a) ? "PASS" : "MISS" }'
}
compare() { # name source noise first_strength
  ff -f lavfi -i "$2" -frames:v "$frames" -pix_fmt yuv420p "$clean"
  ff -i "$clean" -vf "noise=alls=$3:allf=t:all_seed=7" -pix_fmt yuv420p "$noisy"
  read -r our_s our_psnr <<<"$(best ours "$4")"
  read -r their_s their_psnr <<<"$(best theirs "$4")"
  echo "$1, noise $3: $(psnr "$noisy") dB"
  ours "$(nproc)" "$our_s" "$out" 8
  awk -v a="$our_psnr" -v b="$their_psnr" -v s="$our_s" -v t="$their_s" \
    -v blended="$(psnr "$out")" 'BEGIN {
      printf "  PSNR     y4m_denoise %8.2f dB at %g (%.2f dB with -t 8)   ffmpeg" \
             " %8.2f dB at %g   %+.2f dB, wanted -0.1: %s\n", a, s, blended, b, t,
             a - b, (a - b >= -0.1) ? "PASS" : "MISS" }'
  measure 1
  [ "$(nproc)" -lt 2 ] || measure "$(nproc)"
}

echo "$frames frames of $size, patch $patch, search $search, $(nproc) cores," \
  "$rounds rounds, load $(cut -d' ' -f1 /proc/loadavg)"
compare testsrc2 "testsrc2=s=$size:r=25" 20 7
compare mandelbrot "mandelbrot=s=$size:r=25:start_scale=0.01" 12 4

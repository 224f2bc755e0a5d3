#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The lines of another revision of hass beside this one's: builds it in
# build/base/REV and runs the programs of both in turn.
# Usage: base.sh REV LINES PROGRAM...
#   REV      a commit, tag or branch
#   LINES    "overhead:a,pipeline": these alone, all if empty; a revision whose
#            programs do not know the wish runs all
#   PROGRAM  build/bench/NAME or build/bench/DIR/NAME
# Environment: REPETITIONS (3) of each program, BENCH_ROUNDS (5) in each.
# Prints a table of hass's own lines: median before and now, the ratio now / before
# and its range over the repetitions. A line is slower if it is by more than 3 % in
# each repetition. Exit status: 0 if none is, 1 if one is, 2 if nothing could be
# compared.
set -euo pipefail
rev=$1 lines=$2
shift 2
top=$(git rev-parse --show-toplevel)
name=$(git rev-parse --short "$rev^{commit}")
base=$top/build/base/$name
export BENCH_ROUNDS=${BENCH_ROUNDS:-5}
if [ ! -d "$base" ]; then git worktree prune && git worktree add -q --detach "$base" "$name"; fi
programs=()
for p in "$@"; do
  program=${p##*/}
  case ",$lines," in
    ,, | *",$program,"* | *",$program:"*) programs+=("${p#build/}") ;;
    *) case ",$lines" in *,[a-z],* | *,[a-z]) programs+=("${p#build/}") ;; esac ;;
  esac
done
[ ${#programs[@]} -gt 0 ] || { echo "base.sh: no program has lines $lines" >&2; exit 2; }
echo "building $name in $base"
make -s -C "$base" -j"$(nproc)" bench-programs >"$base.log" 2>&1 ||
  { tail "$base.log" >&2; exit 2; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for rep in $(seq "${REPETITIONS:-3}"); do
  for p in "${programs[@]}"; do
    [ -x "$base/build/$p" ] || continue
    both=("$base" "$top")
    [ $((rep % 2)) -eq 1 ] || both=("$top" "$base")
    for dir in "${both[@]}"; do
      which=now; [ "$dir" = "$top" ] || which=before
      (cd "$dir" && BENCH_LINES=$lines "build/$p") |
        sed "s|^|$which $rep ${p##*/} |" >>"$out/all"
    done
  done
done
awk '
  # PROGRAM line "a. title [unit]": what follows are its rows.
  { which = $1; rep = $2; program = $3; text = $0
    sub(/^[a-z]+ [0-9]+ [^ ]+ ?/, "", text) }
  text ~ /^[a-z]\. .*\[.*\]$/ {
    line = program ":" substr(text, 1, 1); unit = text; sub(/.*\[/, "", unit); sub(/\]$/, "", unit) }
  text ~ /^== / { line = program; unit = "" }
  text ~ /^  hass/ && length(text) > 50 {
    row = substr(text, 3, 46); sub(/ +$/, "", row); n = split(substr(text, 49), part, " ")
    if (part[1] !~ /^[0-9.e+-]+$/) next
    key = line " " row
    if (!(key in seen)) { seen[key] = 1; order[++n_keys] = key; units[key] = unit }
    value[key, which, rep] = part[1]; reps = rep > reps ? rep : reps }
  function median(a, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }
  END {
    printf "%-58s %10s %10s %7s  %s\n", "", "before", "now", "ratio", "range"
    for (k = 1; k <= n_keys; k++) {
      key = order[k]; n = 0; bad = 0
      more = units[key] ~ /%|\/s/
      for (r = 1; r <= reps; r++)
        if ((key, "before", r) in value && (key, "now", r) in value && value[key, "before", r] > 0) {
          n++; b[n] = value[key, "before", r]; w[n] = value[key, "now", r]; q[n] = w[n] / b[n]
          bad += more ? q[n] < 0.97 : q[n] > 1.03 }
      if (n == 0) continue
      compared++
      slower = bad == n; n_slower += slower
      mb = median(b, n); mw = median(w, n); mq = median(q, n)
      printf "%-58s %10.4g %10.4g %7.3f  %.3f to %.3f %s%s\n", key, mb, mw, mq, q[1], q[n], units[key], slower ? "  SLOWER" : "" }
    if (!compared) exit 2
    exit n_slower > 0 }' "$out/all"

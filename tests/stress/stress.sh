#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs suites where time proves nothing: each on one CPU that it shares with two
# to four busy processes, in random order, until the time is up.
# With PRELOAD=FILE in the environment the programs get that library, too.
# Usage: stress.sh PROGRAM SECONDS TIMES [OPTION OF PROGRAM]...
#   SECONDS  no suite begins later
#   TIMES    how often each suite is run, if the time suffices
#   OPTION   --suite=..., --skip=...: which suites
# Prints each test that failed, with failures of runs, and where the output of
# its first failure is. Exit status: 0 if none failed, 1 if one did, 2 if
# nothing was run.
# Thread safety: one lane per CPU, each with files of its own.
set -eu
program=$1 seconds=$2 times=$3
shift 3
dir=$(mktemp -d "${TMPDIR:-/tmp}/hass-stress-XXXXXX")
end=$((SECONDS + seconds))
suites=$("$program" --list "$@" | cut -d: -f1 | sort -u)
[ -n "$suites" ] || { echo "stress: no such suite" >&2; exit 2; }
for _ in $(seq "$times"); do printf '%s\n' "$suites" | shuf; done >"$dir/queue"
# The CPUs that this process may use: "0-3,8" becomes 0 1 2 3 8.
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status |
  tr , '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
n_lanes=$(wc -w <<<"$cpus")

busy() { while :; do :; done; }

# One CPU's part of the queue. A suite that hangs ends itself by its watchdog;
# the limit here is for one that cannot.
lane() {
  local i=$1 cpu=$2 s load status pids=()
  taskset -cp "$cpu" "$BASHPID" >/dev/null
  load=$((2 + RANDOM % 3))
  for _ in $(seq "$load"); do busy & pids+=($!); done
  while read -r s; do
    [ "$SECONDS" -lt "$end" ] || break
    status=0
    LD_PRELOAD=${PRELOAD-} timeout -k 5 900 "$program" --suite="$s" >"$dir/out.$i" 2>&1 </dev/null || status=$?
    echo "$s" >>"$dir/runs"
    if [ "$status" -ne 0 ]; then
      grep -a '^FAILED' "$dir/out.$i" >"$dir/failed.$i" ||
        echo "FAILED $s: it ended with status $status" >"$dir/failed.$i"
      cat "$dir/failed.$i" >>"$dir/failures"
      [ -e "$dir/$s.log" ] || cp "$dir/out.$i" "$dir/$s.log"
      echo "$(date +%T) $(head -n 1 "$dir/failed.$i")"
    fi
  done < <(awk -v i="$i" -v n="$n_lanes" 'NR % n == i' "$dir/queue")
  kill "${pids[@]}" 2>/dev/null || true
}

trap 'trap - INT TERM; kill 0 2>/dev/null' INT TERM
: >"$dir/runs"; : >"$dir/failures"
i=0
for cpu in $cpus; do lane "$i" "$cpu" & i=$((i + 1)); done
wait
n_runs=$(wc -l <"$dir/runs")
[ "$n_runs" -gt 0 ] || { echo "stress: nothing was run" >&2; exit 2; }
echo "$n_runs runs of $(sort -u "$dir/runs" | wc -l) of $(wc -w <<<"$suites") suites on $n_lanes CPUs"
if [ ! -s "$dir/failures" ]; then
  echo "no failure"
  rm -rf "$dir"
  exit 0
fi
sort "$dir/failures" | uniq -c | sort -rn | while read -r n what; do
  s=${what#FAILED }; s=${s%%:*}
  echo "$n of $(grep -cx "$s" "$dir/runs") ${what#FAILED } ($dir/$s.log)"
done
exit 1

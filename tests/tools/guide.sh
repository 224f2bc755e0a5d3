#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# guide.sh: follows doc/writing-a-strategy.md: its code becomes
# sched/guided.c, its line goes into sched/builtin.c, and both are linked
# before the library, whose own list they replace.
# Usage: guide.sh BUILD-FOLDER; exit status 0: the strategy works.
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
guide=$top/doc/writing-a-strategy.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$guide" >"$work/guided.c"
line=$(grep -x '  X (hass_guided) *\\' "$guide")
awk -v line="$line" '{ print } /^#define STRATEGIES/ { print line "\\" }' \
  "$top/sched/builtin.c" | sed 's/\\\\$/\\/' >"$work/builtin.c"
changed=$(diff "$top/sched/builtin.c" "$work/builtin.c" | grep -c '^[<>]' || true)
[ "$changed" = 1 ] || { echo "$changed lines of sched/builtin.c differ"; exit 1; }

cd "$top"
ask() { make -s --no-print-directory BUILD="$build" "$1"; }
compile=$(ask print-compile)
link=$(ask print-link)
for f in guided builtin; do
  $compile -Werror -c "$work/$f.c" -o "$work/$f.o"
done
program() { # NAME OBJECT...
  ${link/@OBJECTS@/$work/guided.o $work/builtin.o ${*:2}} -o "$work/$1"
}
program hass-info "$build"/tools/hass-info/*.o
program collatz "$build/examples/collatz.o"
# shellcheck disable=SC2046
program hass-tests $(ask print-test-objects)

"$work/hass-info" --strategies | grep guided
want=$("$build/bin/collatz" | sed -n 1p)
got=$(HASS_STRATEGY=guided HASS_PLATFORM=doc/platforms/thesis.platform \
  "$work/collatz" | sed -n 1p)
[ "$got" = "$want" ] || { echo "collatz says $got, not $want"; exit 1; }
if HASS_STRATEGY=guided:part=2 "$work/collatz" 2>"$work/err"; then
  echo "guided:part=2 was taken"
  exit 1
fi
grep -q "part" "$work/err"
TEST_STRATEGY=guided "$work/hass-tests" --suite contract,sched_registry >"$work/out" 2>&1 \
  || { cat "$work/out"; exit 1; }
tail -8 "$work/out"

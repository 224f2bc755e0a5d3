#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# layers.sh: tools/check-layers.sh accepts a small tree of two rooms, and
# refuses each thing that is wrong in it, by name. Usage: layers.sh BUILD
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p tools high low build/high build/low staged doc/results
cp "$top/tools/check-layers.sh" "$top/tools/list-files.sh" tools/
printf 'high: low\nlow:\n' | tee tools/layers.txt >doc/architecture.md
echo 'x' >doc/results/page.md
echo 'int low_call (void);' >low/low.h
echo 'int low_secret (void);' >low/low-private.h
echo 'int high_call (void);' >high/high.h
printf '%s\n' '#include "low-private.h"' 'int low_call (void) { return 1; }' >low/low.c
printf '%s\n' '#include "low/low.h"' 'int high_call (void) { return low_call (); }' >high/high.c
compile() {
  for f in high low; do ${CC:-cc} -I. -c $f/$f.c -o build/$f/$f.o; done
}
check() {
  compile
  tools/check-layers.sh staged build build/high/high.o build/low/low.o
}
refuses() {
  local said
  if said=$(check); then echo "not refused: $1"; exit 1; fi
  [[ $said == *"$1"* ]] || { echo "'$1' is not in: $said"; exit 1; }
}
check
keep=$(cat low/low.c)
printf '%s\n' "$keep" '#include "high/high.h"' >low/low.c
refuses 'low/low.c includes high/high.h of high, which low may not'
printf '%s\n' "$keep" 'int high_call (void); int again (void) { return high_call (); }' >low/low.c
refuses 'a circle of calls: '
printf '%s\n' "$keep" >low/low.c
sed -i 's/low.h/low-private.h/; 1a int low_call (void);' high/high.c
refuses 'high/high.c includes low/low-private.h, which is private to low'
sed -i 's/low-private.h/low.h/; 2d' high/high.c
check
{ echo 'int'; echo 'many (int a, int b, int c, int d, int e, int f, int g)'; echo '{'
  for _ in $(seq 60); do echo '  a++;'; done; echo '  return a;'; echo '}'; } >>low/low.c
refuses 'low/low.c many has 7 parameters, more than 6'
refuses 'low/low.c many has 63 lines, more than 60'
printf 'except low/low.c many has 7 parameters: why\nexcept low/low.c many has 63 lines: why\n' >>tools/layers.txt
check
printf 'except low/low.c many has 8 parameters: why\n' >>tools/layers.txt
refuses 'tools/layers.txt excepts low/low.c many has 8 parameters, which needs none'
sed -i '$d' tools/layers.txt
for _ in $(seq 500); do echo '/* */'; done >>low/low.c
refuses 'lines, more than 500'
printf '%s\n' "$keep" >low/low.c
sed -i '/^except/d' tools/layers.txt
for i in $(seq 26); do echo "/* */" >high/more$i.c; done
refuses 'high has 28 sources, more than 25'
rm high/more*.c
seq 201 >doc/results/page.md
refuses 'doc/results/page.md has 201 lines, more than 200'
echo 'high:' >doc/architecture.md
refuses "doc/architecture.md does not quote 'high: low'"

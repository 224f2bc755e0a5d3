#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# device_guide.sh: follows doc/writing-a-device.md: its code is
# examples/own_device.c; the file is built against the public headers and the
# shared library alone, and runs on the machine and on the guide's platform.
# Usage: device_guide.sh BUILD-FOLDER; exit status 0: the device works.
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
guide=$top/doc/writing-a-device.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next }
  /^```$/ { if (on) print ""; on = 0 } on' "$guide"; }
block c | sed '$d' >"$work/own_device.c"
diff -B "$work/own_device.c" "$top/examples/own_device.c"
block ini >"$work/own.platform"

cd "$top"
ask() { make -s --no-print-directory BUILD="$build" "$1"; }
# Without the folders of the source tree: nothing but what is installed.
compile=$(ask print-compile | sed 's/ -I\. -Ipool -Isched / /')
link=$(ask print-link)
(cd "$work" && $compile -Werror -c own_device.c)
lib=$(find "$build/lib" -name 'libhass.so.*.*.*' | head -1)
link=${link/@OBJECTS@/$work/own_device.o}
${link/$build\/lib\/libhass.a/$lib} -Wl,-rpath,"$build/lib" -o "$work/own_device"
soname=$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
ln -s "$lib" "$work/$soname"
export LD_LIBRARY_PATH=$work

runs() { # NAME: nothing is wrong, and the device gets units
  "$work/own_device" >"$work/out" || { cat "$work/out"; exit 1; }
  [ "$(grep -c 'done, 0 wrong, cpu [0-9]*, thread0 [0-9]' "$work/out")" = 4 ] ||
    { echo "$1:"; cat "$work/out"; exit 1; }
}
runs machine
HASS_PLATFORM=$work/own.platform runs platform
cat "$work/out"

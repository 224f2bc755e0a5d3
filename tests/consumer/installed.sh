#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# installed.sh: an installation holds what it should, projects build against
# it and run, it may be moved, and uninstalling removes it and nothing else.
# Usage: installed.sh BUILD-FOLDER; status 0: all so, 77: cannot be tried here.
#        installed.sh -      the installation that pkg-config finds
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
project=$top/tests/consumer/project
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "installed.sh: $*"; exit 1; }
for t in cmake pkg-config; do
  command -v $t >/dev/null || { echo "no $t"; exit 77; }
done
unset MAKELEVEL HASS_PLATFORM HASS_STRATEGY

version=$(sed -n 's/^#define HASS_VERSION_M[A-Z]* //p' "$top/pool/version.h" |
          paste -sd .)
runs() { # PROGRAM...
  local p got
  for p; do
    got=$(HASS_PROFILE=off "$p") || say "$p fails"
    [ "$got" = "hass $version: 333328333350000" ] || say "$p says $got"
  done
}
needs_shared() {
  readelf -d "$1" | grep -q 'NEEDED.*libhass\.so\.0' || say "$1: not shared"
}
static_only() {
  ! readelf -d "$1" | grep -q 'NEEDED.*libhass' || say "$1: not static"
}
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; say "fails: $*"; }; }

by_pkg_config() {
  cp -r "$project" "$work/shared"
  cp -r "$project" "$work/static"
  quiet make -C "$work/shared"
  quiet make -C "$work/static" STATIC=yes
  runs "$work"/{shared,static}/farm-{c,cxx}
  needs_shared "$work/shared/farm-c"
  static_only "$work/static/farm-cxx"
  # Outside the prefix, so the library's place tells where platforms are.
  HASS_PLATFORM=thesis runs "$work/shared/farm-c"
}

# A plug-in that needs the shared library, loaded and closed three times.
by_dlopen() {
  local flags got
  flags=$(pkg-config --cflags --libs hass)
  # shellcheck disable=SC2086
  quiet cc -shared -fPIC -Dmain=run "$project/farm.c" $flags \
    -o "$work/plugin.so"
  quiet cc "$project/load.c" -ldl -o "$work/load"
  got=$(HASS_PROFILE=off "$work/load" "$work/plugin.so" 2>&1) ||
    say "a plug-in fails: $got"
  [ "$(sort -u <<<"$got")" = "hass $version: 333328333350000" ] ||
    say "a plug-in says $got"
}

# A program that links hass-la alone: that library finds hass beside it.
by_rpath() { # LIBRARY-FOLDER
  [ -e "$1/libhass-la.so" ] || return 0
  cat >"$work/la.c" <<'EOF'
#include <hass/la.h>
int
main (void)
{
  return hass_la_error_quark () == 0;
}
EOF
  # shellcheck disable=SC2046
  quiet cc "$work/la.c" $(pkg-config --cflags hass-la) -L"$1" -lhass-la \
    -Wl,-rpath,"$1" -o "$work/la"
  quiet env -u LD_LIBRARY_PATH "$work/la"
}

by_cmake() { # [OPTION...]
  quiet cmake -S "$project" -B "$work/c" -DPROGRAMS=farm.c "$@"
  quiet cmake --build "$work/c"
  quiet cmake -S "$project" -B "$work/both" -DPROGRAMS="farm.c;farm.cpp" "$@"
  quiet cmake --build "$work/both"
  runs "$work/c"/farm-c{,-static} "$work/both"/farm-{c,cpp}{,-static}
  needs_shared "$work/c/farm-c"
  static_only "$work/both/farm-cpp-static"
}

if [ "$build" = - ]; then
  by_pkg_config
  by_dlopen
  by_cmake
  exit 0
fi

case $build in *san-*) echo "a build with sanitizers"; exit 77 ;; esac
# Nothing is compiled, so only what the templates say depends on CUDA.
settings=(BUILD="$build")
if nm -u "$build/device/cuda/cudart.o" | grep -q ' cudaMalloc'; then
  toolkit=yes
else
  settings+=(CUDA=no)
fi
install() { quiet make -s -C "$top" "${settings[@]}" "$@"; }
listed() { (cd "$1" && find . -type f -o -type l | sort); }

prefix=$work/usr
install install-files PREFIX="$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib

"$top/tests/consumer/guides.sh" "$prefix" || say "its documentation, see above"
by_pkg_config
by_dlopen
by_rpath "$prefix/lib"
cp -r "$prefix/share/doc/hass/examples" "$work/examples"
quiet make -C "$work/examples" NVCC= collatz
[[ $("$work/examples/bin/collatz" 2>/dev/null) == *"559 steps"* ]] ||
  say "collatz is wrong"
mv "$prefix" "$work/moved"
by_cmake -DCMAKE_PREFIX_PATH="$work/moved"
if cmake -S "$project" -B "$work/cuda" -DPROGRAMS=farm.c -DCUDA=ON \
     -DCMAKE_PREFIX_PATH="$work/moved" >"$work/log" 2>&1; then
  [ -n "${toolkit:-}" ] || say "component CUDA is found without CUDA"
else
  grep -q 'component CUDA is not there' "$work/log" ||
    { cat "$work/log"; say "component CUDA"; }
fi

# As a packager does it: nothing of this machine's paths; then away with it.
at=(DESTDIR="$work/dest" PREFIX=/usr LIBDIR=lib/multi-arch)
install install-files "${at[@]}"
[ "$(cd "$work/moved" && find . -type f | sed 's,^\./lib/,./lib/multi-arch/,' |
     sort)" = "$(cd "$work/dest/usr" && find . -type f | sort)" ] ||
  say "LIBDIR changes what is installed"
! grep -rlF -e "$top" -e "$work" "$work/dest/usr/lib/multi-arch/pkgconfig" \
    "$work/dest/usr/lib/multi-arch/cmake" "$work/dest/usr/share" ||
  say "names a path of this machine"
! grep -rn -e ' -L/' -e cuda/ "$work/dest/usr/lib/multi-arch/pkgconfig" ||
  say "hass.pc names a folder of this machine"
echo mine >"$work/dest/usr/include/hass/mine.h"
install uninstall "${at[@]}"
[ "$(listed "$work/dest")" = ./usr/include/hass/mine.h ] ||
  { listed "$work/dest"; say "uninstall leaves these, or took too much"; }
left=$(find "$work/dest" -mindepth 1 -type d -path '*hass*')
[ "$left" = "$work/dest/usr/include/hass" ] || say "folders are left: $left"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exports.sh: the shared library exports the functions that the public headers
# declare, all of them and nothing else, under its version node; and needs
# nothing beyond the libraries that it is known to stand on.
# Usage: exports.sh BUILD-FOLDER [CC FLAGS...]; status 0: so it is, 77: a build
# with sanitizers, which needs their libraries.
set -eu -o pipefail
build=$1
shift
case $build in *san-*) echo "a build with sanitizers"; exit 77 ;; esac
[ $# -gt 0 ] || set -- cc
so=$(ls "$build"/lib/libhass.so.*)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is declared: of the preprocessed headers the lines that are hass's own,
# as statements, but for types and inline functions.
for h in "$build"/include/hass/*.h; do
  [ "${h##*/}" = cuda.h ] || echo "#include <hass/${h##*/}>"
done >"$work/all.c"
# shellcheck disable=SC2046
"$@" -I"$build/include" $(pkg-config --cflags gio-2.0) -E "$work/all.c" |
  awk '/^# [0-9]+ "/ { ours = $3 ~ /include\/hass\// ; next }
       /^#/ { next } ours' | tr '\n' ' ' |
  sed 's/[;{}]/\n&\n/g' |
  awk '/^{/ { depth++ } /^}/ { depth-- }
       depth <= 0 && !/typedef|static/ &&
         match ($0, /hass_[a-z0-9_]+ *\(/) {
           name = substr ($0, RSTART, RLENGTH); sub (/ *\(/, "", name)
           print name }' | sort -u >"$work/declared"
nm -D --defined-only "$so" | sed -n 's/.* [A-Z] //p' | sort >"$work/exported"
{ sed 's/$/@@HASS_0/' "$work/declared"; echo HASS_0; } | sort >"$work/wanted"
[ "$(wc -l <"$work/declared")" -ge 40 ] || { echo "few declarations"; exit 1; }
diff "$work/wanted" "$work/exported" ||
  { echo "(<: declared in a public header, >: exported)"; exit 1; }

known='libjson-glib-1.0|libg(io|object|lib)-2.0|libtbb|libhwloc|libstdc\+\+'
known+='|libm|libgcc_s|libc|lib(pthread|dl|rt)|ld-linux-[a-z0-9-]+'
if readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
     grep -vE "^($known)\.so\.[0-9]+$"; then
  echo "is needed, too"
  exit 1
fi
readelf -d "$so" | grep -q 'SONAME.*\[libhass\.so\.[0-9]*\]'
echo "$(wc -l <"$work/declared") functions"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exports.sh: the shared libraries export the functions that their public headers
# declare, all of them and nothing else, under their version node; and need
# nothing beyond the libraries that they are known to stand on.
# Usage: exports.sh BUILD-FOLDER [CC FLAGS...]; status 0: so it is, 77: a build
# with sanitizers, which needs their libraries.
set -eu -o pipefail
build=$1
shift
case $build in *san-*) echo "a build with sanitizers"; exit 77 ;; esac
[ $# -gt 0 ] || set -- cc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
known='libjson-glib-1.0|libg(io|object|lib)-2.0|libtbb|libhwloc|libstdc\+\+'
known+='|libm|libgcc_s|libc|lib(pthread|dl|rt)|ld-linux-[a-z0-9-]+'

# What is declared: of the preprocessed headers the lines that are the library's
# own, as statements, but for types and inline functions.
declared() { # HEADER..., files of hass/
  local own
  own=$(IFS='|'; echo "include/hass/(${*//./\\\\.})\"")
  printf '#include <hass/%s>\n' "$@" >"$work/all.c"
  # shellcheck disable=SC2046
  "${cc[@]}" -I"$build/include" $(pkg-config --cflags gio-2.0) -E "$work/all.c" |
    awk -v own="$own" '/^# [0-9]+ "/ { ours = $3 ~ own ; next }
         /^#/ { next } ours' | tr '\n' ' ' |
    sed 's/[;{}]/\n&\n/g' |
    awk '/^{/ { depth++ } /^}/ { depth-- }
         depth <= 0 && !/typedef|static/ &&
           match ($0, /hass_[a-z0-9_]+ *\(/) {
             name = substr ($0, RSTART, RLENGTH); sub (/ *\(/, "", name)
             print name }' | sort -u
}

check() { # LIBRARY LEAST-FUNCTIONS ITS-LIBRARIES HEADER...
  local so
  so=$(ls "$build"/lib/"$1".so.*)
  declared "${@:4}" >"$work/declared"
  nm -D --defined-only "$so" | sed -n 's/.* [A-Z] //p' | sort >"$work/exported"
  { sed 's/$/@@HASS_0/' "$work/declared"; echo HASS_0; } | sort >"$work/wanted"
  [ "$(wc -l <"$work/declared")" -ge "$2" ] || { echo "few declarations"; exit 1; }
  diff "$work/wanted" "$work/exported" ||
    { echo "$1 (<: declared in a public header, >: exported)"; exit 1; }
  if readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
       grep -vE "^($3)\.so\.[0-9]+$"; then
    echo "is needed, too, by $1"
    exit 1
  fi
  readelf -d "$so" | grep -q "SONAME.*\[$1\.so\.[0-9]*\]"
  echo "$1: $(wc -l <"$work/declared") functions"
}

cc=("$@")
headers=()
for h in "$build"/include/hass/*.h; do
  case ${h##*/} in cuda.h | la.h) ;; *) headers+=("${h##*/}") ;; esac
done
check libhass 40 "$known" "${headers[@]}"
if ls "$build"/lib/libhass-la.so.* >/dev/null 2>&1; then
  check libhass-la 3 "$known|libhass|libopenblas|libcu(blas|solver)" la.h
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-format.sh: names the files whose layout is not the checked-in one,
# and public headers that do not compile alone, in C and in C++. Usage:
# check-format.sh FLAGS..., with CC and CXX set; the files are those of
# list-files.sh.
set -u
cd "$(dirname "$0")/.."
bad=0
list() { tools/list-files.sh "$@"; }
# Versions of clang-format differ in what they make of the same .clang-format.
layout=
for c in clang-format-14 clang-format; do
  if "$c" --version 2>/dev/null | grep -q 'version 14\.'; then
    layout=$c
    break
  fi
done
if [ -n "$layout" ]; then
  if ! said=$(list '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' |
      xargs -n 40 -P "$(nproc)" "$layout" --style=file --dry-run -Werror 2>&1); then
    wrong=$(sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error: .*/\1/p' <<<"$said" |
      sort -u)
    [ -n "$wrong" ] || echo "$said"
    for f in $wrong; do
      echo "format: $f is not as .clang-format has it (make format)"
    done
    bad=1
  fi
else
  echo "format: SKIPPED, no clang-format 14"
fi
for f in $(list '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' '*.sh' '*.pml' |
    xargs awk 'FNR == 1 { if (NR > 1 && !ok) print last; ok = 0; last = FILENAME }
      FNR <= 3 && /SPDX-License-Identifier: MIT/ { ok = 1 }
      END { if (!ok) print last }'); do
  echo "format: $f does not begin with its licence"
  bad=1
done
for h in "$STAGED_HEADERS"/*.h; do
  # The one header with CUDA types, where there is no CUDA.
  [ "$(basename "$h")" = cuda.h ] && [ -z "${WITH_CUDA:-}" ] && continue
  for dialect in c99 c11 c++11 c++17; do
    case $dialect in c++*) cc=${CXX:-c++} x=c++ ;; *) cc=${CC:-cc} x=c ;; esac
    # shellcheck disable=SC2086 # the compiler may be two words
    if ! echo "#include <hass/$(basename "$h")>" \
      | $cc -std=$dialect "$@" -fsyntax-only -x $x -; then
      echo "format: hass/$(basename "$h") does not compile alone as $dialect"
      bad=1
    fi
  done
done
exit $bad

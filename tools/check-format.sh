#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-format.sh: names the files whose layout is not the checked-in one,
# and public headers that do not compile alone. Usage: check-format.sh CC
# FLAGS...; the files are those of list-files.sh.
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
  for f in $(list '*.c' '*.h' '*.cpp' '*.cu' '*.cuh'); do
    if ! "$layout" --style=file --dry-run -Werror "$f" >/dev/null 2>&1; then
      echo "format: $f is not as .clang-format has it (make format)"
      bad=1
    fi
  done
else
  echo "format: SKIPPED, no clang-format 14"
fi
for f in $(list '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' '*.sh' '*.pml'); do
  if ! head -3 "$f" | grep -q 'SPDX-License-Identifier: MIT'; then
    echo "format: $f does not begin with its licence"
    bad=1
  fi
done
for h in "$STAGED_HEADERS"/*.h; do
  # The one header with CUDA types, where there is no CUDA.
  [ "$(basename "$h")" = cuda.h ] && [ -z "${WITH_CUDA:-}" ] && continue
  if ! echo "#include <hass/$(basename "$h")>" | "$@" -fsyntax-only -x c -; then
    echo "format: hass/$(basename "$h") does not compile alone"
    bad=1
  fi
done
exit $bad

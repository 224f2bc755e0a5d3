#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# list-files.sh: the files of the source tree: those that git knows or would;
# without git, as in a tarball, all but what make writes.
# Usage: list-files.sh [PATTERN...], patterns of names such as '*.c'
set -eu -o pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- '*'
if [ -e .git ] && command -v git >/dev/null; then
  git ls-files --cached --others --exclude-standard -- "$@"
else
  names=()
  for p; do names+=(-o -name "$p"); done
  find . \( -path ./build -o -path ./sysroot -o -path ./.git \) -prune -o \
    -type f \( "${names[@]:1}" \) -print | sed 's|^\./||'
fi | while read -r f; do if [ -e "$f" ]; then echo "$f"; fi; done | sort

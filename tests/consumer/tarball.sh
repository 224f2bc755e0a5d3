#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tarball.sh: the tarball of `make dist` holds all that make builds from, and
# nothing of git; in it, make wants to do what it does here. That all of it
# builds takes minutes; `make deb` builds from it.
# Usage: tarball.sh BUILD-FOLDER; status 0: so it is.
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKELEVEL MAKEFLAGS

cd "$top"
make -s dist BUILD="$work/out" >/dev/null
mkdir "$work/in"
tar -xf "$work"/out/hass-*.tar.gz -C "$work/in"
cd "$work"/in/hass-*
[ ! -e .git ] || { echo "git is in it"; exit 1; }

diff <("$top/tools/list-files.sh") <(tools/list-files.sh) ||
  { echo "(<: this tree, >: the tarball)"; exit 1; }
for pattern in '*.c' '*.sh'; do
  diff <("$top/tools/list-files.sh" "$pattern") \
       <(tools/list-files.sh "$pattern") || exit 1
done
mkdir "$work/build"
plan() {
  make -n CUDA=no BUILD="$work/build" all tests | grep -c -- '-MMD -MP -c'
}
here=$(cd "$top" && plan)
there=$(plan)
[ "$here" = "$there" ] && [ "$there" -gt 200 ] ||
  { echo "$there files are compiled in the tarball, $here here"; exit 1; }

# The version is one.
version=$(basename "$PWD" | sed 's/^hass-//')
grep -q "^hass ($version-[^)]*)" debian/changelog ||
  { echo "debian/changelog is not of $version"; exit 1; }

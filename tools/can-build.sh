#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# can-build.sh: says in a sentence why nothing can be built: a compiler, a
# package or a build directory is missing. Usage: can-build.sh DIRECTORY, with
# CC, CXX and PKG_CONFIG set, and PACKAGES, which pkg-config must find.
set -u
install="install it, or all that is needed by tools/setup.sh build"
bad=0
say() {
  echo "make: $1" >&2
  bad=1
}
# The variable may hold options, and settings of the environment before it.
there() {
  local word
  for word in $1; do
    case $word in
      *=*) ;;
      *) command -v "$word" >/dev/null; return ;;
    esac
  done
  false
}
there "$CC" || say "there is no C compiler '$CC': $install, or set CC"
there "$CXX" || say "there is no C++ compiler '$CXX': $install, or set CXX"
if ! there "$PKG_CONFIG"; then
  say "there is no '$PKG_CONFIG', which finds libraries: $install"
else
  missing=
  for p in $PACKAGES; do
    eval "$PKG_CONFIG --exists $p" 2>/dev/null || missing="$missing $p"
  done
  [ -z "$missing" ] || say "pkg-config does not find$missing: $install"
fi
if ! said=$(mkdir -p "$1" 2>&1); then
  say "there can be no build directory '$1' (${said##*: }); BUILD=DIRECTORY builds elsewhere"
else
  # Below it, too: a build by another user may have left directories.
  closed=$(find "$1" -type d ! -writable -print -quit 2>/dev/null)
  [ -z "$closed" ] ||
    say "the build directory '$closed' cannot be written; BUILD=DIRECTORY builds elsewhere"
  left=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print $4 }')
  [ "${left:-1}" != 0 ] ||
    say "the file system of the build directory '$1' is full; BUILD=DIRECTORY builds elsewhere"
fi
exit $bad

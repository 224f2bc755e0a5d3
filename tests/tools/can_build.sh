#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# can_build.sh: make says in a sentence what it lacks, and names it. Usage:
# can_build.sh BUILD
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS
# says SENTENCE ARGUMENT...: make with these arguments fails with the sentence,
# before it compiles anything.
says() {
  local sentence=$1 said
  shift
  if said=$(make lib OPENBLAS=no CUDA=no "BUILD=$work/build" "$@" 2>&1); then
    echo "make $* did not fail"
    exit 1
  fi
  [[ $said == *"make: $sentence"* || $said == *"*** $sentence"* ]] ||
    { echo "'$sentence' is not in: $said"; exit 1; }
  [[ $said != *'  CC  '* ]] || { echo "make $* compiled: $said"; exit 1; }
}
says "there is no C compiler 'no-such-cc'" CC=no-such-cc
says "there is no C++ compiler 'no-such-c++'" CXX=no-such-c++
says "there is no 'no-such-config', which finds libraries" \
  PKG_CONFIG=no-such-config
says 'pkg-config does not find glib-2.0' \
  "PKG_CONFIG=PKG_CONFIG_LIBDIR=$work PKG_CONFIG_PATH= pkg-config"
says "there can be no build directory '/proc/x'" BUILD=/proc/x
says "nothing can be built in a path with a space" "BUILD=$work/a b"
touch "$work/file"
says "there can be no build directory '$work/file'" "BUILD=$work/file"
if [ "$(id -u)" != 0 ]; then
  mkdir -p "$work/closed/below"
  chmod a-w "$work/closed/below"
  says "the build directory '$work/closed/below' cannot be written" \
    "BUILD=$work/closed"
fi

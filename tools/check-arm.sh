#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-arm.sh: builds hass for aarch64 with Debian's cross compiler and runs
# the tests under qemu-user. Usage: check-arm.sh FOLDER; `make check-arm`.
#
# 1. Debian's arm64 packages are unpacked in FOLDER/sysroot, once. apt gets
#    lists and a status of its own, so the machine's packages stay as they are.
# 2. The library, the programs and the tests are built; a warning is an error.
# 3. A program that a test starts is a script that starts qemu, because the
#    kernel may not know how to run the program itself.
# 4. All suites run but those in the list below.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/sysroot
cc=aarch64-linux-gnu-gcc
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)

make_sysroot() {
  local apt=$folder/apt deb
  mkdir -p "$apt"/lists/partial "$apt"/archives/partial
  : > "$apt/status"
  local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
    -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status"
    -o Dir::Cache="$apt" -o APT::Sandbox::User=root -o Debug::NoLocking=1
    -o Acquire::Languages=none)
  echo "check-arm: downloads Debian's arm64 packages (50 MB)"
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install -y --no-install-recommends --download-only \
    libtbb-dev libglib2.0-dev libjson-glib-dev libopenblas-dev libhwloc-dev \
    libcunit1-dev > /dev/null
  rm -rf "$root"
  for deb in "$apt"/archives/*.deb; do
    case "${deb##*/}" in
      # The cross compiler has a C library of its own to build with.
      libc6-dev_* | linux-libc-dev_* | libcrypt-dev_* | libperl* | libpython* | *-bin_*) ;;
      lib* | zlib1g*) dpkg -x "$deb" "$root.new" ;;
    esac
  done
  # Programs of the sysroot would hide those of the machine from qemu.
  rm -rf "$apt" "$root.new"/{etc,bin,sbin} "$root.new"/usr/{bin,sbin,share}
  mv "$root.new" "$root"
}

[ -d "$root" ] || make_sysroot

CC="${CCACHE:-} $cc" CXX="${CCACHE:-} ${cc%gcc}g++"
make --no-print-directory SYSROOT="$root" BUILD="$folder" CC="$CC" CXX="$CXX" \
  CUDA=no CFLAGS=-Werror CXXFLAGS=-Werror all tests bench-programs bench-apps

# shim NAME: the program of that name, under qemu.
libraries=$root/usr/lib/aarch64-linux-gnu/openblas-pthread
shim() {
  mkdir -p "$folder/run/${1%/*}"
  printf '#!/bin/sh\nexec %s -L %s -E LD_LIBRARY_PATH=%s %s "$@"\n' \
    "$qemu" "$root" "$libraries" "$folder/$1" > "$folder/run/$1"
  chmod +x "$folder/run/$1"
}
for program in "$folder"/bin/* "$folder/tests/hass-tests"; do
  shim "${program#"$folder/"}"
done
export TEST_BUILD=$folder/run TEST_SELF=$folder/run/tests/hass-tests

# The suites that are left out, and why. What is in virtual time is one thread
# and plain C; of it the strategies stay in, by their own suites.
left_out='
against_grep     searches a gigabyte: half an hour under qemu
large_search     likewise
gpu_search       likewise
contract         15,000 farms: minutes under qemu; live and thesis have some
sched_every_strategy likewise in virtual time; each strategy has a suite of its own
sched_auto_machines likewise; sched_auto and sched_levels have some
matrix_multiply  BLAS, emulated: minutes; examples_matrix_multiply runs it
gpu_apps         searches and multiplies, emulated: minutes
replay           in virtual time: minutes
sim_             likewise
output           limits threads, and qemu needs one of its own
package          installs what make builds for this machine
guide            starts a program that it has linked itself, without qemu
model            spin: the same on every machine
gpu              needs a GPU
bakeoff          times programs, which means nothing under qemu
'
pattern=$(awk 'NF { printf "%s^%s", sep, $1; sep = "|" }' <<< "$left_out")
pattern=${pattern//^gpu|/^gpu$|}
suites=$("$TEST_SELF" --list | sed 's/:.*//' | sort -u \
  | grep -vE "$pattern" | grep -v _child)
echo "check-arm: left out, because: $left_out"
"$TEST_SELF" $(printf -- '--suite %s ' $suites)

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh: installs the Debian packages that are missing (as root), or prints
# the line that does. Usage: setup.sh build|check|bench|clang|arm
set -eu
build="gcc g++ make pkgconf libtbb-dev libglib2.0-dev libjson-glib-dev \
  libopenblas-dev libhwloc-dev"
# The last two are text to search: 300 MB for 12 MB of download.
check="$build libcunit1-dev clang-format spin grep util-linux \
  libboost1.74-dev cppreference-doc-en-html"
bench="$build libstarpu-dev ripgrep"
clang="$build libcunit1-dev clang"
arm="make pkgconf gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static"

case "${1:-}" in
  build) wanted=$build ;;
  check) wanted=$check ;;
  bench) wanted=$bench ;;
  clang) wanted=$clang ;;
  arm) wanted=$arm ;;
  *) echo "usage: $0 build|check|bench|clang|arm" >&2; exit 2 ;;
esac
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "setup: no Debian here; needed are: $wanted" >&2
  exit 0
fi
missing=
for p in $wanted; do
  status=$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || true)
  case "$status" in *" installed") ;; *) missing="$missing $p" ;; esac
done
[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -ne 0 ]; then
  echo "setup: packages are missing; install them with" >&2
  echo "  sudo $line" >&2
  exit 1
fi
echo "setup: $line"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
$line -qq >/dev/null

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh: installs the packages that are missing (as root), or prints the line
# that does, on Debian and Ubuntu. Usage: setup.sh build|check|bench|clang|arm|deb
set -eu
build="gcc g++ make pkgconf libtbb-dev libglib2.0-dev libjson-glib-dev \
  libopenblas-dev libhwloc-dev libdeflate-dev zlib1g-dev"
check="$build libcunit1-dev spin grep gzip util-linux cmake groff-base"
bench="$build libstarpu-dev ripgrep pigz tabix"
clang="$build libcunit1-dev clang"
deb="$build libglpk-dev build-essential debhelper dpkg-dev fakeroot lintian"
arm="make pkgconf gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static"

# Installed where the distribution has them: the version of clang-format that
# .clang-format is written for, text to search, 300 MB for 12 MB of download, a
# solver of linear programs, and StarPU's cholesky_implicit; without them the
# layout is not checked, text is generated, hass-sim has no bounds of pipelines,
# and a benchmark has a peer less.
useful=
case "${1:-}" in
  build) wanted=$build
         useful="libglpk-dev" ;;
  check) wanted=$check
         useful="clang-format-14 libboost-dev cppreference-doc-en-html libglpk-dev" ;;
  bench) wanted=$bench
         useful="starpu-examples" ;;
  clang) wanted=$clang ;;
  arm) wanted=$arm ;;
  deb) wanted=$deb ;;
  *) echo "usage: $0 build|check|bench|clang|arm|deb" >&2; exit 2 ;;
esac
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "setup: no Debian here; needed are: $wanted" >&2
  exit 0
fi
there() {
  case "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null || true)" in
    *" installed") ;;
    *) false ;;
  esac
}
known() { apt-cache show "$1" 2>/dev/null | grep -q '^Package:'; }
lacking() { for p; do there "$p" || echo "$p"; done | tr '\n' ' '; }
root=$(id -u)
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y --no-install-recommends"

# shellcheck disable=SC2086
missing=$(lacking $wanted)
if [ -n "$missing" ] && [ "$root" -ne 0 ]; then
  echo "setup: packages are missing; install them with" >&2
  echo "  sudo $install $missing" >&2
  exit 1
elif [ -n "$missing" ]; then
  echo "setup: $install $missing"
  apt-get update -qq
  # shellcheck disable=SC2086
  $install $missing -qq >/dev/null
fi
[ "$root" -eq 0 ] || exit 0
more=
# shellcheck disable=SC2086
for p in $(lacking $useful); do if known "$p"; then more="$more $p"; fi; done
[ -n "$more" ] || exit 0
echo "setup: $install$more"
# shellcheck disable=SC2086
{ apt-get update -qq && $install $more -qq >/dev/null; } ||
  echo "setup: done without$more" >&2

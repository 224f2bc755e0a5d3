#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# guides.sh: what the documentation of an installation says is there: pages of
# all programs, without mistakes; links that lead somewhere; no path of the
# source tree where there is none.
# Usage: guides.sh PREFIX; status 0: so it is.
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$1
docs=$prefix/share/doc/hass
bad=0
say() { echo "guides.sh: $*"; bad=1; }

for p in "$prefix"/bin/*; do
  [ -s "$prefix/share/man/man1/${p##*/}.1" ] || say "no page of ${p##*/}"
done
if command -v groff >/dev/null; then
  for m in "$prefix"/share/man/man?/*; do
    mistakes=$(groff -man -Tutf8 -wall -z "$m" 2>&1)
    [ -z "$mistakes" ] || say "${m##*/}: $mistakes"
  done
fi

links() { # FOLDER: of all guides below it
  local f to
  while read -r f; do
    while read -r to; do
      case $to in http*) continue ;; esac
      [ -e "$(dirname "$f")/$to" ] || say "$f: $to is not there"
    done < <(grep -o '](\([^)#]*\)' "$f" | sed 's/](//')
  done < <(find "$1" -name '*.md')
}
links "$docs"
links "$top/doc"

# These are for users; architecture.md, writing-a-strategy.md and results/ are
# also about the source tree, and say so.
folders='build|doc|tests|bench|tools|sched|engine|device|pool|skeletons|draw'
cd "$docs"
for f in user-guide.md gpu-guide.md environment.md hass-sim.md \
         record-format.md ../../man/man?/*; do
  ! grep -nE "(^|[^-_.a-zA-Z0-9/])($folders)/" "$f" ||
    say "${f##*/}: this path exists in the source tree only"
done

# A page's examples run what is installed, the reader's own ./app, or what
# each machine has.
for m in "$prefix"/share/man/man?/*; do
  while read -r word; do
    case $word in cp | make | ./app | examples/*) continue ;; esac
    [ -x "$prefix/bin/$word" ] || say "${m##*/}: $word is not installed"
  done < <(sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$m" | tr -d '\\' |
           grep -v '^[. ]' | sed 's/^HASS_[A-Z]*=[^ ]* //; s/ .*//')
done

# The size of the smallest GPU program, as README.md and gpu-guide.md have it.
code() { gcc -fpreprocessed -dD -E -P -x c "$1" | grep -c .; }
c=$(code examples/bit_count/main.c) cuda=$(code examples/bit_count/gpu.cu)
said="$(((c + 5) / 10 * 10)) lines of C and $(((cuda + 2) / 5 * 5)) of CUDA"
for f in "$top/README.md" gpu-guide.md; do
  tr '\n' ' ' <"$f" | grep -q "$said" ||
    say "$f: bit_count has $said, $c and $cuda exactly"
done
exit $bad

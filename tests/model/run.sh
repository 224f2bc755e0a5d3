#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks every interleaving of the models in this folder with spin, and that
# spin finds the fault in each variant that has one.  Exit status: 0 if all
# went as expected, 77 if spin or a compiler is absent, else 1.
# Thread safety: works in a folder of its own.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
cc=${CC:-cc}
for tool in spin "${cc%% *}"; do
  if ! command -v "$tool" > /dev/null; then
    echo "SKIPPED: $tool is not installed"
    exit 77
  fi
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
status=0

# check MODEL passes|fails [VARIANT]
check ()
{
  name="$1${3:+ $3}"
  rm -f pan pan.* ./*.trail
  # Compiling takes longer than a small search, and less without optimisation.
  case $1 in unit_range | turn) optimise=-O1 ;; *) optimise=-O0 ;; esac
  if ! { spin -a ${3:+"-D$3"} "$here/$1.pml" \
           && $cc $optimise -w -DSAFETY -DCOLLAPSE -DMEMLIM=512 -o pan pan.c; } > log 2>&1 \
     || ! ./pan -m100000 > out 2>&1; then
    echo "$name: could not be run"
    cat log out 2> /dev/null
    status=1
    return
  fi
  errors=$(sed -n 's/.*errors: *\([0-9][0-9]*\).*/\1/p' out)
  states=$(sed -n 's/ *\([0-9][0-9]*\) states, stored.*/\1/p' out)
  if grep -q 'Search not completed\|too small\|out of memory' out \
     && [ "$errors" = 0 ]; then
    verdict=unfinished
  elif [ "$errors" = 0 ]; then
    verdict=passes
  else
    verdict=fails
  fi
  if [ "$verdict" = "$2" ]; then
    echo "$name: $verdict, as it should ($states states)"
  else
    echo "$name: $verdict, but should be: $2 ($states states)"
    grep '^pan:' out
    status=1
  fi
}

check unit_range passes
check unit_range fails BROKEN
check unit_range fails BROKEN_SEIZE
check event passes
check event fails BROKEN
check event fails BROKEN_LOCK
check event fails BROKEN_ORDER
check turn passes
check turn passes MORE_TOKENS
check turn passes KEEPS
for fault in ARRIVE PASS BOTH SPLIT DIVIDE LATE ADMIT REUSE KEEP; do
  check turn fails BROKEN_$fault
done
check restart passes
for fault in CLAIM ALONE REST LIST LOAD FREE; do
  check restart fails BROKEN_$fault
done
check weak passes
for order in NO_BARRIER WEAK_NOTIFY WEAK_COUNT WEAK_LOOK WEAK_CHANGE WEAK_SET \
    WEAK_TAKE WEAK_PARK WEAK_PASS WEAK_RUN WEAK_OWN WEAK_FULL WEAK_ROOM \
    WEAK_ASK WEAK_UNITS; do
  check weak fails $order
done
exit $status

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

# Compiling takes longer than a small search, and less without optimisation.
small=-O0
large=-O1

# compile OPTIONS MODEL [-D...]: the program that searches.
compile ()
{
  options=$1
  source="$here/$2.pml"
  shift 2
  rm -f pan pan.*
  spin -a "$@" "$source" > log 2>&1 \
    && $cc $options -w -DSAFETY -DMEMLIM=512 -o pan pan.c >> log 2>&1
}

# search NAME passes|fails: as compile left it, with the environment's FAULT.
search ()
{
  rm -f ./*.trail
  if ! { [ -x pan ] && ./pan -m100000 > out 2>&1; }; then
    echo "$1: could not be run"
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
    echo "$1: $verdict, as it should ($states states)"
  else
    echo "$1: $verdict, but should be: $2 ($states states)"
    grep '^pan:' out
    status=1
  fi
}

# check MODEL passes|fails [VARIANT]: a program of its own.
check ()
{
  compile "$small" "$1" ${3:+"-D$3"}
  search "$1${3:+ $3}" "$2"
}

# check_faults MODEL FAULT...: one program, which passes, and fails with each
# fault (fault.pml); it passes with a +FAULT, which is another size of the model.
check_faults ()
{
  model=$1
  shift
  size=$small
  [ "$model" != turn ] || size=$large
  compile "$size" "$model" "-DFAULTS=$(echo "$*" | tr -d + | tr ' ' ,)"
  FAULT=0
  export FAULT
  search "$model" passes
  for fault; do
    FAULT=$((FAULT + 1))
    case $fault in
      +*) search "$model ${fault#+}" passes ;;
      *) search "$model $fault" fails ;;
    esac
  done
  unset FAULT
}

check unit_range passes
check unit_range fails BROKEN
check unit_range fails BROKEN_SEIZE
check_faults event BROKEN BROKEN_LOCK BROKEN_ORDER
check_faults turn +MORE_TOKENS +KEEPS BROKEN_ARRIVE BROKEN_PASS BROKEN_BOTH \
  BROKEN_SPLIT BROKEN_DIVIDE BROKEN_LATE BROKEN_ADMIT BROKEN_REUSE BROKEN_KEEP
check_faults restart BROKEN_CLAIM BROKEN_ALONE BROKEN_REST BROKEN_LIST \
  BROKEN_LOAD BROKEN_FREE
check_faults weak NO_BARRIER WEAK_NOTIFY WEAK_COUNT WEAK_LOOK WEAK_CHANGE \
  WEAK_SET WEAK_TAKE WEAK_PARK WEAK_PASS WEAK_RUN WEAK_OWN WEAK_FULL \
  WEAK_ROOM WEAK_ASK WEAK_UNITS
exit $status

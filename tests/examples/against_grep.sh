#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# against_grep.sh: string_search and GNU grep side by side; stdout, stderr
# (but for the program's name) and exit status must be the same.
# Usage: against_grep.sh text|hostile|tree|platform STRING_SEARCH
# Exit status: 0 the same, 1 not, 77 cannot be tried here (says why).
set -u
mode=$1
search=$2
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
bad=0
tried=0

# compare NAME -- COMMAND FOR GREP -- COMMAND FOR STRING_SEARCH
same() {
  local name=$1 want=$2 got=$3
  tried=$((tried + 1))
  sed -i 's/^grep: /string_search: /' "$work/want.err"
  if [ "$want" != "$got" ]; then
    echo "DIFFERS ($name): exit status $got, grep's $want"; bad=1
  fi
  for f in out err; do
    if ! cmp -s "$work/want.$f" "$work/got.$f"; then
      echo "DIFFERS ($name): std$f"
      diff -a "$work/want.$f" "$work/got.$f" | head -5 | cut -c 1-200
      bad=1
    fi
  done
}

# files FLAGS... -- FILE...: the same operands for both
files() {
  local want
  "${as[@]}" grep -F -H "$@" >"$work/want.out" 2>"$work/want.err"; want=$?
  "${as[@]}" "$search" "$@" >"$work/got.out" 2>"$work/got.err"
  same "${LC_ALL} $*" $want $?
}
as=()

hostile_files() {
  local d=$1
  mkdir -p "$d"
  printf '' >"$d/empty"
  printf '\n' >"$d/newline"
  printf 'needle' >"$d/no-final-newline"
  printf 'a\naa\naaa\naaaa\naaaaaaaaaaa\nbaab\n' >"$d/overlap"
  printf 'needle\0needle\nneedle again\n' >"$d/nul"
  printf 'x\nneedle \377\376 bytes\nneedle \303\251\nNEEDLE\n' >"$d/bad-utf8"
  printf 'ab' >"$d/shorter-than-the-pattern"
  printf 'needle\r\nneedle\r\n' >"$d/carriage-return"
  printf -- '-needle\n--\n' >"$d/-dash"
  printf 'needle in a haystack\n' >"$d/with space"
  # One line of 25 MiB, the needle at both ends and across 256 KiB borders.
  awk 'BEGIN { b = sprintf ("%4096s", ""); gsub (/ /, "hay ", b)
               for (i = 0; i < 1600; i++) printf "%s", b }' >"$d/long-line"
  printf 'needle' | dd of="$d/long-line" conv=notrunc bs=1 seek=0 status=none
  for at in 262141 524285 13107200 26214394; do
    printf 'needle' | dd of="$d/long-line" conv=notrunc bs=1 seek=$at status=none
  done
  # 10 MB of lines, a needle across every border of 65536 and 262144.
  awk 'BEGIN { for (i = 0; i < 160000; i++)
                 printf "%062d\n", i }' >"$d/borders"
  for at in $(seq 65533 65536 10000000); do
    printf 'needle' | dd of="$d/borders" conv=notrunc bs=1 seek=$at status=none
  done
  cp "$d/borders" "$d/late-nul"
  printf '\0' | dd of="$d/late-nul" conv=notrunc bs=1 seek=9000000 status=none
  cp "$d/borders" "$d/hole-at-the-end"
  truncate -s 12M "$d/hole-at-the-end"
  yes 'aaaa needle needle' | head -c 9000000 >"$d/every-line"
}

hostile() {
  local d=$work/hostile
  hostile_files "$d"
  printf 'needle\naaa\nhay hay\n' >"$work/patterns"
  printf '' >"$work/no-patterns"
  cd "$d" || exit 1
  big=(borders every-line hole-at-the-end late-nul long-line)
  small=()
  for f in *; do
    case " ${big[*]} " in *" $f "*) ;; *) small+=("$f") ;; esac
  done
  for LC_ALL in C C.UTF-8; do
    export LC_ALL
    for flags in "" -c -n -o -b "-n -b" "-o -b" "-o -n" -i "-i -o" "-c -i"; do
      # shellcheck disable=SC2086
      files $flags -e aa -- "${small[@]}"
      files $flags -e needle -- "${small[@]}"
      files $flags -e aa -e aaa -e needle -e edl -- "${small[@]}"
    done
    for flags in -c "-n -b" "-o -b"; do
      files $flags -e needle -- "${big[@]}"
    done
    files -e needle -e aaaa -- "${big[@]}"
    files -f "$work/patterns" -- *
    files -f "$work/no-patterns" -- *
    files -c -e '' -- empty newline overlap nul borders
    files -n -e '' -- empty newline overlap no-final-newline
    files -o -e '' -e needle -- overlap no-final-newline
    files -e "$(printf 'needle\naaaa')" -- "${small[@]}"
    files -e 'a pattern that is longer than the whole file' -- shorter* empty
    files -c -e needle -- no-such-file overlap
    files -e "$(printf '\303\251')" -- "${small[@]}"
    files -e "$(printf '\377')" -- "${small[@]}"
    ln -s nowhere "$work/dangling"
    files -e needle -- "$work/dangling" overlap
    rm "$work/dangling"
    # Unreadable files: as nobody where we are root.
    chmod 000 "$d/overlap"
    if [ "$(id -u)" -eq 0 ]; then
      chmod 755 "$work" "$d"
      as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    fi
    if "${as[@]}" test -x "$search"; then
      files -e needle -- "$d/overlap" "$d/no-final-newline"
    else
      echo "note: no unreadable file tried, nobody cannot run $search"
    fi
    as=()
    chmod 644 "$d/overlap"
  done
}

# Whole trees: grep is given the sorted paths, string_search the tree.
tree() {
  local want list=$work/list
  shift_dirs=("${dirs[@]}")
  find "${shift_dirs[@]}" -type f -print0 | LC_ALL=C sort -z >"$list"
  xargs -0 -n 100000 grep -F -H "$@" <"$list" >"$work/want.out" 2>"$work/want.err"
  if grep -qv ': binary file matches$' "$work/want.err"; then want=2
  elif [ "$1" = -c ]; then
    want=1
    if grep -qv ':0$' "$work/want.out"; then want=0; fi
  elif [ -s "$work/want.out" ] || [ -s "$work/want.err" ]; then want=0
  else want=1; fi
  "$search" "$@" "${shift_dirs[@]}" >"$work/got.out" 2>"$work/got.err"
  same "$LC_ALL $* in ${shift_dirs[*]}" $want $?
}

# Makes text below $work/made, the same on every machine: 12 MB of lines of
# words, in a few large files and many small ones, and copies of them that begin
# elsewhere, so that no line lies in its block as it does in the others.
make_text() { # BYTES
  local base=12000000 f i
  mkdir -p "$work/made/0"
  awk -v bytes=$base -v dir="$work/made/0" 'BEGIN {
    rare = split ("template noexcept std:: warranty allocator #include " \
                  "return volatile static_assert undefined Allocator " \
                  "UNDEFINED include", word, " ")
    n = split ("the of and a to in is that for it as was with be by on not " \
               "he this are or his from at which but have an had they qzxj " \
               "Warranty i = 0; {} // \303\251t\303\251", common, " ")
    seed = 20111
    while (sum < bytes)
      {
        file = sprintf ("%s/%03d", dir, f++)
        for (size = f % 8 ? 100000 : 4000000; size > 0; size -= length (line))
          {
            line = ""
            for (i = seed % 23; i >= 0; i--)
              {
                seed = (seed * 16807) % 2147483647
                line = line (seed % 1000 < 5 ? word[seed % rare + 1] \
                                             : common[seed % n + 1]) " "
              }
            line = line "\n"
            sum += length (line)
            printf "%s", line >file
          }
        close (file)
      }
  }'
  for ((i = 1; i <= $1 / base; i++)); do
    mkdir "$work/made/$i"
    for f in "$work"/made/0/*; do
      tail -c +$((i * 7919)) "$f" >"$work/made/$i/${f##*/}"
    done
  done
}

text() {
  dirs=()
  make_text 60000000
  # In the order of paths, as tree() gives them to grep.
  for d in "$work/made" /usr/include/glib-2.0 /usr/include/linux; do
    [ -d "$d" ] && dirs+=("$d")
  done
  mapfile -t dirs < <(printf '%s\n' "${dirs[@]}" | LC_ALL=C sort)
  echo "$(find "${dirs[@]}" -type f -print0 | xargs -0 cat | wc -c) bytes of text"
  printf '%s\n' template noexcept 'std::' warranty allocator '#include' \
    'return' volatile >"$work/patterns"
  LC_ALL=C; export LC_ALL
  tree -c -e include
  tree -n -b -e 'static_assert'
  LC_ALL=C.UTF-8; export LC_ALL
  tree -e warranty
  tree -o -i -n -e 'undefined' -e 'Allocator'
  tree -f "$work/patterns"
  tree -c -i -e qzxjq
}

# A tree with what a walk meets.
walk() {
  local d=$work/tree
  mkdir -p "$d/a" "$d/a.b" "$d/a-b" "$d/a/deep/er"
  for f in a/x a.b/x a-b/x a/deep/er/x z 'a0' 'A'; do
    echo "needle $f" >"$d/$f"
  done
  ln -s nowhere "$d/dangling"
  ln -s z "$d/link"
  ln -s a "$d/link-to-directory"
  mkfifo "$d/fifo"
  LC_ALL=C; export LC_ALL
  dirs=("$d"); tree -e needle
  dirs=("$d/"); find "$d/" -type f >/dev/null; tree -c -e needle
  dirs=("$d/a" "$d/z"); tree -n -e needle
  # The directory that one stands in is named by nothing.
  (cd "$d" && find . -type f | sed 's|^\./||' | LC_ALL=C sort \
     | xargs grep -F -H needle) >"$work/want.out" 2>"$work/want.err"
  (cd "$d" && "$search" needle) >"$work/got.out" 2>"$work/got.err"
  same "in the working directory" 0 $?
  # A single file has no name in front, as with grep -r.
  grep -rF needle "$d/z" >"$work/want.out" 2>"$work/want.err"
  "$search" needle "$d/z" >"$work/got.out" 2>"$work/got.err"
  same "a single file" 0 $?
}

# On a modelled machine the output is the same again: each has every third
# strategy, so that each strategy has several machines with and without GPUs.
platform() {
  local top p s n=0
  top=$(cd "$(dirname "$0")/../.." && pwd)
  LC_ALL=C.UTF-8; export LC_ALL
  dirs=("$top/doc" "$top/LICENSE" /usr/include/glib-2.0)
  for p in "$top"/doc/platforms/*.platform; do
    "$search" -n -i warranty "${dirs[@]}" \
      >"$work/want.out" 2>"$work/want.err"
    want=$?
    for s in naive-greedy modified-greedy min-min hass hass-ce hass-cd hass-p; do
      n=$((n + 1))
      [ $((n % 3)) -eq 0 ] || continue
      "$search" --platform "$p" --strategy $s -n -i warranty "${dirs[@]}" \
        >"$work/got.out" 2>"$work/got.err"
      got=$?
      same "$s on ${p##*/}" $want $got
    done
  done
}

grep --version 2>/dev/null | grep -q 'GNU grep' || { echo "no GNU grep"; exit 77; }
case $mode in
  text) text ;;
  hostile) hostile ;;
  tree) walk ;;
  platform) platform ;;
  *) echo "unknown mode $mode"; exit 1 ;;
esac
echo "$tried comparisons"
exit $bad

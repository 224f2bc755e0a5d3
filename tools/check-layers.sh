#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check-layers.sh: holds the sources to tools/layers.txt: which room includes
# which, no circle of calls between files, and the sizes of folders, files,
# functions and pages of results.
# Usage: check-layers.sh STAGED_HEADERS BUILD OBJECT...; the object
# BUILD/ROOM/NAME.o comes from ROOM/NAME.c.
set -u -o pipefail
cd "$(dirname "$0")/.."
staged=$1 build=$2
shift 2
table=tools/layers.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every #include "NAME" of a room's file as FILE NAME PATH.
resolve() {
  local file name path
  while read -r file name; do
    case $name in
      hass/*) path=$(readlink "$staged/${name#hass/}"); path=${path#"$PWD/"} ;;
      *)
        for path in "${file%/*}/$name" "$name" "pool/$name" "sched/$name"; do
          [ -e "$path" ] && break
        done ;;
    esac
    echo "$file $name $path"
  done
}
rooms=$(sed -n 's/^\([a-z/]*\):.*/\1/p' $table | paste -sd '|')
tools/list-files.sh '*.[ch]' '*.cpp' '*.cuh' | grep -E "^($rooms)/[^/]*$" |
  xargs grep -HoE '^ *# *include "[^"]+"' |
  sed 's/:.*"\(.*\)"/ \1/' | resolve | awk -v table=$table '
    BEGIN {
      while ((getline line < table) > 0)
        if (line ~ /^[a-z/]+:/ && split(line, part, ":") == 2)
          may[part[1]] = " " part[1] part[2] " "
    }
    function room(path) { sub("/[^/]*$", "", path); return path }
    {
      from = room($1); to = room($3)
      if (index(may[from], " " to " ") == 0)
        print $1 " includes " $2 " of " to ", which " from " may not"
      else if (from != to && $2 ~ /-private\.h$/)
        print $1 " includes " $2 ", which is private to " to
    }' >"$work/bad"

# doc/architecture.md quotes the table.
grep -E '^[a-z/]+:' $table | while read -r line; do
  grep -qxF -- "$line" doc/architecture.md ||
    echo "doc/architecture.md does not quote '$line'"
done >>"$work/bad"

# Who calls whom, from what objects define and need; tsort names the circles:
# a header line, then the files of each. The library is looked at as a whole,
# each program's folder by itself.
circles() {
  nm -gA "$@" | awk '
    { sub(":", " ") }
    NF == 3 { print $3, "needs", $1 }
    NF == 4 { print $4, "defines", $1 }' | sort | awk '
    $1 != symbol { symbol = $1; definer = "" }
    $2 == "defines" { definer = $3 }
    $2 == "needs" && definer != "" && definer != $3 { print $3, definer }' |
    sort -u | tsort 2>&1 >/dev/null | awk -v build="$build/" '
    { sub("tsort: ", ""); sub(build, ""); sub("[.]o$", "") }
    /input contains a loop/ { if (circle) print circle
      circle = "a circle of calls:"; next }
    { circle = circle " " $0 }
    END { if (circle) print circle }'
}
declare -A group=()
for o; do
  name=library
  [[ ${o#"$build/"} =~ ^(tools|bench|examples)/[^/]+/ ]] && name=${BASH_REMATCH[0]}
  group[$name]+=" $o"
done
for name in "${!group[@]}"; do
  # shellcheck disable=SC2086 # names of objects, without spaces
  circles ${group[$name]}
done | sort >>"$work/bad"

# Sizes. GNU layout: the name of a function begins a line, its body lies
# between a line { and a line }.
tools/list-files.sh '*.[ch]' '*.cpp' '*.cu' '*.cuh' >"$work/files"
sed 's|/[^/]*$||' "$work/files" | sort | uniq -c |
  awk '$1 > 25 { print $2 " has " $1 " sources, more than 25" }' >"$work/large"
wc -l doc/results/*.md | awk '$1 > 200 && $2 != "total" {
  print $2 " has " $1 " lines, more than 200" }' >>"$work/large"
xargs awk '
  function file_ends() {
    if (lines > 500) print name " has " lines " lines, more than 500"
  }
  FNR == 1 { file_ends(); name = FILENAME; head = ""; body = 0 }
  { lines = FNR }
  body && /^}/ {
    if (FNR - body > 59)
      print name " " called " has " FNR - body + 1 " lines, more than 60"
    body = 0; head = ""; next
  }
  body { next }
  /^{/ && head != "" {
    body = FNR; called = head; sub(" *[(].*", "", called)
    sub(/^[^(]*[(]/, "", head)
    while (gsub(/[(][^()]*[)]/, "", head)) continue
    n = gsub(/,/, "", head) + 1
    if (n > 6) print name " " called " has " n " parameters, more than 6"
    next
  }
  /^[a-zA-Z_][a-zA-Z0-9_]* \(/ && !/;$/ { head = $0; next }
  /^$/ || /;$/ { head = "" }
  head != "" { head = head $0 }
  END { file_ends() }' <"$work/files" >>"$work/large"

# An exception is "except" and how such a line begins, a colon and a reason.
sed -n 's/^except \([^:]*\):.*/\1/p' $table >"$work/except"
grep -vFf "$work/except" "$work/large" >>"$work/bad"
while read -r e; do
  grep -qF "$e" "$work/large" || echo "$table excepts $e, which needs none"
done <"$work/except" >>"$work/bad"

sed 's/^/layers: /' "$work/bad"
[ ! -s "$work/bad" ]

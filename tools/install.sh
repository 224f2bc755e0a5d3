#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh: installs the files that standard input names, or removes them.
# Usage: install.sh install|uninstall ROOT <LIST
# A line of the list is HOW:FOLDER:FILE, the folder below ROOT. HOW is
#   program, file   FILE is copied
#   guide           its links are those of the source tree's doc/
#   fill            FILE is NAME.in; each @WORD@ becomes the variable WORD
#   link            FILE is NAME=TARGET, a symbolic link
# Uninstalling also removes the folders named hass, and those in them, where
# they are empty.
set -eu
what=$1
root=$2

# @UP@ leads from a file's folder back to the prefix.
fill() { # FOLDER FILE
  local up words=() w
  up=$(printf '%s\n' "$1" | sed 's|[^/][^/]*|..|g')
  for w in VERSION PREFIX LIBDIR WITH_CUDA SHARED SONAME CUDA_LIBS LA_CUDA_LIBS; do
    words+=(-e "s|@$w@|${!w}|g")
  done
  sed -e "s|@UP@|$up|g" "${words[@]}" "$2"
}

put() { # HOW FILE FOLDER NAME
  local to=$root/$3/$4
  case $1 in
    program) install -m 755 "$2" "$to" ;;
    file) install -m 644 "$2" "$to" ;;
    link) ln -sfn "${2#*=}" "$to" ;;
    guide) sed -e 's|](\.\./examples/|](examples/|g' \
             -e 's|](man/\([^)]*\.\([0-9]\)\))|](../../man/man\2/\1)|g' \
             -e 's|](platforms/|](../../hass/platforms/|g' "$2" >"$to"
           chmod 644 "$to" ;;
    fill) fill "$3" "$2" >"$to"; chmod 644 "$to" ;;
    *) echo "install.sh: $1 of $2 is unknown" >&2; exit 2 ;;
  esac
}

folders=()
while IFS=: read -r how folder file; do
  name=${file##*/}
  case $how in
    fill) name=${name%.in} ;;
    link) name=${file%%=*} ;;
  esac
  folders+=("$folder")
  if [ "$what" = install ]; then
    [ -d "$root/$folder" ] || install -d "$root/$folder"
    put "$how" "$file" "$folder" "$name"
  else
    rm -f "$root/$folder/$name"
  fi
done
[ "$what" = uninstall ] || exit 0

own() { # FOLDER...: those of hass, the parents too, the deepest first
  local d
  for d; do
    while case $d in hass | */hass | */hass/*) true ;; *) false ;; esac; do
      echo "$d"
      d=${d%/*}
    done
  done | sort -ru
}
own "${folders[@]}" | while read -r d; do
  [ ! -d "$root/$d" ] || rmdir --ignore-fail-on-non-empty "$root/$d"
done

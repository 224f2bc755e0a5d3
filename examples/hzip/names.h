/* SPDX-License-Identifier: MIT */
/* names.h: the names of compressed files and of what is in them.
   Thread safety: pure functions. */
#ifndef HZIP_NAMES_H
#define HZIP_NAMES_H

#include <glib.h>

/* Returns: the suffix of a compressed file at the end of @path, within it, as
   gzip knows them, whatever the case of its letters; NULL: it has none.
   @suffix: that of -S, is one too. */
const char *name_suffix (const char *path, const char *suffix);

/* Returns: the name of what the compressed file @path contains, of which @end
   is the suffix, or NULL: foo.tgz contains foo.tar. Free with g_free(). */
char *name_without_suffix (const char *path, const char *end);

/* Returns: @path with its last component replaced by the last one of @stored;
   @path itself if that is empty. Free with g_free(). */
char *name_restored (const char *path, const char *stored);

#endif

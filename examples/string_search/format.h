/* SPDX-License-Identifier: MIT */
/* Turns records into the bytes that grep prints.
   Thread safety: no state; several threads may format into buffers of their
   own.  */

#ifndef STRING_SEARCH_FORMAT_H
#define STRING_SEARCH_FORMAT_H

#include <glib.h>

#include "line_scan.h"

G_BEGIN_DECLS

typedef struct
{
  gboolean line_number;    /* -n */
  gboolean byte_offset;    /* -b */
  gboolean only_matching;  /* -o */
  gboolean check_encoding; /* the locale is UTF-8 */
} FormatOptions;

/* Appends to `out` what grep prints for the records of `block`, a block of
   the text `base`.  `name` goes in front of every line unless it is NULL.
   `newlines_before` counts the newlines of the text before the block, for
   -n; `limit` comes from binary_output_limit().

   Lines that start at or after `limit`, and with check_encoding lines (with
   -o: matches) that are not UTF-8, are left out.  Returns whether any was:
   then format_binary_message() is due after the last block of the file.  */
gboolean format_block (const FormatOptions *options, const char *name,
                       const guint8 *base, const LineBlock *block,
                       guint64 newlines_before, gsize limit, GString *out);

/* Appends the line that -c prints.  */
void format_count (const char *name, guint64 n_lines, GString *out);

/* Appends "grep: NAME: binary file matches" and a newline, which grep 3.8
   writes to its standard error (so do we, with our own program name).  */
void format_binary_message (const char *program, const char *name,
                            GString *out);

G_END_DECLS

#endif

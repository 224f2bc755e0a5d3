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

/* The text that a block is of.  */
typedef struct
{
  const char *name;        /* goes in front of every line; or NULL */
  const guint8 *base;      /* the first byte of the text */
  guint64 newlines_before; /* newlines in front of the block, for -n */
  gsize limit;             /* from binary_output_limit() */
} FormatText;

/* Appends to `out` what grep prints for the records of `block`.

   Lines that start at or after the limit, and with check_encoding lines (with
   -o: matches) that are not UTF-8, are left out.  Returns whether any was:
   then format_binary_message() is due after the last block of the file.  */
gboolean format_block (const FormatOptions *options, const FormatText *text,
                       const LineBlock *block, GString *out);

/* Appends the line that -c prints.  */
void format_count (const char *name, guint64 n_lines, GString *out);

/* Appends "grep: NAME: binary file matches" and a newline, which grep 3.8
   writes to its standard error (so do we, with our own program name).  */
void format_binary_message (const char *program, const char *name,
                            GString *out);

G_END_DECLS

#endif

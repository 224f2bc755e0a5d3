/* SPDX-License-Identifier: MIT */
/* From where on GNU grep 3.8 prints nothing of a file that looks binary.
   Thread safety: no state but what is passed; all functions may run at once,
   each thread with BinaryHoles of its own.  */

#ifndef STRING_SEARCH_BINARY_H
#define STRING_SEARCH_BINARY_H

#include <glib.h>

G_BEGIN_DECLS

#define BINARY_NEVER G_MAXSIZE

/* The offset of the first NUL byte in bytes [first, first + count) of the
   text `base`, or BINARY_NEVER.  Blocks may be asked for in parallel.  */
gsize binary_first_nul (const guint8 *base, gsize first, gsize count);

/* Whether a file has a hole behind grep's first read, once that was asked; at
   first only `fd` is set, the open file, or -1 if it cannot be asked.  A file
   system in memory visits all pages of the file for the answer (tmpfs: 5 to 20
   ms for 500 MB), so the answer is kept while the file is open.  */
typedef struct
{
  int fd;
  gboolean asked, found;
} BinaryHoles;

/* Returns the offset of the line from which on output is suppressed:
   matching lines that start before it are printed, and if one starts at or
   after it the message "binary file matches" follows; BINARY_NEVER if all
   lines are printed.  Not for -c, which counts all lines and says nothing.

   `holes` are of the same file.  `first_nul` is the offset of the first NUL
   byte of the text `base` [size], or BINARY_NEVER; of NULs far behind
   `last_line`, the start of the last matching line, nothing need be known.
   Costs a look at one line end each 96 KiB up to the NUL.  */
gsize binary_output_limit (BinaryHoles *holes, const guint8 *base, gsize size,
                           gsize first_nul, gsize last_line);

/* As above for the open file `fd` or -1, asked once a call, but looks for the
   first NUL itself, no further than matters for `last_line`.  */
gsize binary_find_limit (int fd, const guint8 *base, gsize size,
                         gsize last_line);

/* Whether [begin, end) has bytes that are not characters of the UTF-8 of
   the C library, as a matching line must not have to be printed in a UTF-8
   locale.  Needs setlocale() to have set such a locale.  */
gboolean binary_has_encoding_errors (const guint8 *begin, const guint8 *end);

G_END_DECLS

#endif

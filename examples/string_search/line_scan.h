/* SPDX-License-Identifier: MIT */
/* Finds the matching lines that start in one block of a text.
   Any number of threads may scan blocks of one text with one matcher; each
   needs its own LineBuffer.  */

#ifndef STRING_SEARCH_LINE_SCAN_H
#define STRING_SEARCH_LINE_SCAN_H

#include <glib.h>

#include "line_guide.h"
#include "matcher/matcher.h"

G_BEGIN_DECLS

typedef enum
{
  LINE_SCAN_COUNT = 1 << 0,   /* only count matching lines: no records */
  LINE_SCAN_NUMBERS = 1 << 1, /* fill n_newlines and line_index */
  LINE_SCAN_MATCHES = 1 << 2, /* list the matches of each line */
  LINE_SCAN_NUL = 1 << 3      /* fill first_nul */
} LineScanFlags;

#define LINE_NO_NUL G_MAXUINT64

/* What one block gave: this header and then n_records records, n_bytes in
   all, a multiple of 8.  It holds no pointer and may be copied as bytes, to
   an address aligned to 8; blocks may follow one another.  */
typedef struct
{
  guint64 n_bytes;
  guint64 first; /* the block: bytes [first, first + count) of the text */
  guint64 count;
  guint64 n_lines;    /* matching lines that start in the block */
  guint64 n_newlines; /* in [first, first + count); with NUMBERS */
  guint64 first_nul;  /* offset in the text or LINE_NO_NUL; with NUL */
  guint64 n_records;  /* n_lines, or 0 with COUNT */
} LineBlock;

/* One matching line, followed by its n_matches LineMatch.  */
typedef struct
{
  guint64 start;      /* offset in the text */
  guint64 length;     /* without its newline */
  guint64 line_index; /* newlines in [first, start); with NUMBERS */
  guint64 n_matches;  /* with MATCHES; the empty match is not listed */
} LineRecord;

typedef struct
{
  guint64 start; /* offset in the text */
  guint64 length;
} LineMatch;

/* Plain memory that grows; zero-initialize, free with line_buffer_clear().
   Scans append to it.  */
typedef struct
{
  guint8 *bytes;
  gsize length;
  gsize allocated;
} LineBuffer;

void line_buffer_clear (LineBuffer *buffer);

/* What the blocks of a text are scanned for; constant while they are.  */
typedef struct
{
  const Matcher *matcher;
  const guint8 *base; /* the text, [size] */
  gsize size;
  LineScanFlags flags;
} LineScan;

/* Scans the bytes [first, first + count) of the text and appends one
   LineBlock with its records to `out`.

   Lines are delimited by newlines and, as in grep once it knows a file to be
   binary, by NUL bytes.  The block owns the lines that start in it, to their
   ends; so if blocks cover the text without overlap, each line is handled
   once, whatever their sizes.  Costs O(count + length of the last line).  */
void line_scan (const LineScan *scan, gsize first, gsize count,
                LineBuffer *out);

/* As line_scan() of the guide's block, and with the same result, but looks
   for matches only where the guide says; newlines and the first NUL are the
   guide's, where its filter was made for them.  */
void line_scan_guided (const LineScan *scan, const LineGuide *guide,
                       LineBuffer *out);

/* The record after `record`, or the first one if that is NULL; NULL at the
   end.  */
const LineRecord *line_block_next (const LineBlock *block,
                                   const LineRecord *record);

/* The matches [record->n_matches] of a record.  */
const LineMatch *line_record_matches (const LineRecord *record);

/* Counts the bytes equal to `byte` in [begin, end).  */
gsize count_byte (const guint8 *begin, const guint8 *end, guint8 byte);

G_END_DECLS

#endif

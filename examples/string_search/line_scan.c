/* SPDX-License-Identifier: MIT */
/* Finds the matching lines that start in one block of a text.
   Thread safety: see line_scan.h.

   DESIGN.  The matcher runs over the block, not over lines: a line's ends are
   looked for only around a match.
   1. A block that begins inside a line owns nothing before its first line
      start.  That start is not looked for until there is a match: usually
      there is none, and then nothing need be known about lines.
   2. After a match the search goes on at the next line, so the cursor is at
      an owned line start ever after the first.
   3. The block's last line may run past the block's end.  What of it lies
      beyond, and matches across the end, are searched in pieces that stay in
      the cache while the line's end is looked for too.  A block without a
      line start does not do this, so a line longer than many blocks is
      searched once: inside by nobody, and from its start by its owner.
   4. Newlines are counted up to a record when it is stored, so that the
      bytes are counted while they are in the cache.
   5. Where a GPU has been over the block, its guide says in which stretches
      matches may start, and how many newlines there are up to each tile; the
      rest of the block is not looked at.  */

#include "line_scan.h"

#include <string.h>

#define PIECE_BYTES (64u << 10)

typedef struct
{
  const Matcher *matcher;
  const guint8 *base;
  const guint8 *end;   /* of the text */
  const guint8 *first; /* the block */
  const guint8 *last;
  const LineGuide *guide; /* or NULL */
  LineScanFlags flags;
  LineBuffer *out;
  gsize block_at;        /* where the LineBlock lies in out */
  const guint8 *counted; /* newlines before this are in n_newlines */
  guint64 n_newlines;
  guint64 n_lines;
} Scan;

/* ---- the buffer ---- */

static gpointer
grow (LineBuffer *buffer, gsize n_bytes)
{
  gpointer added;

  if (buffer->allocated - buffer->length < n_bytes)
    {
      buffer->allocated
          = MAX (buffer->allocated * 2, buffer->length + n_bytes + 1024);
      buffer->bytes = g_realloc (buffer->bytes, buffer->allocated);
    }
  added = buffer->bytes + buffer->length;
  buffer->length += n_bytes;
  return added;
}

void
line_buffer_clear (LineBuffer *buffer)
{
  g_free (buffer->bytes);
  memset (buffer, 0, sizeof *buffer);
}

const LineMatch *
line_record_matches (const LineRecord *record)
{
  return (const LineMatch *)(gconstpointer)(record + 1);
}

const LineRecord *
line_block_next (const LineBlock *block, const LineRecord *record)
{
  const guint8 *end = (const guint8 *)block + block->n_bytes;
  const guint8 *next = record == NULL
                           ? (const guint8 *)(block + 1)
                           : (const guint8 *)(line_record_matches (record)
                                              + record->n_matches);

  return next < end ? (const LineRecord *)(gconstpointer)next : NULL;
}

/* ---- lines ---- */

static gboolean
ends_line (guint8 byte)
{
  return byte == '\n' || byte == '\0';
}

/* The first line end in [p, end), or `end`.  */
static const guint8 *
find_line_end (const guint8 *p, const guint8 *end)
{
  const guint8 *newline = memchr (p, '\n', (gsize)(end - p));
  const guint8 *nul;

  if (newline != NULL)
    end = newline;
  nul = memchr (p, '\0', (gsize)(end - p));
  return nul != NULL ? nul : end;
}

/* The start of the line that holds `p`, if in [begin, p], else NULL.  */
static const guint8 *
find_line_start (const Scan *scan, const guint8 *begin, const guint8 *p)
{
  const guint8 *from = begin > scan->base ? begin - 1 : begin;
  const guint8 *newline = memrchr (from, '\n', (gsize)(p - from));
  const guint8 *nul;

  if (newline != NULL)
    from = newline;
  nul = memrchr (from, '\0', (gsize)(p - from));
  if (nul != NULL)
    return nul + 1;
  if (newline != NULL)
    return newline + 1;
  return begin == scan->base ? begin : NULL;
}

static void
list_matches (Scan *scan, gsize record_at, const guint8 *start,
              const guint8 *line_end)
{
  guint64 n_matches = 0;
  gsize length;

  while ((start = matcher_find (scan->matcher, start, line_end, &length))
         != NULL)
    {
      LineMatch *match = grow (scan->out, sizeof *match);

      match->start = (guint64)(start - scan->base);
      match->length = length;
      n_matches++;
      start += length;
    }
  ((LineRecord *)(gpointer)(scan->out->bytes + record_at))->n_matches
      = n_matches;
}

/* Steps 4 and 5: counts the newlines before `to`, which is in the block.  */
static void
count_newlines (Scan *scan, const guint8 *to)
{
  if (scan->guide != NULL)
    {
      gsize tile = (gsize)(to - scan->first) / GPU_FILTER_TILE;
      const guint8 *tile_start = scan->first + tile * GPU_FILTER_TILE;

      if (scan->counted < tile_start)
        {
          scan->n_newlines = scan->guide->newlines[tile];
          scan->counted = tile_start;
        }
    }
  scan->n_newlines += count_byte (scan->counted, to, '\n');
  scan->counted = to;
}

/* The first match in [begin, scan->last); with a guide there may be a longer
   one at the same place.  */
static const guint8 *
find_match (const Scan *scan, const guint8 *begin, gsize *length)
{
  gsize overlap = matcher_max_length (scan->matcher) - 1;
  gsize at = (gsize)(begin - scan->base);
  gsize first;
  gsize last;

  if (scan->guide == NULL)
    return matcher_find (scan->matcher, begin, scan->last, length);
  for (; line_guide_next (scan->guide, at, &first, &last); at = last)
    {
      const guint8 *end = scan->base + last;
      const guint8 *reach = end + MIN (overlap, (gsize)(scan->last - end));
      const guint8 *match
          = matcher_find (scan->matcher, scan->base + first, reach, length);

      if (match != NULL)
        return match;
    }
  return NULL;
}

/* Stores the line [start, line_end), whose leftmost match is not before
   `match`.  */
static void
add_line (Scan *scan, const guint8 *start, const guint8 *match,
          const guint8 *line_end)
{
  LineRecord *record;
  gsize record_at = scan->out->length;

  scan->n_lines++;
  if ((scan->flags & LINE_SCAN_COUNT) != 0)
    return;
  if ((scan->flags & LINE_SCAN_NUMBERS) != 0)
    count_newlines (scan, start);
  record = grow (scan->out, sizeof *record);
  record->start = (guint64)(start - scan->base);
  record->length = (guint64)(line_end - start);
  record->line_index = scan->n_newlines;
  record->n_matches = 0;
  if ((scan->flags & LINE_SCAN_MATCHES) != 0)
    list_matches (scan, record_at, match, line_end);
}

/* Where the leftmost match of the line at `start` may begin, if `match` is
   the first that ends by `limit`: one that is longer may run beyond it.  */
static const guint8 *
leftmost (const Scan *scan, const guint8 *start, const guint8 *match,
          const guint8 *limit)
{
  gsize overlap = matcher_max_length (scan->matcher) - 1;
  const guint8 *p = limit - MIN ((gsize)(limit - start), overlap);

  return MIN (p, match);
}

/* Every line matches the empty pattern.  */
static void
scan_all_lines (Scan *scan)
{
  const guint8 *start = scan->first;

  if (start > scan->base && !ends_line (start[-1]))
    start = find_line_end (start, scan->last) + 1;
  while (start < scan->last)
    {
      const guint8 *line_end = find_line_end (start, scan->end);

      add_line (scan, start, start, line_end);
      start = line_end + 1;
    }
}

/* Step 3: searches the line that starts at `start`, of which [start, from)
   is known to hold no start of a match, to its end.  */
static void
scan_last_line (Scan *scan, const guint8 *start, const guint8 *from)
{
  gsize overlap = matcher_max_length (scan->matcher) - 1;

  for (;;)
    {
      const guint8 *limit
          = from + MIN ((gsize)(scan->end - from), PIECE_BYTES + overlap);
      const guint8 *line_end = find_line_end (from, limit);
      gsize length;
      const guint8 *match
          = matcher_find (scan->matcher, from, line_end, &length);

      if (match != NULL)
        {
          if (line_end == limit)
            line_end = find_line_end (limit, scan->end);
          add_line (scan, start, leftmost (scan, start, match, limit),
                    line_end);
          return;
        }
      if (line_end < limit || limit == scan->end)
        return;
      from = limit - overlap;
    }
}

static void
scan_matches (Scan *scan)
{
  const guint8 *cursor = scan->first;
  const guint8 *match;
  const guint8 *start;
  gsize overlap = matcher_max_length (scan->matcher) - 1;
  gsize length;

  while (cursor < scan->last)
    {
      const guint8 *line_end;

      match = find_match (scan, cursor, &length);
      if (match == NULL)
        break;
      start = find_line_start (scan, cursor, match);
      if (start == NULL)
        {
          /* Step 1: the match is in the line of an earlier block.  */
          cursor = find_line_end (match + length, scan->last) + 1;
          continue;
        }
      line_end = find_line_end (match + length, scan->end);
      add_line (scan, start, leftmost (scan, start, match, scan->last),
                line_end);
      cursor = line_end + 1;
    }
  if (cursor >= scan->last || scan->last == scan->end
      || ends_line (scan->last[-1]))
    return;
  start = find_line_start (scan, cursor, scan->last - 1);
  if (start == NULL)
    return;
  match = scan->last - MIN ((gsize)(scan->last - start), overlap);
  scan_last_line (scan, start, match);
}

static void
scan_block (Scan *scan)
{
  LineBlock *block = grow (scan->out, sizeof *block);
  gsize count = (gsize)(scan->last - scan->first);

  memset (block, 0, sizeof *block);
  if (matcher_has_empty (scan->matcher))
    scan_all_lines (scan);
  else if (matcher_max_length (scan->matcher) > 0)
    scan_matches (scan);

  block = (LineBlock *)(gpointer)(scan->out->bytes + scan->block_at);
  block->n_bytes = scan->out->length - scan->block_at;
  block->first = (guint64)(scan->first - scan->base);
  block->count = count;
  block->n_lines = scan->n_lines;
  block->n_records = (scan->flags & LINE_SCAN_COUNT) != 0 ? 0 : scan->n_lines;
  if ((scan->flags & LINE_SCAN_NUMBERS) != 0 && scan->guide != NULL)
    block->n_newlines = scan->guide->newlines[scan->guide->n_tiles];
  else if ((scan->flags & LINE_SCAN_NUMBERS) != 0)
    block->n_newlines
        = scan->n_newlines + count_byte (scan->counted, scan->last, '\n');
  block->first_nul = LINE_NO_NUL;
  if ((scan->flags & LINE_SCAN_NUL) != 0 && scan->guide != NULL)
    block->first_nul = scan->guide->first_nul;
  else if ((scan->flags & LINE_SCAN_NUL) != 0 && count > 0)
    {
      const guint8 *nul = memchr (scan->first, '\0', count);

      if (nul != NULL)
        block->first_nul = (guint64)(nul - scan->base);
    }
}

/* The block [first, first + count) of the text, about to be appended.  */
static Scan
begin_block (const LineScan *scan, gsize first, gsize count, LineBuffer *out)
{
  return (Scan){ .matcher = scan->matcher,
                 .base = scan->base,
                 .end = scan->base + scan->size,
                 .first = scan->base + first,
                 .last = scan->base + first + count,
                 .flags = scan->flags,
                 .out = out,
                 .block_at = out->length,
                 .counted = scan->base + first };
}

void
line_scan (const LineScan *scan, gsize first, gsize count, LineBuffer *out)
{
  Scan block = begin_block (scan, first, count, out);

  scan_block (&block);
}

void
line_scan_guided (const LineScan *scan, const LineGuide *guide, LineBuffer *out)
{
  Scan block = begin_block (scan, guide->first, guide->count, out);

  block.guide = guide;
  scan_block (&block);
}

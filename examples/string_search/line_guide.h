/* SPDX-License-Identifier: MIT */
/* line_guide.h: what a GPU has found in a block of a text, in an order that
   the scan of the block's lines can use.
   Thread safety: a guide is read-only once made. */
#ifndef STRING_SEARCH_LINE_GUIDE_H
#define STRING_SEARCH_LINE_GUIDE_H

#include <glib.h>

#include "gpu_filter.h"

G_BEGIN_DECLS

/**
 * LineGuide: of the block [first, first + count) of a text.
 * @offset: segment i is of the match starts from first + 64 * i - offset on.
 * @words: [@n_words] a bit for each segment in which a match may start.
 * @newlines: [@n_tiles + 1] in the block before each tile; where the filter
 *   counts them.
 * @first_nul: offset in the text, or G_MAXUINT64; where the filter looks.
 */
typedef struct
{
  gsize first, count;
  gsize offset;
  guint32 *words;
  gsize n_words;
  guint64 *newlines;
  gsize n_tiles;
  guint64 first_nul;
} LineGuide;

/**
 * GpuFindings: what a GPU reported of the block [first, first + count).
 * @filter: what the GPU searched for.
 * @records: [@n_records] in any order.
 */
typedef struct
{
  const GpuFilter *filter;
  gsize first, count;
  const guint64 *records;
  gsize n_records;
} GpuFindings;

/* Makes a guide of a block's records.  FALSE with HASS_ERROR_DEVICE if a
   record is not of this block.  Clear the guide in either case.  */
gboolean line_guide_init (LineGuide *guide, const GpuFindings *found,
                          GError **error);
void line_guide_clear (LineGuide *guide);

/* Stores the first stretch [begin, end) of the block, from offset `at` of
   the text on, in which matches may start; FALSE if there is none.  It is
   never longer than GPU_FILTER_WORD.  */
gboolean line_guide_next (const LineGuide *guide, gsize at, gsize *begin,
                          gsize *end);

G_END_DECLS

#endif

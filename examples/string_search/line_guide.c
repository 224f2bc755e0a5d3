/* SPDX-License-Identifier: MIT */
/* line_guide.c: puts a GPU's records, which come in any order, into order.
   Thread safety: see line_guide.h. */
#include "line_guide.h"

#include <hass/hass.h>

static gboolean
take (LineGuide *guide, guint64 record)
{
  guint64 index = gpu_record_index (record);
  guint32 value = (guint32)record;
  switch (gpu_record_kind (record))
    {
    case GPU_RECORD_SEGMENTS:
      if (index >= guide->n_words)
        return FALSE;
      guide->words[index] |= value;
      return TRUE;
    case GPU_RECORD_NEWLINES:
      if (index >= guide->n_tiles || value > GPU_FILTER_TILE)
        return FALSE;
      guide->newlines[index + 1] = value;
      return TRUE;
    case GPU_RECORD_NUL:
      if (index * GPU_FILTER_TILE + value >= guide->count)
        return FALSE;
      guide->first_nul = MIN (guide->first_nul,
                              guide->first + index * GPU_FILTER_TILE + value);
      return TRUE;
    }
  return FALSE;
}

gboolean
line_guide_init (LineGuide *guide, const GpuFindings *found, GError **error)
{
  gsize offset = found->filter->head->offset;
  gsize positions = found->count + offset;
  memset (guide, 0, sizeof *guide);
  guide->first = found->first;
  guide->count = found->count;
  guide->offset = offset;
  guide->n_words = (positions + GPU_FILTER_WORD - 1) / GPU_FILTER_WORD;
  guide->words = g_new0 (guint32, guide->n_words);
  guide->n_tiles = (positions + GPU_FILTER_TILE - 1) / GPU_FILTER_TILE;
  guide->newlines = g_new0 (guint64, guide->n_tiles + 1);
  guide->first_nul = G_MAXUINT64;
  for (gsize i = 0; i < found->n_records; i++)
    if (!take (guide, found->records[i]))
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                     "record %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
                     " of the block at %" G_GSIZE_FORMAT
                     " is not of its %" G_GSIZE_FORMAT
                     " bytes: %#" G_GINT64_MODIFIER "x",
                     i, found->n_records, found->first, found->count,
                     found->records[i]);
        return FALSE;
      }
  for (gsize i = 0; i < guide->n_tiles; i++)
    guide->newlines[i + 1] += guide->newlines[i];
  return TRUE;
}

void
line_guide_clear (LineGuide *guide)
{
  g_clear_pointer (&guide->words, g_free);
  g_clear_pointer (&guide->newlines, g_free);
}

gboolean
line_guide_next (const LineGuide *guide, gsize at, gsize *begin, gsize *end)
{
  gsize x = at - guide->first + guide->offset;
  gsize word = x / GPU_FILTER_WORD;
  guint32 bits;
  if (word >= guide->n_words)
    return FALSE;
  bits = guide->words[word] & G_MAXUINT32 << (x / GPU_FILTER_SEGMENT % 32);
  while (bits == 0)
    {
      if (++word >= guide->n_words)
        return FALSE;
      bits = guide->words[word];
    }
  /* The run of ones from the lowest on; one that fills the word has none
     behind it. */
  guint low = (guint)__builtin_ctz (bits);
  guint32 after = ~(bits >> low);
  guint high = after ? low + (guint)__builtin_ctz (after) : 32;
  gsize from = (word * 32 + low) * GPU_FILTER_SEGMENT;
  gsize to = (word * 32 + high) * GPU_FILTER_SEGMENT;
  *begin = guide->first + MAX (from, x) - guide->offset;
  *end = guide->first + MIN (to - guide->offset, guide->count);
  return *begin < *end;
}

/* SPDX-License-Identifier: MIT */
/* layout.c: see layout.h.
   Thread safety: see layout.h. */
#include "layout.h"

#include <string.h>

#include "pinned.h"
#include "stream_copy.h"

static void
place (HassLayout *l, gsize *at, gsize bytes)
{
  *at = l->table_bytes;
  l->table_bytes += (bytes + 15) & ~(gsize)15;
}

void
hass_layout_init (HassLayout *l, const HassBlock *blocks, gsize n,
                  gboolean functions, GArray *rectangles, gboolean join)
{
  gboolean tiles_out = FALSE;
  *l = (HassLayout){ .n = n,
                     .blocks = blocks,
                     .adjacent = TRUE,
                     .adjacent_out = TRUE,
                     .offsets_at = G_MAXSIZE,
                     .output_offsets_at = G_MAXSIZE,
                     .output_pitches_at = G_MAXSIZE,
                     .elements_at = G_MAXSIZE,
                     .halos_at = G_MAXSIZE,
                     .functions_at = G_MAXSIZE,
                     .rectangles = rectangles,
                     .first_rectangle = rectangles->len };
  const guint8 *in_end = NULL, *out_end = NULL;
  for (gsize i = 0; i < n; i++)
    {
      const HassBlock *b = &blocks[i];
      const guint8 *in = hass_layout_input (b);
      gsize bytes = hass_layout_input_bytes (b);
      l->adjacent
          &= b->input && !b->input_row_bytes && (i == 0 || in == in_end);
      l->adjacent_out &= b->output && !b->output_row_bytes
                         && (i == 0 || b->output == out_end);
      in_end = in + bytes;
      out_end = b->output + b->output_bytes;
      l->has_halos |= b->halo_before + b->halo_after > 0;
      l->has_tiles |= b->input_row_bytes + b->output_row_bytes > 0;
      l->input_bytes += bytes;
      l->output_bytes += b->output_bytes;
      l->n_elements += b->count;
      tiles_out |= b->output_row_bytes > 0;
    }
  if (tiles_out)
    hass_rectangles_find (rectangles, blocks, n, join);
  l->n_rectangles = rectangles->len - l->first_rectangle;
  if (n > 1)
    {
      place (l, &l->offsets_at, (n + 1) * sizeof (guint64));
      place (l, &l->elements_at, (n + 1) * sizeof (guint64));
      if (l->output_bytes > 0)
        place (l, &l->output_offsets_at, (n + 1) * sizeof (guint64));
      if (join && tiles_out)
        place (l, &l->output_pitches_at, n * sizeof (guint64));
      if (l->has_halos)
        place (l, &l->halos_at, n * sizeof (guint64));
    }
  if (functions)
    place (l, &l->functions_at, n * sizeof (guint32));
  l->table_bytes = hass_layout_aligned (l->table_bytes);
}

gboolean
hass_layout_is_pinned (const HassLayout *l, gboolean adjacent, gsize bytes,
                       gsize least, HassBlockPlaceFunc where,
                       HassBlockBytesFunc bytes_of)
{
  if (adjacent)
    return hass_memory_is_pinned (where (&l->blocks[0]), bytes);
  if (bytes / l->n < least)
    return FALSE;
  for (gsize i = 0; i < l->n; i++)
    if (!hass_memory_is_pinned (where (&l->blocks[i]),
                                bytes_of (&l->blocks[i])))
      return FALSE;
  return TRUE;
}

/* Sets @offsets [n + 1], the bytes at which each block's output begins in the
   packed outputs, and @pitches [n], unless NULL: the bytes from one row of the
   block to the next, 0 if its rows are adjacent. */
void
hass_layout_places (const HassLayout *l, guint64 *offsets, guint64 *pitches)
{
  if (l->n_rectangles > 0)
    {
      hass_rectangles_places (hass_layout_rectangles (l), l->n_rectangles,
                              l->blocks, offsets, pitches);
      return;
    }
  offsets[0] = 0;
  for (gsize i = 0; i < l->n; i++)
    {
      offsets[i + 1] = offsets[i] + l->blocks[i].output_bytes;
      if (pitches)
        pitches[i] = 0;
    }
}

/* Writes the bundle's tables (offsets, elements, halos and functions of its
   blocks) to @tables [table_bytes]. */
void
hass_layout_fill (const HassLayout *l,
                  guint32 (*function_of) (const HassLoad *load), guint8 *tables)
{
  if (l->n > 1)
    {
      guint64 *offsets = (guint64 *)(gpointer)(tables + l->offsets_at);
      guint64 *elements = (guint64 *)(gpointer)(tables + l->elements_at);
      offsets[0] = elements[0] = 0;
      for (gsize i = 0; i < l->n; i++)
        {
          offsets[i + 1] = offsets[i] + hass_layout_input_bytes (&l->blocks[i]);
          elements[i + 1] = elements[i] + l->blocks[i].count;
        }
    }
  if (l->output_offsets_at != G_MAXSIZE)
    hass_layout_places (
        l, (guint64 *)(gpointer)(tables + l->output_offsets_at),
        l->output_pitches_at == G_MAXSIZE
            ? NULL
            : (guint64 *)(gpointer)(tables + l->output_pitches_at));
  if (l->halos_at != G_MAXSIZE)
    {
      guint64 *halos = (guint64 *)(gpointer)(tables + l->halos_at);
      for (gsize i = 0; i < l->n; i++)
        halos[i]
            = hass_layout_halo_bytes (&l->blocks[i], l->blocks[i].halo_before);
    }
  if (l->functions_at != G_MAXSIZE)
    {
      guint32 *functions = (guint32 *)(gpointer)(tables + l->functions_at);
      for (gsize i = 0; i < l->n; i++)
        functions[i] = function_of ? function_of (l->blocks[i].load) : 0;
    }
}

/* Copies the input of one block to @to: with its halos, or if it is a tile its
   rows without the gaps between them. */
void
hass_layout_copy_in (const HassBlock *b, guint8 *to)
{
  gsize bytes = hass_layout_input_bytes (b);
  if (!b->input || bytes == 0)
    return;
  if (!b->input_row_bytes)
    hass_stream_copy (to, hass_layout_input (b), bytes);
  for (gsize at = 0, row = 0; b->input_row_bytes && at < bytes; row++)
    {
      hass_stream_copy (to + at, b->input + row * b->input_pitch,
                        b->input_row_bytes);
      at += b->input_row_bytes;
    }
}

/* Copies the output of one block from @from to its place in host memory.
   @from_pitch: for a tile, the bytes from one row to the next at @from; 0:
   rows are adjacent there. */
void
hass_layout_copy_out (const HassBlock *b, const guint8 *from, gsize from_pitch)
{
  if (!b->output || b->output_bytes == 0)
    return;
  if (!b->output_row_bytes)
    {
      memcpy (b->output, from, b->output_bytes);
      return;
    }
  gsize rows = b->output_bytes / b->output_row_bytes;
  for (gsize row = 0; row < rows; row++)
    memcpy (b->output + row * b->output_pitch,
            from + row * (from_pitch ? from_pitch : b->output_row_bytes),
            b->output_row_bytes);
}

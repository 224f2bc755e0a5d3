/* SPDX-License-Identifier: MIT */
/* rectangles.c: see rectangles.h.
   Thread safety: see rectangles.h. */
#include "rectangles.h"

static gsize
rows_of (const HassBlock *b)
{
  return b->output_row_bytes ? b->output_bytes / b->output_row_bytes : 1;
}

static gsize
row_bytes_of (const HassBlock *b)
{
  return b->output_row_bytes ? b->output_row_bytes : b->output_bytes;
}

static gboolean
is_tile (const HassBlock *b)
{
  return b->output && b->output_row_bytes > 0 && b->output_bytes > 0;
}

/* Returns: whether @b is a tile directly to the right of the tile @a in the
   same array: with the same pitch and number of rows, @b begins where the
   first row of @a ends. */
static gboolean
beside (const HassBlock *a, const HassBlock *b)
{
  return is_tile (a) && is_tile (b) && a->output_pitch == b->output_pitch
         && rows_of (a) == rows_of (b)
         && b->output == a->output + a->output_row_bytes;
}

/* Returns: the rectangle of the tiles from @first on that lie side by side in
   their array; without @join, of the first tile alone. */
static HassRectangle
row_of_tiles (const HassBlock *blocks, gsize first, gsize n, gboolean join)
{
  const HassBlock *b = &blocks[first];
  HassRectangle r = { .first_block = first,
                      .n_blocks = 1,
                      .across = 1,
                      .row_bytes = row_bytes_of (b),
                      .rows = rows_of (b) };
  while (
      join && first + r.n_blocks < n
      && beside (&blocks[first + r.n_blocks - 1], &blocks[first + r.n_blocks])
      && r.row_bytes + row_bytes_of (&blocks[first + r.n_blocks])
             <= b->output_pitch)
    r.row_bytes += row_bytes_of (&blocks[first + r.n_blocks++]);
  r.across = r.n_blocks;
  return r;
}

static gboolean
below (const HassRectangle *r, const HassRectangle *next,
       const HassBlock *blocks)
{
  const HassBlock *a = &blocks[r->first_block], *b = &blocks[next->first_block];
  return is_tile (a) && is_tile (b) && r->across == next->across
         && r->row_bytes == next->row_bytes
         && a->output_pitch == b->output_pitch
         && b->output == a->output + r->rows * a->output_pitch;
}

void
hass_rectangles_find (GArray *rectangles, const HassBlock *blocks, gsize n,
                      gboolean join)
{
  HassRectangle *last = NULL;
  gsize at = 0;
  for (gsize i = 0; i < n;)
    {
      HassRectangle r = row_of_tiles (blocks, i, n, join);
      i += r.n_blocks;
      r.offset = at;
      at += r.rows * r.row_bytes;
      if (last && below (last, &r, blocks))
        {
          last->rows += r.rows;
          last->n_blocks += r.n_blocks;
          continue;
        }
      g_array_append_val (rectangles, r);
      last = &g_array_index (rectangles, HassRectangle, rectangles->len - 1);
    }
}

void
hass_rectangles_places (const HassRectangle *rectangles, gsize n_rectangles,
                        const HassBlock *blocks, guint64 *offsets,
                        guint64 *pitches)
{
  gsize k = 0;
  guint64 end = 0;
  for (gsize i = 0; i < n_rectangles; i++)
    {
      const HassRectangle *r = &rectangles[i];
      for (guint64 row_at = r->offset; k < r->first_block + r->n_blocks;)
        {
          gsize rows = rows_of (&blocks[k]);
          guint64 at = row_at;
          for (gsize c = 0; c < r->across; c++, k++)
            {
              offsets[k] = at;
              if (pitches)
                pitches[k] = r->row_bytes;
              at += row_bytes_of (&blocks[k]);
            }
          row_at += rows * r->row_bytes;
        }
      end = r->offset + r->rows * r->row_bytes;
    }
  offsets[k] = end;
}

gsize
hass_rectangle_span (const HassRectangle *r, const HassBlock *blocks)
{
  gsize pitch = blocks[r->first_block].output_pitch;
  return r->rows == 0 ? 0 : (r->rows - 1) * pitch + r->row_bytes;
}

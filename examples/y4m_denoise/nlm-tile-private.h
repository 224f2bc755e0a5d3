/* SPDX-License-Identifier: MIT */
/* nlm-tile-private.h: non-local means of a tile; included once for each
   instruction set, by a file that defines

   KERNELS, KERNELS_NAME: what they are called;
   LANES, Vector: unsigned integers of 16 bits in a vector, and its type;
   load, store, spread: a vector at any address, and of equal lanes;
   add, add_limited, subtract, subtract_limited, multiply, multiply_high,
   left, right: by lane; "limited" results stay within 0 and 65535;
   add_products: see accumulate();
   means: see finish().

   DESIGN. d (p, p + o) is symmetric, so the weights of offset o serve p and
   p + o; half of the offsets are computed, for the tile and for the tile moved
   by -o. For each offset:

   1. Rows of squared differences are summed over the height of a patch with 3
      additions a sample, whatever that height is: in blocks of as many rows,
      a sum of a patch's rows is a sum of the last rows of a block and one of
      the first rows of the next (van Herk 1992).
   2. These are summed over the width of a patch by doubling: sums of 2, 4, 8,
      ... neighbours, of which those are added that make up the width.
   3. Weights follow from the sums, and products of weights and samples are
      added up.

   Sums are limited to 65535, which is associative; so 16 bits suffice. Loops
   run over whole vectors: memory has PAD lanes more than a row needs.

   Thread safety: as nlm.h. */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "nlm-private.h"

#define PAD 64
/* floor (log2 (NLM_MAX_SIZE)) + 1. */
#define LEVELS 7

/* A tile at work. Rows of @image, @weights and @sums are @image_stride,
   @row_stride and NLM_TILE_WIDTH lanes apart.
   @image: the tile's first sample; its halo lies around it.
   @block, @rest: squared differences of the rows of the current block, and sums
   of the last rows of the one before.
   @first: sum of the first rows of the current block.
   @level: sums of 1, 2, 4, ... neighbours. */
typedef struct
{
  const NlmParams *params;
  int width, height;
  const uint16_t *image;
  gsize image_stride, row_stride;
  uint16_t *block, *rest, *first, *none, *level[LEVELS], *weights;
  uint32_t *sums, *totals;
} Tile;

/* Step 1 for a row: the squares of @a - @b to @squares, added to @first; and
   the sum of that and @rest to @column. */
static void
add_row (Tile *t, const uint16_t *a, const uint16_t *b, uint16_t *squares,
         const uint16_t *rest, int n)
{
  guint shift = t->params->shift;
  uint16_t *first = t->first, *column = t->level[0];
  for (int x = 0; x < n; x += LANES)
    {
      Vector d = subtract (load (a + x), load (b + x));
      Vector s = right (multiply (d, d), shift);
      Vector f = add_limited (load (first + x), s);
      store (squares + x, s);
      store (first + x, f);
      store (column + x, add_limited (f, load (rest + x)));
    }
}

/* Sums of the last rows of a block, in place. That of all rows is not needed.
 */
static void
sum_last_rows (uint16_t *block, gsize stride, int rows, int n)
{
  for (int x = 0; x < n; x += LANES)
    {
      Vector sum = load (block + (rows - 1) * stride + x);
      for (int y = rows - 2; y > 0; y--)
        {
          sum = add_limited (sum, load (block + y * stride + x));
          store (block + y * stride + x, sum);
        }
    }
}

static inline Vector
weigh (const NlmParams *p, Vector distance)
{
  Vector u
      = left (subtract_limited (spread (p->reach), distance), p->scale_shift);
  u = add (u, multiply_high (u, spread (p->scale)));
  u = multiply_high (u, u);
  u = multiply_high (u, u);
  u = multiply_high (u, u);
  return right (u, NLM_WEIGHT_SHIFT);
}

/* The weights of a row from the sums of its distances, which are in @n_terms
   parts. */
static inline __attribute__ ((always_inline)) void
weigh_row (const NlmParams *params, uint16_t *const *terms, int n_terms,
           uint16_t *to, int n)
{
  const NlmParams p = *params;
  for (int x = 0; x < n; x += LANES)
    {
      Vector sum = load (terms[0] + x);
      for (int i = 1; i < n_terms; i++)
        sum = add_limited (sum, load (terms[i] + x));
      store (to + x, weigh (&p, sum));
    }
}

/* Steps 2 and 3 for a row of @n samples. */
static void
finish_row (Tile *t, uint16_t *weights, int n)
{
  int patch = 2 * t->params->patch + 1, n_terms = 0, at = 0, top = 0;
  uint16_t *terms[LEVELS];
  for (; 2 << top <= patch; top++)
    {
      const uint16_t *from = t->level[top];
      uint16_t *to = t->level[top + 1];
      for (int x = 0; x < n + patch - 1; x += LANES)
        store (to + x,
               add_limited (load (from + x), load (from + x + (1 << top))));
    }
  for (int k = top; k >= 0; k--)
    if (patch & (1 << k))
      {
        terms[n_terms++] = t->level[k] + at;
        at += 1 << k;
      }
  switch (n_terms)
    {
    case 1:
      weigh_row (t->params, terms, 1, weights, n);
      break;
    case 2:
      weigh_row (t->params, terms, 2, weights, n);
      break;
    case 3:
      weigh_row (t->params, terms, 3, weights, n);
      break;
    default:
      weigh_row (t->params, terms, n_terms, weights, n);
    }
}

/* The weights of offset (@dx, @dy) for the tile and the tile moved by -@dx,
   -@dy. */
static void
weigh_offset (Tile *t, int dx, int dy)
{
  int patch = 2 * t->params->patch + 1, radius = t->params->patch;
  int n = t->width + abs (dx), columns = n + patch - 1;
  gssize left_column = MIN (0, -dx) - radius, top_row = -dy - radius;
  const uint16_t *a
      = t->image + top_row * (gssize)t->image_stride + left_column;
  const uint16_t *b = a + dy * (gssize)t->image_stride + dx;
  for (int y = 0, i = 0; y < t->height + dy + patch - 1; y++)
    {
      if (i == 0)
        memset (t->first, 0, (columns + PAD) * sizeof *t->first);
      gboolean has_rest = y >= patch && i < patch - 1;
      add_row (t, a, b, t->block + i * t->row_stride,
               has_rest ? t->rest + (i + 1) * t->row_stride : t->none, columns);
      if (y >= patch - 1)
        finish_row (t, t->weights + (y - patch + 1) * t->row_stride, n);
      a += t->image_stride;
      b += t->image_stride;
      if (++i == patch)
        {
          sum_last_rows (t->block, t->row_stride, patch, columns);
          uint16_t *rest = t->rest;
          t->rest = t->block;
          t->block = rest;
          i = 0;
        }
    }
}

/* Adds what offsets (@dx, @dy) and (-@dx, -@dy) contribute. */
static void
accumulate (Tile *t, int dx, int dy)
{
  gssize offset = dy * (gssize)t->image_stride + dx;
  const uint16_t *behind = t->weights + MAX (0, dx) - dx;
  const uint16_t *ahead = t->weights + dy * t->row_stride + MAX (0, dx);
  for (int y = 0; y < t->height; y++)
    {
      const uint16_t *image = t->image + y * t->image_stride;
      uint32_t *sums = t->sums + y * NLM_TILE_WIDTH;
      uint32_t *totals = t->totals + y * NLM_TILE_WIDTH;
      for (int x = 0; x < t->width; x += LANES)
        add_products (sums + x, totals + x, load (ahead + x),
                      load (image + offset + x), load (behind + x),
                      load (image - offset + x));
      ahead += t->row_stride;
      behind += t->row_stride;
    }
}

/* The sample itself, whose distance is 0. */
static void
begin (Tile *t)
{
  Vector own = spread (nlm_weight (t->params, 0)), zero = spread (0);
  memset (t->sums, 0, NLM_TILE_WIDTH * NLM_TILE_HEIGHT * sizeof *t->sums);
  memset (t->totals, 0, NLM_TILE_WIDTH * NLM_TILE_HEIGHT * sizeof *t->totals);
  for (int y = 0; y < t->height; y++)
    for (int x = 0; x < t->width; x += LANES)
      add_products (t->sums + y * NLM_TILE_WIDTH + x,
                    t->totals + y * NLM_TILE_WIDTH + x, own,
                    load (t->image + y * t->image_stride + x), zero, zero);
}

static void
finish (const Tile *t, uint8_t *out, gsize pitch)
{
  for (int y = 0; y < t->height; y++)
    {
      uint8_t row[NLM_TILE_WIDTH];
      means (t->sums + y * NLM_TILE_WIDTH, t->totals + y * NLM_TILE_WIDTH, row,
             t->width);
      memcpy (out + y * pitch, row, t->width);
    }
}

/* Copies the tile and its halo; returns the tile's first sample. */
static const uint16_t *
copy_image (Tile *t, NlmSize size, int x, int y, const uint8_t *in,
            uint16_t *to)
{
  int halo = t->params->patch + t->params->search;
  for (int r = -halo; r < t->height + halo; r++, to += t->image_stride)
    {
      const uint8_t *row
          = in + (gsize)CLAMP (y + r, 0, size.height - 1) * size.width;
      int c = -halo, from = x - halo, end = t->width + halo;
      for (; c < end && from < 0; c++, from++)
        to[c + halo] = row[0];
      for (; c < end && from < size.width; c++, from++)
        to[c + halo] = row[from];
      for (; c < end; c++)
        to[c + halo] = row[size.width - 1];
    }
  return to - (t->height + halo) * t->image_stride + halo;
}

static void
tile (const NlmParams *params, NlmSize size, int x, int y, const uint8_t *in,
      uint8_t *out)
{
  int radius = params->search, halo = params->patch + radius;
  Tile t = { .params = params,
             .width = MIN (NLM_TILE_WIDTH, size.width - x),
             .height = MIN (NLM_TILE_HEIGHT, size.height - y) };
  gsize patch = 2 * params->patch + 1;
  t.image_stride = (NLM_TILE_WIDTH + 2 * halo + 31) & ~(gsize)31;
  t.row_stride = (NLM_TILE_WIDTH + radius + patch + PAD + 31) & ~(gsize)31;
  gsize image_size = (t.height + 2 * halo) * t.image_stride + PAD;
  gsize weights_size = (t.height + radius) * t.row_stride + PAD;
  gsize rows = 2 * patch + 2 + LEVELS;
  gsize area = NLM_TILE_WIDTH * NLM_TILE_HEIGHT;
  gsize n = image_size + weights_size + rows * t.row_stride + 4 * area;
  uint16_t *memory = g_new (uint16_t, n);
  t.sums = (uint32_t *)memory;
  t.totals = t.sums + area;
  uint16_t *next = memory + 4 * area;
  t.block = next;
  t.rest = t.block + patch * t.row_stride;
  t.first = t.rest + patch * t.row_stride;
  t.none = t.first + t.row_stride;
  for (int k = 0; k < LEVELS; k++)
    t.level[k] = t.none + (k + 1) * t.row_stride;
  t.weights = t.level[LEVELS - 1] + t.row_stride;
  memset (next, 0, (rows * t.row_stride + weights_size) * sizeof *next);
  uint16_t *image = t.weights + weights_size;
  memset (image, 0, image_size * sizeof *image);
  t.image = copy_image (&t, size, x, y, in, image);
  begin (&t);
  for (int dy = 0; dy <= radius; dy++)
    for (int dx = dy == 0 ? 1 : -radius; dx <= radius; dx++)
      {
        weigh_offset (&t, dx, dy);
        accumulate (&t, dx, dy);
      }
  finish (&t, out + (gsize)y * size.width + x, size.width);
  g_free (memory);
}

const NlmKernels KERNELS = { KERNELS_NAME, tile };

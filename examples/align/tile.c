/* SPDX-License-Identifier: MIT */
/* tile.c: see tile.h.
   Thread safety: as tile.h. */
#include "tile.h"

#include <hass/hass.h>
#include <string.h>

/* What kernels may read beyond the last row and on both sides of the columns.
 */
#define PAD ALIGN_SIDE_STEP

/* The largest cost that a number of 8 bits has. */
#define MOST_COST INT8_MAX

/* Bits of a score that the floor of kernels takes from 16 at most. */
#define HEADROOM (ALIGN_MAX_OPEN + ALIGN_MAX_EXTEND)

static int
widest_side (const AlignScheme *s)
{
  int most = (G_MAXUINT16 - HEADROOM - 3 * s->open)
             / (2 * MAX (s->largest + s->extend, 1));
  most -= most % ALIGN_SIDE_STEP;
  return MIN (most, ALIGN_MAX_SIDE);
}

static gboolean
encode (const AlignPair *p, const char *residues, gboolean second,
        GError **error)
{
  for (gsize i = 0; i < p->n[second]; i++)
    {
      int code = align_code (p->scheme, residues[i], second);
      if (code < 0)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                       "residue %zu of the %s sequence is no letter", i + 1,
                       second ? "second" : "first");
          return FALSE;
        }
      code *= ALIGN_CODE_STEP;
      *(second ? p->b - i : p->a + i) = (int16_t)code;
    }
  return TRUE;
}

static void
make_profile (AlignPair *p, gsize rows)
{
  int16_t *to = p->profile;
  for (gsize i = 0; i < rows; i += ALIGN_ROWS)
    for (int b = 0; b < ALIGN_PROFILE_CODES; b++)
      for (gsize r = i; r < i + ALIGN_ROWS; r++)
        *to++ = p->scheme->table[align_row_code (p, r)][b];
}

/* What the strips of 8 bits read, from what those of 16 bits read: @rows and
   @columns with what is beyond both ends. */
static gboolean
make_bytes (AlignPair *p, gsize rows, gsize columns)
{
  gsize profile = p->profile ? rows * ALIGN_PROFILE_CODES : 0;
  int8_t *memory;
  if (!p->kernels->bytes || p->scheme->open > MOST_COST)
    return TRUE;
  p->memory8 = memory = g_try_new (int8_t, rows + columns + profile);
  if (!memory)
    return FALSE;
  p->a8 = memory + profile;
  p->b8 = p->a8 + rows + columns - PAD - 1;
  for (gsize i = 0; i < rows + columns; i++)
    p->a8[i] = (int8_t)(p->a[i] / ALIGN_CODE_STEP);
  p->profile8 = p->profile ? memory : NULL;
  for (gsize i = 0; i < profile; i++)
    p->profile8[i] = (int8_t)p->profile[i];
  return TRUE;
}

static gboolean
make_codes (AlignPair *p)
{
  p->codes[0] = g_try_new (int8_t, p->n[0] + p->n[1] + 1);
  if (!p->codes[0])
    return FALSE;
  p->codes[1] = p->codes[0] + p->n[0];
  for (gsize i = 0; i < p->n[0]; i++)
    p->codes[0][i] = (int8_t)align_row_code (p, i);
  for (gsize j = 0; j < p->n[1]; j++)
    p->codes[1][j] = (int8_t)align_column_code (p, j);
  return TRUE;
}

static gboolean
no_memory (const AlignPair *p, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
               "no memory for sequences of %zu and %zu residues", p->n[0],
               p->n[1]);
  return FALSE;
}

gboolean
align_pair_init (AlignPair *p, const AlignScheme *scheme,
                 const AlignKernels *kernels, const char *const residues[2],
                 const gsize n[2], GError **error)
{
  memset (p, 0, sizeof *p);
  p->scheme = scheme;
  p->kernels = kernels ? kernels : align_kernels (0);
  p->side = widest_side (scheme);
  p->n[0] = n[0];
  p->n[1] = n[1];
  if (MIN (n[0], n[1]) > (gsize)(G_MAXINT32 / MAX (scheme->largest, 1)))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_OVERFLOW,
                   "the sequences have %zu and %zu residues; their score can "
                   "exceed %d",
                   n[0], n[1], G_MAXINT32);
      return FALSE;
    }
  gsize rows = (n[0] + PAD + ALIGN_ROWS - 1) / ALIGN_ROWS * ALIGN_ROWS;
  gsize columns = n[1] + 2 * PAD;
  gsize profile = scheme->simple ? 0 : rows * ALIGN_PROFILE_CODES;
  int16_t *memory = g_try_new (int16_t, rows + columns + profile);
  if (!memory)
    return no_memory (p, error);
  p->memory = memory;
  p->a = memory + profile;
  p->b = p->a + rows + columns - PAD - 1;
  for (gsize i = 0; i < rows; i++)
    p->a[i] = ALIGN_PAD_A * ALIGN_CODE_STEP;
  for (gsize i = 0; i < columns; i++)
    p->a[rows + i] = ALIGN_PAD_B * ALIGN_CODE_STEP;
  if (!encode (p, residues[0], FALSE, error)
      || !encode (p, residues[1], TRUE, error))
    {
      align_pair_clear (p);
      return FALSE;
    }
  p->profile = profile > 0 ? memory : NULL;
  if (p->profile)
    make_profile (p, rows);
  if (make_bytes (p, rows, columns) && make_codes (p))
    return TRUE;
  no_memory (p, error);
  align_pair_clear (p);
  return FALSE;
}

void
align_pair_clear (AlignPair *p)
{
  g_free (p->memory);
  g_free (p->memory8);
  g_free (p->codes[0]);
  memset (p, 0, sizeof *p);
}

static int32_t
largest_cell (const AlignEdge *edge, int n)
{
  int largest = 0;
  for (int i = 0; i < n; i++)
    largest = MAX (largest, edge->cells[i][0]);
  return edge->base + largest;
}

/* The numbers that stand for @base and above, as kernels store them. */
static void
unpack (const AlignEdge *edge, int n, int32_t base, int floor, int16_t *h,
        int16_t *passed)
{
  int offset = edge->base - base + floor;
  for (int i = 0; i < n; i++)
    {
      int a = edge->cells[i][0] + offset, b = edge->cells[i][1] + offset;
      h[i] = (int16_t)MAX (a, floor);
      passed[i] = (int16_t)MAX (b, floor);
    }
}

static void
pack (AlignEdge *edge, int n, int32_t base, int floor, const int16_t *h,
      const int16_t *passed)
{
  edge->base = base;
  for (int i = 0; i < n; i++)
    {
      edge->cells[i][0] = (uint16_t)(h[i] - floor);
      edge->cells[i][1] = (uint16_t)(MAX (passed[i], floor) - floor);
    }
}

/* The numbers along the edges of a tile, of @rows and @columns, as kernels
   change them. @base: of the tile; @floor: stands for it. */
typedef struct
{
  int rows, columns, floor;
  int32_t base, corner;
  int16_t h_row[ALIGN_MAX_SIDE], f_row[ALIGN_MAX_SIDE];
  int16_t h_column[ALIGN_MAX_SIDE + PAD], e_column[ALIGN_MAX_SIDE + PAD];
} Lines;

static void
lines_unpack (Lines *l, const AlignEdges *e)
{
  unpack (e->top, l->columns, l->base, l->floor, l->h_row, l->f_row);
  unpack (e->left, l->rows, l->base, l->floor, l->h_column, l->e_column);
  for (int i = l->rows; i < l->rows + PAD; i++)
    l->h_column[i] = l->e_column[i] = (int16_t)l->floor;
  l->corner = MAX (e->top->corner - l->base, 0) + l->floor;
}

/* Returns: the largest H. */
static int32_t
compute (const AlignPair *p, const AlignRect *rect, const AlignEdges *e,
         Lines *l)
{
  const AlignScheme *scheme = p->scheme;
  l->floor = p->kernels->floor;
  lines_unpack (l, e);
  AlignStrips strips = { .rows = l->rows,
                         .columns = l->columns,
                         .a = p->a + rect->i,
                         .b = p->b - rect->j,
                         .match = (int16_t)scheme->match,
                         .mismatch = (int16_t)scheme->mismatch,
                         .open = (int16_t)scheme->open,
                         .extend = (int16_t)scheme->extend,
                         .h_row = l->h_row,
                         .f_row = l->f_row,
                         .h_column = l->h_column,
                         .e_column = l->e_column,
                         .corner = (int16_t)l->corner };
  if (p->profile)
    strips.profile = p->profile + rect->i * ALIGN_PROFILE_CODES;
  return p->kernels->strips (&strips) - l->floor + l->base;
}

static void
narrow (int8_t *to, const int16_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = (int8_t)from[i];
}

static void
widen (int16_t *to, const int8_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i];
}

/* Likewise with 8 bits. Returns: -1 if an H may exceed them. */
static int32_t
compute_bytes (const AlignPair *p, const AlignRect *rect, const AlignEdges *e,
               Lines *l)
{
  int8_t h_row[ALIGN_MAX_SIDE], f_row[ALIGN_MAX_SIDE];
  int8_t h_column[ALIGN_MAX_SIDE + PAD], e_column[ALIGN_MAX_SIDE + PAD];
  const AlignScheme *scheme = p->scheme;
  l->floor = INT8_MIN;
  lines_unpack (l, e);
  narrow (h_row, l->h_row, l->columns);
  narrow (f_row, l->f_row, l->columns);
  narrow (h_column, l->h_column, l->rows + PAD);
  narrow (e_column, l->e_column, l->rows + PAD);
  AlignByteStrips strips = { .rows = l->rows,
                             .columns = l->columns,
                             .a = p->a8 + rect->i,
                             .b = p->b8 - rect->j,
                             .match = (int16_t)scheme->match,
                             .mismatch = (int16_t)scheme->mismatch,
                             .open = (int16_t)scheme->open,
                             .extend = (int16_t)scheme->extend,
                             .h_row = h_row,
                             .f_row = f_row,
                             .h_column = h_column,
                             .e_column = e_column,
                             .corner = (int8_t)l->corner };
  if (p->profile8)
    strips.profile = p->profile8 + rect->i * ALIGN_PROFILE_CODES;
  int largest = p->kernels->bytes->strips (&strips);
  widen (l->h_row, h_row, l->columns);
  widen (l->f_row, f_row, l->columns);
  widen (l->h_column, h_column, l->rows);
  widen (l->e_column, e_column, l->rows);
  return largest == INT8_MAX ? -1 : largest - l->floor;
}

int32_t
align_tile (const AlignPair *p, const AlignRect *rect, const AlignEdges *e)
{
  Lines l = { .rows = (int)rect->rows, .columns = (int)rect->columns };
  const AlignScheme *scheme = p->scheme;
  int32_t best = -1;
  int32_t largest
      = MAX (largest_cell (e->top, l.columns), largest_cell (e->left, l.rows));
  largest = MAX (largest, e->top->corner);
  if (p->a8 && largest <= ALIGN_MOST_ON_EDGES)
    best = compute_bytes (p, rect, e, &l);
  if (best < 0)
    {
      l.base = ALIGN_BASE (largest, MAX (l.rows, l.columns), scheme->largest,
                           scheme->open, scheme->extend);
      best = compute (p, rect, e, &l);
    }
  int32_t corner = e->left->base + e->left->cells[l.rows - 1][0];
  pack (e->bottom, l.columns, l.base, l.floor, l.h_row, l.f_row);
  e->bottom->corner = corner;
  pack (e->right, l.rows, l.base, l.floor, l.h_column, l.e_column);
  e->right->best = e->left->best;
  e->right->at = e->left->at;
  return best;
}

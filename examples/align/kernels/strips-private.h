/* SPDX-License-Identifier: MIT */
/* The strips of kernels.h, for one instruction set. The including file defines

     Number: int16_t or int8_t; Strips: AlignStrips or AlignByteStrips
     LANES; FLOOR, CEILING        the least and the largest number
     Vector: LANES numbers; Mask: of which lanes
     load, store, spread          from and to memory; a number in all lanes
     add (a, b), subtract (a, b)  that stay at or above FLOOR or, where a later
                                  larger () with a cell does that, may pass it
     larger (a, b)                the larger one of each lane
     equal (a, b), above (a, b)   a == b, a > b as a Mask
     both (m, n), choose (m, a, b)   m and n; a where m, else b
     shift_in (v, x), last (v)    each lane to the next one and x into the
   first; the last lane scores (s, group, b, out)    out[r] gets the scores of
   row r of the lanes whose codes are b[0], b[1], ...

   Thread safety: pure functions. */

#define STRIP (LANES * ALIGN_ROWS)

/* A strip on its way. @h, @e: H to the left and E from there, of each lane's
   rows. @above: H above the first row at the column before; @h_last, @f_last:
   of the last row at the step before. */
typedef struct
{
  Vector h[ALIGN_ROWS], e[ALIGN_ROWS], above, h_last, f_last, best;
} Strip;

static inline Vector
lane_numbers (void)
{
  Number k[LANES];
  for (int i = 0; i < LANES; i++)
    k[i] = (Number)i;
  return load (k);
}

/* Step @t of the strip from row @first on. @edge: lanes may be outside of the
   columns; they keep what they have. */
static inline __attribute__ ((always_inline)) void
step (const Strips *s, Strip *z, int first, int t, const Vector *a,
      const int edge)
{
  const Vector match = spread (s->match), mismatch = spread (s->mismatch);
  const Vector open = spread (s->open), extend = spread (s->extend);
  Vector score[ALIGN_ROWS];
  Vector h_top = shift_in (z->h_last, t < s->columns ? s->h_row[t] : FLOOR);
  Vector f = shift_in (z->f_last, t < s->columns ? s->f_row[t] : FLOOR);
  Vector diagonal = z->above, h = h_top, codes = load (s->b - t);
  Mask inside;
  if (edge)
    {
      int most = t < LANES ? t + 1 : LANES;
      int least = t < s->columns ? -1 : t - s->columns;
      inside = both (above (spread (most), lane_numbers ()),
                     above (lane_numbers (), spread (least)));
    }
  if (s->profile)
    scores (s, first / ALIGN_ROWS, s->b - t, score);
  for (int r = 0; r < ALIGN_ROWS; r++)
    {
      Vector by = s->profile ? score[r]
                             : choose (equal (a[r], codes), match, mismatch);
      Vector before = z->h[r], e = z->e[r];
      Vector free = larger (add (diagonal, by), e);
      h = larger (free, f);
      z->best = larger (z->best, edge ? choose (inside, h, z->best) : h);
      f = larger (subtract (f, extend), subtract (free, open));
      Vector e_next = larger (subtract (e, extend), subtract (h, open));
      z->h[r] = edge ? choose (inside, h, before) : h;
      z->e[r] = edge ? choose (inside, e_next, e) : e_next;
      diagonal = before;
    }
  z->above = edge ? choose (inside, h_top, z->above) : h_top;
  z->h_last = h;
  z->f_last = f;
  if (!edge || t >= LANES - 1)
    {
      s->h_row[t - (LANES - 1)] = last (h);
      s->f_row[t - (LANES - 1)] = last (f);
    }
}

/* Element [k][r] of an array of rows becomes lane k of @to[r]. */
static inline void
spread_rows (Vector to[ALIGN_ROWS], const Number *from)
{
  for (int r = 0; r < ALIGN_ROWS; r++)
    {
      Number lanes[LANES];
      for (int k = 0; k < LANES; k++)
        lanes[k] = from[k * ALIGN_ROWS + r];
      to[r] = load (lanes);
    }
}

static inline void
collect_rows (Number *to, const Vector from[ALIGN_ROWS])
{
  for (int r = 0; r < ALIGN_ROWS; r++)
    {
      Number lanes[LANES];
      store (lanes, from[r]);
      for (int k = 0; k < LANES; k++)
        to[k * ALIGN_ROWS + r] = lanes[k];
    }
}

/* Computes the strip from row @first on; @corner is left of and above it.
   Returns: the largest H of each lane. */
static inline __attribute__ ((always_inline)) Vector
strip (const Strips *s, int first, Number corner)
{
  Strip z = { .h_last = spread (FLOOR),
              .f_last = spread (FLOOR),
              .best = spread (FLOOR) };
  Vector a[ALIGN_ROWS];
  Number above[LANES] = { corner };
  int t = 0, steps = s->columns + LANES - 1;
  spread_rows (a, s->a + first);
  spread_rows (z.h, s->h_column + first);
  spread_rows (z.e, s->e_column + first);
  for (int k = 1; k < LANES; k++)
    above[k] = s->h_column[first + k * ALIGN_ROWS - 1];
  z.above = load (above);
  for (; t < LANES - 1; t++)
    step (s, &z, first, t, a, 1);
  for (; t < s->columns; t++)
    step (s, &z, first, t, a, 0);
  for (; t < steps; t++)
    step (s, &z, first, t, a, 1);
  collect_rows (s->h_column + first, z.h);
  collect_rows (s->e_column + first, z.e);
  return z.best;
}

/* Two loops, so that neither asks for each cell what there is. */
static __attribute__ ((noinline)) Vector
strip_of_profile (const Strips *s, int first, Number corner)
{
  Strips known = *s;
  if (!known.profile)
    __builtin_unreachable ();
  return strip (&known, first, corner);
}

static __attribute__ ((noinline)) Vector
strip_of_equality (const Strips *s, int first, Number corner)
{
  Strips known = *s;
  known.profile = NULL;
  return strip (&known, first, corner);
}

static inline Number
largest_lane (Vector v)
{
  Number lanes[LANES], largest = FLOOR;
  store (lanes, v);
  for (int k = 0; k < LANES; k++)
    largest = lanes[k] > largest ? lanes[k] : largest;
  return largest;
}

static Number
strips (const Strips *s)
{
  Number corner = s->corner, largest = FLOOR;
  for (int first = 0; first < s->rows && largest < CEILING; first += STRIP)
    {
      Number below = s->h_column[first + STRIP - 1];
      Vector best = s->profile ? strip_of_profile (s, first, corner)
                               : strip_of_equality (s, first, corner);
      Number of_strip = largest_lane (best);
      largest = of_strip > largest ? of_strip : largest;
      corner = below;
    }
  return largest;
}

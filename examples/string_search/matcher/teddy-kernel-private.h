/* SPDX-License-Identifier: MIT */
/* Template: several patterns by nibble masks, for simd-private.h's width.
   Thread safety: reads the matcher only.

   DESIGN.  For each byte of the window two shuffles look up, by its low and
   its high nibble, the set of buckets that may have that byte there; the AND
   over the window's bytes leaves the buckets to verify.  One shuffle set
   serves 8 buckets, a second one 16.  The loops over masks are unrolled, or
   these and what they give would not stay in registers.  */

typedef struct
{
  Vec lo[2][TEDDY_BYTES];
  Vec hi[2][TEDDY_BYTES];
} SIMD_NAME (TeddyMasks);

/* Fills r [n_groups] with the buckets that each of the vector of starts at
   `p` may belong to; returns their OR.  */
SIMD_INLINE Vec
teddy_step (const SIMD_NAME (TeddyMasks) * masks, const guint8 *p,
            const gsize *offset, Vec *r, guint n_bytes, guint n_groups)
{
#pragma GCC unroll 4
  for (guint j = 0; j < n_bytes; j++)
    {
      Vec text = v_load (p + offset[j]);
      Vec low = v_and (text, v_fill (0x0f));
      Vec high = v_and (v_shift_4 (text), v_fill (0x0f));

#pragma GCC unroll 2
      for (guint g = 0; g < n_groups; g++)
        {
          Vec found = v_and (v_shuffle (masks->lo[g][j], low),
                             v_shuffle (masks->hi[g][j], high));

          r[g] = j == 0 ? found : v_and (r[g], found);
        }
    }
  return n_groups == 1 ? r[0] : v_or (r[0], r[1]);
}

SIMD_INLINE const guint8 *
teddy_verify (const Matcher *matcher, const guint8 *p, const guint8 *end,
              const Vec *r, Lanes lanes, guint n_groups, gsize *match_length)
{
  guint8 buckets[2][SIMD_WIDTH];

  v_store (buckets[0], r[0]);
  if (n_groups == 2)
    v_store (buckets[1], r[1]);
  for (; lanes != 0; lanes &= lanes - 1)
    {
      guint i = first_lane (lanes);
      guint bits = buckets[0][i];
      gsize length;

      if (n_groups == 2)
        bits |= (guint)buckets[1][i] << 8;
      length = teddy_match (matcher, p + i, end, bits);
      if (length > 0)
        {
          *match_length = length;
          return p + i;
        }
    }
  return NULL;
}

SIMD_INLINE const guint8 *
teddy_run (const Matcher *matcher, const guint8 *begin, const guint8 *end,
           gsize *match_length, guint n_bytes, guint n_groups)
{
  const Teddy *teddy = &matcher->teddy;
  gsize offset[TEDDY_BYTES];
  const guint8 *p = begin;
  const guint8 *found;
  SIMD_NAME (TeddyMasks) masks;
  Vec r[2][2];
  gsize left; /* candidate starts from p on */

  if ((gsize)(end - begin) < matcher->min_length)
    return NULL;
  left = (gsize)(end - begin) - matcher->min_length + 1;
  if (left < SIMD_WIDTH)
    return teddy_find_scalar (matcher, begin, end, match_length);

#pragma GCC unroll 4
  for (guint j = 0; j < n_bytes; j++)
    {
      offset[j] = teddy->offset[j];
#pragma GCC unroll 2
      for (guint g = 0; g < n_groups; g++)
        {
          masks.lo[g][j] = v_table (teddy->lo[g][j]);
          masks.hi[g][j] = v_table (teddy->hi[g][j]);
        }
    }

  for (; left >= 2 * SIMD_WIDTH; p += 2 * SIMD_WIDTH, left -= 2 * SIMD_WIDTH)
    {
      Vec any0;
      Vec any1;

      any0 = teddy_step (&masks, p, offset, r[0], n_bytes, n_groups);
      any1 = teddy_step (&masks, p + SIMD_WIDTH, offset, r[1], n_bytes,
                         n_groups);
      if (G_LIKELY (h_lanes (h_nonzero (v_or (any0, any1))) == 0))
        continue;
      found = teddy_verify (matcher, p, end, r[0], h_lanes (h_nonzero (any0)),
                            n_groups, match_length);
      if (found == NULL)
        found
            = teddy_verify (matcher, p + SIMD_WIDTH, end, r[1],
                            h_lanes (h_nonzero (any1)), n_groups, match_length);
      if (found != NULL)
        return found;
    }
  while (left > 0)
    {
      Vec any;

      /* The last vector steps back over starts that were tried.  */
      if (left < SIMD_WIDTH)
        {
          p -= SIMD_WIDTH - left;
          left = SIMD_WIDTH;
        }
      any = teddy_step (&masks, p, offset, r[0], n_bytes, n_groups);
      found = teddy_verify (matcher, p, end, r[0], h_lanes (h_nonzero (any)),
                            n_groups, match_length);
      if (found != NULL)
        return found;
      p += SIMD_WIDTH;
      left -= SIMD_WIDTH;
    }
  return NULL;
}

/* One copy of the loop for each shape of the masks.  */
SIMD_FUNC const guint8 *
SIMD_NAME (teddy_find) (const Matcher *matcher, const guint8 *begin,
                        const guint8 *end, gsize *match_length)
{
  guint shape = matcher->teddy.n_bytes * 2 + matcher->teddy.n_groups;

  switch (shape)
    {
    case 3:
      return teddy_run (matcher, begin, end, match_length, 1, 1);
    case 4:
      return teddy_run (matcher, begin, end, match_length, 1, 2);
    case 5:
      return teddy_run (matcher, begin, end, match_length, 2, 1);
    case 6:
      return teddy_run (matcher, begin, end, match_length, 2, 2);
    case 7:
      return teddy_run (matcher, begin, end, match_length, 3, 1);
    case 8:
      return teddy_run (matcher, begin, end, match_length, 3, 2);
    case 9:
      return teddy_run (matcher, begin, end, match_length, 4, 1);
    default:
      return teddy_run (matcher, begin, end, match_length, 4, 2);
    }
}

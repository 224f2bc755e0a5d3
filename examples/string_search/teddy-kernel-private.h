/* SPDX-License-Identifier: MIT */
/* Template: several patterns by nibble masks, for simd-private.h's width.
   Thread safety: reads the matcher only.

   DESIGN.  For each text byte two shuffles look up, by its low and its high
   nibble, the set of buckets that may have that byte at that place of their
   window; the AND over the window's bytes leaves the buckets to verify.  One
   shuffle set serves 8 buckets, a second one 16.  */

typedef struct
{
  Vec lo[2][TEDDY_BYTES];
  Vec hi[2][TEDDY_BYTES];
} SIMD_NAME (TeddyMasks);

/* The buckets, 8 of `group`, that each start from `p` may belong to.  */
SIMD_INLINE Vec
teddy_buckets (const SIMD_NAME (TeddyMasks) * masks, const Vec *low,
               const Vec *high, guint group, guint n_bytes)
{
  Vec result = v_and (v_shuffle (masks->lo[group][0], low[0]),
                      v_shuffle (masks->hi[group][0], high[0]));

  for (guint j = 1; j < n_bytes; j++)
    result = v_and (result, v_and (v_shuffle (masks->lo[group][j], low[j]),
                                   v_shuffle (masks->hi[group][j], high[j])));
  return result;
}

/* Fills r [n_groups] for the vector of starts at `p`; returns their OR.  */
SIMD_INLINE Vec
teddy_step (const SIMD_NAME (TeddyMasks) * masks, const guint8 *p, Vec *r,
            guint n_bytes, guint n_groups)
{
  const Vec nibble = v_fill (0x0f);
  Vec low[TEDDY_BYTES];
  Vec high[TEDDY_BYTES];

  for (guint j = 0; j < n_bytes; j++)
    {
      Vec text = v_load (p + j);

      low[j] = v_and (text, nibble);
      high[j] = v_and (v_shift_4 (text), nibble);
    }
  r[0] = teddy_buckets (masks, low, high, 0, n_bytes);
  if (n_groups == 1)
    return r[0];
  r[1] = teddy_buckets (masks, low, high, 1, n_bytes);
  return v_or (r[0], r[1]);
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
      guint i = (guint)__builtin_ctzll (lanes);
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
  const gsize offset = teddy->offset;
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

  for (guint g = 0; g < n_groups; g++)
    for (guint j = 0; j < n_bytes; j++)
      {
        masks.lo[g][j] = v_table (teddy->lo[g][j]);
        masks.hi[g][j] = v_table (teddy->hi[g][j]);
      }

  for (; left >= 2 * SIMD_WIDTH; p += 2 * SIMD_WIDTH, left -= 2 * SIMD_WIDTH)
    {
      Vec any0;
      Vec any1;

      any0 = teddy_step (&masks, p + offset, r[0], n_bytes, n_groups);
      any1 = teddy_step (&masks, p + offset + SIMD_WIDTH, r[1], n_bytes,
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
      any = teddy_step (&masks, p + offset, r[0], n_bytes, n_groups);
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

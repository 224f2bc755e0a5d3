/* SPDX-License-Identifier: MIT */
/* Template: one literal by two rare bytes, for the width of simd-private.h.
   Thread safety: reads the matcher only.  */

SIMD_INLINE Hits
pair_hits (const guint8 *p, gsize o0, gsize o1, Vec f0, Vec f1, Vec v0, Vec v1)
{
  return h_and (h_equal (v_or (v_load (p + o0), f0), v0),
                h_equal (v_or (v_load (p + o1), f1), v1));
}

/* Verifies the lanes of the vector at `p`, from the left.  */
SIMD_INLINE const guint8 *
pair_verify (const Matcher *matcher, const guint8 *begin, const guint8 *p,
             const guint8 *end, Lanes lanes, gsize *match_length)
{
  for (; lanes != 0; lanes &= lanes - 1)
    {
      const guint8 *at = p + first_lane (lanes);
      gsize length = pair_match (matcher, begin, &at, end);

      if (length > 0)
        {
          *match_length = length;
          return at;
        }
    }
  return NULL;
}

SIMD_FUNC const guint8 *
SIMD_NAME (pair_find) (const Matcher *matcher, const guint8 *begin,
                       const guint8 *end, gsize *match_length)
{
  const Needle *needle = &matcher->needles[0];
  const RarePair *pair = &matcher->pair;
  const gsize o0 = pair->offset[0];
  const gsize o1 = pair->offset[1];
  const guint8 *p = begin + pair->before;
  const guint8 *found;
  gsize left; /* candidate starts from p on */

  if ((gsize)(end - begin) < needle->length)
    return NULL;
  left = (gsize)(end - begin) - needle->length + 1;
  if (left < SIMD_WIDTH)
    return pair_find_scalar (matcher, begin, end, match_length);

  const Vec f0 = v_fill (pair->fold[0]);
  const Vec f1 = v_fill (pair->fold[1]);
  const Vec v0 = v_fill (pair->value[0]);
  const Vec v1 = v_fill (pair->value[1]);

  for (; left >= 4 * SIMD_WIDTH; p += 4 * SIMD_WIDTH, left -= 4 * SIMD_WIDTH)
    {
      Hits h[4];
      Hits any;

#pragma GCC unroll 4
      for (guint i = 0; i < 4; i++)
        h[i] = pair_hits (p + i * SIMD_WIDTH, o0, o1, f0, f1, v0, v1);
      any = h_or (h_or (h[0], h[1]), h_or (h[2], h[3]));
      if (G_LIKELY (h_lanes (any) == 0))
        continue;
      for (guint i = 0; i < 4; i++)
        {
          found = pair_verify (matcher, begin, p + i * SIMD_WIDTH, end,
                               h_lanes (h[i]), match_length);
          if (found != NULL)
            return found;
        }
    }
  while (left > 0)
    {
      /* The last vector steps back over starts that were tried.  */
      if (left < SIMD_WIDTH)
        {
          p -= SIMD_WIDTH - left;
          left = SIMD_WIDTH;
        }
      found = pair_verify (matcher, begin, p, end,
                           h_lanes (pair_hits (p, o0, o1, f0, f1, v0, v1)),
                           match_length);
      if (found != NULL)
        return found;
      p += SIMD_WIDTH;
      left -= SIMD_WIDTH;
    }
  return NULL;
}

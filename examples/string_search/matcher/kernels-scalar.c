/* SPDX-License-Identifier: MIT */
/* The search kernels in plain C: for short texts, and where there are no
   vector instructions that we know.
   Thread safety: they read the matcher only.  */

#include "matcher-private.h"

const guint8 *
pair_find_scalar (const Matcher *matcher, const guint8 *begin,
                  const guint8 *end, gsize *match_length)
{
  const Needle *needle = &matcher->needles[0];
  const RarePair *pair = &matcher->pair;
  const guint8 *first;
  const guint8 *last;

  if ((gsize)(end - begin) < needle->length)
    return NULL;
  first = begin + pair->before;
  last = end - (needle->length - pair->before);
  for (const guint8 *p = first; p <= last; p++)
    if ((p[pair->offset[0]] | pair->fold[0]) == pair->value[0]
        && (p[pair->offset[1]] | pair->fold[1]) == pair->value[1])
      {
        const guint8 *at = p;
        gsize length = pair_match (matcher, begin, &at, end);

        if (length > 0)
          {
            *match_length = length;
            return at;
          }
      }
  return NULL;
}

const guint8 *
teddy_find_scalar (const Matcher *matcher, const guint8 *begin,
                   const guint8 *end, gsize *match_length)
{
  const Teddy *teddy = &matcher->teddy;
  const guint8 *last;

  if ((gsize)(end - begin) < matcher->min_length)
    return NULL;
  last = end - matcher->min_length;
  for (const guint8 *p = begin; p <= last; p++)
    {
      guint buckets = 0xffff;
      gsize length;

      for (guint j = 0; j < teddy->n_bytes && buckets != 0; j++)
        {
          guint8 x = p[teddy->offset[j]];
          guint lo = x & 15;
          guint hi = x >> 4;

          buckets &= (guint)(teddy->lo[0][j][lo] & teddy->hi[0][j][hi])
                     | (guint)(teddy->lo[1][j][lo] & teddy->hi[1][j][hi]) << 8;
        }
      if (buckets == 0)
        continue;
      length = teddy_match (matcher, p, end, buckets);
      if (length > 0)
        {
          *match_length = length;
          return p;
        }
    }
  return NULL;
}

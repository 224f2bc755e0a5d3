/* SPDX-License-Identifier: MIT */
/* scores () of strips-private.h, for vectors of parts of 16 bytes: some_lanes
   (profile, b, k) is a vector whose parts are the scores of lanes k, k + 8,
   ...; the low and high functions interleave halves of each part. Thread
   safety: pure functions. */

/* A transpose of 8 by 8 numbers in each part. */
static inline __attribute__ ((always_inline)) void
scores (const AlignStrips *s, int group, const int16_t *b,
        Vector out[ALIGN_ROWS])
{
  const int16_t *profile
      = s->profile + (ptrdiff_t)group * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  Vector v[8], w[8];
  for (int k = 0; k < 8; k++)
    v[k] = some_lanes (profile, b, k);
  for (int k = 0; k < 8; k += 2)
    {
      w[k] = low_16 (v[k], v[k + 1]);
      w[k + 1] = high_16 (v[k], v[k + 1]);
    }
  for (int k = 0; k < 8; k += 4)
    for (int i = 0; i < 2; i++)
      {
        v[k + 2 * i] = low_32 (w[k + i], w[k + 2 + i]);
        v[k + 2 * i + 1] = high_32 (w[k + i], w[k + 2 + i]);
      }
  for (int i = 0; i < 4; i++)
    {
      out[2 * i] = low_64 (v[i], v[i + 4]);
      out[2 * i + 1] = high_64 (v[i], v[i + 4]);
    }
}

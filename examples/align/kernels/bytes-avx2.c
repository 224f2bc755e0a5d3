/* SPDX-License-Identifier: MIT */
/* The kernels of 8 bits for vectors of 32 bytes.
   Thread safety: as kernels.h. */
#ifdef __x86_64__
#  include <immintrin.h>
#  include <stddef.h>
#  include <stdint.h>
#  include "kernels.h"

/* For all functions from here on. */
#  ifdef __clang__
#    pragma clang attribute push(__attribute__((target("avx2"))),              \
                                 apply_to = function)
#  else
#    pragma GCC target("avx2")
#  endif

#  define LANES 32
#  define FLOOR INT8_MIN
#  define CEILING INT8_MAX
typedef int8_t Number;
typedef AlignByteStrips Strips;
typedef __m256i Vector;
typedef __m256i Mask;
#  define load(p) _mm256_loadu_si256 ((const __m256i *)(p))
#  define store(p, v) _mm256_storeu_si256 ((__m256i *)(p), v)
#  define spread(i) _mm256_set1_epi8 ((char)(i))
#  define add(a, b) _mm256_adds_epi8 (a, b)
#  define subtract(a, b) _mm256_subs_epi8 (a, b)
#  define larger(a, b) _mm256_max_epi8 (a, b)
#  define equal(a, b) _mm256_cmpeq_epi8 (a, b)
#  define above(a, b) _mm256_cmpgt_epi8 (a, b)
#  define both(m, n) _mm256_and_si256 (m, n)
#  define choose(m, a, b) _mm256_blendv_epi8 (b, a, m)

static inline Vector
shift_in (Vector v, int8_t x)
{
  Vector low = _mm256_permute2x128_si256 (v, spread (x), 0x02);
  return _mm256_alignr_epi8 (v, low, 15);
}

static inline int8_t
last (Vector v)
{
  return (int8_t)_mm256_extract_epi8 (v, LANES - 1);
}

/* The scores of lanes @k and @k + 8, all rows of each. */
static inline __m128i
two_lanes (const int8_t *profile, const int8_t *b, int k)
{
  const int8_t *p = profile + k * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  const int8_t *q = p + 8 * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  return _mm_unpacklo_epi64 (
      _mm_loadl_epi64 ((const void *)(p + b[k] * ALIGN_ROWS)),
      _mm_loadl_epi64 ((const void *)(q + b[k + 8] * ALIGN_ROWS)));
}

/* Four transposes of 8 by 8 numbers: of lanes 0 to 7 in the low halves of the
   low parts of 16 bytes, of 8 to 15 in their high halves, and so on. */
static inline __attribute__ ((always_inline)) void
scores (const AlignByteStrips *s, int group, const int8_t *b,
        Vector out[ALIGN_ROWS])
{
  const int8_t *profile
      = s->profile + (ptrdiff_t)group * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  Vector v[8], w[8];
  for (int k = 0; k < 8; k++)
    v[k] = _mm256_inserti128_si256 (
        _mm256_castsi128_si256 (two_lanes (profile, b, k)),
        two_lanes (profile, b, k + 16), 1);
  for (int k = 0; k < 4; k++)
    {
      w[k] = _mm256_unpacklo_epi8 (v[2 * k], v[2 * k + 1]);
      w[k + 4] = _mm256_unpackhi_epi8 (v[2 * k], v[2 * k + 1]);
    }
  for (int k = 0; k < 8; k += 2)
    {
      v[k] = _mm256_unpacklo_epi16 (w[k], w[k + 1]);
      v[k + 1] = _mm256_unpackhi_epi16 (w[k], w[k + 1]);
    }
  for (int half = 0; half < 8; half += 4)
    for (int i = 0; i < 2; i++)
      {
        w[half + 2 * i] = _mm256_unpacklo_epi32 (v[half + i], v[half + i + 2]);
        w[half + 2 * i + 1]
            = _mm256_unpackhi_epi32 (v[half + i], v[half + i + 2]);
      }
  for (int i = 0; i < 4; i++)
    {
      out[2 * i] = _mm256_unpacklo_epi64 (w[i], w[i + 4]);
      out[2 * i + 1] = _mm256_unpackhi_epi64 (w[i], w[i + 4]);
    }
}
#  include "strips-private.h"
const AlignByteKernels align_avx2_bytes = { STRIP, strips };
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif

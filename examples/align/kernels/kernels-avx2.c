/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 32 bytes.
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

#  define LANES 16
#  define FLOOR INT16_MIN
#  define CEILING INT16_MAX
typedef int16_t Number;
typedef AlignStrips Strips;
typedef __m256i Vector;
typedef __m256i Mask;
#  define load(p) _mm256_loadu_si256 ((const __m256i *)(p))
#  define store(p, v) _mm256_storeu_si256 ((__m256i *)(p), v)
#  define spread(i) _mm256_set1_epi16 ((short)(i))
#  define add(a, b) _mm256_adds_epi16 (a, b)
#  define subtract(a, b) _mm256_subs_epi16 (a, b)
#  define larger(a, b) _mm256_max_epi16 (a, b)
#  define equal(a, b) _mm256_cmpeq_epi16 (a, b)
#  define above(a, b) _mm256_cmpgt_epi16 (a, b)
#  define both(m, n) _mm256_and_si256 (m, n)
#  define choose(m, a, b) _mm256_blendv_epi8 (b, a, m)

static inline Vector
shift_in (Vector v, int16_t x)
{
  Vector low = _mm256_permute2x128_si256 (v, spread (x), 0x02);
  return _mm256_alignr_epi8 (v, low, 14);
}

static inline int16_t
last (Vector v)
{
  return (int16_t)_mm256_extract_epi16 (v, LANES - 1);
}

/* The scores of lanes @k and @k + 8, all rows of each. */
static inline Vector
two_lanes (const int16_t *profile, const int16_t *b, int k)
{
  const int16_t *p = profile + k * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  const int16_t *q = p + 8 * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  return _mm256_inserti128_si256 (
      _mm256_castsi128_si256 (_mm_loadu_si128 ((const void *)(p + b[k]))),
      _mm_loadu_si128 ((const void *)(q + b[k + 8])), 1);
}
#  define some_lanes two_lanes
#  define low_16(a, b) _mm256_unpacklo_epi16 (a, b)
#  define high_16(a, b) _mm256_unpackhi_epi16 (a, b)
#  define low_32(a, b) _mm256_unpacklo_epi32 (a, b)
#  define high_32(a, b) _mm256_unpackhi_epi32 (a, b)
#  define low_64(a, b) _mm256_unpacklo_epi64 (a, b)
#  define high_64(a, b) _mm256_unpackhi_epi64 (a, b)
#  include "scores-private.h"
#  include "strips-private.h"
const AlignKernels align_avx2
    = { "avx2", STRIP, FLOOR, strips, &align_avx2_bytes };
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif

/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 64 bytes.
   Thread safety: as kernels.h. */
#ifdef __x86_64__
#  include <immintrin.h>
#  include <stddef.h>
#  include <stdint.h>
#  include "kernels.h"

/* For all functions from here on. */
#  ifdef __clang__
#    pragma clang attribute push(__attribute__((target("avx512bw"))),          \
                                 apply_to = function)
#  else
#    pragma GCC target("avx512bw")
#  endif

#  define LANES 32
#  define FLOOR INT16_MIN
#  define CEILING INT16_MAX
typedef int16_t Number;
typedef AlignStrips Strips;
typedef __m512i Vector;
typedef __mmask32 Mask;
#  define load(p) _mm512_loadu_si512 (p)
#  define store(p, v) _mm512_storeu_si512 (p, v)
#  define spread(i) _mm512_set1_epi16 ((short)(i))
#  define add(a, b) _mm512_adds_epi16 (a, b)
#  define subtract(a, b) _mm512_subs_epi16 (a, b)
#  define larger(a, b) _mm512_max_epi16 (a, b)
#  define equal(a, b) _mm512_cmpeq_epi16_mask (a, b)
#  define above(a, b) _mm512_cmpgt_epi16_mask (a, b)
#  define both(m, n) ((m) & (n))
#  define choose(m, a, b) _mm512_mask_mov_epi16 (b, m, a)

static inline Vector
rotate (Vector v)
{
  static const int16_t from[LANES]
      = { 31, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
          15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 };
  return _mm512_permutexvar_epi16 (load (from), v);
}

static inline Vector
shift_in (Vector v, int16_t x)
{
  return _mm512_mask_set1_epi16 (rotate (v), 1, x);
}

static inline int16_t
last (Vector v)
{
  return (int16_t)_mm_extract_epi16 (_mm512_extracti32x4_epi32 (v, 3), 7);
}

/* The scores of lanes @k, @k + 8, @k + 16 and @k + 24, all rows of each. */
static inline Vector
four_lanes (const int16_t *profile, const int16_t *b, int k)
{
  const int16_t *p = profile + k * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  const int apart = 8 * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  __m512i v
      = _mm512_castsi128_si512 (_mm_loadu_si128 ((const void *)(p + b[k])));
  v = _mm512_inserti32x4 (
      v, _mm_loadu_si128 ((const void *)(p + apart + b[k + 8])), 1);
  v = _mm512_inserti32x4 (
      v, _mm_loadu_si128 ((const void *)(p + 2 * apart + b[k + 16])), 2);
  return _mm512_inserti32x4 (
      v, _mm_loadu_si128 ((const void *)(p + 3 * apart + b[k + 24])), 3);
}
#  define some_lanes four_lanes
#  define low_16(a, b) _mm512_unpacklo_epi16 (a, b)
#  define high_16(a, b) _mm512_unpackhi_epi16 (a, b)
#  define low_32(a, b) _mm512_unpacklo_epi32 (a, b)
#  define high_32(a, b) _mm512_unpackhi_epi32 (a, b)
#  define low_64(a, b) _mm512_unpacklo_epi64 (a, b)
#  define high_64(a, b) _mm512_unpackhi_epi64 (a, b)
#  include "scores-private.h"
#  include "strips-private.h"
const AlignKernels align_avx512
    = { "avx512", STRIP, FLOOR, strips, &align_avx2_bytes };
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif

/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 32 bytes.
   Thread safety: as nlm.h. */
#ifdef __x86_64__
#  include <glib.h>
#  include <immintrin.h>
#  include <stdint.h>
#  include <stdlib.h>
#  include <string.h>
#  include "nlm.h"

/* For all functions from here on. */
#  ifdef __clang__
#    pragma clang attribute push(__attribute__((target("avx2"))),              \
                                 apply_to = function)
#  else
#    pragma GCC target("avx2")
#  endif

#  define KERNELS nlm_avx2
#  define KERNELS_NAME "avx2"
#  define LANES 16
typedef __m256i Vector;
#  define load(p) _mm256_loadu_si256 ((const __m256i *)(p))
#  define store(p, v) _mm256_storeu_si256 ((__m256i *)(p), v)
#  define spread(i) _mm256_set1_epi16 ((short)(i))
#  define add(a, b) _mm256_add_epi16 (a, b)
#  define add_limited(a, b) _mm256_adds_epu16 (a, b)
#  define subtract(a, b) _mm256_sub_epi16 (a, b)
#  define subtract_limited(a, b) _mm256_subs_epu16 (a, b)
#  define multiply(a, b) _mm256_mullo_epi16 (a, b)
#  define multiply_high(a, b) _mm256_mulhi_epu16 (a, b)
#  define left(a, n) _mm256_sll_epi16 (a, _mm_cvtsi32_si128 ((int)(n)))
#  define right(a, n) _mm256_srl_epi16 (a, _mm_cvtsi32_si128 ((int)(n)))

/* Adds @w * @i + @v * @j to @sums, and @w + @v to @totals, for 16 lanes. Both
   are in the order in which _mm256_unpack leaves them, which store_means()
   undoes. */
static inline void
add_products (uint32_t *sums, uint32_t *totals, Vector w, Vector i, Vector v,
              Vector j)
{
  Vector one = spread (1);
  Vector w_low = _mm256_unpacklo_epi16 (w, v);
  Vector w_high = _mm256_unpackhi_epi16 (w, v);
  Vector low = _mm256_madd_epi16 (w_low, _mm256_unpacklo_epi16 (i, j));
  Vector high = _mm256_madd_epi16 (w_high, _mm256_unpackhi_epi16 (i, j));
  store (sums, _mm256_add_epi32 (load (sums), low));
  store (sums + 8, _mm256_add_epi32 (load (sums + 8), high));
  low = _mm256_madd_epi16 (w_low, one);
  high = _mm256_madd_epi16 (w_high, one);
  store (totals, _mm256_add_epi32 (load (totals), low));
  store (totals + 8, _mm256_add_epi32 (load (totals + 8), high));
}

static inline void
store_means (uint8_t *row, Vector low, Vector high)
{
  Vector words = _mm256_packus_epi32 (low, high);
  words = _mm256_permute4x64_epi64 (_mm256_packus_epi16 (words, words), 0xd8);
  _mm_storeu_si128 ((__m128i *)row, _mm256_castsi256_si128 (words));
}

/* The quotient of floats is off by less than 1, which the remainder mends. */
static inline Vector
mean_wide (Vector sum, Vector total)
{
  sum = _mm256_add_epi32 (sum, _mm256_srli_epi32 (total, 1));
  Vector q = _mm256_cvttps_epi32 (
      _mm256_div_ps (_mm256_cvtepi32_ps (sum), _mm256_cvtepi32_ps (total)));
  Vector rest = _mm256_sub_epi32 (sum, _mm256_mullo_epi32 (q, total));
  Vector less = _mm256_srai_epi32 (rest, 31);
  Vector more = _mm256_cmpgt_epi32 (total, rest);
  q = _mm256_add_epi32 (q, less);
  return _mm256_add_epi32 (q, _mm256_add_epi32 (more, _mm256_set1_epi32 (1)));
}

static inline void
means (const uint32_t *sums, const uint32_t *totals, uint8_t *row, int n)
{
  for (int x = 0; x < n; x += LANES)
    store_means (row + x, mean_wide (load (sums + x), load (totals + x)),
                 mean_wide (load (sums + x + 8), load (totals + x + 8)));
}
#  include "nlm-tile-private.h"
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif

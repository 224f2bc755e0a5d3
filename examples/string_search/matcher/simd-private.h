/* SPDX-License-Identifier: MIT */
/* One vocabulary over three widths of x86 vectors, and over those of aarch64,
   for the kernel templates.
   Thread safety: no state.

   A file that includes this defines SIMD_WIDTH as 16, 32 or 64 first (16 on
   aarch64).  It then has SIMD_FUNC (a function compiled for that width),
   SIMD_NAME (name with its suffix), Vec, and the operations below.  A Hits
   says which lanes of a vector passed a test, the Lanes of it have one bit
   for each that did: of lane i, bit i * LANE_BITS.  */

#ifdef __aarch64__
#  include <arm_neon.h>
#else
#  include <immintrin.h>
#endif

#if defined(__aarch64__) && SIMD_WIDTH == 16

#  define SIMD_TARGET
#  define SIMD_NAME(name) name##_neon
typedef uint8x16_t Vec;
typedef uint8x16_t Hits;
typedef guint64 Lanes;
#  define LANE_BITS 4
#  define v_load(p) vld1q_u8 (p)
#  define v_store(p, v) vst1q_u8 ((p), (v))
#  define v_fill(byte) vdupq_n_u8 (byte)
#  define v_table(p) v_load (p)
#  define v_and(a, b) vandq_u8 ((a), (b))
#  define v_or(a, b) vorrq_u8 ((a), (b))
#  define v_shuffle(table, x) vqtbl1q_u8 ((table), (x))
#  define v_shift_4(x) vshrq_n_u8 ((x), 4)
#  define h_equal(a, b) vceqq_u8 ((a), (b))
#  define h_nonzero(a) vtstq_u8 ((a), (a))
#  define h_and(a, b) vandq_u8 ((a), (b))
#  define h_or(a, b) vorrq_u8 ((a), (b))
/* There is no movemask: half of each byte is kept, and of that one bit.  */
#  define h_lanes(h)                                                           \
    (vget_lane_u64 (                                                           \
         vreinterpret_u64_u8 (vshrn_n_u16 (vreinterpretq_u16_u8 (h), 4)), 0)   \
     & G_GUINT64_CONSTANT (0x1111111111111111))

#elif SIMD_WIDTH == 16

#  define SIMD_TARGET __attribute__ ((target ("ssse3")))
#  define SIMD_NAME(name) name##_sse
typedef __m128i Vec;
typedef __m128i Hits;
typedef guint32 Lanes;
#  define v_load(p) _mm_loadu_si128 ((const __m128i *)(const void *)(p))
#  define v_store(p, v) _mm_storeu_si128 ((__m128i *)(void *)(p), (v))
#  define v_fill(byte) _mm_set1_epi8 ((char)(byte))
#  define v_table(p) v_load (p)
#  define v_and(a, b) _mm_and_si128 ((a), (b))
#  define v_or(a, b) _mm_or_si128 ((a), (b))
#  define v_shuffle(table, x) _mm_shuffle_epi8 ((table), (x))
#  define v_shift_4(x) _mm_srli_epi16 ((x), 4)
#  define h_equal(a, b) _mm_cmpeq_epi8 ((a), (b))
#  define h_nonzero(a)                                                         \
    _mm_andnot_si128 (_mm_cmpeq_epi8 ((a), _mm_setzero_si128 ()),              \
                      _mm_set1_epi8 (-1))
#  define h_and(a, b) _mm_and_si128 ((a), (b))
#  define h_or(a, b) _mm_or_si128 ((a), (b))
#  define h_lanes(h) ((guint32)_mm_movemask_epi8 (h))

#elif SIMD_WIDTH == 32

#  define SIMD_TARGET __attribute__ ((target ("avx2,bmi,bmi2")))
#  define SIMD_NAME(name) name##_avx2
typedef __m256i Vec;
typedef __m256i Hits;
typedef guint32 Lanes;
#  define v_load(p) _mm256_loadu_si256 ((const __m256i *)(const void *)(p))
#  define v_store(p, v) _mm256_storeu_si256 ((__m256i *)(void *)(p), (v))
#  define v_fill(byte) _mm256_set1_epi8 ((char)(byte))
#  define v_table(p)                                                           \
    _mm256_broadcastsi128_si256 (                                              \
        _mm_loadu_si128 ((const __m128i *)(const void *)(p)))
#  define v_and(a, b) _mm256_and_si256 ((a), (b))
#  define v_or(a, b) _mm256_or_si256 ((a), (b))
#  define v_shuffle(table, x) _mm256_shuffle_epi8 ((table), (x))
#  define v_shift_4(x) _mm256_srli_epi16 ((x), 4)
#  define h_equal(a, b) _mm256_cmpeq_epi8 ((a), (b))
#  define h_nonzero(a)                                                         \
    _mm256_andnot_si256 (_mm256_cmpeq_epi8 ((a), _mm256_setzero_si256 ()),     \
                         _mm256_set1_epi8 (-1))
#  define h_and(a, b) _mm256_and_si256 ((a), (b))
#  define h_or(a, b) _mm256_or_si256 ((a), (b))
#  define h_lanes(h) ((guint32)_mm256_movemask_epi8 (h))

#elif SIMD_WIDTH == 64

#  define SIMD_TARGET                                                          \
    __attribute__ ((target ("avx512f,avx512bw,avx2,bmi,bmi2")))
#  define SIMD_NAME(name) name##_avx512
typedef __m512i Vec;
typedef __mmask64 Hits;
typedef guint64 Lanes;
#  define v_load(p) _mm512_loadu_si512 ((const void *)(p))
#  define v_store(p, v) _mm512_storeu_si512 ((void *)(p), (v))
#  define v_fill(byte) _mm512_set1_epi8 ((char)(byte))
#  define v_table(p)                                                           \
    _mm512_broadcast_i32x4 (                                                   \
        _mm_loadu_si128 ((const __m128i *)(const void *)(p)))
#  define v_and(a, b) _mm512_and_si512 ((a), (b))
#  define v_or(a, b) _mm512_or_si512 ((a), (b))
#  define v_shuffle(table, x) _mm512_shuffle_epi8 ((table), (x))
#  define v_shift_4(x) _mm512_srli_epi16 ((x), 4)
#  define h_equal(a, b) _mm512_cmpeq_epi8_mask ((a), (b))
#  define h_nonzero(a) _mm512_test_epi8_mask ((a), (a))
#  define h_and(a, b) ((Hits)((a) & (b)))
#  define h_or(a, b) ((Hits)((a) | (b)))
#  define h_lanes(h) ((guint64)(h))

#else
#  error "SIMD_WIDTH must be 16, 32 or 64"
#endif

#ifndef LANE_BITS
#  define LANE_BITS 1
#endif
/* The first of `lanes`, some of which are set.  */
#define first_lane(lanes) ((guint)__builtin_ctzll (lanes) / LANE_BITS)

#define SIMD_FUNC SIMD_TARGET
#define SIMD_INLINE SIMD_TARGET __attribute__ ((always_inline)) static inline

/* SPDX-License-Identifier: MIT */
/* Counts one byte value in a text, for line numbers.
   Thread safety: no state.  */

#include "line_scan.h"

#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>

__attribute__ ((target ("avx512f,avx512bw,popcnt"))) static gsize
count_avx512 (const guint8 *begin, const guint8 *end, guint8 byte)
{
  const __m512i wanted = _mm512_set1_epi8 ((char)byte);
  gsize n = 0;

  for (; end - begin >= 64; begin += 64)
    n += (gsize)__builtin_popcountll (_mm512_cmpeq_epi8_mask (
        _mm512_loadu_si512 ((const void *)begin), wanted));
  if (begin < end)
    {
      __mmask64 tail = G_MAXUINT64 >> (64 - (end - begin));

      n += (gsize)__builtin_popcountll (_mm512_mask_cmpeq_epi8_mask (
          tail, _mm512_maskz_loadu_epi8 (tail, (const void *)begin), wanted));
    }
  return n;
}

__attribute__ ((target ("avx2,popcnt"))) static gsize
count_avx2 (const guint8 *begin, const guint8 *end, guint8 byte)
{
  const __m256i wanted = _mm256_set1_epi8 ((char)byte);
  gsize n = 0;

  for (; end - begin >= 32; begin += 32)
    n += (gsize)__builtin_popcount (
        (guint)_mm256_movemask_epi8 (_mm256_cmpeq_epi8 (
            _mm256_loadu_si256 ((const __m256i *)(const void *)begin),
            wanted)));
  for (; begin < end; begin++)
    n += *begin == byte;
  return n;
}
#elif defined(__aarch64__)
#  include <arm_neon.h>

static gsize
count_neon (const guint8 *begin, const guint8 *end, guint8 byte)
{
  const uint8x16_t wanted = vdupq_n_u8 (byte);
  gsize n = 0;

  while (end - begin >= 16)
    {
      /* A lane of `counts` holds 255 at most.  */
      const guint8 *pause = begin + 16 * MIN ((end - begin) / 16, 255);
      uint8x16_t counts = vdupq_n_u8 (0);

      for (; begin < pause; begin += 16)
        counts = vsubq_u8 (counts, vceqq_u8 (vld1q_u8 (begin), wanted));
      n += vaddlvq_u8 (counts);
    }
  for (; begin < end; begin++)
    n += *begin == byte;
  return n;
}
#endif

#ifndef __aarch64__
static gsize
count_words (const guint8 *begin, const guint8 *end, guint8 byte)
{
  const guint64 ones = G_GUINT64_CONSTANT (0x0101010101010101);
  const guint64 low = ones * 0x7f;
  gsize n = 0;

  for (; end - begin >= 8; begin += 8)
    {
      guint64 x;

      /* A byte of x becomes 0 where it equals `byte`; the high bit of its
         place in the next x is set where it is not 0.  */
      memcpy (&x, begin, 8);
      x ^= ones * byte;
      x = (((x & low) + low) | x) & ~low;
      n += 8 - (gsize)__builtin_popcountll (x);
    }
  for (; begin < end; begin++)
    n += *begin == byte;
  return n;
}
#endif

gsize
count_byte (const guint8 *begin, const guint8 *end, guint8 byte)
{
#if defined(__aarch64__)
  return count_neon (begin, end, byte);
#else
#  if defined(__x86_64__)
  if (__builtin_cpu_supports ("avx512bw"))
    return count_avx512 (begin, end, byte);
  if (__builtin_cpu_supports ("avx2"))
    return count_avx2 (begin, end, byte);
#  endif
  return count_words (begin, end, byte);
#endif
}

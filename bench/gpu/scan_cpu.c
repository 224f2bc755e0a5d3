/* SPDX-License-Identifier: MIT */
/* scan_cpu.c: counts a literal, and reads, with vectors of 64 or 32 bytes.

   DESIGN. Two bytes of the needle that are rare in English are looked for at
   once; where both stand at their distance, the needle is compared. Four
   vectors at a time, so that the usual case is one branch.

   Thread safety: any thread. */
#include "gpu_bench.h"

#include <immintrin.h>
#include <string.h>

typedef struct
{
  gsize offset[2];
  guint8 byte[2];
} Pair;

/* The two rarest bytes: those that stand last here, or not at all. */
static Pair
rare_pair (const guint8 *needle, gsize length)
{
  static const char by_frequency[] = " etaoinshrdlcumwfgypbvkjxqz";
  gsize rank[2] = { 0, 0 };
  Pair pair = { { 0, 1 }, { needle[0], needle[1] } };
  for (gsize i = 0; i < length; i++)
    {
      const char *at = memchr (by_frequency, needle[i], sizeof by_frequency);
      gsize r = at ? (gsize)(at - by_frequency) + 1 : sizeof by_frequency + 1;
      gsize less = rank[0] <= rank[1] ? 0 : 1;
      if (r > rank[less])
        {
          rank[less] = r;
          pair.offset[less] = i;
          pair.byte[less] = needle[i];
        }
    }
  return pair;
}

guint64
scan_naive (const guint8 *text, gsize n_starts, gsize n_readable,
            const guint8 *needle, gsize length)
{
  guint64 count = 0;
  for (gsize i = 0; i < n_starts && i + length <= n_readable; i++)
    count += memcmp (text + i, needle, length) == 0;
  return count;
}

static inline guint64
verify (const guint8 *p, guint64 lanes, const guint8 *needle, gsize length)
{
  guint64 count = 0;
  for (; lanes != 0; lanes &= lanes - 1)
    count += memcmp (p + __builtin_ctzll (lanes), needle, length) == 0;
  return count;
}

/* The last starts, fewer than a vector has lanes, are tried one by one. A
   vector at start i reads at most length - 1 bytes past its last lane, which
   a match there would read, too. */
__attribute__ ((target ("avx512f,avx512bw,bmi"))) static guint64
scan_512 (const guint8 *text, gsize n, const guint8 *needle, gsize length)
{
  const Pair pair = rare_pair (needle, length);
  const __m512i v0 = _mm512_set1_epi8 ((char)pair.byte[0]);
  const __m512i v1 = _mm512_set1_epi8 ((char)pair.byte[1]);
  const guint8 *p0 = text + pair.offset[0], *p1 = text + pair.offset[1];
  guint64 count = 0;
  gsize i = 0;
#define HITS(at)                                                               \
  _mm512_mask_cmpeq_epi8_mask (                                                \
      _mm512_cmpeq_epi8_mask (_mm512_loadu_si512 (p0 + (at)), v0),             \
      _mm512_loadu_si512 (p1 + (at)), v1)
  for (; i + 256 <= n; i += 256)
    {
      __mmask64 a = HITS (i), b = HITS (i + 64), c = HITS (i + 128),
                d = HITS (i + 192);
      if (G_LIKELY ((a | b | c | d) == 0))
        continue;
      count += verify (text + i, a, needle, length)
               + verify (text + i + 64, b, needle, length)
               + verify (text + i + 128, c, needle, length)
               + verify (text + i + 192, d, needle, length);
    }
  for (; i + 64 <= n; i += 64)
    count += verify (text + i, HITS (i), needle, length);
#undef HITS
  return count
         + scan_naive (text + i, n - i, n - i + length - 1, needle, length);
}

__attribute__ ((target ("avx2,bmi"))) static guint64
scan_256 (const guint8 *text, gsize n, const guint8 *needle, gsize length)
{
  const Pair pair = rare_pair (needle, length);
  const __m256i v0 = _mm256_set1_epi8 ((char)pair.byte[0]);
  const __m256i v1 = _mm256_set1_epi8 ((char)pair.byte[1]);
  const guint8 *p0 = text + pair.offset[0], *p1 = text + pair.offset[1];
  guint64 count = 0;
  gsize i = 0;
#define LOAD(p) _mm256_loadu_si256 ((const __m256i *)(const void *)(p))
#define HITS(at)                                                               \
  _mm256_and_si256 (_mm256_cmpeq_epi8 (LOAD (p0 + (at)), v0),                  \
                    _mm256_cmpeq_epi8 (LOAD (p1 + (at)), v1))
#define LANES(hits) ((guint32)_mm256_movemask_epi8 (hits))
  for (; i + 128 <= n; i += 128)
    {
      __m256i a = HITS (i), b = HITS (i + 32), c = HITS (i + 64),
              d = HITS (i + 96);
      __m256i any
          = _mm256_or_si256 (_mm256_or_si256 (a, b), _mm256_or_si256 (c, d));
      if (G_LIKELY (_mm256_testz_si256 (any, any)))
        continue;
      count += verify (text + i, LANES (a), needle, length)
               + verify (text + i + 32, LANES (b), needle, length)
               + verify (text + i + 64, LANES (c), needle, length)
               + verify (text + i + 96, LANES (d), needle, length);
    }
  for (; i + 32 <= n; i += 32)
    count += verify (text + i, LANES (HITS (i)), needle, length);
#undef LANES
#undef HITS
  return count
         + scan_naive (text + i, n - i, n - i + length - 1, needle, length);
}

static guint widest = 512; /* changed by checks, before any thread reads it */

void
scan_cpu_limit (guint bits)
{
  widest = bits;
}

static guint
width (void)
{
  return widest >= 512 && __builtin_cpu_supports ("avx512bw") ? 512
         : widest >= 256 && __builtin_cpu_supports ("avx2")   ? 256
                                                              : 8;
}

const char *
scan_cpu_width (void)
{
  guint w = width ();
  return w == 512 ? "AVX-512" : w == 256 ? "AVX2" : "bytes";
}

guint64
scan_cpu (const guint8 *text, gsize n_starts, gsize n_readable,
          const guint8 *needle, gsize length)
{
  if (n_readable < length)
    return 0;
  gsize n = MIN (n_starts, n_readable - length + 1);
  switch (width ())
    {
    case 512:
      return scan_512 (text, n, needle, length);
    case 256:
      return scan_256 (text, n, needle, length);
    default:
      return scan_naive (text, n, n_readable, needle, length);
    }
}

/* -- Reading ------------------------------------------------------------ */

__attribute__ ((target ("avx512f"))) static guint64
sum_512 (const guint8 *bytes, gsize n, gsize *done)
{
  __m512i a = _mm512_setzero_si512 (), b = a, c = a, d = a;
  gsize i = 0;
  for (; i + 256 <= n; i += 256)
    {
      a = _mm512_add_epi64 (a, _mm512_loadu_si512 (bytes + i));
      b = _mm512_add_epi64 (b, _mm512_loadu_si512 (bytes + i + 64));
      c = _mm512_add_epi64 (c, _mm512_loadu_si512 (bytes + i + 128));
      d = _mm512_add_epi64 (d, _mm512_loadu_si512 (bytes + i + 192));
    }
  *done = i;
  return (guint64)_mm512_reduce_add_epi64 (
      _mm512_add_epi64 (_mm512_add_epi64 (a, b), _mm512_add_epi64 (c, d)));
}

__attribute__ ((target ("avx2"))) static guint64
sum_256 (const guint8 *bytes, gsize n, gsize *done)
{
  __m256i a = _mm256_setzero_si256 (), b = a, c = a, d = a;
  guint64 sum[4];
  gsize i = 0;
  for (; i + 128 <= n; i += 128)
    {
      a = _mm256_add_epi64 (a, LOAD (bytes + i));
      b = _mm256_add_epi64 (b, LOAD (bytes + i + 32));
      c = _mm256_add_epi64 (c, LOAD (bytes + i + 64));
      d = _mm256_add_epi64 (d, LOAD (bytes + i + 96));
    }
  *done = i;
  a = _mm256_add_epi64 (_mm256_add_epi64 (a, b), _mm256_add_epi64 (c, d));
  memcpy (sum, &a, sizeof sum);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

guint64
read_sum (const guint8 *bytes, gsize n)
{
  gsize i = 0;
  guint64 sum = width () == 512   ? sum_512 (bytes, n, &i)
                : width () == 256 ? sum_256 (bytes, n, &i)
                                  : 0;
  for (; i < n; i += sizeof (guint64))
    {
      guint64 word = 0;
      memcpy (&word, bytes + i, MIN (sizeof word, n - i));
      sum += word;
    }
  return sum;
}

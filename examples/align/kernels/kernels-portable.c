/* SPDX-License-Identifier: MIT */
/* The kernels for any core, by vectors of 16 bytes of GCC and Clang.
   Thread safety: as kernels.h. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "../scheme.h"

#define LANES 8
/* subtract () may pass it by the cost of a gap. */
#define FLOOR (INT16_MIN + ALIGN_MAX_OPEN + ALIGN_MAX_EXTEND)
#define CEILING INT16_MAX
typedef int16_t Number;
typedef AlignStrips Strips;
typedef int16_t Vector __attribute__ ((vector_size (16)));
typedef Vector Mask;
#define store(p, v) memcpy (p, &(v), sizeof (Vector))
#define subtract(a, b) ((a) - (b))
#define equal(a, b) ((a) == (b))
#define above(a, b) ((a) > (b))
#define both(m, n) ((m) & (n))
#define choose(m, a, b) (((m) & (a)) | (~(m) & (b)))

static inline Vector
load (const int16_t *p)
{
  Vector v;
  memcpy (&v, p, sizeof v);
  return v;
}

static inline Vector
spread (int i)
{
  return (int16_t)i - (Vector){ 0 };
}

static inline Vector
larger (Vector a, Vector b)
{
  return choose (a > b, a, b);
}

static inline Vector
add (Vector a, Vector b)
{
  return larger (a + b, spread (FLOOR));
}

static inline Vector
shift_in (Vector v, int16_t x)
{
#ifdef __clang__
  v = __builtin_shufflevector (v, v, 7, 0, 1, 2, 3, 4, 5, 6);
#else
  v = __builtin_shuffle (v, (Vector){ 7, 0, 1, 2, 3, 4, 5, 6 });
#endif
  v[0] = x;
  return v;
}

static inline int16_t
last (Vector v)
{
  return v[LANES - 1];
}

static inline void
scores (const AlignStrips *s, int group, const int16_t *b,
        Vector out[ALIGN_ROWS])
{
  const int16_t *p
      = s->profile + (ptrdiff_t)group * ALIGN_PROFILE_CODES * ALIGN_ROWS;
  for (int k = 0; k < LANES; k++, p += ALIGN_PROFILE_CODES * ALIGN_ROWS)
    for (int r = 0; r < ALIGN_ROWS; r++)
      out[r][k] = p[b[k] + r];
}
#include "strips-private.h"
const AlignKernels align_portable = { "portable", STRIP, FLOOR, strips, NULL };

/* SPDX-License-Identifier: MIT */
/* The kernels for any core, a lane at a time; what vectors it always has the
   compiler uses.
   Thread safety: as nlm.h. */
#include <stdint.h>

#include "nlm.h"

#define KERNELS nlm_portable
#define KERNELS_NAME "portable"
#define LANES 1
typedef uint16_t Vector;
#define load(p) (*(p))
#define store(p, v) (*(p) = (v))
#define spread(i) ((Vector)(i))
#define add(a, b) ((Vector)((a) + (b)))
#define subtract(a, b) ((Vector)((a) - (b)))
#define multiply(a, b) ((Vector)((uint32_t)(a) * (b)))
#define multiply_high(a, b) ((Vector)((uint32_t)(a) * (b) >> 16))
#define left(a, n) ((Vector)((a) << (n)))
#define right(a, n) ((Vector)((a) >> (n)))

static inline Vector
add_limited (Vector a, Vector b)
{
  Vector sum = a + b;
  return sum < a ? UINT16_MAX : sum;
}

static inline Vector
subtract_limited (Vector a, Vector b)
{
  return a > b ? a - b : 0;
}

/* Adds @w * @i + @v * @j to @sum, and @w + @v to @total. */
static inline void
add_products (uint32_t *sum, uint32_t *total, Vector w, Vector i, Vector v,
              Vector j)
{
  *sum += (uint32_t)w * i + (uint32_t)v * j;
  *total += (uint32_t)w + v;
}

static inline void
means (const uint32_t *sums, const uint32_t *totals, uint8_t *row, int n)
{
  for (int x = 0; x < n; x++)
    row[x] = (uint8_t)nlm_mean (sums[x], totals[x]);
}
#include "nlm-tile-private.h"

/* SPDX-License-Identifier: MIT */
/* steps_cpu.c: the steps of workers.h on a core, 64 elements at a time.
   Thread safety: any thread. */
#include "workers.h"

#define AT_ONCE 64

typedef guint32 Lanes __attribute__ ((vector_size (64)));

typedef union
{
  Lanes v[4];
  guint32 x[AT_ONCE];
} Elements;

guint64
steps_naive (const Steps *s, guint64 first, gsize n)
{
  guint64 sum = 0;
  for (gsize i = 0; i < n; i++)
    {
      guint32 x = steps_seed (first + i);
      for (guint32 k = 0; k < s->n_steps; k++)
        x = x * s->a + s->c;
      sum += x;
    }
  return sum;
}

/* Four chains of multiplications that do not depend on each other. */
static inline __attribute__ ((always_inline)) guint64
steps (const Steps *s, guint64 first, gsize n)
{
  guint64 sum = 0;
  const guint32 a = s->a, c = s->c;
  for (gsize i = 0; i < n; i += AT_ONCE)
    {
      Elements e;
      for (gsize k = 0; k < AT_ONCE; k++)
        e.x[k] = steps_seed (first + i + k);
      Lanes x0 = e.v[0], x1 = e.v[1], x2 = e.v[2], x3 = e.v[3];
      for (guint32 k = 0; k < s->n_steps; k++)
        {
          x0 = x0 * a + c;
          x1 = x1 * a + c;
          x2 = x2 * a + c;
          x3 = x3 * a + c;
        }
      e.v[0] = x0, e.v[1] = x1, e.v[2] = x2, e.v[3] = x3;
      for (gsize k = 0; k < MIN (AT_ONCE, n - i); k++)
        sum += e.x[k];
    }
  return sum;
}

__attribute__ ((target ("avx512f"))) static guint64
steps_512 (const Steps *s, guint64 first, gsize n)
{
  return steps (s, first, n);
}

__attribute__ ((target ("avx2"))) static guint64
steps_256 (const Steps *s, guint64 first, gsize n)
{
  return steps (s, first, n);
}

guint64
steps_cpu (const Steps *s, guint64 first, gsize n)
{
  return __builtin_cpu_supports ("avx512f") ? steps_512 (s, first, n)
         : __builtin_cpu_supports ("avx2")  ? steps_256 (s, first, n)
                                            : steps (s, first, n);
}

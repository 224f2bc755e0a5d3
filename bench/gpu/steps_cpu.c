/* SPDX-License-Identifier: MIT */
/* steps_cpu.c: the steps of workers.h on a core: of elements, 64 at a time,
   and of tokens.
   Thread safety: any thread. */
#include "workers.h"

#define AT_ONCE 64
#define QUESTIONS 512 /* of a core with a token */

typedef guint32 Lanes __attribute__ ((vector_size (64)));

/* -- Elements ----------------------------------------------------------- */

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

/* -- Tokens ------------------------------------------------------------- */

/* @k steps at once: x becomes *@a * x + *@c. */
static void
leap (const TokenSteps *s, guint32 k, guint32 *a, guint32 *c)
{
  guint32 square_a = s->a, square_c = s->c;
  *a = 1;
  *c = 0;
  for (; k > 0; k >>= 1)
    {
      *c = k & 1 ? *c * square_a + square_c : *c;
      *a = k & 1 ? *a * square_a : *a;
      square_c = square_c * square_a + square_c;
      square_a *= square_a;
    }
}

TokenSteps
token_steps (guint kib, guint n_steps, guint gpu_steps)
{
  TokenSteps s = { .a = 1664525,
                   .c = 1013904223,
                   .n_words = kib * (guint)KIB / 4,
                   .n_steps = n_steps,
                   .gpu_steps = gpu_steps };
  leap (&s, n_steps - gpu_steps, &s.leap_a, &s.leap_c);
  return s;
}

gboolean
token_steps_cpu (const TokenSteps *s, HassWorker *worker, gconstpointer input,
                 gpointer output)
{
  const Lanes *in = input;
  guint32 *sums = output, n = s->n_words / WORDS_SUMMED;
  for (guint32 i = 0; i < n; i++, in += 2)
    {
      if (s->asks && i % MAX (n / QUESTIONS, 1) == 0
          && hass_worker_stopping (worker))
        return FALSE;
      Lanes x = in[0], y = in[1];
      for (guint32 k = 0; k < s->n_steps; k++)
        {
          x = x * s->a + s->c;
          y = y * s->a + s->c;
        }
      sums[i] = 0;
      for (guint k = 0; k < WORDS_SUMMED / 2; k++)
        sums[i] += x[k] + y[k];
    }
  return TRUE;
}

void
token_steps_fill (const TokenSteps *s, gsize n, gpointer inputs,
                  gpointer results)
{
  guint32 *words = inputs, *sums = results, a, c;
  leap (s, s->n_steps, &a, &c);
  memset (sums, 0, n * s->n_words / WORDS_SUMMED * sizeof *sums);
  for (gsize i = 0; i < n * s->n_words; i++)
    {
      words[i] = steps_seed (i);
      sums[i / WORDS_SUMMED] += a * words[i] + c;
    }
}

double
token_steps_calibrate (guint kib, double wanted_s, guint *n_steps)
{
  double seconds[5];
  gsize bytes = kib * KIB;
  guint8 *token = pages_new (bytes, FALSE), *out = pages_new (bytes, FALSE);
  *n_steps = 16;
  for (guint i = 0; i < 10; i++)
    {
      TokenSteps steps = token_steps (kib, *n_steps, 0);
      gint64 begin = bench_now_ns ();
      token_steps_cpu (&steps, NULL, token, out);
      seconds[i % 5] = (bench_now_ns () - begin) * 1e-9;
      if (i < 5)
        *n_steps = (guint)CLAMP (*n_steps * wanted_s / seconds[i], 1, 1e9);
    }
  pages_free (token, bytes);
  pages_free (out, bytes);
  return median_of (seconds, 5);
}

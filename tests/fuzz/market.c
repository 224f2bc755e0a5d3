/* SPDX-License-Identifier: MIT */
/* market.c: a file in Matrix Market format.
   Thread safety: see fuzz.h. */
#include "fuzz.h"

#ifndef WITHOUT_cholesky

#  include <math.h>
#  include <stdio.h>

#  include "cholesky/cholesky.h"

#  define MOST_ROWS 64

static int
market (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  FILE *in = size > 0 ? fmemopen ((guint8 *)data, size, "rb") : NULL;
  MarketFile m = { .in = in, .name = "it" };
  CholeskyProblem p = { .type = size % 2 };
  if (!in)
    return 0;
  gboolean ok = market_read_head (&m, &error);
  FUZZ_CHECK (ok == (error == NULL));
  if (ok && m.n <= MOST_ROWS)
    {
      p.n = m.n;
      ok = cholesky_allocate (&p, &error)
           && market_read_numbers (&m, &p, &error);
      FUZZ_CHECK (ok == (error == NULL));
      for (gsize i = 0; ok && i < p.n * p.n; i++)
        {
          double a = cholesky_get (&p, i % p.n, i / p.n);
          FUZZ_CHECK (isfinite (a));
          FUZZ_CHECK (a == cholesky_get (&p, i / p.n, i % p.n));
        }
      cholesky_clear (&p);
    }
  fclose (in);
  return 0;
}

FUZZ_TARGET (market, market)

#endif

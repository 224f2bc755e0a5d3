/* SPDX-License-Identifier: MIT */
/* price.c: models of options, estimates from sums, and prices in closed form.
   Only this file uses libm: its results enter the sums as constants of a model,
   which are the same on all devices of a run.
   Thread safety: pure functions. */
#include <math.h>

#include "monte_carlo.h"

McModel
monte_carlo_pi_model (guint64 seed)
{
  return (McModel){ .kind = MC_PI, .seed = seed };
}

McModel
monte_carlo_option_model (McKind kind, const McOption *o, guint64 seed)
{
  double step = o->years / o->steps;
  double drift = o->rate - o->volatility * o->volatility / 2;
  return (McModel){ .kind = kind,
                    .seed = seed,
                    .steps = o->steps,
                    .drift = drift * (kind == MC_ASIAN ? step : o->years),
                    .deviation = o->volatility * sqrt (step),
                    .strike = o->strike / o->spot,
                    .per_step = 1.0 / o->steps };
}

static long double
from_128 (guint64 low, guint64 high, int fraction_bits)
{
  return ldexpl ((long double)high, 64 - fraction_bits)
         + ldexpl ((long double)low, -fraction_bits);
}

McEstimate
monte_carlo_estimate (const McSums *s, const McOption *o)
{
  long double n = s->n, factor = 4, mean = s->special / n, square = mean;
  if (o)
    {
      factor = o->spot * exp (-o->rate * o->years);
      mean = from_128 (s->sum_low, s->sum_high, MC_FRACTION_BITS) / n;
      square = from_128 (s->squares_low, s->squares_high, 2 * MC_FRACTION_BITS)
               / n;
    }
  long double variance = MAX (square - mean * mean, 0) / MAX (n - 1, 1);
  return (McEstimate){ (double)(factor * mean),
                       (double)(factor * sqrtl (variance)) };
}

char *
monte_carlo_fingerprint (const McSums *s)
{
#define X "%016" G_GINT64_MODIFIER "x"
  return g_strdup_printf (X "-" X "-" X X "-" X X, s->n, s->special,
                          s->sum_high, s->sum_low, s->squares_high,
                          s->squares_low);
#undef X
}

/* The mean of max (e^x - strike, 0) where x is normal. */
static double
mean_call (double mean, double variance, double strike)
{
  double deviation = sqrt (variance);
  double d = (mean - log (strike)) / deviation;
  return exp (mean + variance / 2) * erfc (-(d + deviation) / M_SQRT2) / 2
         - strike * erfc (-d / M_SQRT2) / 2;
}

static double
mean_european (const McOption *o, double years)
{
  double variance = o->volatility * o->volatility * years;
  return mean_call (log (o->spot) + o->rate * years - variance / 2, variance,
                    o->strike);
}

double
monte_carlo_black_scholes (const McOption *o)
{
  return exp (-o->rate * o->years) * mean_european (o, o->years);
}

void
monte_carlo_asian_bounds (const McOption *o, double *low, double *high)
{
  double n = o->steps, discount = exp (-o->rate * o->years), sum = 0;
  double variance = o->volatility * o->volatility;
  *low = discount
         * mean_call (log (o->spot)
                          + (o->rate - variance / 2) * o->years * (n + 1)
                                / (2 * n),
                      variance * o->years * (n + 1) * (2 * n + 1) / (6 * n * n),
                      o->strike);
  for (guint i = 1; i <= o->steps; i++)
    sum += mean_european (o, o->years * i / n);
  *high = discount * sum / n;
}

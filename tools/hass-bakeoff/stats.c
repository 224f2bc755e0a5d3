/* SPDX-License-Identifier: MIT */
/* stats.c: medians, and confidence intervals of ratios.
   Thread safety: any thread. */
#include <math.h>

#include "bakeoff.h"

static gint
by_value (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static GArray *
sorted (const double *values, guint n)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (double));
  g_array_append_vals (all, values, n);
  g_array_sort (all, by_value);
  return all;
}

double
bakeoff_quantile (const double *values, guint n, double part)
{
  g_autoptr (GArray) all = sorted (values, n);
  double at = part * (n - 1);
  guint i = (guint)at;
  double low = g_array_index (all, double, i);
  double high = g_array_index (all, double, MIN (i + 1, n - 1));
  return low + (at - i) * (high - low);
}

/* Number of values outside the interval on each side: the largest k for which
   the probability of fewer than k heads in @n throws of a coin is at most
   @chance / 2. 0: @n is too small for an interval. */
static guint
outside (guint n, double chance)
{
  double term = pow (0.5, n), sum = 0;
  guint k = 0;
  while (k < n / 2 && 2 * (sum + term) <= chance)
    {
      sum += term;
      term *= (double)(n - k) / (k + 1);
      k++;
    }
  return k;
}

guint
bakeoff_rounds_needed (double chance)
{
  guint n = 1;
  while (2 * pow (0.5, n) > chance)
    n++;
  return n;
}

BakeoffRatio
bakeoff_ratio (const double *a, const double *b, guint n, double chance)
{
  g_autofree double *ratios = g_new (double, n);
  for (guint i = 0; i < n; i++)
    ratios[i] = a[i] / b[i];
  g_autoptr (GArray) all = sorted (ratios, n);
  guint k = outside (n, chance);
  BakeoffRatio r = { .median = bakeoff_quantile (ratios, n, 0.5) };
  if (k == 0)
    return r;
  r.known = TRUE;
  r.low = g_array_index (all, double, k - 1);
  r.high = g_array_index (all, double, n - k);
  return r;
}

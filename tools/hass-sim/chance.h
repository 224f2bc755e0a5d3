/* SPDX-License-Identifier: MIT */
/* chance.h: what random cases are drawn by.
   Thread safety: any thread, each with a generator of its own. */
#ifndef HASS_SIM_CHANCE_H
#define HASS_SIM_CHANCE_H

#include <glib.h>
#include <math.h>

static inline double
sim_between (GRand *r, double lo, double hi)
{
  return g_rand_double_range (r, lo, hi);
}

/* Evenly in the logarithm. */
static inline double
sim_log_between (GRand *r, double lo, double hi)
{
  return exp (g_rand_double_range (r, log (lo), log (hi)));
}

static inline gboolean
sim_one_in (GRand *r, gint n)
{
  return g_rand_int_range (r, 0, n) == 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/* chance.h: what random tests are drawn by.
   Thread safety: any thread, each with a generator of its own. */
#ifndef HASS_TEST_CHANCE_H
#define HASS_TEST_CHANCE_H

#include <glib.h>

/* Returns: a number from 0 to @n - 1. */
static inline guint
below (GRand *rand, guint n)
{
  return (guint)g_rand_int_range (rand, 0, (gint32)n);
}

static inline gboolean
one_in (GRand *rand, guint n)
{
  return below (rand, n) == 0;
}

#endif

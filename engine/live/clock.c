/* SPDX-License-Identifier: MIT */
/* clock.c: the clock of live farms, the wall clock in ns.
   Thread safety: any thread. */
#include "live-private.h"

#include <time.h>

gint64
hass_live_now (HassJob *job)
{
  struct timespec t;
  (void)job;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

gint64
hass_engine_clock (void)
{
  return hass_live_now (NULL);
}

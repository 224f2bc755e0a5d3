/* SPDX-License-Identifier: MIT */
/* clock.c: the clock of live farms, the monotonic clock in ns.
   Thread safety: any thread. */
#include "live-private.h"

#include "pool/clock.h"

gint64
hass_live_now (HassJob *job)
{
  (void)job;
  return hass_clock_ns ();
}

gint64
hass_engine_clock (void)
{
  return hass_clock_ns ();
}

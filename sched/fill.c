/* SPDX-License-Identifier: MIT */
/* fill.c: see fill.h.
   Thread safety: plain values. */
#include "fill.h"

#include <math.h>

/* Returns the device, of those that do not participate yet, whose first step
   would end soonest; n: there is none. */
static guint
next_runner (const HassRunner *r, guint n)
{
  guint best = n;
  for (guint d = 0; d < n; d++)
    if (!r[d].runs && r[d].rate > 0
        && (best == n
            || r[d].ready_ns + r[d].step_ns
                   < r[best].ready_ns + r[best].step_ns))
      best = d;
  return best;
}

/* Chooses which devices participate, and returns the time in ns until they
   finish @work together; INFINITY: none participates. Devices are added in the
   order in which their first step would end, as long as that is before the
   devices already added would finish everything. O(n^2) at worst. */
double
hass_fill (HassRunner *r, guint n, double work)
{
  double finish_ns = INFINITY, rates = 0, last_ns = 0;
  for (guint d = 0; d < n; d++)
    r[d].runs = FALSE;
  for (guint d; (d = next_runner (r, n)) < n;)
    {
      double end_ns = r[d].ready_ns + r[d].step_ns;
      if (end_ns > finish_ns)
        break;
      last_ns = end_ns;
      r[d].runs = TRUE;
      rates += r[d].rate;
      work += r[d].rate * r[d].ready_ns;
      finish_ns = MAX (work / rates, last_ns);
    }
  return finish_ns;
}

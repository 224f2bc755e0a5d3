/* SPDX-License-Identifier: MIT */
/* bundles.c: how many units of a class are in a bundle of a GPU.

   DESIGN. The kernels of n units take T = l + t max (n, w), l being the latency
   of the device, t its pace and w the units that just fill it; the copies take
   I = l + i n and O = l + o n. With k bundles in flight, units pass at the rate
     n / max (T, I, O, (T + I + O) / k).
   It grows with n and with k, but k n tokens must be in flight. So for each k
   up to the depth of the device n is the tokens that it can have, divided by k,
   or what makes launches a small part if that is less; the k with the highest
   rate gives n. Where there are tokens enough, that is the full depth.

   Thread safety: see steady.h. */
#include "steady.h"

/* Returns: units per ns of a GPU with @k bundles of @n units in flight. */
static double
rate (const HassPaces *p, guint c, guint device, double n, double k)
{
  const HassPace *pace = hass_pace (p, c, device);
  double latency = p->env->devices[device].latency_ns;
  double kernel = latency + pace->ns * MAX (n, hass_pace_width (p, c, device));
  double in = pace->in_ns > 0 ? latency + n * pace->in_ns : 0;
  double out = pace->out_ns > 0 ? latency + n * pace->out_ns : 0;
  double longest = MAX (MAX (kernel, in), MAX (out, (kernel + in + out) / k));
  return longest > 0 ? n / longest : 0;
}

guint64
hass_bundle_units (const HassPaces *p, guint c, guint device, double launches,
                   guint64 tokens)
{
  guint64 most = hass_pace_bundle (p, c, device, launches), units = 1;
  double highest = 0;
  for (guint k = MAX (p->env->devices[device].max_in_flight, 1); k > 0; k--)
    {
      guint64 n = MIN (tokens / k, most);
      double now = rate (p, c, device, (double)n, k);
      if (now <= highest)
        continue;
      highest = now;
      units = n;
    }
  return units;
}

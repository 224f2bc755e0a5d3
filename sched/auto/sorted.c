/* SPDX-License-Identifier: MIT */
/* sorted.c: rounds of indivisible loads in ascending order of known sizes:
   whether GPUs get the largest or the smallest, and where they meet the cores.

   DESIGN. A core takes as long per work for every load, a GPU longer for a
   small one (blocks-private.h). So more is done if GPUs get the largest loads;
   but a multiprocessor may take longer for the largest load than the round
   lasts, or than the devices differ by at the end. Both ways are planned, by a
   search for the load at which devices meet, and the one that ends first is
   chosen.

   Thread safety: as hass/strategy.h. */
#include "plan-private.h"

/* Returns the slope of a GPU's bundle time over the work that its loads count
   for, in ns per work; 0: the GPU is excluded. */
static double
slope (const HassAutoKnown *k, guint device)
{
  const HassFit *fit = hass_estimates_fit (
      &k->e, NULL, device, !hass_estimates_overlaps (&k->e, device));
  gboolean runs = device != k->u.cpu && !hass_forecast_out (&k->f, device);
  return runs && fit->seen > 0 ? fit->ns_per_work : 0;
}

/* Returns the time, in ns, that all GPUs need for n loads from position @first
   on. */
static double
gpus_ns (const HassAutoKnown *k, const HassRound *round, guint64 first,
         guint64 n)
{
  double parts_per_ns = 0;
  for (guint d = 0; d < k->u.n; d++)
    if (slope (k, d) > 0)
      parts_per_ns += 1
                      / (slope (k, d)
                         * hass_auto_blocks_work (&k->b, round, d, first, n));
  return 1 / parts_per_ns;
}

/* Returns the time, in ns, of a load of @work on a multiprocessor of the GPU on
   which it takes longest. */
static double
block_ns (const HassAutoKnown *k, double work)
{
  double ns = 0;
  for (guint d = 0; d < k->u.n; d++)
    ns = MAX (ns, slope (k, d) * hass_auto_blocks_load (&k->b, d, work)
                      * MAX (k->u.devices[d].cores, 1));
  return ns;
}

/* Computes at which position GPUs and cores meet if GPUs take from the front
   (@reversed) or the back. Returns when the round would end, in ns: half a load
   later, but not before the largest load. */
static double
meet (const HassAutoKnown *k, const HassRound *round, gboolean reversed,
      guint64 *at)
{
  guint64 front = hass_round_front (round), back = hass_round_back (round);
  guint64 lo = 0, hi = back - front;
  double total = hass_round_work (round, front, hi), ns = 0;
  double core_rate = hass_estimates_core_rate (&k->e);
  while (lo < hi)
    {
      guint64 n = lo + (hi - lo + 1) / 2;
      guint64 first = reversed ? front : back - n;
      double work = hass_round_work (round, first, n);
      ns = (total - work) / (core_rate * k->u.cores);
      if (gpus_ns (k, round, first, n) <= ns)
        lo = n;
      else
        hi = n - 1;
    }
  *at = reversed ? front + lo : back - lo;
  double work = hass_round_work (round, MIN (*at, back - 1), 1);
  double last_ns = MAX (block_ns (k, work), work / core_rate) / 2;
  return MAX (ns + last_ns,
              reversed ? k->u.longest / core_rate : block_ns (k, k->u.longest));
}

void
hass_auto_sorted_begin (HassAutoKnown *k, const HassRound *round)
{
  HassUnits *u = &k->u;
  guint64 at[2] = { hass_round_front (round), hass_round_back (round) };
  /* Until rates are known a GPU that is much slower than a core has to be
     expected, which a large load would keep busy for longer than the round. */
  u->reversed = u->cpu < u->n;
  if (u->reversed && at[0] < at[1] && hass_forecast_all_measured (&k->f, round))
    {
      double ns = meet (k, round, FALSE, &at[0]);
      u->reversed = meet (k, round, TRUE, &at[1]) < ns;
    }
  u->meet = at[u->reversed];
}

double
hass_auto_sorted_times (const HassAutoKnown *k, const HassRound *round,
                        guint device)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 n = MIN (hass_units_least (&k->u, device), hi - lo);
  if (k->u.reversed)
    hi = CLAMP (k->u.meet, lo + n, hi);
  else
    lo = CLAMP (k->u.meet, lo, hi - n);
  double mean = hi > lo ? hass_round_work (round, lo, hi - lo) / (hi - lo) : 0;
  return mean > 0 ? hass_auto_blocks_load (&k->b, device, mean) / mean : 1;
}

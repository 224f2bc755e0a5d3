/* SPDX-License-Identifier: MIT */
/* units.c: see units.h.
   Thread safety: as hass/strategy.h. */
#include "units.h"

#include <math.h>

/* Number of units of a round that are looked at for the mean of elements and
   bytes. A guess: a mean of fewer is less certain, more cost time in each
   round. */
#define LOOKED_AT 32
/* Units with at least this many input bytes are data: their copy takes longer
   than a launch. By calculation: at 50 GB/s 64 KiB take 1.3 us. Too small, and
   loads are left unsorted needlessly. */
#define DATA_BYTES (64 << 10)
/* Number of units of the next bundle that are looked at for their elements. A
   guess: fewer are less precise, more cost time in each decision. */
#define LOOKED_AT_NEXT 4

void
hass_units_init (HassUnits *u, const HassStrategyEnv *env)
{
  *u = (HassUnits){ .env = env,
                    .devices = env->devices,
                    .n = env->n_devices,
                    .cpu = env->n_devices,
                    .cores = 1 };
  for (guint d = 0; d < u->n && u->cpu == u->n; d++)
    if (env->devices[d].kind == HASS_DEVICE_CPU)
      {
        u->cpu = d;
        u->cores = MAX (env->devices[d].cores, 1);
      }
  if (env->cost == HASS_COST_UNKNOWN && u->n > 1)
    u->levels = hass_levels_new (u->n);
}

void
hass_units_clear (HassUnits *u)
{
  hass_levels_free (u->levels);
}

/* -- At a round's begin ------------------------------------------------- */

/* Returns the mean bytes of input and output that a GPU copies for a unit, from
   some of the waiting units. */
static double
unit_bytes (const HassUnits *u, const HassRound *round)
{
  guint64 front = hass_round_front (round), n = hass_round_back (round) - front;
  guint64 some = MIN (n, u->env->cost == HASS_COST_EQUAL ? 1 : LOOKED_AT);
  double sum = 0;
  for (guint64 i = 0; i < some; i++)
    {
      guint64 at = front + (2 * i + 1) * n / (2 * some);
      sum += (double)hass_round_input_bytes (round, at)
             + hass_round_output_bytes (round, at);
    }
  return sum / MAX (some, 1);
}

static double
longest_unit (const HassUnits *u, const HassRound *round)
{
  double most = 0;
  if (u->env->cost != HASS_COST_SIZED)
    return 0;
  for (guint64 i = hass_round_front (round); i < hass_round_back (round); i++)
    most = MAX (most, hass_round_work (round, i, 1));
  return most;
}

void
hass_units_begin (HassUnits *u, const HassRound *round)
{
  guint64 n = hass_round_units (round);
  u->share_back = 0;
  u->work = n > 0 ? hass_round_total_work (round) / n : 1;
  u->round_units = n;
  u->bytes = unit_bytes (u, round);
  u->longest = longest_unit (u, round);
}

guint64
hass_units_first_parallel (const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo) / 2;
      if (hass_round_elements (round, middle) > 1)
        hi = middle;
      else
        lo = middle + 1;
    }
  return lo;
}

void
hass_units_ordered (HassUnits *u, const HassRound *round)
{
  gboolean tasks = u->env->farm == HASS_FARM_FUNCTION;
  guint64 front = hass_round_front (round), back = hass_round_back (round);
  u->first_parallel = tasks ? hass_units_first_parallel (round) : 0;
  front = MAX (front, u->first_parallel);
  u->blocks = u->env->farm == HASS_FARM_INDIVISIBLE || (tasks && front == back);
  u->elements = hass_units_elements (u, round, front, back - front, LOOKED_AT);
}

/* -- Work --------------------------------------------------------------- */

double
hass_units_level (const HassUnits *u, guint64 first, guint64 n)
{
  if (!u->levels || u->round_units == 0)
    return 1;
  double all = (double)u->round_units;
  return hass_levels_between (u->levels, first / all,
                              MIN ((first + n) / all, 1));
}

double
hass_units_work (const HassUnits *u, const HassRound *round, guint64 first,
                 guint64 n)
{
  if (!u->levels)
    return hass_round_work (round, first, n);
  return u->work * n * hass_units_level (u, first, n);
}

gboolean
hass_units_differ (const HassUnits *u)
{
  return u->levels || u->env->cost == HASS_COST_SIZED;
}

double
hass_units_next_work (const HassUnits *u, const HassRound *round, gboolean gpu,
                      guint64 n)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 common = hi - lo;
  if (!hass_units_differ (u) || common == 0)
    return u->work * n;
  n = MIN (n, common);
  return hass_units_work (u, round, gpu != u->reversed ? hi - n : lo, n);
}

double
hass_units_next_level (const HassUnits *u, const HassRound *round, guint device)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (!u->levels || hi == lo)
    return 1;
  guint64 n = (guint64)MIN (hass_units_fill (u, device), 1e18);
  n = CLAMP (n, u->round_units / HASS_LEVELS_PARTS, hi - lo);
  n = CLAMP (n, 1, hi - lo);
  return hass_units_level (u, u->reversed ? lo : hi - n, n);
}

guint64
hass_units_for (const HassUnits *u, const HassRound *round, guint64 lo,
                guint64 hi, gboolean back, double work)
{
  guint64 n = hi - lo, fits = 1;
  if (n == 0
      || (!u->levels
          && (u->env->cost != HASS_COST_SIZED
              || u->env->farm == HASS_FARM_PARTITION)))
    return (guint64)CLAMP (work / u->work, 1, MAX (n, 1));
  while (fits < n)
    {
      guint64 k = fits + (n - fits + 1) / 2;
      if (hass_units_work (u, round, back ? hi - k : lo, k) <= work)
        fits = k;
      else
        n = k - 1;
    }
  return fits;
}

guint64
hass_units_for_cores (const HassUnits *u, const HassRound *round, double work)
{
  return hass_units_for (u, round, hass_round_front (round),
                         hass_round_back (round), u->reversed, work);
}

guint64
hass_units_cpu_share (const HassUnits *u, const HassRound *round)
{
  return u->cpu < u->n ? hass_round_share (round, u->cpu) : 0;
}

double
hass_units_left (const HassUnits *u, const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 share = hass_units_cpu_share (u, round);
  double common = hass_units_differ (u) && hi > lo
                      ? hass_units_work (u, round, lo, hi - lo)
                      : u->work * (hi - lo);
  double own = u->work * share;
  if (hass_units_differ (u) && share > 0 && u->share_back >= share)
    own = hass_units_work (u, round, u->share_back - share, share);
  guint64 waiting = hass_round_waiting (round);
  guint64 returned = waiting > hi - lo ? waiting - (hi - lo) : 0;
  return common + own + u->work * returned;
}

/* -- What a GPU takes at least ------------------------------------------ */

gboolean
hass_units_simple (const HassUnits *u, const HassRound *round)
{
  return u->env->farm == HASS_FARM_FUNCTION && round
         && hass_round_back (round) <= u->first_parallel;
}

guint64
hass_units_least (const HassUnits *u, guint device)
{
  return u->blocks ? MAX (u->devices[device].cores, 1) : 1;
}

double
hass_units_elements (const HassUnits *u, const HassRound *round, guint64 first,
                     guint64 n, guint some)
{
  guint64 looked_at = MIN (n, u->env->cost == HASS_COST_EQUAL ? 2 : some);
  double sum = 0;
  gsize threads
      = u->env->farm == HASS_FARM_FUNCTION ? 1 : u->env->element_threads;
  if (n == 0 || threads == 0 || u->blocks)
    return 0;
  for (guint64 i = 0; i < looked_at; i++)
    sum += hass_round_elements (round,
                                first + (2 * i + 1) * n / (2 * looked_at));
  return sum / looked_at * threads;
}

double
hass_units_fill (const HassUnits *u, guint device)
{
  if (device == u->cpu)
    return 0;
  if (u->blocks)
    return MAX (u->devices[device].cores, 1);
  return u->elements > 0 ? u->devices[device].width / u->elements : 0;
}

double
hass_units_fill_work (const HassUnits *u, guint device)
{
  return hass_units_fill (u, device) * u->work;
}

double
hass_units_fill_next (const HassUnits *u, const HassRound *round, guint device)
{
  double fill = hass_units_fill (u, device);
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (u->env->cost != HASS_COST_SIZED || fill <= 0 || hi == lo)
    return hass_units_fill_work (u, device)
           * hass_units_next_level (u, round, device);
  guint64 n = (guint64)CLAMP (ceil (fill), 1, hi - lo);
  double each = hass_units_elements (u, round, u->reversed ? lo : hi - n, n,
                                     LOOKED_AT_NEXT);
  fill *= u->elements / MAX (each, 1);
  n = (guint64)CLAMP (ceil (fill), 1, hi - lo);
  return hass_units_next_work (u, round, TRUE, n) * MAX (fill / n, 1);
}

/* -- Bytes -------------------------------------------------------------- */

/* The unit in the middle of those that wait stands for all. */
gboolean
hass_units_are_data (const HassRound *round)
{
  guint64 front = hass_round_front (round), back = hass_round_back (round);
  return back > front
         && hass_round_input_bytes (round, (front + back) / 2) >= DATA_BYTES;
}

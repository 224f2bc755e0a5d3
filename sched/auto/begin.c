/* SPDX-License-Identifier: MIT */
/* begin.c: what is decided at a round's begin, before devices ask: whether the
   units are sorted, and which unmeasured GPUs cannot help.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* Part of a round that a core needs for its longest unit: then the round is
   sorted. A guess. */
#define LONG_PART 0.25
/* Loads stay side by side where each multiprocessor gets as much work as so
   many of the longest; then sorting saves less than gathering costs. A guess.
 */
#define SOME_LARGEST 4
/* Kernels so many times as long as copies hide them, gathered or not; fewer
   where loads are sorted already, since their work then counts for more and a
   round is not to be sorted every other time. Guesses. */
#define HIDING 4
#define HIDING_LISTED 2
/* A thread of an unknown GPU may be so many times slower than a core. */
#define WORST_THREADS (4 * HASS_AUTO_CORE_THREADS)
/* Part of the time that has passed that a first bundle on such a GPU may take.
   A guess. */
#define MOST_LOST 0.05

/* -- Order -------------------------------------------------------------- */

/* Nothing is copied, or kernels take so much longer that copies hide. */
static gboolean
copies_hide (const HassAutoKnown *k, guint device)
{
  const HassEstimate *m = &k->e.of[device];
  double link = k->u.devices[device].link_bytes_per_ns;
  double times = k->u.listed ? HIDING_LISTED : HIDING;
  return !(link > 0)
         || (m->computed_work > 0
             && m->computed_ns / m->computed_work * k->u.work * link
                    > times * k->u.bytes);
}

/* Loads that are data lie side by side in memory, as a rule, and to gather them
   costs more than the shortest ones at the end save. */
static gboolean
stay_side_by_side (const HassAutoKnown *k, const HassRound *round)
{
  guint64 multiprocessors = 0;
  if (!hass_units_are_data (round))
    return FALSE;
  for (guint d = 0; d < k->u.n; d++)
    if (d != k->u.cpu)
      {
        if (copies_hide (k, d))
          return FALSE;
        multiprocessors += k->u.devices[d].cores;
      }
  return hass_round_total_work (round)
         >= SOME_LARGEST * multiprocessors * k->u.longest;
}

/* A core would need so much of the round for its longest unit that cores, which
   take units as they lie, could not be given some of them. */
static gboolean
has_long_units (HassAuto *s, const HassRound *round)
{
  const HassUnits *u = &s->k.u;
  if (u->cpu == u->n || u->n == 1 || u->longest <= 0
      || u->env->farm == HASS_FARM_PARTITION
      || !hass_forecast_all_measured (&s->k.f, round))
    return FALSE;
  double core_rate = hass_estimates_core_rate (&s->k.e);
  double round_ns = hass_auto_guard_planned_ns (&s->guard, s->guard.arm,
                                                hass_round_total_work (round));
  return u->longest > LONG_PART * round_ns * core_rate
         && !stay_side_by_side (&s->k, round);
}

void
hass_auto_order (HassAuto *s, HassRound *round)
{
  HassUnits *u = &s->k.u;
  u->listed = u->env->farm == HASS_FARM_INDIVISIBLE
              && u->env->cost == HASS_COST_SIZED
              && !stay_side_by_side (&s->k, round);
  if (u->listed || u->env->farm == HASS_FARM_FUNCTION
      || has_long_units (s, round))
    hass_round_order_by_work (round);
}

/* -- Hopeless GPUs ------------------------------------------------------ */

/* Time of an element on one thread of a slow GPU, and of all elements of a
   round that cannot fill it; INFINITY: unknown. */
static double
worst_ns (const HassAutoKnown *k)
{
  double rate = hass_estimates_cpu_rate (&k->e);
  if (!(rate > 0) || !(k->u.elements > 0))
    return INFINITY;
  double element_ns = k->u.work * k->u.cores / rate / k->u.elements;
  return WORST_THREADS * element_ns;
}

/* Whether an unmeasured GPU could help at all. Its kernels have a thread for
   each element, and a thread is far slower than a core; and what it copies once
   a round may take longer than the others need for everything. A GPU that a
   round cannot fill is tried when so much time has passed that little of it is
   lost at worst. */
void
hass_auto_judge (HassAuto *s, const HassRound *round, guint device)
{
  const HassUnits *u = &s->k.u;
  HassSeat *m = &s->k.f.seats[device];
  m->hopeless = FALSE;
  if (device == u->cpu || u->cpu == u->n
      || hass_estimates_known (&s->k.e, round, device))
    return;
  double elements = u->elements * hass_round_units (round);
  m->hopeless = elements > 0 && elements < u->devices[device].width
                && elements < WORST_THREADS * u->cores
                && worst_ns (&s->k) > MOST_LOST * s->k.f.spent_ns;
  if (!m->hopeless && m->copy_ns > 0)
    m->hopeless = m->entry_ns > hass_auto_guard_planned_ns (
                      &s->guard, s->guard.arm, hass_round_total_work (round));
}

/* SPDX-License-Identifier: MIT */
/* begin.c: what is decided at a round's begin, before devices ask: whether the
   units are sorted, and which unmeasured GPUs cannot help.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* The units of a round are sorted by work if a core needs more than this
   fraction of the round's time for the longest one. A guess: less sorts in
   vain; more, and a core that begins the longest unit last delays the round. */
#define LONG_PART 0.25
/* Loads are not sorted where each multiprocessor gets, on average, at least the
   work of this many of the longest: then sorting saves less than gathering
   scattered inputs costs. A guess: less leaves multiprocessors waiting for the
   longest load at the end. */
#define SOME_LARGEST 4
/* Kernels that take HIDING times as long as the copies of the same units hide
   them, even if inputs have to be gathered. A guess: less, and the GPU waits
   for copies of sorted loads. */
#define HIDING 4
/* Kernels that take HIDING_LISTED times as long as the copies hide them where
   the loads of the last round were sorted: their work then counts for more, and
   with HIDING a round would be sorted every other time. A guess. */
#define HIDING_LISTED 2
/* A thread of a GPU that is not measured may be this many times slower than a
   core, at worst. A guess: more excludes GPUs from short rounds that could
   help. */
#define WORST_THREADS (4 * HASS_AUTO_CORE_THREADS)
/* A round that cannot fill an unmeasured GPU is given to it in part only if the
   worst time of its first bundle is below this fraction of the time of all
   rounds so far. A guess: more lets a slow GPU delay a program's first
   rounds. */
#define MOST_LOST 0.05

/* -- Order -------------------------------------------------------------- */

/* Returns TRUE if the GPU copies nothing, or its kernels take so much longer
   than the copies of the same units that copies are hidden. */
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

/* Returns TRUE if loads should not be sorted because gathering their inputs
   would cost more than sorting saves: loads that are mostly data lie, as a
   rule, side by side in memory. */
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

/* Returns TRUE if the longest unit takes a core so much of the round that units
   have to be sorted: cores take units as they lie, and otherwise could not be
   spared the longest ones. */
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

/* Returns the worst time of a round that cannot fill a GPU, in ns: all elements
   run at the same time, so it is the time of one element on one thread.
   INFINITY: unknown. */
static double
worst_ns (const HassAutoKnown *k)
{
  double rate = hass_estimates_cpu_rate (&k->e);
  if (!(rate > 0) || !(k->u.elements > 0))
    return INFINITY;
  double element_ns = k->u.work * k->u.cores / rate / k->u.elements;
  return WORST_THREADS * element_ns;
}

/* Marks an unmeasured GPU hopeless for this round if it could not help. Its
   kernels have a thread for each element, and a thread is far slower than a
   core; and what it copies once a round may take longer than the other devices
   need for everything. A GPU that the round cannot fill is tried when so much
   time has passed that little of it is lost at worst. */
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

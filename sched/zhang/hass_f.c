/* SPDX-License-Identifier: MIT */
/* hass_f.c: HASS for function farms: GPUs take the multiplex tasks (MPD), the
   longest first, cores the simplex tasks (SPD), the shortest first; a device
   whose set is empty takes from the other set.

   Zhang 2011, 3.6.3. Both sets are sorted once a round, O(n log n), and form
   one range, [SPD ascending | MPD ascending]: cores take from its front, SPD
   before MPD and shortest first; GPUs take from its back, MPD before SPD and
   longest first. A decision is O(devices).

   Loses, as any greedy strategy, at the end of a round: a GPU that takes the
   last and shortest MPD tasks may be busy while all cores are idle.

   Interpretation:
   - An MPD task has the GPU to itself; SPD tasks are bundled, one for each of
     the M multiprocessors. A bundle of SPD tasks contains no MPD task.
   - "Similar execution times": neighbours in sorted order, as in hass_i.c.
   - Tasks with a function for one kind of device only are in neither set. They
     are granted first, to a GPU one for each multiprocessor.

   Thread safety: as hass/strategy.h. */
#include "common.h"
#include "units.h"

typedef struct
{
  HassCrew crew;
  /* Position of the shortest MPD task (parallelism degree above 1, a task of
     several threads); the tasks before it are SPD (degree 1). */
  guint64 first_mpd;
} HassF;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassF *s = g_new0 (HassF, 1);
  (void)error;
  hass_crew_init (&s->crew, env);
  return s;
}

static void
begin_round (gpointer self, HassRound *round)
{
  HassF *s = self;
  hass_crew_begin_round (self, round);
  if (hass_crew_alone (&s->crew))
    return;
  hass_round_order_by_work (round);
  s->first_mpd = hass_units_first_parallel (round);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassF *s = self;
  (void)force;
  if (!hass_crew_leftovers (&s->crew, round, device, FALSE, grant))
    return HASS_DONE;
  guint64 back = hass_round_back (round);
  gboolean spd = back <= s->first_mpd && back > hass_round_front (round);
  if (device != s->crew.cpu && !s->crew.members[device].failed
      && (spd || hass_round_exclusive (round, device) > 0))
    grant->units = MAX (s->crew.env->devices[device].cores, 1);
  return HASS_TAKE;
}

const HassStrategyOps hass_f = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-f",
  .summary = "parallel tasks to GPUs, longest first; simple ones to cores",
  .source = "Zhang 2011, 3.6.3",
  .farms = HASS_FARM_FUNCTION,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
};

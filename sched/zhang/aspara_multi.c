/* SPDX-License-Identifier: MIT */
/* aspara_multi.c: divides each round into instalments and gives each device a
   part of an instalment by its fitness, which is updated each time.

   ASPARA, multi-round scheduling, as Zhang 2011, 2.2 describes it (after
   Gonzalez-Velez and Cole 2010), for machines whose speeds change: a device
   that has finished its part of an instalment gets the next, of size a * F with
   the current F. A decision is O(devices + log n).

   Loses by "too many kernel calls and too many message transfers, both of
   which have high start-up overheads" (Zhang 2011, 2.2), and by its first
   instalment, which is divided equally.

   Interpretation:
   - A round of the paper is an instalment here, `instalments` of them in a
     round of the farm; the paper does not give their number.
   - The paper does not say that processors wait for each other between
     instalments, as they do in the splitting of CAP 2013: here they do not.
   - "F is recomputed in every round": the speed of a device is that of its last
     bundle, work by busy time, so that F follows a machine that is not
     dedicated. It is kept over the rounds of the farm.
   - If the engine or the profile store has the rates of all devices, F begins
     with them. A device of unknown speed counts with the mean.
   - Instalments are counted for each device, so a fast device may be ahead. The
     last ones are the remaining units, in the order in which devices ask.

   Thread safety: as hass/strategy.h. */
#include "common.h"

enum
{
  INSTALMENTS
};

static const HassParameter parameters[] = {
  { "instalments", 8, 1, 1024, "of a round" },
  { .name = NULL },
};

typedef struct
{
  HassCrew crew;
  /* [n]: work per busy ns of each device's last bundle; 0: none yet */
  double *speeds;
  /* What the CPU pool had finished at its last completion in this round. */
  HassProgress cpu;
} Multi;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Multi *s = g_new0 (Multi, 1);
  (void)error;
  hass_crew_init (&s->crew, env);
  s->speeds = g_new0 (double, env->n_devices);
  hass_crew_told_rates (&s->crew, s->speeds);
  return s;
}

static void
begin_round (gpointer self, HassRound *round)
{
  Multi *s = self;
  hass_crew_begin_round (self, round);
  s->cpu = (HassProgress){ 0 };
}

/* Returns: the fitness F of a device, its speed over the sum of the speeds of
   all devices that do not fail. A device of unknown speed counts with the mean
   of the known speeds; if no speed is known, all are equal. */
static double
fitness (const Multi *s, guint device)
{
  const HassCrew *crew = &s->crew;
  double known = 0;
  guint n_known = 0, working = 0;
  for (guint d = 0; d < crew->n; d++)
    if (!crew->members[d].failed)
      {
        working++;
        known += s->speeds[d];
        n_known += s->speeds[d] > 0;
      }
  if (n_known == 0)
    return 1. / working;
  double mean = known / n_known;
  double sum = known + mean * (working - n_known);
  return (s->speeds[device] > 0 ? s->speeds[device] : mean) / sum;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  Multi *s = self;
  HassCrew *crew = self;
  (void)force;
  if (!hass_crew_alone (crew)
      && hass_crew_exclusive (crew, round, device, grant))
    return HASS_TAKE;
  grant->units = 0;
  if (!hass_crew_leftovers (crew, round, device, FALSE, grant))
    return HASS_DONE;
  if (hass_crew_alone (crew) || crew->members[device].failed)
    return HASS_TAKE;
  double part = fitness (s, device) / crew->env->parameters[INSTALMENTS];
  double work = part * hass_round_total_work (round);
  guint64 first = hass_round_front (round);
  guint64 n = hass_round_back (round) - first;
  grant->units = MAX (hass_units_for_work (round, first, n, work), 1);
  grant->chunk = 0;
  if (device != crew->cpu)
    {
      /* The number of units was computed for the front of the range. A GPU
         takes from the back, where units may cost more or less, so its grant
         is limited by work, not by number. */
      grant->units = 0;
      grant->work = work;
    }
  return HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Multi *s = self;
  const HassMember *m = &s->crew.members[done->device];
  double work = done->work;
  double ns = done->end_ns - MAX (done->grant_ns, m->end_ns);
  hass_crew_observe (self, round, done);
  if (done->failed)
    return;
  if (done->device == s->crew.cpu)
    {
      HassProgress now = hass_round_progress (round, done->device);
      work = now.work - s->cpu.work;
      ns = now.busy_ns - s->cpu.busy_ns;
      s->cpu = now;
    }
  if (work > 0 && ns > 0)
    s->speeds[done->device] = work / ns;
}

static void
destroy (gpointer self)
{
  Multi *s = self;
  g_free (s->speeds);
  hass_crew_destroy (self);
}

const HassStrategyOps hass_aspara_multi = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "aspara-multi",
  .summary = "instalments of each round by a fitness that follows the speeds",
  .source = "Zhang 2011, 2.2 (ASPARA)",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = observe,
  .destroy = destroy,
};

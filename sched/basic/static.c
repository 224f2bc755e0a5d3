/* SPDX-License-Identifier: MIT */
/* static.c: each device gets a fixed part of every round, as one bundle, and
   nobody steals.

   Static partitioning, the yardstick of the papers: what Qilin (Luk, Hong and
   Kim 2009) comes to after its training, and what Zhang 2011, figure 31,
   compares HASS_p with. Here the parts are given, so whoever wants the best
   has to search for it. A round costs O(devices * log n), a decision
   O(devices); nothing is measured or learned.

   Loses to every strategy that adapts when the parts are not those of this
   machine, farm and load; when costs lie unevenly in a round of unknown
   costs; and when a device is slower today.

   How it divides:
   - `cpu` is the part of the CPU pool, `gpu0` to `gpu7` are those of GPUs. A
     GPU without one (-1) has an equal part of what is left. Parts of devices
     that are not there are ignored and the others keep their proportions;
     parts that add up to more than 1 are refused.
   - Parts are of the work that the cost class shows. The round stays in its
     order and is cut where the sum of work comes nearest to the parts, so
     each device is right to a unit.
   - Failures change nothing in the division. What a device gave back is
     everybody's, and so is the share of one whose last bundle failed, or
     that never took its share because it was lost.

   Thread safety: as hass/strategy.h. */
#include "common.h"

#include "hass/error.h"

enum
{
  CPU,
  FIRST_GPU,
  MOST_GPUS = 8
};

#define GPU_PART(name)                                                         \
  {                                                                            \
    name, -1, -1, 1, "part of this GPU; -1: an equal part of the rest"         \
  }

static const HassParameter parameters[] = {
  { "cpu", 0.5, 0, 1, "part of the CPU pool" },
  GPU_PART ("gpu0"),
  GPU_PART ("gpu1"),
  GPU_PART ("gpu2"),
  GPU_PART ("gpu3"),
  GPU_PART ("gpu4"),
  GPU_PART ("gpu5"),
  GPU_PART ("gpu6"),
  GPU_PART ("gpu7"),
  { .name = NULL },
};

typedef struct
{
  HassCrew crew;
  double *parts; /* [n] */
} Static;

static void
destroy (gpointer self)
{
  Static *s = self;
  g_free (s->parts);
  hass_crew_destroy (self);
}

/* Of those that are there: the given part, or -1. */
static double
given_part (const HassCrew *crew, guint device, guint gpu)
{
  if (device == crew->cpu)
    return crew->env->parameters[CPU];
  return gpu < MOST_GPUS ? crew->env->parameters[FIRST_GPU + gpu] : -1;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Static *s = g_new0 (Static, 1);
  HassCrew *crew = &s->crew;
  double sum = 0;
  guint n_open = 0;
  hass_crew_init (crew, env);
  s->parts = g_new0 (double, MAX (crew->n, 1));
  for (guint d = 0, gpu = 0; d < crew->n; d++)
    {
      s->parts[d] = given_part (crew, d, gpu);
      sum += MAX (s->parts[d], 0);
      n_open += s->parts[d] < 0;
      gpu += d != crew->cpu;
    }
  if (sum > 1 + 1e-9)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "strategy static: the parts of the devices add up to %g, "
                   "more than 1",
                   sum);
      destroy (s);
      return NULL;
    }
  for (guint d = 0; d < crew->n; d++)
    if (s->parts[d] < 0)
      s->parts[d] = MAX (1 - sum, 0) / n_open;
  return s;
}

static void
begin_round (gpointer self, HassRound *round)
{
  Static *s = self;
  hass_crew_begin_round (self, round);
  if (!hass_crew_alone (self))
    hass_crew_carve_work (self, round, G_MAXDOUBLE, s->parts, FALSE);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassCrew *crew = self;
  (void)force;
  if (hass_crew_own (crew, round, device, 0, grant))
    {
      grant->chunk = 0; /* nobody steals: the cores divide it as suits them */
      return HASS_TAKE;
    }
  return hass_crew_leftovers (crew, round, device, TRUE, grant) ? HASS_TAKE
                                                                : HASS_DONE;
}

/* Who left its share to others is lost, or as good as that. */
static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  HassCrew *crew = self;
  for (guint d = 0; d < crew->n; d++)
    if (crew->counts[d] > 0 && summary->devices[d].units == 0)
      crew->members[d].failed = TRUE;
}

const HassStrategyOps hass_static = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "static",
  .summary = "a given part for each device, one bundle a round, no stealing",
  .source = "Zhang 2011, chapter 4; Luk 2009 (Qilin)",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .end_round = end_round,
  .destroy = destroy,
};

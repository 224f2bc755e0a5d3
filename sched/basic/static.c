/* SPDX-License-Identifier: MIT */
/* static.c: each device gets a fixed part of every round, as one bundle,
   without stealing.

   Static partitioning, the baseline of the papers: the division that Qilin
   (Luk, Hong and Kim 2009) reaches after training, with which Zhang 2011,
   figure 31, compares HASS_p. The parts are parameters, so the best division
   has to be searched for. A round costs O(devices * log n), a decision
   O(devices); nothing is measured.

   Loses to every strategy that adapts if the parts do not suit the machine,
   the farm and the load, if unknown costs lie unevenly in a round, or if the
   rate of a device changes.

   Division:
   - `cpu` is the part of the CPU pool, `gpu0` to `gpu7` are those of GPUs. A
     GPU with -1 gets an equal part of the remainder. Parts of absent devices
     are ignored and the others keep their proportions; parts whose sum exceeds
     1 are refused.
   - Parts are parts of the work, as the cost class shows it. The round keeps
     its order and is cut where the prefix sum of work is nearest to the parts,
     so each device is within one unit of its part.
   - Failures do not change the division. Any device takes what a device gave
     back, and the share of a device whose last bundle failed or that was lost
     before it took its share.

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
  /* [n]: part of a round's work that each device gets, from 0 to 1 */
  double *parts;
} Static;

static void
destroy (gpointer self)
{
  Static *s = self;
  g_free (s->parts);
  hass_crew_destroy (self);
}

/* Returns: the part of a round's work, 0 to 1, that the parameters give
   @device, which is number @gpu among the GPUs; -1 if the device is to get an
   equal part of what the given parts leave. */
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
                   "the parts of the devices add up to %g, "
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
      /* The engine chooses the chunks (units that a core pulls at a time): as
         no device steals from the share, their size does not matter here. */
      grant->chunk = 0;
      return HASS_TAKE;
    }
  return hass_crew_leftovers (crew, round, device, TRUE, grant) ? HASS_TAKE
                                                                : HASS_DONE;
}

/* Marks each device as failed that had a share in the round but computed no
   unit: it is lost, or all its bundles failed. Other devices may then take the
   units of its later shares. */
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

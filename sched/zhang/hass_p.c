/* SPDX-License-Identifier: MIT */
/* hass_p.c: HASS for large divisible loads: as HASS_ce on the blocks of a load
   until the division is even, then one block for each device.

   Zhang 2011, 3.4.2, Algorithm 4 and figure 22; its figure 31 compares it with
   Qilin. A round costs O(devices^2), a decision O(devices). With a frozen
   division a GPU gets one bundle a round and no device steals.

   Loses where loads are few, or where the cost lies unevenly in them: a
   frozen division is not corrected within a round.

   Interpretation:
   - The condition of the paper, "i is unchanged", also holds while a GPU is
     overloaded, because the CPU cannot steal back. Here the division freezes
     when all devices finish their shares within `tolerance` of the round's
     time of each other. What a GPU steals after its share does not count:
     stealing equalises the ends whatever the division is, or separates them by
     a launch.
   - The paper never unfreezes. Here the division unfreezes after a round whose
     ends differ by more than `drift`, which also discards the rates, or in
     which a grant failed.
   - The time of one unit on a core is added to both limits, since blocks are
     not cut finer.
   - The block size e, the cores of the widest GPU, is chosen by the partition
     farm.
   - Rates as in hass_ce.c; frozen shares keep their proportions.

   Thread safety: as hass/strategy.h. */
#include "common.h"

#include <string.h>

enum
{
  TOLERANCE,
  DRIFT
};

static const HassParameter parameters[] = {
  { "tolerance", 0.02, 0, 0.5,
    "freeze when shares finish within this part of a round" },
  { "drift", 0.05, 0, 1, "unfreeze when they lie further apart" },
  { .name = NULL },
};

typedef struct
{
  HassCrew crew;
  gboolean frozen;
  /* This round was carved (divided into shares) by measured rates. */
  gboolean planned;
  gboolean failed; /* a grant of this round failed */
  /* [n]: weights of the devices when the division was frozen */
  double *division;
} HassP;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassP *s = g_new0 (HassP, 1);
  (void)error;
  hass_crew_init (&s->crew, env);
  s->division = g_new0 (double, env->n_devices);
  return s;
}

static void
begin_round (gpointer self, HassRound *round)
{
  HassP *s = self;
  hass_crew_begin_round (self, round);
  s->failed = FALSE;
  s->planned = hass_crew_known (&s->crew);
  if (s->planned)
    hass_crew_carve (&s->crew, round,
                     s->frozen ? s->division : hass_crew_weights (&s->crew));
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassP *s = self;
  HassAnswer answer;
  if (!s->crew.mapped)
    {
      if (hass_crew_probe (&s->crew, round, device, force, grant, &answer))
        return answer;
      hass_crew_map (&s->crew, round);
    }
  if (hass_crew_own (&s->crew, round, device, 0, grant))
    {
      /* The division is frozen and no device steals, so the engine may choose
         how many units a core pulls at a time. */
      if (s->frozen)
        grant->chunk = 0;
      return HASS_TAKE;
    }
  if (hass_crew_leftovers (&s->crew, round, device, TRUE, grant)
      || (!s->frozen && hass_crew_steal (&s->crew, round, device, 1, grant)))
    return HASS_TAKE;
  return HASS_DONE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  HassP *s = self;
  s->failed |= done->failed;
  hass_crew_observe (self, round, done);
}

/* Returns: the time in ns between the first and the last device's end of its
   own share in the round. The time after a device's share, in which it
   computed units of other shares, is subtracted from its end. */
static double
spread_ns (const HassP *s, const HassRoundSummary *summary)
{
  double first = G_MAXDOUBLE, last = 0;
  for (guint d = 0; d < summary->n_devices; d++)
    if (summary->devices[d].units > 0)
      {
        const HassMember *m = &s->crew.members[d];
        double finish = summary->devices[d].last_finish_ns;
        if (m->share_end_ns > 0)
          finish -= m->end_ns - m->share_end_ns;
        first = MIN (first, finish);
        last = MAX (last, finish);
      }
  return MAX (last - first, 0);
}

/* Returns: the mean time of a unit on a core in the round, in ns; 0 if the
   cores computed none. */
static double
unit_ns (const HassP *s, const HassRoundSummary *summary)
{
  if (s->crew.cpu >= s->crew.n)
    return 0;
  const HassDeviceSummary *cpu = &summary->devices[s->crew.cpu];
  guint cores = MAX (s->crew.env->devices[s->crew.cpu].cores, 1);
  return cpu->units > 0 ? cpu->busy_ns * cores / cpu->units : 0;
}

/* Returns: whether the shares fitted the devices: the devices' ends lie no
   further apart than @part of the round's makespan and one unit on a core, by
   which the cores' end is uncertain anyway. */
static gboolean
even (const HassP *s, const HassRoundSummary *summary, double part)
{
  return spread_ns (s, summary)
         <= part * summary->makespan_ns + unit_ns (s, summary);
}

/* Returns: whether every device whose weight is above 0 got a share in this
   round. If one did not, the round does not show whether the division is
   even. */
static gboolean
all_shared (HassP *s)
{
  const double *weights = hass_crew_weights (&s->crew);
  for (guint d = 0; d < s->crew.n; d++)
    if (weights[d] > 0 && s->crew.counts[d] == 0)
      return FALSE;
  return TRUE;
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  HassP *s = self;
  const double *parameter = s->crew.env->parameters;
  if (s->frozen && !even (s, summary, parameter[DRIFT]))
    {
      s->frozen = FALSE;
      hass_crew_forget (&s->crew);
    }
  s->frozen = s->frozen && !s->failed;
  hass_crew_learn (&s->crew, summary, TRUE);
  if (!s->frozen && !s->failed && s->planned && all_shared (s)
      && even (s, summary, parameter[TOLERANCE]))
    {
      s->frozen = TRUE;
      memcpy (s->division, hass_crew_weights (&s->crew),
              s->crew.n * sizeof *s->division);
    }
}

static void
destroy (gpointer self)
{
  HassP *s = self;
  g_free (s->division);
  hass_crew_destroy (self);
}

const HassStrategyOps hass_p = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-p",
  .summary = "learned shares of a large load, frozen once they are even",
  .source = "Zhang 2011, 3.4.2, Algorithm 4",
  .farms = HASS_FARM_PARTITION,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = observe,
  .end_round = end_round,
  .destroy = destroy,
};

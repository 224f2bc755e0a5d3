/* SPDX-License-Identifier: MIT */
/* ends.c: see ends-private.h.
   Thread safety: as hass/strategy.h. */
#include "ends-private.h"

/* A core so many times as fast as a multiprocessor gets the largest loads. A
   guess. */
#define FASTER_CORE 1.05
/* The first round of a trial, before which too little is known, and rounds
   between trials: more of them cost more where nothing is gained. Guesses. */
#define FIRST_TRIAL 3
#define TRIAL_GAP 32
/* The other way is better from such a part of the time on; less is noise. */
#define BETTER 0.985
/* Rounds of one way after which the other one may be taken without a trial. */
#define ENOUGH 3
/* A trial whose first round takes so many times as long ends. A guess. */
#define TOO_SLOW 1.08
/* Decay of the mean with each round of the same way; a guess. */
#define MEMORY 0.7

void
hass_auto_ends_init (HassAutoEnds *e, HassAutoKnown *k, HassAutoGuard *g)
{
  *e = (HassAutoEnds){ .k = k, .g = g };
  e->views = g_malloc0_n (MAX (k->u.n, 1), sizeof *e->views);
}

void
hass_auto_ends_clear (HassAutoEnds *e)
{
  g_free (e->views);
}

/* Where a load takes longer on a multiprocessor than on a core, the largest
   load would delay the round there: then GPUs take the shortest. Until rates
   are known they are taken to be so. */
static gboolean
shortest_to_gpus (const HassAutoKnown *k, const HassRound *round)
{
  guint cpu = k->u.cpu;
  const HassDeviceTraits *t = k->u.devices;
  double rate = 0;
  if (cpu == k->u.n || k->e.of[cpu].shown.busy_ns <= 0)
    return cpu < k->u.n;
  double core_rate
      = k->e.of[cpu].shown.work / k->e.of[cpu].shown.busy_ns / k->u.cores;
  for (guint d = 0; d < k->u.n; d++)
    {
      const HassFit *fit = hass_estimates_fit (&k->e, round, d, TRUE);
      if (d != cpu && fit->seen > 0)
        rate = MAX (rate, 1 / fit->ns_per_work / MAX (t[d].cores, 1));
    }
  return rate * FASTER_CORE < core_rate;
}

static gboolean
may_differ (const HassUnits *u)
{
  return u->env->cost != HASS_COST_EQUAL && u->env->farm != HASS_FARM_FUNCTION
         && u->cpu < u->n && u->n > 1;
}

/* The estimates become those of the present end, or, if there are none, stay
   those of the other one. */
static void
change_ends (HassAutoEnds *e)
{
  for (guint d = 0; d < e->k->u.n; d++)
    {
      HassEstimateView *shown = &e->k->e.of[d].shown;
      const HassAutoEndView *there = &e->views[d][e->k->u.reversed];
      e->views[d][!e->k->u.reversed] = (HassAutoEndView){ *shown, TRUE };
      if (there->valid)
        *shown = there->view;
    }
}

void
hass_auto_ends_begin (HassAutoEnds *e, const HassRound *round)
{
  HassUnits *u = &e->k->u;
  if (u->listed)
    {
      u->reversed = shortest_to_gpus (e->k, round);
      /* Positions will mean something else in a round that is not sorted. */
      for (guint d = 0; d < u->n; d++)
        e->views[d][0].valid = e->views[d][1].valid = FALSE;
    }
  if (u->listed || !may_differ (u))
    return;
  gboolean before = u->reversed;
  guint64 number = hass_round_number (round);
  e->trying = e->g->chosen && e->g->arm == u->n && e->g->used == u->n
              && number >= FIRST_TRIAL && number >= e->again_at;
  u->reversed = e->best != e->trying;
  if (u->reversed != before)
    change_ends (e);
  if (e->trying)
    HASS_NOTE (u->env, "GPUs take from the %s, to see whether that is faster",
               u->reversed ? "front" : "back");
}

static void
add_round (HassAutoEnd *end, double ns_per_work)
{
  end->ns_per_work = end->rounds == 0 ? ns_per_work
                                      : MEMORY * end->ns_per_work
                                            + (1 - MEMORY) * ns_per_work;
  end->rounds++;
}

/* The first round of a trial is planned with what was measured at the other
   end; the second one counts. */
static void
end_trial (HassAutoEnds *e, guint64 number, double ns_per_work)
{
  gboolean reversed = e->k->u.reversed;
  double times = ns_per_work / e->ends[!reversed].ns_per_work;
  HASS_NOTE (e->k->u.env, "GPUs from the %s: %.3g times as long",
             reversed ? "front" : "back", times);
  e->tried++;
  if (e->tried == 1 && times < TOO_SLOW)
    return;
  if (times < BETTER)
    e->best = reversed;
  e->ends[reversed] = (HassAutoEnd){ ns_per_work, 1 };
  e->tried = 0;
  e->again_at = number + TRIAL_GAP;
}

/* A round of a trial says nothing about the devices' usual ways, and a round in
   which they were measured alone nothing about ends. */
void
hass_auto_ends_end (HassAutoEnds *e, const HassRoundSummary *summary,
                    gboolean idle)
{
  const HassUnits *u = &e->k->u;
  HassAutoGuard *g = e->g;
  if (u->listed || !may_differ (u) || !g->chosen || g->arm != u->n || idle
      || !g->together || summary->units == 0 || summary->number == 0)
    return;
  double ns_per_work = summary->makespan_ns / g->round_work;
  HassAutoEnd *end = &e->ends[u->reversed], *other = &e->ends[!u->reversed];
  if (e->trying)
    {
      g->chosen = FALSE;
      end_trial (e, summary->number, ns_per_work);
      return;
    }
  add_round (end, ns_per_work);
  if (end->rounds > ENOUGH && other->rounds > 0
      && other->ns_per_work < BETTER * end->ns_per_work)
    e->best = !u->reversed;
}

/* SPDX-License-Identifier: MIT */
/* ends.c: see ends-private.h.
   Thread safety: as hass/strategy.h. */
#include "ends-private.h"

/* Number of the first round in which GPUs may be tried at the other end of the
   range of units; before, too little is known of the devices. A guess: more
   gains later, less compares the ends by rates that are still wrong. */
#define FIRST_TRIAL 3
/* Number of rounds between two trials of the other end. A guess: fewer rounds
   cost more where nothing is gained, more notice a change later. */
#define TRIAL_GAP 32
/* The other end is taken if the time per work from there is less than BETTER
   times that of the present end; a smaller gain is noise. A guess. */
#define BETTER 0.985
/* After more than this number of rounds from one end, the GPUs may change to
   the other end by its remembered mean time, without a trial. A guess: less
   changes the end by noise. */
#define ENOUGH 3
/* A trial of the other end is over after one round if that takes TOO_SLOW times
   as long as rounds from the usual end; else a second round decides. A guess:
   more costs slow second rounds. */
#define TOO_SLOW 1.08
/* Weight of the old mean of time per work when a further round, in which GPUs
   took from the same end, is added; the new round weighs 1 - MEMORY. A guess:
   more follows a change later, less follows noise. */
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

/* Returns TRUE if it may matter from which end of the range the GPUs take:
   costs may drift along the range, and a CPU pool takes from the other end. */
static gboolean
may_differ (const HassUnits *u)
{
  return u->env->cost != HASS_COST_EQUAL && u->env->farm != HASS_FARM_FUNCTION
         && u->cpu < u->n && u->n > 1;
}

/* Called when GPUs change to the other end of the range: keeps what each device
   has shown at the former end, and restores what it showed at this end before.
   Without the latter the estimates stay as they are. */
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
      hass_auto_sorted_begin (e->k, round);
      /* What is remembered of each end is dropped: in a round that is not
         sorted the same position holds another load. */
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

/* Takes in a round in which GPUs were tried at the other end, and ends the
   trial unless a second round is worth it. The first round is planned with what
   devices showed at the former end, so a second one decides. */
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

/* Takes the time of a finished round in as a measure of the end from which GPUs
   took, and changes to the other end if that was faster. Ignored are rounds of
   other sets of devices than all, and rounds in which devices were idle while
   one was measured alone. A round that tried the other end is not counted by
   the guard (g->chosen = FALSE), which compares sets of devices by rounds from
   the usual end. */
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

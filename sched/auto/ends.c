/* SPDX-License-Identifier: MIT */
/* auto_ends.c: from which end of a round GPUs take; step 8 of auto.c.

   DESIGN. The CPU pool takes from one end, the GPUs from the other.
   1. Loads of known sizes, one to a multiprocessor: who takes the largest is
      known from rates.
   2. Else what lies where may suit the one better than the other: costs drift
      along the range, and those of a GPU not as those of a core. No device
      tells that by itself. So once the devices are known a round is done the
      other way round, and a second one unless that was much slower, since the
      first was planned with what was seen at the other end; then the faster way
      is kept, and doubted again later. What that costs where nothing is gained
      is a part of one round in thirty; equal costs have nothing to gain.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#define FASTER_CORE 1.05 /* times as fast as a multiprocessor */
#define FIRST_TRIAL 3    /* round; before it too little is known */
#define TRIAL_GAP 32     /* rounds */
#define BETTER 0.985     /* of the time of the other way */
#define ENOUGH 3         /* rounds of one way, to leave it untried */
#define HOPELESS 1.08    /* times as long, in the first round of a trial */
#define MEMORY 0.7       /* of rounds of the same way */

/* Where one load runs slower on a multiprocessor than on a core, the largest
   would hold up the round there: then GPUs take the shortest. That is believed
   until it is known. */
static gboolean
shortest_to_gpus (const HassAuto *s, const HassRound *round)
{
  double core_rate = 0, rate = 0;
  if (s->cpu == s->n || s->members[s->cpu].shown.busy_ns <= 0)
    return s->cpu < s->n;
  core_rate = s->members[s->cpu].shown.work / s->members[s->cpu].shown.busy_ns
              / MAX (s->env->devices[s->cpu].cores, 1);
  for (guint d = 0; d < s->n; d++)
    {
      const HassFit *fit = hass_auto_fit_of (s, round, d, TRUE);
      if (d != s->cpu && fit->seen > 0)
        rate = MAX (rate,
                    1 / fit->ns_per_work / MAX (s->env->devices[d].cores, 1));
    }
  return rate * FASTER_CORE < core_rate;
}

static gboolean
may_differ (const HassAuto *s)
{
  return s->env->cost != HASS_COST_EQUAL && s->env->farm != HASS_FARM_FUNCTION
         && s->cpu < s->n && s->n > 1;
}

/* What the devices are known to do, when they take from the end that they
   take from now: what they showed there before, or else at the other end. */
static void
change_ends (HassAuto *s)
{
  for (guint d = 0; d < s->n; d++)
    {
      HassAutoMember *m = &s->members[d];
      HassAutoView *there = &m->views[s->reversed];
      m->views[!s->reversed] = m->shown;
      m->views[!s->reversed].valid = TRUE;
      if (there->valid)
        m->shown = *there;
    }
}

void
hass_auto_ends_begin (HassAuto *s, const HassRound *round)
{
  if (s->listed)
    {
      s->reversed = shortest_to_gpus (s, round);
      /* What lies where will not be the same in a round that is not sorted. */
      for (guint d = 0; d < s->n; d++)
        s->members[d].views[0].valid = s->members[d].views[1].valid = FALSE;
    }
  if (s->listed || !may_differ (s))
    return;
  gboolean before = s->reversed;
  guint64 number = hass_round_number (round);
  s->trying_end = s->chosen && s->arm == s->n && s->used == s->n
                  && number >= FIRST_TRIAL && number >= s->try_end_at;
  s->reversed = s->best_end != s->trying_end;
  if (s->reversed != before)
    change_ends (s);
  if (s->trying_end)
    HASS_AUTO_NOTE (s, "GPUs take from the %s, to see whether that is faster",
                    s->reversed ? "front" : "back");
}

static void
add_round (HassAutoEnd *end, double ns_per_work)
{
  end->ns_per_work = end->rounds == 0 ? ns_per_work
                                      : MEMORY * end->ns_per_work
                                            + (1 - MEMORY) * ns_per_work;
  end->rounds++;
}

/* The first round of a trial is planned with what was seen at the other end;
   the second one tells. */
static void
end_trial (HassAuto *s, guint64 number, double ns_per_work)
{
  HassAutoEnd *end = &s->ends[s->reversed], *other = &s->ends[!s->reversed];
  double times = ns_per_work / other->ns_per_work;
  HASS_AUTO_NOTE (s, "GPUs from the %s: %.3g times as long",
                  s->reversed ? "front" : "back", times);
  s->tried++;
  if (s->tried == 1 && times < HOPELESS)
    return;
  if (times < BETTER)
    s->best_end = s->reversed;
  *end = (HassAutoEnd){ ns_per_work, 1 };
  s->tried = 0;
  s->try_end_at = number + TRIAL_GAP;
}

/* A round of a trial says nothing of the devices' usual ways, and one in which
   they were measured alone nothing of ends. */
void
hass_auto_ends_end (HassAuto *s, const HassRoundSummary *summary)
{
  if (s->listed || !may_differ (s) || !s->chosen || s->arm != s->n || s->probed
      || !s->together || summary->units == 0 || summary->number == 0)
    return;
  double ns_per_work = summary->makespan_ns / s->round_work;
  HassAutoEnd *end = &s->ends[s->reversed], *other = &s->ends[!s->reversed];
  if (s->trying_end)
    {
      s->chosen = FALSE;
      end_trial (s, summary->number, ns_per_work);
      return;
    }
  add_round (end, ns_per_work);
  if (end->rounds > ENOUGH && other->rounds > 0
      && other->ns_per_work < BETTER * end->ns_per_work)
    s->best_end = !s->reversed;
}

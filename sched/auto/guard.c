/* SPDX-License-Identifier: MIT */
/* auto_guard.c: whether all devices together are faster than one of them
   alone; step 6 of auto.c.

   DESIGN. An arm is a set of devices that may compute a round: each one
   alone, all, and all but the CPU pool.
   1. How long a round would take under an arm is what the plan says times
      the arm's factor: how many times as long as its plan its last rounds
      took. The plan is made in hindsight, so that the factor holds what plans
      do not know, and not that a device has become slower.
   2. Devices may slow each other down, which no plan shows. When all are
      measured, once, and rarely later, each device that does much of the work
      gets a bundle while the others are idle. If it is faster then, it is so
      much faster alone, and its arm's factor falls. Who does less than a third
      would win alone only if the others slowed it down more than threefold, and
      costs them the time of its bundle to find out. A GPU's kernels run on
      the GPU, where nobody else is: where they alone would take as long as all
      together take, it is not measured, as it could hardly be faster.
      The first round that all do together is planned from one round, in which
      they were still new, and is no measure of how well they do.
   3. A round begins under the arm that would take least. An arm that was only
      thought to be fast is soon known, because its factor is measured as soon
      as it is used; so what is used in the long run is the fastest of what
      was measured. All together are tried again in longer and longer
      intervals, in rounds in which nothing else is tried. When one alone takes
      much longer than it should, all take part in the rest of the round. Before
      one is left to do all alone, those whose launch has hidden so far how
      fast they are get larger bundles in some rounds of all.
      One round of all that takes much longer than ever does not count, as a
      device may have changed in its middle; a second one in a row does.
   4. What devices show under another arm must not change what is believed of
      the arm before, as devices that slow each other down are faster alone:
      when the arm has changed, factors are set so that estimates stay.

   A round costs O(devices^2), no decision in it costs more than before.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>
#include <string.h>

#define GAIN 0.99         /* for less nobody changes the arm */
#define WEAK_PART 0.03    /* such a CPU may cost more than it does */
#define WEAK_FACTOR 0.965 /* so that it is tried without it, once */
#define LITTLE_OVER 1.1   /* times the plan */
#define PROBE_PART 0.01   /* of the round's time */
#define MOST_PROBE_PART 0.3
#define PROBE_COST 0.08  /* of the time that has passed */
#define TRIED_PART 0.75  /* belief that makes an arm tried */
#define DOUBTED_PART 1.4 /* that makes it tried if it seems far faster */
#define PROBE_ROUNDS 64
#define PROBE_SHARE (1 / 3.) /* of the rates; who does less is not probed */
#define FIRST_RETRY 16       /* rounds */
#define LAST_RETRY 256
#define AVERAGED_PART 0.02 /* of the round's work */
#define MUCH_LONGER 1.5
#define MOST_HIDDEN 8    /* rounds */
#define HIDDEN_PART 0.95 /* of the round's time */
#define HIDDEN_COST 1.25 /* times the round's time, to find out */

/* -- 1. Arms ------------------------------------------------------------ */

gboolean
hass_auto_takes_part (const HassAuto *s, guint device)
{
  guint arm = s->arm;
  return arm == s->n || arm == device || (arm == s->n + 1 && device != s->cpu);
}

static guint
n_arms (const HassAuto *s)
{
  return s->cpu < s->n && s->n > 2 ? s->n + 2 : s->n + 1;
}

/* The arm under which so much work would be planned to take so long. */
static double
planned_ns (HassAuto *s, guint arm, double work)
{
  guint before = s->arm;
  s->arm = arm;
  double ns = hass_auto_whole_ns (s, work);
  s->arm = before;
  return ns;
}

static double
estimate_ns (HassAuto *s, guint arm, double work)
{
  const HassAutoArm *a = &s->arms[arm];
  double over = a->factor - 1;
  /* What a round takes longer than planned hardly grows with it. */
  if (over > 0 && a->work > 0)
    over *= MIN (1, a->work / work);
  return (1 + over) * planned_ns (s, arm, work);
}

static const char *
name_of (const HassAuto *s, guint arm)
{
  return arm < s->n    ? s->env->devices[arm].name
         : arm == s->n ? "all"
                       : "all but the CPU";
}

/* -- 3. Choosing -------------------------------------------------------- */

static gboolean
may_choose (const HassAuto *s, const HassRound *round)
{
  if (!hass_auto_all_measured (s, round))
    return FALSE;
  for (guint d = 0; d < s->n; d++)
    if (hass_round_exclusive (round, d) > 0)
      return FALSE;
  return TRUE;
}

/* A CPU pool that does but a trifle may hold the others up by more. Where
   nobody has seen that, it is found out. */
static void
doubt_weak_cpu (HassAuto *s)
{
  guint without = s->n > 2 ? s->n + 1 : 1 - s->cpu;
  double sum = 0;
  if (s->cpu == s->n || s->arms[without].rounds > 0 || s->arms[s->n].rounds < 2)
    return;
  for (guint d = 0; d < s->n; d++)
    sum += s->plan[d].rate;
  if (s->plan[s->cpu].rate < WEAK_PART * sum)
    s->arms[without].factor
        = MIN (s->arms[without].factor, WEAK_FACTOR * s->arms[s->n].factor);
}

/* A little that plans leave out of all devices they leave out without the CPU
   too; if it is much, that may be the CPU's. */
static void
doubt_others (HassAuto *s)
{
  const HassAutoArm *all = &s->arms[s->n];
  HassAutoArm *without = &s->arms[s->n + 1];
  if (s->cpu < s->n && s->n > 2 && without->rounds == 0 && all->rounds > 0)
    without->factor = MAX (without->factor, MIN (all->factor, LITTLE_OVER));
}

/* A GPU that was given so little that its latency hid what the work took may
   alone be faster than any arm. Larger bundles tell, and it gets them where all
   take part. */
static gboolean
hides_the_fastest (HassAuto *s, guint best, double best_ns)
{
  if (best > s->n || s->arms[s->n].ns > HIDDEN_COST * best_ns)
    return FALSE; /* all GPUs take part; or it costs too much */
  for (guint d = 0; d < s->n; d++)
    {
      const HassFit *fit = hass_auto_fit_of (s, NULL, d, TRUE);
      if (d == s->cpu || d == best || hass_auto_out (s, d)
          || s->members[d].hidden_rounds == MOST_HIDDEN
          || !hass_fit_hides (fit, s->members[d].largest)
          || s->members[d].copy_ns + fit->fixed_ns > HIDDEN_PART * best_ns)
        continue;
      s->members[d].hidden_rounds++;
      s->hiding = d;
      HASS_AUTO_NOTE (s, "%s may be faster than it could show: all",
                      s->env->devices[d].name);
      return TRUE;
    }
  return FALSE;
}

static guint
choose (HassAuto *s, const HassRound *round, double work)
{
  guint best = s->used;
  guint64 number = hass_round_number (round);
  double best_ns = INFINITY;
  planned_ns (s, s->n, work);
  doubt_others (s);
  doubt_weak_cpu (s);
  for (guint arm = 0; arm < n_arms (s); arm++)
    s->arms[arm].ns = estimate_ns (s, arm, work);
  for (guint arm = 0; arm < n_arms (s); arm++)
    {
      double ns = s->arms[arm].ns * (arm == s->used ? GAIN : 1);
      if (ns < best_ns)
        {
          best = arm;
          best_ns = ns;
        }
    }
  if (best != s->n && s->used != s->n && number >= s->retry_at)
    {
      s->retry_gap = CLAMP (2 * s->retry_gap, FIRST_RETRY, LAST_RETRY);
      s->retry_at = number + s->retry_gap;
      return s->n;
    }
  return best != s->n && hides_the_fastest (s, best, best_ns) ? s->n : best;
}

void
hass_auto_guard_begin (HassAuto *s, const HassRound *round)
{
  double work = hass_round_total_work (round);
  guint64 number = hass_round_number (round);
  s->arm = s->n;
  s->chosen = may_choose (s, round);
  s->round_work = work;
  s->solo = s->n;
  s->hiding = G_MAXUINT;
  s->probing = FALSE;
  if (!s->chosen)
    {
      HASS_AUTO_NOTE (s,
                      "round %" G_GUINT64_FORMAT
                      ": all, because not all of them are measured",
                      number);
      return;
    }
  s->arm = choose (s, round, work);
  s->planned_ns = s->arms[s->arm].ns;
  if (s->arm != s->n && s->used == s->n)
    {
      s->retry_gap = s->retry_gap > 0 ? s->retry_gap : FIRST_RETRY;
      s->retry_at = number + s->retry_gap;
    }
  s->probing = s->arm == s->n && s->used == s->n && number >= s->probe_at
               && s->env->farm != HASS_FARM_FUNCTION;
  s->probed = s->probe_later = FALSE;
  if (G_LIKELY (!s->env->note))
    return;
  HASS_AUTO_NOTE (s, "round %" G_GUINT64_FORMAT ": %s, expected %.4g ms",
                  number, name_of (s, s->arm), s->planned_ns * 1e-6);
  for (guint arm = 0; arm < n_arms (s); arm++)
    HASS_AUTO_NOTE (s, "  %s would take %.4g ms, %s %.3g times the plan",
                    name_of (s, arm), s->arms[arm].ns * 1e-6,
                    s->arms[arm].rounds > 0 ? "measured" : "believed",
                    s->arms[arm].factor);
}

/* A failure, or one alone is much slower than it was: all take part, and the
   round is no measure. */
void
hass_auto_guard_watch (HassAuto *s)
{
  for (guint d = 0; d < s->n && s->arm == s->n; d++)
    s->chosen = s->chosen && !s->members[d].failed;
  if (!s->chosen || s->arm == s->n)
    return;
  double past_ns = s->now_ns - s->begin_ns;
  /* What is believed may be more than what is known. */
  double ns = s->planned_ns / MIN (s->arms[s->arm].factor, 1);
  gboolean failed = s->arm < s->n && s->members[s->arm].failed;
  if (!failed && past_ns < MUCH_LONGER * ns)
    return;
  HASS_AUTO_NOTE (s, "%s %s: now all", name_of (s, s->arm),
                  failed ? "failed" : "takes much longer than expected");
  if (!failed)
    {
      s->arms[s->arm].factor = MUCH_LONGER * MAX (s->arms[s->arm].factor, 1);
      s->arms[s->arm].rounds++;
    }
  hass_auto_guard_give_up (s);
}

/* All take part in what is left of the round, which says nothing of the arm
   that it began under. */
void
hass_auto_guard_give_up (HassAuto *s)
{
  if (s->chosen)
    s->used = s->n;
  s->arm = s->n;
  s->chosen = FALSE;
}

/* Of a whole round on that GPU, as its kernels took of late; 0: unknown. */
static double
kernels_ns (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  return m->computed_work > 0
             ? m->computed_ns / m->computed_work * s->round_work
             : 0;
}

/* Devices that were measured alone in this round: what it would have taken
   them, over what is planned by what they do beside others. */
static void
believe_solo (HassAuto *s)
{
  for (guint d = 0; d < s->n; d++)
    {
      HassAutoMember *m = &s->members[d];
      double plan_ns = planned_ns (s, d, s->round_work);
      double ns
          = m->copy_ns + m->solo_fixed_ns + m->solo_ns_per_work * s->round_work;
      if (m->solo_ns_per_work > 0 && s->arms[d].rounds == 0
          && isfinite (plan_ns))
        s->arms[d].factor = MIN (ns / MAX (plan_ns, 1), 1);
      if (m->solo_ns_per_work > 0)
        s->arms[d].ns = s->arms[d].factor * plan_ns;
      m->solo_ns_per_work = 0;
    }
}

/* Costs that nobody knows differ along a round, so the last bundles say little
   of the next round; a whole round does, where the device did some of it. */
static void
average (HassAuto *s, guint device, const HassDeviceSummary *did)
{
  HassAutoMember *m = &s->members[device];
  if (s->env->cost != HASS_COST_UNKNOWN)
    return;
  if (device == s->cpu)
    {
      m->done_work = did->work;
      m->done_ns = did->busy_ns;
    }
  double rate = s->levels ? hass_auto_levels_rate (s->levels, device) : 0;
  if (rate > 0)
    m->shown.mean_rate = rate * s->unit_work;
  else if (m->done_ns > 0 && m->done_work > AVERAGED_PART * s->round_work)
    m->shown.mean_rate = m->done_work / m->done_ns;
}

void
hass_auto_guard_end (HassAuto *s, const HassRoundSummary *summary)
{
  for (guint d = 0; d < s->n; d++)
    if (!s->members[d].asked && !hass_auto_out (s, d)
        && hass_auto_takes_part (s, d))
      s->chosen = FALSE; /* it is not there, which says nothing of the arm */
  if (!s->chosen || summary->units == 0)
    return;
  HassAutoArm *arm = &s->arms[s->arm];
  for (guint d = 0; d < s->n; d++)
    average (s, d, &summary->devices[d]);
  believe_solo (s);
  gboolean first = s->arm == s->n && s->used == s->n && !s->together;
  s->together |= s->arm == s->n;
  if (s->probed || first)
    return; /* much of it was idle; it was planned from one round */
  double plan_ns = planned_ns (s, s->arm, s->round_work);
  double factor = CLAMP (summary->makespan_ns / MAX (plan_ns, 1), 0.5, 8);
  /* In the first of them its devices were not well known yet. One in which a
     device changed in its middle is divided wrongly, and takes much longer than
     the next one will. */
  gboolean outlier = s->arm == s->n && arm->rounds >= HASS_AUTO_SETTLING
                     && !arm->outlier && factor > MUCH_LONGER * arm->factor;
  if (arm->rounds == 0)
    arm->factor = factor;
  else if (arm->rounds < HASS_AUTO_SETTLING)
    arm->factor = MIN (arm->factor, factor);
  else if (!outlier)
    arm->factor = 0.5 * (arm->factor + factor);
  arm->outlier = outlier;
  arm->rounds++;
  arm->work = s->round_work;
  HASS_AUTO_NOTE (s,
                  "round %" G_GUINT64_FORMAT
                  " took %.4g ms, %.3g times the plan in hindsight",
                  summary->number, summary->makespan_ns * 1e-6, factor);
  s->streak = s->arm != s->used ? 0 : s->streak + 1;
  s->used = s->arm;
  /* 4. Those of all together may change with their devices, and so may that of
     a device for which all took part. */
  if (s->arm == s->n && s->streak >= HASS_AUTO_SETTLING)
    return;
  for (guint other = 0; other < n_arms (s); other++)
    {
      double ns = planned_ns (s, other, s->round_work);
      if (other != s->arm && other != s->hiding && isfinite (s->arms[other].ns)
          && isfinite (ns))
        s->arms[other].factor = s->arms[other].ns / MAX (ns, 1);
    }
}

/* -- 2. Each by itself --------------------------------------------------- */

gboolean
hass_auto_alike (const HassAuto *s, guint one, guint other)
{
  const HassDeviceTraits *a = &s->env->devices[one];
  const HassDeviceTraits *b = &s->env->devices[other];
  return a->kind == b->kind && a->cores == b->cores && a->width == b->width
         && a->latency_ns == b->latency_ns;
}

/* What it would be given then: little, but enough to tell. */
static double
solo_work (const HassAuto *s, const HassRound *round, guint device)
{
  const HassRunner *r = &s->plan[device];
  double work = PROBE_PART * s->planned_ns * r->rate;
  if (device == s->cpu)
    return MAX (work, s->unit_work * s->env->devices[device].cores);
  double fixed_ns = hass_auto_fit_of (s, round, device, TRUE)->fixed_ns;
  return MAX (MAX (work, hass_auto_fill_work (s, device)),
              MAX (fixed_ns * r->rate, s->unit_work));
}

/* A GPU's kernels alone would take longer than all devices together. */
static gboolean
kernels_forbid (HassAuto *s, guint device)
{
  double ns = kernels_ns (s, device);
  if (s->env->cost == HASS_COST_UNKNOWN || ns < s->arms[s->n].ns)
    return FALSE;
  s->probe_later = TRUE; /* if all turn out to take longer */
  HASS_AUTO_NOTE (s, "%s alone would need %.4g ms for kernels",
                  s->env->devices[device].name, ns * 1e-6);
  return TRUE;
}

/* Is it worth it, and does it cost little? One of devices that are alike
   stands for all. */
static gboolean
worth_probing (HassAuto *s, const HassRound *round, guint device)
{
  const HassRunner *r = &s->plan[device];
  double sum = 0;
  for (guint d = 0; d < s->n; d++)
    sum += s->plan[d].runs ? s->plan[d].rate : 0;
  for (guint d = 0; d < device; d++)
    if (hass_auto_alike (s, d, device))
      return FALSE;
  if (s->members[device].probe_at > hass_round_number (round))
    return FALSE;
  if (!r->runs || r->rate < PROBE_SHARE * sum || r->rate >= sum)
    return FALSE;
  if (kernels_forbid (s, device))
    return FALSE;
  double ns
      = solo_work (s, round, device) / r->rate + s->members[device].copy_ns;
  if (s->env->cost != HASS_COST_UNKNOWN && ns < MOST_PROBE_PART * s->planned_ns)
    {
      gboolean cheap = ns < PROBE_COST * s->spent_ns;
      s->probe_later |= !cheap;
      return cheap;
    }
  /* In rounds so short it is tried with a whole one, if it does most of the
     work. Where nobody knows costs it may have done the cheap ones. */
  HassAutoArm *arm = &s->arms[device];
  if (arm->rounds == 0)
    arm->factor = s->env->cost == HASS_COST_UNKNOWN
                      ? DOUBTED_PART
                      : MIN (arm->factor, TRIED_PART);
  return FALSE;
}

static void
begin_solo (HassAuto *s, const HassRound *round, guint device)
{
  HassAutoMember *m = &s->members[device];
  s->probed = TRUE;
  s->solo = device;
  m->probe_at = hass_round_number (round) + PROBE_ROUNDS;
  s->solo_work = solo_work (s, round, device);
  s->solo_given = s->solo_ns = 0;
  memcpy (s->solo_fits, m->shown.fits, sizeof m->shown.fits);
  s->solo_seen = hass_round_progress (round, device);
}

static void
end_solo (HassAuto *s, const HassRound *round, guint device)
{
  HassAutoMember *m = &s->members[device];
  double work = s->solo_given, ns = s->solo_ns;
  memcpy (m->shown.fits, s->solo_fits, sizeof s->solo_fits);
  m->solo_fixed_ns = 0;
  if (device == s->cpu)
    {
      HassProgress p = hass_round_progress (round, s->cpu);
      work = p.work - s->solo_seen.work;
      ns = p.busy_ns - s->solo_seen.busy_ns;
    }
  else
    m->solo_fixed_ns = MIN (s->env->devices[device].latency_ns, 0.9 * ns);
  if (!(work > 0) || !(ns > 0))
    return;
  m->solo_ns_per_work = (ns - m->solo_fixed_ns) / work;
  for (guint d = 0; d < s->n; d++)
    if (d != device && hass_auto_alike (s, d, device))
      {
        s->members[d].solo_fixed_ns = m->solo_fixed_ns;
        s->members[d].solo_ns_per_work = m->solo_ns_per_work;
      }
  HASS_AUTO_NOTE (s, "%s alone would do %.4g work per ns, plan: %.4g",
                  s->env->devices[device].name, 1 / m->solo_ns_per_work,
                  s->plan[device].rate);
}

/* Sees to it that the devices are probed one after another. TRUE: this one has
   to wait; else *work is what it may get now, or 0 for no bound. */
gboolean
hass_auto_guard_waits (HassAuto *s, const HassRound *round, guint device,
                       gboolean force, double *work)
{
  *work = 0;
  if (!s->probing)
    return FALSE;
  if (force)
    {
      s->probing = FALSE;
      return FALSE;
    }
  if (s->solo < s->n)
    {
      gboolean over = s->solo_given > 0;
      if (over && s->solo == s->cpu)
        over = !hass_auto_busy (s, round, s->cpu);
      else if (over)
        over = s->members[s->solo].n_bundles == 0;
      if (!over)
        {
          *work = s->solo_work;
          return device != s->solo || s->solo_given > 0;
        }
      end_solo (s, round, s->solo);
    }
  hass_auto_make_plan (s, round, device);
  /* GPUs first, since cores may still be in the middle of a unit. */
  guint from = s->solo == s->n ? 0 : s->solo + 1;
  if (s->solo == s->cpu)
    from = s->n;
  for (guint d = from; d <= s->n; d++)
    {
      guint next = d < s->n ? d : s->cpu;
      if (next == s->n || (d < s->n && d == s->cpu)
          || (d == s->n && s->solo == s->cpu)
          || !worth_probing (s, round, next))
        continue;
      begin_solo (s, round, next);
      *work = s->solo_work;
      return device != next;
    }
  s->probing = FALSE;
  s->probe_at = hass_round_number (round) + (s->probe_later ? 1 : PROBE_ROUNDS);
  s->solo = s->n;
  return FALSE;
}

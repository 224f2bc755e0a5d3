/* SPDX-License-Identifier: MIT */
/* guard.c: see guard-private.h.
   Thread safety: as hass/strategy.h. */
#include "guard-private.h"

#include <math.h>

/* The arm (set of devices) of the last round is kept unless the predicted time
   of another is below GAIN times its own: differences of less than 1 % are
   noise. A guess: a larger value changes arms by noise, a smaller one keeps a
   slower arm. */
#define GAIN 0.99
/* A CPU pool with less than this fraction of all devices' rates may delay the
   others by more than it computes, so rounds without it are tried. A guess:
   more tries rounds without pools that help. */
#define WEAK_PART 0.03
/* The assumed time of rounds without a weak CPU pool, over that of rounds of
   all devices, both relative to their plans, until such a round is measured. A
   value below 1 makes one be tried where the plan without the pool is hardly
   longer. A guess. */
#define WEAK_FACTOR 0.965
/* Rounds of all devices take longer than planned by a factor; up to
   LITTLE_OVER, the same factor is assumed for rounds without the CPU pool until
   one is measured. A guess: more, and rounds without the pool are never tried;
   less, and they are tried in vain. */
#define LITTLE_OVER 1.1
/* Number of rounds of another arm (set of devices) after which all devices
   together are tried again for the first time; the gap doubles with each trial.
   A guess: less costs more slow rounds, more notices a change later. */
#define FIRST_RETRY 16
/* Largest number of rounds between two trials of all devices together. A guess:
   more notices a change later, less costs slow rounds. */
#define LAST_RETRY 256
/* Number of measured rounds after which the factor of an arm (measured over
   planned time of a set of devices) is settled; before, its devices are not
   well known and the least factor counts. A guess: more, and a device that has
   become slower is noticed later. */
#define SETTLING 3
/* Lower bound of a measured time over the planned one: a smaller factor is
   taken for an accident. A guess: without a bound one odd round would bind all
   later ones to an arm. */
#define LEAST_FACTOR 0.5
/* Upper bound of a measured time over the planned one: a larger factor is taken
   for an accident, and would exclude a set of devices for very long. A
   guess. */
#define MOST_FACTOR 8
/* Number of rounds, at most, that are given to all devices in order to see how
   fast one is whose launch has hidden the time of its work. A guess: more costs
   slow rounds in vain. */
#define MOST_HIDDEN 8
/* A device whose launch hid its speed may be the fastest only if its launch,
   with what it copies once a round, takes less than this fraction of the best
   predicted time of the round. A guess: more costs slow rounds in vain. */
#define HIDDEN_PART 0.95
/* All devices together are used for the sake of a device whose launch hid its
   speed only if their predicted time is at most this many times the best one. A
   guess: more costs slow rounds, less leaves fast GPUs unknown. */
#define HIDDEN_COST 1.25

/* -- Arms --------------------------------------------------------------- */

void
hass_auto_guard_init (HassAutoGuard *g, const HassAutoKnown *k)
{
  guint n = k->u.n;
  *g = (HassAutoGuard){ .k = k, .arm = n, .used = n, .streak = SETTLING };
  g->arms = g_new0 (HassAutoArm, n + 2);
  g->runners = g_new0 (HassRunner, MAX (n, 1));
  g->hidden_rounds = g_new0 (guint, MAX (n, 1));
  for (guint arm = 0; arm < n + 2; arm++)
    g->arms[arm].factor = 1;
}

void
hass_auto_guard_clear (HassAutoGuard *g)
{
  g_free (g->arms);
  g_free (g->runners);
  g_free (g->hidden_rounds);
}

static guint
n_arms (const HassAutoGuard *g)
{
  guint n = g->k->u.n;
  return g->k->u.cpu < n && n > 2 ? n + 2 : n + 1;
}

double
hass_auto_guard_planned_ns (HassAutoGuard *g, guint arm, double work)
{
  return hass_auto_plan_whole (g->k, arm, work, g->runners).finish_ns;
}

/* Returns the predicted time of a round of @work under an arm (set of devices),
   in ns: its plan times the arm's factor. What a round takes longer than
   planned hardly grows with its work, so in a larger round than the last one
   the excess over 1 shrinks by the ratio of their work. */
static double
estimate_ns (HassAutoGuard *g, guint arm, double work)
{
  const HassAutoArm *a = &g->arms[arm];
  double over = a->factor - 1;
  if (over > 0 && a->work > 0)
    over *= MIN (1, a->work / work);
  return (1 + over) * hass_auto_guard_planned_ns (g, arm, work);
}

static const char *
name_of (const HassAutoGuard *g, guint arm)
{
  guint n = g->k->u.n;
  return arm < n    ? g->k->u.devices[arm].name
         : arm == n ? "all"
                    : "all but the CPU";
}

/* -- Choosing ----------------------------------------------------------- */

/* Returns TRUE if the round may be given to some of the devices only: all
   participating devices are measured, and no unit can be run by one kind
   alone. */
static gboolean
may_choose (const HassAutoGuard *g, const HassRound *round)
{
  if (!hass_forecast_all_measured (&g->k->f, round))
    return FALSE;
  for (guint d = 0; d < g->k->u.n; d++)
    if (hass_round_exclusive (round, d) > 0)
      return FALSE;
  return TRUE;
}

/* Makes rounds without the CPU pool be tried once, by a low assumed factor,
   where the pool does so little that it may delay the other devices by more
   than it computes. */
static void
doubt_weak_cpu (HassAutoGuard *g, double work)
{
  guint n = g->k->u.n, cpu = g->k->u.cpu;
  guint without = n > 2 ? n + 1 : 1 - cpu;
  double sum = 0;
  if (cpu == n || g->arms[without].rounds > 0 || g->arms[n].rounds < 2)
    return;
  HassPlan all = hass_auto_plan_whole (g->k, n, work, g->runners);
  for (guint d = 0; d < n; d++)
    sum += all.runners[d].rate;
  if (all.runners[cpu].rate < WEAK_PART * sum)
    g->arms[without].factor
        = MIN (g->arms[without].factor, WEAK_FACTOR * g->arms[n].factor);
}

/* Assumes, until a round without the CPU pool is measured, that it takes as
   much longer than planned as rounds of all devices do, up to LITTLE_OVER; any
   more may be due to the pool, and then rounds without it are worth a trial. */
static void
doubt_others (HassAutoGuard *g)
{
  guint n = g->k->u.n;
  const HassAutoArm *all = &g->arms[n];
  HassAutoArm *without = &g->arms[n + 1];
  if (g->k->u.cpu < n && n > 2 && without->rounds == 0 && all->rounds > 0)
    without->factor = MAX (without->factor, MIN (all->factor, LITTLE_OVER));
}

/* Returns TRUE if a GPU may alone be faster than the best predicted time,
   because its bundles were so small that its latency hid what their work took.
   Then the round is given to all devices, where that GPU gets larger bundles
   and shows its rate. */
static gboolean
hides_the_fastest (HassAutoGuard *g, guint best, double best_ns)
{
  guint n = g->k->u.n;
  if (best > n || g->arms[n].ns > HIDDEN_COST * best_ns)
    return FALSE; /* The best arm has all GPUs already, or all devices together
                     would take too long. */
  for (guint d = 0; d < n; d++)
    {
      const HassFit *fit = hass_estimates_fit (&g->k->e, NULL, d, TRUE);
      if (d == g->k->u.cpu || d == best || hass_forecast_out (&g->k->f, d)
          || g->hidden_rounds[d] == MOST_HIDDEN
          || !hass_fit_hides (fit, g->k->e.of[d].largest)
          || g->k->f.seats[d].copy_ns + fit->fixed_ns > HIDDEN_PART * best_ns)
        continue;
      g->hidden_rounds[d]++;
      g->hiding = d;
      HASS_NOTE (g->k->u.env, "%s may be faster than it could show: all",
                 g->k->u.devices[d].name);
      return TRUE;
    }
  return FALSE;
}

static guint
choose (HassAutoGuard *g, const HassRound *round, double work)
{
  guint best = g->used, n = g->k->u.n;
  guint64 number = hass_round_number (round);
  double best_ns = INFINITY;
  doubt_others (g);
  doubt_weak_cpu (g, work);
  for (guint arm = 0; arm < n_arms (g); arm++)
    {
      g->arms[arm].ns = estimate_ns (g, arm, work);
      double ns = g->arms[arm].ns * (arm == g->used ? GAIN : 1);
      if (ns < best_ns)
        {
          best = arm;
          best_ns = ns;
        }
    }
  if (best != n && g->used != n && number >= g->retry_at)
    {
      g->retry_gap = CLAMP (2 * g->retry_gap, FIRST_RETRY, LAST_RETRY);
      g->retry_at = number + g->retry_gap;
      return n;
    }
  return best != n && hides_the_fastest (g, best, best_ns) ? n : best;
}

static void
explain (const HassAutoGuard *g, guint64 number)
{
  const HassStrategyEnv *env = g->k->u.env;
  HASS_NOTE (env, "round %" G_GUINT64_FORMAT ": %s, expected %.4g ms", number,
             name_of (g, g->arm), g->planned_ns * 1e-6);
  for (guint arm = 0; arm < n_arms (g); arm++)
    HASS_NOTE (env, "  %s would take %.4g ms, %s %.3g times the plan",
               name_of (g, arm), g->arms[arm].ns * 1e-6,
               g->arms[arm].rounds > 0 ? "measured" : "assumed",
               g->arms[arm].factor);
}

void
hass_auto_guard_begin (HassAutoGuard *g, const HassRound *round)
{
  guint n = g->k->u.n;
  double work = hass_round_total_work (round);
  guint64 number = hass_round_number (round);
  g->arm = n;
  g->chosen = may_choose (g, round);
  g->round_work = work;
  g->hiding = G_MAXUINT;
  if (!g->chosen)
    {
      HASS_NOTE (g->k->u.env,
                 "round %" G_GUINT64_FORMAT
                 ": all, because not all of them are measured",
                 number);
      return;
    }
  g->arm = choose (g, round, work);
  g->planned_ns = g->arms[g->arm].ns;
  if (g->arm != n && g->used == n)
    {
      g->retry_gap = g->retry_gap > 0 ? g->retry_gap : FIRST_RETRY;
      g->retry_at = number + g->retry_gap;
    }
  if (g->k->u.env->note)
    explain (g, number);
}

/* -- In a round --------------------------------------------------------- */

void
hass_auto_guard_watch (HassAutoGuard *g)
{
  const HassForecast *f = &g->k->f;
  guint n = g->k->u.n;
  for (guint d = 0; d < n && g->arm == n; d++)
    g->chosen = g->chosen && !f->seats[d].failed;
  if (!g->chosen || g->arm == n)
    return;
  double past_ns = f->now_ns - f->begin_ns;
  /* A factor below 1 was assumed and not measured, so the plan alone is the
     bound. */
  double ns = g->planned_ns / MIN (g->arms[g->arm].factor, 1);
  gboolean failed = g->arm < n && f->seats[g->arm].failed;
  if (!failed && past_ns < HASS_AUTO_MUCH_LONGER * ns)
    return;
  HASS_NOTE (g->k->u.env, "%s %s: now all", name_of (g, g->arm),
             failed ? "failed" : "takes much longer than expected");
  if (!failed)
    {
      g->arms[g->arm].factor
          = HASS_AUTO_MUCH_LONGER * MAX (g->arms[g->arm].factor, 1);
      g->arms[g->arm].rounds++;
    }
  hass_auto_guard_give_up (g);
}

void
hass_auto_guard_give_up (HassAutoGuard *g)
{
  if (g->chosen)
    g->used = g->k->u.n;
  g->arm = g->k->u.n;
  g->chosen = FALSE;
}

/* -- After a round ------------------------------------------------------ */

/* Returns TRUE if the finished round is a measure of the arm (set of devices)
   that computed it. It is none if a device of that set has not asked for work
   in this round: that device is lost or not open yet. */
gboolean
hass_auto_guard_counts (HassAutoGuard *g, const HassRoundSummary *summary)
{
  const HassForecast *f = &g->k->f;
  for (guint d = 0; d < g->k->u.n; d++)
    if (!f->seats[d].asked && !hass_forecast_out (f, d)
        && hass_auto_arm_has (&g->k->u, g->arm, d))
      g->chosen = FALSE;
  return g->chosen && summary->units > 0;
}

/* Takes a round's time in as a factor of its arm (set of devices): measured
   time over the time of a plan made in hindsight. In the first rounds of an arm
   its devices were not well known, so the least factor counts. A round of all
   devices in which one of them changed is divided wrongly and takes much longer
   than the next one will, so it does not count. */
static void
measure (HassAutoGuard *g, const HassRoundSummary *summary)
{
  HassAutoArm *arm = &g->arms[g->arm];
  double plan_ns = hass_auto_guard_planned_ns (g, g->arm, g->round_work);
  double factor = CLAMP (summary->makespan_ns / MAX (plan_ns, 1), LEAST_FACTOR,
                         MOST_FACTOR);
  gboolean outlier = g->arm == g->k->u.n && arm->rounds >= SETTLING
                     && !arm->outlier
                     && factor > HASS_AUTO_MUCH_LONGER * arm->factor;
  if (arm->rounds == 0)
    arm->factor = factor;
  else if (arm->rounds < SETTLING)
    arm->factor = MIN (arm->factor, factor);
  else if (!outlier)
    arm->factor = 0.5 * (arm->factor + factor);
  arm->outlier = outlier;
  arm->rounds++;
  arm->work = g->round_work;
  HASS_NOTE (g->k->u.env,
             "round %" G_GUINT64_FORMAT
             " took %.4g ms, %.3g times the plan in hindsight",
             summary->number, summary->makespan_ns * 1e-6, factor);
}

void
hass_auto_guard_end (HassAutoGuard *g, const HassRoundSummary *summary,
                     gboolean idle)
{
  guint n = g->k->u.n;
  gboolean first = g->arm == n && g->used == n && !g->together;
  g->together |= g->arm == n;
  if (idle || first)
    return; /* The round had idle devices, or was planned from a single round in
               which all devices were new. */
  measure (g, summary);
  g->streak = g->arm != g->used ? 0 : g->streak + 1;
  g->used = g->arm;
  /* Step 3 of the DESIGN: the factors of the other arms (sets of devices) are
     set so that their predicted times stay, since devices that slow each other
     down have shown nothing about the time of one alone. Where all devices have
     been used for a while, predictions follow their estimates, as they do for a
     device for whose sake all devices were used. */
  if (g->arm == n && g->streak >= SETTLING)
    return;
  for (guint other = 0; other < n_arms (g); other++)
    {
      double ns = hass_auto_guard_planned_ns (g, other, g->round_work);
      if (other != g->arm && other != g->hiding && isfinite (g->arms[other].ns)
          && isfinite (ns))
        g->arms[other].factor = g->arms[other].ns / MAX (ns, 1);
    }
}

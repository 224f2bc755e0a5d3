/* SPDX-License-Identifier: MIT */
/* guard.c: see guard-private.h.
   Thread safety: as hass/strategy.h. */
#include "guard-private.h"

#include <math.h>

/* An arm changes for a gain of at least 1 %: less is noise. */
#define GAIN 0.99
/* A CPU pool with less than WEAK_PART of the rates may cost more than it does;
   it is left out once if the plan without it would be WEAK_FACTOR times as
   long. Guesses. */
#define WEAK_PART 0.03
#define WEAK_FACTOR 0.965
/* Times the plan; what plans of all devices leave out, up to that, plans
   without the CPU leave out as well. A guess. */
#define LITTLE_OVER 1.1
/* Rounds between trials of all devices together; the gap doubles. Guesses. */
#define FIRST_RETRY 16
#define LAST_RETRY 256
/* Rounds after which the measure of a changed arm is settled; a guess. */
#define SETTLING 3
/* Bounds of a measured factor: beyond them it is an accident. Guesses. */
#define LEAST_FACTOR 0.5
#define MOST_FACTOR 8
/* Larger bundles for a device whose launch hides its speed: in so many rounds
   at most, if its launch takes less than such a part of the best round's time,
   and all together so many times that. Guesses. */
#define MOST_HIDDEN 8
#define HIDDEN_PART 0.95
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

/* What a round takes longer than planned hardly grows with it. */
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

/* A negligible CPU pool may delay the others by more than it does. That is
   tried once. */
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

/* The little that plans of all devices leave out, plans without the CPU leave
   out too; much of it may be the CPU's. */
static void
doubt_others (HassAutoGuard *g)
{
  guint n = g->k->u.n;
  const HassAutoArm *all = &g->arms[n];
  HassAutoArm *without = &g->arms[n + 1];
  if (g->k->u.cpu < n && n > 2 && without->rounds == 0 && all->rounds > 0)
    without->factor = MAX (without->factor, MIN (all->factor, LITTLE_OVER));
}

/* A GPU whose bundles were so small that its latency hid what their work took
   may alone be faster than any arm. Larger bundles show it, and it gets them in
   rounds of all. */
static gboolean
hides_the_fastest (HassAutoGuard *g, guint best, double best_ns)
{
  guint n = g->k->u.n;
  if (best > n || g->arms[n].ns > HIDDEN_COST * best_ns)
    return FALSE; /* all GPUs participate; or it costs too much */
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
  /* A factor below 1 is a hope, not a measure. */
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

/* A device that participates but never asked is not there, which says nothing
   of the arm. */
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

/* In the first rounds of an arm its devices were not well known yet. A round of
   all in which a device changed is divided wrongly, and takes much longer than
   the next one will. */
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
    return; /* it was planned from one round in which devices were new */
  measure (g, summary);
  g->streak = g->arm != g->used ? 0 : g->streak + 1;
  g->used = g->arm;
  /* 3. Predictions of all together may change with their devices, and so may
     that of a device for which all participated. */
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

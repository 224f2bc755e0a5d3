/* SPDX-License-Identifier: MIT */
/* auto_plan.c: the plan for what is left of a round; step 2 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define SILENT_TOLD 4  /* completions */
#define TRIFLE_UNITS 4 /* a unit of those takes at most so much of the rest */
#define LISTED_TAIL 0.6
#define USUAL_IN_FLIGHT 3 /* copied in, computed, copied out */
#define MARGIN 2 /* a unit may take so much longer when all cores are busy */

guint64
hass_auto_cpu_share (const HassAuto *s, const HassRound *round)
{
  return s->cpu < s->n ? hass_round_share (round, s->cpu) : 0;
}

/* Costs over the mean of units that lie side by side, as far as is known. */
double
hass_auto_level (const HassAuto *s, guint64 first, guint64 n)
{
  if (!s->levels || s->round_units == 0)
    return 1;
  double all = (double)s->round_units;
  return hass_auto_levels_between (s->levels, first / all,
                                   MIN ((first + n) / all, 1));
}

double
hass_auto_range_work (const HassAuto *s, const HassRound *round, guint64 first,
                      guint64 n)
{
  if (!s->levels)
    return hass_round_work (round, first, n);
  return s->unit_work * n * hass_auto_level (s, first, n);
}

/* Costs differ along the round, as is known or was seen. */
gboolean
hass_auto_differs (const HassAuto *s)
{
  return s->levels || s->env->cost == HASS_COST_SIZED;
}

/* Of what a GPU would get next. */
double
hass_auto_next_level (const HassAuto *s, const HassRound *round, guint device)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (!s->levels || hi == lo)
    return 1;
  guint64 n = (guint64)MIN (s->members[device].fill_units, 1e18);
  n = CLAMP (n, s->round_units / HASS_AUTO_PARTS, hi - lo);
  n = CLAMP (n, 1, hi - lo);
  return hass_auto_level (s, s->reversed ? lo : hi - n, n);
}

/* What so much work of some level takes a GPU. Beside a launch a bundle's fixed
   part is what fills the GPU, and that grows with what a unit costs. */
double
hass_auto_bundle_ns (const HassAuto *s, guint device, const HassFit *fit,
                     double work, double level)
{
  double launch_ns = MIN (s->env->devices[device].latency_ns, fit->fixed_ns);
  return launch_ns + level * (hass_fit_ns (fit, work / level) - launch_ns);
}

double
hass_auto_fixed_ns (const HassAuto *s, const HassRound *round, guint device,
                    const HassFit *fit)
{
  return hass_auto_bundle_ns (s, device, fit, 0,
                              hass_auto_next_level (s, round, device));
}

/* Work of n units at the end of the common range from which GPUs, or cores,
   take; or of as many as wait. */
double
hass_auto_work_at (const HassAuto *s, const HassRound *round, gboolean gpu,
                   guint64 n)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 common = hi - lo;
  if (!hass_auto_differs (s) || common == 0)
    return s->unit_work * n;
  n = MIN (n, common);
  return hass_auto_range_work (s, round, gpu != s->reversed ? hi - n : lo, n);
}

/* What n loads in ascending order keep a GPU busy with: each multiprocessor
   takes the next one when it has done its own, so that they end apart by about
   half of what the sizes differ by, or all wait for the largest. */
double
hass_auto_listed_work (const HassAuto *s, const HassRound *round, guint device,
                       guint64 first, guint64 n)
{
  guint m = MAX (s->env->devices[device].cores, 1);
  double most = hass_round_work (round, first + n - 1, 1);
  if (n <= m)
    return m * most;
  double spread = most - hass_round_work (round, first, 1);
  return MAX (hass_round_work (round, first, n) + LISTED_TAIL * m * spread,
              m * most);
}

/* How many units from one end of [lo, hi) have so much work, at least one. */
guint64
hass_auto_units_of (const HassAuto *s, const HassRound *round, guint64 lo,
                    guint64 hi, gboolean back, double work)
{
  guint64 n = hi - lo, fits = 1;
  if (n == 0
      || (!s->levels
          && (s->env->cost != HASS_COST_SIZED
              || s->env->farm == HASS_FARM_PARTITION)))
    return (guint64)CLAMP (work / s->unit_work, 1, MAX (n, 1));
  while (fits < n)
    {
      guint64 k = fits + (n - fits + 1) / 2;
      if (hass_auto_range_work (s, round, back ? hi - k : lo, k) <= work)
        fits = k;
      else
        n = k - 1;
    }
  return fits;
}

static double
work_left (const HassAuto *s, const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 share = hass_auto_cpu_share (s, round);
  double common = hass_auto_differs (s) && hi > lo
                      ? hass_auto_range_work (s, round, lo, hi - lo)
                      : s->unit_work * (hi - lo);
  double own = s->unit_work * share;
  if (hass_auto_differs (s) && share > 0 && s->share_back >= share)
    own = hass_auto_range_work (s, round, s->share_back - share, share);
  guint64 waiting = hass_round_waiting (round);
  guint64 returned = waiting > hi - lo ? waiting - (hi - lo) : 0;
  return common + own + s->unit_work * returned;
}

/* The least that a GPU gets: one unit, or one for each multiprocessor where
   each multiprocessor computes one. */
guint64
hass_auto_least_units (const HassAuto *s, const HassRound *round, guint device)
{
  if (s->env->farm != HASS_FARM_INDIVISIBLE && !hass_auto_simple (s, round))
    return 1;
  return MAX (s->env->devices[device].cores, 1);
}

/* Time until a core is free, if they all began together. */
double
hass_auto_next_free_ns (const HassAuto *s, const HassRound *round,
                        double unit_ns)
{
  if (!hass_auto_busy (s, round, s->cpu))
    return 0;
  double busy_ns = hass_round_progress (round, s->cpu).busy_ns;
  double begun_ns = s->begun ? s->now_ns - s->begin_ns - busy_ns : 0;
  return CLAMP (unit_ns - begun_ns, 0, unit_ns);
}

/* What one unit takes a core, by the rate that the plan has for the pool. */
double
hass_auto_unit_ns (const HassAuto *s, const HassRound *round)
{
  return hass_auto_work_at (s, round, FALSE, 1)
         * MAX (s->env->devices[s->cpu].cores, 1) / s->plan[s->cpu].rate;
}

/* Part of the cores that are in the middle of a unit. */
static double
busy_part (const HassAuto *s, const HassRound *round, guint cores)
{
  gint64 begun = hass_auto_core_units (s, round)
                 - (gint64)hass_auto_cpu_share (s, round);
  if (!hass_auto_busy (s, round, s->cpu))
    return 0;
  return s->env->cost == HASS_COST_UNKNOWN
             ? 1
             : CLAMP (begun / (double)cores, 0, 1);
}

static void
plan_cpu (const HassAuto *s, const HassRound *round, gboolean idle,
          HassRunner *r)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  r->rate = hass_auto_cpu_rate (s);
  if (r->rate <= 0)
    return;
  double unit_ns = hass_auto_unit_ns (s, round);
  double exclusive = hass_round_exclusive (round, s->cpu) * s->unit_work;
  /* Cores stop when one more unit would be late, on average half a unit
     early; and those at work now are in the middle of one. */
  r->ready_ns = unit_ns / 2 * (1 + busy_part (s, round, cores));
  r->step_ns = unit_ns - r->ready_ns;
  /* A few units that had the machine to themselves say too little. */
  if (s->members[s->cpu].n_seen < cores
      && !hass_auto_all_settled (s, round, FALSE))
    r->step_ns += (MARGIN - 1) * unit_ns;
  if (!idle)
    r->step_ns += hass_auto_next_free_ns (s, round, unit_ns);
  r->ready_ns += exclusive / r->rate;
}

/* Bundles at a time. A GPU that cuts what it is given takes as many as it has
   room for: one that is computed waits for its results to be copied. */
guint
hass_auto_in_flight (const HassAuto *s, guint device)
{
  const HassDeviceTraits *t = &s->env->devices[device];
  guint wanted = (guint)s->env->parameters[HASS_AUTO_IN_FLIGHT];
  if (wanted == 0)
    wanted = t->part_bytes > 0 ? HASS_AUTO_DEEPEST : USUAL_IN_FLIGHT;
  return MIN (wanted, MAX (t->max_in_flight, 1));
}

gboolean
hass_auto_overlaps (const HassAuto *s, guint device)
{
  return hass_auto_in_flight (s, device) > 1;
}

/* By what part a bundle on an idle GPU takes longer than one that queues: that
   much of a round's first and last bundle overlaps nothing. */
double
hass_auto_alone_part (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  double longest = MAX (m->kernels_ns, MAX (m->in_ns, m->out_ns));
  if (!hass_auto_overlaps (s, device) || longest <= 0)
    return 0;
  return (m->in_ns + m->kernels_ns + m->out_ns) / longest - 1;
}

static double
queue_ns (const HassAuto *s, const HassAutoMember *m)
{
  if (m->n_bundles == 0)
    return 0;
  /* A bundle that is late will be so for as long again. */
  double first_ns = m->bundles[0].ns, past_ns = s->now_ns - m->since_ns;
  return m->queue_ns - first_ns + fabs (first_ns - past_ns);
}

/* Bringing inputs to a GPU, where the host has to copy them first, may take
   cores longer than computing them: with its help everybody would be later. */
gboolean
hass_auto_costs_more (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  if (m->host_ns <= 0 || s->cpu == s->n || hass_auto_out (s, s->cpu)
      || !hass_auto_takes_part (s, s->cpu)
      || s->members[s->cpu].shown.busy_ns <= 0)
    return FALSE;
  double core_rate
      = hass_auto_cpu_rate (s) / MAX (s->env->devices[s->cpu].cores, 1);
  return m->host_ns * core_rate > m->host_work;
}

/* By what it showed in the last round, where that tells, else by a fit, else by
   hearsay; 0: it is not planned with. */
static double
gpu_rate (const HassAuto *s, guint device, double mean_rate, const HassFit *fit)
{
  const HassAutoMember *m = &s->members[device];
  if (hass_auto_costs_more (s, device))
    return 0;
  return mean_rate > 0   ? mean_rate
         : fit->seen > 0 ? hass_auto_of_late (s, device, 1 / fit->ns_per_work)
                               / (1 + m->link_wait)
                         : m->prior_rate;
}

static void
plan_gpu (const HassAuto *s, const HassRound *round, guint device,
          HassRunner *r)
{
  const HassAutoMember *m = &s->members[device];
  const HassFit *next = hass_auto_fit_of (s, round, device, m->n_bundles == 0);
  const HassFit *later
      = hass_auto_fit_of (s, round, device, !hass_auto_overlaps (s, device));
  double fixed_ns = next->seen > 0 ? hass_auto_fixed_ns (s, round, device, next)
                                   : s->env->devices[device].latency_ns;
  r->rate = gpu_rate (s, device, 0, later);
  if (r->rate <= 0)
    return;
  double exclusive = hass_round_exclusive (round, device) * s->unit_work;
  r->ready_ns = queue_ns (s, m) + fixed_ns + exclusive / r->rate
                + (m->entered ? 0 : m->entry_ns);
  guint64 n = hass_auto_least_units (s, round, device);
  double least = hass_auto_work_at (s, round, TRUE, n);
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (s->listed && hi > lo)
    {
      n = MIN (n, hi - lo);
      least = hass_auto_listed_work (s, round, device,
                                     s->reversed ? lo : hi - n, n);
    }
  gboolean piped = hass_auto_pipeline_plan (s, device, r);
  if (!piped || !m->smooth)
    r->fill_ns = hass_auto_fill_next (s, round, device) / r->rate;
  r->step_ns = MAX (least / r->rate, r->fill_ns);
  if (!piped && m->n_bundles == 0 && s->env->cost != HASS_COST_UNKNOWN)
    r->alone = hass_auto_alone_part (s, device);
  r->ready_ns += r->alone * r->step_ns;
}

/* A GPU that has nothing asks after each completion. One that does not is
   lost, or about to be. */
static gboolean
silent (const HassAuto *s, const HassRound *round, guint device)
{
  const HassAutoMember *m = &s->members[device];
  return device != s->cpu && m->n_bundles == 0
         && s->n_told > m->asked_at + SILENT_TOLD
         && hass_auto_measured (s, round, device);
}

/* What the cores could do in time is not worth that the round waits for a unit
   which takes longer than foretold, nor that the GPUs get small bundles. */
static gboolean
is_trifle (const HassAuto *s, const HassRound *round)
{
  const HassRunner *r = &s->plan[s->cpu];
  double rate = 0;
  for (guint d = 0; d < s->n; d++)
    if (d != s->cpu && s->plan[d].runs)
      rate += s->plan[d].rate;
  if (r->rate >= HASS_AUTO_TRIFLE * rate
      || hass_round_exclusive (round, s->cpu) > 0)
    return FALSE;
  return TRIFLE_UNITS * hass_auto_unit_ns (s, round) > s->finish_ns;
}

/* A GPU that gets its part in one bundle, as two would not fill it: nothing of
   that overlaps. TRUE: there is one. */
static gboolean
plan_single_bundles (HassAuto *s)
{
  gboolean any = FALSE;
  for (guint d = 0; d < s->n; d++)
    {
      HassRunner *r = &s->plan[d];
      if (!r->runs || r->alone <= 0 || hass_auto_pipelined (s, d)
          || s->env->devices[d].part_bytes > 0
          || s->finish_ns - r->ready_ns >= 2 * r->step_ns)
        continue;
      r->ready_ns -= r->alone * r->step_ns;
      r->step_ns *= 1 + r->alone;
      r->fill_ns *= 1 + r->alone;
      r->rate /= 1 + r->alone;
      any = TRUE;
    }
  return any;
}

void
hass_auto_make_plan (HassAuto *s, const HassRound *round, guint asking)
{
  for (guint d = 0; d < s->n; d++)
    {
      HassRunner *r = &s->plan[d];
      *r = (HassRunner){ 0 };
      if (hass_auto_out (s, d) || !hass_auto_takes_part (s, d)
          || (d != asking && silent (s, round, d)))
        continue;
      if (d == s->cpu)
        plan_cpu (s, round, asking == s->cpu, r);
      else
        plan_gpu (s, round, d, r);
    }
  s->left = work_left (s, round);
  s->finish_ns = hass_fill (s->plan, s->n, s->left);
  if (plan_single_bundles (s))
    s->finish_ns = hass_fill (s->plan, s->n, s->left);
  if (s->cpu == s->n || !s->plan[s->cpu].runs || !hass_auto_long_units (s)
      || !is_trifle (s, round))
    return;
  s->plan[s->cpu] = (HassRunner){ 0 };
  s->finish_ns = hass_fill (s->plan, s->n, s->left);
}

/* What a round of so much work would take from its begin, planned with what is
   known now and for whom the guard lets take part. */
double
hass_auto_whole_ns (HassAuto *s, double work)
{
  guint n = 0;
  for (guint d = 0; d < s->n; d++)
    {
      HassRunner *r = &s->plan[d];
      *r = (HassRunner){ 0 };
      if (hass_auto_out (s, d) || !hass_auto_takes_part (s, d))
        continue;
      const HassAutoMember *m = &s->members[d];
      if (d == s->cpu)
        {
          guint cores = MAX (s->env->devices[d].cores, 1);
          r->rate = m->shown.mean_rate > 0 ? m->shown.mean_rate
                                           : hass_auto_cpu_rate (s);
          if (r->rate > 0)
            r->ready_ns = r->step_ns = s->unit_work * cores / r->rate / 2;
          if (s->arm == d && s->env->cost == HASS_COST_EQUAL && r->rate > 0)
            return ceil (work / s->unit_work / cores - 1e-9) * 2 * r->step_ns;
          continue;
        }
      const HassFit *next = hass_auto_fit_of (s, NULL, d, TRUE);
      const HassFit *later
          = hass_auto_fit_of (s, NULL, d, !hass_auto_overlaps (s, d));
      if (later->seen == 0)
        next = later = &m->shown.fits[HASS_AUTO_SIMPLE + HASS_AUTO_IDLE];
      r->rate = gpu_rate (s, d, m->shown.mean_rate, later);
      r->ready_ns = (s->arm == d ? m->copy_ns : m->entry_ns) + next->fixed_ns;
      hass_auto_pipeline_whole (s, d, work, r);
      if (r->rate > 0)
        r->step_ns = MAX (s->unit_work * hass_auto_least_units (s, NULL, d),
                          hass_auto_fill_work (s, d))
                     / r->rate;
    }
  double ns = hass_fill (s->plan, s->n, work);
  for (guint d = 0; d < s->n; d++)
    n += s->plan[d].runs;
  return ns + (n > 1 ? s->env->merge_ns : 0);
}

/* Units that are kept for GPUs which nobody knows yet, so that they are
   tried even where rounds are tiny; not for one that is not open yet. */
guint64
hass_auto_kept_units (const HassAuto *s, const HassRound *round)
{
  guint64 n = 0;
  for (guint d = 0; d < s->n; d++)
    n += d != s->cpu && !s->env->devices[d].opening && !hass_auto_out (s, d)
         && !hass_auto_busy (s, round, d) && !hass_auto_known (s, round, d);
  return n;
}

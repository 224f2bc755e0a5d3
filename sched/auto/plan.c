/* SPDX-License-Identifier: MIT */
/* plan.c: see plan-private.h.
   Thread safety: as hass/strategy.h. */
#include "plan-private.h"

#include <math.h>

/* A negligible CPU pool is excluded when the rest of the round takes less than
   NEGLIGIBLE_UNITS times one of its units. A guess: more excludes cores that
   could help, less lets the round wait for a unit of a core. */
#define NEGLIGIBLE_UNITS 4
/* Where fewer units than this fill a GPU, a bundle of less than that is planned
   to take as long as one that fills it. A guess: less plans short bundles that
   take longer, more plans filled ones where copies leave time for others. */
#define FEW_FILL 32

gboolean
hass_auto_arm_has (const HassUnits *u, guint arm, guint device)
{
  return arm == u->n || arm == device || (arm == u->n + 1 && device != u->cpu);
}

double
hass_auto_unit_ns (const HassAutoKnown *k, const HassRound *round, double rate)
{
  return hass_units_next_work (&k->u, round, FALSE, 1) * k->u.cores / rate;
}

gboolean
hass_auto_costs_more (const HassAutoKnown *k, guint arm, guint device)
{
  const HassEstimate *m = &k->e.of[device];
  guint cpu = k->u.cpu;
  if (m->host_ns <= 0 || cpu == k->u.n || hass_forecast_out (&k->f, cpu)
      || !hass_auto_arm_has (&k->u, arm, cpu)
      || k->e.of[cpu].shown.busy_ns <= 0)
    return FALSE;
  return m->host_ns * hass_estimates_core_rate (&k->e) > m->host_work;
}

/* -- The rest of a round ------------------------------------------------ */

/* Fills in the CPU pool for the plan of the rest of a round. asking: a core
   asks now, so one is free. */
static void
plan_cpu (const HassAutoKnown *k, const HassRound *round, gboolean asking,
          HassRunner *r)
{
  guint cpu = k->u.cpu;
  r->rate = hass_estimates_cpu_rate (&k->e);
  if (r->rate <= 0)
    return;
  double unit_ns = hass_auto_unit_ns (k, round, r->rate);
  double exclusive = hass_round_exclusive (round, cpu) * k->u.work;
  /* The pool is ready half a unit late because a core stops when one more unit
     would be late, on average half a unit early; and later by another half unit
     times the fraction of the cores that are in the middle of a unit now. */
  r->ready_ns = unit_ns / 2 * (1 + hass_forecast_busy_cores (&k->f, round));
  r->step_ns = unit_ns - r->ready_ns;
  if (!asking)
    r->step_ns += hass_forecast_core_free_ns (&k->f, round, unit_ns);
  r->ready_ns += exclusive / r->rate;
}

/* Returns the work of the smallest bundle that a GPU can get next. */
static double
least_work (const HassAutoKnown *k, const HassRound *round, guint device)
{
  guint64 n = hass_units_least (&k->u, device);
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (!k->u.listed || hi == lo)
    return hass_units_next_work (&k->u, round, TRUE, n);
  n = MIN (n, hi - lo);
  return hass_auto_blocks_work (&k->b, round, device,
                                k->u.reversed ? lo : hi - n, n);
}

/* Returns the fraction of what fills a GPU that its largest bundle was, at most
   1. None has to be larger than that: the rate is what such bundles have
   shown. Not so where a few units fill the GPU: what one of them leaves idle
   was counted as if it had computed, and others have to take the same time. */
static double
shown_part (const HassAutoKnown *k, guint device)
{
  double largest = k->e.of[device].largest;
  double fill = hass_units_fill_work (&k->u, device);
  if (!k->u.blocks && hass_units_fill (&k->u, device) < FEW_FILL)
    return 1;
  return largest > 0 && largest < fill ? largest / fill : 1;
}

/* Returns the fraction of what fills a GPU from which on a bundle loses
   nothing: where copies overlap kernels and take longer, kernels may leave a
   part of the GPU idle, as they still end before the next bundle's copies. */
static double
hidden_part (const HassAutoKnown *k, guint device)
{
  const HassEstimate *m = &k->e.of[device];
  if (!hass_estimates_overlaps (&k->e, device) || m->kernels_ns <= 0)
    return 1;
  return m->kernels_ns / MAX (m->kernels_ns, MAX (m->in_ns, m->out_ns));
}

/* Fills in a GPU for the plan of the rest of a round. */
static void
plan_gpu (const HassAutoKnown *k, const HassRound *round, guint arm,
          guint device, HassRunner *r)
{
  const HassSeat *m = &k->f.seats[device];
  const HassFit *next
      = hass_estimates_fit (&k->e, round, device, m->n_bundles == 0);
  const HassFit *later = hass_estimates_fit (
      &k->e, round, device, !hass_estimates_overlaps (&k->e, device));
  double fixed_ns = next->seen > 0
                        ? hass_estimates_fixed_ns (&k->e, round, device, next)
                        : k->e.of[device].prior_ns;
  if (!hass_auto_costs_more (k, arm, device))
    r->rate = hass_estimates_gpu_rate (&k->e, device, 0, later);
  if (r->rate <= 0)
    return;
  double exclusive = hass_round_exclusive (round, device) * k->u.work;
  r->ready_ns = hass_forecast_queue_ns (&k->f, device) + fixed_ns
                + exclusive / r->rate + (m->entered ? 0 : m->entry_ns);
  double least = least_work (k, round, device);
  gboolean piped = hass_auto_pipeline_plan (&k->p, device, r);
  if (!piped || !k->p.of[device].smooth)
    r->fill_ns = hass_units_fill_next (&k->u, round, device)
                 * shown_part (k, device) / r->rate;
  if (k->u.listed)
    r->fill_ns = least / r->rate;
  r->step_ns = MAX (least / r->rate, r->fill_ns * hidden_part (k, device));
  if (k->u.listed)
    r->rate /= hass_auto_sorted_times (k, round, device);
  if (!piped && m->n_bundles == 0 && k->u.env->cost != HASS_COST_UNKNOWN)
    r->alone = hass_estimates_alone_part (&k->e, device);
  r->ready_ns += r->alone * r->step_ns;
}

/* Returns TRUE if the CPU pool does so little that it is excluded from the
   plan: it is not worth that the round waits for a unit that takes longer than
   predicted, nor that GPUs get small bundles. */
static gboolean
cpu_negligible (const HassAutoKnown *k, const HassRound *round,
                const HassPlan *plan)
{
  guint cpu = k->u.cpu;
  double rate = 0;
  if (cpu == k->u.n || !plan->runners[cpu].runs
      || !hass_estimates_long_units (&k->e))
    return FALSE;
  double cpu_rate = plan->runners[cpu].rate;
  for (guint d = 0; d < k->u.n; d++)
    if (d != cpu && plan->runners[d].runs)
      rate += plan->runners[d].rate;
  if (cpu_rate >= HASS_AUTO_NEGLIGIBLE * rate
      || hass_round_exclusive (round, cpu) > 0)
    return FALSE;
  return NEGLIGIBLE_UNITS * hass_auto_unit_ns (k, round, cpu_rate)
         > plan->finish_ns;
}

/* Corrects the plan for GPUs whose part is a single bundle, because two would
   not fill them: no copy of that bundle overlaps a kernel, so all its times
   grow by the fraction @alone. Returns TRUE if there is such a GPU, and the
   plan has to be made again. */
static gboolean
single_bundles (const HassAutoKnown *k, const HassPlan *plan)
{
  gboolean any = FALSE;
  for (guint d = 0; d < k->u.n; d++)
    {
      HassRunner *r = &plan->runners[d];
      if (!r->runs || r->alone <= 0 || hass_auto_pipelined (&k->p, d)
          || k->u.devices[d].part_bytes > 0
          || plan->finish_ns - r->ready_ns >= 2 * r->step_ns)
        continue;
      r->ready_ns -= r->alone * r->step_ns;
      r->step_ns *= 1 + r->alone;
      r->fill_ns *= 1 + r->alone;
      r->rate /= 1 + r->alone;
      any = TRUE;
    }
  return any;
}

HassPlan
hass_auto_plan (const HassAutoKnown *k, const HassRound *round, guint arm,
                guint asking, HassRunner *runners)
{
  HassPlan plan = { .runners = runners };
  for (guint d = 0; d < k->u.n; d++)
    {
      runners[d] = (HassRunner){ 0 };
      if (hass_forecast_out (&k->f, d) || !hass_auto_arm_has (&k->u, arm, d)
          || (d != asking && hass_forecast_silent (&k->f, round, d)))
        continue;
      if (d == k->u.cpu)
        plan_cpu (k, round, asking == d, &runners[d]);
      else
        plan_gpu (k, round, arm, d, &runners[d]);
    }
  plan.work = hass_units_left (&k->u, round);
  plan.finish_ns = hass_fill (runners, k->u.n, plan.work);
  if (single_bundles (k, &plan))
    plan.finish_ns = hass_fill (runners, k->u.n, plan.work);
  if (!cpu_negligible (k, round, &plan))
    return plan;
  runners[k->u.cpu] = (HassRunner){ 0 };
  plan.finish_ns = hass_fill (runners, k->u.n, plan.work);
  return plan;
}

/* -- A whole round ------------------------------------------------------ */

/* Fills in the CPU pool for the plan of a whole round. */
static void
whole_cpu (const HassAutoKnown *k, HassRunner *r)
{
  double mean_rate = k->e.of[k->u.cpu].shown.mean_rate;
  r->rate = mean_rate > 0 ? mean_rate : hass_estimates_cpu_rate (&k->e);
  if (r->rate > 0)
    r->ready_ns = r->step_ns = k->u.work * k->u.cores / r->rate / 2;
}

/* Fills in a GPU for the plan of a whole round of @work. */
static void
whole_gpu (const HassAutoKnown *k, guint arm, guint device, double work,
           HassRunner *r)
{
  const HassEstimate *m = &k->e.of[device];
  const HassSeat *seat = &k->f.seats[device];
  const HassFit *next = hass_estimates_fit (&k->e, NULL, device, TRUE);
  const HassFit *later = hass_estimates_fit (
      &k->e, NULL, device, !hass_estimates_overlaps (&k->e, device));
  if (later->seen == 0)
    next = later = &m->shown.fits[HASS_FIT_SIMPLE + HASS_FIT_IDLE];
  if (!hass_auto_costs_more (k, arm, device))
    r->rate
        = hass_estimates_gpu_rate (&k->e, device, m->shown.mean_rate, later);
  r->ready_ns
      = (arm == device ? seat->copy_ns : seat->entry_ns) + next->fixed_ns;
  hass_auto_pipeline_whole (&k->p, device, arm == device, work, r);
  if (r->rate > 0)
    r->step_ns = MAX (k->u.work * hass_units_least (&k->u, device),
                      hass_units_fill_work (&k->u, device)
                          * shown_part (k, device) * hidden_part (k, device))
                 / r->rate;
}

HassPlan
hass_auto_plan_whole (const HassAutoKnown *k, guint arm, double work,
                      HassRunner *runners)
{
  guint n = 0;
  for (guint d = 0; d < k->u.n; d++)
    {
      runners[d] = (HassRunner){ 0 };
      if (hass_forecast_out (&k->f, d) || !hass_auto_arm_has (&k->u, arm, d))
        continue;
      if (d == k->u.cpu)
        whole_cpu (k, &runners[d]);
      else
        whole_gpu (k, arm, d, work, &runners[d]);
    }
  HassPlan plan = { runners, work, hass_fill (runners, k->u.n, work) };
  for (guint d = 0; d < k->u.n; d++)
    n += runners[d].runs;
  plan.finish_ns += n > 1 ? k->u.env->merge_ns : 0;
  /* Equal units on cores alone end in whole waves of one unit for each core. */
  if (arm == k->u.cpu && arm < k->u.n && runners[arm].rate > 0
      && k->u.env->cost == HASS_COST_EQUAL)
    plan.finish_ns = ceil (work / k->u.work / k->u.cores - 1e-9) * 2
                     * runners[arm].step_ns;
  return plan;
}

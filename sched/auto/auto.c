/* SPDX-License-Identifier: MIT */
/* auto.c: the default strategy, for every farm and machine: all devices that
   help finish together, and a device that would only be late is excluded.

   Own work. The square root for bundles is that of Kruskal and Weiss 1985,
   shrinking parts are guided self-scheduling (Polychronopoulos and Kuck 1987),
   the first small bundles those of Kaleem et al. 2014. A decision is one pass
   over the devices for each one that participates; bench/decision measures it.

   DESIGN. Modules, each with its own state; every one uses those above it only:

   - sched/levels: how unknown costs lie along a round
   - sched/units: work and elements of the present round's units
   - sched/fit: a service time as a line over work
   - sched/estimate: how fast each device is
   - sched/forecast: what each device holds, and which ones can be planned with
   - blocks: what sorted loads cost on a GPU
   - shape, pipeline: in what bundles copies and kernels of a GPU overlap best
   - sched/fill, plan, sorted: which devices participate, and when all finish
   - guard, solo: whether one device alone is faster than all together
   - ends: from which end of a round GPUs take
   - begin: order of a round; GPUs that cannot help
   - bundle, gpu: what a GPU gets
   - start, cpu: what cores get before GPUs are measured, and after
   - functions: what devices get in rounds of several functions, over
     sched/functions
   - auto: this file: passes the engine's events to the modules

   The first five and fill serve any strategy.

   1. When a device asks for work, the plan is made anew. From the work that
      waits, and the times at which devices will have done what they hold and
      copied what they need once a round, it computes the time T at which all
      devices finish together. A device is excluded that could not end its least
      bundle, or a core one unit, before the other devices were done with
      everything. Also excluded are a GPU whose inputs take cores longer to copy
      than to compute, and a negligible CPU pool whose units are long, when
      little work is left.
   2. A GPU gets a small bundle first. Each later one has at most 4 times the
      work of its largest so far, or 64 times where a launch hid the time of
      that. A bundle takes about sqrt (T * a / u) ns, where a is the fixed part
      of its time and u the relative uncertainty of its prediction; it is never
      more than the GPU's part of the plan, and all of the part when the
      remainder is not worth a launch or no other device helps.
   3. The CPU pool gets most of its part of the plan as a share, from which its
      cores pull without asking and from whose back GPUs may steal. At the end
      cores get single units, each only if a core ends it by T. Long units wait
      while a GPU is about to show its rate better, and a round of few units
      waits for that before a core begins any. Some cores are left to the
      start of a GPU, which takes longer beside busy cores. Where costs are
      known no core gets a unit that would outlast the round.
   4. A device is answered WAIT only while it holds something itself or the plan
      has another device that is not answered WAIT. A device whose grant failed
      gets single units until one succeeds. Units are kept for GPUs that are
      open and were never tried.
   5. Indivisible loads of known sizes are sorted. A bundle of them counts for
      the work with which its multiprocessors are kept busy: waiting for the
      last one is included, and the part of a load's time that does not depend
      on its size. From this follows at which load GPUs and cores meet if the
      GPUs get the largest or the smallest, and the way that ends first is
      chosen. Until that is known a GPU gets the smallest, and one bundle from
      the other end. Loads are not sorted where they are data that kernels would
      have to wait for.

   Loses where rates change faster than a bundle; where the first bundles are
   not like the rest; in a first round that one unit on a core, unless its
   worker asks whether to stop, or one filled bundle on a slow GPU, outlasts,
   tried because nothing is known; against a
   strategy that knows costs where they are unknown and differ much. The guard
   goes by measurement, not by law: doc/results/auto.md says how often one
   device alone would have been faster.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* Number of units of a bundle that are looked at for its mean number of
   elements. More are more precise, and cost time in each decision. A guess. */
#define LOOKED_AT 32
/* A bundle with more than SURELY_FILLS times the units that fill a GPU on
   average fills it, so its elements are not counted. A guess: less, and a
   bundle of small units may be taken to fill a GPU. */
#define SURELY_FILLS 8
/* Number of times that plan and bundle sizes are computed in turn at a round's
   begin, since the sizes of a GPU's bundles depend on its part of the plan, and
   the parts on the sizes. A guess: fewer are less precise, more cost time. */
#define PASSES 3
/* At least this fraction of a bundle's time counts as its own when the time of
   copies that happen once a round is subtracted. A guess: it keeps a wrong
   prediction of these copies from giving an infinite rate. */
#define LEAST_SERVED 0.1
/* In a round of at most FEW_BLOCKS thread blocks for each multiprocessor, a
   bundle counts as if each multiprocessor had one. In longer rounds only the
   last bundle is smaller, and its time shows what of a bundle's time does not
   depend on its work. A guess: more loses that, less measures a GPU by the few
   blocks that it got. */
#define FEW_BLOCKS 2

static const HassParameter parameters[] = {
  { "probe", 1 / 2048., 0, 1, "of the round that an unmeasured GPU takes" },
  { "in-flight", 0, 0, HASS_MOST_IN_FLIGHT,
    "bundles at a time on a GPU that can; 0: as it is best" },
  { .name = NULL },
};

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassAuto *s = g_new0 (HassAuto, 1);
  HassAutoKnown *k = &s->k;
  (void)error;
  hass_units_init (&k->u, env);
  hass_estimates_init (&k->e, &k->u,
                       (guint)env->parameters[HASS_AUTO_IN_FLIGHT]);
  hass_forecast_init (&k->f, &k->e);
  hass_auto_pipeline_init (&k->p, &k->f);
  hass_auto_blocks_init (&k->b, &k->e);
  hass_auto_guard_init (&s->guard, k);
  hass_auto_solo_init (&s->solo, k, &s->guard);
  hass_auto_ends_init (&s->ends, k, &s->guard);
  hass_auto_open_init (&s->open, env);
  hass_functions_init (&s->functions, &k->u, &k->f);
  s->plan.runners = g_new0 (HassRunner, MAX (k->u.n, 1));
  s->counts = g_new0 (guint64, MAX (k->u.n, 1));
  return s;
}

static void
destroy (gpointer self)
{
  HassAuto *s = self;
  hass_auto_open_clear (&s->open);
  hass_functions_clear (&s->functions);
  hass_auto_ends_clear (&s->ends);
  hass_auto_solo_clear (&s->solo);
  hass_auto_guard_clear (&s->guard);
  hass_auto_blocks_clear (&s->k.b);
  hass_auto_pipeline_clear (&s->k.p);
  hass_forecast_clear (&s->k.f);
  hass_estimates_clear (&s->k.e);
  hass_units_clear (&s->k.u);
  g_free (s->plan.runners);
  g_free (s->counts);
  g_free (s);
}

/* Returns TRUE if the CPU pool is the only device, so that there is nothing to
   decide. */
static gboolean
alone (const HassAuto *s)
{
  return s->k.u.n == 1 && s->k.u.cpu == 0;
}

/* -- Rounds ------------------------------------------------------------- */

static void
begin_pipeline (HassAuto *s, const HassRound *round)
{
  HassAutoKnown *k = &s->k;
  gboolean any = hass_auto_pipeline_begin (&k->p);
  for (guint i = 0; i < PASSES && any; i++)
    {
      s->plan
          = hass_auto_plan (k, round, s->guard.arm, k->u.n, s->plan.runners);
      hass_auto_pipeline_shapes (&k->p, &s->plan);
    }
  hass_auto_pipeline_begun (&k->p);
}

static void
begin_round (gpointer self, HassRound *round)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  if (alone (s))
    return;
  hass_estimates_begin_round (&k->e);
  hass_forecast_begin_round (&k->f);
  s->wait = (HassAutoWait){ 0 };
  hass_units_begin (&k->u, round);
  hass_auto_order (s, round);
  hass_units_ordered (&k->u, round);
  if (hass_functions_begin (&s->functions, round))
    return;
  for (guint d = 0; d < k->u.n; d++)
    {
      hass_forecast_entry (&k->f, d);
      hass_auto_judge (s, round, d);
    }
  hass_auto_guard_begin (&s->guard, round);
  hass_auto_solo_begin (&s->solo, round);
  hass_auto_ends_begin (&s->ends, round);
  begin_pipeline (s, round);
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  if (alone (s))
    return;
  k->f.spent_ns += summary->makespan_ns;
  if (s->functions.used)
    return;
  if (k->u.levels)
    {
      hass_levels_end (k->u.levels, k->u.n);
      HASS_NOTE (k->u.env,
                 "where costs lie is trusted by %.2f, bundles were off by %.3g",
                 hass_levels_trust (k->u.levels),
                 MAX (hass_levels_doubt (k->u.levels), 0));
    }
  hass_auto_ends_end (&s->ends, summary, s->solo.probed);
  if (!hass_auto_guard_counts (&s->guard, summary))
    return;
  hass_estimates_end_round (&k->e, summary, s->guard.round_work);
  hass_auto_solo_end (&s->solo);
  hass_auto_guard_end (&s->guard, summary, s->solo.probed);
}

/* -- Decisions ---------------------------------------------------------- */

/* Explains that a device waits. */
static HassAnswer
noted (const HassAuto *s, guint device, HassAnswer answer)
{
  const HassStrategyEnv *env = s->k.u.env;
  if (answer == HASS_WAIT)
    HASS_NOTE (env, "%s waits: %s", env->devices[device].name, s->why);
  return answer;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  const HassDeviceTraits *t = &k->u.devices[device];
  if (hass_round_waiting (round) + hass_round_exclusive (round, device)
          + hass_units_cpu_share (&k->u, round)
      == 0)
    return HASS_DONE;
  if (alone (s))
    return HASS_TAKE;
  if (hass_round_is_open (round))
    return hass_auto_open_grant (&s->open, round, device, force, grant);
  if (k->u.n == 1 && t->part_bytes > 0)
    {
      /* The device is granted all: the engine cuts a grant into parts whose
         copies overlap kernels. */
      s->why = "all, it is the only device";
      grant->source = HASS_FROM_BACK;
      return HASS_TAKE;
    }
  if (s->functions.used)
    {
      HassAnswer answer
          = device == k->u.cpu
                ? hass_auto_functions_cpu (s, round, force, grant)
                : hass_auto_functions_gpu (s, round, device, force, grant);
      return noted (s, device, answer);
    }
  k->u.blocks |= hass_units_simple (&k->u, round);
  hass_forecast_asked (&k->f, device, force);
  if (force)
    hass_auto_guard_give_up (&s->guard);
  if (k->u.cpu < k->u.n)
    hass_estimates_look_at_cpu (&k->e, round);
  HassAnswer answer
      = device == k->u.cpu
            ? hass_auto_grant_cpu (s, round, force, grant)
            : hass_auto_grant_gpu (s, round, device, force, grant);
  return noted (s, device, answer);
}

static void
explain (const HassAuto *s, guint device, const HassGrant *grant)
{
  const HassStrategyEnv *env = s->k.u.env;
  double finish_ns = s->plan.finish_ns;
  g_autofree char *done
      = finish_ns > 0 && isfinite (finish_ns)
            ? g_strdup_printf ("; all done in %.4g ms", finish_ns * 1e-6)
            : NULL;
  HASS_NOTE (env,
             "%s: %" G_GUINT64_FORMAT " units from %" G_GUINT64_FORMAT ": %s%s",
             env->devices[device].name, grant->taken, grant->first, s->why,
             done ? done : "");
}

/* Returns how many times its work a bundle could contain without taking longer,
   because it has fewer elements than the GPU has threads; at least 1. */
static double
unfilled (const HassAutoKnown *k, const HassRound *round, guint device,
          const HassGrant *grant)
{
  double blocks = k->u.devices[device].cores;
  if (k->u.blocks)
    return k->u.listed || hass_round_units (round) > FEW_BLOCKS * blocks
               ? 1
               : MAX (1, blocks / grant->taken);
  if (k->p.of[device].smooth
      || hass_units_fill (&k->u, device) * SURELY_FILLS < grant->taken)
    return 1;
  double elements = grant->taken
                    * hass_units_elements (&k->u, round, grant->first,
                                           grant->taken, LOOKED_AT);
  return MAX (1, k->u.devices[device].width / MAX (elements, 1));
}

static void
gpu_granted (HassAuto *s, const HassRound *round, guint device,
             const HassGrant *grant)
{
  HassAutoKnown *k = &s->k;
  double times = unfilled (k, round, device, grant);
  double work = hass_units_work (&k->u, round, grant->first, grant->taken);
  if (k->f.seats[device].n_bundles == HASS_MOST_IN_FLIGHT)
    return;
  work = k->u.listed ? hass_auto_blocks_work (&k->b, round, device,
                                              grant->first, grant->taken)
                     : work * times;
  HassBundle b
      = hass_forecast_bundle (&k->f, round, grant, device, work, times);
  hass_auto_solo_granted (&s->solo, device, work);
  hass_auto_pipeline_granted (&k->p, device, &b);
  hass_forecast_granted (&k->f, device, &b);
  hass_auto_pipeline_rest (&k->p, &s->plan, device, work);
}

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  if (alone (s) || grant->taken == 0)
    return;
  if (hass_round_is_open (round))
    {
      hass_auto_open_granted (&s->open, round, device, grant);
      return;
    }
  if (k->u.env->note)
    explain (s, device, grant);
  if (s->functions.used)
    {
      hass_functions_granted (&s->functions, round, device, grant);
      return;
    }
  if (device == k->u.cpu)
    {
      hass_forecast_cpu_granted (&k->f, (gint64)grant->taken);
      hass_auto_solo_granted (&s->solo, device, 1);
      return;
    }
  if (grant->source == HASS_FROM_THEFT && k->u.cpu < k->u.n)
    {
      hass_forecast_cpu_granted (&k->f, -(gint64)grant->taken);
      k->u.share_back = grant->first;
    }
  gpu_granted (s, round, device, grant);
}

/* -- What happened ------------------------------------------------------ */

/* Learns from a bundle of a GPU that has succeeded. ns: its service time, which
   counts from the end of the GPU's bundle before it. */
static void
learn (HassAuto *s, const HassRound *round, const HassCompletion *done,
       const HassBundle *b, double ns)
{
  HassAutoKnown *k = &s->k;
  double copy_ns = b->enters ? k->f.seats[done->device].copy_ns : 0;
  if (k->u.listed)
    hass_auto_blocks_observe (&k->b, round, done, b, copy_ns);
  double served_ns = MAX (ns - copy_ns, LEAST_SERVED * ns);
  ns = hass_estimates_without_wait (&k->e, done, copy_ns, ns);
  if (copy_ns > 0)
    served_ns = ns;
  hass_auto_solo_done (&s->solo, done->device, served_ns);
  if (hass_estimates_observe (&k->e, done, b, copy_ns, ns, served_ns))
    hass_auto_pipeline_observe (&k->p, done, b, copy_ns);
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *told)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  if (alone (s))
    return;
  if (hass_round_is_open (round))
    {
      hass_auto_open_observe (&s->open, told);
      return;
    }
  double shift_ns = hass_forecast_clock (&k->f, round, told);
  if (s->functions.used)
    {
      hass_functions_observe (&s->functions, told);
      return;
    }
  hass_auto_pipeline_shift (&k->p, shift_ns);
  if (told->device == k->u.cpu)
    {
      hass_estimates_look_at_cpu (&k->e, round);
      hass_auto_guard_watch (&s->guard);
      return;
    }
  HassCompletion done = hass_estimates_without_setup (&k->e, told);
  HassBundle b;
  double ns;
  if (!hass_forecast_done (&k->f, &done, &b, &ns))
    return;
  hass_auto_pipeline_idle (&k->p, &s->plan, done.device);
  hass_auto_guard_watch (&s->guard);
  if (!done.failed && done.units > 0)
    learn (s, round, &done, &b, ns);
}

/* The cores get nothing more in this round, as what was taken from them would
   come back to them. A unit is assumed to take a core twice as long as it has
   computed, so that later rounds do not begin with the same mistake. */
static void
taken (HassAutoKnown *k, const HassBegun *begun, guint n)
{
  HassEstimate *cpu = &k->e.of[k->u.cpu];
  guint64 units = 0;
  double work = 0, ns = 0;
  for (guint i = 0; i < n; i++)
    if (begun[i].take)
      {
        units += begun[i].units;
        work += begun[i].work;
        ns += begun[i].ns;
      }
  if (units == 0)
    return;
  hass_forecast_cpu_granted (&k->f, -(gint64)units);
  k->f.seats[k->u.cpu].hopeless = TRUE;
  if (cpu->shown.busy_ns <= 0 && cpu->prior_rate <= 0)
    cpu->prior_rate = work * k->u.cores / (2 * ns);
  HASS_NOTE (k->u.env,
             "%" G_GUINT64_FORMAT " units are taken from cores that have "
             "computed for %.4g ms in all",
             units, ns * 1e-6);
}

static gint64
spoliate (gpointer self, HassRound *round, guint device, HassBegun *begun,
          guint n)
{
  HassAuto *s = self;
  HassAutoKnown *k = &s->k;
  if (s->functions.used || hass_forecast_out (&k->f, device)
      || !hass_auto_arm_has (&k->u, s->guard.arm, device)
      || !hass_estimates_known (&k->e, round, device))
    return 0;
  const HassFit *fit = hass_estimates_fit (&k->e, round, device, TRUE);
  double rate = hass_estimates_gpu_rate (&k->e, device, 0, fit);
  HassSpoliator by
      = { .fixed_ns = fit->seen > 0
                          ? hass_estimates_fixed_ns (&k->e, round, device, fit)
                          : k->e.of[device].prior_ns,
          .ns_per_work = 1 / rate,
          .fill = hass_units_fill_work (&k->u, device) / k->u.work,
          .core_rate = hass_estimates_core_rate (&k->e) };
  gint64 again_ns = rate > 0 ? hass_spoliation (&by, begun, n) : 0;
  taken (k, begun, n);
  return again_ns;
}

const HassStrategyOps hass_auto = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "auto",
  .summary = "all devices that help finish together, late ones are excluded",
  .source = "after Kruskal and Weiss 1985 and Kaleem et al. 2014",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .granted = granted,
  .observe = observe,
  .end_round = end_round,
  .destroy = destroy,
  .flags = HASS_STRATEGY_OPEN,
  .spoliate = spoliate,
};

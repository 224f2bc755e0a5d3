/* SPDX-License-Identifier: MIT */
/* bundle.c: how much work a GPU gets in one bundle.

   DESIGN. The time of a bundle is derived from the GPU's part of the plan, in
   steps:
   1. Worth: as much as is worth a launch and leaves room to correct the plan:
      the square root of Kruskal and Weiss 1985. The first is small where copies
      overlap kernels, or other GPUs wait for the link.
   2. Care: where costs are unknown, a small part of the round, because the next
      units may cost many times more, until rounds have shown by how much. Every
      other bundle is larger, to tell the fixed part of its time from the slope.
   3. Filling: at least what fills the GPU, and sometimes more, as some GPUs
      reach their rate only when filled several times over. A GPU that cuts its
      grants gets at least what it submits at once, as more bundles overlap no
      better and cost a launch each; but a smaller first one where kernels wait
      for its copy.
   4. Rest: all of its part where the remainder is not worth a launch.
   5. Growth: not many times more than its largest so far, unless costs are
      equal and a launch hid the time of that, or the GPU does all alone.
   6. Overlap: where copies and kernels are predicted separately, no more than
      pipeline-private.h says: it keeps the first and the last copy short.
   7. Too early: where costs are uncertain, no bundle queues that may end after
      the other devices, as these cannot help with what queues.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* A bundle has at most GROWTH times the work of the GPU's largest bundle so
   far. Larger, and one wrong estimate of the rate costs a round; smaller, and a
   short round is over before bundles are large. A guess. */
#define GROWTH 4
/* Where costs are equal and a launch hid what the largest bundle's work took,
   or the GPU computes the round alone, the bound is LARGE_GROWTH times the
   largest bundle. A guess. */
#define LARGE_GROWTH 64
/* Least fixed part of a bundle's time (the part that does not depend on its
   work), in ns. Measured: no launch on any GPU was cheaper. */
#define LEAST_FIXED_NS 2e3
/* Where copies overlap no kernels, a bundle may take at least this fraction of
   the GPU's part of the plan, so that a few large bundles come first. A guess:
   more leaves less room to correct the plan, less costs more launches. */
#define FACTOR 0.3
/* Least relative uncertainty of a predicted bundle time, by cost class; a
   bundle takes about sqrt (finish time * fixed part / uncertainty), so larger
   values mean smaller bundles. Guesses. */
static const double least_uncertainty[] = {
  [HASS_COST_EQUAL] = 0.02, [HASS_COST_SIZED] = 0.05, [HASS_COST_UNKNOWN] = 0.15
};
/* Least relative uncertainty where another GPU waits for the link while this
   one copies: a larger value makes its bundles smaller, so that the other GPU
   waits less. A guess. */
#define SHARED_LINK 0.25
/* Least relative uncertainty in place of SHARED_LINK where all units cost the
   same. A guess: more costs launches. */
#define SHARED_EQUAL 0.07
/* Least relative uncertainty of a GPU while its fit (its line of bundle time
   over work) has seen fewer than NEW_BUNDLES bundles; the measured error of a
   fit counts for no more than NEW. A guess. */
#define NEW 0.25
/* Bundles after which a fit is not new. A guess: more keeps bundles small. */
#define NEW_BUNDLES 3
/* The least uncertainty is multiplied by KNOWN_STAGES where copies and kernels
   of a GPU are predicted separately, which is more precise. A guess. */
#define KNOWN_STAGES 0.25
/* Where costs are unknown, a bundle takes at most this fraction of the time of
   the round, since the next units may cost many times more; or MOST_LAUNCHES
   fixed parts, if that is longer. A guess: more lets one bundle delay the
   end. */
#define LARGEST_UNKNOWN 0.02
/* Where costs are unknown, a bundle may always take this many times its fixed
   part, as launches would otherwise take most of the time. A guess. */
#define MOST_LAUNCHES 12
/* A bundle that would queue behind another is held back, where costs are
   unknown and their relative uncertainty exceeds MUCH_UNKNOWN, if it may end
   after the other devices. A guess: less idles GPUs. */
#define MUCH_UNKNOWN 0.3
/* A bundle that would queue is held back if it would end after finish time / (1
   + KEPT_BACK * uncertainty). A guess: more, and GPUs idle near the end. */
#define KEPT_BACK 3
/* Where costs are unknown, every other bundle takes EVERY_OTHER times as long,
   so that sizes differ enough for hass_fit_compare() to find the fixed part of
   their time. A guess, above the ratio of 1.3 that this needs. */
#define EVERY_OTHER 1.5
/* The first bundle of a round fills the GPU MUCH_FILLED times over, until one
   bundle was as large: some GPUs reach their rate only then. A guess: more
   delays short rounds. */
#define MUCH_FILLED 3
/* While all bundles had about the same size, the next one fills the GPU at
   least TWICE over, so that sizes differ and the fixed part can be told from
   the slope. A guess. */
#define TWICE 2
/* A bundle is enlarged to the size that the device submits at once, but not
   beyond this fraction of the GPU's part of the plan, so that its last bundles
   are small. A guess. */
#define WHOLE_PART 0.5
/* The size that a device submits at once is disregarded if its time exceeds
   this fraction of the time of the round. A guess: more, and one bundle may
   delay the end of the round. */
#define MOST_WHOLE 0.25
/* A GPU that is known from earlier runs only, and not yet measured in this one,
   gets at most this fraction of its part of the plan in a bundle. A guess:
   more, and a stored rate that no longer holds costs a round. */
#define PRIOR_PART (1 / 16.)
/* Or, if that is more, it takes PRIOR_FIXED times as long as the fixed part of
   a bundle's time. A guess: less, and it costs nearly as much as a larger one.
 */
#define PRIOR_FIXED 2
/* PRIOR_PART is multiplied by PRIOR_COPIED where units are mostly data, since
   cores may have to copy them into pinned memory for the GPU, which is unknown
   before the first bundle is back. A guess. */
#define PRIOR_COPIED 0.25
/* Where copies overlap kernels, the next bundle may have at least LEAST_GROWN
   times the work of the round's largest so far, and at most GROWTH times. A
   guess: with 1 bundles would stay as small as the first. */
#define LEAST_GROWN 1.2

/**
 * Bundle: what the size of a GPU's next bundle is computed from.
 * @m: what is measured of the GPU.
 * @seat: what the GPU holds at present.
 * @r: the GPU in the plan: its rate and when it is ready.
 * @fit: predicted time of a bundle as a line over its work.
 * @unknown: the farm does not state the costs of its units.
 * @u: relative uncertainty of a predicted time.
 * @fixed_ns: time that one more bundle costs whatever its work.
 * @part_ns: time that the GPU needs for its whole part of the plan.
 * @piped_ns: time of the bundle with which copies overlap kernels best; 0: the
 *   times of copies and kernels are not known separately.
 * @whole_ns: time of what the device submits at once; 0: disregarded.
 * @large_ns: a bundle of this time is never too large; 0: no such time.
 */
typedef struct
{
  const HassEstimate *m;
  const HassSeat *seat;
  const HassRunner *r;
  const HassFit *fit;
  gboolean unknown;
  double u, fixed_ns, part_ns, piped_ns, whole_ns, large_ns;
} Bundle;

/* Returns the relative error that predicted costs of bundles have shown; less
   than 0 where costs are known or no error was seen yet. */
static double
doubt (const HassAuto *s)
{
  return s->k.u.levels ? hass_levels_doubt (s->k.u.levels) : -1;
}

/* Returns TRUE if a device that is not measured yet may still get units of this
   round; then the plan is uncertain. */
static gboolean
may_join (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->k.u.n; d++)
    if (!hass_forecast_out (&s->k.f, d)
        && !hass_estimates_measured (&s->k.e, round, d)
        && !hass_auto_closed (s, round, d)
        && (s->plan.runners[d].runs
            || !hass_estimates_known (&s->k.e, round, d)))
      return TRUE;
  return FALSE;
}

static double
uncertainty (const HassAuto *s, const HassRound *round, const HassFit *fit,
             gboolean piped)
{
  double error = MIN (fit->error, NEW);
  double u = MAX (
      least_uncertainty[s->k.u.env->cost] * (piped ? KNOWN_STAGES : 1), error);
  if (doubt (s) >= 0)
    u = MAX (CLAMP (doubt (s), least_uncertainty[HASS_COST_EQUAL], 1), error);
  return fit->seen < NEW_BUNDLES || may_join (s, round) ? MAX (u, NEW) : u;
}

/* Returns the longest time of a bundle with which copies overlap kernels: a
   small first bundle, later ones whose copy takes no longer than the kernel of
   the bundle before, and never all that is left at once. With p the fraction of
   a bundle's time that overlap saves, the even size is sqrt (part * fixed part
   / p). */
static double
overlapping_ns (const HassAuto *s, guint device, double part_ns,
                double fixed_ns)
{
  double largest = s->k.f.seats[device].round_largest;
  double part = hass_estimates_alone_part (&s->k.e, device);
  if (part * part_ns < 2 * fixed_ns)
    return part_ns;
  double even_ns = sqrt (part_ns * fixed_ns / part);
  if (largest <= 0)
    return even_ns;
  double grown_ns = largest / s->plan.runners[device].rate
                    * CLAMP (1 / part, LEAST_GROWN, GROWTH);
  return MAX (MIN (part_ns / 2, grown_ns), even_ns);
}

/* Returns work of the CPU pool's part of the plan that had better go to the GPU
   with its last bundle: units that cannot be cut, which cores would begin but
   end after the planned finish. 0 where a launch is so cheap that this can be
   decided later. */
static double
late_work (const HassAuto *s, const HassRound *round, double gpu_rate,
           double fixed_ns)
{
  const HassUnits *u = &s->k.u;
  double finish_ns = s->plan.finish_ns;
  if (u->cpu == u->n || !s->plan.runners[u->cpu].runs
      || u->env->cost == HASS_COST_UNKNOWN)
    return 0;
  const HassRunner *cpu = &s->plan.runners[u->cpu];
  double wave = u->cores * hass_units_next_work (u, round, FALSE, 1);
  double unit_ns = wave / cpu->rate;
  double free_ns = hass_forecast_core_free_ns (&s->k.f, round, unit_ns);
  double waves = floor ((finish_ns - free_ns) / unit_ns * (1 + 1e-9));
  double late = cpu->rate * (finish_ns - cpu->ready_ns) - waves * wave;
  double end_ns = free_ns + (waves + 1) * unit_ns;
  double with_ns = finish_ns + late / gpu_rate;
  return late > 0 && with_ns < end_ns && end_ns < with_ns + fixed_ns ? late : 0;
}

/* Returns the time that one more bundle costs whatever its work, in ns: its
   fixed part as predicted for a bundle that queues behind others, if such
   bundles were measured, and else for a bundle that finds the device idle. */
static double
launch_ns (const HassAuto *s, const HassRound *round, guint device)
{
  const HassEstimates *e = &s->k.e;
  const HassFit *fit = hass_estimates_fit (e, round, device,
                                           s->k.f.seats[device].n_bundles == 0);
  const HassFit *queued = hass_estimates_fit (e, round, device, FALSE);
  const HassFit *idle = hass_estimates_fit (e, round, device, TRUE);
  if (hass_estimates_overlaps (e, device) && queued->seen > 0
      && (queued->spread || !fit->spread))
    fit = queued;
  else if (!fit->spread && idle->spread)
    fit = idle;
  return MAX (fit->seen > 0 ? hass_estimates_fixed_ns (e, round, device, fit)
                            : e->of[device].prior_ns,
              LEAST_FIXED_NS);
}

/* Returns TRUE if another GPU that participates in the plan holds no bundle and
   shares the link of this one: then that GPU waits while this one copies. */
static gboolean
in_the_way (const HassAuto *s, guint device)
{
  const HassDeviceTraits *t = s->k.u.devices;
  for (guint d = 0; d < s->k.u.n && t[device].link != 0; d++)
    if (d != device && s->plan.runners[d].runs && t[d].link == t[device].link
        && s->k.f.seats[d].n_bundles == 0)
      return TRUE;
  return FALSE;
}

/* For step 3 of the DESIGN, filling: returns the time of what the device
   submits at once. 0 if that is too much of the round, if nothing is copied, or
   if the first kernel would wait long for its copy, where a smaller first
   bundle is better. */
static double
whole_ns (const HassAuto *s, guint device, double rate)
{
  const HassUnits *u = &s->k.u;
  double round_ns = s->plan.finish_ns + (s->k.f.now_ns - s->k.f.begin_ns);
  const HassEstimate *m = &s->k.e.of[device];
  gboolean exposed = s->k.f.seats[device].n_bundles == 0 && m->in_ns > 0
                     && m->in_ns < m->kernels_ns;
  if (u->env->cost == HASS_COST_UNKNOWN || u->bytes <= 0 || exposed)
    return 0;
  double units = u->devices[device].part_bytes / u->bytes;
  double ns = units * u->work / rate;
  return ns < MOST_WHOLE * round_ns ? ns : 0;
}

static Bundle
bundle_for (const HassAuto *s, const HassRound *round, guint device)
{
  HassCostClass cost = s->k.u.env->cost;
  Bundle b = { .m = &s->k.e.of[device],
               .seat = &s->k.f.seats[device],
               .r = &s->plan.runners[device],
               .unknown = cost == HASS_COST_UNKNOWN };
  gboolean piped = hass_auto_pipelined (&s->k.p, device);
  gboolean shares = !piped && in_the_way (s, device);
  b.fit = piped ? &s->k.p.of[device].stages[HASS_AUTO_KERNEL]
                : hass_estimates_fit (&s->k.e, round, device,
                                      b.seat->n_bundles == 0);
  b.u = uncertainty (s, round, b.fit, piped);
  if (shares)
    b.u = MAX (b.u, cost == HASS_COST_EQUAL ? SHARED_EQUAL : SHARED_LINK);
  gboolean overlaps = hass_estimates_overlaps (&s->k.e, device);
  b.fixed_ns = piped && overlaps ? MAX (b.fit->fixed_ns, LEAST_FIXED_NS)
                                 : launch_ns (s, round, device);
  b.part_ns = MAX (s->plan.finish_ns - b.r->ready_ns, b.r->step_ns);
  if (piped)
    b.piped_ns = hass_auto_pipeline_next (&s->k.p, &s->plan, device,
                                          b.part_ns * b.r->rate)
                 / b.r->rate;
  b.whole_ns = whole_ns (s, device, b.r->rate);
  /* Where the launch of a bundle overlaps nothing, a few large bundles come
     first. */
  if (!shares && !overlaps)
    b.large_ns = FACTOR * b.part_ns;
  return b;
}

/* -- The steps ---------------------------------------------------------- */

/* Step 1 of the DESIGN, worth: returns the time of a bundle that is worth its
   launch and leaves room to correct the plan: sqrt (finish time * fixed part /
   uncertainty), after Kruskal and Weiss 1985, and no more than the GPU's
   part. */
static double
worth_ns (HassAuto *s, guint device, const Bundle *b)
{
  double finish_ns = s->plan.finish_ns;
  double even_ns = MAX (sqrt (finish_ns * b->fixed_ns / b->u), b->large_ns);
  double ns = MIN (b->part_ns / (1 + 2 * b->u), even_ns);
  s->why = "as much as is worth a launch";
  if (s->guard.arm == device)
    ns = b->part_ns; /* the round is given to this GPU alone */
  if (b->piped_ns <= 0)
    ns = MIN (ns, overlapping_ns (s, device, b->part_ns, b->fixed_ns));
  /* A bundle that would queue is smaller: the units held back are granted when
     it is clearer which device is late. */
  if (b->seat->n_bundles > 0)
    ns = MIN (ns, finish_ns / (1 + 2 * b->u) - b->r->ready_ns);
  return ns;
}

/* Step 2 of the DESIGN, care: where costs are unknown, bounds the time ns of a
   bundle by a small fraction of the round's, because the next units may cost
   many times more; and makes every other bundle larger (by whole waves of
   thread blocks), to tell the fixed part of a bundle's time from the slope. */
static double
careful_ns (const HassAuto *s, const Bundle *b, double ns)
{
  double round_ns = s->plan.finish_ns + (s->k.f.now_ns - s->k.f.begin_ns);
  double most_ns
      = MAX (LARGEST_UNKNOWN * round_ns, MOST_LAUNCHES * b->fixed_ns);
  if (!b->unknown)
    return ns;
  ns = MIN (ns, doubt (s) >= 0 ? b->part_ns : MAX (most_ns, b->large_ns));
  double least_ns
      = s->k.u.blocks ? MIN (TWICE * b->r->fill_ns, b->part_ns / 2) : 0;
  double other_ns = MAX (MIN (EVERY_OTHER * ns, b->part_ns / 4), least_ns);
  return b->seat->n_given % 2 ? other_ns : ns;
}

/* Step 3 of the DESIGN, filling: raises the time ns of a bundle to that of the
   least number of units that fills the GPU, or to that of what the device
   submits at once, since a smaller bundle would take as long. */
static double
filling_ns (const Bundle *b, double ns)
{
  double fill_ns = b->r->fill_ns;
  ns = MAX (ns, MIN (b->whole_ns, WHOLE_PART * b->part_ns));
  ns = MAX (ns, MIN (fill_ns, b->part_ns));
  if (b->m->largest < MUCH_FILLED * fill_ns * b->r->rate
      && b->seat->n_bundles == 0)
    ns = MAX (ns, MIN (MUCH_FILLED * fill_ns, b->part_ns / 4));
  if (!b->fit->spread && b->fit->seen >= 2)
    ns = MAX (ns, MIN (TWICE * fill_ns, b->part_ns / (b->unknown ? 16 : 2)));
  return ns;
}

/* Step 5 of the DESIGN, growth: returns how many times the work of the GPU's
   largest bundle so far the next one may have: usually GROWTH, and 1 after a
   single bundle where units are long. It is LARGE_GROWTH where the fixed part
   of that bundle's time (its launch, or the time that fills the GPU) hid what
   its work took, as the rate may be far higher than it seems; but where it is
   unknown how many elements fill the GPU, a larger bundle may take many times
   longer. */
static double
growth_of (const HassAuto *s, guint device, const Bundle *b)
{
  double latency_ns = s->k.u.devices[device].latency_ns;
  gboolean hides = (hass_units_fill (&s->k.u, device) > 0
                    || b->fit->fixed_ns <= 2 * latency_ns)
                   && hass_fit_hides (b->fit, b->m->largest);
  if (s->k.u.env->cost == HASS_COST_EQUAL && (s->guard.arm == device || hides))
    return LARGE_GROWTH;
  return b->m->n_done == 1 && hass_estimates_long_units (&s->k.e) ? 1 : GROWTH;
}

/* Step 7 of the DESIGN, too early: returns TRUE if a bundle of time ns that
   would queue behind another may end after the other devices, as costs are too
   uncertain; no other device could help with units that queue. */
static gboolean
too_early (const HassAuto *s, guint device, const Bundle *b, double ns)
{
  return s->guard.arm != device && b->unknown && b->u > MUCH_UNKNOWN
         && b->seat->n_bundles > 0
         && b->r->ready_ns + ns > s->plan.finish_ns / (1 + KEPT_BACK * b->u);
}

/* Returns the time that the next bundle of a GPU should take, in ns, before
   bounds on its work; 0: the GPU gets no bundle now, but is asked again after
   the next completion. */
static double
bundle_ns (HassAuto *s, const HassRound *round, guint device, const Bundle *b)
{
  double ns = worth_ns (s, device, b);
  ns = filling_ns (b, careful_ns (s, b, ns));
  if (too_early (s, device, b, ns))
    return 0;
  /* Step 4 of the DESIGN, rest: what remains after this bundle is not worth a
     launch. */
  gboolean rest = b->part_ns - ns < MAX (2 * b->fixed_ns, b->r->fill_ns);
  /* Step 6 of the DESIGN, overlap: the size with which copies overlap kernels
     best is an upper bound. */
  gboolean piped = b->piped_ns > 0 && b->piped_ns < b->part_ns
                   && (rest || ns >= b->piped_ns);
  if (piped)
    ns = b->piped_ns;
  if (!hass_estimates_measured (&s->k.e, round, device))
    {
      s->why = "a first bundle, by what earlier runs have shown";
      /* Before a bundle is back it is unknown whether cores copy its input. */
      double part
          = PRIOR_PART * (hass_units_are_data (round) ? PRIOR_COPIED : 1);
      double most_ns = MAX (part * b->part_ns, PRIOR_FIXED * b->fixed_ns);
      ns = b->seat->n_bundles < 2 ? MIN (ns, most_ns) : 0;
    }
  else if (rest && !piped)
    {
      s->why = "all of its part";
      return b->part_ns
             + late_work (s, round, b->r->rate, b->fixed_ns) / b->r->rate;
    }
  if (b->seat->n_bundles > 0 && !piped && ns < 2 * b->fixed_ns)
    return 0;
  return ns;
}

double
hass_auto_bundle_work (HassAuto *s, const HassRound *round, guint device)
{
  double rate = s->plan.runners[device].rate;
  s->why = "until it is clearer which device is late";
  if (rate <= 0)
    return 0;
  Bundle b = bundle_for (s, round, device);
  double ns = bundle_ns (s, round, device, &b);
  if (ns <= 0)
    {
      s->why = "until it is clearer which device is late";
      return 0;
    }
  /* Half a unit is added because the engine rounds down to whole units: else
     one unit of the part would remain and cost a launch. */
  double work = ns * rate + 0.5 * s->k.u.work;
  if (b.m->largest > 0)
    work = MIN (work, growth_of (s, device, &b) * b.m->largest);
  if (!hass_forecast_all_known (&s->k.f, round))
    work = MIN (work, s->plan.work / (2 * s->k.u.n));
  work = MAX (work, MIN (b.r->fill_ns, b.part_ns) * rate);
  return MAX (work, G_MINDOUBLE);
}

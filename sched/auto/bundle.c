/* SPDX-License-Identifier: MIT */
/* bundle.c: how much a GPU gets at a time.

   DESIGN. A bundle's time, from the GPU's part of the plan:
   1. As much as is worth a launch and leaves room to correct the plan: the
      square root of Kruskal and Weiss 1985; first a small one where copies
      overlap kernels, or where other GPUs wait for the link.
   2. Where costs are unknown a small part of the round, because the next units
      may cost many times more, until rounds have shown by how much; every other
      one is larger, so that a bundle's fixed part can be told from its slope.
   3. At least what fills the GPU, and sometimes more, as some GPUs reach their
      rate only when they are filled several times over. A GPU that cuts its
      grants gets what it hands over at once: more bundles overlap no better and
      cost a launch each; but for the first one where kernels wait for its copy
      and take longer than copies.
   4. All of its part where the remainder would not be worth a launch.
   5. Never many times more than its largest so far, unless costs are equal and
      a launch hid all of that, or the GPU does all alone, where more bundles
      would only make it look slower.
   6. Where the stages of bundles are known, no more than pipeline-private.h
      says, however small that is: it makes the first or the last copy short.
   7. Where costs are far from known none queues that may end after the other
      devices, however small: no other device can help with what queues.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* A bundle over the largest so far; and where that one shows little. Larger,
   and one wrong estimate costs a round; smaller, and a short round is over
   first. Guesses. */
#define GROWTH 4
#define LARGE_GROWTH 64
/* No launch was measured to be cheaper. */
#define LEAST_FIXED_NS 2e3
/* Of its part, where nothing overlaps: factoring takes about half; a guess. */
#define FACTOR 0.3
/* Least relative uncertainties: by cost class; where another GPU waits for the
   link, and then where costs are equal; before enough is seen; and where stages
   are known, times the first. Larger ones mean smaller bundles. Guesses. */
static const double least_uncertainty[] = {
  [HASS_COST_EQUAL] = 0.02, [HASS_COST_SIZED] = 0.05, [HASS_COST_UNKNOWN] = 0.15
};
#define SHARED_LINK 0.25
#define SHARED_EQUAL 0.07
#define NEW 0.25
#define NEW_BUNDLES 3
#define KNOWN_STAGES 0.25
/* The most where costs are unknown: of a round, or so many fixed parts; both
   are guesses. */
#define LARGEST_UNKNOWN 0.02
#define MOST_LAUNCHES 12
/* From this uncertainty on no bundle queues that may end after so many times
   it, of the remaining time. Guesses. */
#define MUCH_UNKNOWN 0.3
#define KEPT_BACK 3
/* Every other bundle is so many times as large, so that sizes differ. A guess
   above the least ratio of hass_fit_compare(). */
#define EVERY_OTHER 1.5
/* Times over that the first bundle of a round fills the GPU, and bundles until
   sizes have differed. Guesses. */
#define MUCH_FILLED 3
#define TWICE 2
/* What is handed over at once: no more than such a part of the GPU's part, so
   that the last are small; and no matter if it is such a part of the round. */
#define WHOLE_PART 0.5
#define MOST_WHOLE 0.25
/* The engine opens no GPU for less than twice the time that takes, see
   HassDeviceTraits. */
#define OPENINGS 2
/* Of its part, to a GPU known from earlier runs alone; and of that, where cores
   may have to copy for it. Guesses. */
#define PRIOR_PART (1 / 16.)
#define PRIOR_COPIED 0.25
/* Growth of bundles between the first and the largest; a guess. */
#define LEAST_GROWN 1.2

/**
 * Bundle: what a bundle's size depends on.
 * @unknown: costs are. @u: relative uncertainty of the prediction.
 * @fixed_ns: what a bundle more costs. @part_ns: time of the GPU's part.
 * @piped_ns: 6; 0: stages are unknown.
 * @whole_ns: what is handed over at once; 0: no matter.
 * @large_ns: never too much; 0: nothing is.
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

/* How far predictions of unknown costs were off; less than 0: not seen yet. */
static double
doubt (const HassAuto *s)
{
  return s->k.u.levels ? hass_levels_doubt (s->k.u.levels) : -1;
}

/* The device opens too late for the round, or the engine will not open it. */
static gboolean
is_closed (const HassAuto *s, const HassRound *round, guint device)
{
  const HassDeviceTraits *t = &s->k.u.devices[device];
  double now_ns = MAX (s->k.f.now_ns, hass_round_begin_ns (round));
  return t->opening
         && (t->opens_at_ns > 0 ? t->opens_at_ns > now_ns + s->plan.finish_ns
                                : s->plan.finish_ns < OPENINGS * t->opening_ns);
}

/* A device that has not been measured may yet participate. */
static gboolean
may_join (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->k.u.n; d++)
    if (!hass_forecast_out (&s->k.f, d)
        && !hass_estimates_measured (&s->k.e, round, d)
        && !is_closed (s, round, d)
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

/* So that copies overlap kernels: a small bundle first, none whose copy would
   take longer than the kernel of the one before, and not all that is left at
   once. */
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

/* Work of the plan that cores would only begin and not end in time, because a
   unit cannot be cut, and so late that a GPU had better do it now. Where a
   launch is cheap that is decided when it is due. */
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

/* No other device helps, and the engine cuts what this one gets so that copies
   overlap: there is no more to decide. A device that is closed for the rest of
   the round does not help, but how long that is is clear only where costs are
   equal. */
static gboolean
by_itself (const HassAuto *s, const HassRound *round, guint device)
{
  const HassStrategyEnv *env = s->k.u.env;
  gboolean others = FALSE;
  for (guint d = 0; d < s->k.u.n; d++)
    others |= d != device
              && (s->plan.runners[d].runs
                  || (!hass_forecast_out (&s->k.f, d)
                      && !hass_estimates_known (&s->k.e, round, d)
                      && (env->cost != HASS_COST_EQUAL
                          || !is_closed (s, round, d))));
  return !others && env->devices[device].part_bytes > 0
         && env->farm != HASS_FARM_FUNCTION
         && hass_estimates_measured (&s->k.e, round, device);
}

/* What one more bundle costs: where it would queue, no more than that. */
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
  double latency_ns = s->k.u.devices[device].latency_ns;
  return MAX (fit->seen > 0 ? hass_estimates_fixed_ns (e, round, device, fit)
                            : latency_ns,
              LEAST_FIXED_NS);
}

/* A GPU that participates waits for the link while this one copies. */
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

/* 3. Time of what a GPU hands over at once; 0: it is too much of a round, or
   nothing is copied, or less is better. */
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
  /* Where a launch overlaps nothing, a few large ones first. */
  if (!shares && !overlaps)
    b.large_ns = FACTOR * b.part_ns;
  return b;
}

/* -- The steps ---------------------------------------------------------- */

/* 1. */
static double
worth_ns (HassAuto *s, guint device, const Bundle *b)
{
  double finish_ns = s->plan.finish_ns;
  double even_ns = MAX (sqrt (finish_ns * b->fixed_ns / b->u), b->large_ns);
  double ns = MIN (b->part_ns / (1 + 2 * b->u), even_ns);
  s->why = "as much as is worth a launch";
  if (s->guard.arm == device)
    ns = b->part_ns; /* no other device is to finish together with it */
  if (b->piped_ns <= 0)
    ns = MIN (ns, overlapping_ns (s, device, b->part_ns, b->fixed_ns));
  /* What is held back is granted when it is clearer which device is late. */
  if (b->seat->n_bundles > 0)
    ns = MIN (ns, finish_ns / (1 + 2 * b->u) - b->r->ready_ns);
  return ns;
}

/* 2. */
static double
careful_ns (const HassAuto *s, const Bundle *b, double ns)
{
  double round_ns = s->plan.finish_ns + (s->k.f.now_ns - s->k.f.begin_ns);
  double most_ns
      = MAX (LARGEST_UNKNOWN * round_ns, MOST_LAUNCHES * b->fixed_ns);
  if (!b->unknown)
    return ns;
  if (doubt (s) >= 0)
    most_ns = b->part_ns;
  ns = MIN (ns, MAX (most_ns, b->large_ns));
  return b->seat->n_given % 2 ? MIN (EVERY_OTHER * ns, b->part_ns / 4) : ns;
}

/* 3. */
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

/* 5. How many times its largest so far a bundle may be. A launch may hide what
   work takes. The time that fills the GPU may as well, where it is unknown how
   much that is; then it is not so short, and a larger bundle may take many
   times longer. */
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

/* 7. */
static gboolean
too_early (const HassAuto *s, guint device, const Bundle *b, double ns)
{
  return s->guard.arm != device && b->unknown && b->u > MUCH_UNKNOWN
         && b->seat->n_bundles > 0
         && b->r->ready_ns + ns > s->plan.finish_ns / (1 + KEPT_BACK * b->u);
}

/* The time that it should take, before bounds of work; 0: nothing now. */
static double
bundle_ns (HassAuto *s, const HassRound *round, guint device, const Bundle *b)
{
  double ns = worth_ns (s, device, b);
  ns = filling_ns (b, careful_ns (s, b, ns));
  if (too_early (s, device, b, ns))
    return 0;
  /* 4. */
  gboolean rest = b->part_ns - ns < MAX (2 * b->fixed_ns, b->r->fill_ns);
  /* 6. */
  gboolean piped = b->piped_ns > 0 && b->piped_ns < b->part_ns
                   && (rest || ns >= b->piped_ns);
  if (piped)
    ns = b->piped_ns;
  if (!hass_estimates_measured (&s->k.e, round, device))
    {
      s->why = "a first bundle, by what earlier runs have shown";
      /* Whether cores copy for it is unknown before a bundle is back. */
      double part
          = PRIOR_PART * (hass_units_are_data (round) ? PRIOR_COPIED : 1);
      ns = b->seat->n_bundles < 2 ? MIN (ns, part * b->part_ns) : 0;
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
  s->why = "all, no other device helps";
  if (by_itself (s, round, device))
    return s->plan.work;
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
  /* Units are rounded down; the last of a part must not cost a launch. */
  double work = ns * rate + 0.5 * s->k.u.work;
  if (b.m->largest > 0)
    work = MIN (work, growth_of (s, device, &b) * b.m->largest);
  if (!hass_forecast_all_known (&s->k.f, round))
    work = MIN (work, s->plan.work / (2 * s->k.u.n));
  work = MAX (work, MIN (b.r->fill_ns, b.part_ns) * rate);
  return MAX (work, G_MINDOUBLE);
}

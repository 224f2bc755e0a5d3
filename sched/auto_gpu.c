/* SPDX-License-Identifier: MIT */
/* auto_gpu.c: what auto grants a GPU; step 3 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define GROWTH 4           /* of a bundle over the largest so far */
#define LEAST_FIXED_NS 2e3 /* no launch is cheaper than that */
#define MUCH_FILLED 8      /* times as many elements as it is wide */
#define LONG_COPY_NS 1e7
#define FACTOR 0.3       /* of its part */
#define BELIEF (1 / 16.) /* of its part, to who is known by hearsay */

static double
uncertainty (const HassAuto *s, const HassRound *round, const HassFit *fit)
{
  static const double least[] = { [HASS_COST_EQUAL] = 0.02,
                                  [HASS_COST_SIZED] = 0.05,
                                  [HASS_COST_UNKNOWN] = 0.15 };
  double u = MAX (least[s->env->cost], MIN (fit->error, 0.25));
  return fit->seen < 3 || !hass_auto_all_measured (s, round) ? MAX (u, 0.25)
                                                             : u;
}

/* So few elements that it takes much of the round to fill it; any smaller
   bundle would take as long. */
static gboolean
hard_to_fill (const HassAuto *s, const HassRound *round, guint device)
{
  return hass_auto_fill_work (s, device)
         > hass_round_total_work (round) / (8 * s->n);
}

/* Work of the first bundles: enough to fill the device, but of a short round
   no more than it may be worth beside the cores. */
static double
probe_work (const HassAuto *s, const HassRound *round, guint device)
{
  double total = hass_round_total_work (round);
  double fill = hass_auto_fill_work (s, device);
  guint n_gpus = s->n - (s->cpu < s->n ? 1 : 0);
  if (!hard_to_fill (s, round, device))
    return MIN (MAX (s->env->parameters[HASS_AUTO_PROBE] * total, fill),
                total / (8 * s->n));
  double cores = s->cpu < s->n ? s->env->devices[s->cpu].cores : 0;
  double threads = s->unit_elements * hass_round_units (round);
  double worth = threads / (threads + cores * HASS_AUTO_CORE_THREADS);
  return MIN (fill, worth * total / n_gpus);
}

/* By what part a bundle on an idle GPU takes longer than one that queues:
   that much of a round's first and last bundle overlaps nothing. */
static double
alone_part (const HassAuto *s, const HassRound *round, guint device)
{
  const HassFit *idle = hass_auto_fit_of (s, round, device, TRUE);
  const HassFit *queued = hass_auto_fit_of (s, round, device, FALSE);
  if (!hass_auto_overlaps (s, device) || !(queued->ns_per_work > 0))
    return 0;
  return MAX (idle->ns_per_work / queued->ns_per_work - 1, 0);
}

/* So that copies overlap kernels: a small bundle first, none whose copy
   would take longer than the kernel of the one before, and not all that is
   left at once. */
static double
overlapping_ns (const HassAuto *s, const HassRound *round, guint device,
                double part_ns, double fixed_ns)
{
  const HassAutoMember *m = &s->members[device];
  double part = alone_part (s, round, device);
  if (part * part_ns < 2 * fixed_ns)
    return part_ns;
  double even_ns = sqrt (part_ns * fixed_ns / part);
  if (m->round_largest <= 0)
    return even_ns;
  double grown_ns
      = m->round_largest / s->plan[device].rate * CLAMP (1 / part, 1.2, GROWTH);
  return MAX (MIN (part_ns / 2, grown_ns), even_ns);
}

/* Work of the plan that cores would only begin and not end by T, because a
   unit cannot be cut, if so late that a GPU had better do it now. Where one
   more launch is cheap that is decided when it is due. */
static double
late_work (const HassAuto *s, const HassRound *round, double gpu_rate,
           double fixed_ns)
{
  if (s->cpu == s->n || !s->plan[s->cpu].runs
      || s->env->cost == HASS_COST_UNKNOWN)
    return 0;
  const HassRunner *cpu = &s->plan[s->cpu];
  double wave
      = s->env->devices[s->cpu].cores * hass_auto_work_at (s, round, FALSE, 1);
  double unit_ns = wave / cpu->rate;
  double free_ns = hass_auto_next_free_ns (s, round, unit_ns);
  double waves = floor ((s->finish_ns - free_ns) / unit_ns * (1 + 1e-9));
  double late = cpu->rate * (s->finish_ns - cpu->ready_ns) - waves * wave;
  double end_ns = free_ns + (waves + 1) * unit_ns;
  double with_ns = s->finish_ns + late / gpu_rate;
  return late > 0 && with_ns < end_ns && end_ns < with_ns + fixed_ns ? late : 0;
}

/* Nobody else helps, and the engine cuts what it is given so that copies
   overlap: no more to decide. */
static gboolean
by_itself (const HassAuto *s, const HassRound *round, guint device)
{
  gboolean others = FALSE;
  for (guint d = 0; d < s->n; d++)
    others |= d != device && s->plan[d].runs;
  return !others && s->env->devices[device].part_bytes > 0
         && s->env->farm != HASS_FARM_FUNCTION
         && hass_auto_all_measured (s, round);
}

/* 0: nothing now. */
static double
bundle_work (HassAuto *s, const HassRound *round, guint device)
{
  s->why = "all, nobody else helps";
  if (by_itself (s, round, device))
    return s->left;
  if (s->plan[device].rate <= 0)
    return 0;
  const HassAutoMember *m = &s->members[device];
  const HassRunner *r = &s->plan[device];
  const HassFit *fit = hass_auto_fit_of (s, round, device, m->n_bundles == 0);
  double u = uncertainty (s, round, fit);
  double latency_ns = s->env->devices[device].latency_ns;
  double fixed_ns
      = MAX (fit->seen > 0 ? fit->fixed_ns : latency_ns, LEAST_FIXED_NS);
  double part_ns = MAX (s->finish_ns - r->ready_ns, r->step_ns);
  gboolean known = hass_auto_measured (s, round, device);
  /* Where a launch overlaps nothing, a few large ones first. */
  double large_ns = hass_auto_overlaps (s, device) ? 0 : FACTOR * part_ns;
  double even_ns = MAX (sqrt (s->finish_ns * fixed_ns / u), large_ns);
  double ns = MIN (part_ns / (1 + 2 * u), even_ns);
  s->why = "as much as is worth a launch";
  if (s->arm == device)
    ns = part_ns; /* there is nobody to finish together with */
  ns = MIN (ns, overlapping_ns (s, round, device, part_ns, fixed_ns));
  /* What is held back is given when it is clearer who is late. */
  if (m->n_bundles > 0)
    ns = MIN (ns, s->finish_ns / (1 + 2 * u) - r->ready_ns);
  if (s->env->cost == HASS_COST_UNKNOWN)
    {
      double round_ns = s->finish_ns + (s->now_ns - s->begin_ns);
      ns = MIN (ns, MAX (MAX (0.02 * round_ns, 20 * fixed_ns), large_ns));
    }
  double fill_ns = hass_auto_fill_work (s, device) / r->rate;
  ns = MAX (ns, MIN (fill_ns, part_ns));
  /* It may take more than that to fill it, which a larger bundle shows. */
  if (m->largest < MUCH_FILLED * fill_ns * r->rate && m->n_bundles == 0)
    ns = MAX (ns, MIN (MUCH_FILLED * fill_ns, part_ns / 4));
  if (!known)
    {
      s->why = "a first bundle, by what earlier runs have shown";
      ns = m->n_bundles < 2 ? MIN (ns, BELIEF * part_ns) : 0;
    }
  else if (part_ns - ns < MAX (2 * fixed_ns, fill_ns))
    s->why = "all of its part";
  if (known && part_ns - ns < MAX (2 * fixed_ns, fill_ns))
    ns = part_ns + late_work (s, round, r->rate, fixed_ns) / r->rate;
  else if (m->n_bundles > 0 && ns < 2 * fixed_ns)
    return 0;
  /* Units are rounded down; the last of a part must not cost a launch. */
  double work = ns * r->rate + 0.5 * s->unit_work;
  double growth = m->n_done == 1 && hass_auto_long_units (s) ? 1 : GROWTH;
  if (m->largest > 0)
    work = MIN (work, growth * m->largest);
  if (!hass_auto_all_known (s, round))
    work = MIN (work, s->left / (2 * s->n));
  work = MAX (work, MIN (hass_auto_fill_work (s, device), part_ns * r->rate));
  return MAX (work, G_MINDOUBLE);
}

static void
fill_in (HassAuto *s, HassRound *round, guint device, double work,
         HassGrant *grant)
{
  const HassDeviceTraits *traits = &s->env->devices[device];
  grant->source = s->reversed ? HASS_FROM_FRONT : HASS_FROM_BACK;
  if (hass_round_waiting (round) == 0 && hass_auto_cpu_share (s, round) > 0)
    {
      grant->source = HASS_FROM_THEFT;
      grant->share = s->cpu;
    }
  grant->work = work;
  grant->multiple = hass_auto_least_units (s, round, device);
  if (grant->multiple > 1)
    grant->work
        = MAX (work, hass_auto_work_at (s, round, TRUE, grant->multiple));
  if (s->env->farm == HASS_FARM_FUNCTION && !hass_auto_simple (s, round))
    grant->units = 1; /* a parallel task has the GPU to itself */
  grant->in_flight = MIN ((guint)s->env->parameters[HASS_AUTO_IN_FLIGHT],
                          MAX (traits->max_in_flight, 1));
}

/* Tasks that only GPUs can run: a quarter of this one's part, but one for
   each multiprocessor. */
static guint64
exclusive_units (const HassAuto *s, const HassRound *round, guint device)
{
  guint n_gpus = s->n - (s->cpu < s->n ? 1 : 0);
  return MAX (hass_round_exclusive (round, device) / (4 * n_gpus),
              MAX (s->env->devices[device].cores, 1));
}

/* What a GPU has to copy first may take longer than everything else: who takes
   long for it waits for the first core, and for others on its link. */
static gboolean
waits_to_enter (HassAuto *s, const HassRound *round, guint device)
{
  const HassAutoMember *m = &s->members[device];
  guint link = s->env->devices[device].link;
  if (m->entered || m->copy_ns < LONG_COPY_NS)
    return FALSE;
  s->why = "until a core has shown whether it is worth what it copies first";
  if (s->cpu < s->n && !hass_auto_measured (s, round, s->cpu))
    return TRUE;
  s->why = "until another has copied what it needs, by the same link";
  for (guint d = 0; d < s->n && link != 0; d++)
    if (d != device && s->env->devices[d].link == link
        && s->members[d].n_bundles > 0 && !hass_auto_measured (s, round, d))
      return TRUE;
  return FALSE;
}

HassAnswer
hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                     gboolean force, HassGrant *grant)
{
  HassAutoMember *m = &s->members[device];
  if (m->failed || hass_round_exclusive (round, device) > 0)
    {
      s->why = m->failed ? "it failed, does it work again"
                         : "what only GPUs can do";
      fill_in (s, round, device, 0, grant);
      grant->multiple = 1;
      grant->units = m->failed ? 1 : exclusive_units (s, round, device);
      return HASS_TAKE;
    }
  if (!hass_auto_measured (s, round, device) && !hass_auto_all_known (s, round))
    {
      if (!force && waits_to_enter (s, round, device))
        return HASS_WAIT;
      hass_auto_make_plan (s, round, device);
      s->why = "all is done before it could help";
      m->hopeless = m->hopeless || m->copy_ns > s->finish_ns;
      if (m->hopeless && !force)
        return HASS_WAIT;
      s->why = "until its first bundles are back";
      if (m->n_bundles >= (hard_to_fill (s, round, device) ? 1 : 2))
        return HASS_WAIT;
      s->why = "its first bundles, to be measured";
      fill_in (s, round, device, probe_work (s, round, device), grant);
      return HASS_TAKE;
    }
  double solo_work;
  if (hass_auto_guard_waits (s, round, device, force, &solo_work))
    {
      s->why = "while another device is measured alone";
      return HASS_WAIT;
    }
  if (solo_work > 0)
    {
      s->why = "to be measured alone";
      fill_in (s, round, device, solo_work, grant);
      return HASS_TAKE;
    }
  guint64 waiting = hass_round_waiting (round) + hass_auto_cpu_share (s, round);
  guint64 kept = hass_auto_kept_units (s, round);
  hass_auto_make_plan (s, round, device);
  s->why = waiting <= kept ? "what waits is kept for GPUs that nobody knows"
           : hass_auto_takes_part (s, device)
               ? "it would still be busy when all else is done"
               : "others are faster without it";
  if ((!s->plan[device].runs || waiting <= kept) && !force)
    return HASS_WAIT;
  s->why = "until it is clearer who is late";
  double work = bundle_work (s, round, device);
  if (work <= 0 && !force)
    return HASS_WAIT;
  fill_in (s, round, device, work, grant);
  return HASS_TAKE;
}

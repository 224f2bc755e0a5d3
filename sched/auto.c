/* SPDX-License-Identifier: MIT */
/* auto.c: for every farm and machine: all who help finish together, and who
   would only be late stays out.

   Own work. The square root for bundles is that of Kruskal and Weiss 1985,
   shrinking parts are guided self-scheduling (Polychronopoulos and Kuck
   1987), the first small bundles those of Kaleem et al. 2014. A decision is
   one pass over the devices for each one that takes part, measured at 0.6 us
   for a CPU and eight GPUs, whether sizes are known or not. Steps 1 and 2
   are in auto_plan.c, the arithmetic under them in auto_model.c.

   DESIGN.
   1. What is known: for a GPU a fit of service time over work, one for
      bundles that find it idle and one for those that queue behind another,
      because copies then overlap kernels; apart for simple tasks of a
      function farm. For the CPU pool its work over its busy time. Both
      follow the last few bundles, and are kept from round to round.
   2. The plan, anew at each decision: the work that waits and the times at
      which devices have done what they hold give the time T at which all
      finish together. Who could not end its least bundle, or one core one
      unit, before the others were done with everything takes no part.
   3. A GPU gets a small bundle first, then up to 4 times the largest seen:
      of about sqrt (T * a / u) ns, a its fixed part and u how uncertain it
      is; never more than its part of the plan; all of it when what would
      be over is not worth a launch. Some are in flight at a time.
   4. The CPU pool gets most of its part as a share, from which its cores
      pull without asking and whose back GPUs may steal from; at the end
      single units, each only if a core ends it by T.
   5. A device says WAIT only while it holds something itself or the plan
      has somebody else, who then does not. One that fails gets single units
      until one succeeds. Units are kept for GPUs that were never tried.

   Loses where rates change faster than a bundle; where the first bundles
   are not like the rest; in a first round so short that one unit on a core,
   tried because nothing is known, outlasts it; where a GPU's time does not
   follow the work (tiny parallel tasks of a function farm, a link that GPUs
   share); on some machines with indivisible loads of known sizes, where the
   best strategy of the papers took 0.69 of its time at worst, for a reason
   not yet found; where CPU and GPUs slow each other down so much that one
   alone would be faster, because that is never tried.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>
#include <string.h>

#define CPU_PART 0.75      /* of its part of the plan that becomes its share */
#define WARM_UP 4          /* times slower than the second bundle */
#define GROWTH 4           /* of a bundle over the largest so far */
#define AHEAD_NS 2e6       /* that cores get while a GPU is unmeasured */
#define LONG_NS 1e7        /* a unit on a core */
#define LEAST_FIXED_NS 2e3 /* no launch is cheaper than that */

static const HassParameter parameters[] = {
  { "probe", 1 / 512., 0, 1, "of the round that an unmeasured GPU takes" },
  { "in-flight", 3, 1, HASS_AUTO_DEEPEST,
    "bundles at a time on a GPU that can" },
  { .name = NULL },
};

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassAuto *s = g_new0 (HassAuto, 1);
  gboolean calibrated = TRUE;
  (void)error;
  s->env = env;
  s->n = s->cpu = env->n_devices;
  s->members = g_new0 (HassAutoMember, MAX (s->n, 1));
  s->plan = g_new0 (HassRunner, MAX (s->n, 1));
  s->counts = g_new0 (guint64, MAX (s->n, 1));
  for (guint d = 0; d < s->n; d++)
    {
      calibrated = calibrated && env->devices[d].work_per_ns > 0;
      if (env->devices[d].kind == HASS_DEVICE_CPU && s->cpu == s->n)
        s->cpu = d;
    }
  for (guint d = 0; d < s->n && calibrated; d++)
    s->members[d].prior_rate = env->devices[d].work_per_ns;
  return s;
}

static gboolean
alone (const HassAuto *s)
{
  return s->n == 1 && s->cpu == 0;
}

/* -- Rounds ------------------------------------------------------------- */

/* In a function farm simple tasks lie before parallel ones. */
static guint64
first_parallel (const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo) / 2;
      if (hass_round_elements (round, middle) > 1)
        hi = middle;
      else
        lo = middle + 1;
    }
  return lo;
}

static void
begin_round (gpointer self, HassRound *round)
{
  HassAuto *s = self;
  if (alone (s))
    return;
  for (guint d = 0; d < s->n; d++)
    {
      HassAutoMember *m = &s->members[d];
      m->asked = FALSE;
      m->n_bundles = 0;
      m->queue_ns = 0;
      m->round_largest = 0;
      m->units = 0;
      m->seen = (HassProgress){ 0 };
    }
  s->begun = FALSE;
  s->begin_ns = s->now_ns;
  s->share_back = 0;
  /* Where many loads make a bundle they stay side by side, since inputs that
     lie so need no gathering. */
  if (s->env->farm == HASS_FARM_INDIVISIBLE
      || s->env->farm == HASS_FARM_FUNCTION)
    hass_round_order_by_work (round);
  s->first_mpd
      = s->env->farm == HASS_FARM_FUNCTION ? first_parallel (round) : 0;
  guint64 n = hass_round_units (round);
  s->unit_work = n > 0 ? hass_round_total_work (round) / n : 1;
}

/* -- 3. GPUs ------------------------------------------------------------ */

static double
uncertainty (const HassAuto *s, const HassRound *round, const HassFit *fit)
{
  static const double least[] = { [HASS_COST_EQUAL] = 0.02,
                                  [HASS_COST_SIZED] = 0.05,
                                  [HASS_COST_UNKNOWN] = 0.15 };
  double u = MAX (least[s->env->cost], MIN (fit->error, 0.5));
  return fit->seen < 3 || !hass_auto_all_measured (s, round) ? MAX (u, 0.25)
                                                             : u;
}

/* Work of the first bundles: enough to fill the device, if that is not much
   of the round. */
static double
probe_work (const HassAuto *s, const HassRound *round, guint device)
{
  double total = hass_round_total_work (round);
  double work = s->env->parameters[HASS_AUTO_PROBE] * total;
  guint64 back = hass_round_back (round);
  guint64 elements = back > hass_round_front (round)
                         ? hass_round_elements (round, back - 1)
                         : 0;
  if (elements > 0)
    work = MAX (work, s->unit_work * s->env->devices[device].width / elements);
  return MIN (work, total / (8 * s->n));
}

/* By what part a bundle on an idle GPU takes longer than one that queues:
   that much of a round's first and last bundle overlaps nothing. */
static double
alone_part (const HassAuto *s, const HassRound *round, guint device)
{
  const HassFit *idle = hass_auto_fit_of (s, round, device, TRUE);
  const HassFit *queued = hass_auto_fit_of (s, round, device, FALSE);
  if (!hass_auto_overlaps (s, device))
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
  if (by_itself (s, round, device))
    return s->left;
  const HassAutoMember *m = &s->members[device];
  const HassRunner *r = &s->plan[device];
  const HassFit *fit = hass_auto_fit_of (s, round, device, m->n_bundles == 0);
  double u = uncertainty (s, round, fit);
  double fixed_ns = MAX (fit->fixed_ns, LEAST_FIXED_NS);
  double part_ns = MAX (s->finish_ns - r->ready_ns, r->step_ns);
  double ns = MIN (part_ns / (1 + 2 * u), sqrt (s->finish_ns * fixed_ns / u));
  ns = MIN (ns, overlapping_ns (s, round, device, part_ns, fixed_ns));
  /* What is held back is given when it is clearer who is late. */
  if (m->n_bundles > 0)
    ns = MIN (ns, s->finish_ns / (1 + 2 * u) - r->ready_ns);
  if (s->env->cost == HASS_COST_UNKNOWN)
    {
      double round_ns = s->finish_ns + (s->now_ns - s->begin_ns);
      ns = MIN (ns, MAX (0.02 * round_ns, 8 * fixed_ns));
    }
  if (part_ns - ns < 2 * fixed_ns)
    ns = part_ns + late_work (s, round, r->rate, fixed_ns) / r->rate;
  else if (m->n_bundles > 0 && ns < 2 * fixed_ns)
    return 0;
  /* Units are rounded down; the last of a part must not cost a launch. */
  double work = ns * r->rate + 0.5 * s->unit_work;
  if (m->largest > 0)
    work = MIN (work, GROWTH * m->largest);
  if (!hass_auto_all_measured (s, round))
    work = MIN (work, s->left / (2 * s->n));
  return MAX (work, G_MINDOUBLE);
}

static void
fill_in (HassAuto *s, HassRound *round, guint device, double work,
         HassGrant *grant)
{
  const HassDeviceTraits *traits = &s->env->devices[device];
  grant->source = HASS_FROM_BACK;
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

static HassAnswer
decide_gpu (HassAuto *s, HassRound *round, guint device, gboolean force,
            HassGrant *grant)
{
  const HassAutoMember *m = &s->members[device];
  if (m->failed || hass_round_exclusive (round, device) > 0)
    {
      fill_in (s, round, device, 0, grant);
      grant->multiple = 1;
      grant->units = m->failed ? 1 : exclusive_units (s, round, device);
      return HASS_TAKE;
    }
  if (!hass_auto_measured (s, round, device))
    {
      if (m->n_bundles >= 2)
        return HASS_WAIT;
      fill_in (s, round, device, probe_work (s, round, device), grant);
      return HASS_TAKE;
    }
  guint64 waiting = hass_round_waiting (round) + hass_auto_cpu_share (s, round);
  guint64 kept = hass_auto_kept_units (s, round);
  hass_auto_make_plan (s, round, device);
  if ((!s->plan[device].runs || waiting <= kept) && !force)
    return HASS_WAIT;
  double work = bundle_work (s, round, device);
  if (work <= 0)
    return HASS_WAIT;
  fill_in (s, round, device, work, grant);
  return HASS_TAKE;
}

/* -- 4. The CPU pool ---------------------------------------------------- */

/* How many units at the front have so much work, at least one. */
static guint64
units_of (const HassAuto *s, const HassRound *round, double work)
{
  guint64 lo = hass_round_front (round), n = hass_round_back (round) - lo;
  if (s->env->cost != HASS_COST_SIZED || s->env->farm == HASS_FARM_PARTITION)
    return CLAMP ((guint64)(work / s->unit_work), 1, MAX (n, 1));
  guint64 fits = 1;
  while (fits < n)
    {
      guint64 k = fits + (n - fits + 1) / 2;
      if (hass_round_work (round, lo, k) <= work)
        fits = k;
      else
        n = k - 1;
    }
  return fits;
}

/* Units for the cores before they ask again; 0: none. */
static guint64
cpu_units (HassAuto *s, HassRound *round, gboolean force)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  guint64 waiting = hass_round_waiting (round),
          kept = hass_auto_kept_units (s, round);
  if (waiting <= kept && !force)
    return 0;
  if (!hass_auto_measured (s, round, s->cpu))
    return hass_auto_busy (s, round, s->cpu) && !force
               ? 0
               : CLAMP (waiting / 16, 1, cores);
  hass_auto_make_plan (s, round, s->cpu);
  const HassRunner *r = &s->plan[s->cpu];
  if (!r->runs)
    return force ? 1 : 0;
  double unit_ns = hass_auto_work_at (s, round, FALSE, 1) * cores / r->rate;
  /* While a GPU may turn up at any moment, not far ahead: cores that pull
     from a share cannot be told that they would be late. And no second unit
     that is so long that a fast GPU would have to wait for it. */
  if (!hass_auto_all_measured (s, round) && !force)
    return unit_ns > LONG_NS
               ? 0
               : CLAMP (units_of (s, round, AHEAD_NS * r->rate), cores,
                        MAX (waiting - MIN (kept, waiting), cores));
  /* Nearly all that the cores will do; but the last two units of each core
     one by one, because a core that pulls late would be late. */
  double ns = MIN (CPU_PART * (s->finish_ns - r->ready_ns),
                   s->finish_ns - 2 * unit_ns);
  guint64 units
      = units_of (s, round, MAX (ns, LEAST_FIXED_NS / cores) * r->rate);
  return MIN (units, MAX (waiting - MIN (kept, waiting), 1));
}

static HassAnswer
decide_cpu (HassAuto *s, HassRound *round, gboolean force, HassGrant *grant)
{
  grant->chunk = 1;
  grant->source = HASS_FROM_SHARE;
  grant->share = s->cpu;
  if (hass_auto_cpu_share (s, round) > 0)
    return HASS_TAKE;
  guint64 units = cpu_units (s, round, force);
  if (units == 0 && hass_round_exclusive (round, s->cpu) == 0)
    return HASS_WAIT;
  if (hass_round_back (round) > hass_round_front (round) && units > 0)
    {
      s->counts[s->cpu] = units;
      s->share_back = hass_round_front (round) + units;
      hass_round_carve (round, s->counts);
    }
  else
    {
      /* What was given back, or what only cores can run. */
      grant->source = HASS_FROM_FRONT;
      grant->units = MAX (units, 1);
    }
  return HASS_TAKE;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassAuto *s = self;
  if (hass_round_waiting (round) + hass_round_exclusive (round, device)
          + hass_auto_cpu_share (s, round)
      == 0)
    return HASS_DONE;
  if (alone (s))
    return HASS_TAKE;
  if (s->n == 1 && s->env->devices[device].part_bytes > 0)
    {
      /* Nothing to decide: the engine cuts it so that copies overlap. */
      grant->source = HASS_FROM_BACK;
      return HASS_TAKE;
    }
  HassAutoMember *m = &s->members[device];
  m->asked = TRUE;
  m->absent = FALSE;
  for (guint d = 0; d < s->n && force; d++)
    s->members[d].absent |= !s->members[d].asked;
  if (s->cpu < s->n)
    hass_auto_look_at_cpu (s, round);
  if (device == s->cpu)
    return decide_cpu (s, round, force, grant);
  return decide_gpu (s, round, device, force, grant);
}

/* -- What happened ------------------------------------------------------ */

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  HassAuto *s = self;
  HassAutoMember *m = &s->members[device];
  if (alone (s) || grant->taken == 0)
    return;
  if (device == s->cpu)
    {
      m->units += grant->taken;
      return;
    }
  if (grant->source == HASS_FROM_THEFT && s->cpu < s->n)
    {
      s->members[s->cpu].units -= grant->taken;
      s->share_back = grant->first;
    }
  if (m->n_bundles == HASS_AUTO_DEEPEST)
    return;
  double work = hass_round_work (round, grant->first, grant->taken);
  guint fit
      = (m->n_bundles == 0 ? HASS_AUTO_IDLE : 0)
        + (s->env->farm == HASS_FARM_FUNCTION && grant->first < s->first_mpd
               ? HASS_AUTO_SIMPLE
               : 0);
  const HassFit *known
      = hass_auto_fit_of (s, round, device, fit & HASS_AUTO_IDLE);
  double ns = known->seen > 0 ? hass_fit_ns (known, work) : 0;
  if (m->n_bundles == 0)
    m->since_ns = s->now_ns;
  m->bundles[m->n_bundles++] = (HassAutoBundle){ work, ns, fit };
  m->queue_ns += ns;
  m->round_largest = MAX (m->round_largest, work);
}

/* The first completion tells when the round began, but for a CPU pool that
   reports for the first time: hence no earlier than what was seen before. */
static void
set_clock (HassAuto *s, const HassCompletion *done)
{
  if (!s->begun)
    {
      s->begun = TRUE;
      s->begin_ns = MAX (done->grant_ns, s->now_ns);
      for (guint d = 0; d < s->n; d++)
        s->members[d].since_ns = MAX (s->members[d].since_ns, s->begin_ns);
    }
  s->now_ns = MAX (s->now_ns, done->end_ns);
}

/* A large bundle on a device that was idle shows how fast it will be when
   others queue: as its slowest stage. */
static void
foretell (HassFit *queued, const HassCompletion *done, double latency_ns)
{
  double ns = MAX (done->kernel_ns, MAX (done->h2d_ns, done->d2h_ns));
  if (queued->seen == 0 && ns > 8 * latency_ns)
    hass_fit_add (queued, done->work, ns, latency_ns);
}

/* A device's first bundle may have waited for what is made once: a library's
   handle, code that is loaded. When the second is far faster by its work, the
   first says nothing. */
static void
forget_warm_up (HassAutoMember *m, double work, double ns)
{
  if (++m->n_done == 1)
    {
      m->first_work = work;
      m->first_ns = ns;
    }
  else if (m->n_done == 2 && WARM_UP * ns * m->first_work < m->first_ns * work)
    memset (m->fits, 0, sizeof m->fits);
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  HassAuto *s = self;
  HassAutoMember *m = &s->members[done->device];
  if (alone (s))
    return;
  set_clock (s, done);
  if (done->device == s->cpu)
    {
      hass_auto_look_at_cpu (s, round);
      return;
    }
  m->failed = done->failed;
  if (m->n_bundles == 0)
    return;
  HassAutoBundle b = m->bundles[0];
  double ns = done->end_ns - MAX (done->grant_ns, m->end_ns);
  m->queue_ns -= b.ns;
  m->n_bundles--;
  for (guint i = 0; i < m->n_bundles; i++)
    m->bundles[i] = m->bundles[i + 1];
  m->since_ns = m->end_ns = done->end_ns;
  if (done->failed || done->units == 0)
    return;
  double latency_ns = s->env->devices[done->device].latency_ns;
  forget_warm_up (m, done->work, ns);
  hass_fit_add (&m->fits[b.fit], done->work, ns, latency_ns);
  if (hass_auto_overlaps (s, done->device))
    foretell (&m->fits[b.fit & ~(guint)HASS_AUTO_IDLE], done, latency_ns);
  m->largest = MAX (m->largest, done->work);
}

static void
destroy (gpointer self)
{
  HassAuto *s = self;
  g_free (s->members);
  g_free (s->plan);
  g_free (s->counts);
  g_free (s);
}

const HassStrategyOps hass_auto = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "auto",
  .summary = "all who help finish together, who would be late stays out",
  .source = "after Kruskal and Weiss 1985 and Kaleem et al. 2014",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .granted = granted,
  .observe = observe,
  .destroy = destroy,
};

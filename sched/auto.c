/* SPDX-License-Identifier: MIT */
/* auto.c: for every farm and machine: all who help finish together, and who
   would only be late stays out.

   Own work. The square root for bundles is that of Kruskal and Weiss 1985,
   shrinking parts are guided self-scheduling (Polychronopoulos and Kuck
   1987), the first small bundles those of Kaleem et al. 2014. A decision is
   one pass over the devices for each one that takes part, some 0.2 us for a
   CPU and eight GPUs; with known sizes each pass reads a few sums of work.

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
   5. A device says WAIT only while something is in flight or the plan has
      somebody else. One that fails gets single units until one succeeds.

   Loses where rates change faster than a bundle; where the first bundles
   are not like the rest (the round is then half over before that is seen);
   where CPU and GPUs slow each other down so much that one alone would be
   faster, because that is never tried.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#include "common-private.h"

#define DEEPEST 8          /* bundles in flight that are kept track of */
#define CPU_MEMORY 0.8     /* for each pass of all cores */
#define CPU_PART 0.75      /* of its part of the plan that becomes its share */
#define GROWTH 4           /* of a bundle over the largest so far */
#define LEAST_FIXED_NS 2e3 /* no launch is cheaper than that */

enum
{
  PROBE,
  IN_FLIGHT
};

static const HassParameter parameters[] = {
  { "probe", 1 / 512., 0, 1, "of the round that an unmeasured GPU takes" },
  { "in-flight", 3, 1, DEEPEST, "bundles at a time on a GPU that can" },
  { .name = NULL },
};

typedef struct
{
  double work, ns; /* ns: as foretold */
  guint fit;
} Bundle;

/* Index of a fit: what was on the device, and what it was given. */
enum
{
  IDLE = 1,
  SIMPLE = 2,
  N_FITS = 4
};

typedef struct
{
  HassFit fits[N_FITS];
  double prior_rate;    /* of its traits */
  double largest;       /* work of its largest bundle */
  double round_largest; /* that in this round, finished or not */
  gboolean failed;      /* its last grant did */
  gboolean absent;      /* nobody asks for it */
  gboolean asked;       /* in this round */

  Bundle bundles[DEEPEST]; /* GPU: in flight, oldest first */
  guint n_bundles;
  double queue_ns; /* sum of theirs */
  gint64 since_ns; /* when the first of them began */
  gint64 end_ns;   /* of the last one */

  /* The CPU pool. */
  double work, busy_ns; /* decayed */
  HassProgress seen;
  gint64 units; /* granted in this round and not stolen */
} Member;

typedef struct
{
  const HassStrategyEnv *env;
  guint n, cpu; /* cpu: n where there is none */
  Member *members;
  HassRunner *plan; /* [n] */
  guint64 *counts;  /* [n], scratch */
  gint64 now_ns;    /* of the last completion */
  gint64 begin_ns;  /* of the round, once begun */
  gboolean begun;   /* something of it has finished */
  double unit_work, finish_ns, left;
  guint64 share_back;
  guint64 first_mpd; /* function farm: position of its first parallel task */
} Auto;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Auto *s = g_new0 (Auto, 1);
  gboolean calibrated = TRUE;
  (void)error;
  s->env = env;
  s->n = s->cpu = env->n_devices;
  s->members = g_new0 (Member, MAX (s->n, 1));
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
alone (const Auto *s)
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
  Auto *s = self;
  if (alone (s))
    return;
  for (guint d = 0; d < s->n; d++)
    {
      Member *m = &s->members[d];
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
  /* The blocks of one load stay side by side. */
  if (s->env->farm != HASS_FARM_PARTITION)
    hass_round_order_by_work (round);
  s->first_mpd
      = s->env->farm == HASS_FARM_FUNCTION ? first_parallel (round) : 0;
  guint64 n = hass_round_units (round);
  s->unit_work = n > 0 ? hass_round_total_work (round) / n : 1;
}

/* -- 1. What is known --------------------------------------------------- */

/* Takes what the cores have done since the last look. Sums of finished work
   over sums of their time are right at any moment, so a look in the middle
   of units harms nothing. */
static void
look_at_cpu (Auto *s, const HassRound *round)
{
  Member *m = &s->members[s->cpu];
  HassProgress p = hass_round_progress (round, s->cpu);
  guint64 units = p.units - m->seen.units;
  if (units == 0 || (m->busy_ns > 0 && units < s->env->devices[s->cpu].cores))
    return;
  m->work = CPU_MEMORY * m->work + p.work - m->seen.work;
  m->busy_ns = CPU_MEMORY * m->busy_ns + p.busy_ns - m->seen.busy_ns;
  m->seen = p;
}

static double
cpu_rate (const Auto *s)
{
  const Member *m = &s->members[s->cpu];
  return m->busy_ns > 0 ? m->work / m->busy_ns : m->prior_rate;
}

/* Whether what a GPU would get now is a set of simple tasks, one for each
   multiprocessor. */
static gboolean
simple (const Auto *s, const HassRound *round)
{
  return s->env->farm == HASS_FARM_FUNCTION
         && hass_round_back (round) <= s->first_mpd;
}

/* The fit for the next bundle; that of the other state of the device where
   this one has not been seen, or with little work only. */
static const HassFit *
fit_of (const Auto *s, const HassRound *round, guint device, gboolean idle)
{
  const Member *m = &s->members[device];
  guint kind = simple (s, round) ? SIMPLE : 0;
  const HassFit *fit = &m->fits[kind + (idle ? IDLE : 0)];
  const HassFit *other = &m->fits[kind + (idle ? 0 : IDLE)];
  return fit->work > 0 && 4 * fit->work >= other->work ? fit : other;
}

static gboolean
measured (const Auto *s, const HassRound *round, guint device)
{
  if (device == s->cpu)
    return s->members[device].busy_ns > 0;
  return fit_of (s, round, device, TRUE)->seen > 0;
}

/* Something is on the device, so there will be a completion. */
static gboolean
busy (const Auto *s, const HassRound *round, guint device)
{
  const Member *m = &s->members[device];
  if (device != s->cpu)
    return m->n_bundles > 0;
  return m->units > (gint64)hass_round_progress (round, device).units;
}

/* -- 2. The plan -------------------------------------------------------- */

static guint64
cpu_share (const Auto *s, const HassRound *round)
{
  return s->cpu < s->n ? hass_round_share (round, s->cpu) : 0;
}

/* Work of n units at an end of the common range, or of as many as wait. */
static double
work_at (const Auto *s, const HassRound *round, gboolean back, guint64 n)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 common = hi - lo;
  if (s->env->cost != HASS_COST_SIZED || common == 0)
    return s->unit_work * n;
  n = MIN (n, common);
  return hass_round_work (round, back ? hi - n : lo, n);
}

static double
work_left (const Auto *s, const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 share = cpu_share (s, round);
  double common = s->env->cost == HASS_COST_SIZED && hi > lo
                      ? hass_round_work (round, lo, hi - lo)
                      : s->unit_work * (hi - lo);
  double own = s->unit_work * share;
  if (s->env->cost == HASS_COST_SIZED && share > 0 && s->share_back >= share)
    own = hass_round_work (round, s->share_back - share, share);
  guint64 waiting = hass_round_waiting (round);
  guint64 returned = waiting > hi - lo ? waiting - (hi - lo) : 0;
  return common + own + s->unit_work * returned;
}

/* The least that a GPU gets: one unit, or one for each multiprocessor where
   each multiprocessor computes one. */
static guint64
least_units (const Auto *s, const HassRound *round, guint device)
{
  if (s->env->farm != HASS_FARM_INDIVISIBLE && !simple (s, round))
    return 1;
  return MAX (s->env->devices[device].cores, 1);
}

/* Time until a core is free, if they all began together. */
static double
next_free_ns (const Auto *s, const HassRound *round, double unit_ns)
{
  if (!busy (s, round, s->cpu))
    return 0;
  double busy_ns = hass_round_progress (round, s->cpu).busy_ns;
  double begun_ns = s->begun ? s->now_ns - s->begin_ns - busy_ns : 0;
  return CLAMP (unit_ns - begun_ns, 0, unit_ns);
}

static void
plan_cpu (const Auto *s, const HassRound *round, gboolean idle, HassRunner *r)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  r->rate = cpu_rate (s);
  if (r->rate <= 0)
    return;
  double unit_ns = work_at (s, round, FALSE, 1) * cores / r->rate;
  double exclusive = hass_round_exclusive (round, s->cpu) * s->unit_work;
  /* Cores stop when one more unit would be late, on average half a unit
     early; and those at work now are in the middle of one. */
  r->ready_ns = busy (s, round, s->cpu) ? unit_ns : unit_ns / 2;
  r->step_ns = unit_ns - r->ready_ns;
  if (!idle)
    r->step_ns += next_free_ns (s, round, unit_ns);
  r->ready_ns += exclusive / r->rate;
}

static gboolean
overlaps (const Auto *s, guint device)
{
  return s->env->devices[device].max_in_flight > 1
         && s->env->parameters[IN_FLIGHT] > 1;
}

static double
queue_ns (const Auto *s, const Member *m)
{
  if (m->n_bundles == 0)
    return 0;
  /* A bundle that is late will be so for as long again. */
  double first_ns = m->bundles[0].ns, past_ns = s->now_ns - m->since_ns;
  return m->queue_ns - first_ns + fabs (first_ns - past_ns);
}

static void
plan_gpu (const Auto *s, const HassRound *round, guint device, HassRunner *r)
{
  const Member *m = &s->members[device];
  const HassFit *next = fit_of (s, round, device, m->n_bundles == 0);
  const HassFit *later = fit_of (s, round, device, !overlaps (s, device));
  double fixed_ns
      = next->seen > 0 ? next->fixed_ns : s->env->devices[device].latency_ns;
  r->rate = later->seen > 0 ? 1 / later->ns_per_work : m->prior_rate;
  if (r->rate <= 0)
    return;
  double exclusive = hass_round_exclusive (round, device) * s->unit_work;
  r->ready_ns = queue_ns (s, m) + fixed_ns + exclusive / r->rate;
  r->step_ns
      = work_at (s, round, TRUE, least_units (s, round, device)) / r->rate;
}

static void
make_plan (Auto *s, const HassRound *round, guint asking)
{
  for (guint d = 0; d < s->n; d++)
    {
      const Member *m = &s->members[d];
      HassRunner *r = &s->plan[d];
      *r = (HassRunner){ 0 };
      if (m->failed || m->absent)
        continue;
      if (d == s->cpu)
        plan_cpu (s, round, asking == s->cpu, r);
      else
        plan_gpu (s, round, d, r);
    }
  s->left = work_left (s, round);
  s->finish_ns = hass_fill (s->plan, s->n, s->left);
}

/* Others who may come to take part but are not planned with yet. */
static gboolean
all_measured (const Auto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!s->members[d].failed && !s->members[d].absent
        && !measured (s, round, d))
      return FALSE;
  return TRUE;
}

/* Units that are kept for GPUs which nobody knows yet, so that they are
   tried even where rounds are tiny. */
static guint64
kept_units (const Auto *s, const HassRound *round)
{
  guint64 n = 0;
  for (guint d = 0; d < s->n; d++)
    n += d != s->cpu && !s->members[d].failed && !s->members[d].absent
         && !busy (s, round, d) && !measured (s, round, d);
  return n;
}

/* -- 3. GPUs ------------------------------------------------------------ */

static double
uncertainty (const Auto *s, const HassRound *round, const HassFit *fit)
{
  static const double least[] = { [HASS_COST_EQUAL] = 0.02,
                                  [HASS_COST_SIZED] = 0.05,
                                  [HASS_COST_UNKNOWN] = 0.15 };
  double u = MAX (least[s->env->cost], MIN (fit->error, 0.5));
  return fit->seen < 3 || !all_measured (s, round) ? MAX (u, 0.25) : u;
}

/* Work of the first bundles: enough to fill the device, if that is not much
   of the round. */
static double
probe_work (const Auto *s, const HassRound *round, guint device)
{
  double total = hass_round_total_work (round);
  double work = s->env->parameters[PROBE] * total;
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
alone_part (const Auto *s, const HassRound *round, guint device)
{
  const HassFit *idle = fit_of (s, round, device, TRUE);
  const HassFit *queued = fit_of (s, round, device, FALSE);
  if (!overlaps (s, device))
    return 0;
  return MAX (idle->ns_per_work / queued->ns_per_work - 1, 0);
}

/* So that copies overlap kernels: a small bundle first, none whose copy
   would take longer than the kernel of the one before, and not all that is
   left at once. */
static double
overlapping_ns (const Auto *s, const HassRound *round, guint device,
                double part_ns, double fixed_ns)
{
  const Member *m = &s->members[device];
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
late_work (const Auto *s, const HassRound *round, double gpu_rate,
           double fixed_ns)
{
  if (s->cpu == s->n || !s->plan[s->cpu].runs
      || s->env->cost == HASS_COST_UNKNOWN)
    return 0;
  const HassRunner *cpu = &s->plan[s->cpu];
  double wave = s->env->devices[s->cpu].cores * work_at (s, round, FALSE, 1);
  double unit_ns = wave / cpu->rate;
  double free_ns = next_free_ns (s, round, unit_ns);
  double waves = floor ((s->finish_ns - free_ns) / unit_ns * (1 + 1e-9));
  double late = cpu->rate * (s->finish_ns - cpu->ready_ns) - waves * wave;
  double end_ns = free_ns + (waves + 1) * unit_ns;
  double with_ns = s->finish_ns + late / gpu_rate;
  return late > 0 && with_ns < end_ns && end_ns < with_ns + fixed_ns ? late : 0;
}

/* 0: nothing now. */
static double
bundle_work (Auto *s, const HassRound *round, guint device)
{
  const Member *m = &s->members[device];
  const HassRunner *r = &s->plan[device];
  const HassFit *fit = fit_of (s, round, device, m->n_bundles == 0);
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
  if (!all_measured (s, round))
    work = MIN (work, s->left / (2 * s->n));
  return MAX (work, G_MINDOUBLE);
}

static void
fill_in (Auto *s, HassRound *round, guint device, double work, HassGrant *grant)
{
  const HassDeviceTraits *traits = &s->env->devices[device];
  grant->source = HASS_FROM_BACK;
  if (hass_round_waiting (round) == 0 && cpu_share (s, round) > 0)
    {
      grant->source = HASS_FROM_THEFT;
      grant->share = s->cpu;
    }
  grant->work = work;
  grant->multiple = least_units (s, round, device);
  if (grant->multiple > 1)
    grant->work = MAX (work, work_at (s, round, TRUE, grant->multiple));
  if (s->env->farm == HASS_FARM_FUNCTION && !simple (s, round))
    grant->units = 1; /* a parallel task has the GPU to itself */
  grant->in_flight = MIN ((guint)s->env->parameters[IN_FLIGHT],
                          MAX (traits->max_in_flight, 1));
}

static HassAnswer
decide_gpu (Auto *s, HassRound *round, guint device, gboolean force,
            HassGrant *grant)
{
  const Member *m = &s->members[device];
  if (m->failed || hass_round_exclusive (round, device) > 0)
    {
      fill_in (s, round, device, 0, grant);
      grant->units = grant->multiple = 1;
      return HASS_TAKE;
    }
  if (!measured (s, round, device))
    {
      if (m->n_bundles >= 2)
        return HASS_WAIT;
      fill_in (s, round, device, probe_work (s, round, device), grant);
      return HASS_TAKE;
    }
  guint64 waiting = hass_round_waiting (round) + cpu_share (s, round);
  guint64 kept = kept_units (s, round);
  make_plan (s, round, device);
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
units_of (const Auto *s, const HassRound *round, double work)
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
cpu_units (Auto *s, HassRound *round, gboolean force)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  guint64 waiting = hass_round_waiting (round), kept = kept_units (s, round);
  if (waiting <= kept && !force)
    return 0;
  if (!measured (s, round, s->cpu))
    return busy (s, round, s->cpu) && !force ? 0
                                             : CLAMP (waiting / 16, 1, cores);
  make_plan (s, round, s->cpu);
  const HassRunner *r = &s->plan[s->cpu];
  if (!r->runs)
    return force ? 1 : 0;
  /* Nearly all that the cores will do; but the last two units of each core
     one by one, because a core that pulls late would be late. */
  double unit_ns = work_at (s, round, FALSE, 1) * cores / r->rate;
  double ns = MIN (CPU_PART * (s->finish_ns - r->ready_ns),
                   s->finish_ns - 2 * unit_ns);
  guint64 units
      = units_of (s, round, MAX (ns, LEAST_FIXED_NS / cores) * r->rate);
  return MIN (units, MAX (waiting - MIN (kept, waiting), 1));
}

static HassAnswer
decide_cpu (Auto *s, HassRound *round, gboolean force, HassGrant *grant)
{
  grant->chunk = 1;
  grant->source = HASS_FROM_SHARE;
  grant->share = s->cpu;
  if (cpu_share (s, round) > 0)
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
  Auto *s = self;
  if (hass_round_waiting (round) + hass_round_exclusive (round, device)
          + cpu_share (s, round)
      == 0)
    return HASS_DONE;
  if (alone (s))
    return HASS_TAKE;
  Member *m = &s->members[device];
  m->asked = TRUE;
  m->absent = FALSE;
  for (guint d = 0; d < s->n && force; d++)
    s->members[d].absent |= !s->members[d].asked;
  if (s->cpu < s->n)
    look_at_cpu (s, round);
  if (device == s->cpu)
    return decide_cpu (s, round, force, grant);
  return decide_gpu (s, round, device, force, grant);
}

/* -- What happened ------------------------------------------------------ */

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  Auto *s = self;
  Member *m = &s->members[device];
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
  if (m->n_bundles == DEEPEST)
    return;
  double work = hass_round_work (round, grant->first, grant->taken);
  guint fit
      = (m->n_bundles == 0 ? IDLE : 0)
        + (s->env->farm == HASS_FARM_FUNCTION && grant->first < s->first_mpd
               ? SIMPLE
               : 0);
  const HassFit *known = fit_of (s, round, device, fit & IDLE);
  double ns = known->seen > 0 ? hass_fit_ns (known, work) : 0;
  if (m->n_bundles == 0)
    m->since_ns = s->now_ns;
  m->bundles[m->n_bundles++] = (Bundle){ work, ns, fit };
  m->queue_ns += ns;
  m->round_largest = MAX (m->round_largest, work);
}

/* The first completion tells when the round began, but for a CPU pool that
   reports for the first time: hence no earlier than what was seen before. */
static void
set_clock (Auto *s, const HassCompletion *done)
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

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Auto *s = self;
  Member *m = &s->members[done->device];
  if (alone (s))
    return;
  set_clock (s, done);
  if (done->device == s->cpu)
    {
      look_at_cpu (s, round);
      return;
    }
  m->failed = done->failed;
  if (m->n_bundles == 0)
    return;
  Bundle b = m->bundles[0];
  double ns = done->end_ns - MAX (done->grant_ns, m->end_ns);
  m->queue_ns -= b.ns;
  m->n_bundles--;
  for (guint i = 0; i < m->n_bundles; i++)
    m->bundles[i] = m->bundles[i + 1];
  m->since_ns = m->end_ns = done->end_ns;
  if (done->failed || done->units == 0)
    return;
  double latency_ns = s->env->devices[done->device].latency_ns;
  hass_fit_add (&m->fits[b.fit], done->work, ns, latency_ns);
  if (overlaps (s, done->device))
    foretell (&m->fits[b.fit & ~(guint)IDLE], done, latency_ns);
  m->largest = MAX (m->largest, done->work);
}

static void
destroy (gpointer self)
{
  Auto *s = self;
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

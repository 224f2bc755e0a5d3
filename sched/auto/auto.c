/* SPDX-License-Identifier: MIT */
/* auto.c: for every farm and machine: all who help finish together, and who
   would only be late stays out.

   Own work. The square root for bundles is that of Kruskal and Weiss 1985,
   shrinking parts are guided self-scheduling (Polychronopoulos and Kuck
   1987), the first small bundles those of Kaleem et al. 2014. A decision is
   one pass over the devices for each one that takes part; bench/decision
   measures it. Step 1 is in auto_known.c, 2 in auto_plan.c, the arithmetic
   under both in auto_model.c, 3 in auto_gpu.c and auto_bundle.c, 4 in
   auto_cpu.c, 6 in auto_guard.c, 8 in auto_ends.c, 9 in auto_pipeline.c and
   auto_shape.c, 10 in auto_levels.c.

   DESIGN.
   1. What is known: for a GPU a fit of service time over work, one for
      bundles that find it idle and one for those that queue behind another,
      because copies then overlap kernels; apart for simple tasks of a
      function farm; waits at a shared link apart. A bundle with fewer elements
      than the GPU is wide counts as one that fills it. For the CPU pool its
      work over its busy time. All follow the last few bundles, and are kept
      from round to round. Before: what earlier runs have shown, or what the
      devices are said to do. A GPU that a round cannot fill is tried only
      when so much time has passed that little is lost if its threads are far
      slower than cores.
   2. The plan, anew at each decision: the work that waits and the times at
      which devices have done what they hold, and have copied what they need
      first, give the time T at which all finish together. Who could not end
      its least bundle, or one core one unit, before the others were done with
      everything takes no part. Nor does a GPU whose inputs and results take
      cores longer to copy than to compute, nor cores that do but a trifle with
      long units when few are left.
   3. A GPU gets a small bundle first, then up to 4 times the largest seen, or
      64 where a launch hid what that took: of about sqrt (T * a / u) ns, a
      its fixed part and u how uncertain it is, but no less than it hands over
      at once; never more than its part of the plan; all of it when what would
      be over is not worth a launch, or when nobody else helps, nor is another
      GPU to be opened in time. Some are in flight at a time. One that could
      not be filled, or needs a long copy first, may not be tried. How many
      elements fill it the farm may say; else that shows as a bundle's fixed
      part.
   4. The CPU pool gets most of its part as a share, from which its cores
      pull without asking and whose back GPUs may steal from; at the end
      single units, each only if a core ends it by T. Long units wait while a
      GPU is about to show more: its first bundle may have been a warm-up, and
      its first few tell little where another GPU is closed. Some cores are
      left to a GPU's start, which takes longer beside busy ones. Where costs
      are known, no core gets a unit that would outlast the round, and a round
      with units that take a core much of it is sorted, the short ones first.
   5. A device says WAIT only while it holds something itself or the plan
      has somebody else, who then does not. One that fails gets single units
      until one succeeds. Units are kept for GPUs that are open and were never
      tried. Who asks no more, though it has nothing, is planned with no more.
   6. A round begins with one device alone, or without the CPU, where that
      was measured to be faster, merging included.
   7. Indivisible loads of known sizes: the largest go to the cores where a
      core is much faster than a multiprocessor, because a launch takes as long
      as its largest load; else to the GPUs. A bundle counts for what its
      multiprocessors are kept busy with, waiting for the last one included:
      by its sizes alone large loads seemed to be slow ones, which had cost up
      to a third against hass-i. They are sorted for that, but not where they
      are data that kernels would have to wait for.
   8. Where costs differ the GPUs take from the end of the round at which all
      together were faster; that is tried. What is known is kept for each end.
   9. Where costs are known, what copies and kernels of a GPU take is so too,
      from the second round on. Then the plan counts each copy that overlaps
      nothing, and bundles have the sizes that make those short: few where each
      one costs much, growing as fast as copies hide behind kernels.
   10. Where nobody knows costs, how they lie along a round is learned from the
      rounds before, as far as it comes back; and how far bundles are off in
      spite of it says how large they may be.

   Loses where rates change faster than a bundle; where the first bundles
   are not like the rest; in a first round that one unit on a core, or one
   filled bundle on a slow GPU, outlasts, tried because nothing is known; where
   nobody knows costs that differ much, against who knew them; in tiny parallel
   tasks of a function farm. Indivisible loads where a multiprocessor is about
   as fast as a core: hass-i took 0.78 of its time at worst of 16 machines and
   loads tried. The guard of step 6 is by measurement, not by law: of 4000
   random machines a few, and of 1000 some 10 where devices slow each other down
   up to threefold, were more than 5 % behind their best device alone.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>
#include <string.h>

#define LOOKED_AT 32   /* units, for their elements */
#define LONG_PART 0.25 /* of a round that a core needs for a unit */
#define SURELY_FILLS 8 /* times as many units as fill it on average */
#define POOR 2         /* times as many elements would fill the GPU */
#define MANY_DONE 2    /* bundles; then the next of that kind may be left out */
#define SOME_LARGEST 4 /* work of so many for each multiprocessor */
#define HIDING 4       /* times as long */
#define LATE_TOLD 16   /* completions of a round in which it never asked */
#define ENOUGH_WAITED 2 /* completions while units waited */
#define MUTE_ROUNDS 1   /* in which it never asked, however short they were */
#define MOST_LATENCIES 8
#define MOST_FILLS 2 /* times what it takes to fill it */
#define STAGE_MEMORY 0.9
#define LINK_MEMORY 0.9
#define WARM_UP 2 /* times slower than the second bundle */

static const HassParameter parameters[] = {
  { "probe", 1 / 2048., 0, 1, "of the round that an unmeasured GPU takes" },
  { "in-flight", 0, 0, HASS_AUTO_DEEPEST,
    "bundles at a time on a GPU that can; 0: as it is best" },
  { .name = NULL },
};

/* What earlier runs have shown, or else what the devices are said to do: of
   all devices or of none, because what is measured and what is said may count
   work in other units. */
static void
set_priors (HassAuto *s)
{
  const HassStrategyEnv *env = s->env;
  gboolean profiled = env->profile != NULL, said = TRUE;
  for (guint d = 0; d < s->n; d++)
    {
      profiled = profiled && env->profile[d].work_per_ns > 0;
      said = said && env->devices[d].work_per_ns > 0;
    }
  for (guint d = 0; d < s->n && (profiled || said); d++)
    {
      HassAutoMember *m = &s->members[d];
      m->prior_rate = profiled ? env->profile[d].work_per_ns
                               : env->devices[d].work_per_ns;
      HASS_AUTO_NOTE (s, "%s: %.4g work per ns, %s", env->devices[d].name,
                      m->prior_rate,
                      profiled ? "from earlier runs" : "as its traits say");
    }
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassAuto *s = g_new0 (HassAuto, 1);
  (void)error;
  s->env = env;
  s->may_list
      = env->farm == HASS_FARM_INDIVISIBLE && env->cost == HASS_COST_SIZED;
  s->n = s->cpu = env->n_devices;
  s->members = g_new0 (HassAutoMember, MAX (s->n, 1));
  if (env->cost == HASS_COST_UNKNOWN && s->n > 1
      && hass_auto_counts_elements (s))
    s->levels = hass_auto_levels_new (s->n);
  s->plan = g_new0 (HassRunner, MAX (s->n, 1));
  s->counts = g_new0 (guint64, MAX (s->n, 1));
  s->arms = g_new0 (HassAutoArm, s->n + 2);
  for (guint arm = 0; arm < s->n + 2; arm++)
    s->arms[arm].factor = 1;
  s->arm = s->used = s->solo = s->n;
  s->probe_at = 1;
  s->streak = HASS_AUTO_SETTLING;
  for (guint d = 0; d < s->n; d++)
    {
      const HassDeviceTraits *t = &env->devices[d];
      if (t->kind == HASS_DEVICE_CPU && s->cpu == s->n)
        s->cpu = d;
    }
  set_priors (s);
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

/* What a GPU copies before its first bundle takes so long; those that share its
   link and come before it do so first. */
static void
look_at_entry (HassAuto *s, guint device)
{
  HassAutoMember *m = &s->members[device];
  const HassDeviceTraits *t = &s->env->devices[device];
  guint turns = 1;
  if (t->kind == HASS_DEVICE_CPU || !(t->link_bytes_per_ns > 0))
    return;
  for (guint d = 0; d < device; d++)
    turns += t->link != 0 && s->env->devices[d].link == t->link
             && !hass_auto_out (s, d);
  m->copy_ns = s->env->entry_bytes / t->link_bytes_per_ns;
  m->entry_ns = turns * m->copy_ns;
}

/* What a GPU copies for a unit, the mean of some that wait. */
static double
unit_bytes (const HassAuto *s, const HassRound *round)
{
  guint64 front = hass_round_front (round), n = hass_round_back (round) - front;
  guint64 some = MIN (n, s->env->cost == HASS_COST_EQUAL ? 1 : LOOKED_AT);
  double sum = 0;
  for (guint64 i = 0; i < some; i++)
    {
      guint64 at = front + (2 * i + 1) * n / (2 * some);
      sum += (double)hass_round_input_bytes (round, at)
             + hass_round_output_bytes (round, at);
    }
  return sum / MAX (some, 1);
}

/* Nothing to copy, or its kernels take so much longer that copies hide behind
   them, gathered or not. */
static gboolean
copies_hide (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  double link = s->env->devices[device].link_bytes_per_ns;
  /* Work counts for more where loads are sorted, so that it hardly changes. */
  double times = s->listed ? HIDING / 2. : HIDING;
  return !(link > 0)
         || (m->computed_work > 0
             && m->computed_ns / m->computed_work * s->unit_work * link
                    > times * s->unit_bytes);
}

/* Loads that are data are not sorted where all multiprocessors get as much as
   some of the largest: they lie side by side in memory, as a rule, and to
   gather them costs more than the shortest at the end save. */
static gboolean
stay_side_by_side (const HassAuto *s, const HassRound *round)
{
  guint64 multiprocessors = 0;
  if (!hass_auto_are_data (round))
    return FALSE;
  for (guint d = 0; d < s->n; d++)
    if (d != s->cpu)
      {
        if (copies_hide (s, d))
          return FALSE;
        multiprocessors += s->env->devices[d].cores;
      }
  return hass_round_total_work (round)
         >= SOME_LARGEST * multiprocessors * s->longest;
}

static double
longest_unit (const HassAuto *s, const HassRound *round)
{
  double most = 0;
  if (s->env->cost != HASS_COST_SIZED)
    return 0;
  for (guint64 i = hass_round_front (round); i < hass_round_back (round); i++)
    most = MAX (most, hass_round_work (round, i, 1));
  return most;
}

/* A core would need so much of the round for its longest unit that cores,
   which take units as they lie, could not be given some of them. */
static gboolean
has_long_units (HassAuto *s, const HassRound *round)
{
  if (s->cpu == s->n || s->n == 1 || s->longest <= 0
      || s->env->farm == HASS_FARM_PARTITION
      || !hass_auto_all_measured (s, round))
    return FALSE;
  double core_rate
      = hass_auto_cpu_rate (s) / MAX (s->env->devices[s->cpu].cores, 1);
  double round_ns = hass_auto_whole_ns (s, hass_round_total_work (round));
  return s->longest > LONG_PART * round_ns * core_rate
         && !stay_side_by_side (s, round);
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
      if (m->asked)
        m->mute_rounds = 0;
      else
        m->mute_rounds += s->n_waited >= ENOUGH_WAITED;
      m->absent |= !m->asked
                   && (s->n_told > m->asked_at + LATE_TOLD
                       || m->mute_rounds > MUTE_ROUNDS);
      m->asked = FALSE;
      m->asked_at = s->n_told;
      m->n_bundles = 0;
      m->queue_ns = 0;
      m->round_largest = m->done_work = m->done_ns = 0;
      m->units = 0;
      m->seen = (HassProgress){ 0 };
      m->entered = m->back = FALSE;
    }
  s->n_waited = 0;
  s->wait_ns = s->waited_ns = 0;
  s->begun = FALSE;
  s->begin_ns = s->now_ns;
  s->share_back = 0;
  guint64 n = hass_round_units (round);
  s->unit_work = n > 0 ? hass_round_total_work (round) / n : 1;
  s->round_units = n;
  s->unit_bytes = unit_bytes (s, round);
  s->longest = longest_unit (s, round);
  /* Where many loads make a bundle they stay side by side, since inputs that
     lie so need no gathering. */
  s->listed = s->may_list && !stay_side_by_side (s, round);
  if (s->listed || s->env->farm == HASS_FARM_FUNCTION
      || has_long_units (s, round))
    hass_round_order_by_work (round);
  s->first_mpd
      = s->env->farm == HASS_FARM_FUNCTION ? first_parallel (round) : 0;
  guint64 front = hass_round_front (round);
  s->unit_elements = hass_auto_elements (
      s, round, front, hass_round_back (round) - front, LOOKED_AT);
  for (guint d = 0; d < s->n; d++)
    {
      look_at_entry (s, d);
      s->members[d].fill_units
          = d != s->cpu && s->unit_elements > 0
                ? s->env->devices[d].width / s->unit_elements
                : 0;
      hass_auto_judge (s, round, d);
    }
  hass_auto_guard_begin (s, round);
  hass_auto_ends_begin (s, round);
  hass_auto_pipeline_begin (s, round);
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  HassAuto *s = self;
  if (alone (s))
    return;
  s->spent_ns += summary->makespan_ns;
  if (s->levels)
    {
      hass_auto_levels_end (s->levels, s->n);
      HASS_AUTO_NOTE (s,
                      "where costs lie is trusted by %.2f, bundles were off by"
                      " %.3g",
                      hass_auto_levels_trust (s->levels),
                      MAX (hass_auto_levels_doubt (s->levels), 0));
    }
  hass_auto_ends_end (s, summary);
  hass_auto_guard_end (s, summary);
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
      s->why = "all, there is nobody else";
      grant->source = HASS_FROM_BACK;
      return HASS_TAKE;
    }
  HassAutoMember *m = &s->members[device];
  m->asked = TRUE;
  m->absent = FALSE;
  m->asked_at = s->n_told;
  m->back = FALSE;
  for (guint d = 0; d < s->n && force; d++)
    s->members[d].absent |= !s->members[d].asked;
  if (force)
    hass_auto_guard_give_up (s);
  if (s->cpu < s->n)
    hass_auto_look_at_cpu (s, round);
  HassAnswer answer
      = device == s->cpu ? hass_auto_grant_cpu (s, round, force, grant)
                         : hass_auto_grant_gpu (s, round, device, force, grant);
  if (answer == HASS_WAIT)
    HASS_AUTO_NOTE (s, "%s waits: %s", s->env->devices[device].name, s->why);
  return answer;
}

/* -- What happened ------------------------------------------------------ */

/* How many times what it does a bundle could do in the same time, because it
   offers fewer elements than the GPU is wide. */
static double
unfilled (const HassAuto *s, const HassRound *round, guint device,
          const HassGrant *grant)
{
  if (s->members[device].smooth
      || s->members[device].fill_units * SURELY_FILLS < grant->taken)
    return 1;
  double elements
      = grant->taken
        * hass_auto_elements (s, round, grant->first, grant->taken, LOOKED_AT);
  return MAX (1, s->env->devices[device].width / MAX (elements, 1));
}

static void
explain (const HassAuto *s, guint device, const HassGrant *grant)
{
  gboolean foretold = s->finish_ns > 0 && isfinite (s->finish_ns);
  g_autofree char *done = foretold ? g_strdup_printf ("; all done in %.4g ms",
                                                      s->finish_ns * 1e-6)
                                   : NULL;
  HASS_AUTO_NOTE (
      s, "%s: %" G_GUINT64_FORMAT " units from %" G_GUINT64_FORMAT ": %s%s",
      s->env->devices[device].name, grant->taken, grant->first, s->why,
      done ? done : "");
}

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  HassAuto *s = self;
  HassAutoMember *m = &s->members[device];
  if (alone (s) || grant->taken == 0)
    return;
  if (s->env->note)
    explain (s, device, grant);
  if (device == s->cpu)
    {
      m->units += grant->taken;
      if (s->solo == device && s->probing)
        s->solo_given = 1;
      return;
    }
  if (grant->source == HASS_FROM_THEFT && s->cpu < s->n)
    {
      s->members[s->cpu].units -= grant->taken;
      s->share_back = grant->first;
    }
  if (m->n_bundles == HASS_AUTO_DEEPEST)
    return;
  double work = hass_auto_range_work (s, round, grant->first, grant->taken);
  double level = hass_auto_level (s, grant->first, grant->taken);
  double times = unfilled (s, round, device, grant);
  work *= times;
  if (s->listed)
    work = hass_auto_listed_work (s, round, device, grant->first, grant->taken);
  gboolean enters = !m->entered && m->entry_ns > 0;
  guint fit
      = (m->n_bundles == 0 ? HASS_AUTO_IDLE : 0)
        + (s->env->farm == HASS_FARM_FUNCTION && grant->first < s->first_mpd
               ? HASS_AUTO_SIMPLE
               : 0);
  const HassFit *known
      = hass_auto_fit_of (s, round, device, fit & HASS_AUTO_IDLE);
  double ns = hass_auto_bundle_ns (s, device, known, work, level)
              * (1 + m->link_wait);
  if (known->seen == 0 && m->prior_rate > 0)
    ns = s->env->devices[device].latency_ns + work / m->prior_rate;
  ns += enters ? m->entry_ns : 0;
  if (m->n_bundles == 0)
    m->since_ns = s->now_ns;
  if (s->solo == device && s->probing)
    s->solo_given = work;
  m->entered = TRUE;
  HassAutoBundle b = { .work = work,
                       .ns = ns,
                       .unfilled = times,
                       .fit = fit,
                       .enters = enters,
                       .first = grant->first,
                       .n = grant->taken,
                       .level = level };
  hass_auto_pipeline_granted (s, device, &b);
  m->bundles[m->n_bundles++] = b;
  hass_auto_pipeline_rest (s, device, work);
  m->n_given++;
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
      hass_auto_pipeline_shift (s, s->begin_ns - s->now_ns);
    }
  s->now_ns = MAX (s->now_ns, done->end_ns);
}

/* What it would have taken if its units cost the mean; a launch does not grow
   with them. */
static double
at_mean (double ns, double level, double latency_ns)
{
  double launch_ns = MIN (latency_ns, 0.5 * ns);
  return launch_ns + (ns - launch_ns) / level;
}

/* Where its units lie and what they took, without what fills the GPU. */
static void
look_at_levels (HassAuto *s, const HassCompletion *done,
                const HassAutoBundle *b, const HassFit *fit, double ns)
{
  if (!s->levels)
    return;
  double latency_ns = s->env->devices[done->device].latency_ns;
  double all = (double)s->round_units;
  double launch_ns = MIN (latency_ns, fit->fixed_ns);
  double own_ns = s->unit_work * b->n * fit->ns_per_work;
  double part = own_ns / (own_ns + fit->fixed_ns - launch_ns);
  hass_auto_levels_add (s->levels, done->device, b->first / all,
                        (b->first + b->n) / all, b->n,
                        MAX (ns - launch_ns, 0.1 * ns) * part);
}

/* A large bundle on a device that was idle shows how fast it will be when
   others queue: as its slowest stage, but for what its parts waited for each
   other, which real devices count as well. So does one larger than all that are
   remembered which did queue. */
static void
foretell (HassFit *queued, const HassCompletion *done, const HassAutoBundle *b,
          double took_ns, double latency_ns)
{
  double work = b->work / b->level;
  double ns
      = MAX (done->kernel_ns, b->unfilled * MAX (done->h2d_ns, done->d2h_ns));
  ns = MIN (ns, took_ns);
  if ((queued->seen == 0 || work > queued->work) && ns > 8 * latency_ns)
    hass_fit_add (queued, work, at_mean (ns, b->level, latency_ns), latency_ns);
}

/* What it would have taken if it had filled the GPU: its kernel no longer, but
   its copies. The stages of a real device's grant may add up to more than it
   took, as copies of one part wait for those of another. */
static double
filled_ns (const HassAuto *s, const HassCompletion *done,
           const HassAutoBundle *b, double copy_ns, double ns)
{
  double h2d_ns = MAX (done->h2d_ns - copy_ns, 0);
  if (b->unfilled <= 1)
    return ns;
  if (!(b->fit & HASS_AUTO_IDLE) && hass_auto_overlaps (s, done->device))
    return MAX (ns, b->unfilled * MAX (h2d_ns, done->d2h_ns));
  return ns + (b->unfilled - 1) * (h2d_ns + done->d2h_ns);
}

/* Of a filled bundle the copies take longer. */
static void
look_at_stages (HassAutoMember *m, const HassCompletion *done,
                const HassAutoBundle *b, double copy_ns)
{
  double in_ns = MAX (done->h2d_ns - copy_ns, 0) * b->unfilled;
  m->in_ns = STAGE_MEMORY * m->in_ns + in_ns;
  m->kernels_ns = STAGE_MEMORY * m->kernels_ns + done->kernel_ns;
  m->out_ns = STAGE_MEMORY * m->out_ns + done->d2h_ns * b->unfilled;
  if (m->n_done <= 1)
    return; /* the first one may have waited for what is made once */
  double busy_ns = MAX (done->kernel_busy_ns - done->worker_ns, 0);
  m->computed_ns = STAGE_MEMORY * m->computed_ns + busy_ns;
  m->computed_work = STAGE_MEMORY * m->computed_work + b->work;
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
    memset (m->shown.fits, 0, sizeof m->shown.fits);
}

/* In its first bundle a worker may make what it needs once, and the GPU waits
   for it: that is no part of what bundles take. */
static HassCompletion
without_setup (const HassAutoMember *m, const HassCompletion *done,
               double latency_ns)
{
  HassCompletion d = *done;
  double took_ns = d.end_ns - d.grant_ns;
  double least_ns = MIN (d.h2d_ns + d.d2h_ns + latency_ns, took_ns);
  if (m->n_done > 0)
    return d;
  d.grant_ns += (gint64)MIN (d.worker_ns, took_ns - least_ns);
  d.kernel_ns = MAX (d.kernel_ns - d.worker_ns, 0);
  return d;
}

/* How long a bundle waits for the copies of others is chance, and would make
   all that is foretold uncertain: it is learned apart, as a mean. */
static double
without_wait (HassAuto *s, const HassCompletion *done, double copy_ns,
              double ns)
{
  HassAutoMember *m = &s->members[done->device];
  double needed_ns = done->h2d_ns + done->kernel_ns + done->d2h_ns - copy_ns;
  ns = MAX (ns - copy_ns, 0.1 * ns);
  if (s->env->devices[done->device].link == 0 || needed_ns <= 0
      || needed_ns >= ns || hass_auto_overlaps (s, done->device))
    return ns;
  if (copy_ns > 0)
    return needed_ns; /* and others enter by the same link */
  m->waited_ns = LINK_MEMORY * m->waited_ns + ns - needed_ns;
  m->needed_ns = LINK_MEMORY * m->needed_ns + needed_ns;
  m->link_wait = m->waited_ns / m->needed_ns;
  return needed_ns;
}

/* Devices that are alike need the same for a bundle. */
static void
share_fixed_part (HassAuto *s, guint device, guint which)
{
  const HassFit *fit = &s->members[device].shown.fits[which];
  for (guint d = 0; d < s->n; d++)
    if (d != device && hass_auto_alike (s, d, device))
      {
        s->members[d].shown.fits[which].pair_ns = fit->pair_ns;
        s->members[d].shown.fits[which].step = fit->step;
      }
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *told)
{
  HassAuto *s = self;
  HassAutoMember *m = &s->members[told->device];
  if (alone (s))
    return;
  set_clock (s, told);
  m->asked_at = ++s->n_told; /* it can ask only now */
  s->n_waited += hass_round_waiting (round) > 0;
  m->back = TRUE;
  if (told->device == s->cpu)
    {
      hass_auto_look_at_cpu (s, round);
      hass_auto_guard_watch (s);
      return;
    }
  double latency_ns = s->env->devices[told->device].latency_ns;
  HassCompletion own = without_setup (m, told, latency_ns), *done = &own;
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
  hass_auto_pipeline_idle (s, done->device);
  hass_auto_guard_watch (s);
  if (done->failed || done->units == 0)
    return;
  double copy_ns = b.enters ? m->copy_ns : 0;
  double served_ns = MAX (ns - copy_ns, 0.1 * ns);
  ns = without_wait (s, done, copy_ns, ns);
  if (copy_ns > 0)
    served_ns = ns;
  if (s->solo == done->device && s->probing)
    s->solo_ns += served_ns;
  m->done_work += b.work;
  m->done_ns
      += MAX (served_ns
                  - hass_auto_bundle_ns (s, done->device, &m->shown.fits[b.fit],
                                         0, b.level),
              0.1 * served_ns);
  forget_warm_up (m, b.work, ns);
  if (b.unfilled > POOR && m->n_done > MANY_DONE)
    return;
  look_at_stages (m, done, &b, copy_ns);
  hass_auto_pipeline_observe (s, done, &b, copy_ns);
  m->host_ns = STAGE_MEMORY * m->host_ns + done->host_ns;
  m->host_work = STAGE_MEMORY * m->host_work + done->work;
  HassFit *fit = &m->shown.fits[b.fit];
  ns = filled_ns (s, done, &b, copy_ns, ns);
  double mean_ns = at_mean (ns, b.level, latency_ns);
  hass_fit_add (fit, b.work / b.level, mean_ns, latency_ns);
  if (s->env->cost == HASS_COST_UNKNOWN)
    {
      hass_fit_compare (fit, b.work / b.level, mean_ns, latency_ns);
      share_fixed_part (s, done->device, b.fit);
    }
  /* What fills the GPU is part of what a bundle takes however little it does;
     where it is not known that is learned as the fixed part. */
  if (m->fill_units > 0 || !hass_auto_counts_elements (s))
    hass_fit_limit (fit, MOST_LATENCIES * latency_ns
                             + MOST_FILLS
                                   * hass_auto_fill_work (s, done->device)
                                   * fit->ns_per_work);
  look_at_levels (s, done, &b, fit, ns);
  fit->last = m->n_done;
  if (hass_auto_overlaps (s, done->device))
    foretell (&m->shown.fits[b.fit & ~(guint)HASS_AUTO_IDLE], done, &b, ns,
              latency_ns);
  m->largest = MAX (m->largest, s->levels ? b.work / b.unfilled : done->work);
}

static void
destroy (gpointer self)
{
  HassAuto *s = self;
  hass_auto_levels_free (s->levels);
  g_free (s->members);
  g_free (s->plan);
  g_free (s->counts);
  g_free (s->arms);
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
  .end_round = end_round,
  .destroy = destroy,
};

/* SPDX-License-Identifier: MIT */
/* auto_plan.c: what auto knows of each device, and the plan for what is left
   of a round; steps 1 and 2 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define CPU_MEMORY 0.8 /* for each pass of all cores */
#define SETTLED_BUNDLES 3
#define STALE_BUNDLES 2
#define STALE 2       /* times as fast or slow */
#define SILENT_TOLD 4 /* completions */
#define HARDLY_FILLED 8
#define LONG_NS 1e7 /* a unit on a core */
#define LISTED_TAIL 0.6
#define EARLY_BUNDLES 8
#define UNSETTLED 0.3 /* error of what is foretold */
#define MARGIN 2 /* a unit may take so much longer when all cores are busy */

/* -- 1. What is known --------------------------------------------------- */

/* Takes what the cores have done since the last look. Sums of finished work
   over sums of their time are right at any moment, so a look in the middle
   of units harms nothing. */
void
hass_auto_look_at_cpu (HassAuto *s, const HassRound *round)
{
  HassAutoMember *m = &s->members[s->cpu];
  HassProgress p = hass_round_progress (round, s->cpu);
  guint64 units = p.units - m->seen.units;
  if (units == 0 || (m->busy_ns > 0 && units < s->env->devices[s->cpu].cores))
    return;
  m->work = CPU_MEMORY * m->work + p.work - m->seen.work;
  m->busy_ns = CPU_MEMORY * m->busy_ns + p.busy_ns - m->seen.busy_ns;
  m->n_seen += units;
  m->seen = p;
}

static double
cpu_rate (const HassAuto *s)
{
  const HassAutoMember *m = &s->members[s->cpu];
  return m->busy_ns > 0 ? m->work / m->busy_ns : m->prior_rate;
}

/* Whether what a GPU would get now is a set of simple tasks, one for each
   multiprocessor. No round: it is over, or all of it is meant. */
gboolean
hass_auto_simple (const HassAuto *s, const HassRound *round)
{
  return s->env->farm == HASS_FARM_FUNCTION && round
         && hass_round_back (round) <= s->first_mpd;
}

/* The fit for the next bundle; that of the other state of the device where
   this one has not been seen, or with little work only. */
const HassFit *
hass_auto_fit_of (const HassAuto *s, const HassRound *round, guint device,
                  gboolean idle)
{
  const HassAutoMember *m = &s->members[device];
  guint kind = hass_auto_simple (s, round) ? HASS_AUTO_SIMPLE : 0;
  const HassFit *fit = &m->fits[kind + (idle ? HASS_AUTO_IDLE : 0)];
  const HassFit *other = &m->fits[kind + (idle ? 0 : HASS_AUTO_IDLE)];
  gboolean stale = other->last > fit->last + STALE_BUNDLES
                   && (other->ns_per_work > STALE * fit->ns_per_work
                       || STALE * other->ns_per_work < fit->ns_per_work);
  return fit->work > 0 && 4 * fit->work >= other->work && !stale ? fit : other;
}

gboolean
hass_auto_measured (const HassAuto *s, const HassRound *round, guint device)
{
  if (device == s->cpu)
    return s->members[device].busy_ns > 0;
  return hass_auto_fit_of (s, round, device, TRUE)->seen > 0;
}

/* Something is on the device, so there will be a completion. */
gboolean
hass_auto_busy (const HassAuto *s, const HassRound *round, guint device)
{
  const HassAutoMember *m = &s->members[device];
  if (device != s->cpu)
    return m->n_bundles > 0;
  return m->units > (gint64)hass_round_progress (round, device).units;
}

/* Whether the GPUs that have work show by it what they can: the first bundle
   of each may have been slowed by what is made once, and early ones are small.
   Meanwhile another completion is due soon, for planned ones surely. */
gboolean
hass_auto_all_settled (const HassAuto *s, const HassRound *round,
                       gboolean planned)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      if (d != s->cpu
          && (m->n_bundles > 0 || (m->back && (!planned || s->plan[d].runs)))
          && (m->n_done < SETTLED_BUNDLES
              || (m->n_done < EARLY_BUNDLES
                  && hass_auto_fit_of (s, round, d, FALSE)->error > UNSETTLED)))
        return FALSE;
    }
  return TRUE;
}

gboolean
hass_auto_out (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  return m->failed || m->absent || m->hopeless;
}

/* Whether a GPU that nobody has seen at work could help at all. Its kernels
   have a thread for each element, and a thread is slower than a core by far;
   and what it needs to copy first may take longer than the others need for all
   there is. */
void
hass_auto_judge (HassAuto *s, const HassRound *round, guint device)
{
  HassAutoMember *m = &s->members[device];
  m->hopeless = FALSE;
  if (device == s->cpu || s->cpu == s->n || hass_auto_known (s, round, device))
    return;
  guint cores = s->env->devices[s->cpu].cores;
  double elements = s->unit_elements * hass_round_units (round);
  m->hopeless = elements > 0
                && HARDLY_FILLED * elements < s->env->devices[device].width
                && 4 * elements < HASS_AUTO_CORE_THREADS * cores;
  if (!m->hopeless && m->copy_ns > 0)
    m->hopeless
        = m->entry_ns > hass_auto_whole_ns (s, hass_round_total_work (round));
}

/* Work of the smallest bundle that fills it; any smaller takes as long. */
double
hass_auto_fill_work (const HassAuto *s, guint device)
{
  return s->members[device].fill_units * s->unit_work;
}

/* A unit that a core has begun holds up the round for long. */
gboolean
hass_auto_long_units (const HassAuto *s)
{
  if (s->cpu == s->n || s->members[s->cpu].busy_ns <= 0)
    return FALSE;
  return s->unit_work * s->env->devices[s->cpu].cores > LONG_NS * cpu_rate (s);
}

/* A GPU's very first bundle may have been slowed by what is made once. Is there
   one of which no more is known, and which will soon have done as much again?
 */
gboolean
hass_auto_warming_up (const HassAuto *s, const HassRound *round, double soon_ns)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      const HassFit *fit = hass_auto_fit_of (s, round, d, TRUE);
      if (d != s->cpu && m->n_done == 1
          && (m->n_bundles > 0 || (m->back && s->plan[d].runs))
          && hass_fit_ns (fit, m->largest) <= soon_ns)
        return TRUE;
    }
  return FALSE;
}

/* -- 2. The plan -------------------------------------------------------- */

guint64
hass_auto_cpu_share (const HassAuto *s, const HassRound *round)
{
  return s->cpu < s->n ? hass_round_share (round, s->cpu) : 0;
}

/* Work of n units at the end of the common range from which GPUs, or cores,
   take; or of as many as wait. */
double
hass_auto_work_at (const HassAuto *s, const HassRound *round, gboolean gpu,
                   guint64 n)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 common = hi - lo;
  if (s->env->cost != HASS_COST_SIZED || common == 0)
    return s->unit_work * n;
  n = MIN (n, common);
  return hass_round_work (round, gpu != s->reversed ? hi - n : lo, n);
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

static double
work_left (const HassAuto *s, const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint64 share = hass_auto_cpu_share (s, round);
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

static void
plan_cpu (const HassAuto *s, const HassRound *round, gboolean idle,
          HassRunner *r)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  r->rate = cpu_rate (s);
  if (r->rate <= 0)
    return;
  double unit_ns = hass_auto_work_at (s, round, FALSE, 1) * cores / r->rate;
  double exclusive = hass_round_exclusive (round, s->cpu) * s->unit_work;
  /* Cores stop when one more unit would be late, on average half a unit
     early; and those at work now are in the middle of one. */
  r->ready_ns = hass_auto_busy (s, round, s->cpu) ? unit_ns : unit_ns / 2;
  r->step_ns = unit_ns - r->ready_ns;
  /* A few units that had the machine to themselves say too little. */
  if (s->members[s->cpu].n_seen < cores
      && !hass_auto_all_settled (s, round, FALSE))
    r->step_ns += (MARGIN - 1) * unit_ns;
  if (!idle)
    r->step_ns += hass_auto_next_free_ns (s, round, unit_ns);
  r->ready_ns += exclusive / r->rate;
}

gboolean
hass_auto_overlaps (const HassAuto *s, guint device)
{
  return s->env->devices[device].max_in_flight > 1
         && s->env->parameters[HASS_AUTO_IN_FLIGHT] > 1;
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

static void
plan_gpu (const HassAuto *s, const HassRound *round, guint device,
          HassRunner *r)
{
  const HassAutoMember *m = &s->members[device];
  const HassFit *next = hass_auto_fit_of (s, round, device, m->n_bundles == 0);
  const HassFit *later
      = hass_auto_fit_of (s, round, device, !hass_auto_overlaps (s, device));
  double fixed_ns
      = next->seen > 0 ? next->fixed_ns : s->env->devices[device].latency_ns;
  r->rate = later->seen > 0 ? 1 / later->ns_per_work / (1 + m->link_wait)
                            : m->prior_rate;
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
  r->step_ns = MAX (least, hass_auto_fill_work (s, device)) / r->rate;
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
          r->rate = m->mean_rate > 0 ? m->mean_rate : cpu_rate (s);
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
        next = later = &m->fits[HASS_AUTO_SIMPLE + HASS_AUTO_IDLE];
      r->rate = m->mean_rate > 0  ? m->mean_rate
                : later->seen > 0 ? 1 / later->ns_per_work / (1 + m->link_wait)
                                  : m->prior_rate;
      r->ready_ns = (s->arm == d ? m->copy_ns : m->entry_ns) + next->fixed_ns;
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

/* Others who may come to take part but are not planned with yet. */
gboolean
hass_auto_all_measured (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!hass_auto_out (s, d) && !hass_auto_measured (s, round, d))
      return FALSE;
  return TRUE;
}

/* Measured, or known from earlier runs. */
gboolean
hass_auto_known (const HassAuto *s, const HassRound *round, guint device)
{
  return s->members[device].prior_rate > 0
         || hass_auto_measured (s, round, device);
}

gboolean
hass_auto_all_known (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!hass_auto_out (s, d) && !hass_auto_known (s, round, d))
      return FALSE;
  return TRUE;
}

/* Units that are kept for GPUs which nobody knows yet, so that they are
   tried even where rounds are tiny. */
guint64
hass_auto_kept_units (const HassAuto *s, const HassRound *round)
{
  guint64 n = 0;
  for (guint d = 0; d < s->n; d++)
    n += d != s->cpu && !hass_auto_out (s, d) && !hass_auto_busy (s, round, d)
         && !hass_auto_known (s, round, d);
  return n;
}

/* SPDX-License-Identifier: MIT */
/* estimate.c: see estimate.h.
   Thread safety: as hass/strategy.h. */
#include "estimate.h"

#include <math.h>
#include <string.h>

/* Weight of the CPU pool's sums of work and time after each further pass of all
   cores. A guess: more, and a pool that becomes slower is noticed late; less,
   and rates are noise. */
#define CPU_MEMORY 0.8
/* Weight of the sums of copy, kernel and host times after each further bundle.
   A guess: more follows changes later, less follows noise. */
#define STAGE_MEMORY 0.9
/* Weight of the sums of waits for a shared link after each bundle. A guess:
   more follows changes later. */
#define LINK_MEMORY 0.9
/* A device has one fit (line of bundle time over work) for bundles that find it
   idle and one for bundles that queue. A fit is stale, and the other one is
   used, if the other has had more than STALE_BUNDLES bundles since and their
   slopes differ by more than STALE times. Guesses: more keeps rates that no
   longer hold. */
#define STALE_BUNDLES 2
#define STALE 2
/* Of the fits for idle and queued bundles, the other one is used if it has seen
   MUCH_MORE times the work. A guess: less drops a newer fit. */
#define MUCH_MORE 4
/* A unit is long if it takes a core more than this time, in ns: before the core
   has finished it another device completes a bundle, after which the unit might
   be granted better. A guess: less makes cores wait in vain. */
#define LONG_NS 1e7
/* Bundles that a GPU holds at a time: one is copied in, one computed, one
   copied out. Fewer overlap less, more only bind units. */
#define USUAL_IN_FLIGHT 3
/* A device's first bundle was a warm-up, and is forgotten, if it took WARM_UP
   times as long per work as the second one. A guess: less forgets
   measurements. */
#define WARM_UP 2
/* A bundle is ignored if POOR times its elements would fit on the GPU at the
   same time, since its time says little about larger ones. A guess. */
#define POOR 2
/* Number of first bundles that are not ignored even if they fill too little of
   a GPU. A guess: more follows poor ones. */
#define MANY_DONE 2
/* The fixed part of a bundle's time is at most MOST_LATENCIES latencies plus
   MOST_FILLS times the time of work that fills the GPU. Guesses: more takes
   waits for a fixed part. */
#define MOST_LATENCIES 8
#define MOST_FILLS 2
/* The rate of a device in a whole round replaces the mean of earlier rounds if
   it did at least this fraction of the work. A guess: less follows noise. */
#define AVERAGED_PART 0.02
/* At least this fraction of a bundle's time remains when waits and copies are
   subtracted. A guess: it keeps rates from becoming infinite. */
#define LEAST_SERVED 0.1
/* A bundle on an idle device predicts the rate of bundles that queue if its
   longest stage (copy or kernels) takes this many latencies. A guess: less
   takes a launch for work. */
#define SHOWING_LATENCIES 8

/* -- Life --------------------------------------------------------------- */

static void
set_priors (HassEstimates *e)
{
  const HassStrategyEnv *env = e->u->env;
  gboolean profiled = env->profile != NULL, said = TRUE;
  for (guint d = 0; d < e->u->n; d++)
    {
      profiled = profiled && env->profile[d].work_per_ns > 0;
      said = said && env->devices[d].work_per_ns > 0;
      e->of[d].prior_ns = env->devices[d].latency_ns;
    }
  for (guint d = 0; d < e->u->n && (profiled || said); d++)
    {
      e->of[d].prior_rate = profiled ? env->profile[d].work_per_ns
                                     : env->devices[d].work_per_ns;
      if (profiled && env->farm != HASS_FARM_INDIVISIBLE)
        e->of[d].prior_ns = MAX (e->of[d].prior_ns, env->profile[d].latency_ns);
      HASS_NOTE (env, "%s: %.4g work per ns, %s", env->devices[d].name,
                 e->of[d].prior_rate,
                 profiled ? "from earlier runs" : "as its traits say");
    }
}

void
hass_estimates_init (HassEstimates *e, const HassUnits *u,
                     guint wanted_in_flight)
{
  *e = (HassEstimates){ .u = u, .wanted_in_flight = wanted_in_flight };
  e->of = g_new0 (HassEstimate, MAX (u->n, 1));
  set_priors (e);
}

void
hass_estimates_clear (HassEstimates *e)
{
  g_free (e->of);
}

void
hass_estimates_begin_round (HassEstimates *e)
{
  for (guint d = 0; d < e->u->n; d++)
    {
      e->of[d].done_work = e->of[d].done_ns = 0;
      e->of[d].seen = (HassProgress){ 0 };
    }
}

/* Takes in the rate of a device in a whole round of unknown costs, if it did
   enough of it: costs differ along a round, so its last bundles say little
   about the next round. */
static void
average (HassEstimates *e, guint device, const HassDeviceSummary *did,
         double round_work)
{
  HassEstimate *m = &e->of[device];
  if (device == e->u->cpu)
    {
      m->done_work = did->work;
      m->done_ns = did->busy_ns;
    }
  double rate = e->u->levels ? hass_levels_rate (e->u->levels, device) : 0;
  if (rate > 0)
    m->shown.mean_rate = rate * e->u->work;
  else if (m->done_ns > 0 && m->done_work > AVERAGED_PART * round_work)
    m->shown.mean_rate = m->done_work / m->done_ns;
}

void
hass_estimates_end_round (HassEstimates *e, const HassRoundSummary *summary,
                          double work)
{
  if (e->u->env->cost != HASS_COST_UNKNOWN)
    return;
  for (guint d = 0; d < e->u->n; d++)
    average (e, d, &summary->devices[d], work);
}

/* -- What is observed --------------------------------------------------- */

/* Takes in what the cores have done since the last call. Sums of finished work
   over sums of its time are right at any moment, so a call while cores are in
   the middle of units does no harm. */
void
hass_estimates_look_at_cpu (HassEstimates *e, const HassRound *round)
{
  const HassUnits *u = e->u;
  HassEstimate *m = &e->of[u->cpu];
  HassProgress p = hass_round_progress (round, u->cpu);
  guint64 units = p.units - m->seen.units;
  if (units == 0 || (m->shown.busy_ns > 0 && units < u->cores))
    return;
  double work = p.work - m->seen.work;
  if (u->levels)
    {
      guint64 first = u->reversed ? u->round_units - p.units : m->seen.units;
      double all = (double)u->round_units;
      work = hass_units_work (u, round, first, units);
      hass_levels_add (u->levels, u->cpu, first / all, (first + units) / all,
                       (double)units, p.busy_ns - m->seen.busy_ns);
    }
  m->shown.work = CPU_MEMORY * m->shown.work + work;
  m->shown.busy_ns
      = CPU_MEMORY * m->shown.busy_ns + p.busy_ns - m->seen.busy_ns;
  m->seen = p;
}

/* Returns a copy of the completion in which the device's preparations are left
   out, and the time of a GPU worker's first call: it may load libraries while
   the GPU waits, which is no part of a bundle's time either. */
HassCompletion
hass_estimates_without_setup (const HassEstimates *e,
                              const HassCompletion *told)
{
  HassCompletion d = *told;
  double took_ns = d.end_ns - d.grant_ns;
  double latency_ns = e->u->devices[d.device].latency_ns;
  double least_ns = MIN (d.h2d_ns + d.d2h_ns + latency_ns, took_ns);
  double first_ns = e->of[d.device].n_done > 0 ? 0 : d.worker_ns;
  d.grant_ns += (gint64)MIN (d.setup_ns + first_ns, took_ns - least_ns);
  d.kernel_ns = MAX (d.kernel_ns - first_ns, 0);
  return d;
}

double
hass_estimates_without_wait (HassEstimates *e, const HassCompletion *done,
                             double copy_ns, double ns)
{
  HassEstimate *m = &e->of[done->device];
  double needed_ns = done->h2d_ns + done->kernel_ns + done->d2h_ns - copy_ns;
  ns = MAX (ns - copy_ns, LEAST_SERVED * ns);
  if (e->u->devices[done->device].link == 0 || needed_ns <= 0 || needed_ns >= ns
      || hass_estimates_overlaps (e, done->device))
    return ns;
  if (copy_ns > 0)
    return needed_ns; /* other devices then copy over the same link */
  m->waited_ns = LINK_MEMORY * m->waited_ns + ns - needed_ns;
  m->needed_ns = LINK_MEMORY * m->needed_ns + needed_ns;
  m->link_wait = m->waited_ns / m->needed_ns;
  return needed_ns;
}

/* Adds a bundle's copy and kernel times to the decayed sums. Copies of a bundle
   that does not fill the GPU count as those of one that does. */
static void
look_at_stages (HassEstimate *m, const HassCompletion *done,
                const HassBundle *b, double copy_ns)
{
  double in_ns = MAX (done->h2d_ns - copy_ns, 0) * b->unfilled;
  m->in_ns = STAGE_MEMORY * m->in_ns + in_ns;
  m->kernels_ns = STAGE_MEMORY * m->kernels_ns + done->kernel_ns;
  m->out_ns = STAGE_MEMORY * m->out_ns + done->d2h_ns * b->unfilled;
  m->host_ns = STAGE_MEMORY * m->host_ns + done->host_ns;
  m->host_work = STAGE_MEMORY * m->host_work + done->work;
  if (m->n_done <= 1)
    return; /* the first bundle may have been a warm-up */
  double busy_ns = MAX (done->kernel_busy_ns - done->worker_ns, 0);
  m->computed_ns = STAGE_MEMORY * m->computed_ns + busy_ns;
  m->computed_work = STAGE_MEMORY * m->computed_work + b->work;
}

/* Counts a completed bundle, and forgets the first one if the second shows that
   it was a warm-up, which waited for code to be loaded. */
static void
forget_warm_up (HassEstimate *m, double work, double ns)
{
  if (++m->n_done == 1)
    {
      m->first_work = work;
      m->first_ns = ns;
    }
  else if (m->n_done == 2 && WARM_UP * ns * m->first_work < m->first_ns * work)
    memset (m->shown.fits, 0, sizeof m->shown.fits);
}

/* Returns the time, in ns, that a bundle would have taken if it had filled the
   GPU: its kernel takes no longer, its copies do. Of a queued bundle only the
   longer copy counts, as copies overlap. */
static double
filled_ns (const HassEstimates *e, const HassCompletion *done,
           const HassBundle *b, double copy_ns, double ns)
{
  double h2d_ns = MAX (done->h2d_ns - copy_ns, 0);
  if (b->unfilled <= 1)
    return ns;
  if (!(b->fit & HASS_FIT_IDLE) && hass_estimates_overlaps (e, done->device))
    return MAX (ns, b->unfilled * MAX (h2d_ns, done->d2h_ns));
  return ns + (b->unfilled - 1) * (h2d_ns + done->d2h_ns);
}

/* Returns the time that a bundle would have taken if its units had the mean
   cost; @level: their cost over the mean. A launch does not depend on it. */
static double
at_mean (double ns, double level, double latency_ns)
{
  double launch_ns = MIN (latency_ns, 0.5 * ns);
  return launch_ns + (ns - launch_ns) / level;
}

/* Tells the levels (how costs lie along the round) where a bundle's units lie
   and what they took, without the fixed part of its time. */
static void
look_at_levels (HassEstimates *e, const HassCompletion *done,
                const HassBundle *b, const HassFit *fit, double ns)
{
  const HassUnits *u = e->u;
  if (!u->levels)
    return;
  double latency_ns = u->devices[done->device].latency_ns;
  double all = (double)u->round_units;
  double launch_ns = MIN (latency_ns, fit->fixed_ns);
  double own_ns = u->work * b->n * fit->ns_per_work;
  double part = own_ns / (own_ns + fit->fixed_ns - launch_ns);
  hass_levels_add (u->levels, done->device, b->first / all,
                   (b->first + b->n) / all, b->n,
                   MAX (ns - launch_ns, LEAST_SERVED * ns) * part);
}

/* Adds to the line of queued bundles what a bundle on an idle device predicts
   of them: the time of its longest stage, as other stages overlap. A queued
   bundle larger than all that the line has seen is added, too. */
static void
predict_queued (HassFit *queued, const HassCompletion *done,
                const HassBundle *b, double took_ns, double latency_ns)
{
  double work = b->work / b->level;
  double ns
      = MAX (done->kernel_ns, b->unfilled * MAX (done->h2d_ns, done->d2h_ns));
  ns = MIN (ns, took_ns);
  if ((queued->seen == 0 || work > queued->work)
      && ns > SHOWING_LATENCIES * latency_ns)
    hass_fit_add (queued, work, at_mean (ns, b->level, latency_ns), latency_ns);
}

/* Copies the fixed part that a device's bundles have shown to alike devices. */
static void
share_fixed_part (HassEstimates *e, guint device, guint which)
{
  const HassFit *fit = &e->of[device].shown.fits[which];
  for (guint d = 0; d < e->u->n; d++)
    if (d != device && hass_estimates_alike (e, d, device))
      {
        e->of[d].shown.fits[which].pair_ns = fit->pair_ns;
        e->of[d].shown.fits[which].step = fit->step;
      }
}

/* Adds a bundle to its line of time over work. The fixed part is bounded, but
   not where the farm does not state how many elements fill a GPU, or blocks are
   of unknown costs, since it then has to hold the time that fills the GPU, or
   in which all but the longest block are over. */
static void
add_to_fit (HassEstimates *e, guint device, const HassBundle *b, double ns)
{
  HassEstimate *m = &e->of[device];
  HassFit *fit = &m->shown.fits[b->fit];
  double latency_ns = e->u->devices[device].latency_ns;
  double mean_ns = at_mean (ns, b->level, latency_ns);
  hass_fit_add (fit, b->work / b->level, mean_ns, latency_ns);
  if (e->u->env->cost == HASS_COST_UNKNOWN)
    {
      hass_fit_compare (fit, b->work / b->level, mean_ns, latency_ns);
      share_fixed_part (e, device, b->fit);
    }
  gboolean tails = e->u->blocks && e->u->env->cost == HASS_COST_UNKNOWN;
  if (hass_units_fill (e->u, device) > 0 && !tails)
    hass_fit_limit (fit, MOST_LATENCIES * latency_ns
                             + MOST_FILLS * hass_units_fill_work (e->u, device)
                                   * fit->ns_per_work);
  fit->last = m->n_done;
}

gboolean
hass_estimates_observe (HassEstimates *e, const HassCompletion *done,
                        const HassBundle *b, double copy_ns, double ns,
                        double served_ns)
{
  HassEstimate *m = &e->of[done->device];
  HassFit *fit = &m->shown.fits[b->fit];
  double latency_ns = e->u->devices[done->device].latency_ns;
  m->done_work += b->work;
  m->done_ns += MAX (
      served_ns - hass_estimates_bundle_ns (e, done->device, fit, 0, b->level),
      LEAST_SERVED * served_ns);
  forget_warm_up (m, b->work, ns);
  if (b->unfilled > POOR && m->n_done > MANY_DONE)
    return FALSE;
  look_at_stages (m, done, b, copy_ns);
  ns = filled_ns (e, done, b, copy_ns, ns);
  add_to_fit (e, done->device, b, ns);
  look_at_levels (e, done, b, fit, ns);
  if (hass_estimates_overlaps (e, done->device))
    predict_queued (&m->shown.fits[b->fit & ~(guint)HASS_FIT_IDLE], done, b, ns,
                    latency_ns);
  m->largest
      = MAX (m->largest, e->u->levels ? b->work / b->unfilled : done->work);
  return TRUE;
}

/* -- What is known ------------------------------------------------------ */

const HassFit *
hass_estimates_fit (const HassEstimates *e, const HassRound *round,
                    guint device, gboolean idle)
{
  const HassEstimate *m = &e->of[device];
  guint kind = hass_units_simple (e->u, round) ? HASS_FIT_SIMPLE : 0;
  const HassFit *fit = &m->shown.fits[kind + (idle ? HASS_FIT_IDLE : 0)];
  const HassFit *other = &m->shown.fits[kind + (idle ? 0 : HASS_FIT_IDLE)];
  gboolean stale = other->last > fit->last + STALE_BUNDLES
                   && (other->ns_per_work > STALE * fit->ns_per_work
                       || STALE * other->ns_per_work < fit->ns_per_work);
  return fit->work > 0 && MUCH_MORE * fit->work >= other->work && !stale
             ? fit
             : other;
}

gboolean
hass_estimates_measured (const HassEstimates *e, const HassRound *round,
                         guint device)
{
  if (device == e->u->cpu)
    return e->of[device].shown.busy_ns > 0;
  return hass_estimates_fit (e, round, device, TRUE)->seen > 0;
}

gboolean
hass_estimates_known (const HassEstimates *e, const HassRound *round,
                      guint device)
{
  return e->of[device].prior_rate > 0
         || hass_estimates_measured (e, round, device);
}

/* Returns the rate to plan with, given that of the last bundles. Where costs
   are unknown these show the costs of their units as much as the device, so it
   is the geometric mean with the rate of whole rounds. */
static double
recent_rate (const HassEstimates *e, guint device, double rate)
{
  double usual
      = e->u->levels ? hass_levels_rate (e->u->levels, device) * e->u->work : 0;
  return usual > 0 ? sqrt (rate * usual) : rate;
}

double
hass_estimates_cpu_rate (const HassEstimates *e)
{
  const HassEstimate *m = &e->of[e->u->cpu];
  if (m->shown.busy_ns <= 0)
    return m->prior_rate;
  return recent_rate (e, e->u->cpu, m->shown.work / m->shown.busy_ns);
}

double
hass_estimates_core_rate (const HassEstimates *e)
{
  return hass_estimates_cpu_rate (e) / e->u->cores;
}

double
hass_estimates_gpu_rate (const HassEstimates *e, guint device, double mean_rate,
                         const HassFit *fit)
{
  const HassEstimate *m = &e->of[device];
  return mean_rate > 0   ? mean_rate
         : fit->seen > 0 ? recent_rate (e, device, 1 / fit->ns_per_work)
                               / (1 + m->link_wait)
                         : m->prior_rate;
}

/* Returns the predicted time of a bundle of @work whose units have @level times
   the mean cost. The launch (at most the latency) takes the same time whatever
   units cost; the rest of the fixed part is time that fills the GPU, and grows
   with @level. */
double
hass_estimates_bundle_ns (const HassEstimates *e, guint device,
                          const HassFit *fit, double work, double level)
{
  double launch_ns = MIN (e->u->devices[device].latency_ns, fit->fixed_ns);
  return launch_ns + level * (hass_fit_ns (fit, work / level) - launch_ns);
}

double
hass_estimates_fixed_ns (const HassEstimates *e, const HassRound *round,
                         guint device, const HassFit *fit)
{
  return hass_estimates_bundle_ns (e, device, fit, 0,
                                   hass_units_next_level (e->u, round, device));
}

gboolean
hass_estimates_long_units (const HassEstimates *e)
{
  const HassUnits *u = e->u;
  if (u->cpu == u->n || !(hass_estimates_cpu_rate (e) > 0))
    return FALSE;
  return u->work * u->cores > LONG_NS * hass_estimates_cpu_rate (e);
}

/* A device that itself cuts its grants into parts gets as many bundles as it
   has room for: one that is computed waits for its results to be copied. */
guint
hass_estimates_in_flight (const HassEstimates *e, guint device)
{
  const HassDeviceTraits *t = &e->u->devices[device];
  guint wanted = e->wanted_in_flight;
  if (wanted == 0)
    wanted = t->part_bytes > 0 ? HASS_MOST_IN_FLIGHT : USUAL_IN_FLIGHT;
  return MIN (wanted, MAX (t->max_in_flight, 1));
}

gboolean
hass_estimates_overlaps (const HassEstimates *e, guint device)
{
  return hass_estimates_in_flight (e, device) > 1;
}

double
hass_estimates_alone_part (const HassEstimates *e, guint device)
{
  const HassEstimate *m = &e->of[device];
  double longest = MAX (m->kernels_ns, MAX (m->in_ns, m->out_ns));
  if (!hass_estimates_overlaps (e, device) || longest <= 0)
    return 0;
  return (m->in_ns + m->kernels_ns + m->out_ns) / longest - 1;
}

gboolean
hass_estimates_alike (const HassEstimates *e, guint one, guint other)
{
  const HassDeviceTraits *a = &e->u->devices[one];
  const HassDeviceTraits *b = &e->u->devices[other];
  return a->kind == b->kind && a->cores == b->cores && a->width == b->width
         && a->latency_ns == b->latency_ns;
}

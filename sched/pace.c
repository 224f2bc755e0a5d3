/* SPDX-License-Identifier: MIT */
/* pace.c: how fast each device serves each class of a stream.

   DESIGN. A pace is a mean over recent grants, weighted by units. The kernels
   of a bundle that does not fill the GPU take as long as those of one that
   does, so their time is divided by the number of units that fill it. The pace
   of a device that has served no unit of a class is that of earlier runs, times
   how much faster or slower other devices now are in the class than in earlier
   runs: with larger tokens, say, all are slower. Without earlier runs it is
   guessed from how much faster or slower the device is in the classes that it
   has served.

   Thread safety: see pace.h. */
#include "pace.h"

#include <math.h>

/* Number of units over which a mean is taken: a larger number averages over
   more noise, a smaller one follows a device that changes its speed sooner. A
   guess. */
#define MEMORY_UNITS 256

/* Least part of a kernel's time that counts as work, if the latency that the
   device states is nearly all of it. A guess; it matters for the shortest of
   bundles only. */
#define LEAST_WORK 0.05
/* Least time in ns that the kernels of a grant count for: those that ran within
   earlier ones add 0, but a pace of 0 is an unknown one. As short as the clock
   can tell. */
#define LEAST_NS 1.0

/* Part of the last report in the mean of the cores that compute one unit. A
   guess: more, and it follows the moments at which others have work for the
   cores. */
#define SPEED_UP_PART 0.25

/* Units that must have passed a class before its ratio to the next one is
   used: the ratio is wrong by the units in between. A guess. */
#define COUNTED 64

void
hass_paces_init (HassPaces *p, const HassStrategyEnv *env)
{
  *p = (HassPaces){ .env = env, .cpu = env->n_devices };
  p->of = g_new0 (HassPace, env->n_classes * env->n_devices);
  p->reach = g_new0 (double, env->n_classes);
  p->spread = g_new0 (double, env->n_classes);
  p->spread_grants = g_new0 (double, env->n_classes);
  p->wide_ns = g_new0 (gint64, env->n_classes);
  p->speed_up = g_new0 (double, env->n_classes);
  for (guint d = 0; d < env->n_devices; d++)
    if (env->devices[d].kind == HASS_DEVICE_CPU)
      p->cpu = d;
  for (guint c = 0; c < env->n_classes; c++)
    p->reach[c] = p->speed_up[c] = 1;
}

void
hass_paces_clear (HassPaces *p)
{
  g_free (p->of);
  g_free (p->reach);
  g_free (p->spread);
  g_free (p->spread_grants);
  g_free (p->wide_ns);
  g_free (p->speed_up);
}

gboolean
hass_pace_can (const HassPaces *p, guint c, guint device)
{
  return p->env->classes[c].devices >> device & 1;
}

/* Returns: the pace in ns of earlier runs; 0: unknown. */
static double
prior_ns (const HassPaces *p, guint c, guint device)
{
  const HassStrategyEnv *env = p->env;
  double rate
      = p->prior ? p->prior[c * env->n_devices + device].work_per_ns : 0;
  double servers = device == p->cpu ? env->devices[device].cores : 1;
  return rate > 0 ? servers / rate : 0;
}

void
hass_paces_know (HassPaces *p, const HassProfileRate *rates)
{
  const HassStrategyEnv *env = p->env;
  p->prior = rates;
  for (guint c = 0; rates && p->cpu < env->n_devices && c < env->n_classes; c++)
    {
      double wide_ns = rates[c * env->n_devices + p->cpu].latency_ns;
      if (wide_ns > 0)
        p->speed_up[c] = MAX (prior_ns (p, c, p->cpu) / wide_ns, 1);
    }
}

double
hass_pace_wide_ns (const HassPaces *p, guint c)
{
  return p->speed_up[c] > 1 ? hass_pace (p, c, p->cpu)->ns / p->speed_up[c] : 0;
}

gboolean
hass_pace_known (const HassPaces *p, guint c, guint device)
{
  return hass_pace (p, c, device)->units > 0 || prior_ns (p, c, device) > 0;
}

double
hass_pace_ns (const HassPaces *p, guint c, guint device)
{
  const HassPace *pace = hass_pace (p, c, device);
  return MAX (pace->ns, MAX (pace->in_ns, pace->out_ns));
}

double
hass_pace_width (const HassPaces *p, guint c, guint device)
{
  double threads = (double)p->env->classes[c].element_threads;
  double width = (double)p->env->devices[device].width;
  return threads > 0 ? width / threads : 1;
}

guint64
hass_pace_fill (const HassPaces *p, guint c, guint device)
{
  return (guint64)MAX (ceil (hass_pace_width (p, c, device)), 1);
}

guint64
hass_pace_bundle (const HassPaces *p, guint c, guint device, double launches)
{
  double fill = (double)hass_pace_fill (p, c, device);
  double ns = hass_pace_ns (p, c, device);
  double long_enough
      = ns > 0 ? launches * p->env->devices[device].latency_ns / ns : 1;
  return (guint64)(ceil (MAX (long_enough / fill, 1)) * fill);
}

/* Takes the times of @units units into the means of a pace. */
static void
add (HassPace *pace, guint64 units, double ns, double in_ns, double out_ns)
{
  pace->units += units;
  guint64 of = MAX (units, MIN (pace->units, MEMORY_UNITS));
  double part = (double)units / (double)of;
  pace->ns += (ns - pace->ns) * part;
  pace->in_ns += (in_ns - pace->in_ns) * part;
  pace->out_ns += (out_ns - pace->out_ns) * part;
}

/* Takes a grant into the pace of a device and the spread of the class: after
   Welford, and since the variance of a mean over units is so many times smaller
   than that of one. */
static void
add_grant (HassPaces *p, guint c, const HassServed *done, double ns,
           double in_ns, double out_ns)
{
  HassPace *pace = hass_pace (p, c, done->device);
  double before = hass_pace_known (p, c, done->device) ? pace->ns : 0;
  add (pace, done->units, ns, in_ns, out_ns);
  if (before <= 0 || pace->ns <= 0)
    return;
  double square = (double)done->units * (ns - before) * (ns - pace->ns)
                  / (pace->ns * pace->ns);
  p->spread_grants[c]++;
  p->spread[c] += (square - p->spread[c]) / p->spread_grants[c];
}

/* Returns: number of units whose time the kernels of a class take. */
static double
filled (const HassPaces *p, guint c, const HassServed *done)
{
  return MAX ((double)done->units, hass_pace_width (p, c, done->device));
}

/* Adds a grant of a GPU. The kernels of fused classes are divided as their
   paces so far say; in between, no unit passes the link. */
static void
add_gpu (HassPaces *p, const HassServed *done)
{
  guint first = done->class_index, last = first + done->fused;
  double units = (double)done->units, expected = 0;
  double latency = p->env->devices[done->device].latency_ns;
  double launches = latency * (done->fused + 1);
  double ns = MAX (done->kernel_ns - launches, LEAST_WORK * done->kernel_ns);
  ns = MAX (ns, LEAST_NS);
  for (guint c = first; c <= last; c++)
    expected += hass_pace (p, c, done->device)->ns * filled (p, c, done);
  for (guint c = first; c <= last; c++)
    {
      HassPace *pace = hass_pace (p, c, done->device);
      double one = expected > 0 && done->fused > 0
                       ? ns * pace->ns / expected
                       : ns / ((done->fused + 1) * filled (p, c, done));
      add_grant (p, c, done, one,
                 c == first ? MAX (done->h2d_ns - latency, 0) / units : 0,
                 c == last ? MAX (done->d2h_ns - latency, 0) / units : 0);
    }
}

/* Adds units that cores have computed. One that was begun beside others had few
   idle cores to help with it, so it shows the least that all cores do. */
static void
add_cores (HassPaces *p, const HassServed *done)
{
  guint c = done->class_index;
  double units = (double)done->units;
  double cores = done->held_ns > 0 ? done->busy_ns / done->held_ns : 1;
  double began_ns = (double)done->end_ns - done->held_ns / units;
  if (p->wide_ns[c] > 0 && began_ns >= (double)p->wide_ns[c])
    p->speed_up[c] += (cores - p->speed_up[c]) * SPEED_UP_PART;
  else
    p->speed_up[c] = MAX (p->speed_up[c], cores);
  add_grant (p, c, done, done->busy_ns / units, 0, 0);
}

void
hass_paces_add (HassPaces *p, const HassServed *done)
{
  if (done->failed || done->units == 0)
    return;
  if (done->device != p->cpu)
    add_gpu (p, done);
  else
    add_cores (p, done);
}

/* -- What was not measured ---------------------------------------------- */

/* Returns: how many times as long as @other device @d takes for a unit, the
   geometric mean over the classes that both have served; if there is none, a
   GPU counts as fast as all cores, and GPUs as alike. */
static double
times_of (const HassPaces *p, guint d, guint other)
{
  double sum = 0;
  guint n = 0;
  for (guint c = 0; c < p->env->n_classes; c++)
    if (hass_pace (p, c, d)->units > 0 && hass_pace (p, c, other)->units > 0)
      {
        sum += log (hass_pace_ns (p, c, d) / hass_pace_ns (p, c, other));
        n++;
      }
  if (n > 0)
    return exp (sum / n);
  if (d == p->cpu)
    return p->env->devices[d].cores;
  return other == p->cpu ? 1. / p->env->devices[other].cores : 1;
}

/* Returns: the mean time of a unit of the classes that a device has served; 1
   us if there is none, as good as any other number. */
static double
usual_ns (const HassPaces *p, guint d)
{
  double sum = 0;
  guint n = 0;
  for (guint c = 0; c < p->env->n_classes; c++)
    if (hass_pace (p, c, d)->units > 0)
      {
        sum += hass_pace_ns (p, c, d);
        n++;
      }
  return n > 0 ? sum / n : 1e3;
}

/* Returns: the pace in ns of a device that has served no unit of a class, by
   earlier runs, in which it had the pace @prior. */
static double
from_prior (const HassPaces *p, guint c, double prior)
{
  double sum = 0;
  guint n = 0;
  for (guint o = 0; o < p->env->n_devices; o++)
    if (hass_pace (p, c, o)->units > 0 && prior_ns (p, c, o) > 0)
      {
        sum += log (hass_pace_ns (p, c, o) / prior_ns (p, c, o));
        n++;
      }
  return prior * (n > 0 ? exp (sum / n) : 1);
}

/* Guesses the pace of a device that has served no unit of a class. */
static void
guess (HassPaces *p, guint c, guint d)
{
  double sum = 0, prior = prior_ns (p, c, d);
  guint n = 0;
  if (prior > 0)
    {
      hass_pace (p, c, d)->ns = from_prior (p, c, prior);
      return;
    }
  for (guint o = 0; o < p->env->n_devices; o++)
    if (hass_pace (p, c, o)->units > 0)
      {
        sum += log (times_of (p, d, o) * hass_pace_ns (p, c, o));
        n++;
      }
  hass_pace (p, c, d)->ns = n > 0 ? exp (sum / n) : usual_ns (p, d);
}

/* Returns: units that have come to a class; of one that runs one at a time, for
   which units wait unseen, those that have passed it. */
static guint64
came (const HassPaces *p, const HassStreamState *state, guint c)
{
  const HassClassState *k = &state->classes[c];
  guint64 n = k->done;
  if (p->env->classes[c].one_at_a_time)
    return n;
  n += k->ready + k->running;
  for (guint d = 0; d < state->n_devices; d++)
    if (state->devices[d].units)
      n += state->devices[d].units[c];
  return n;
}

void
hass_paces_update (HassPaces *p, const HassStreamState *state)
{
  for (guint c = 0; c < p->env->n_classes; c++)
    for (guint d = 0; d < p->env->n_devices; d++)
      if (hass_pace (p, c, d)->units == 0 && hass_pace_can (p, c, d))
        guess (p, c, d);
  for (guint c = 1; c < state->n_classes; c++)
    {
      guint64 before = state->classes[c - 1].done;
      double each
          = before >= COUNTED ? (double)came (p, state, c) / (double)before : 1;
      p->reach[c] = p->reach[c - 1] * each;
    }
}

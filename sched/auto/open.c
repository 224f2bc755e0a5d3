/* SPDX-License-Identifier: MIT */
/* open.c: what devices get of an open round. The DESIGN paragraph is in
   open-private.h.
   Thread safety: as hass/strategy.h. */
#include "open-private.h"

/* A GPU's bundle takes this many times its launch, if enough units wait. A
   guess: less, and launches cost a large part of the time; more, and urgent
   units wait for bundles to end. */
#define LAUNCHES 4
/* Weight of what was known before a completion. A guess: less forgets faster
   and is noisier. */
#define DECAY 0.9
/* Most times the units of its largest bundle so far that a GPU gets. */
#define GROWTH 4

void
hass_auto_open_init (HassAutoOpen *o, const HassStrategyEnv *env)
{
  o->env = env;
  o->of = g_new0 (HassOpenRate, MAX (env->n_devices, 1));
}

void
hass_auto_open_clear (HassAutoOpen *o)
{
  g_free (o->of);
}

static gboolean
is_cpu (const HassAutoOpen *o, guint device)
{
  return o->env->devices[device].kind == HASS_DEVICE_CPU;
}

/* Returns the work per ns of a device, of a CPU pool that of all its cores; 0:
   unknown. */
static double
rate_of (const HassAutoOpen *o, guint device)
{
  const HassOpenRate *r = &o->of[device];
  const HassProfileRate *known = o->env->profile;
  if (r->ns > 0)
    return r->work / r->ns;
  if (known && known[device].work_per_ns > 0)
    return known[device].work_per_ns;
  return o->env->devices[device].work_per_ns;
}

static gboolean
counts (const HassAutoOpen *o, guint device)
{
  return !is_cpu (o, device) && !o->env->devices[device].opening
         && !o->of[device].failed && rate_of (o, device) > 0;
}

/* Decides what the cores may pull: what they end before the GPUs would have got
   to it. */
static HassAnswer
grant_cores (HassAutoOpen *o, const HassRound *round, guint device,
             gboolean force, HassGrant *grant)
{
  double gpus = 0;
  double core = rate_of (o, device) / MAX (o->env->devices[device].cores, 1);
  for (guint d = 0; d < o->env->n_devices; d++)
    if (counts (o, d))
      gpus += rate_of (o, d);
  if (gpus <= 0 || force)
    return HASS_TAKE;
  grant->source = HASS_FROM_BACK;
  if (core > 0)
    {
      grant->leave = gpus / core;
      return HASS_TAKE;
    }
  if (o->measures && hass_round_exclusive (round, device) == 0)
    return HASS_WAIT;
  o->measures = TRUE;
  grant->units = 1;
  return HASS_TAKE;
}

static guint64
units_for (const HassAutoOpen *o, const HassRound *round, guint device)
{
  const HassDeviceTraits *t = &o->env->devices[device];
  const HassOpenRate *r = &o->of[device];
  double waiting = hass_round_waiting (round);
  double each = waiting > 0 ? hass_round_waiting_work (round) / waiting : 0;
  double rate = rate_of (o, device);
  if (r->failed || !(each > 0) || !(rate > 0))
    return 1;
  double units = LAUNCHES * t->latency_ns * rate / each;
  return (guint64)CLAMP (units, 1, MIN (GROWTH * r->most + 1, waiting / 2 + 1));
}

HassAnswer
hass_auto_open_grant (HassAutoOpen *o, const HassRound *round, guint device,
                      gboolean force, HassGrant *grant)
{
  grant->source = HASS_FROM_FRONT;
  if (is_cpu (o, device))
    return grant_cores (o, round, device, force, grant);
  grant->units = units_for (o, round, device);
  grant->in_flight = o->env->devices[device].max_in_flight;
  return HASS_TAKE;
}

/* Notes what a GPU was granted; the work of its units is reckoned as the mean
   of what waited. */
void
hass_auto_open_granted (HassAutoOpen *o, const HassRound *round, guint device,
                        const HassGrant *grant)
{
  (void)round;
  o->of[device].most = MAX (o->of[device].most, grant->taken);
}

void
hass_auto_open_observe (HassAutoOpen *o, const HassCompletion *done)
{
  HassOpenRate *r = &o->of[done->device];
  double ns = is_cpu (o, done->device)
                  ? done->kernel_ns
                  : (double)(done->end_ns - done->start_ns);
  r->failed = done->failed;
  if (is_cpu (o, done->device))
    o->measures = FALSE;
  if (done->failed || !(ns > 0) || !(done->work > 0))
    return;
  r->work = DECAY * r->work + done->work;
  r->ns = DECAY * r->ns + ns;
}

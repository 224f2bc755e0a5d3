/* SPDX-License-Identifier: MIT */
/* pipe_auto.c: the default strategy of pipelines: devices get their parts of
   the steady state's optimum, cores leave bundles to GPUs, and as many tokens
   are in flight as that needs.

   DESIGN. A decision is O(classes * devices).
   1. Gain. The linear program of the steady state (steady.h), for the paces
      measured so far, says what part of each class each device should do. That
      is where it gains most, given what all others can do.
   2. GPUs. A GPU with room takes the class in which it is furthest behind, in
      time. It waits in classes of which it should do nothing, or of which it is
      a bundle ahead. While it has a bundle it takes no other that would not
      fill it: units that come meanwhile make the bundle larger at no cost.
      Bundles are so long that launches and copies' latencies are a small part.
   3. Cores. They take the units of a class that GPUs should do as well only
      while more wait than a few bundles, so that GPUs find full bundles; where
      the cores are behind their part, they leave nothing.
   4. Measuring. A pace that is not known is guessed from those that are. Cores
      leave a bundle to a GPU that has served no unit of the class, and such a
      GPU takes it first.
   5. Tokens. At first as many in flight as fill the cores and the bundles of
   all GPUs. Their number is doubled whenever a device had nothing to do and the
      last doubling made the stream faster.

   Loses where a stream is shorter than some hundred bundles; where copies in
   both directions share a link, since the program assumes that they do not; and
   where few bundles in flight cannot keep kernels and both directions of a link
   busy at once.

   Thread safety: as hass/strategy.h. */
#include "steady.h"

#include <math.h>

enum
{
  TOKENS,
  LAUNCHES,
  LEAVE,
  HOLD
};

static const HassParameter parameters[] = {
  { "tokens", 0, 0, 1e9, "in flight; 0: adapted to the stream" },
  { "launches", 16, 1, 1e4, "a bundle takes as long as so many latencies" },
  { "leave", 2, 0, 1e4, "bundles that cores leave to each GPU" },
  { "hold", 1, 0, 1, "1: a busy GPU takes no bundle that does not fill it" },
  { .name = NULL },
};

/* Tokens in flight for each core, some of which wait at ordered stages while
   others run; and the time in ns that they take at least, since the engine
   hands short tokens to cores in batches. Guesses; tokens are added where cores
   are idle. The first number is used until the times are known. */
#define FIRST_TOKENS_A_CORE 64
#define TOKENS_A_CORE 4
#define NS_A_CORE 4e5
/* The stream must become faster by this factor for tokens to be doubled again:
   above what 10 % of noise leaves in a mean over hundreds of tokens. */
#define FASTER 1.02

/**
 * Auto:
 * @times: tokens in flight, as a multiple of what fills all devices.
 * @mark, @mark_ns: units done when the current window began, and when.
 * @best: highest rate of a window so far, units per ns.
 * @starved: a device had nothing to do in this window.
 */
typedef struct
{
  HassPaces paces;
  HassSteady steady;
  double times;
  guint64 mark;
  gint64 mark_ns;
  double best;
  gboolean starved;
} Auto;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Auto *s = g_new0 (Auto, 1);
  (void)error;
  hass_paces_init (&s->paces, env);
  hass_steady_init (&s->steady, &s->paces);
  s->times = 1;
  return s;
}

static guint64
bundle (const Auto *s, guint c, guint gpu)
{
  return hass_pace_bundle (&s->paces, c, gpu,
                           s->paces.env->parameters[LAUNCHES]);
}

/* Returns: whether a device has served no unit of a class, and has none. */
static gboolean
unknown (const Auto *s, const HassStreamState *state, guint c, guint gpu)
{
  return hass_pace (&s->paces, c, gpu)->units == 0
         && state->devices[gpu].units[c] == 0;
}

/* -- Step 5: tokens ----------------------------------------------------- */

/* Returns: tokens that keep one core busy. */
static double
tokens_a_core (const Auto *s)
{
  const HassPaces *p = &s->paces;
  double ns = 0;
  for (guint c = 0; c < p->env->n_classes; c++)
    if (hass_pace (p, c, p->cpu)->units > 0)
      ns += p->reach[c] * hass_pace_ns (p, c, p->cpu);
  return ns > 0 ? MAX (TOKENS_A_CORE, NS_A_CORE / ns) : FIRST_TOKENS_A_CORE;
}

/* Returns: tokens that fill the cores and the bundles of all GPUs. */
static double
enough (const Auto *s)
{
  const HassPaces *p = &s->paces;
  const HassStrategyEnv *env = p->env;
  double all = 0;
  for (guint d = 0; d < env->n_devices; d++)
    {
      guint64 longest = 0;
      if (d == p->cpu)
        {
          all += tokens_a_core (s) * env->devices[d].cores;
          continue;
        }
      for (guint c = 0; c < env->n_classes; c++)
        if (hass_steady_part (&s->steady, c, d) > 0)
          longest = MAX (longest, bundle (s, c, d));
      all += (double)longest
             * (env->devices[d].max_in_flight + env->parameters[LEAVE]);
    }
  return all;
}

static guint64
tokens (Auto *s, const HassStreamState *state)
{
  guint64 done = state->classes[state->n_classes - 1].done;
  double given = s->paces.env->parameters[TOKENS];
  if (given > 0)
    return (guint64)given;
  double wanted = enough (s) * s->times;
  if (done - s->mark >= wanted)
    {
      double ns = (double)MAX (state->now_ns - s->mark_ns, 1);
      double rate = (double)(done - s->mark) / ns;
      if (s->starved && rate > FASTER * s->best
          && wanted < (double)state->most_tokens)
        s->times *= 2;
      s->best = MAX (s->best, rate);
      s->starved = FALSE;
      s->mark = done;
      s->mark_ns = state->now_ns;
    }
  return (guint64)ceil (MIN (wanted, (double)state->most_tokens));
}

/* -- Steps 3 and 4: cores ----------------------------------------------- */

static guint32
leave (const Auto *s, const HassStreamState *state, guint c)
{
  const HassPaces *p = &s->paces;
  double bundles = 0, probes = 0;
  if (hass_pace (p, c, p->cpu)->units == 0 && state->classes[c].running == 0)
    return 0;
  for (guint d = 0; d < state->n_devices; d++)
    {
      if (d == p->cpu || !hass_pace_can (p, c, d) || state->devices[d].lost)
        continue;
      if (unknown (s, state, c, d))
        probes += (double)hass_pace_fill (p, c, d);
      if (hass_steady_part (&s->steady, c, d) > 0)
        bundles += (double)bundle (s, c, d);
    }
  if (probes > 0)
    return (guint32)MIN (probes, G_MAXINT32);
  if (hass_steady_part (&s->steady, c, p->cpu) > 0
      && hass_steady_behind (&s->steady, c, p->cpu) > -1)
    return 0;
  return (guint32)MIN (p->env->parameters[LEAVE] * bundles, G_MAXINT32);
}

static void
serve_cores (Auto *s, const HassStreamState *state, HassServe *serve)
{
  const HassPaces *p = &s->paces;
  guint64 running = 0;
  for (guint c = 0; c < state->n_classes; c++)
    {
      running += state->classes[c].running;
      if (hass_pace_can (p, c, p->cpu))
        serve->leave[c] = leave (s, state, c);
    }
  if (running < p->env->devices[p->cpu].cores)
    s->starved = TRUE;
  serve->tokens = tokens (s, state);
}

/* -- Step 2: GPUs ------------------------------------------------------- */

/* Returns: how much the GPU should take of a class: time in ns by which it is
   behind; -G_MAXDOUBLE: nothing now. */
static double
score (const Auto *s, const HassStreamState *state, guint c, guint gpu,
       gboolean force)
{
  const HassPaces *p = &s->paces;
  const HassDeviceHolds *holds = &state->devices[gpu];
  guint64 ready = state->classes[c].ready;
  double behind = hass_steady_behind (&s->steady, c, gpu);
  if (ready == 0 || !hass_pace_can (p, c, gpu))
    return -G_MAXDOUBLE;
  if (hass_pace (p, c, gpu)->units == 0)
    return holds->units[c] == 0 ? G_MAXDOUBLE : -G_MAXDOUBLE;
  if (force)
    return behind;
  if (hass_steady_part (&s->steady, c, gpu) <= 0
      || behind < -(double)bundle (s, c, gpu))
    return -G_MAXDOUBLE;
  if (p->env->parameters[HOLD] > 0 && holds->bundles > 0
      && ready < hass_pace_fill (p, c, gpu))
    return -G_MAXDOUBLE;
  return behind * hass_pace_ns (p, c, gpu);
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  Auto *s = self;
  double best = -G_MAXDOUBLE;
  gboolean any = FALSE;
  hass_steady_update (&s->steady, state);
  if (device == s->paces.cpu)
    {
      serve_cores (s, state, serve);
      return HASS_TAKE;
    }
  for (guint c = 0; c < state->n_classes; c++)
    {
      double now = score (s, state, c, device, force);
      any = any || hass_pace_can (&s->paces, c, device);
      if (now <= best)
        continue;
      best = now;
      serve->class_index = c;
      serve->units = MIN (bundle (s, c, device), state->classes[c].ready);
    }
  serve->in_flight = s->paces.env->devices[device].max_in_flight;
  if (best > -G_MAXDOUBLE)
    {
      hass_steady_give (&s->steady, serve->class_index, device, serve->units);
      return HASS_TAKE;
    }
  if (state->devices[device].bundles == 0)
    s->starved = TRUE;
  return any ? HASS_WAIT : HASS_DONE;
}

static void
served (gpointer self, const HassStreamState *state, const HassServed *done)
{
  Auto *s = self;
  (void)state;
  hass_paces_add (&s->paces, done);
  if (done->device == s->paces.cpu)
    hass_steady_give (&s->steady, done->class_index, done->device, done->units);
}

static void
destroy (gpointer self)
{
  Auto *s = self;
  hass_steady_clear (&s->steady);
  hass_paces_clear (&s->paces);
  g_free (s);
}

const HassStrategyOps hass_pipe_auto = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "pipe-auto",
  .summary = "parts of the steady state's optimum; cores leave bundles to GPUs",
  .source = "hass",
  .farms = HASS_FARM_PIPELINE,
  .parameters = parameters,
  .create = create,
  .destroy = destroy,
  .serve = serve,
  .served = served,
};

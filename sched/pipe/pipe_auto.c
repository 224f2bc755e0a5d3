/* SPDX-License-Identifier: MIT */
/* pipe_auto.c: the default strategy of pipelines: devices get their parts of
   the steady state's optimum, cores leave bundles to GPUs, and as many tokens
   are in flight as that needs.

   DESIGN. A decision is O(classes * devices).
   1. Gain. The linear program of the steady state (steady.h), for the paces
      measured so far, says what part of each class each device should do. That
      is where it gains most, given what all others can do.
   2. GPUs. A GPU with room takes the class in which it is furthest behind, in
      time. It waits in classes of which it should do nothing, or, while it is
      busy, of which it is a bundle ahead, unless more wait than the others are
      left. Units that do not fill the GPU cost as much as those that do: a busy
      GPU waits until they do, an idle one as long as such kernels take. Bundles
      are so long that launches and copies' latencies are a small part, or as
      long as serves the class fastest with the few tokens that may be in
      flight (bundles.c); then a GPU waits for none to be full.
   3. Fusing. A GPU computes the classes that follow, too, that it should do
      alone: the copies in between vanish. Where its link is busy for much of
      the time of its kernels, it also computes those of which it should do a
      part, as far as it is not ahead.
   4. Cores. They take the units of a class that GPUs should do as well only
      while more wait than a few bundles, so that GPUs find full bundles; where
      the cores are behind their part, they leave nothing. One of them remains
      free to feed GPUs (cores.c). They take none that they would hold for too
      long, even if all of them compute one at a time (guard.c). They feed a GPU
      that binds and has little to do before they take what comes after it.
   5. Measuring. The pace of a GPU that is not known is guessed. Cores leave a
      bundle to a GPU that has served no unit of the class, and such a GPU takes
      it first. Where a GPU serves a class, cores have no part in it until one
      of them has computed one unit, where that is expected to pay (guard.c).
      What earlier runs have measured needs none of this.
   6. Tokens. At first as many in flight as fill the cores and the bundles of
      all GPUs, besides those that wait for one before them, as far as a unit
      that is computed now can hold them up. Their number is doubled whenever
      a device that binds had nothing to do and the last doubling made the
      stream faster.

   Loses where a core holds the unit by which it is measured for longer than the
   GPUs take for all others; in streams of less than some hundred bundles; where
   copies in both directions share a link, which the program does not know; on
   one core, which does what waits at an ordered stage before it feeds GPUs; and
   where few bundles cannot keep kernels and both directions of a link busy.

   Thread safety: as hass/strategy.h. */
#include "sched/units.h"
#include "steady.h"

#include <math.h>

enum
{
  TOKENS,
  LAUNCHES,
  LEAVE,
  FEED,
  HOLD,
  FUSE,
  PROBE
};

static const HassParameter parameters[] = {
  { "tokens", 0, 0, 1e9, "in flight; 0: adapted to the stream" },
  { "launches", 16, 1, 1e4, "a bundle takes as long as so many latencies" },
  { "leave", 2, 0, 1e4, "bundles that cores leave to each GPU" },
  { "feed", 1, 0, 1e4, "bundles that cores keep ready for GPUs that bind" },
  { "hold", 1, 0, 1, "1: a busy GPU takes no bundle that does not fill it" },
  { "fuse", 1, 0, 1, "1: a GPU computes stages that follow without copies" },
  { "probe", 600, 1, 1e9, "a core may take so many times as long as the GPUs" },
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
/* Part of the time for which a device that binds is busy in the steady state:
   1, less the errors of the paces. A guess. */
#define BINDS 0.9
/* A link delays kernels if it is busy for this part of their time or more,
   since bundles come unevenly. A guess. */
#define LINK_PART 0.5

/* A device that should do this part of a class does it alone, but for the
   errors of the program. */
#define ALONE 0.999

/**
 * Auto:
 * @times: tokens in flight, as a multiple of what fills all devices.
 * @mark, @mark_ns: units done when the current window began, and when.
 * @best: highest rate of a window so far, units per ns.
 * @starved: a device that binds had nothing to do in this window.
 * @most_tokens: the most tokens that may be in flight now.
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
  guint64 most_tokens;
} Auto;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Auto *s = g_new0 (Auto, 1);
  (void)error;
  hass_paces_init (&s->paces, env);
  hass_paces_know (&s->paces, env->profile);
  hass_steady_init (&s->steady, &s->paces, env->parameters[LAUNCHES]);
  s->times = 1;
  if (env->n_devices == 1 && env->devices[0].kind == HASS_DEVICE_CPU)
    HASS_NOTE (env, "no device beside the cores: nothing to decide");
  return s;
}

/* Returns: whether a device has served no unit of a class, and has none. */
static gboolean
unknown (const Auto *s, const HassStreamState *state, guint c, guint gpu)
{
  return !hass_pace_known (&s->paces, c, gpu)
         && state->devices[gpu].units[c] == 0;
}

/* -- Step 6: tokens ----------------------------------------------------- */

/* Returns: tokens that keep the cores busy. As long as no pace of theirs is
   known, no more than take little memory. */
static double
tokens_of_cores (const Auto *s, const HassStreamState *state)
{
  const HassPaces *p = &s->paces;
  double cores = p->env->devices[p->cpu].cores, ns = 0;
  for (guint c = 0; c < p->env->n_classes; c++)
    if (hass_pace_known (p, c, p->cpu))
      ns += p->reach[c] * hass_pace_ns (p, c, p->cpu);
  return ns > 0
             ? cores * MAX (TOKENS_A_CORE, NS_A_CORE / ns)
             : MIN (cores * FIRST_TOKENS_A_CORE, (double)state->ample_tokens);
}

/* Returns: tokens that fill the cores and the bundles of all GPUs; as long as a
   pace is not known, bundles that just fill the GPU. */
static double
enough (const Auto *s, const HassStreamState *state)
{
  const HassPaces *p = &s->paces;
  const HassStrategyEnv *env = p->env;
  double all = 0;
  for (guint d = 0; d < env->n_devices; d++)
    {
      guint64 longest = 0;
      if (d == p->cpu)
        {
          all += tokens_of_cores (s, state);
          continue;
        }
      for (guint c = 0; c < env->n_classes; c++)
        if (hass_pace_can (p, c, d) && !hass_pace_known (p, c, d))
          longest = MAX (longest, hass_pace_fill (p, c, d));
        else if (hass_steady_part (&s->steady, c, d) > 0)
          longest = MAX (longest, hass_steady_bundle (&s->steady, c, d));
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
  double wanted = enough (s, state) * s->times;
  if (done == 0)
    s->mark_ns = state->now_ns; /* devices may take long to open */
  if (done - s->mark >= wanted)
    {
      double ns = (double)MAX (state->now_ns - s->mark_ns, 1);
      double rate = (double)(done - s->mark) / ns;
      if (s->starved && rate > FASTER * s->best
          && wanted < (double)state->most_tokens)
        {
          s->times *= 2;
          wanted *= 2;
          HASS_NOTE (s->paces.env,
                     "%.0f tokens in flight: a device was idle, and the rate "
                     "rose from %.4g to %.4g per ms",
                     wanted, s->best * 1e6, rate * 1e6);
        }
      s->best = MAX (s->best, rate);
      s->starved = FALSE;
      s->mark = done;
      s->mark_ns = state->now_ns;
    }
  wanted += (double)hass_steady_held_up (&s->steady, state);
  return (guint64)ceil (MIN (wanted, (double)state->most_tokens));
}

/* -- Steps 4 and 5: cores ----------------------------------------------- */

static guint32
leave (const Auto *s, const HassStreamState *state, guint c)
{
  const HassPaces *p = &s->paces;
  double left = 0, probes = 0;
  if (!hass_steady_is_measured (&s->steady, state, c))
    return hass_steady_measures (&s->steady, state, c,
                                 p->env->parameters[PROBE])
               ? 0
               : G_MAXUINT32;
  if (hass_steady_is_out (&s->steady, c, p->cpu))
    return G_MAXUINT32;
  if (!hass_pace_known (p, c, p->cpu) && state->classes[c].running == 0)
    return 0;
  for (guint d = 0; d < state->n_devices; d++)
    {
      if (d == p->cpu || !hass_pace_can (p, c, d) || state->devices[d].lost
          || p->env->devices[d].opening)
        continue;
      if (unknown (s, state, c, d))
        probes += (double)hass_pace_fill (p, c, d);
      if (hass_steady_part (&s->steady, c, d) > 0)
        left += p->env->parameters[LEAVE]
                * (double)hass_steady_bundle (&s->steady, c, d);
    }
  if (probes > 0)
    return (guint32)MIN (probes, G_MAXINT32);
  if (hass_steady_part (&s->steady, c, p->cpu) > 0
      && hass_steady_behind (&s->steady, c, p->cpu) > -1)
    return 0;
  return (guint32)MIN (left, G_MAXINT32);
}

/* Returns: 1 + the last class of which a GPU needs more units; 0: none. A GPU
   that binds does, as long as less waits for it than keeps it busy for some of
   its longest bundles. */
static guint
hungry (const Auto *s, const HassStreamState *state)
{
  const HassPaces *p = &s->paces;
  guint feed = 0;
  for (guint d = 0; d < state->n_devices; d++)
    {
      double waits = 0, longest = 0;
      guint last = 0;
      if (d == p->cpu || hass_steady_load (&s->steady, d) < BINDS)
        continue;
      for (guint c = 0; c < state->n_classes; c++)
        {
          double part = hass_steady_part (&s->steady, c, d);
          double ready = (double)state->classes[c].ready, n;
          if (part <= 0)
            continue;
          n = (double)hass_steady_bundle (&s->steady, c, d);
          waits += part * ready * hass_pace_ns (p, c, d);
          longest = MAX (longest, n * hass_pace_ns (p, c, d));
          if (part * ready < n)
            last = c + 1;
        }
      if (waits < p->env->parameters[FEED] * longest)
        feed = MAX (feed, last);
    }
  return feed;
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
      serve->at_once[c] = hass_steady_at_once (&s->steady, state, c);
    }
  if (running < p->env->devices[p->cpu].cores
      && hass_steady_load (&s->steady, p->cpu) >= BINDS)
    s->starved = TRUE;
  serve->feed = hungry (s, state);
  serve->tokens = tokens (s, state);
}

/* -- Steps 2, 3 and 5: GPUs --------------------------------------------- */

/* Returns: the time in ns from which on a GPU should take units of a class
   though they do not fill it: they cost as much as if they did. What comes
   within the time of such kernels may fill it. */
static gint64
patience (const Auto *s, const HassStreamState *state, guint c, guint gpu)
{
  const HassPaces *p = &s->paces;
  guint64 fill = hass_pace_fill (p, c, gpu);
  double ns = (double)fill * hass_pace (p, c, gpu)->ns;
  if (p->env->parameters[HOLD] <= 0 || state->classes[c].ready >= fill
      || p->env->devices[gpu].max_in_flight * fill > state->most_tokens)
    return 0;
  if (state->devices[gpu].bundles > 0)
    return G_MAXINT64;
  return state->classes[c].oldest_ns + (gint64)MIN (ns, 1e15);
}

/* Returns: whether a device may have units of a class of which it is ahead:
   more wait than it leaves to the others. */
static gboolean
plenty (const Auto *s, const HassStreamState *state, guint c, guint gpu)
{
  const HassPaces *p = &s->paces;
  double left = (double)hass_steady_bundle (&s->steady, c, gpu);
  for (guint d = 0; d < state->n_devices; d++)
    if (d != gpu && hass_steady_part (&s->steady, c, d) > 0)
      left += p->env->parameters[LEAVE]
              * (double)(d == p->cpu ? p->env->devices[d].cores
                                     : hass_steady_bundle (&s->steady, c, d));
  return (double)state->classes[c].ready >= left;
}

/* Returns: how much the GPU should take of a class: time in ns by which it is
   behind; -G_MAXDOUBLE: nothing now, but if it should be asked again before
   @again_ns, that is moved there. */
static double
score (const Auto *s, const HassStreamState *state, guint c, guint gpu,
       gboolean force, gint64 *again_ns)
{
  const HassPaces *p = &s->paces;
  const HassDeviceHolds *holds = &state->devices[gpu];
  guint64 ready = state->classes[c].ready;
  double behind = hass_steady_behind (&s->steady, c, gpu);
  if (ready == 0 || !hass_pace_can (p, c, gpu))
    return -G_MAXDOUBLE;
  if (!hass_pace_known (p, c, gpu))
    return holds->units[c] == 0 ? G_MAXDOUBLE : -G_MAXDOUBLE;
  if (force)
    return behind;
  if (hass_steady_part (&s->steady, c, gpu) <= 0
      || (holds->bundles > 0
          && behind < -(double)hass_steady_bundle (&s->steady, c, gpu)
          && !plenty (s, state, c, gpu)))
    return -G_MAXDOUBLE;
  gint64 from = patience (s, state, c, gpu);
  if (from > state->now_ns)
    {
      *again_ns = MIN (*again_ns, from);
      return -G_MAXDOUBLE;
    }
  return behind * hass_pace_ns (p, c, gpu);
}

/* Returns: how many stages after class @c the GPU should compute on the same
   units: those that it should do alone; where copies take long, also those that
   it should do in part and of which it is not ahead, as long as the units fill
   it, so that no kernel takes longer. The paces of the copies include those
   that vanish, so the latter ends where the link no longer delays kernels. */
static guint
fused (const Auto *s, const HassStreamState *state, guint c, guint gpu,
       guint64 units)
{
  const HassPaces *p = &s->paces;
  gboolean link_binds = hass_steady_link_load (&s->steady, gpu)
                        >= LINK_PART * hass_steady_load (&s->steady, gpu);
  guint n = 0;
  if (p->env->parameters[FUSE] <= 0 || !hass_pace_known (p, c, gpu))
    return 0;
  for (guint next = c + 1; next < state->n_classes; next++)
    {
      double part = hass_steady_part (&s->steady, next, gpu);
      if (!hass_pace_can (p, next, gpu) || !hass_pace_known (p, next, gpu)
          || part <= 0
          || (state->classes[next].running == 0
              && hass_steady_measures (&s->steady, state, next,
                                       p->env->parameters[PROBE])))
        break;
      if (part < ALONE
          && (!link_binds
              || hass_steady_behind (&s->steady, next, gpu) <= -(double)units
              || units < hass_pace_fill (p, next, gpu)))
        break;
      n++;
    }
  return n;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  Auto *s = self;
  double best = -G_MAXDOUBLE;
  gboolean any = FALSE;
  gint64 again_ns = G_MAXINT64;
  s->most_tokens = state->most_tokens;
  if (hass_steady_update (&s->steady, state))
    hass_steady_guard (&s->steady, state);
  if (device == s->paces.cpu)
    {
      serve_cores (s, state, serve);
      return HASS_TAKE;
    }
  for (guint c = 0; c < state->n_classes; c++)
    {
      double now = score (s, state, c, device, force, &again_ns);
      any = any || hass_pace_can (&s->paces, c, device);
      if (now <= best)
        continue;
      best = now;
      serve->class_index = c;
      serve->units = MIN (hass_steady_bundle (&s->steady, c, device),
                          state->classes[c].ready);
    }
  serve->in_flight = s->paces.env->devices[device].max_in_flight;
  if (best > -G_MAXDOUBLE)
    {
      if (s->paces.env->note)
        hass_steady_explain (&s->steady, state, device, serve);
      guint first = serve->class_index;
      serve->fuse = fused (s, state, first, device, serve->units);
      for (guint c = first; c <= first + serve->fuse; c++)
        hass_steady_give (&s->steady, c, device, serve->units);
      return HASS_TAKE;
    }
  if (state->devices[device].bundles == 0
      && hass_steady_load (&s->steady, device) >= BINDS)
    s->starved = TRUE;
  if (again_ns < G_MAXINT64)
    serve->within_ns = again_ns - state->now_ns;
  else if (any)
    return hass_steady_again (&s->steady, state, device, serve);
  return any ? HASS_WAIT : HASS_DONE;
}

static void
served (gpointer self, const HassStreamState *state, const HassServed *done)
{
  Auto *s = self;
  (void)state;
  /* Parts that stand on a guess are over when its pace is known. */
  if (hass_pace (&s->paces, done->class_index, done->device)->units == 0)
    s->steady.next_ns = 0;
  hass_paces_add (&s->paces, done);
  if (done->device == s->paces.cpu)
    hass_steady_give (&s->steady, done->class_index, done->device, done->units);
}

static char *
left_out (gpointer self, guint c, guint device)
{
  const Auto *s = self;
  return hass_steady_left_out (&s->steady, c, device);
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
  .left_out = left_out,
};

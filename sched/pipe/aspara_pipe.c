/* SPDX-License-Identifier: MIT */
/* aspara_pipe.c: each stage has one processor, which is replaced when its
   fitness falls.

   ASPARA for pipelines as Zhang 2011, 2.2 describes it (after Gonzalez-Velez
   and Cole 2010): "use Fitness F to evaluate each processor which acts as a
   pipeline stage. Once the value of F of a processor is no longer acceptable,
   it will drain the pipeline and hence replace the processor with another one
   with a better F to resume the data flow." A decision is O(classes), a mapping
   O(classes^2 * devices).

   Loses where a stage should be divided among devices, and a whole pipeline of
   tokens whenever it drains.

   Interpretation:
   - The processors are the devices: the CPU pool, whose cores share its stages,
     and each GPU. F is the speed, units by time.
   - Calibration: each device serves each class that it can once, cores first;
     then the classes are mapped, the costliest first, each to the device on
     which the busiest device stays least busy.
   - F is not acceptable when a unit takes `tolerance` times as long as it did
     when the stage was mapped. A processor is slower as a whole, so its other
     classes count as slower by the same factor.
   - Draining: no token is admitted until those in flight are through. So that
     this is soon, no more are in flight than keep the processors busy.

   Thread safety: as hass/strategy.h. */
#include "sched/pace.h"

enum
{
  TOLERANCE
};

static const HassParameter parameters[] = {
  { "tolerance", 2, 1.1, 100, "times as slow is not acceptable" },
  { .name = NULL },
};

/* Calibration ends when so many units have passed the last class, though a
   device may not have served each class. A guess. */
#define CALIBRATION_UNITS 256
/* A bundle takes so many latencies at least, so that launches and latencies are
   a small part of it. */
#define LAUNCHES 16
/* Tokens in flight for each core, some of which wait at ordered stages. A
   guess: more, and a pipeline drains for longer; fewer, and cores may be idle.
 */
#define TOKENS_A_CORE 16

typedef enum
{
  CALIBRATING,
  RUNNING,
  DRAINING
} Phase;

/**
 * Aspara:
 * @on: device of each class. @mapped_ns: its pace when it was mapped.
 */
typedef struct
{
  HassPaces paces;
  Phase phase;
  guint on[HASS_MAX_CLASSES];
  double mapped_ns[HASS_MAX_CLASSES];
} Aspara;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Aspara *s = g_new0 (Aspara, 1);
  (void)error;
  hass_paces_init (&s->paces, env);
  return s;
}

/* -- Mapping ------------------------------------------------------------ */

/* Returns: time in ns for which the units of a class that belong to one unit of
   the first class occupy a device. */
static double
load_ns (const HassPaces *p, guint c, guint d)
{
  guint cores = d == p->cpu && !p->env->classes[c].one_at_a_time
                    ? p->env->devices[d].cores
                    : 1;
  return p->reach[c] * hass_pace_ns (p, c, d) / cores;
}

/* Returns: the load of the device that would have least after it got the class,
   and sets @device to it. */
static double
least_loaded (const Aspara *s, const HassStreamState *state,
              const double *loads, guint c, guint *device)
{
  double least = G_MAXDOUBLE;
  for (guint d = 0; d < state->n_devices; d++)
    if (hass_pace_can (&s->paces, c, d) && !state->devices[d].lost
        && loads[d] + load_ns (&s->paces, c, d) < least)
      {
        least = loads[d] + load_ns (&s->paces, c, d);
        *device = d;
      }
  return least;
}

/* Maps all classes: next is always the class that would make its best device
   busiest. */
static void
map (Aspara *s, const HassStreamState *state)
{
  g_autofree double *loads = g_new0 (double, state->n_devices);
  guint32 mapped = 0;
  hass_paces_update (&s->paces, state);
  for (guint turn = 0; turn < state->n_classes; turn++)
    {
      guint worst = 0, device = 0;
      double most = -1;
      for (guint c = 0; c < state->n_classes; c++)
        {
          double load = least_loaded (s, state, loads, c, &device);
          if (mapped >> c & 1 || load <= most)
            continue;
          most = load;
          worst = c;
        }
      device = 0;
      least_loaded (s, state, loads, worst, &device);
      mapped |= 1u << worst;
      loads[device] += load_ns (&s->paces, worst, device);
      s->on[worst] = device;
      s->mapped_ns[worst] = hass_pace_ns (&s->paces, worst, device);
    }
}

static gboolean
calibrated (const Aspara *s, const HassStreamState *state)
{
  if (state->classes[state->n_classes - 1].done >= CALIBRATION_UNITS)
    return TRUE;
  for (guint c = 0; c < state->n_classes; c++)
    for (guint d = 0; d < state->n_devices; d++)
      if (hass_pace_can (&s->paces, c, d)
          && hass_pace (&s->paces, c, d)->units == 0)
        return FALSE;
  return TRUE;
}

/* Lets the classes that a device does not serve now count as slower, too, by
   the factor by which class @slower is slower than it was. */
static void
lower_fitness (Aspara *s, guint slower)
{
  guint d = s->on[slower];
  double factor = hass_pace_ns (&s->paces, slower, d) / s->mapped_ns[slower];
  for (guint c = 0; c < s->paces.env->n_classes; c++)
    if (s->on[c] != d)
      {
        hass_pace (&s->paces, c, d)->ns *= factor;
        hass_pace (&s->paces, c, d)->in_ns *= factor;
        hass_pace (&s->paces, c, d)->out_ns *= factor;
      }
}

/* Returns: the first class whose processor is not acceptable; n_classes: none.
 */
static guint
unfit (const Aspara *s)
{
  guint n = s->paces.env->n_classes, c = 0;
  double most = s->paces.env->parameters[TOLERANCE];
  while (c < n
         && hass_pace_ns (&s->paces, c, s->on[c]) <= most * s->mapped_ns[c])
    c++;
  return c;
}

static void
next_phase (Aspara *s, const HassStreamState *state)
{
  guint slower;
  gboolean lost = FALSE;
  for (guint c = 0; s->phase == RUNNING && c < state->n_classes; c++)
    lost = lost || state->devices[s->on[c]].lost;
  if ((s->phase == CALIBRATING && calibrated (s, state)) || lost
      || (s->phase == DRAINING && state->tokens <= 1))
    {
      map (s, state);
      s->phase = RUNNING;
    }
  else if (s->phase == RUNNING && (slower = unfit (s)) < state->n_classes)
    {
      lower_fitness (s, slower);
      s->phase = DRAINING;
    }
}

/* -- Serving ------------------------------------------------------------ */

/* Returns: whether a device should serve a class now. */
static gboolean
serves (const Aspara *s, const HassStreamState *state, guint c, guint d)
{
  const HassPaces *p = &s->paces;
  if (!hass_pace_can (p, c, d))
    return FALSE;
  if (s->phase != CALIBRATING)
    return s->on[c] == d;
  return hass_pace (p, c, d)->units == 0
         && (d == p->cpu || state->devices[d].units[c] == 0);
}

/* Returns: tokens that keep the processors busy: one bundle more than each GPU
   holds, and some for each core. */
static guint64
enough (const Aspara *s, const HassStreamState *state)
{
  const HassStrategyEnv *env = s->paces.env;
  guint64 n = 0;
  for (guint c = 0; c < state->n_classes; c++)
    if (s->on[c] != s->paces.cpu)
      n += hass_pace_bundle (&s->paces, c, s->on[c], LAUNCHES)
           * (env->devices[s->on[c]].max_in_flight + 1);
  return n + (guint64)TOKENS_A_CORE * env->devices[s->paces.cpu].cores;
}

static void
serve_cores (const Aspara *s, const HassStreamState *state, HassServe *serve)
{
  for (guint c = 0; c < state->n_classes; c++)
    {
      /* Cores that have calibrated a class go on with what no GPU waits for. */
      gboolean wanted = FALSE;
      for (guint d = 0; d < state->n_devices; d++)
        wanted = wanted || (d != s->paces.cpu && serves (s, state, c, d));
      serve->leave[c] = serves (s, state, c, s->paces.cpu) ? 0
                        : wanted                           ? G_MAXUINT32
                                                           : 0;
    }
  serve->tokens = s->phase == DRAINING  ? 1
                  : s->phase == RUNNING ? enough (s, state)
                                        : 0;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  Aspara *s = self;
  const HassPaces *p = &s->paces;
  gboolean any = FALSE;
  next_phase (s, state);
  if (device == p->cpu)
    {
      serve_cores (s, state, serve);
      return HASS_TAKE;
    }
  for (guint c = 0; c < state->n_classes; c++)
    if (state->classes[c].ready > 0
        && (serves (s, state, c, device)
            || (force && hass_pace_can (p, c, device))))
      {
        any = TRUE;
        serve->class_index = c;
        serve->units = hass_pace_bundle (p, c, device, LAUNCHES);
      }
  serve->in_flight = p->env->devices[device].max_in_flight;
  return any ? HASS_TAKE : HASS_WAIT;
}

static void
served (gpointer self, const HassStreamState *state, const HassServed *done)
{
  Aspara *s = self;
  (void)state;
  hass_paces_add (&s->paces, done);
}

static void
destroy (gpointer self)
{
  Aspara *s = self;
  hass_paces_clear (&s->paces);
  g_free (s);
}

const HassStrategyOps hass_aspara_pipe = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "aspara-pipe",
  .summary = "a processor for each stage, replaced when its fitness falls",
  .source = "Zhang 2011, 2.2 (ASPARA)",
  .farms = HASS_FARM_PIPELINE,
  .parameters = parameters,
  .create = create,
  .destroy = destroy,
  .serve = serve,
  .served = served,
};

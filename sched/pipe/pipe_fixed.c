/* SPDX-License-Identifier: MIT */
/* pipe_fixed.c: each stage runs on the device that the parameters name, for
   comparisons and for machines that are known.

   "pipe-fixed:s2=1,s3=2" runs the second stage on the first GPU and the third
   on the second one; all others run on the CPU pool if it can, else on any GPU.
   A GPU serves the latest of its stages that has units. A decision is
   O(classes).

   Loses where a stage should be divided, or whenever the mapping is wrong.

   Thread safety: as hass/strategy.h. */
#include "sched/pace.h"

#include "hass/error.h"

enum
{
  TOKENS = HASS_MAX_CLASSES,
  UNITS
};

/* clang-format off */
#define STAGE(n) \
  { "s" #n, 0, -1, 64, "0: CPU pool; i: i-th GPU; -1: any device" }
static const HassParameter parameters[] = {
  STAGE (1),  STAGE (2),  STAGE (3),  STAGE (4),  STAGE (5),  STAGE (6),
  STAGE (7),  STAGE (8),  STAGE (9),  STAGE (10), STAGE (11), STAGE (12),
  STAGE (13), STAGE (14), STAGE (15), STAGE (16), STAGE (17), STAGE (18),
  STAGE (19), STAGE (20), STAGE (21), STAGE (22), STAGE (23), STAGE (24),
  STAGE (25), STAGE (26), STAGE (27), STAGE (28), STAGE (29), STAGE (30),
  STAGE (31), STAGE (32),
  { "tokens", 0, 0, 1e9, "in flight; 0: all that the user allows" },
  { "units", 0, 0, 1e9, "in a bundle; 0: as many as fill the GPU" },
  { .name = NULL },
};
/* clang-format on */

typedef struct
{
  HassPaces paces;
  gint on[HASS_MAX_CLASSES]; /* device of a class; -1: any */
} Fixed;

/* Returns: index of the device that parameter @value of a stage names; -1: any,
   or no device that could run it. */
static gint
device_of (const HassPaces *p, guint c, double value)
{
  gint gpu = 0, wanted = (gint)value;
  for (guint d = 0; d < p->env->n_devices && wanted >= 0; d++)
    {
      gpu += d != p->cpu;
      if ((d == p->cpu ? wanted == 0 : wanted == gpu)
          && hass_pace_can (p, c, d))
        return (gint)d;
    }
  return -1;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Fixed *s = g_new0 (Fixed, 1);
  hass_paces_init (&s->paces, env);
  for (guint c = 0; c < env->n_classes; c++)
    {
      double value = env->parameters[c];
      s->on[c] = device_of (&s->paces, c, value);
      if (value < 1 || s->on[c] >= 0)
        continue;
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "s%u=%g: GPU %g cannot run stage %s, or is "
                   "not there",
                   c + 1, value, value, env->classes[c].name);
      hass_paces_clear (&s->paces);
      g_free (s);
      return NULL;
    }
  return s;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  Fixed *s = self;
  const HassPaces *p = &s->paces;
  const double *parameters_of = p->env->parameters;
  gboolean any = FALSE;
  serve->tokens = (guint64)parameters_of[TOKENS];
  serve->in_flight = p->env->devices[device].max_in_flight;
  for (guint c = 0; c < state->n_classes; c++)
    {
      gboolean mine = force || s->on[c] < 0 || s->on[c] == (gint)device;
      if (device == p->cpu)
        serve->leave[c] = mine ? 0 : G_MAXUINT32;
      else if (mine && state->classes[c].ready > 0
               && hass_pace_can (p, c, device))
        {
          any = TRUE;
          serve->class_index = c;
        }
    }
  if (device == p->cpu || !any)
    return device == p->cpu ? HASS_TAKE : HASS_WAIT;
  serve->units = parameters_of[UNITS] > 0
                     ? (guint64)parameters_of[UNITS]
                     : hass_pace_fill (p, serve->class_index, device);
  return HASS_TAKE;
}

static void
destroy (gpointer self)
{
  Fixed *s = self;
  hass_paces_clear (&s->paces);
  g_free (s);
}

const HassStrategyOps hass_pipe_fixed = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "pipe-fixed",
  .summary = "each stage on the device that the parameters name",
  .source = "static of farms, for stages",
  .farms = HASS_FARM_PIPELINE,
  .parameters = parameters,
  .create = create,
  .destroy = destroy,
  .serve = serve,
};

/* SPDX-License-Identifier: MIT */
/* pipe_lp.c: divides each stage by the linear program of the steady state, and
   by nothing else.

   Beaumont, Legrand, Marchal and Robert, "Steady-state scheduling on
   heterogeneous clusters" (2005): the rate of a long stream is the optimum of a
   linear program, and a schedule in which each device gets its part reaches it.
   The paces in the program are measured (steady.h). A device takes a class
   while it is not ahead of its part; as many tokens are in flight as the user
   allows. A decision is O(classes * devices).

   Loses where bundles that do not fill the GPU cost as much as those that do,
   since a GPU takes what is ready, and where units are few.

   Interpretation: the paper knows the paces; here they are measured, while
   devices take what they can.

   Thread safety: as hass/strategy.h. */
#include "steady.h"

typedef struct
{
  HassPaces paces;
  HassSteady steady;
} PipeLp;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  PipeLp *s = g_new0 (PipeLp, 1);
  (void)error;
  hass_paces_init (&s->paces, env);
  hass_steady_init (&s->steady, &s->paces, 1);
  return s;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  PipeLp *s = self;
  const HassPaces *p = &s->paces;
  double best = -1;
  hass_steady_update (&s->steady, state);
  for (guint c = 0; c < state->n_classes; c++)
    {
      double behind = hass_steady_behind (&s->steady, c, device);
      gboolean measured = hass_pace (p, c, device)->units > 0;
      gboolean may
          = behind > -MAX (s->steady.grain[c], 1) || !measured || force;
      if (!hass_pace_can (p, c, device))
        continue;
      if (device == p->cpu)
        serve->leave[c] = may ? 0 : G_MAXUINT32;
      else if (may && state->classes[c].ready > 0
               && MAX (behind, 0) * hass_pace_ns (p, c, device) >= best)
        {
          best = MAX (behind, 0) * hass_pace_ns (p, c, device);
          serve->class_index = c;
        }
    }
  if (device == p->cpu)
    return HASS_TAKE;
  serve->in_flight = p->env->devices[device].max_in_flight;
  if (best < 0)
    return HASS_WAIT;
  guint64 ready = state->classes[serve->class_index].ready;
  serve->units
      = MIN (hass_pace_bundle (p, serve->class_index, device, 1), ready);
  hass_steady_give (&s->steady, serve->class_index, device, serve->units);
  return HASS_TAKE;
}

static void
served (gpointer self, const HassStreamState *state, const HassServed *done)
{
  PipeLp *s = self;
  (void)state;
  hass_paces_add (&s->paces, done);
  if (done->device == s->paces.cpu)
    hass_steady_give (&s->steady, done->class_index, done->device, done->units);
}

static void
destroy (gpointer self)
{
  PipeLp *s = self;
  hass_steady_clear (&s->steady);
  hass_paces_clear (&s->paces);
  g_free (s);
}

const HassStrategyOps hass_pipe_lp = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "pipe-lp",
  .summary = "parts of each stage by the linear program of the steady state",
  .source = "Beaumont et al. 2005",
  .farms = HASS_FARM_PIPELINE,
  .create = create,
  .destroy = destroy,
  .serve = serve,
  .served = served,
};

/* SPDX-License-Identifier: MIT */
/* pipe_greedy.c: each device takes the latest stage that has units for it.

   The baseline for pipelines: it measures nothing. Cores take from all stages;
   a GPU takes all waiting units of the latest stage that it can run, two
   bundles at a time so that copies overlap kernels, and all that it can compute
   of the stages that follow.

   Thread safety: as hass/strategy.h. */
#include "hass/strategy.h"

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  (void)force;
  if (env->devices[device].kind == HASS_DEVICE_CPU)
    return HASS_TAKE;
  for (guint c = state->n_classes; c-- > 0;)
    if (env->classes[c].devices >> device & 1 && state->classes[c].ready > 0)
      {
        serve->class_index = c;
        serve->units = state->classes[c].ready;
        serve->in_flight = 2;
        serve->fuse = G_MAXUINT;
        return HASS_TAKE;
      }
  return HASS_WAIT;
}

const HassStrategyOps hass_pipe_greedy = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "pipe-greedy",
  .summary = "latest stage first on every device, measures nothing",
  .source = "greedy, as naive-greedy for farms",
  .farms = HASS_FARM_PIPELINE,
  .create = create,
  .serve = serve,
};

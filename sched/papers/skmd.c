/* SPDX-License-Identifier: MIT */
/* skmd.c: SKMD: divides each round with a decision tree, by times that a
   regression predicts, including the costs of copies and of the merge.

   Lee et al. 2015 (SKMD), sections 3.3 and 3.4. A round costs O(steps *
   devices^2) additions and O(steps * devices) arctangents, less than 1 ms (the
   paper's limit, too) for 1 CPU and 2 GPUs; a decision is O(devices).

   Loses where the cost of a unit depends on its data (section 3.5: such kernels
   are not partitioned there), in rounds so short that the division counts, in
   its first round, which trains, and when the rate of a device changes: a
   division is not corrected within a round.

   Interpretations are in skmd_model.c (the regression), skmd_partition.c
   (Algorithm 1) and skmd_train.c (profiling, estimates). In addition: a kernel
   is contiguous if merge_ns of the farm is 0.

   Thread safety: as hass/strategy.h. */
#include "skmd-private.h"

enum
{
  STEPS
};

static const HassParameter parameters[] = {
  { "steps", 1024, 1, 65536, "most steps of the decision tree" },
  { .name = NULL },
};

/* Divides a round of @units units by the decision tree and sets the weights of
   the devices to their units. The tree adds the time of merging the results if
   several devices get units. In a round that began with training, all devices
   have results already, so the merge is needed in any case and counts as 0. */
static void
by_tree (HassSkmd *s, guint64 units)
{
  HassCrew *crew = &s->crew;
  const HassSkmdTask task
      = { .n = crew->n,
          .units = units,
          .steps = (guint64)crew->env->parameters[STEPS],
          .merge_ns = s->trained_in ? 0 : crew->env->merge_ns,
          .times = hass_skmd_times,
          .user_data = s };
  hass_skmd_partition (&task, crew->counts);
  for (guint d = 0; d < crew->n; d++)
    crew->weights[d] = crew->counts[d];
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_skmd_new (env, by_tree);
}

const HassStrategyOps hass_skmd = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "skmd",
  .summary = "trained regression, copies and merge, a decision tree a round",
  .source = "Lee 2015 (SKMD), sections 3.3 and 3.4",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_skmd_begin_round,
  .grant = hass_skmd_grant,
  .observe = hass_skmd_observe,
  .end_round = hass_skmd_end_round,
  .destroy = hass_skmd_destroy,
};

/* SPDX-License-Identifier: MIT */
/* skmd_linear.c: linear partitioning, with which SKMD is compared: parts
   proportional to the performance predicted for the whole round, without copies
   and merge.

   Lee et al. 2015 (SKMD), section 4.1 and figure 10, "similar to prior
   approaches" (Luk 2009, Kim 2011). A round costs O(devices) predictions, a
   decision O(devices).

   Loses wherever copies or the merge cost more than the kernel saves, which
   makes memory-bound kernels slower than the fastest device alone, and where
   the part of a GPU is too small to fill it.

   Interpretation: the performance is the number of units of the round over the
   predicted time of the kernel for all of them ("relying only on their maximum
   performance", 3.4). Training is as in skmd_train.c.

   Thread safety: as hass/strategy.h. */
#include "skmd-private.h"

static void
by_performance (HassSkmd *s, guint64 units)
{
  for (guint d = 0; d < s->crew.n; d++)
    s->crew.weights[d] = units / hass_skmd_kernel_ns (s, d, units);
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_skmd_new (env, by_performance);
}

const HassStrategyOps hass_skmd_linear = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "skmd-linear",
  .summary = "parts by trained kernel speed, copies and merge left out",
  .source = "Lee 2015 (SKMD), section 4.1",
  .farms = HASS_FARM_ANY,
  .create = create,
  .begin_round = hass_skmd_begin_round,
  .grant = hass_skmd_grant,
  .observe = hass_skmd_observe,
  .end_round = hass_skmd_end_round,
  .destroy = hass_skmd_destroy,
};

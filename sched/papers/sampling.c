/* SPDX-License-Identifier: MIT */
/* sampling.c: a small part of each round shows the speeds, the rest is
   divided by them.

   Sampling scheduling, as CAP 2013, 2.2.2 describes it; it is what CAP is
   compared with in its table 3. Two phases a round, with all devices waiting
   for each other between them: a round costs O(devices * log n), a decision
   O(devices).

   Loses where a GPU is slower in the sample than in the round: on launch
   latency, or because the sample does not fill it (CAP 2013, figures 1 and
   4); then it gets too little of the rest. Loses where the costs at the
   round's begin are not those of its rest.

   Read so:
   - The size of the sample is not given. It is that of CAP's first phase,
     1/128; "the optimal size changes case by case".
   - "Using static strategy": the sample is cut into equal parts, as CAP cuts
     its first phase. Each device gets a unit of it at least.
   - Speed is work by busy time, copies and launches included (section 3). A
     CPU pool's busy time is the mean of its cores', so that the wait for its
     last core does not look like slowness.
   - The paper has one CPU and one GPU; parts by speed extend to any number.
   - Each round is a task of its own: nothing is kept for the next.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

enum
{
  FIRST
};

static const HassParameter parameters[] = {
  { "first", 1 / 128., 1e-6, 0.5, "part of a round that is the sample" },
  { .name = NULL },
};

static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  (void)round;
  if (p->n_begun > 0)
    {
      hass_phases_by_speed (p, p->speeds);
      return waiting;
    }
  hass_phases_equal (p);
  return waiting * p->crew.env->parameters[FIRST];
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_phases_new (sizeof (HassPhases), env, plan);
}

const HassStrategyOps hass_sampling = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "sampling",
  .summary = "equal parts of a small sample, the rest by the speeds it shows",
  .source = "CAP 2013, 2.2.2",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_phases_begin_round,
  .grant = hass_phases_grant,
  .observe = hass_phases_observe,
  .destroy = hass_phases_destroy,
};

/* SPDX-License-Identifier: MIT */
/* sampling.c: measures the speeds with a small part of each round and divides
   the remainder by them.

   Sampling scheduling as CAP 2013, 2.2.2 describes it, with which CAP is
   compared in its table 3. A round has two phases, and all devices wait for
   each other between them: it costs O(devices * log n), a decision O(devices).

   Loses where a GPU is slower in the sample than in the round, because of
   launch latency or because the sample does not fill it (CAP 2013, figures 1
   and 4): it then gets too little. Loses where costs at the beginning of the
   round are not typical.

   Interpretation:
   - The size of the sample is not given. It is that of CAP's first phase,
     1/128; "the optimal size changes case by case".
   - "Using static strategy": the sample is divided equally, as CAP divides its
     first phase, at least one unit for each device.
   - Speed is work by busy time, copies and launches included (section 3). The
     busy time of a CPU pool is the mean of its cores', so that waiting for its
     last core does not lower its speed.
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

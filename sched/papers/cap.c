/* SPDX-License-Identifier: MIT */
/* cap.c: samples that double in size until two of them agree, then the rest
   of the round by the last.

   CAP, co-scheduling based on asymptotic profiling: Wang, Zheng, Chen and Guo
   2013, 2.3 and Algorithm 1. The larger the sample, the nearer is the GPU to
   the stable part of its curve. All devices wait for each other after each
   phase; there are O(log (1 / first)) of them. A round costs O(phases *
   devices * log n), a decision O(devices).

   Loses where a round is so small that its phases are mostly latency; to
   whatever remembers earlier rounds, since each round is profiled anew from
   an equal split; and where costs lie unevenly along the range, since nothing
   is corrected once profiling has stopped.

   Read so:
   - The first comparison would be between a measured partition and the given
     equal one, and could agree by chance. Two measured partitions have to.
   - "The variance of these two partitions" is the population variance of the
     old and the new part of a device, (difference / 2)^2, which gives the
     paper's shares of profiling. With several devices the largest counts; of
     two devices both have the same.
   - "s * 2 larger than 1/2 of the remaining workload" is asked as in line 17,
     before s doubles, and of what is left after the phase that has just
     ended.
   - The rest is divided by the partition just calculated, the best there is.
   - The first phase is an equal split (2.3), and each device gets a unit of
     it at least.
   - Speed is work by busy time, copies and launches included (section 3). A
     CPU pool's busy time is the mean of its cores', so that the wait for its
     last core does not look like slowness. A device that got nothing of a
     phase keeps the speed of its last one.
   - The paper's size of a workload is a count of iterations; here it is the
     work that the cost class shows.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

#include <string.h>

enum
{
  THRESHOLD,
  FIRST,
  GROWTH
};

static const HassParameter parameters[] = {
  { "threshold", 5e-5, 0, 0.25, "variance of two partitions that agree" },
  { "first", 1 / 128., 1e-6, 0.5, "part of a round that is profiled first" },
  { "growth", 2, 1, 64, "of a phase over the one before" },
  { .name = NULL },
};

typedef struct
{
  HassPhases phases;
  double size; /* s of Algorithm 1, in work */
} Cap;

/* Of the device whose part changed most; kept: the partition before. */
static double
variance (const Cap *s)
{
  double most = 0;
  for (guint d = 0; d < s->phases.crew.n; d++)
    {
      double half = (s->phases.parts[d] - s->phases.kept[d]) / 2;
      most = MAX (most, half * half);
    }
  return most;
}

static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  Cap *s = (Cap *)p;
  const double *parameter = p->crew.env->parameters;
  (void)round;
  if (p->n_begun == 0)
    {
      hass_phases_equal (p);
      s->size = waiting * parameter[FIRST];
      return s->size;
    }
  memcpy (p->kept, p->parts, p->crew.n * sizeof *p->kept);
  hass_phases_by_speed (p, p->speeds);
  gboolean measured = p->n_begun > 1; /* the old one, too */
  double next = s->size * parameter[GROWTH];
  if ((measured && variance (s) < parameter[THRESHOLD]) || next > waiting / 2)
    return waiting;
  s->size = next;
  return s->size;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return hass_phases_new (sizeof (Cap), env, plan);
}

const HassStrategyOps hass_cap = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "cap",
  .summary = "samples that double until two agree, the rest by the last",
  .source = "CAP 2013, 2.3, Algorithm 1",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_phases_begin_round,
  .grant = hass_phases_grant,
  .observe = hass_phases_observe,
  .destroy = hass_phases_destroy,
};

/* SPDX-License-Identifier: MIT */
/* cap.c: runs samples that double in size until two of them agree, then divides
   the remaining round by the last one.

   CAP, co-scheduling based on asymptotic profiling: Wang, Zheng, Chen and Guo
   2013, 2.3 and Algorithm 1. The larger the sample, the closer the GPU is to
   the stable part of its curve. All devices wait for each other after each
   phase; there are O(log (1 / first)) phases. A round costs O(phases * devices
   * log n), a decision O(devices).

   Loses where a round is so small that its phases are mostly latency; to
   strategies that remember earlier rounds, since each round is profiled again
   from an equal division; and where costs lie unevenly along the range, since
   nothing is corrected after profiling.

   Interpretation:
   - The first comparison would be of a measured partition with the given equal
     one, and could agree by chance. Here two measured partitions must agree.
   - "The variance of these two partitions" is the population variance of the
     old and the new part of a device, (difference / 2)^2, which reproduces the
     paper's shares of profiling. With several devices the largest counts; two
     devices have the same.
   - "s * 2 larger than 1/2 of the remaining workload" is tested as in line 17,
     before s doubles, with the workload that remains after the phase that has
     just ended.
   - The remaining workload is divided by the latest partition.
   - The first phase is an equal division (2.3), at least one unit a device.
   - Speed is work by busy time, copies and launches included (section 3). The
     busy time of a CPU pool is the mean of its cores', so that waiting for its
     last core does not lower its speed. A device that got nothing in a phase
     keeps its last speed.
   - The paper measures a workload in iterations; here it is the work that the
     cost class shows.

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
  /* Size of the last profiling phase (s of Algorithm 1), in work. */
  double size;
} Cap;

/* Returns: the variance of the device whose part changed most between the last
   partition (kept) and the new one (parts): the squared half of the
   difference, with parts from 0 to 1. The partitions agree if it is below the
   threshold. */
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
  /* The first phase has an equal division, which is not measured. From the
     third one on both partitions that are compared come from speeds. */
  gboolean measured = p->n_begun > 1;
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

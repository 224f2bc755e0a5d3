/* SPDX-License-Identifier: MIT */
/* cpu_weight.c: the CPU's part of a round is its weight, the GPUs share the
   remainder equally, and the weight changes by a fixed step each round.

   Odajima et al., "Adaptive task size control on high level programming for
   GPU/CPU work sharing" (XcalableMP-dev/StarPU), sections 3.2 and 4. A round
   costs O(devices), a decision O(devices).

   Loses for as many rounds as there are steps between the first weight and the
   right one (3 to 39 from 0.2); by one step of oscillation for ever; and by the
   difference between the fastest and the slowest GPU, which get equal parts.

   Interpretation:
   - T_CPU and T_GPU are "the task execution time by CPU and GPU in last task
     execution". Each core and each GPU has one task a round here, its part, so
     they are the times from the beginning of the round to the last end of the
     CPU pool and of the last GPU: what the round waits for.
   - The ratio is compared as printed: a tie raises the weight.
   - The weight is limited to [0, 1], which the paper does not mention. A device
     without units has time 0, so the weight returns from either limit.
   - A round in which a grant failed, or in which no device of one kind works,
     does not change the weight.
   - Parts are parts of elements in the paper, which divides arrays; here parts
     of the work that the cost class shows.

   Thread safety: as hass/strategy.h. */
#include "common.h"

enum
{
  WEIGHT,
  STEP
};

static const HassParameter parameters[] = {
  { "weight", 0.2, 0, 1, "part of the CPU pool in the first round" },
  { "step", 0.01, 0, 0.5, "by which the weight changes after a round" },
  { .name = NULL },
};

typedef struct
{
  HassCrew crew;
  double weight;
  /* [n]: part of the round's work that each device gets, 0 to 1 */
  double *parts;
  gboolean failed;
} CpuWeight;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  CpuWeight *s = g_new0 (CpuWeight, 1);
  (void)error;
  hass_crew_init (&s->crew, env);
  s->parts = g_new0 (double, MAX (env->n_devices, 1));
  s->weight = env->parameters[WEIGHT];
  return s;
}

static guint
working_gpus (const HassCrew *crew)
{
  guint n = 0;
  for (guint d = 0; d < crew->n; d++)
    n += d != crew->cpu && !crew->members[d].failed;
  return n;
}

static void
begin_round (gpointer self, HassRound *round)
{
  CpuWeight *s = self;
  HassCrew *crew = &s->crew;
  guint n_gpus = working_gpus (crew);
  hass_crew_begin_round (crew, round);
  s->failed = FALSE;
  if (crew->n < 2)
    return;
  for (guint d = 0; d < crew->n; d++)
    s->parts[d]
        = d == crew->cpu ? s->weight : (1 - s->weight) / MAX (n_gpus, 1);
  /* If only the CPU pool or only GPUs work, the weight is ignored: equal parts
     of the whole round go to those that work. */
  if (crew->cpu == crew->n || crew->members[crew->cpu].failed || n_gpus == 0)
    for (guint d = 0; d < crew->n; d++)
      s->parts[d] = 1;
  hass_crew_carve_parts (crew, round, s->parts);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  (void)force;
  return hass_crew_take_part (self, round, device, grant);
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  CpuWeight *s = self;
  s->failed |= done->failed;
  hass_crew_observe (self, round, done);
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  CpuWeight *s = self;
  HassCrew *crew = &s->crew;
  double cpu_ns = 0, gpu_ns = 0;
  if (crew->n < 2)
    return;
  gboolean both = crew->cpu < crew->n && working_gpus (crew) > 0;
  hass_crew_absent (crew, summary);
  for (guint d = 0; d < crew->n; d++)
    {
      double ns = summary->devices[d].last_finish_ns;
      if (d == crew->cpu)
        cpu_ns = ns;
      else
        gpu_ns = MAX (gpu_ns, ns);
    }
  if (s->failed || !both || working_gpus (crew) == 0 || cpu_ns + gpu_ns <= 0)
    return;
  double step = crew->env->parameters[STEP];
  if (cpu_ns / (cpu_ns + gpu_ns) > 0.5)
    s->weight -= step;
  else
    s->weight += step;
  s->weight = CLAMP (s->weight, 0, 1);
}

static void
destroy (gpointer self)
{
  CpuWeight *s = self;
  g_free (s->parts);
  hass_crew_destroy (self);
}

const HassStrategyOps hass_cpu_weight = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "cpu-weight",
  .summary = "the CPU's part annealed by a step a round, GPUs alike",
  .source = "Odajima et al., sections 3.2 and 4",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = observe,
  .end_round = end_round,
  .destroy = destroy,
};

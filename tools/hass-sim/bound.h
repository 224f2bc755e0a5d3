/* SPDX-License-Identifier: MIT */
/* bound.h: what the files of the bound share; bound.c says what it is.
   Thread safety: constant while a bound is sought. */
#ifndef HASS_SIM_BOUND_H
#define HASS_SIM_BOUND_H

#include "sim.h"

/* What the round is about. */
typedef struct
{
  const SimCase *c;
  const SimWorkload *w;
  const HassPlatform *p;
  double core_rate;
  double gpu_rate[SIM_MOST_GPUS]; /* 0: lost */
  gboolean use_cpu;
  guint use_gpu; /* G_MAXUINT: all; else that one; SIM_MOST_GPUS: none */
  double n, cpu_work, gpu_work; /* of the round */
  double density;               /* least cost of an element */
  double smallest;              /* size of the smallest unit, of the mean */
  /* [units + 1], NULL for equal units: sums of CPU work of the cheapest
     first; of CPU and GPU work of those that a GPU is slowest for. */
  double *cheap, *relief_cpu, *relief_gpu;
  double longest_ns;
} BoundProblem;

/* BoundLeast costs of one GPU's round, by kind. */
typedef struct
{
  double rate;
  double in_ns, out_ns;         /* of a unit's bytes, without latency */
  double in_fixed, out_fixed;   /* latencies and entry; 0: nothing copied */
  double launch_ns, non_linear; /* added to, or least of, the kernels */
  gboolean saturating, depth_one;
  double round_widths; /* width by the round's elements */
  double latency_ns;   /* of a copy in */
  double smallest;     /* unit, by the mean one */
} BoundLeast;

/* What is wanted of GPUs: equal units of `cost` work each, or (cost 0) the
   most of work * a + units * b. */
typedef struct
{
  double t, cost, a, b;
} BoundWanted;

BoundLeast bound_least_of (const BoundProblem *q, guint g);
double bound_most_of_gpus (const BoundProblem *q, const BoundWanted *want);

#endif

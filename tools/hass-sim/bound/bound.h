/* SPDX-License-Identifier: MIT */
/* bound.h: what the files of the bound share; bound.c says what it is.
   Thread safety: constant while a bound is sought. */
#ifndef HASS_SIM_BOUND_H
#define HASS_SIM_BOUND_H

#include "tools/hass-sim/sim.h"

/* How the engine computes bundles. */
typedef enum
{
  BOUND_MERGED, /* all elements together fill the GPU */
  BOUND_BLOCKS, /* each unit is a block */
  BOUND_EITHER  /* some are, of a function farm */
} BoundKernels;

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
  BoundKernels kernels;
  guint64 most_elements;        /* of a unit */
  double n, cpu_work, gpu_work; /* of the round */
  double density;               /* least cost of an element */
  double smallest;              /* size of the smallest unit, of the mean */
  double in_bytes, out_bytes;   /* least of a unit, by its size */
  /* [units + 1], NULL where sizes go with costs or all are equal: sums of CPU
     work of the cheapest first; of CPU and GPU work of those that a GPU is
     slowest for. */
  double *cheap, *relief_cpu, *relief_gpu;
  double longest_ns;
  /* Of BoundLine, NULL of lost GPUs and where cheap is not; of links by
     bound_link.c's key. */
  GArray *lines[SIM_MOST_GPUS];
  GHashTable *link_lines;
} BoundProblem;

/* BoundLeast costs of one GPU's round, by kind. */
typedef struct
{
  double rate;
  double in_ns, out_ns;         /* of a unit's bytes, without latency */
  double in_fixed, out_fixed;   /* latencies and entry; 0: nothing copied */
  double launch_ns, non_linear; /* added to, or least of, the kernels */
  double blocks;                /* at once, where a unit is one; else 1 */
  gboolean saturating, depth_one, duplex;
  double round_widths; /* width by the round's elements */
  double latency_ns;   /* of a copy in */
  double smallest;     /* unit, by the mean one */
  const GArray *lines; /* BoundLine, or NULL */
} BoundLeast;

/* What is wanted of GPUs: equal units of `cost` work each, or (cost 0) the
   most of work * a + units * b. */
typedef struct
{
  double t, cost, a, b;
} BoundWanted;

BoundLeast bound_least_of (const BoundProblem *q, guint g);
double bound_most_of_gpu (const BoundLeast *l, const BoundWanted *want);
double bound_most_of_gpus (const BoundProblem *q, const BoundWanted *want);

/* -- Equal units in bundles ---------------------------------------------- */

/* What a bundle costs at least: each unit, and the bundle. */
typedef struct
{
  double in_ns, in_fixed, out_ns, out_fixed;
  double kernel_ns, extra_ns;
  double floor_ns; /* no kernel is shorter, the extra aside */
  double least;    /* units */
} BoundBundle;

/* With k bundles no less time than less_ns + each_ns * units. */
typedef struct
{
  guint k;
  double less_ns, each_ns;
} BoundLine;

BoundBundle bound_bundle_of (const BoundLeast *l, double cost);
/* Lines by k, of one GPU; g_array_unref() them. */
GArray *bound_lines_of_gpu (const BoundBundle *b);
/* Adds a line unless another of its k is closer everywhere; k ascends. */
void bound_add_line (GArray *lines, BoundLine new);
/* Of more than `most` bundles on `n` GPUs: their launches, and kernels taken as
   any mean of the shortest and of what the units need. */
void bound_add_many (GArray *lines, const BoundBundle *b, guint n, guint most);
/* Most units within T, in any number of bundles. */
double bound_most_by_lines (const GArray *lines, double t);

#endif

/* SPDX-License-Identifier: MIT */
/* bound.h: declarations shared by the files of the bound, which bound.c
   explains.
   Thread safety: constant while a bound is computed. */
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

/* The round whose bound is sought. */
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
     link.c's key. */
  GArray *lines[SIM_MOST_GPUS];
  GHashTable *link_lines;
} BoundProblem;

/* BoundLeast costs of one GPU's round, by kind. */
typedef struct
{
  double rate;
  double in_ns, out_ns;         /* of a unit's bytes, without latency */
  double in_fixed, out_fixed;   /* latencies and entry; 0: nothing copied */
  double launch_ns, non_linear; /* added to, or minimum of, the kernels */
  double blocks; /* computed at once if a unit is one block; else 1 */
  gboolean saturating, depth_one, duplex;
  double round_widths; /* width by the round's elements */
  double latency_ns;   /* of a copy in */
  double smallest;     /* unit, by the mean one */
  const GArray *lines; /* BoundLine, or NULL */
} BoundLeast;

/* What is maximised over GPUs: the number of equal units of @cost work each, or
   (cost 0) work * a + units * b. */
typedef struct
{
  double t, cost, a, b;
} BoundWanted;

BoundLeast bound_least_of (const BoundProblem *q, guint g);
double bound_most_of_gpu (const BoundLeast *l, const BoundWanted *want);
double bound_most_of_gpus (const BoundProblem *q, const BoundWanted *want);

/* -- Equal units in bundles ---------------------------------------------- */

/* The least costs of a bundle: of each unit, and of the bundle. */
typedef struct
{
  double in_ns, in_fixed, out_ns, out_fixed;
  double kernel_ns, extra_ns;
  double floor_ns; /* minimum of a kernel, without the extra */
  double least;    /* units */
} BoundBundle;

/* k bundles take at least less_ns + each_ns * units. */
typedef struct
{
  guint k;
  double less_ns, each_ns;
} BoundLine;

BoundBundle bound_bundle_of (const BoundLeast *l, double cost);
/* Returns: the lines of one GPU, by ascending k; free with
   g_array_unref(). */
GArray *bound_lines_of_gpu (const BoundBundle *b);
/* Adds a line unless another with its k is tighter everywhere; k ascends. */
void bound_add_line (GArray *lines, BoundLine new);
/* Adds the line for more than @most bundles on @n GPUs: their launches, and
   kernels bounded by a mean of the shortest kernel and of the units' needs. */
void bound_add_many (GArray *lines, const BoundBundle *b, guint n, guint most);
/* Returns: maximum number of units within @t, in any number of bundles. */
double bound_most_by_lines (const GArray *lines, double t);

#endif

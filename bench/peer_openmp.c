/* SPDX-License-Identifier: MIT */
/* peer_openmp.c: OpenMP loops, dynamic,1, and tasks.
   Thread safety: one run at a time. */
#include "bench.h"

static void
indices (gsize n)
{
#pragma omp parallel for schedule(dynamic, 1)
  for (gsize i = 0; i < n; i++)
    __asm__ volatile("" : : "r"(i));
}

static void
known (const HassLoad *loads, gsize n, BenchWork work)
{
#pragma omp parallel for schedule(dynamic, 1)
  for (gsize i = 0; i < n; i++)
    work (&loads[i]);
}

static void
tasks (const HassLoad *loads, gsize n, BenchWork work)
{
#pragma omp parallel
#pragma omp single
  for (gsize i = 0; i < n; i++)
    {
      HassLoad load = loads[i];
#pragma omp task firstprivate(load)
      work (&load);
    }
}

const BenchPeer bench_openmp
    = { .name = "OpenMP dynamic,1", .indices = indices, .known = known };
const BenchPeer bench_openmp_tasks
    = { .name = "OpenMP tasks", .most = 500000, .emitted = tasks };

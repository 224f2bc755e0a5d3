/* SPDX-License-Identifier: MIT */
/* peers.c: the list of peers that this build has.
   Thread safety: constant. */
#include "bench.h"

#include <stdio.h>

const BenchPeer *const bench_peers[] = {
  &bench_hass,
  &bench_threads,
  &bench_tbb_for,
  &bench_tbb_pipeline,
  &bench_tbb_group,
#ifdef BENCH_OPENMP
  &bench_openmp,
  &bench_openmp_tasks,
#endif
  &bench_glib,
#ifdef BENCH_STARPU
  &bench_starpu,
#endif
  NULL,
};

void
bench_print_missing (void)
{
#ifndef BENCH_OPENMP
  printf ("  left out: OpenMP, the compiler has no -fopenmp\n");
#endif
#ifndef BENCH_STARPU
  printf ("  left out: StarPU, no libstarpu-dev (starpu-1.3) found\n");
#endif
}

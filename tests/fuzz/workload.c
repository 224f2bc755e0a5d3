/* SPDX-License-Identifier: MIT */
/* workload.c: a workload file, and two rounds of a few units of it under
   auto.
   Thread safety: see fuzz.h. */
#include <math.h>

#include "fuzz.h"
#include "tools/hass-sim/sim.h"

#define MOST_UNITS 60
#define ROUNDS 2

/* As device/platform.c would read it. */
static HassPlatform *
machine (void)
{
  HassPlatform *p = g_new0 (HassPlatform, 1);
  p->name = g_strdup ("fuzz");
  p->has_cpu = TRUE;
  p->cores = 4;
  p->core_work_per_ns = 1e-3;
  p->pull_ns = 200;
  p->n_gpus = p->n_links = 1;
  p->gpus = g_new0 (HassGpuModel, 1);
  p->gpus[0] = (HassGpuModel){ .name = g_strdup ("gpu0"),
                               .label = g_strdup ("Tesla"),
                               .multiprocessors = 4,
                               .width = 16,
                               .work_per_ns = 1e-2,
                               .launch_ns = 8000,
                               .link_ns = 5000,
                               .h2d_bytes_per_ns = 1,
                               .d2h_bytes_per_ns = 1,
                               .duplex = TRUE,
                               .depth = 2 };
  return p;
}

static int
workload (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  SimWorkload *w = sim_workload_load (fuzz_file (data, size), &error);
  FUZZ_CHECK ((w == NULL) == (error != NULL));
  if (!w)
    return 0;
  w->units = MIN (w->units, MOST_UNITS);
  g_autoptr (SimCase) c = sim_case_new (w, machine (), ROUNDS, 1, NULL, 0);
  sim_bounds (c);
  for (guint i = 0; i < ROUNDS; i++)
    FUZZ_CHECK (isfinite (c->bound_ns[i]) && c->bound_ns[i] >= 0);
  HassSimResult *r = sim_run (c, "auto", NULL);
  FUZZ_CHECK (isfinite (r->makespan_ns) && isfinite (r->efficiency));
  sim_result_free (r);
  return 0;
}

FUZZ_TARGET (workload, workload)

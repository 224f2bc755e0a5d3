/* SPDX-License-Identifier: MIT */
/* stg.c: a file of the Standard Task Graph Set, and the bounds of its graph.
   Thread safety: see fuzz.h. */
#include <math.h>

#include "fuzz.h"
#include "tools/hass-sim/flow/build.h"

static int
stg (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SimFlow) f = sim_flow_read_stg (fuzz_file (data, size), &error);
  FUZZ_CHECK ((f == NULL) == (error != NULL));
  if (!f)
    return 0;
  HassPlatform cores = { .has_cpu = TRUE, .cores = 4, .core_work_per_ns = 1 };
  SimFlowBound b = sim_flow_bound (f, &cores);
  FUZZ_CHECK (isfinite (b.path_ns) && b.path_ns > 0);
  FUZZ_CHECK (isfinite (b.area_ns) && b.area_ns > 0);
  return 0;
}

FUZZ_TARGET (stg, stg)

/* SPDX-License-Identifier: MIT */
/* stg.c: a file of the Standard Task Graph Set, and the bounds of its graph.
   Thread safety: see fuzz.h. */
#include "task_graph.h"

static int
stg (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SimFlow) f = sim_flow_read_stg (fuzz_file (data, size), &error);
  fuzz_check_task_graph (f, error);
  return 0;
}

FUZZ_TARGET (stg, stg)

/* SPDX-License-Identifier: MIT */
/* workflow.c: a workflow of WfCommons, and the bounds of its graph.
   Thread safety: see fuzz.h. */
#include "task_graph.h"

static int
workflow (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SimFlow) f
      = sim_flow_read_workflow (fuzz_file (data, size), &error);
  fuzz_check_task_graph (f, error);
  return 0;
}

FUZZ_TARGET (workflow, workflow)

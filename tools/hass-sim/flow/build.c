/* SPDX-License-Identifier: MIT */
/* build.c: see build.h.
   Thread safety: see build.h. */
#include "build.h"

/* A task that costs nothing takes so long, in ns: a dataflow takes a work of 0
   as unknown, and the task would take as long as its data have bytes. */
#define LEAST_NS 1e-6

SimFlow *
sim_flow_empty (const char *spec, const char *name)
{
  SimFlow *f = g_new0 (SimFlow, 1);
  f->spec = g_strdup (spec);
  f->name = g_strdup (name);
  f->codelets = g_ptr_array_new_with_free_func (g_free);
  f->sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  f->tasks = g_array_new (FALSE, FALSE, sizeof (SimFlowTask));
  f->uses = g_array_new (FALSE, FALSE, sizeof (SimFlowUse));
  return f;
}

void
sim_flow_add_data (SimFlow *f, guint32 n, gsize bytes)
{
  for (guint32 i = 0; i < n; i++)
    g_array_append_val (f->sizes, bytes);
}

guint
sim_flow_add_codelet (SimFlow *f, const char *name)
{
  g_ptr_array_add (f->codelets, g_strdup (name));
  return f->codelets->len - 1;
}

void
sim_flow_begin_task (SimFlow *f, guint codelet, double core_ns)
{
  SimFlowTask task = { .codelet = codelet,
                       .core_ns = MAX (core_ns, LEAST_NS),
                       .first = f->uses->len };
  g_array_append_val (f->tasks, task);
}

void
sim_flow_use (SimFlow *f, guint32 datum, HassAccessMode mode)
{
  SimFlowUse u = { datum, mode };
  g_array_append_val (f->uses, u);
  g_array_index (f->tasks, SimFlowTask, f->tasks->len - 1).n++;
}

gsize
sim_flow_bytes (const SimFlow *f)
{
  gsize sum = 0;
  for (guint d = 0; d < f->sizes->len; d++)
    sum += g_array_index (f->sizes, gsize, d);
  return sum;
}

void
sim_flow_free (SimFlow *f)
{
  g_ptr_array_unref (f->codelets);
  g_array_unref (f->sizes);
  g_array_unref (f->tasks);
  g_array_unref (f->uses);
  g_free (f->spec);
  g_free (f->name);
  g_free (f);
}

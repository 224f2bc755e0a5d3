/* SPDX-License-Identifier: MIT */
/* disturb.c: devices that get slower or are lost while a graph runs.
   Thread safety: see run.h. */
#include "run.h"

/* Returns: the makespan without events, in ns; -1 with an error. */
static double
undisturbed_ns (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
                GError **error)
{
  SimFlowOptions quiet = { .seed = o->seed,
                           .strategy = o->strategy,
                           .trace = "",
                           .extra = TRUE,
                           .times = o->times };
  g_autoptr (HassReport) r = sim_flow_run_as (f, p, &quiet, error);
  return r ? r->makespan_s * 1e9 : -1;
}

GArray *
sim_flow_events (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
                 char **slow, char **lose, GError **error)
{
  g_autoptr (GArray) events
      = g_array_new (FALSE, FALSE, sizeof (HassVirtualEvent));
  double ns = 0;
  if (!sim_events (events, p, 0, slow, lose, error))
    return NULL;
  for (guint i = 0; i < events->len; i++)
    {
      HassVirtualEvent *e = &g_array_index (events, HassVirtualEvent, i);
      if (e->at_ns > 0)
        continue;
      if (ns == 0)
        ns = undisturbed_ns (f, p, o, error);
      if (ns < 0)
        return NULL;
      e->at_ns = (gint64)CLAMP (e->round * ns, 1, SIM_LATEST_NS);
    }
  return g_steal_pointer (&events);
}

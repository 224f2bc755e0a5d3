/* SPDX-License-Identifier: MIT */
/* profiled.c: the profile store keeps the mean times of codelets from run to
   run, so that a dataflow begins with those of earlier ones.
   Thread safety: the submitting thread begins; the thread that called the
   dataflow ends, when all others have left it. */
#include "engine/profile/sampler.h"
#include "place.h"

static guint
as_mean (double ns)
{
  return ns > 0 ? (guint)CLAMP (ns, 1, G_MAXINT32) : 0;
}

static HassProfiledCodelet
describe (const HassCodeletState *codelet, double work, HassProfiledTasks *on)
{
  return (HassProfiledCodelet){ .name = codelet->name,
                                .cost = codelet->sized ? HASS_COST_SIZED
                                                       : HASS_COST_UNKNOWN,
                                .work = work,
                                .on = on };
}

static double
mean_work (const HassCodeletState *codelet)
{
  return codelet->n_work > 0 ? codelet->work / (double)codelet->n_work : 1;
}

/* Sets the times of a codelet that is not in use yet. @work: of a task. */
void
hass_codelet_recall (const HassGraph *graph, HassCodeletState *codelet,
                     double work)
{
  const HassJob *job = graph->job;
  const HassPlacing *p = graph->placing;
  g_autofree HassProfiledTasks *on = g_new0 (HassProfiledTasks, job->n_devices);
  HassProfiledCodelet known = describe (codelet, work, on);
  double sum = 0;
  guint n = 0;
  hass_profile_look_codelet (&job->env, &known);
  atomic_store_explicit (&codelet->mean_ns, as_mean (on[job->cpu].ns),
                         memory_order_relaxed);
  for (guint i = 0; p && i < p->n_devices; i++)
    if (codelet->devices >> i & 1 && on[p->devices[i].d].ns > 0)
      {
        sum += on[p->devices[i].d].ns;
        n++;
      }
  codelet->device_ns = as_mean (sum / MAX (n, 1));
}

/* The same for the codelets of a recorded graph that has not run yet. */
void
hass_graph_recall_all (const HassGraph *graph)
{
  for (guint c = 0; graph->recalls && c < graph->codelets->len; c++)
    {
      HassCodeletState *codelet = g_ptr_array_index (graph->codelets, c);
      if (atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed) == 0
          && codelet->device_ns == 0)
        hass_codelet_recall (graph, codelet, mean_work (codelet));
    }
}

/* Stores what this run has measured. */
void
hass_graph_store (HassJob *job, gint64 makespan_ns)
{
  const HassGraph *graph = job->flow;
  const HassPlacing *p = graph->placing;
  guint n = graph->codelets->len;
  g_autofree HassProfiledCodelet *codelets = g_new (HassProfiledCodelet, n);
  g_autofree HassProfiledTasks *on
      = g_new0 (HassProfiledTasks, (gsize)n * job->n_devices);
  for (guint c = 0; c < n; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (graph->codelets, c);
      HassProfiledTasks *of = &on[c * job->n_devices];
      HassCodeletCount all = hass_graph_count (graph, c);
      codelets[c] = describe (codelet, mean_work (codelet), of);
      of[job->cpu]
          = (HassProfiledTasks){ all.n, (double)all.ns
                                            / (double)MAX (all.measured, 1) };
      for (guint i = 0; p && i < p->n_devices; i++)
        if (!job->totals[p->devices[i].d].lost)
          of[p->devices[i].d]
              = (HassProfiledTasks){ p->devices[i].codelets[c].n_tasks,
                                     p->devices[i].codelets[c].ns };
    }
  hass_samplers_store_codelets (&job->env, codelets, n, makespan_ns);
}

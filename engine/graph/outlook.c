/* SPDX-License-Identifier: MIT */
/* outlook.c: the optimistic cost table of a recorded graph, from which a
   strategy sees what the place of a task means for the tasks after it.

   H. Arabnejad, J. Barbosa: List Scheduling Algorithm for Heterogeneous Systems
   by an Optimistic Cost Table, IEEE TPDS 25(3), 2014: after the end of task t
   on worker w the graph takes at least

     OCT (t, w) = max over successors s of min over workers v of
                  OCT (s, v) + time of s on v + (v == w ? 0 : copy of t to s).

   The cores are one worker, as for strategies. A copy has the mean time of all
   links, and only what t changes and s uses is copied. The time on cores of a
   codelet that none has computed yet is unknown: then only devices count for
   its tasks, or it counts 0 if no device can compute it.

   The table is made when a strategy asks for the first time, from the tasks
   before which none stands, and anew after the first run of a call, when times
   are known for each device. O(edges * devices), and four bytes for each task
   and worker.

   Thread safety: see place.h. */
#include "place.h"

/* @n_workers: the cores and the devices. @times_ns: [n_codelets][@n_workers].
   @after_ns: [@n_tasks][@n_workers]; a task's row is complete when those of all
   later tasks are. */
typedef struct
{
  HassGraph *graph;
  guint n_workers;
  guint32 n_tasks;
  double *times_ns;
  float *after_ns;
} Outlook;

static void
find_times_locked (Outlook *o)
{
  const HassPlacing *p = o->graph->placing;
  for (guint c = 0; c < o->graph->codelets->len; c++)
    {
      const HassCodeletState *codelet
          = g_ptr_array_index (o->graph->codelets, c);
      double *row = &o->times_ns[c * o->n_workers];
      row[0] = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
      for (guint i = 0; i < p->n_devices; i++)
        row[1 + i] = hass_device_pace_ns (&p->devices[i], codelet);
    }
}

/* Returns: the mean time to copy to a device what task @t changes and @next
   uses. */
static double
copy_ns (const Outlook *o, HassGraphTask *t, HassGraphTask *next)
{
  gsize bytes = 0;
  guint n = 0;
  for (guint i = 0; i < t->n; i++)
    {
      const HassTaskAccess *out = hass_task_access (t, i);
      for (guint k = 0; hass_access_changes (out) && k < next->n; k++)
        {
          const HassTaskAccess *in = hass_task_access (next, k);
          if (hass_access_data (in) != hass_access_data (out)
              || hass_access_mode (in) == HASS_WRITE)
            continue;
          bytes += hass_data_bytes (hass_access_data (in));
          n++;
        }
    }
  return n > 0 ? hass_devices_copy_ns (o->graph, n, bytes) : 0;
}

/* Sets [n_workers] the time from the begin of a task on a worker to the end of
   the graph; G_MAXDOUBLE: the worker does not compute it. Returns: the
   shortest. */
static double
find_paths_locked (const Outlook *o, HassGraphTask *task, double *path_ns)
{
  guint32 able = hass_place_able_locked (o->graph, task);
  const double *times_ns = &o->times_ns[task->codelet->index * o->n_workers];
  const float *after_ns
      = &o->after_ns[(gsize)hass_task_index (o->graph, task) * o->n_workers];
  double least = G_MAXDOUBLE;
  for (guint w = 0; w < o->n_workers; w++)
    {
      gboolean can = w > 0 ? able >> (w - 1) & 1 : times_ns[0] > 0 || able == 0;
      path_ns[w] = can ? times_ns[w] + after_ns[w] : G_MAXDOUBLE;
      least = MIN (least, path_ns[w]);
    }
  return least;
}

static void
set_row_locked (const Outlook *o, guint32 t)
{
  const HassEdges *edges = &o->graph->edges;
  float *after_ns = &o->after_ns[(gsize)t * o->n_workers];
  double path_ns[1 + HASS_MOST_DEVICES];
  for (guint32 i = edges->first[t]; i < edges->first[t + 1]; i++)
    {
      HassGraphTask *next = &o->graph->tasks[edges->next[i]];
      double elsewhere_ns = find_paths_locked (o, next, path_ns)
                            + copy_ns (o, &o->graph->tasks[t], next);
      for (guint w = 0; w < o->n_workers; w++)
        {
          double ns = MIN (path_ns[w], elsewhere_ns);
          after_ns[w] = MAX (after_ns[w], (float)ns);
        }
    }
}

static void
make_table_locked (HassGraph *graph)
{
  Outlook o = { .graph = graph,
                .n_workers = 1 + graph->placing->n_devices,
                .n_tasks = graph->edges.n_tasks };
  g_autofree double *times_ns
      = g_new0 (double, graph->codelets->len *o.n_workers);
  o.times_ns = times_ns;
  o.after_ns = graph->after_ns
      = g_new0 (float, MAX ((gsize)o.n_tasks * o.n_workers, 1));
  find_times_locked (&o);
  for (guint32 t = o.n_tasks; t-- > 0;)
    set_row_locked (&o, t);
}

/* Returns: HassFlowState.after_ns of a task on a worker. */
double
hass_outlook_after_ns_locked (HassGraph *graph, const HassGraphTask *task,
                              gint worker)
{
  gsize n_workers = 1 + graph->placing->n_devices;
  if (!graph->edges.first)
    return 0;
  if (!graph->after_ns)
    make_table_locked (graph);
  return graph->after_ns[hass_task_index (graph, task) * n_workers
                         + (gsize)(worker - HASS_FLOW_CORES)];
}

/* A recorded graph has run: the times of tasks have been measured. The calling
   thread. */
void
hass_outlook_forget (HassGraph *graph)
{
  if (!graph->placing)
    return;
  pthread_mutex_lock (&graph->placing->lock);
  g_clear_pointer (&graph->after_ns, g_free);
  graph->placing->runs_again = TRUE;
  pthread_mutex_unlock (&graph->placing->lock);
}

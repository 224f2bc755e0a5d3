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

/* -- Short codelets ------------------------------------------------------ */

/* Runs of 10 ms and less are not stored. Of these the process remembers the
   codelets that suit at_once.c: for the same codelet and tasks of no more
   bytes, so that what is wrong costs the submitting thread one longer task. */
typedef struct
{
  const HassCodelet *key;
  gsize bytes;    /* of the first task's data */
  guint least_ns; /* of a task */
} Short;

static pthread_mutex_t shorts_lock = PTHREAD_MUTEX_INITIALIZER;
static Short shorts[64]; /* under shorts_lock; by a hash of the key */

static Short *
short_of (const HassCodelet *key)
{
  return &shorts[g_direct_hash (key) / sizeof *key % G_N_ELEMENTS (shorts)];
}

void
hass_codelet_begin (const HassGraph *graph, HassCodeletState *codelet,
                    const HassAccess *accesses, guint n)
{
  codelet->begun = TRUE;
  for (guint i = 0; i < n; i++)
    codelet->bytes += hass_data_bytes (accesses[i].data);
  if (!graph->job || graph->placing || graph->modelled)
    return;
  pthread_mutex_lock (&shorts_lock);
  const Short *known = short_of (codelet->key);
  if (known->key == codelet->key && codelet->bytes <= known->bytes)
    {
      atomic_store_explicit (&codelet->mean_ns, known->least_ns,
                             memory_order_relaxed);
      atomic_store_explicit (&codelet->least_ns, known->least_ns,
                             memory_order_relaxed);
    }
  pthread_mutex_unlock (&shorts_lock);
}

static void
remember (const HassCodeletState *codelet)
{
  pthread_mutex_lock (&shorts_lock);
  Short *known = short_of (codelet->key);
  if (hass_codelet_is_short (codelet))
    *known = (Short){ codelet->key, codelet->bytes,
                      atomic_load_explicit (&codelet->least_ns,
                                            memory_order_relaxed) };
  else if (known->key == codelet->key)
    known->key = NULL;
  pthread_mutex_unlock (&shorts_lock);
}

/* -- The end of a run ---------------------------------------------------- */

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
      remember (codelet);
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

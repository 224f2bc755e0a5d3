/* SPDX-License-Identifier: MIT */
/* run.c: submits a graph to a dry dataflow, or records it and runs the record
   many times, on its machine as the file describes that or as the command line
   has changed it.
   Thread safety: see run.h. */
#include "run.h"

#include <sys/mman.h>

#include "engine/graph/graph.h"
#include "engine/observe/observe.h"
#include "skeletons/normalise-private.h"

/* Highest priority, of the task with the longest path to the end. */
#define HIGHEST 1000000

typedef struct
{
  const SimFlow *flow;
  guint8 *memory; /* reserved, never touched */
  double core_work_per_ns, longest_ns;
  HassCodelet *codelets;
} Run;

/* -- The graph ----------------------------------------------------------- */

/* In a dry run no function is called. */
static gboolean
on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return FALSE;
}

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Run *run = user_data;
  const SimFlow *f = run->flow;
  g_autofree HassData **data = g_new (HassData *, f->sizes->len);
  guint8 *at = run->memory;
  g_autoptr (GArray) accesses = g_array_new (FALSE, FALSE, sizeof (HassAccess));
  gboolean ok = TRUE;
  (void)error;
  for (guint c = 0; c < f->codelets->len; c++)
    {
      HassCodelet codelet = HASS_CODELET (.name = f->codelets->pdata[c],
                                          .cpu = on_core, .gpu = on_gpu);
      run->codelets[c] = codelet;
    }
  for (guint32 d = 0; d < f->sizes->len; d++)
    {
      gsize bytes = g_array_index (f->sizes, gsize, d);
      data[d] = bytes > 0 ? hass_graph_data (graph, at, bytes, 1, 0)
                          : hass_graph_scratch (graph, 0);
      at += bytes;
    }
  for (guint i = 0; ok && i < f->tasks->len; i++)
    {
      const SimFlowTask *t = &g_array_index (f->tasks, SimFlowTask, i);
      HassTaskHints hints
          = { .work = t->core_ns * run->core_work_per_ns,
              .priority = (gint32)(t->urgency / run->longest_ns * HIGHEST) };
      g_array_set_size (accesses, 0);
      for (guint k = t->first; k < t->first + t->n; k++)
        {
          const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, k);
          HassAccess a = { data[u->datum], u->mode };
          g_array_append_val (accesses, a);
        }
      ok = hass_graph_task (graph, &run->codelets[t->codelet],
                            (HassAccess *)accesses->data, t->n, &hints);
    }
  return TRUE;
}

/* -- The run ------------------------------------------------------------- */

/* Nor is a worker called. */
static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

/* As hass_dataflow() or hass_recorded_run(), but on @p itself instead of the
   file that it was read from, and with events. */
static gboolean
run_modelled (const HassDataflow *d, HassGraphRun *of, const HassPlatform *p,
              const SimFlowOptions *o, HassReport **report, GError **error)
{
  HassPlatform machine = *p;
  HassFarm farm = { .name = d->name,
                    .kind = HASS_FARM_DATAFLOW,
                    .cost = HASS_COST_UNKNOWN,
                    .user_data = of,
                    .generate = hass_graph_generate,
                    .cpu_worker = never,
                    .gpu_kind = "cuda",
                    .source = &hass_graph_ops,
                    .pool_loads = 1,
                    .pool_bytes = 1,
                    .round_loads = G_MAXUINT32 - 1,
                    .window = G_MAXUINT32,
                    .run = &d->run,
                    .observe = hass_observe };
  HassVirtualModel model = { .events = o->events, .n_events = o->n_events };
  return hass_farm_check (&farm, "hass-sim --dataflow", error)
         && hass_virtual_run_model (&farm, &machine, &model, report, error);
}

/* Records the graph and runs it. Sets [o->times] the time of each run. */
static gboolean
run_recorded (const HassDataflow *d, const HassPlatform *p,
              const SimFlowOptions *o, SimFlowOutcome *outcome, GError **error)
{
  g_autofree gint64 *ended_ns = g_new0 (gint64, o->times);
  HassGraphRun of = { .build = d->build,
                      .user_data = d->user_data,
                      .times = o->times,
                      .ended_ns = ended_ns };
  of.tape = hass_tape_record (d->name, &of, error);
  if (!of.tape)
    return FALSE;
  gboolean ok = run_modelled (d, &of, p, o, &outcome->report, error)
                && hass_tape_check (of.tape, error);
  hass_tape_free (of.tape);
  outcome->times = o->times;
  outcome->run_ns = g_new (double, o->times);
  for (guint i = 0; i < o->times; i++)
    outcome->run_ns[i] = (double)(ended_ns[i] - (i > 0 ? ended_ns[i - 1] : 0));
  return ok;
}

static gboolean
run_dry (const HassDataflow *given, const HassPlatform *p,
         const SimFlowOptions *o, SimFlowOutcome *outcome, GError **error)
{
  HassDataflow d = *given;
  HassGraphRun of
      = { .build = d.build, .user_data = d.user_data, .window = d.window };
  d.run.trace = o->trace;
  if (o->extra)
    d.run.record = "";
  if (o->times > 0)
    return run_recorded (&d, p, o, outcome, error);
  if (!o->modelled && !o->extra)
    return hass_dataflow (&d, &outcome->report, error);
  return run_modelled (&d, &of, p, o, &outcome->report, error);
}

void
sim_flow_outcome_free (SimFlowOutcome *o)
{
  if (o->report)
    hass_report_free (o->report);
  g_free (o->run_ns);
  g_free (o);
}

double
sim_flow_last_ns (const SimFlowOutcome *o)
{
  return o->times > 0 ? o->run_ns[o->times - 1] : o->report->makespan_s * 1e9;
}

HassReport *
sim_flow_run (SimFlow *f, const HassPlatform *p, guint64 seed, GError **error)
{
  return sim_flow_run_as (f, p, &(SimFlowOptions){ .seed = seed }, error);
}

HassReport *
sim_flow_run_as (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
                 GError **error)
{
  SimFlowOutcome *outcome = sim_flow_run_times (f, p, o, error);
  HassReport *report = NULL;
  if (outcome)
    {
      report = g_steal_pointer (&outcome->report);
      sim_flow_outcome_free (outcome);
    }
  return report;
}

SimFlowOutcome *
sim_flow_run_times (SimFlow *f, const HassPlatform *p, const SimFlowOptions *o,
                    GError **error)
{
  gsize bytes = MAX (sim_flow_bytes (f), 1);
  g_autofree HassCodelet *codelets = g_new0 (HassCodelet, f->codelets->len);
  Run run
      = { .flow = f,
          .core_work_per_ns = p->core_work_per_ns,
          .codelets = codelets,
          .longest_ns = sim_flow_path_ns (f, p),
          .memory = mmap (NULL, bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
  if (run.memory == MAP_FAILED)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "dataflow '%s': no address space for %zu bytes", f->spec,
                   bytes);
      return NULL;
    }
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.name = f->name;
  d.build = build;
  d.user_data = &run;
  d.run.platform = p->path;
  d.run.dry = TRUE;
  d.run.seed = o->seed;
  d.run.strategy = o->strategy;
  SimFlowOutcome *outcome = g_new0 (SimFlowOutcome, 1);
  if (!run_dry (&d, p, o, outcome, error))
    {
      g_prefix_error (error, "%s: ", f->spec);
      g_clear_pointer (&outcome, sim_flow_outcome_free);
    }
  munmap (run.memory, bytes);
  return outcome;
}

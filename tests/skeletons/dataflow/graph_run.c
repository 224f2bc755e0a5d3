/* SPDX-License-Identifier: MIT */
/* graph_run.c: see graph_run.h.

   DESIGN. The data of a run lie in `got`. Only when the build callback waits,
   and at the end, the sequential program is computed that far, in `want`, so
   that tasks are submitted fast. Codelets count in n_wrong what they must not
   get, since they run on other threads.

   Thread safety: see graph_run.h. */
#include "graph_run.h"

#include <stdatomic.h>

#include "engine/graph/graph-private.h"
#include "tests/engine/stand_in_data.h"

/* @next: step of the sequential program. @wrong: what was wrong first. */
typedef struct
{
  const GraphPlan *plan;
  GraphPlanState want, got;
  guint next;
  char *wrong;
  HassData *data[PLAN_MOST_DATA]; /* NULL: forgotten */
  const GPtrArray *codelets;      /* of the graph, if @paces; else NULL */
  gboolean recorded;
  _Atomic guint n_wrong;
} Run;

static void
note (Run *r, char *wrong)
{
  if (r->wrong)
    g_free (wrong);
  else
    r->wrong = wrong;
}

/* Has all codelets so far seem to take 1 ns or 1 ms. */
static void
set_pace (const Run *r, guint32 salt)
{
  for (guint c = 0; r->codelets && c < r->codelets->len; c++)
    {
      HassCodeletState *codelet = g_ptr_array_index (r->codelets, c);
      guint ns = salt >> 4 & 3 ? 1 : 1000000;
      atomic_store (&codelet->mean_ns, ns);
      atomic_store (&codelet->least_ns, ns);
    }
}

/* -- Codelets ----------------------------------------------------------- */

/* Counts views that are not as they should be. */
static void
check_call (const HassCall *call)
{
  Run *r = call->user_data;
  const GraphPlanArguments *a = call->arguments;
  guint n_wrong = call->n_views != a->n;
  for (guint i = 0; i < MIN (call->n_views, a->n); i++)
    {
      const HassDataView *v = &call->views[i];
      const GraphPlanShape *s = &r->plan->shapes[a->data[i]];
      n_wrong += v->rows != s->rows || v->row_bytes != s->row_bytes
                 || (v->rows == 0) != (v->data == NULL);
    }
  if (n_wrong > 0)
    atomic_fetch_add (&r->n_wrong, n_wrong);
  if (r->recorded)
    set_pace (r, a->salt);
}

static gboolean
fail (GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
  return FALSE;
}

static gboolean
compute (const HassCall *call, HassWorker *worker, GError **error)
{
  const GraphPlanArguments *a = call->arguments;
  (void)worker;
  check_call (call);
  for (guint i = 0; a->spins && i < a->salt % 1000; i++)
    __asm__ volatile("");
  if (a->fails)
    return fail (error);
  graph_plan_act (a, call->views);
  return TRUE;
}

static void
kernel (const HassCall *call)
{
  check_call (call);
  graph_plan_act (call->arguments, call->views);
}

/* A call with tasks that fail has launched the kernels of some. */
static gboolean
enqueue (const HassCall *calls, guint n_calls, HassGpuStream *stream,
         GError **error)
{
  for (guint i = 0; i < n_calls; i++)
    {
      const GraphPlanArguments *a = calls[i].arguments;
      if (a->fails)
        return fail (error);
      stand_in_data_launch (stream, kernel, &calls[i], sizeof *a);
    }
  return TRUE;
}

/* Counts calls of more tasks, or fewer, than the codelet may get. */
static void
check_number (const HassCall *calls, guint n_calls, guint most)
{
  Run *r = calls[0].user_data;
  if (n_calls == 0 || n_calls > most)
    atomic_fetch_add (&r->n_wrong, 1);
}

static gboolean
enqueue_one (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  check_number (calls, n_calls, 1);
  return enqueue (calls, n_calls, stream, error);
}

static gboolean
enqueue_bundle (const HassCall *calls, guint n_calls, HassGpuStream *stream,
                GError **error)
{
  check_number (calls, n_calls, PLAN_BUNDLE);
  return enqueue (calls, n_calls, stream, error);
}

static const HassCodelet codelets[PLAN_N_CODELETS]
    = { [PLAN_CPU] = HASS_CODELET (.name = "mix", .cpu = compute),
        [PLAN_BOTH]
        = HASS_CODELET (.name = "both", .cpu = compute, .gpu = enqueue_one),
        [PLAN_BOTH_BUNDLED]
        = HASS_CODELET (.name = "both bundled", .cpu = compute,
                        .gpu = enqueue_bundle, .gpu_most = PLAN_BUNDLE),
        [PLAN_GPU_ALONE]
        = HASS_CODELET (.name = "alone", .gpu = enqueue_one, .gpu_most = 1),
        [PLAN_GPU_BUNDLED]
        = HASS_CODELET (.name = "alone bundled", .gpu = enqueue_bundle,
                        .gpu_most = PLAN_BUNDLE) };

static void
copy (const HassCall *call)
{
  memcpy (call->views[1].data, call->views[0].data, call->views[0].row_bytes);
}

static gboolean
copy_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  copy (call);
  return TRUE;
}

static gboolean
copy_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, copy, &calls[i], 0);
  return TRUE;
}

static const HassCodelet copiers[PLAN_N_CODELETS]
    = { [PLAN_CPU] = HASS_CODELET (.name = "copy", .cpu = copy_on_core),
        [PLAN_BOTH] = HASS_CODELET (.name = "both copy", .cpu = copy_on_core,
                                    .gpu = copy_on_gpu),
        [PLAN_BOTH_BUNDLED]
        = HASS_CODELET (.name = "both copy bundles", .cpu = copy_on_core,
                        .gpu = copy_on_gpu, .gpu_most = 2),
        [PLAN_GPU_ALONE]
        = HASS_CODELET (.name = "alone copies", .gpu = copy_on_gpu),
        [PLAN_GPU_BUNDLED] = HASS_CODELET (.name = "alone copies bundles",
                                           .gpu = copy_on_gpu, .gpu_most = 2) };

/* -- Building ----------------------------------------------------------- */

static void
make_datum (Run *r, HassGraph *graph, guint d)
{
  HassDataView v = graph_plan_view (r->plan, d, r->got.memory);
  r->data[d] = d < r->plan->n_scratch
                   ? hass_graph_scratch (graph, v.row_bytes)
                   : hass_graph_data (graph, v.data, v.row_bytes, v.rows,
                                      v.rows > 1 ? v.pitch : 0);
  if (r->data[d])
    hass_graph_reduction (graph, r->data[d], NULL, graph_plan_merge, NULL);
}

static gboolean
submit (Run *r, HassGraph *graph, const GraphPlanStep *step)
{
  const GraphPlanArguments *a = &step->arguments;
  HassAccess accesses[PLAN_MOST_ACCESSES];
  HassTaskHints hints = { a, sizeof *a, step->priority, 0 };
  for (guint i = 0; i < a->n; i++)
    accesses[i]
        = (HassAccess){ r->data[a->data[i]], (HassAccessMode)a->modes[i] };
  set_pace (r, a->salt);
  return hass_graph_task (graph, &codelets[step->codelet], accesses, a->n,
                          &hints);
}

/* Copies a scratch datum to where it lies in the sequential program. */
static gboolean
submit_copy (Run *r, HassGraph *graph, const GraphPlanStep *step)
{
  HassDataView v = graph_plan_view (r->plan, step->on, r->got.memory);
  HassData *to = hass_graph_data (graph, v.data, v.row_bytes, 1, 0);
  HassAccess accesses[]
      = { { r->data[step->on], HASS_READ }, { to, HASS_WRITE } };
  if (!to
      || !hass_graph_task (graph, &copiers[step->codelet], accesses, 2, NULL))
    return FALSE;
  hass_graph_forget (graph, r->data[step->on]);
  hass_graph_forget (graph, to);
  return TRUE;
}

/* The sequential program computes what comes before step @s. */
static void
catch_up (Run *r, guint s)
{
  for (; r->next < s; r->next++)
    graph_plan_step (r->plan, r->next, &r->want);
}

/* Waits, compares, and does what the step does to its datum. */
static gboolean
wait_at (Run *r, HassGraph *graph, guint s)
{
  const GraphPlan *p = r->plan;
  const GraphPlanStep *step = &p->steps[s];
  guint d = step->on;
  gboolean all = step->kind == PLAN_WAIT_ALL;
  gboolean ok = hass_graph_wait (graph, all ? NULL : r->data[d]);
  catch_up (r, s);
  gboolean invalid = r->want.invalid[d];
  if (ok != (all || !invalid))
    {
      note (r, g_strdup_printf ("waiting at step %u returned %d", s, ok));
      return FALSE;
    }
  for (guint k = p->n_scratch; k < p->n_data; k++)
    if (all ? r->data[k] != NULL : k == d)
      note (r, graph_plan_compare (p, k, &r->want, r->got.memory));
  catch_up (r, s + 1);
  if ((step->kind == PLAN_TOUCH && !invalid)
      || (step->kind == PLAN_AGAIN && invalid))
    graph_plan_write (p, s, r->got.memory);
  return TRUE;
}

/* Returns: FALSE if the dataflow ends, or is wrong. */
static gboolean
do_step (Run *r, HassGraph *graph, guint s)
{
  const GraphPlanStep *step = &r->plan->steps[s];
  if (step->kind == PLAN_TASK)
    return submit (r, graph, step);
  if (step->kind == PLAN_COPY)
    return submit_copy (r, graph, step);
  gboolean again = step->kind == PLAN_AGAIN;
  if (step->kind != PLAN_FORGET && (!again || step->on >= r->plan->n_scratch)
      && !wait_at (r, graph, s))
    return FALSE;
  if (step->kind != PLAN_FORGET && !again)
    return TRUE;
  hass_graph_forget (graph, r->data[step->on]);
  r->data[step->on] = NULL;
  if (again)
    make_datum (r, graph, step->on);
  return !again || r->data[step->on];
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Run *r = user_data;
  (void)error;
  if (r->codelets)
    r->codelets = graph->codelets;
  for (guint d = 0; d < r->plan->n_data; d++)
    make_datum (r, graph, d);
  for (guint s = 0; s < r->plan->n_steps; s++)
    if (!do_step (r, graph, s))
      break;
  return TRUE;
}

/* -- Running ------------------------------------------------------------ */

static HassDataflow
begin (Run *r, const GraphPlan *plan, const GraphSettings *settings)
{
  HassDataflow d = HASS_DATAFLOW_INIT;
  static const GPtrArray none;
  *r = (Run){ .plan = plan, .codelets = settings->paces ? &none : NULL };
  graph_plan_state_init (&r->want, plan);
  graph_plan_state_init (&r->got, plan);
  d.name = "plan";
  d.user_data = r;
  d.build = build;
  d.window = settings->window;
  d.run.n_cores = settings->n_cores;
  d.run.on_error = HASS_ON_ERROR_CONTINUE;
  d.run.devices = settings->devices;
  d.run.n_devices = settings->n_devices;
  d.run.n_gpus = -1;
  d.run.platform = settings->platform;
  d.run.strategy = settings->strategy;
  d.run.bundle_deadline_ms = settings->bundle_deadline_ms;
  return d;
}

static char *
end (Run *r)
{
  if (atomic_load (&r->n_wrong) > 0)
    note (r, g_strdup_printf ("%u calls or views of tasks were wrong",
                              atomic_load (&r->n_wrong)));
  graph_plan_state_clear (&r->want);
  graph_plan_state_clear (&r->got);
  return r->wrong;
}

/* Each task is counted once, as computed or as unfinished. */
static void
check_report (Run *r, const HassReport *report)
{
  guint64 unfinished = 0, n_tasks = 0;
  for (guint i = 0; report && i < report->n_unfinished; i++)
    unfinished += report->unfinished[i].n_loads;
  for (guint s = 0; s < r->plan->n_steps; s++)
    n_tasks += r->plan->steps[s].kind <= PLAN_COPY;
  if (!report || unfinished != r->want.n_failed
      || report->loads + unfinished != n_tasks)
    note (r, g_strdup_printf (
                 "of %" G_GUINT64_FORMAT " tasks %" G_GUINT64_FORMAT
                 " are computed and %" G_GUINT64_FORMAT " unfinished, not %u",
                 n_tasks, report ? report->loads : 0, unfinished,
                 r->want.n_failed));
}

/* Takes over @error. */
static void
check_end (Run *r, gboolean ok, GError *error)
{
  if (!ok)
    note (r, g_strdup_printf ("it failed: %s",
                              error ? error->message : "without an error"));
  else if (error)
    note (r, g_strdup_printf ("it did not fail, but: %s", error->message));
  g_clear_error (&error);
}

char *
graph_run (const GraphPlan *plan, const GraphSettings *settings)
{
  Run r;
  GError *error = NULL;
  g_autoptr (HassReport) report = NULL;
  HassDataflow d = begin (&r, plan, settings);
  gboolean ok = hass_dataflow (&d, &report, &error);
  check_end (&r, ok, error);
  if (!r.wrong)
    {
      catch_up (&r, plan->n_steps);
      note (&r, graph_plan_compare_all (plan, FALSE, &r.want, r.got.memory));
      check_report (&r, report);
    }
  return end (&r);
}

static void
run_times (Run *r, HassRecorded *recorded, guint64 times)
{
  GError *error = NULL;
  gboolean ok = hass_recorded_run (recorded, times, NULL, NULL, &error);
  check_end (r, ok, error);
}

char *
graph_run_recorded (const GraphPlan *plan, const GraphSettings *settings)
{
  Run r;
  GraphPlanState other;
  GError *error = NULL;
  HassDataflow d = begin (&r, plan, settings);
  graph_plan_state_init (&other, plan);
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (&d, &error);
  check_end (&r, recorded != NULL, error);
  r.recorded = settings->paces;
  for (guint i = 0; i < 3; i++, r.next = 0)
    catch_up (&r, plan->n_steps);
  if (recorded)
    {
      run_times (&r, recorded, 2);
      run_times (&r, recorded, 1);
      note (&r, graph_plan_compare_all (plan, FALSE, &r.want, r.got.memory));
      for (guint k = plan->n_scratch; k < plan->n_data; k++)
        hass_recorded_bind (recorded, r.data[k],
                            graph_plan_view (plan, k, other.memory).data);
      for (guint i = 0; i < 3; i++)
        run_times (&r, recorded, 0);
      note (&r, graph_plan_compare_all (plan, TRUE, &r.want, other.memory));
    }
  graph_plan_state_clear (&other);
  return end (&r);
}

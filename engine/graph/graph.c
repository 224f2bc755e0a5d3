/* SPDX-License-Identifier: MIT */
/* graph.c: sets a dataflow up, builds or replays its graph, and ends it. The
   DESIGN paragraph is in graph.h.
   Thread safety: the thread that called the dataflow, when no other works for
   it, except where stated. */
#include "overlap.h"
#include "place.h"
#include "tape.h"

#include "engine/profile/sampler.h"
#include "pool/callback_error.h"
#include "pool/fence.h"

/* Most tasks in flight if the user gives no bound. A guess: fewer, and the
   submitting thread waits for old tasks; more, and the tasks do not fit into a
   core's cache. */
#define WINDOW 16384

/* -- Set-up ------------------------------------------------------------- */

static void
clear_codelet (gpointer p)
{
  HassCodeletState *codelet = p;
  g_free (codelet->name);
  g_aligned_free (codelet);
}

static void
clear_failure (gpointer p)
{
  g_free (((HassTaskFailure *)p)->message);
}

static void
set_up_workers (HassGraph *graph, guint n_workers)
{
  graph->n_workers = n_workers;
  graph->workers
      = g_aligned_alloc0 (n_workers, sizeof *graph->workers, HASS_CACHE_LINE);
  for (guint w = 0; w < n_workers; w++)
    {
      HassGraphWorker *worker = &graph->workers[w];
      worker->passed = g_new0 (guint64, graph->n_queues);
      worker->views = g_array_new (FALSE, FALSE, sizeof (HassDataView));
      worker->codelets = g_new0 (HassCodeletCount, HASS_MOST_CODELETS);
    }
}

/* A graph that has ended stays readable, so that its later use is found: see
   handles.c. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static HassGraph *kept; /* under kept_lock */

static HassGraph *
take_graph (void)
{
  pthread_mutex_lock (&kept_lock);
  HassGraph *graph = kept;
  if (graph)
    kept = graph->next;
  pthread_mutex_unlock (&kept_lock);
  if (!graph)
    return g_aligned_alloc0 (1, sizeof *graph, HASS_CACHE_LINE);
  graph->next = NULL;
  return graph;
}

static void
keep_graph (HassGraph *graph)
{
  memset (graph, 0, sizeof *graph);
  pthread_mutex_lock (&kept_lock);
  graph->next = kept;
  kept = graph;
  pthread_mutex_unlock (&kept_lock);
}

/* Makes a graph without tasks. @window: most tasks in flight; 0: chosen. */
static HassGraph *
new_graph (const char *name, const HassGraphRun *run, gsize window)
{
  HassGraph *graph = take_graph ();
  graph->name = name;
  graph->run = run;
  graph->owner = pthread_self ();
  graph->most = 2;
  while (graph->most < (window > 0 ? window : WINDOW)
         && graph->most < HASS_MOST_WINDOW)
    graph->most *= 2;
  graph->mask = (guint32)(graph->most - 1);
  graph->heap = g_array_new (FALSE, FALSE, sizeof (HassRanked));
  graph->failures = g_array_new (FALSE, FALSE, sizeof (HassTaskFailure));
  g_array_set_clear_func (graph->failures, clear_failure);
  graph->internal = g_array_new (FALSE, FALSE, sizeof (guint64));
  graph->forgotten = g_ptr_array_new ();
  graph->sweep_at = 64;
  pthread_mutex_init (&graph->commute, NULL);
  hass_short_lock_init (&graph->lock);
  return graph;
}

/* Makes what a graph that is built has, and one that is replayed gets. */
static void
make_contents (HassGraph *graph)
{
  graph->data = g_ptr_array_new_with_free_func (hass_data_free);
  graph->codelets = g_ptr_array_new_with_free_func (clear_codelet);
  graph->by_key = g_hash_table_new (NULL, NULL);
}

/* Makes what grows with the window: the tasks, unless a recording lends them,
   and the workers' queues. Returns: FALSE with an error if there is no memory.
 */
static gboolean
make_window (HassGraph *graph, GError **error)
{
  gsize most = graph->most, bytes = 0;
  gboolean ok = TRUE;
  if (!graph->tasks)
    {
      bytes = most * sizeof *graph->tasks;
      ok = posix_memalign ((gpointer *)&graph->tasks, HASS_TASK_BYTES, bytes)
           == 0;
      if (!ok)
        graph->tasks = NULL;
      if (!graph->job || graph->modelled)
        {
          graph->work = g_try_new (double, most);
          ok &= graph->work != NULL;
          bytes += most * sizeof *graph->work;
        }
    }
  for (guint w = 0; w < graph->n_workers; w++)
    {
      ok &= hass_task_queue_init (&graph->workers[w].queue, most);
      bytes += most * sizeof *graph->workers[w].queue.entries;
    }
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                 "dataflow '%s': there is no memory for the %zu bytes of %zu "
                 "tasks in flight; a smaller window needs less",
                 graph->name, bytes, most);
  return ok;
}

static void
free_contents (HassGraph *graph)
{
  guint64 n = graph->allocates ? MIN (graph->n_submitted, graph->most) : 0;
  for (guint64 t = 0; t < n; t++)
    hass_task_clear (&graph->tasks[t]);
  hass_occupied_clear (&graph->occupied);
  g_ptr_array_unref (graph->data);
  g_hash_table_unref (graph->by_key);
  g_ptr_array_unref (graph->codelets);
  free (graph->tasks);
  g_free (graph->work);
}

static void
graph_free (HassGraph *graph)
{
  for (guint w = 0; w < graph->n_workers; w++)
    {
      HassGraphWorker *worker = &graph->workers[w];
      g_free (worker->queue.entries);
      g_free (worker->passed);
      g_array_unref (worker->views);
      g_free (worker->codelets);
    }
  g_aligned_free (graph->workers);
  for (guint i = 0; i < graph->data->len; i++)
    {
      HassData *data = g_ptr_array_index (graph->data, i);
      hass_data_drop_copies (data, graph->n_workers);
      hass_data_drop_places (data);
    }
  if (!graph->edges.first)
    free_contents (graph);
  hass_placing_free (graph);
  g_free (graph->lasts);
  g_free (graph->after_ns);
  if (graph->pairs)
    g_array_unref (graph->pairs);
  g_array_unref (graph->heap);
  g_array_unref (graph->failures);
  g_array_unref (graph->internal);
  g_ptr_array_unref (graph->forgotten);
  pthread_mutex_destroy (&graph->commute);
  pthread_mutex_destroy (&graph->lock);
  g_clear_error (&graph->error);
  keep_graph (graph);
}

static gboolean
graph_create (HassJob *job, GError **error)
{
  const HassGraphRun *run = job->farm->user_data;
  if (job->cpu < 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                   "dataflow '%s': it needs cores, and the machine has none or "
                   "its CPU pool is switched off",
                   job->farm->name);
      return FALSE;
    }
  HassGraph *graph
      = new_graph (job->farm->name, run,
                   run->tape ? hass_tape_length (run->tape) : run->window);
  graph->job = job;
  graph->modelled = !job->engine->real_time;
  graph->n_queues = job->n_cores;
  graph->recalls
      = job->engine->real_time && hass_profile_has_codelets (&job->env);
  if (run->tape)
    {
      hass_tape_lend (run->tape, graph);
      hass_graph_recall_all (graph);
    }
  else
    {
      make_contents (graph);
      hass_placing_new (graph);
    }
  set_up_workers (graph, job->n_workers);
  if (!make_window (graph, error))
    {
      graph_free (graph);
      return FALSE;
    }
  hass_graph_listen (graph);
  job->flow = graph;
  return TRUE;
}

/* -- Building ----------------------------------------------------------- */

static void
build (HassGraph *graph, const HassGraphRun *run, GError **error)
{
  graph->owner = pthread_self ();
  graph->building = TRUE;
  gboolean ok = run->build (graph, run->user_data, error);
  hass_callback_ok (ok, error, HASS_ERROR_GENERATOR);
  if (!*error)
    hass_graph_merge_all (graph);
  else
    g_prefix_error (error,
                    "dataflow '%s': build failed after %" G_GUINT64_FORMAT
                    " tasks: ",
                    graph->name, hass_graph_number (graph, graph->n_submitted));
  graph->building = FALSE;
}

gboolean
hass_graph_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const HassGraphRun *run = data;
  HassJob *job = emitter->job;
  HassGraph *graph = job->flow;
  GError *failure = NULL;
  (void)error;
  graph->emitter = emitter;
  graph->owner = pthread_self ();
  if (run->tape)
    hass_tape_play (run->tape, graph);
  else
    {
      HassCallback before
          = hass_engine_enter_callback ("build callback", job, NULL);
      build (graph, run, &failure);
      hass_engine_leave_callback (before);
    }
  graph->building = FALSE;
  if (failure)
    hass_job_stop (job, failure);
  return TRUE;
}

static void
refuse_recording (gpointer graph, const char *why)
{
  hass_graph_refuse (graph, HASS_ERROR_MISUSE, "%s", why);
}

HassTape *
hass_tape_record (const char *name, const HassGraphRun *run, GError **error)
{
  HassGraph *graph = new_graph (name, run, 0);
  const HassRecording recording
      = { .name = name, .refuse = refuse_recording, .graph = graph };
  GError *failure = NULL;
  make_contents (graph);
  if (!make_window (graph, error))
    {
      graph_free (graph);
      return NULL;
    }
  graph->pairs = g_array_new (FALSE, FALSE, sizeof (guint64));
  HassCallback before = hass_engine_enter_recording (&recording);
  build (graph, run, &failure);
  hass_engine_leave_callback (before);
  if (graph->error || failure)
    {
      g_propagate_error (error, graph->error ? g_steal_pointer (&graph->error)
                                             : g_steal_pointer (&failure));
      g_clear_error (&failure);
      graph_free (graph);
      return NULL;
    }
  return hass_tape_new (graph);
}

void
hass_tape_free (HassTape *tape)
{
  HassGraph *graph = hass_tape_take_apart (tape);
  graph_free (graph);
}

/* -- The end ------------------------------------------------------------ */

static void
graph_clear (HassJob *job)
{
  graph_free (job->flow);
}

static gboolean
graph_is_idle (HassJob *job)
{
  return hass_graph_drained (job->flow);
}

static gboolean
graph_has_work (HassJob *job, gboolean caller, guint others)
{
  (void)others;
  gboolean any = hass_graph_any (job->flow);
  if (caller && !any)
    hass_graph_look_left (job->flow);
  return any;
}

const HassSourceOps hass_graph_ops = { .create = graph_create,
                                       .finish = hass_graph_finish,
                                       .store = hass_graph_store,
                                       .report = hass_graph_report,
                                       .rest = hass_graph_rest,
                                       .progress = hass_graph_progress,
                                       .free = graph_clear,
                                       .idle = graph_is_idle,
                                       .lost = hass_graph_lost,
                                       .wants = hass_graph_wants,
                                       .serve = hass_graph_serve,
                                       .work = hass_graph_work,
                                       .has_work = graph_has_work,
                                       .again_ns = hass_place_again_ns,
                                       .has_room = hass_graph_has_room };

/* SPDX-License-Identifier: MIT */
/* run.c: how a core computes tasks: step 4 of the DESIGN paragraph in graph.h.
   Thread safety: each worker context by the thread that has its seat. */
#include "place.h"
#include "pool/callback_error.h"

/* How long a core computes before it looks whether it should do something else,
   in ns. A guess: longer, and the calling thread notices late that it need not
   wait any more; shorter, and the engine is asked often. */
#define SLICE_NS 20000
/* At most so many tasks are not measured in a row. A guess: fewer, and looking
   at the clock costs more than short tasks; more, and the mean follows changes
   slowly. */
#define MEASURED 64
/* So many first tasks of a codelet on a core are: those after a first one,
   which finds nothing in the caches, show what tasks take. */
#define MEASURED_FIRST 8
/* The first one is not longer than known because it takes less than this: it
   finds nothing in the caches. A guess: hundreds of memory accesses. */
#define COLD_NS 5000
/* Views on the stack. */
#define FEW_VIEWS 8

/* -- Data of COMMUTE accesses ------------------------------------------- */

/* Frees a datum for the next task that waits for it. @last: 0, or what
   HassGraph.lasts gets for this task. */
static void
unlock (HassGraph *graph, guint worker, HassData *data, guint64 last,
        HassHand *hand)
{
  data->busy = FALSE;
  if (g_queue_is_empty (data->parked))
    return;
  guint32 next = GPOINTER_TO_UINT (g_queue_pop_head (data->parked));
  if (last > 0)
    graph->lasts[next] = last;
  hass_task_to_cores (graph, worker, &graph->tasks[next]);
  hand->n_given++;
}

/* Takes the data that a task accesses by COMMUTE, all or none. Returns: FALSE
   if another task uses one; then the task waits for that one's end. */
static gboolean
lock_data (HassGraph *graph, guint worker, HassGraphTask *task, HassHand *hand)
{
  gboolean ok = TRUE;
  pthread_mutex_lock (&graph->commute);
  for (guint i = 0; i < task->n && ok; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      HassData *data = hass_access_data (a);
      if (hass_access_mode (a) != HASS_COMMUTE)
        continue;
      ok = !data->busy;
      if (!ok)
        g_queue_push_tail (data->parked,
                           GUINT_TO_POINTER (hass_task_index (graph, task)));
      data->busy = TRUE;
      for (guint k = 0; k < i && !ok; k++)
        if (hass_access_mode (hass_task_access (task, k)) == HASS_COMMUTE)
          unlock (graph, worker, hass_access_data (hass_task_access (task, k)),
                  0, hand);
    }
  pthread_mutex_unlock (&graph->commute);
  return ok;
}

static void
unlock_data (HassGraph *graph, guint worker, HassGraphTask *task,
             HassHand *hand)
{
  guint64 last = hass_task_as_last (graph, task);
  pthread_mutex_lock (&graph->commute);
  for (guint i = 0; i < task->n; i++)
    if (hass_access_mode (hass_task_access (task, i)) == HASS_COMMUTE)
      unlock (graph, worker, hass_access_data (hass_task_access (task, i)),
              last, hand);
  pthread_mutex_unlock (&graph->commute);
}

/* -- Views -------------------------------------------------------------- */

static gsize
bytes_of (const HassDataView *v)
{
  return v->rows * v->row_bytes;
}

/* Returns: FALSE if there is no memory for a worker's private copy. */
static gboolean
private_view (HassData *data, guint worker, HassDataView *view)
{
  view->pitch = view->row_bytes;
  view->data = data->copies[worker];
  if (view->data || bytes_of (view) == 0)
    return TRUE;
  if (posix_memalign (&view->data, 64, (bytes_of (view) + 63) & ~(gsize)63)
      != 0)
    return FALSE;
  data->copies[worker] = view->data;
  if (data->init)
    data->init (view, data->merge_data);
  else
    memset (view->data, 0, bytes_of (view));
  return TRUE;
}

/* Frees what tasks have reduced into and was not merged. */
void
hass_data_free_copies (HassData *data, guint n_workers)
{
  for (guint w = 0; data->copies && w < n_workers; w++)
    g_clear_pointer (&data->copies[w], free);
}

/* Merges the private copies of a datum into it. */
static void
merge_copies (HassGraph *graph, HassData *data)
{
  for (guint w = 0; data->copies && w < graph->n_workers; w++)
    {
      HassDataView copy = data->view;
      copy.pitch = copy.row_bytes;
      copy.data = data->copies[w];
      if (!copy.data)
        continue;
      data->merge (&data->view, &copy, data->merge_data);
      free (copy.data);
      data->copies[w] = NULL;
    }
}

/* -- 4. Running --------------------------------------------------------- */

/* Calls the codelet of a task. Returns: 0, or 1 + the index of its failure. */
static guint
call (HassGraph *graph, HassWorker *worker, HassGraphTask *task)
{
  HassGraphWorker *w = &graph->workers[worker->index];
  HassDataView few[FEW_VIEWS], *views = few;
  GError *error = NULL;
  gboolean ok = TRUE;
  if (G_UNLIKELY (!task->codelet->public.cpu))
    return hass_task_note_failure (graph, task,
                                   hass_place_why_nowhere (graph, task));
  if (G_UNLIKELY (graph->job->dry))
    return 0;
  if (G_UNLIKELY (task->n > FEW_VIEWS))
    {
      g_array_set_size (w->views, task->n);
      views = (HassDataView *)(gpointer)w->views->data;
    }
  for (guint i = 0; i < task->n; i++)
    {
      const HassTaskAccess *a = hass_task_access (task, i);
      views[i] = hass_access_data (a)->view;
      if (G_UNLIKELY (hass_access_mode (a) == HASS_REDUCE))
        ok &= private_view (hass_access_data (a), worker->index, &views[i]);
    }
  HassCall of = { .views = views,
                  .n_views = task->n,
                  .arguments = hass_task_arguments (task),
                  .user_data = task->codelet->public.user_data };
  if (G_LIKELY (ok))
    ok = task->codelet->public.cpu (&of, worker, &error);
  else
    g_set_error (&error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                 "there is no memory for a private copy of a datum");
  if (G_LIKELY (ok && !error))
    return 0;
  hass_callback_ok (ok, &error, HASS_ERROR_WORKER);
  return hass_task_note_failure (graph, task, error);
}

/* Returns: FALSE if a task waits for a datum that another COMMUTE task uses. */
static inline gboolean
may_begin (HassGraph *graph, guint worker, HassGraphTask *task, HassHand *hand)
{
  return G_LIKELY (!(task->flags & HASS_TASK_LOCKS))
         || lock_data (graph, worker, task, hand);
}

/* Computes one task that may begin, and ends it. @end_ns: (nullable): when it
   was computed; those that waited for it begin later. Returns: FALSE if it was
   not computed, as a task before it has failed. */
static gboolean
run_task (HassGraph *graph, HassWorker *worker, HassGraphTask *task,
          HassHand *hand, gint64 *end_ns)
{
  HassGraphWorker *w = &graph->workers[worker->index];
  guint cause = 0;
  gboolean computed = TRUE;
  if (G_UNLIKELY (
          atomic_load_explicit (&graph->n_failures, memory_order_relaxed) > 0)
      && (cause = hass_task_is_poisoned (task)) > 0)
    {
      if (!(task->flags & HASS_TASK_INTERNAL))
        hass_task_note_poisoned (graph, task, cause);
      else if (task->flags & HASS_TASK_REDUCES)
        hass_data_free_copies (hass_access_data (&task->accesses[0]),
                               graph->n_workers);
      computed = FALSE;
    }
  else if (G_UNLIKELY (task->flags & HASS_TASK_INTERNAL))
    {
      if (task->flags & HASS_TASK_REDUCES)
        merge_copies (graph, hass_access_data (&task->accesses[0]));
    }
  else
    {
      cause = call (graph, worker, task);
      w->n_computed += cause == 0;
      w->codelets[task->codelet->index].n++;
    }
  if (end_ns)
    *end_ns = graph->job->engine->now (graph->job);
  if (G_UNLIKELY (
          atomic_load_explicit (&graph->n_failures, memory_order_relaxed) > 0))
    hass_task_mark (task, cause);
  if (G_UNLIKELY (task->flags & HASS_TASK_LOCKS))
    unlock_data (graph, worker->index, task, hand);
  if (G_UNLIKELY (graph->placing != NULL))
    hass_place_written (
        graph, worker->index, task,
        computed && task->codelet->public.cpu
            && (task->flags & (HASS_TASK_INTERNAL | HASS_TASK_REDUCES))
                   != HASS_TASK_INTERNAL);
  hass_task_end_accesses (graph, worker->index, task, hand);
  w->n_unsaid++;
  return computed;
}

/* @submits: the worker is the submitting thread's. */
static void
learn (HassGraphWorker *w, gboolean submits, HassCodeletState *codelet,
       gint64 ns)
{
  HassCodeletCount *count = &w->codelets[codelet->index];
  guint mean = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  guint one = (guint)CLAMP (ns, 1, G_MAXINT32);
  count->measured++;
  count->ns += ns;
  guint next = hass_recent_mean (mean, one);
  if (count->measured == 1 && mean > 0 && one < COLD_NS)
    next = MIN (next, mean);
  /* All cores read these, so they are written only if they are news. */
  if (ABS ((gint64)next - mean) > mean / 8)
    atomic_store_explicit (&codelet->mean_ns, next, memory_order_relaxed);
  guint least = atomic_load_explicit (&codelet->least_ns, memory_order_relaxed);
  if (least == 0 || one < least - least / 8)
    atomic_store_explicit (&codelet->least_ns, one, memory_order_relaxed);
  else if (submits && one / 2 > least)
    atomic_store_explicit (&codelet->least_ns, least + least / 8 + 1,
                           memory_order_relaxed);
}

/* Computes a task that has begun at @begin, and learns how long it took.
   Returns: when it was computed. */
static gint64
run_and_learn (HassGraph *graph, HassWorker *worker, HassGraphTask *task,
               HassHand *hand, gint64 begin)
{
  HassCodeletState *codelet = task->codelet;
  /* The slot may be used again when the task has ended. */
  HassComputed fact
      = { .task = graph->tells_computed ? hass_task_number (graph, task) : 0,
          .after
          = graph->lasts ? graph->lasts[hass_task_index (graph, task)] : 0,
          .codelet = codelet->name,
          .device = (guint)graph->job->cpu,
          .worker = worker->index,
          .begin_ns = begin,
          .end_ns = begin };
  gboolean computed = run_task (graph, worker, task, hand, &fact.end_ns);
  if (computed)
    learn (&graph->workers[worker->index], worker->index == 0, codelet,
           fact.end_ns - begin);
  if (G_UNLIKELY (graph->tells_computed) && computed)
    hass_graph_tell_computed (graph, &fact);
  return fact.end_ns;
}

gint64
hass_task_run_measured (HassGraph *graph, HassWorker *worker,
                        HassGraphTask *task, HassHand *hand, gint64 now)
{
  HassGraphWorker *w = &graph->workers[worker->index];
  guint mean
      = atomic_load_explicit (&task->codelet->mean_ns, memory_order_relaxed);
  w->until_look_ns -= MAX (mean, SLICE_NS / MEASURED);
  if (w->until_look_ns > 0
      && w->codelets[task->codelet->index].measured >= MEASURED_FIRST)
    {
      run_task (graph, worker, task, hand, NULL);
      return 0;
    }
  w->until_look_ns = graph->tells_computed ? 0 : SLICE_NS;
  return run_and_learn (graph, worker, task, hand,
                        now > 0 ? now : graph->job->engine->now (graph->job));
}

/* Tells sleeping threads of tasks that they can take, and the calling thread of
   what it waits for. A thread that falls asleep at this moment may be missed;
   the next task, or this core when it finds nothing more to do, wakes it. */
static inline void
tell (HassGraph *graph, const HassHand *hand)
{
  HassJob *job = graph->job;
  gboolean news
      = hand->n_given > 0
        || atomic_load_explicit (&graph->caller_waits, memory_order_relaxed);
  if (!news)
    return;
  if (atomic_load_explicit (&job->event.sleepers, memory_order_relaxed) > 0)
    job->engine->changed (job);
  else if (hand->n_given > 0)
    hass_job_loads_came (job);
}

/* Computes a task, then one of those that it has made ready, and so on.
   @last_ns: when the last measured task ended; updated. */
static void
run_chain (HassGraph *graph, HassWorker *worker, HassGraphTask *task,
           gint64 until_ns, gint64 *last_ns)
{
  HassHand hand = { task, 0 };
  gint64 now = 0;
  while (hand.own && !hass_job_stopping (graph->job) && *last_ns < until_ns)
    {
      task = hand.own;
      if (hand.n_given > 0)
        tell (graph, &hand);
      hand = (HassHand){ NULL, 0 };
      if (G_LIKELY (may_begin (graph, worker->index, task, &hand)))
        now = hass_task_run_measured (graph, worker, task, &hand, now);
      if (now > 0)
        *last_ns = now;
    }
  if (hand.own)
    {
      hass_task_to_cores (graph, worker->index, hand.own);
      hand.n_given++;
    }
  hass_task_say_ended (&graph->workers[worker->index]);
  tell (graph, &hand);
}

/* Computes tasks for about SLICE_NS. Returns: FALSE if there was none. */
gboolean
hass_graph_work (HassJob *job, HassWorker *worker)
{
  HassGraph *graph = job->flow;
  HassGraphWorker *w = &graph->workers[worker->index];
  guint32 taken[HASS_MOST_TAKEN];
  hass_graph_set_busy (graph, worker->index, TRUE);
  guint n = hass_graph_find (graph, worker->index, taken);
  if (n == 0)
    {
      hass_graph_found_none (graph, worker->index);
      gboolean was_busy = w->idle_since_ns == 0;
      hass_graph_idle (graph, worker->index);
      if (was_busy
          && atomic_load_explicit (&graph->caller_waits, memory_order_relaxed))
        job->engine->changed (job);
      return FALSE;
    }
  gint64 begin = job->engine->now (job), last = begin;
  hass_graph_busy (w, begin);
  HassCallback before = hass_engine_enter_callback ("codelet", job, worker);
  do
    {
      for (guint i = 0; i < n; i++)
        run_chain (graph, worker, &graph->tasks[taken[i]], begin + SLICE_NS,
                   &last);
      n = !hass_job_stopping (job) && last < begin + SLICE_NS
              ? hass_graph_find (graph, worker->index, taken)
              : 0;
    }
  while (n > 0);
  hass_engine_leave_callback (before);
  last = job->engine->now (job);
  w->busy_ns += last - begin + hass_worker_take_helped (worker);
  worker->now_ns = last;
  hass_graph_set_busy (graph, worker->index, FALSE);
  hass_job_check_deadline (job, last);
  return TRUE;
}

/* -- Virtual time ------------------------------------------------------- */

/* Returns: what a task costs: as its hint says, else the bytes of its data,
   else 1. */
double
hass_task_cost (const HassGraph *graph, HassGraphTask *task)
{
  double work = graph->work[hass_task_index (graph, task)];
  gsize bytes = 0;
  for (guint i = 0; i < task->n; i++)
    bytes += hass_data_bytes (hass_access_data (hass_task_access (task, i)));
  return work > 0 ? work : (double)MAX (bytes, 1);
}

/* Returns: TRUE if a task computes nothing, and takes no time: it is the
   library's, no device could have it, or a task before it has failed. */
static gboolean
is_free (const HassGraph *graph, HassGraphTask *task)
{
  return task->flags & HASS_TASK_INTERNAL || !task->codelet->public.cpu
         || (atomic_load_explicit (&graph->n_failures, memory_order_relaxed) > 0
             && hass_task_is_poisoned (task) > 0);
}

/* Returns: the task that a core had in hand, or one that it finds; NULL: there
   is none. */
static HassGraphTask *
next_task (HassGraph *graph, guint worker, gboolean look)
{
  HassGraphTask *own = g_steal_pointer (&graph->workers[worker].own);
  guint32 taken[HASS_MOST_TAKEN];
  if (own || !look || hass_graph_find (graph, worker, taken) == 0)
    return own;
  return &graph->tasks[taken[0]]; /* it takes one at a time, see ready.c */
}

const char *
hass_graph_begin_task (HassJob *job, HassWorker *worker, gboolean look,
                       double *cost)
{
  HassGraph *graph = job->flow;
  HassGraphWorker *w = &graph->workers[worker->index];
  HassGraphTask *task;
  /* What one of these tasks has released waits for any core. */
  for (; (task = next_task (graph, worker->index, look)); look = TRUE)
    {
      HassHand hand = { NULL, 0 };
      if (!may_begin (graph, worker->index, task, &hand))
        continue;
      w->own = task;
      if (!is_free (graph, task))
        {
          hass_graph_busy (w, job->engine->now (job));
          *cost = hass_task_cost (graph, task);
          return task->codelet->name;
        }
      HassCallback before = hass_engine_enter_callback ("codelet", job, worker);
      run_task (graph, worker, task, &hand, NULL); /* it may merge copies */
      hass_engine_leave_callback (before);
      hass_task_say_ended (w);
      w->own = hand.own;
    }
  hass_graph_idle (graph, worker->index);
  if (look)
    hass_graph_look_left (graph);
  return NULL;
}

void
hass_graph_end_task (HassJob *job, HassWorker *worker, gint64 begin_ns)
{
  HassGraph *graph = job->flow;
  HassGraphWorker *w = &graph->workers[worker->index];
  HassHand hand = { NULL, 0 };
  HassCallback before = hass_engine_enter_callback ("codelet", job, worker);
  w->busy_ns
      += run_and_learn (graph, worker, w->own, &hand, begin_ns) - begin_ns;
  hass_engine_leave_callback (before);
  hass_task_say_ended (w);
  w->own = hand.own;
}

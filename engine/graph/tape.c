/* SPDX-License-Identifier: MIT */
/* tape.c: a recorded graph, which is run many times.

   DESIGN. While a graph is recorded the submitting thread writes down each pair
   of tasks of which the second waits for the first. They become, for each task,
   the list of its successors and the number of tasks that it waits for. A run
   sets all counts, makes the tasks without predecessors ready, and waits until
   all have ended. The level of a task is the length of the longest path from it
   to the end, in the times that earlier runs have measured.

   Devices belong to the graph that runs, not to the tape: which of them can
   compute a codelet is found out when it begins, and what they have of the data
   is forgotten at its end. Between the runs that one call asks for they keep
   it, unless a callback may write the data.

   Thread safety: see tape.h. */
#include "tape.h"

#include "place.h"

/* Runs between two of the way that has been slower. A guess: fewer, and they
   cost more; more, and a change is noticed late. */
#define TRY_AGAIN 64
/* Runs of each way before they are compared: the first ones find nothing in the
   caches. */
#define TRIES 3

/* How a graph is run: by all cores; by the calling thread alone, in the order
   in which the tasks were submitted (at_once.c). */
typedef enum
{
  BY_ALL,
  IN_ORDER,
  N_WAYS
} Way;

/* What is known of one. @ns: the least time of recent runs, as others are
   disturbed. */
typedef struct
{
  guint64 n;
  gint64 ns;
} TapeWay;

struct HassTape
{
  HassGraph *graph;
  HassEdges edges;
  guint32 n_tasks;
  gint32 *pending; /* [n_tasks]: tasks that a task waits for */
  GArray *ready;   /* guint32: tasks that a run begins with */
  guint64 n_runs;  /* since hass_tape_play() was called */
  TapeWay ways[N_WAYS];
  guint64 n_chosen; /* runs for which both ways were known */
  gboolean has_times;
};

/* By tasks; of one edge, what is late comes last. */
static gint
by_pair (gconstpointer a, gconstpointer b)
{
  const guint64 *x = a, *y = b;
  if (x[0] != y[0])
    return x[0] < y[0] ? -1 : 1;
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

static gboolean
same_edge (const guint64 *x, const guint64 *y)
{
  return x[0] == y[0] && x[1] >> 1 == y[1] >> 1;
}

/* Makes the edges of the pairs, each once. */
static void
make_edges (HassTape *tape, GArray *pairs)
{
  gsize n_pairs = pairs->len / 2, n = 0;
  guint64 *pair = (guint64 *)(gpointer)pairs->data;
  HassEdges *edges = &tape->edges;
  if (n_pairs > 0)
    qsort (pair, n_pairs, 2 * sizeof *pair, by_pair);
  edges->n_tasks = tape->n_tasks;
  edges->first = g_new0 (guint32, (gsize)tape->n_tasks + 1);
  edges->next = g_new (guint32, MAX (n_pairs, 1));
  edges->late = g_new (guint8, MAX (n_pairs, 1));
  tape->pending = g_new0 (gint32, MAX (tape->n_tasks, 1));
  for (gsize i = 0; i < n_pairs; i++)
    if (i + 1 == n_pairs || !same_edge (&pair[2 * i], &pair[2 * i + 2]))
      {
        guint32 next = (guint32)(pair[2 * i + 1] >> 1);
        edges->next[n] = next;
        edges->late[n++] = pair[2 * i + 1] & 1;
        edges->first[pair[2 * i] + 1]++;
        tape->pending[next]++;
      }
  for (guint32 t = 0; t < tape->n_tasks; t++)
    edges->first[t + 1] += edges->first[t];
}

/* Returns: the time of a task where it is shortest; 0: unknown. While no task
   runs. */
static guint
time_ns (const HassCodeletState *codelet)
{
  guint cores = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  guint devices = codelet->device_ns;
  return cores > 0 && devices > 0 ? MIN (cores, devices) : MAX (cores, devices);
}

/* Sets the levels of all tasks, in units of 16 ns. */
static void
set_levels (HassTape *tape)
{
  HassGraphTask *tasks = tape->graph->tasks;
  for (guint32 t = tape->n_tasks; t-- > 0;)
    {
      guint mean = time_ns (tasks[t].codelet);
      guint64 longest = 0;
      for (guint32 i = tape->edges.first[t]; i < tape->edges.first[t + 1]; i++)
        longest = MAX (longest, tasks[tape->edges.next[i]].level);
      longest += mean > 0 ? 1 + mean / 16 : 1;
      tasks[t].level = (guint32)MIN (longest, G_MAXUINT32);
    }
}

/* Finds the successor of a task from which the path to the end takes longest.
   Returns: G_MAXUINT32 if the task has no successor. */
static guint32
longest_next (const HassTape *tape, const double *to_end_ns, guint32 t)
{
  guint32 best = G_MAXUINT32;
  for (guint32 i = tape->edges.first[t]; i < tape->edges.first[t + 1]; i++)
    {
      guint32 next = tape->edges.next[i];
      if (best == G_MAXUINT32 || to_end_ns[next] > to_end_ns[best])
        best = next;
    }
  return best;
}

HassTapePath
hass_tape_longest (const HassTape *tape, const double *mean_ns)
{
  const HassGraphTask *tasks = tape->graph->tasks;
  const GPtrArray *codelets = tape->graph->codelets;
  HassTapePath path = { 0 };
  if (tape->n_tasks == 0)
    return path;
  g_autofree double *to_end_ns = g_new (double, tape->n_tasks);
  g_autofree double *of_codelet = g_new0 (double, codelets->len);
  guint32 first = tape->n_tasks - 1;
  for (guint32 t = tape->n_tasks; t-- > 0;)
    {
      guint32 next = longest_next (tape, to_end_ns, t);
      to_end_ns[t] = mean_ns[tasks[t].codelet->index]
                     + (next < tape->n_tasks ? to_end_ns[next] : 0);
      if (to_end_ns[t] >= to_end_ns[first])
        first = t;
    }
  path.ns = to_end_ns[first] * (double)tape->n_runs;
  for (guint32 t = first; t < tape->n_tasks;
       t = longest_next (tape, to_end_ns, t))
    {
      path.n_tasks++;
      of_codelet[tasks[t].codelet->index] += mean_ns[tasks[t].codelet->index];
    }
  guint most = 0;
  for (guint c = 1; c < codelets->len; c++)
    if (of_codelet[c] > of_codelet[most])
      most = c;
  path.codelet = ((HassCodeletState *)g_ptr_array_index (codelets, most))->name;
  return path;
}

HassTape *
hass_tape_new (HassGraph *graph)
{
  HassTape *tape = g_new0 (HassTape, 1);
  tape->graph = graph;
  tape->n_tasks = (guint32)graph->n_submitted;
  tape->ready = g_array_new (FALSE, FALSE, sizeof (guint32));
  make_edges (tape, graph->pairs);
  g_array_set_size (graph->pairs, 0);
  return tape;
}

HassGraph *
hass_tape_take_apart (HassTape *tape)
{
  HassGraph *graph = tape->graph;
  g_free (tape->edges.first);
  g_free (tape->edges.next);
  g_free (tape->edges.late);
  g_free (tape->pending);
  g_array_unref (tape->ready);
  g_free (tape);
  return graph;
}

gsize
hass_tape_length (const HassTape *tape)
{
  return tape->n_tasks;
}

void
hass_tape_bind (HassTape *tape, HassData *data, gpointer host, gboolean running)
{
  char name[32];
  const char *wrong = !data                        ? "is NULL"
                      : data->graph != tape->graph ? "belongs to another graph"
                      : running   ? "was bound while the graph runs"
                      : data->own ? "was made by hass_graph_scratch()"
                      : !host     ? "gets the address NULL"
                                  : NULL;
  if (!wrong)
    data->view.data = host;
  else
    hass_graph_refuse (tape->graph,
                       running ? HASS_ERROR_MISUSE : HASS_ERROR_INVALID,
                       "hass_recorded_bind: %s %s",
                       data ? hass_data_name (data, name) : "the datum", wrong);
}

/* Returns: FALSE with an error, once, if the graph was misused since it was
   recorded. */
gboolean
hass_tape_check (HassTape *tape, GError **error)
{
  pthread_mutex_lock (&tape->graph->lock);
  GError *misuse = g_steal_pointer (&tape->graph->error);
  pthread_mutex_unlock (&tape->graph->lock);
  if (misuse)
    g_propagate_error (error, misuse);
  return misuse == NULL;
}

gboolean
hass_tape_uses_devices (const HassTape *tape)
{
  gboolean any = FALSE;
  for (guint c = 0; c < tape->graph->codelets->len; c++)
    {
      const HassCodeletState *codelet
          = g_ptr_array_index (tape->graph->codelets, c);
      any |= codelet->public.gpu || codelet->public.kinds;
    }
  return any;
}

/* Finds the devices of this run that can compute codelets, and forgets those of
   an earlier one, which may have been stopped. */
static void
find_devices (const HassTape *tape, HassGraph *graph)
{
  if (hass_tape_uses_devices (tape))
    hass_placing_new (graph);
  for (guint c = 0; c < graph->codelets->len; c++)
    {
      HassCodeletState *codelet = g_ptr_array_index (graph->codelets, c);
      codelet->devices = hass_codelet_devices (graph, &codelet->public);
      codelet->n_waiting = 0;
      codelet->n_entered = 0;
      codelet->n_computed = 0;
      atomic_store_explicit (&codelet->n_submitted, 0, memory_order_relaxed);
      codelet->tried = FALSE;
    }
  for (guint32 t = 0; graph->placing && t < tape->n_tasks; t++)
    graph->tasks[t].flags &= (guint8) ~(HASS_TASK_AGAIN | HASS_TASK_UNSETTLED);
}

void
hass_tape_lend (HassTape *tape, HassGraph *graph)
{
  const HassGraph *from = tape->graph;
  graph->tasks = from->tasks;
  graph->work = from->work;
  graph->data = from->data;
  graph->codelets = from->codelets;
  graph->edges = tape->edges;
  g_array_unref (graph->internal);
  graph->internal = g_array_ref (from->internal);
  find_devices (tape, graph);
  /* Levels are priorities. */
  atomic_store_explicit (&graph->ranked, TRUE, memory_order_relaxed);
}

/* Prepares the data for a run: forgets what an earlier one that was stopped has
   left, and makes space for the private copies of this run's workers. */
static void
prepare_data (HassGraph *graph)
{
  for (guint i = 0; i < graph->data->len; i++)
    {
      HassData *data = g_ptr_array_index (graph->data, i);
      atomic_store_explicit (&data->invalid, 0, memory_order_relaxed);
      data->busy = FALSE;
      if (data->parked)
        g_queue_clear (data->parked);
      if (data->merge)
        data->copies = g_new0 (gpointer, graph->n_workers);
    }
}

/* Has the devices opened that can compute a codelet. Returns: FALSE if nothing
   can compute one; the run is stopped. */
static gboolean
want_devices (HassGraph *graph)
{
  for (guint c = 0; c < graph->codelets->len; c++)
    {
      HassCodeletState *codelet = g_ptr_array_index (graph->codelets, c);
      HassCodelet of = codelet->public;
      of.name = codelet->name;
      if (!hass_codelet_can_run (graph, &of, codelet->devices))
        {
          hass_graph_refuse_codelet (graph, &of, FALSE);
          return FALSE;
        }
      if (codelet->devices)
        hass_place_add_codelet (graph, codelet);
    }
  return TRUE;
}

/* Sets how many tasks each one waits for, the first @n_done having ended, and
   finds those that wait for none. */
static void
set_counts (HassTape *tape, guint32 n_done)
{
  const HassEdges *edges = &tape->edges;
  HassGraphTask *tasks = tape->graph->tasks;
  g_array_set_size (tape->ready, 0);
  for (guint32 t = n_done; t < tape->n_tasks; t++)
    {
      atomic_store_explicit (&tasks[t].pending, tape->pending[t],
                             memory_order_relaxed);
      atomic_store_explicit (&tasks[t].ended, FALSE, memory_order_relaxed);
      hass_codelet_count (tasks[t].codelet);
      if (tape->pending[t] == 0)
        g_array_append_val (tape->ready, t);
    }
  for (guint32 i = 0; n_done < tape->n_tasks && i < edges->first[n_done]; i++)
    if (edges->next[i] >= n_done)
      {
        HassGraphTask *next = &tasks[edges->next[i]];
        gint32 n = atomic_load_explicit (&next->pending, memory_order_relaxed);
        atomic_store_explicit (&next->pending, n - 1, memory_order_relaxed);
        if (n == 1)
          g_array_append_val (tape->ready, edges->next[i]);
      }
}

/* Returns: TRUE if the calling thread had better run the tasks in their order:
   the way that has been faster, but each is tried, and the slower one again. */
static gboolean
suits_in_order (HassTape *tape, HassGraph *graph)
{
  TapeWay *ways = tape->ways;
  if (!hass_graph_suits_in_order (graph) || ways[BY_ALL].n < TRIES)
    return FALSE;
  if (ways[IN_ORDER].n < TRIES)
    return TRUE;
  gint64 here = ways[IN_ORDER].ns, all = ways[BY_ALL].ns;
  if (++tape->n_chosen % TRY_AGAIN == 0
      && MAX (here, all) < 2 * MIN (here, all))
    return here >= all;
  return here < all;
}

/* A run has ended. @n_in_order: tasks that were run in their order. */
static void
learn_way (HassTape *tape, guint32 n_in_order, gint64 ns)
{
  TapeWay *way = &tape->ways[n_in_order > 0 ? IN_ORDER : BY_ALL];
  if (n_in_order > 0 && n_in_order < tape->n_tasks)
    return;
  way->ns = way->n++ > 0 ? MIN (way->ns + way->ns / 16, ns) : ns;
}

/* Returns: how many tasks were run in their order. */
static guint32
start (HassTape *tape, HassGraph *graph)
{
  guint32 n_done = 0;
  graph->n_submitted += tape->n_tasks;
  atomic_store_explicit (&graph->published, graph->n_submitted,
                         memory_order_relaxed);
  if (suits_in_order (tape, graph))
    n_done = hass_graph_run_in_order (graph, tape->n_tasks);
  set_counts (tape, n_done);
  for (guint i = 0; i < tape->ready->len; i++)
    {
      guint32 t = g_array_index (tape->ready, guint32, i);
      hass_task_ready (graph, 0, &graph->tasks[t]);
      hass_job_loads_came (graph->job);
    }
  return n_done;
}

/* Before a run but the first one. Returns: FALSE if the program ends the runs.
 */
static gboolean
goes_on (HassGraph *graph)
{
  const HassGraphRun *run = graph->run;
  if (!run->again)
    return TRUE;
  HassCallback before
      = hass_engine_enter_callback ("callback 'again'", graph->job, NULL);
  gboolean on = run->again (run->user_data);
  hass_engine_leave_callback (before);
  if (on) /* it may have written data */
    hass_place_renew (graph, NULL);
  return on;
}

void
hass_tape_play (HassTape *tape, HassGraph *graph)
{
  const HassGraphRun *run = graph->run;
  prepare_data (graph);
  tape->n_runs = 0;
  if (!want_devices (graph))
    return;
  if (!tape->has_times) /* but maybe earlier processes had */
    set_levels (tape);
  for (guint32 t = 0; t < tape->n_tasks && graph->tells_submitted; t++)
    hass_graph_tell_submitted (graph, &graph->tasks[t], t);
  for (guint64 i = 0; i < MAX (run->times, 1); i++)
    {
      if (i > 0 && !goes_on (graph))
        break;
      gint64 begin = graph->job->engine->now (graph->job);
      guint32 n_in_order = start (tape, graph);
      tape->n_runs++;
      if (!hass_graph_await (graph, HASS_WAIT_ALL, NULL))
        break;
      gint64 end = graph->job->engine->now (graph->job);
      learn_way (tape, n_in_order, end - begin);
      if (run->ended_ns)
        run->ended_ns[i] = end;
      if (!tape->has_times)
        set_levels (tape);
      tape->has_times = TRUE;
      if (i == 0)
        hass_outlook_forget (graph);
    }
}

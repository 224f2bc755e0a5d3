/* SPDX-License-Identifier: MIT */
/* graph.c: what a task graph costs: a task without work that is submitted and
   run, a task of a graph that is run again, the part of the cores' time that is
   work, and the memory of a task that waits.

   DESIGN. The graph is that of the tiled Cholesky factorisation, T tiles a
   side, or chains. Every peer is checked once: each access sees the version of
   the sequential program. Efficiency is the core time of the same calls of the
   work without a graph, on all cores at once, over the time that the cores have
   in the graph; it is measured right before and right after the graph. The
   tasks that wait are measured in a process of their own, since the largest
   resident set is kept for the life of a process.

   Thread safety: one thread beside those of the peers. */
#include <hass/dataflow.h>
#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "graphs.h"

static const GraphPeer *const peers[] = {
  &graph_hass,   &graph_tbb,
#ifdef BENCH_OPENMP
  &graph_openmp,
#endif
#ifdef BENCH_STARPU
  &graph_starpu,
#endif
  NULL,
};

#define MAX_CASES 64
#define TILES 40

/* -- Graphs ------------------------------------------------------------- */

void
graph_check (Graph *graph, const GraphTask *task)
{
  for (guint i = 0; i < task->n; i++)
    if (__atomic_load_n (&graph->now[task->data[i]], __ATOMIC_RELAXED)
        != task->versions[i])
      __atomic_fetch_add (&graph->wrong, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add (&graph->now[task->data[task->n - 1]], 1,
                      __ATOMIC_RELAXED);
}

static void
add (GArray *tasks, guint n, guint32 a, guint32 b, guint32 c)
{
  GraphTask task = { .n = n, .data = { a, b, c } };
  g_array_append_val (tasks, task);
}

/* The graph of these tasks; sets their versions and the edges. */
static Graph
graph_of (GArray *tasks, guint n_data)
{
  Graph g = { .n_data = n_data,
              .n_tasks = tasks->len,
              .tasks = (GraphTask *)(gpointer)tasks->data };
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree guint32 *writer = g_new0 (guint32, n_data); /* 1 + task */
  g_autofree guint32 *version = g_new0 (guint32, n_data);
  GArray **readers = g_new (GArray *, n_data);
  for (guint d = 0; d < n_data; d++)
    readers[d] = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint32 t = 0; t < g.n_tasks; t++)
    for (guint i = 0; i < g.tasks[t].n; i++)
      {
        GraphTask *task = &g.tasks[t];
        guint32 d = task->data[i];
        gboolean updates = i + 1 == task->n;
        task->versions[i] = version[d];
        if (writer[d] > 0 && !(updates && readers[d]->len > 0))
          {
            guint32 edge[] = { writer[d] - 1, t };
            g_array_append_vals (edges, edge, 2);
          }
        for (guint r = 0; updates && r < readers[d]->len; r++)
          {
            guint32 edge[] = { g_array_index (readers[d], guint32, r), t };
            g_array_append_vals (edges, edge, 2);
          }
        if (!updates)
          {
            g_array_append_val (readers[d], t);
            continue;
          }
        g_array_set_size (readers[d], 0);
        writer[d] = t + 1;
        version[d]++;
      }
  for (guint d = 0; d < n_data; d++)
    g_array_unref (readers[d]);
  g_free (readers);
  g.n_edges = edges->len / 2;
  g.edges = (guint32 *)(gpointer)g_array_free (edges, FALSE);
  g_array_free (tasks, FALSE);
  return g;
}

/* The number of a tile of the lower triangle. */
static guint32
tile (guint row, guint column)
{
  return row * (row + 1) / 2 + column;
}

static Graph
cholesky (guint n)
{
  GArray *tasks = g_array_new (FALSE, TRUE, sizeof (GraphTask));
  for (guint k = 0; k < n; k++)
    {
      add (tasks, 1, tile (k, k), 0, 0);
      for (guint i = k + 1; i < n; i++)
        add (tasks, 2, tile (k, k), tile (i, k), 0);
      for (guint i = k + 1; i < n; i++)
        {
          for (guint j = k + 1; j < i; j++)
            add (tasks, 3, tile (i, k), tile (j, k), tile (i, j));
          add (tasks, 2, tile (i, k), tile (i, i), 0);
        }
    }
  return graph_of (tasks, tile (n, 0));
}

/* Each task reads a datum that none writes and updates that of its chain. */
static Graph
chains (guint n_chains, guint length)
{
  GArray *tasks = g_array_new (FALSE, TRUE, sizeof (GraphTask));
  for (guint i = 0; i < length; i++)
    for (guint c = 0; c < n_chains; c++)
      add (tasks, 2, n_chains + c, c, 0);
  return graph_of (tasks, 2 * n_chains);
}

static void
graph_clear (Graph *graph)
{
  g_free (graph->tasks);
  g_free (graph->edges);
}

/* -- Checks ------------------------------------------------------------- */

static void
must_be_right (const GraphPeer *peer, Graph *g, const char *what)
{
  guint64 updates = 0;
  for (guint d = 0; d < g->n_data; d++)
    updates += g->now[d];
  if (g->wrong == 0 && updates == g->n_tasks)
    return;
  fprintf (stderr,
           "%s, %s: %" G_GUINT64_FORMAT " wrong versions, "
           "%" G_GUINT64_FORMAT " of %zu tasks\n",
           peer->name, what, g->wrong, updates, g->n_tasks);
  exit (1);
}

static void
check_peers (Graph *g)
{
  for (guint i = 0; peers[i]; i++)
    {
      const GraphPeer *peer = peers[i];
      g->now = g_new0 (guint32, g->n_data);
      g->wrong = 0;
      if (peer->begin)
        peer->begin ();
      peer->run (g);
      must_be_right (peer, g, "run");
      if (peer->keep)
        {
          gpointer kept = peer->keep (g);
          memset (g->now, 0, g->n_data * sizeof *g->now);
          peer->again (kept, 1);
          must_be_right (peer, g, "run again");
          peer->drop (kept);
        }
      if (peer->end)
        peer->end ();
      g_clear_pointer (&g->now, g_free);
    }
}

/* -- Tasks without work ------------------------------------------------- */

#define AGAIN 10 /* runs of a graph in a measurement */

typedef struct
{
  const GraphPeer *peer;
  Graph *graph;
  gpointer kept; /* run this again; NULL: submit and run */
} Empty;

static double
measure_empty (gconstpointer arg)
{
  const Empty *e = arg;
  if (e->peer->begin)
    e->peer->begin ();
  gint64 begin = bench_now_ns ();
  if (e->kept)
    e->peer->again (e->kept, AGAIN);
  else
    e->peer->run (e->graph);
  double ns = (double)(bench_now_ns () - begin);
  if (e->peer->end)
    e->peer->end ();
  return ns / (double)e->graph->n_tasks / (e->kept ? AGAIN : 1);
}

static void
run_empty (Graph *graph, gboolean again, double target, const char *title)
{
  Empty cases[MAX_CASES];
  guint n = 0;
  BenchGroup *group
      = bench_group_new (BENCH_LESS_IS_BETTER, "ns a task", "%s", title);
  for (guint i = 0; peers[i]; i++)
    if (!again || peers[i]->keep)
      {
        gpointer kept = again ? peers[i]->keep (graph) : NULL;
        cases[n] = (Empty){ peers[i], graph, kept };
        bench_group_add (group, i == 0 ? target : 0, measure_empty, &cases[n],
                         "%s", peers[i]->name);
        n++;
      }
  bench_group_run (group, bench_rounds (21));
  for (guint i = 0; i < n; i++)
    if (cases[i].kept)
      cases[i].peer->drop (cases[i].kept);
}

/* -- Efficiency --------------------------------------------------------- */

typedef struct
{
  const GraphPeer *peer;
  Graph *graph;
  gsize iterations;
} Work;

typedef struct
{
  gsize calls, iterations;
  double core_s;
} Alone;

static double
thread_s (void)
{
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gpointer
work_alone (gpointer data)
{
  Alone *alone = data;
  double before = thread_s ();
  for (gsize i = 0; i < alone->calls; i++)
    bench_fenced_spin (alone->iterations);
  alone->core_s = thread_s () - before;
  return NULL;
}

/* Returns: ns that all cores together take for the work of a graph. */
static double
reference_ns (const Work *w)
{
  enum
  {
    MOST = 64
  };
  GThread *threads[MOST];
  Alone alone[MOST];
  guint n = MIN (bench_cores (), MOST);
  double sum = 0;
  for (guint i = 0; i < n; i++)
    {
      alone[i] = (Alone){ w->graph->n_tasks / n, w->iterations, 0 };
      threads[i] = g_thread_new ("alone", work_alone, &alone[i]);
    }
  for (guint i = 0; i < n; i++)
    {
      g_thread_join (threads[i]);
      sum += alone[i].core_s;
    }
  return 1e9 * sum / n;
}

static double
efficiency (gconstpointer arg)
{
  const Work *w = arg;
  if (w->peer->begin)
    w->peer->begin ();
  double before = reference_ns (w);
  w->graph->iterations = w->iterations;
  gint64 begin = bench_now_ns ();
  w->peer->run (w->graph);
  double ns = (double)(bench_now_ns () - begin);
  w->graph->iterations = 0;
  double after = reference_ns (w);
  if (w->peer->end)
    w->peer->end ();
  return 50 * (before + after) / ns;
}

static void
run_efficiency (Graph *graph, double work_ns, double target, char letter)
{
  Work cases[MAX_CASES];
  double iteration_ns = bench_iteration_ns ();
  BenchGroup *group = bench_group_new (
      BENCH_MORE_IS_BETTER, "% efficient",
      "%c. tiled Cholesky, T = %d, tasks of %.0f us, submitted and run", letter,
      TILES, work_ns * 1e-3);
  for (guint i = 0; peers[i]; i++)
    {
      cases[i]
          = (Work){ peers[i], graph, (gsize)MAX (work_ns / iteration_ns, 1) };
      bench_group_add (group, i == 0 ? target : 0, efficiency, &cases[i], "%s",
                       peers[i]->name);
    }
  bench_group_run (group, bench_rounds (11));
}

/* -- Memory ------------------------------------------------------------- */

#define N_WAITING (1u << 20)

static double
resident_bytes (void)
{
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss * 1024;
}

static double before_waiting, while_waiting;
static gint released;

static gboolean
hold (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  while (!g_atomic_int_get (&released))
    g_usleep (1000);
  return TRUE;
}

static const HassCodelet holds = HASS_CODELET (.name = "hold", .cpu = hold);

static gboolean
build_waiting (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_scratch (graph, 0);
  HassAccess first = { data, HASS_WRITE }, other = { data, HASS_UPDATE };
  (void)user_data, (void)error;
  before_waiting = resident_bytes ();
  hass_graph_task (graph, &holds, &first, 1, NULL);
  for (guint i = 2; i < N_WAITING; i++)
    hass_graph_task (graph, &holds, &other, 1, NULL);
  while_waiting = resident_bytes ();
  g_atomic_int_set (&released, 1);
  return TRUE;
}

static int
run_waiting (void)
{
  HassDataflow d = HASS_DATAFLOW_INIT;
  GError *error = NULL;
  d.build = build_waiting;
  d.window = N_WAITING;
  d.run.n_cores = 2; /* one holds the first task */
  if (!hass_dataflow (&d, NULL, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  printf ("\nf. %u tasks that wait for the first one\n", N_WAITING - 2);
  bench_single ("hass", (while_waiting - before_waiting) / N_WAITING,
                "bytes a task", BENCH_LESS_IS_BETTER, 200);
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "waiting") == 0)
    return run_waiting ();
  Graph factor = cholesky (TILES), chained = chains (64, 200);
  printf ("\n== Task graphs, %u cores; tiled Cholesky of %zu tasks\n",
          bench_cores (), factor.n_tasks);
  check_peers (&factor);
  check_peers (&chained);
  run_empty (&factor, FALSE, 60,
             "a. tiled Cholesky, T = 40, tasks without "
             "work: submitted and run");
  run_empty (&factor, TRUE, 30, "b. the same graph, run again");
  run_empty (&chained, FALSE, 60,
             "c. 64 chains of 200 tasks with two accesses, without work");
  run_efficiency (&factor, 1000, 93, 'd');
  run_efficiency (&factor, 10000, 98, 'e');
  graph_clear (&factor);
  graph_clear (&chained);
  fflush (stdout);
  char *again[] = { argv[0], (char *)"waiting", NULL };
  GError *error = NULL;
  if (!g_spawn_sync (NULL, again, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL,
                     NULL, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* test_cholesky.c: graphs of tasks as function farms: the tasks of a tiled
   Cholesky decomposition, each emitted by the last of its predecessors with its
   bottom level as priority, on modelled machines.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

/* Time of a tile's multiplication of 1 unit of work on a core, in us: that of a
   tile of 1000 x 1000 doubles. */
#define TILE_US 10000.0
#define GPU_RATE 100

typedef enum
{
  POTRF,
  TRSM,
  SYRK,
  GEMM
} Kind;

/* A task of the graph: tile (i, j) in step k. */
typedef struct
{
  Kind kind;
  guint n_left; /* predecessors that have not ended */
  gboolean done;
  double level; /* longest time to the end of the graph on one core, in us */
  guint n_successors;
  guint *successors;
} Node;

typedef struct
{
  guint n, n_done, n_wrong;
  Node *nodes;
  gboolean on_gpu;
  gboolean flat; /* all tasks have the same priority */
} Graph;

static double
cost_of (Kind kind)
{
  const double cost[] = { 1 / 3., 1, 1, 2 };
  return cost[kind] * TILE_US;
}

static guint
index_of (guint t, guint i, guint j, guint k)
{
  return (k * t + i) * t + j;
}

static void
depend (Graph *g, guint before, guint after)
{
  Node *node = &g->nodes[before];
  node->successors = g_renew (guint, node->successors, node->n_successors + 1);
  node->successors[node->n_successors++] = after;
  g->nodes[after].n_left++;
}

/* Adds the task of tile (i, j) in step k, whose predecessors are there. */
static void
add_task (Graph *g, guint t, guint i, guint j, guint k)
{
  guint self = index_of (t, i, j, k);
  g->n++;
  g->nodes[self].kind = i == k ? POTRF : j == k ? TRSM : i == j ? SYRK : GEMM;
  if (k > 0)
    depend (g, index_of (t, i, j, k - 1), self);
  if (j == k && i > k)
    depend (g, index_of (t, k, k, k), self);
  if (j > k)
    depend (g, index_of (t, i, k, k), self);
  if (j > k && i > j)
    depend (g, index_of (t, j, k, k), self);
}

/* Makes the graph of a matrix of @t x @t tiles. */
static void
make_graph (Graph *g, guint t)
{
  *g = (Graph){ .nodes = g_new0 (Node, t * t * t) };
  for (guint k = 0; k < t; k++)
    for (guint i = k; i < t; i++)
      for (guint j = k; j <= i; j++)
        add_task (g, t, i, j, k);
  for (guint n = t * t * t; n-- > 0;)
    {
      Node *node = &g->nodes[n];
      for (guint s = 0; s < node->n_successors; s++)
        node->level = MAX (node->level, g->nodes[node->successors[s]].level);
      node->level += cost_of (node->kind);
    }
}

static void
free_graph (Graph *g, guint t)
{
  for (guint n = 0; n < t * t * t; n++)
    g_free (g->nodes[n].successors);
  g_free (g->nodes);
}

static gboolean run_node (const HassTask *task, HassWorker *worker,
                          gpointer data, GError **error);

static gboolean
never_called (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static HassTask
task_of (const Graph *g, Node *node)
{
  return (HassTask){ .cpu = run_node,
                     .gpu = g->on_gpu ? never_called : NULL,
                     .data = node,
                     .expected_time = cost_of (node->kind),
                     .parallelism = 1024,
                     .priority = g->flat ? 0 : (gint64)node->level };
}

static gboolean
run_node (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  Graph *g = data;
  Node *node = task->data;
  (void)error;
  g->n_wrong += node->n_left > 0 || node->done;
  node->done = TRUE;
  g->n_done++;
  for (guint s = 0; s < node->n_successors; s++)
    {
      Node *after = &g->nodes[node->successors[s]];
      if (--after->n_left > 0)
        continue;
      HassTask next = task_of (g, after);
      if (!hass_worker_emit_task (worker, &next))
        return FALSE;
    }
  return TRUE;
}

/* Returns which part of the bound a decomposition of @t x @t tiles reaches on
   16 cores, with @gpu beside a GPU as fast as 100 cores; the bound is the
   larger of all work at the rates of all devices and the longest path at that
   of the fastest. @reported: the bound of the farm's report as a part of that.
 */
static double
part_of_bound (guint t, gboolean gpu, gboolean flat, const char *strategy,
               double *reported)
{
  g_autofree char *platform = trial_file (
      gpu ? "[platform]\n[cpu]\ncores = 16\nwork_per_us = 1\n"
            "[gpu0]\nmultiprocessors = 16\nwidth = 1024\nwork_per_us = 100\n"
            "h2d_gbps = 20\ndepth = 4\n"
          : "[platform]\n[cpu]\ncores = 16\nwork_per_us = 1\n");
  Graph g;
  make_graph (&g, t);
  g.on_gpu = gpu;
  g.flat = flat;
  double rates = 16 + (gpu ? GPU_RATE : 0), work = 0;
  double bound_us = g.nodes[0].level / (gpu ? GPU_RATE : 1);
  for (guint n = 0; n < t * t * t; n++)
    work += g.nodes[n].level > 0 && n / t % t >= n % t && n % t >= n / (t * t)
                ? cost_of (g.nodes[n].kind)
                : 0;
  bound_us = MAX (bound_us, work / rates);
  HassTask first = task_of (&g, &g.nodes[0]);
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  HassReport *r = NULL;
  f.name = "cholesky";
  f.user_data = &g;
  f.tasks = &first;
  f.n_tasks = 1;
  f.run.platform = platform;
  f.run.strategy = strategy;
  watchdog (60, "cholesky");
  CU_ASSERT_TRUE_FATAL (hass_function_farm (&f, &r, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (g.n_done, g.n);
  CU_ASSERT_EQUAL (g.n_wrong, 0);
  CU_ASSERT_EQUAL (r->units, g.n);
  double part = bound_us * 1e-6 / r->makespan_s;
  if (reported)
    *reported = r->bound_s / (bound_us * 1e-6);
  hass_report_free (r);
  free_graph (&g, t);
  unlink (platform);
  return part;
}

static void
on_cores (void)
{
  const double least[] = { 0.98, 0.90, 0.95 };
  for (guint i = 0; i < G_N_ELEMENTS (least); i++)
    CU_ASSERT_TRUE (part_of_bound (8 * (i + 1), FALSE, FALSE, NULL, NULL)
                    >= least[i]);
}

static void
beside_gpu (void)
{
  CU_ASSERT_TRUE (part_of_bound (16, TRUE, FALSE, NULL, NULL) >= 0.89);
  CU_ASSERT_TRUE (part_of_bound (24, TRUE, FALSE, NULL, NULL) >= 0.94);
}

static void
without_priorities (void)
{
  double flat = part_of_bound (16, FALSE, TRUE, NULL, NULL);
  double rounds = part_of_bound (16, FALSE, FALSE, "hass-f", NULL);
  CU_ASSERT_TRUE (flat > 1.1 * rounds);
  CU_ASSERT_TRUE (part_of_bound (16, FALSE, FALSE, NULL, NULL) > flat);
}

static void
bound_of_report (void)
{
  double reported = 0;
  part_of_bound (8, FALSE, FALSE, NULL, &reported);
  CU_ASSERT_DOUBLE_EQUAL (reported, 1, 1e-6);
  part_of_bound (24, FALSE, FALSE, NULL, &reported);
  CU_ASSERT_DOUBLE_EQUAL (reported, 1, 1e-6);
}

HASS_TEST_SUITE (
    sched_cholesky, { "a Cholesky graph is near its bound on cores", on_cores },
    { "a Cholesky graph is near its bound beside a fast GPU", beside_gpu },
    { "emitted tasks do not wait for rounds, and priorities order them",
      without_priorities },
    { "the report's bound knows the critical path", bound_of_report })

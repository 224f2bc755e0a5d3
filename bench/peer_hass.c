/* SPDX-License-Identifier: MIT */
/* peer_hass.c: hass, as one of the peers.

   DESIGN. A load of no work has a worker that does nothing by itself, as a
   user's would; other work is called through the peers' function pointer.

   Thread safety: one run at a time. */
#include "bench.h"

#include <hass/hass.h>
#include <stdlib.h>

typedef struct
{
  const HassLoad *loads;
  gsize n;
  BenchWork work;
  void (*take) (guint64 seq);
} Run;

static gboolean
work_nothing (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  (void)worker, (void)data, (void)error;
  __asm__ volatile("" : : "r"(block->load->tag));
  return TRUE;
}

static gboolean
work_elements (const HassBlock *block, HassWorker *worker, gpointer data,
               GError **error)
{
  (void)worker, (void)data, (void)error;
  for (gsize i = 0; i < block->count; i++)
    __asm__ volatile("" : : "r"(block->first + i));
  return TRUE;
}

static gboolean
work_load (const HassBlock *block, HassWorker *worker, gpointer data,
           GError **error)
{
  const Run *run = data;
  (void)worker, (void)error;
  run->work (block->load);
  return TRUE;
}

static gboolean
work_with_result (const HassBlock *block, HassWorker *worker, gpointer data,
                  GError **error)
{
  const Run *run = data;
  (void)error;
  run->work (block->load);
  return hass_worker_result (worker, &block->seq, sizeof block->seq);
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  const Run *run = data;
  (void)error;
  run->take (*(const guint64 *)result->data);
  return TRUE;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Run *run = data;
  (void)error;
  for (gsize i = 0; i < run->n; i++)
    if (!hass_emitter_emit (emitter, &run->loads[i]))
      return FALSE;
  return TRUE;
}

static void
must (gboolean ok, HassReport *report, guint64 units, GError *error)
{
  if (!ok || report->units != units)
    {
      g_printerr ("hass: %s\n", error ? error->message : "units are missing");
      exit (1);
    }
  hass_report_free (report);
}

static void
run_farm (HassDataFarm *farm, Run *run)
{
  HassReport *report = NULL;
  GError *error = NULL;
  farm->name = "bench";
  farm->user_data = run;
  farm->cost = HASS_COST_UNKNOWN;
  gboolean ok = hass_data_farm_combine (farm, &report, &error);
  must (ok, report, run->n, error);
}

static void
indices (gsize n)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  HassReport *report = NULL;
  GError *error = NULL;
  HassLoad load = { .size = n };
  farm.loads = &load;
  farm.n_loads = 1;
  farm.block_elements = 1;
  farm.cpu_worker = work_elements;
  gboolean ok = hass_data_farm_partition (&farm, &report, &error);
  must (ok, report, n, error);
}

static void
known (const HassLoad *loads, gsize n, BenchWork work)
{
  Run run = { loads, n, work, NULL };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.loads = loads;
  farm.n_loads = n;
  farm.cpu_worker = work == bench_nothing ? work_nothing : work_load;
  run_farm (&farm, &run);
}

static void
emitted (const HassLoad *loads, gsize n, BenchWork work)
{
  Run run = { loads, n, work, NULL };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.generate = generate;
  farm.cpu_worker = work == bench_nothing ? work_nothing : work_load;
  run_farm (&farm, &run);
}

static void
ordered (const HassLoad *loads, gsize n, BenchWork work,
         void (*take) (guint64 seq))
{
  Run run = { loads, n, work, take };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.generate = generate;
  farm.cpu_worker = work_with_result;
  farm.collect = collect;
  farm.order = HASS_RESULTS_ORDERED;
  run_farm (&farm, &run);
}

/* A task of no work that emits others; its data is the number of levels below
   it. */
static gboolean
work_nested (const HassTask *task, HassWorker *worker, gpointer data,
             GError **error)
{
  guint n_children = *(const guint *)data;
  gsize depth = GPOINTER_TO_SIZE (task->data);
  HassTask next = { .cpu = work_nested, .data = GSIZE_TO_POINTER (depth - 1) };
  (void)error;
  for (guint i = 0; i < n_children && depth > 0; i++)
    if (!hass_worker_emit_task (worker, &next))
      return FALSE;
  return TRUE;
}

static void
nested (guint n_roots, guint n_children, gsize depth)
{
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  HassTask *roots = g_new (HassTask, n_roots);
  HassReport *report = NULL;
  GError *error = NULL;
  guint64 n = 0, level = n_roots;
  for (gsize d = 0; d <= depth; d++, level *= n_children)
    n += level;
  for (guint i = 0; i < n_roots; i++)
    roots[i]
        = (HassTask){ .cpu = work_nested, .data = GSIZE_TO_POINTER (depth) };
  farm.name = "bench";
  farm.user_data = &n_children;
  farm.tasks = roots;
  farm.n_tasks = n_roots;
  gboolean ok = hass_function_farm (&farm, &report, &error);
  must (ok, report, n, error);
  g_free (roots);
}

const BenchPeer bench_hass = { .name = "hass",
                               .indices = indices,
                               .known = known,
                               .emitted = emitted,
                               .ordered = ordered,
                               .nested = nested };

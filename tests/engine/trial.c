/* SPDX-License-Identifier: MIT */
/* trial.c: runs a trial's farm and checks its ledger; see trial.h.
   Thread safety: see trial.h. */
#include "trial.h"

#include <gio/gio.h>
#include <CUnit/CUnit.h>
#include <string.h>

#include "ledger.h"

/* -- After the farm ----------------------------------------------------- */

double
trial_lost (const HassReport *r)
{
  return r->lost_startup_s + r->lost_generator_s + r->lost_copies_s
         + r->lost_halo_s + r->lost_imbalance_s + r->lost_collector_s
         + r->lost_reduce_s + r->lost_teardown_s + r->lost_overhead_s;
}

/* Marks what the report calls unfinished; only where seq is the id. */
static void
check_unfinished (Ledger *l, const HassReport *r)
{
  g_autofree guint8 *named = g_malloc0 ((gsize)l->n_max * l->stride);
  for (guint i = 0; i < r->n_unfinished; i++)
    {
      const HassUnfinished *u = &r->unfinished[i];
      for (guint64 id = u->seq; id < u->seq + u->n_loads; id++)
        {
          gsize cells = id < l->n_max ? ledger_cells (l, id) : 0;
          if (u->first + u->count > cells)
            {
              ledger_blame (l, "the report names elements that are not there");
              return;
            }
          for (gsize c = 0; c < (u->count ? u->count : cells); c++)
            named[id * l->stride + u->first + c]++;
        }
    }
  for (guint id = 0; id < l->t->n_loads; id++)
    for (gsize c = 0; l->accepted[id] && c < ledger_cells (l, id); c++)
      if (named[id * l->stride + c] + l->computed[id * l->stride + c] != 1)
        ledger_blame (l, "computed and unfinished do not add up to all");
}

static void
check_report (Ledger *l, gboolean ok, const HassReport *r, guint n_computed,
              guint n_accepted)
{
  guint64 units = 0, n_unfinished = 0;
  for (guint d = 0; d < r->n_devices; d++)
    units += r->devices[d].units;
  for (guint i = 0; i < r->n_unfinished; i++)
    n_unfinished += r->unfinished[i].n_loads;
  for (guint d = 0; d < r->n_devices; d++)
    if (r->devices[d].kind == HASS_DEVICE_GPU && !r->devices[d].message
        && (r->devices[d].lost || (r->devices[d].failures > 0 && !l->n_failed)))
      ledger_blame (l, "a GPU has failed, and the report does not say why");
  if (units != r->units)
    ledger_blame (l, "the devices' units do not add up to the report's");
  if (r->loads != n_accepted)
    ledger_blame (l, "the report does not count the accepted loads");
  if (l->t->kind != HASS_FARM_PARTITION
      && (r->units != n_computed || n_unfinished + n_computed != n_accepted))
    ledger_blame (l, "the report's units are not those computed");
  if (r->bound_s > 0
      && ABS (r->makespan_s - r->bound_s - trial_lost (r)) > 1e-6)
    ledger_blame (l, "losses do not add up to makespan less bound");
  if (r->efficiency < 0 || (ok && !l->t->noisy && r->efficiency > 1.001))
    ledger_blame (l, "an efficiency that cannot be");
}

static void
check_cells (Ledger *l, guint id, gboolean all, guint *n_computed)
{
  gboolean whole = TRUE;
  for (gsize c = 0; c < ledger_cells (l, id); c++)
    {
      gsize at = (gsize)id * l->stride + c;
      whole &= l->computed[at] == 1;
      if (l->computed[at] + l->failed[at] > 1)
        ledger_blame (l, "a unit was computed twice");
      if (all && l->computed[at] + l->failed[at] == 0)
        ledger_blame (l, "a unit was not computed");
      if (l->t->collect && l->delivered[at] != l->computed[at])
        ledger_blame (l, "a unit was not delivered as often as computed");
    }
  *n_computed += whole;
  if (l->released[id] != l->accepted[id])
    ledger_blame (l, "a load was not released as often as accepted");
  else if (l->accepted[id] && l->committed[id] != whole)
    ledger_blame (l, "a load was released with the wrong flag");
}

/* In a function farm on GPUs of the stand-in for CUDA's runtime: what was
   committed, and not by a core, was computed by a GPU. */
static void
count_gpu_tasks (Ledger *l)
{
  for (guint id = 0; id < l->n_max; id++)
    if (l->committed[id] && l->computed[(gsize)id * l->stride] == 0)
      l->computed[(gsize)id * l->stride] = 1;
}

static void
check_outputs (Ledger *l, guint id)
{
  for (gsize c = 0; c < ledger_cells (l, id); c++)
    {
      gsize at = (gsize)id * l->stride + c;
      gsize n
          = l->t->kind == HASS_FARM_PARTITION ? 1 : ledger_load (l, id).size;
      const guint8 *input = l->input + at, *output = l->output + at;
      n = l->computed[at] > 0 ? n : 0;
      for (gsize i = 0; i < n; i++)
        if (output[i] != ledger_value (input[i]))
          ledger_blame (l, "an output is not the unit's");
    }
}

/* A farm may fail for want of devices, of memory there, or of time. */
static gboolean
is_fair_end (const Trial *t, const GError *error)
{
  if (!error || error->domain != HASS_ERROR)
    return FALSE;
  return (t->deadline_ms > 0 && error->code == HASS_ERROR_DEADLINE)
         || (t->may_fail_memory
             && (error->code == HASS_ERROR_NO_MEMORY
                 || error->code == HASS_ERROR_OVERFLOW))
         || (t->may_fail_device
             && (error->code == HASS_ERROR_DEVICE
                 || (t->n_gpus > 0
                     && (error->code == HASS_ERROR_NO_DEVICE
                         || error->code == HASS_ERROR_NO_MEMORY
                         || strstr (error->message, " bytes on gpu")))));
}

static void
check_all (Ledger *l, gboolean ok, const GError *error, const HassReport *r)
{
  const Trial *t = l->t;
  guint n_computed = 0, n_accepted = 0;
  guint64 cells = 0, failed_cells = 0;
  if (!r && t->n_gpus > 0 && is_fair_end (t, error))
    {
      if (l->n_units > 0)
        ledger_blame (l, "a farm without a report has computed units");
      return;
    }
  if (t->n_gpus > 0 && t->kind == HASS_FARM_FUNCTION)
    count_gpu_tasks (l);
  for (guint id = 0; id < l->n_max; id++)
    {
      n_accepted += l->accepted[id];
      check_cells (l, id, ok && l->accepted[id], &n_computed);
      for (gsize c = 0; c < ledger_cells (l, id); c++)
        {
          cells += l->computed[(gsize)id * l->stride + c];
          failed_cells += l->failed[(gsize)id * l->stride + c];
        }
      if (t->n_gpus > 0)
        check_outputs (l, id);
    }
  gboolean cancelled = g_cancellable_is_cancelled (l->cancellable);
  gboolean failed = l->n_failed > 0 && t->on_error == HASS_ON_ERROR_STOP;
  if (ok == (error != NULL) || ok == (cancelled || failed))
    {
      if (!is_fair_end (t, error))
        ledger_blame (l, error ? "the farm failed"
                               : "the farm should have failed");
    }
  else if (error && !is_fair_end (t, error)
           && !(cancelled
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED))
           && !(failed
                && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_FAILED)))
    ledger_blame (l, "the farm failed with another error");
  /* A GPU has added a unit whose result is then refused. */
  if (t->reduce && t->n_devices == 0
      && (l->sum < cells
          || l->sum > cells + (t->n_gpus > 0 ? failed_cells : 0)))
    ledger_blame (l, "the reduced sum is not that of the computed units");
  if (!r)
    {
      ledger_blame (l, "there is no report");
      return;
    }
  check_report (l, ok, r, n_computed, n_accepted);
  if (t->nested_percent == 0)
    check_unfinished (l, r);
}

/* -- Running ------------------------------------------------------------ */

static const guint32 constant = 7;
static const HassConstant the_constant = { &constant, sizeof constant };

static gboolean
run_data (Ledger *l, const HassRunOptions *run, HassReport **report,
          GError **error)
{
  const Trial *t = l->t;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "trial";
  f.user_data = l;
  f.loads = l->loads;
  f.n_loads = t->n_loads - t->n_generated;
  f.generate = t->n_generated > 0 ? ledger_generate : NULL;
  f.cpu_worker = t->gpu_only ? NULL : ledger_cpu_worker;
  f.gpu_worker = t->n_gpus > 0      ? ledger_cuda_worker
                 : t->n_devices > 0 ? ledger_gpu_worker
                                    : NULL;
  f.gpu_result = t->n_gpus > 0 ? ledger_gpu_result : NULL;
  f.gpu_record_bytes = t->records ? 2 * sizeof (guint32) : 0;
  f.unbundle = t->n_gpus > 0 ? NULL : ledger_unbundle;
  f.constants = &the_constant;
  f.n_constants = 1;
  f.partition = t->own_partition ? ledger_partition : NULL;
  f.collect = t->collect ? ledger_collect : NULL;
  f.order = t->ordered ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
  f.release = ledger_release_load;
  f.cost = t->cost;
  if (t->kind == HASS_FARM_PARTITION)
    {
      f.block_elements = t->block_elements;
      f.halo_elements = t->halo;
    }
  f.pool_loads = t->pool_loads;
  f.round_loads = t->round_loads;
  if (t->reduce)
    {
      f.reduce = ledger_add_sums;
      f.accumulator = &l->sum;
      f.accumulator_bytes = sizeof l->sum;
    }
  f.run = *run;
  return t->kind == HASS_FARM_PARTITION
             ? hass_data_farm_partition (&f, report, error)
         : t->kind == HASS_FARM_COMBINE
             ? hass_data_farm_combine (&f, report, error)
             : hass_data_farm_indivisible (&f, report, error);
}

static gboolean
run_function (Ledger *l, const HassRunOptions *run, HassReport **report,
              GError **error)
{
  const Trial *t = l->t;
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.name = "trial";
  f.user_data = l;
  f.tasks = l->tasks;
  f.n_tasks = t->n_loads - t->n_generated;
  f.generate = t->n_generated > 0 ? ledger_generate : NULL;
  f.collect = t->collect ? ledger_collect : NULL;
  f.order = t->ordered ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
  f.release = ledger_release_task;
  f.constants = &the_constant;
  f.n_constants = 1;
  f.pool_tasks = t->pool_loads;
  f.round_tasks = t->round_loads;
  if (t->reduce)
    {
      f.reduce = ledger_add_sums;
      f.accumulator = &l->sum;
      f.accumulator_bytes = sizeof l->sum;
    }
  f.run = *run;
  return hass_function_farm (&f, report, error);
}

static Ledger *
ledger_new (const Trial *t)
{
  Ledger *l = g_new0 (Ledger, 1);
  l->t = t;
  l->cancellable = g_cancellable_new ();
  l->n_max = t->n_loads * (t->nested_percent > 0 ? 2 : 1) + 1;
  l->stride = t->most_elements;
  gsize cells = (gsize)l->n_max * l->stride;
  l->input_pinned = t->pinned ? hass_memory_alloc (cells, NULL) : NULL;
  l->output_pinned = t->pinned ? hass_memory_alloc (cells, NULL) : NULL;
  l->input = l->input_pinned ? l->input_pinned : g_malloc (cells);
  l->output = l->output_pinned ? l->output_pinned : g_malloc (cells);
  memset (l->output, 0, cells);
  l->computed = g_malloc0 (cells);
  l->failed = g_malloc0 (cells);
  l->delivered = g_malloc0 (cells);
  l->accepted = g_malloc0 (l->n_max);
  l->released = g_malloc0 (l->n_max);
  l->committed = g_malloc0 (l->n_max);
  l->loads = g_new0 (HassLoad, l->n_max);
  l->tasks = g_new0 (HassTask, l->n_max);
  l->n_ids = t->n_loads;
  for (guint id = 0; id < l->n_max; id++)
    for (guint i = 0; i < l->stride; i++)
      l->input[(gsize)id * l->stride + i] = ledger_input (l, id, i);
  for (guint id = 0; id < t->n_loads; id++)
    {
      l->loads[id] = ledger_load (l, id);
      ledger_make_task (l, id);
      l->accepted[id] = id < t->n_loads - t->n_generated;
    }
  return l;
}

static void
ledger_free (Ledger *l)
{
  g_object_unref (l->cancellable);
  if (!l->input_pinned)
    g_free (l->input);
  if (!l->output_pinned)
    g_free (l->output);
  hass_memory_free (l->input_pinned);
  hass_memory_free (l->output_pinned);
  g_free (l->computed);
  g_free (l->failed);
  g_free (l->delivered);
  g_free (l->accepted);
  g_free (l->released);
  g_free (l->committed);
  g_free (l->loads);
  g_free (l->tasks);
  g_free (l);
}

char *
trial_describe (const Trial *t)
{
  return g_strdup_printf (
      "kind %d strategy %s %s cores %u devices %u seed %" G_GUINT64_FORMAT
      " cost %d loads %u (%u generated) elements %u rounds of %u pool %u "
      "nested %u%% fail %u%% cancel %u on_error %d collect %d ordered %d "
      "reduce %d own_partition %d odd %d gpu_only %d halo %zu block %zu "
      "gpus %u pinned %d records %d deadline %d bundle deadline %d",
      t->kind, t->strategy, t->platform ? "virtual" : "live", t->n_cores,
      t->n_devices, t->seed, t->cost, t->n_loads, t->n_generated,
      t->most_elements, t->round_loads, t->pool_loads, t->nested_percent,
      t->fail_percent, t->cancel_after, t->on_error, t->collect, t->ordered,
      t->reduce, t->own_partition, t->odd_tasks, t->gpu_only, t->halo,
      t->block_elements, t->n_gpus, t->pinned, t->records, (int)t->deadline_ms,
      (int)t->bundle_deadline_ms);
}

char *
trial_run (const Trial *t, HassReport **report)
{
  Ledger *l = ledger_new (t);
  GError *error = NULL;
  g_autofree char *text = trial_describe (t);
  HassReport *r = NULL;
  HassRunOptions run = { .strategy = t->strategy,
                         .platform = t->platform ? t->platform : "",
                         .seed = t->seed,
                         .n_cores = t->n_cores,
                         .on_error = t->on_error,
                         .cancellable = l->cancellable,
                         .devices = t->devices,
                         .n_devices = t->n_devices,
                         .n_gpus = t->n_gpus > 0 ? 0 : -1,
                         .deadline_ms = t->deadline_ms,
                         .bundle_deadline_ms = t->bundle_deadline_ms };
  if (!t->unwatched)
    watchdog (60, text);
  gboolean ok = t->kind == HASS_FARM_FUNCTION
                    ? run_function (l, &run, &r, &error)
                    : run_data (l, &run, &r, &error);
  if (!t->unwatched)
    watchdog (0, NULL);
  /* The report of a farm that has not begun names no strategy. */
  if (r && !r->strategy)
    g_clear_pointer (&r, hass_report_free);
  /* Without a GPU gpu-only refuses the farm before it has begun. */
  gboolean refused
      = t->n_devices == 0 && !g_strcmp0 (t->strategy, "gpu-only") && !r
        && g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE);
  if (!refused)
    check_all (l, ok, error, r);
  char *wrong = NULL;
  if (l->wrong)
    wrong = g_strdup_printf ("%s (%s): %s", l->wrong,
                             error ? error->message : "no error", text);
  g_clear_error (&error);
  if (report)
    *report = r;
  else if (r)
    hass_report_free (r);
  ledger_free (l);
  return wrong;
}

void
trial_expect (const Trial *trial)
{
  g_autofree char *wrong = trial_run (trial, NULL);
  if (wrong)
    {
      g_printerr ("\n    %s", wrong);
      CU_FAIL ("the contract was broken, see above");
    }
}

gpointer
trial_env (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

char *
trial_two_gpus (const char *noise)
{
  g_autofree char *text = g_strdup_printf (
      "[platform]\nname = two\nnoise = %s\n[cpu]\ncores = 4\nwork_per_us = 1\n"
      "[gpu0]\nmultiprocessors = 4\nwidth = 16\nwork_per_us = 10\n"
      "h2d_gbps = 1\n[gpu1]\nmultiprocessors = 2\nwidth = 16\n"
      "work_per_us = 5\nh2d_gbps = 1\n",
      noise);
  return trial_file (text);
}

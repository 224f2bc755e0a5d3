/* SPDX-License-Identifier: MIT */
/* trial.c: runs a trial's farm and checks its ledger; see trial.h.
   Thread safety: see trial.h. */
#include "trial.h"

#include <CUnit/CUnit.h>

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

static void
check_all (Ledger *l, gboolean ok, const GError *error, const HassReport *r)
{
  const Trial *t = l->t;
  guint n_computed = 0, n_accepted = 0;
  guint64 cells = 0;
  for (guint id = 0; id < l->n_max; id++)
    {
      n_accepted += l->accepted[id];
      check_cells (l, id, ok && l->accepted[id], &n_computed);
      for (gsize c = 0; c < ledger_cells (l, id); c++)
        cells += l->computed[(gsize)id * l->stride + c];
    }
  gboolean cancelled = g_cancellable_is_cancelled (l->cancellable);
  gboolean failed = l->n_failed > 0 && t->on_error == HASS_ON_ERROR_STOP;
  if (ok == (error != NULL) || ok == (cancelled || failed))
    {
      if (!(t->may_fail_device
            && g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE)))
        ledger_blame (l, error ? "the farm failed"
                               : "the farm should have failed");
    }
  else if (error
           && !(cancelled
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED))
           && !(failed
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER)))
    ledger_blame (l, "the farm failed with another error");
  if (t->reduce && t->n_devices == 0 && l->sum != cells)
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
  f.gpu_worker = t->n_devices > 0 ? ledger_gpu_worker : NULL;
  f.unbundle = ledger_unbundle;
  f.partition = t->own_partition ? ledger_partition : NULL;
  f.collect = t->collect ? ledger_collect : NULL;
  f.order = t->ordered ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
  f.release = ledger_release_load;
  f.cost = t->cost;
  f.block_elements = t->block_elements;
  f.halo_elements = t->halo;
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
  l->input = g_malloc0 (cells);
  l->output = g_malloc0 (cells);
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
      l->input[(gsize)id * l->stride + i] = (guint8)(id + i);
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
  g_free (l->input);
  g_free (l->output);
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
      "reduce %d own_partition %d odd %d gpu_only %d halo %zu block %zu",
      t->kind, t->strategy, t->platform ? "virtual" : "live", t->n_cores,
      t->n_devices, t->seed, t->cost, t->n_loads, t->n_generated,
      t->most_elements, t->round_loads, t->pool_loads, t->nested_percent,
      t->fail_percent, t->cancel_after, t->on_error, t->collect, t->ordered,
      t->reduce, t->own_partition, t->odd_tasks, t->gpu_only, t->halo,
      t->block_elements);
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
                         .n_gpus = -1 };
  watchdog (60, text);
  gboolean ok = t->kind == HASS_FARM_FUNCTION
                    ? run_function (l, &run, &r, &error)
                    : run_data (l, &run, &r, &error);
  watchdog (0, NULL);
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

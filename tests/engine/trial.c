/* SPDX-License-Identifier: MIT */
/* trial.c: see trial.h.

   DESIGN. A ledger has a cell for each element of each load in a partition
   farm, and one for each load elsewhere. Cells count how often they were
   computed, failed and delivered; loads count how often they were released.
   A unit that fails first leaves a result and a load behind, which nobody
   must ever see. What a device has computed is counted when its outputs are
   scattered, or by its kernels in a function farm.

   Thread safety: the ledger is atomic. */
#include "trial.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CUnit/CUnit.h>

#include "stand_in.h"

#define POISON 0xdeadbeef

typedef struct
{
  const Trial *t;
  GCancellable *cancellable;
  guint n_max;
  HassLoad *loads;
  HassTask *tasks;
  guint8 *input, *output;
  _Atomic guint8 *computed, *failed, *delivered; /* [n_max * stride] */
  _Atomic guint8 *accepted, *released, *committed;
  guint stride;
  _Atomic guint n_ids, n_units, n_failed;
  _Atomic guint8 busy[4200];
  _Atomic int collecting;
  guint64 last_seq;
  gsize last_first;
  gboolean any_result;
  _Atomic (const char *) wrong;
  guint64 sum; /* reduced */
} Ledger;

static void
blame (Ledger *l, const char *what)
{
  const char *none = NULL;
  atomic_compare_exchange_strong (&l->wrong, &none, what);
}

static guint32
mix (guint64 seed, guint a, guint b)
{
  guint64 x = seed * 0x9E3779B97F4A7C15u + a * 0xBF58476D1CE4E5B9u + b;
  x ^= x >> 31;
  x *= 0x94D049BB133111EBu;
  return (guint32)(x >> 32);
}

/* -- Loads -------------------------------------------------------------- */

static gsize
size_of (const Ledger *l, guint id)
{
  return 1 + mix (l->t->seed, id, 1) % l->t->most_elements;
}

static gsize
cells_of (const Ledger *l, guint id)
{
  return l->t->kind == HASS_FARM_PARTITION ? size_of (l, id) : 1;
}

static HassLoad
load_of (Ledger *l, guint id)
{
  gsize size = size_of (l, id);
  return (HassLoad){ .input = l->input + (gsize)id * l->stride,
                     .input_bytes = size,
                     .output = l->output + (gsize)id * l->stride,
                     .output_bytes = size,
                     .size = size,
                     .tag = GUINT_TO_POINTER (id + 1) };
}

static gboolean cpu_task (const HassTask *task, HassWorker *worker,
                          gpointer user_data, GError **error);
static gboolean gpu_task (const HassBundle *bundle, HassGpuStream *stream,
                          gpointer user_data, GError **error);

static void
make_task (Ledger *l, guint id)
{
  HassLoad load = load_of (l, id);
  guint which = l->t->odd_tasks ? mix (l->t->seed, id, 2) % 4 : 0;
  /* A modelled machine needs the CPU function for the result. */
  gboolean cpu = which != 1 || l->t->platform || l->t->n_devices == 0;
  l->tasks[id] = (HassTask){ .cpu = cpu ? cpu_task : NULL,
                             .gpu = which != 2 ? gpu_task : NULL,
                             .data = load.tag,
                             .input = load.input,
                             .input_bytes = load.input_bytes,
                             .output = load.output,
                             .output_bytes = load.output_bytes,
                             .expected_time = load.size,
                             .parallelism = id % 3 ? load.size : 1 };
}

static guint
id_of (gpointer tag)
{
  return GPOINTER_TO_UINT (tag) - 1;
}

/* -- Computing ---------------------------------------------------------- */

static void
count (Ledger *l, _Atomic guint8 *of, guint id, gsize first, gsize n)
{
  if (id >= l->n_max || first + n > cells_of (l, id))
    {
      blame (l, "a block outside its load");
      return;
    }
  for (gsize i = 0; i < n; i++)
    atomic_fetch_add_explicit (&of[(gsize)id * l->stride + first + i], 1,
                               memory_order_relaxed);
}

static void
check_input (Ledger *l, guint id, gsize first, gsize n, const guint8 *input)
{
  for (gsize i = 0; i < n; i++)
    if (input[i] != (guint8)(id + first + i))
      {
        blame (l, "input bytes are not the load's");
        return;
      }
}

static gboolean
emit_nested (Ledger *l, HassWorker *worker, guint id)
{
  HassLoad load = load_of (l, id);
  if (l->t->kind != HASS_FARM_FUNCTION)
    return hass_worker_emit (worker, &load);
  make_task (l, id);
  return hass_worker_emit_task (worker, &l->tasks[id]);
}

/* What a failing unit leaves behind; nobody must see it. */
static void
leave_poison (Ledger *l, HassWorker *worker)
{
  static const HassTask task = { .cpu = cpu_task,
                                 .data = GUINT_TO_POINTER (POISON) };
  guint32 poison = POISON;
  HassLoad load = { .size = 1, .tag = GUINT_TO_POINTER (POISON) };
  if (l->t->collect)
    hass_worker_result (worker, &poison, sizeof poison);
  if (l->t->kind == HASS_FARM_FUNCTION)
    hass_worker_emit_task (worker, &task);
  else
    hass_worker_emit (worker, &load);
}

static gboolean
unit (Ledger *l, guint id, gsize first, gsize n, HassWorker *worker,
      GError **error)
{
  const Trial *t = l->t;
  gsize cells = t->kind == HASS_FARM_PARTITION ? n : 1;
  gboolean fails = mix (t->seed, id, first + 7) % 100 < t->fail_percent;
  guint nth = atomic_fetch_add (&l->n_units, 1) + 1;
  if (id >= l->n_max)
    {
      blame (l, "a load that a failed unit emitted was computed");
      return TRUE;
    }
  if (t->spin_us > 0)
    usleep (mix (t->seed, id, 3) % t->spin_us);
  if (t->cancel_after > 0 && nth == t->cancel_after && !t->collect)
    g_cancellable_cancel (l->cancellable);
  if (fails)
    {
      leave_poison (l, worker);
      count (l, l->failed, id, first, cells);
      atomic_fetch_add (&l->n_failed, 1);
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "load %u", id);
      return FALSE;
    }
  if (t->reduce)
    *(guint64 *)hass_worker_accumulator (worker) += cells;
  if (mix (t->seed, id, first + 9) % 100 < t->nested_percent)
    {
      guint child = atomic_fetch_add (&l->n_ids, 1);
      if (child < l->n_max && emit_nested (l, worker, child))
        atomic_store (&l->accepted[child], 1);
    }
  count (l, l->computed, id, first, cells);
  return TRUE;
}

/* Odd loads emit a result, even ones leave their output. */
static void
result (Ledger *l, guint id, gsize first, gsize n, HassWorker *worker)
{
  guint8 *out = l->output + (gsize)id * l->stride + first;
  if (id >= l->n_max)
    return;
  for (gsize i = 0; i < n; i++)
    out[i] = (guint8)(id ^ (first + i));
  if (l->t->collect && id % 2)
    hass_worker_result (worker, out, n);
}

static void
enter (Ledger *l, HassWorker *worker)
{
  if (hass_worker_index (worker) >= hass_worker_count (worker)
      || atomic_fetch_add (&l->busy[hass_worker_index (worker)], 1) != 0)
    blame (l, "two callbacks at once with the same worker index");
}

static gboolean
cpu_worker (const HassBlock *b, HassWorker *worker, gpointer data,
            GError **error)
{
  Ledger *l = data;
  guint id = id_of (b->load->tag);
  enter (l, worker);
  if (id < l->n_max)
    {
      check_input (l, id, b->first - b->halo_before,
                   b->count + b->halo_before + b->halo_after,
                   b->input - b->halo_before);
      if (b->input_bytes != b->count || b->output_bytes != b->count)
        blame (l, "a block's bytes are not its elements'");
    }
  result (l, id, b->first, b->count, worker);
  gboolean ok = unit (l, id, b->first, b->count, worker, error);
  atomic_fetch_sub (&l->busy[hass_worker_index (worker)], 1);
  return ok;
}

static gboolean
cpu_task (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  Ledger *l = data;
  guint id = id_of (task->data);
  enter (l, worker);
  if (id < l->n_max)
    check_input (l, id, 0, size_of (l, id), task->input);
  result (l, id, 0, id < l->n_max ? size_of (l, id) : 0, worker);
  gboolean ok = unit (l, id, 0, 1, worker, error);
  atomic_fetch_sub (&l->busy[hass_worker_index (worker)], 1);
  return ok;
}

/* -- On a device -------------------------------------------------------- */

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Ledger *l = data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *b = &bundle->blocks[i];
      gboolean task = l->t->kind == HASS_FARM_FUNCTION;
      guint id = id_of (task ? ((HassTask *)b->load->tag)->data : b->load->tag);
      gsize n = bundle->offsets[i + 1] - bundle->offsets[i];
      guint8 *out = bundle->output + bundle->output_offsets[i];
      check_input (l, id, b->first, n, bundle->input + bundle->offsets[i]);
      for (gsize k = 0; k < n; k++)
        out[k] = (guint8)(id ^ (b->first + k));
      if (task)
        count (l, l->computed, id, 0, 1);
    }
}

static gboolean
gpu_worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  (void)error;
  stand_in_launch (stream, kernel, bundle, data);
  return TRUE;
}

static gboolean
gpu_task (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  return gpu_worker (bundle, stream, data, error);
}

static gboolean
unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
          gpointer data, GError **error)
{
  Ledger *l = data;
  for (gsize i = 0; i < n; i++)
    count (l, l->computed, id_of (blocks[i].load->tag), blocks[i].first,
           l->t->kind == HASS_FARM_PARTITION ? blocks[i].count : 1);
  return hass_staging_scatter (blocks, n, staging, NULL, NULL, error);
}

/* -- The other callbacks ------------------------------------------------ */

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Ledger *l = data;
  (void)error;
  for (guint id = l->t->n_loads - l->t->n_generated; id < l->t->n_loads; id++)
    {
      gboolean ok = l->t->kind == HASS_FARM_FUNCTION
                        ? hass_emitter_emit_task (emitter, &l->tasks[id])
                        : hass_emitter_emit (emitter, &l->loads[id]);
      if (!ok)
        return TRUE;
      atomic_store (&l->accepted[id], 1);
    }
  return TRUE;
}

static gboolean
partition (const HassLoad *load, gsize first, gsize n, HassBlock *block,
           gpointer data, GError **error)
{
  Ledger *l = data;
  (void)error;
  (void)n;
  block->count = MIN (1 + mix (l->t->seed, first, 5) % 9, load->size - first);
  return TRUE;
}

static gboolean
collect (const HassResult *r, gpointer data, GError **error)
{
  Ledger *l = data;
  gboolean task = l->t->kind == HASS_FARM_FUNCTION;
  guint id = id_of (task ? ((HassTask *)r->tag)->data : r->tag);
  const guint8 *bytes = r->data;
  (void)error;
  if (atomic_exchange (&l->collecting, 1))
    blame (l, "two collectors at once");
  if (l->t->ordered && l->any_result
      && (r->seq < l->last_seq
          || (r->seq == l->last_seq && r->first <= l->last_first)))
    blame (l, "results out of order");
  l->any_result = TRUE;
  l->last_seq = r->seq;
  l->last_first = r->first;
  for (gsize i = 0; id < l->n_max && i < r->bytes; i++)
    if (bytes[i] != (guint8)(id ^ (r->first + i)))
      blame (l, "result bytes are not the unit's");
  count (l, l->delivered, id, r->first,
         l->t->kind == HASS_FARM_PARTITION ? r->count : 1);
  if (l->t->cancel_after > 0 && l->n_units >= l->t->cancel_after)
    g_cancellable_cancel (l->cancellable);
  atomic_store (&l->collecting, 0);
  return TRUE;
}

static void
released (Ledger *l, guint id, gboolean committed)
{
  if (id >= l->n_max)
    {
      blame (l, "a load that a failed unit emitted was released");
      return;
    }
  atomic_fetch_add (&l->released[id], 1);
  atomic_store (&l->committed[id], committed);
}

static void
release_load (const HassLoad *load, gboolean committed, gpointer data)
{
  released (data, id_of (load->tag), committed);
}

static void
release_task (const HassTask *task, gboolean committed, gpointer data)
{
  released (data, id_of (task->data), committed);
}

static void
add_sums (gpointer sum, gconstpointer part, gpointer data)
{
  (void)data;
  *(guint64 *)sum += *(const guint64 *)part;
}

/* -- After the farm ----------------------------------------------------- */

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
          gsize cells = id < l->n_max ? cells_of (l, id) : 0;
          if (u->first + u->count > cells)
            {
              blame (l, "the report names elements that are not there");
              return;
            }
          for (gsize c = 0; c < (u->count ? u->count : cells); c++)
            named[id * l->stride + u->first + c]++;
        }
    }
  for (guint id = 0; id < l->t->n_loads; id++)
    for (gsize c = 0; l->accepted[id] && c < cells_of (l, id); c++)
      if (named[id * l->stride + c] + l->computed[id * l->stride + c] != 1)
        blame (l, "computed and unfinished do not add up to all");
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
    blame (l, "the devices' units do not add up to the report's");
  if (r->loads != n_accepted)
    blame (l, "the report does not count the accepted loads");
  if (l->t->kind != HASS_FARM_PARTITION
      && (r->units != n_computed || n_unfinished + n_computed != n_accepted))
    blame (l, "the report's units are not those computed");
  double lost = r->lost_copies_s + r->lost_imbalance_s + r->lost_overhead_s;
  if (r->bound_s > 0 && ABS (r->makespan_s - r->bound_s - lost) > 1e-6)
    blame (l, "losses do not add up to makespan less bound");
  if (r->efficiency < 0 || (ok && r->efficiency > 1.001))
    blame (l, "an efficiency that cannot be");
}

static void
check_cells (Ledger *l, guint id, gboolean all, guint *n_computed)
{
  gboolean whole = TRUE;
  for (gsize c = 0; c < cells_of (l, id); c++)
    {
      gsize at = (gsize)id * l->stride + c;
      whole &= l->computed[at] == 1;
      if (l->computed[at] + l->failed[at] > 1)
        blame (l, "a unit was computed twice");
      if (all && l->computed[at] + l->failed[at] == 0)
        blame (l, "a unit was not computed");
      if (l->t->collect && l->delivered[at] != l->computed[at])
        blame (l, "a unit was not delivered as often as computed");
    }
  *n_computed += whole;
  if (l->released[id] != l->accepted[id])
    blame (l, "a load was not released as often as accepted");
  else if (l->accepted[id] && l->committed[id] != whole)
    blame (l, "a load was released with the wrong flag");
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
      for (gsize c = 0; c < cells_of (l, id); c++)
        cells += l->computed[(gsize)id * l->stride + c];
    }
  gboolean cancelled = g_cancellable_is_cancelled (l->cancellable);
  gboolean failed = l->n_failed > 0 && t->on_error == HASS_ON_ERROR_STOP;
  if (ok == (error != NULL) || ok == (cancelled || failed))
    {
      if (!(t->may_fail_device
            && g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE)))
        blame (l, error ? "the farm failed" : "the farm should have failed");
    }
  else if (error
           && !(cancelled
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED))
           && !(failed
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER)))
    blame (l, "the farm failed with another error");
  if (t->reduce && t->n_devices == 0 && l->sum != cells)
    blame (l, "the reduced sum is not that of the computed units");
  if (!r)
    {
      blame (l, "there is no report");
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
  f.generate = t->n_generated > 0 ? generate : NULL;
  f.cpu_worker = t->gpu_only ? NULL : cpu_worker;
  f.gpu_worker = t->n_devices > 0 ? gpu_worker : NULL;
  f.unbundle = unbundle;
  f.partition = t->own_partition ? partition : NULL;
  f.collect = t->collect ? collect : NULL;
  f.order = t->ordered ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
  f.release = release_load;
  f.cost = t->cost;
  f.block_elements = t->block_elements;
  f.halo_elements = t->halo;
  f.pool_loads = t->pool_loads;
  f.round_loads = t->round_loads;
  if (t->reduce)
    {
      f.reduce = add_sums;
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
  f.generate = t->n_generated > 0 ? generate : NULL;
  f.collect = t->collect ? collect : NULL;
  f.order = t->ordered ? HASS_RESULTS_ORDERED : HASS_RESULTS_UNORDERED;
  f.release = release_task;
  f.pool_tasks = t->pool_loads;
  f.round_tasks = t->round_loads;
  if (t->reduce)
    {
      f.reduce = add_sums;
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
      l->loads[id] = load_of (l, id);
      make_task (l, id);
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
                         .n_devices = t->n_devices };
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

/* -- Helpers ------------------------------------------------------------ */

static char hung[600];

static void
on_alarm (int signal)
{
  static const char text[] = "\nhung: ";
  (void)signal;
  if (write (2, text, sizeof text - 1) < 0 || write (2, hung, strlen (hung)) < 0
      || write (2, "\n", 1) < 0)
    _exit (4);
  abort ();
}

void
watchdog (guint seconds, const char *what)
{
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  seconds *= 3;
#endif
  g_strlcpy (hung, what ? what : "", sizeof hung);
  signal (SIGALRM, on_alarm);
  alarm (seconds);
}

char *
trial_file (const char *text)
{
  char *path = NULL;
  int fd = g_file_open_tmp ("hass-test-XXXXXX", &path, NULL);
  if (fd < 0)
    return NULL;
  close (fd);
  if (!g_file_set_contents (path, text, -1, NULL))
    g_clear_pointer (&path, g_free);
  return path;
}

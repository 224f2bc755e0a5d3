/* SPDX-License-Identifier: MIT */
/* fault_trial.c: one farm on GPUs that fail as a plan says.
   Thread safety: fault_trial.h. */
#include "fault_trial.h"

#include <string.h>
#include <unistd.h>

#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "tests/engine/trial.h"

#define CPU_US 150
/* Cores wait so long for a GPU that no fault keeps from being called: only
   where the library is broken. */
#define PATIENCE_US (120 * G_USEC_PER_SEC)

typedef struct
{
  guint32 seq, at, value;
} Record;

static void
blame (FaultBooks *k, const char *what)
{
  const char *none = NULL;
  atomic_compare_exchange_strong (&k->wrong, &none, what);
}

/* -- Work ----------------------------------------------------------- */

static guint8
triple (guint8 x)
{
  return (guint8)(3 * x + 1);
}

static void
kernel (const HassBundle *b, gpointer data)
{
  const FaultCase *c = data;
  guint64 sum = 0;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      gsize n = fake_input_bytes (b, i);
      for (gsize k = 0; k < n; k++)
        {
          guint8 x = in[k];
          out[k] = triple (x);
          sum += x;
          if (x % 16 == 0 && c->records)
            fake_append (b, (guint32)i, &(Record){ 0, (guint32)k, x });
        }
    }
  __atomic_fetch_add ((guint64 *)b->accumulator, sum, __ATOMIC_RELAXED);
}

static gboolean
gpu_worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  FaultBooks *k = data;
  atomic_store (&k->gpu_called, TRUE);
  if (bundle->n_constants != 1 || !bundle->constants[0])
    blame (k, "the constant is not there");
  fake_launch (stream, kernel, bundle, (gpointer)k->c);
  return fake_check ("triple", error);
}

/* The same work as another function, so that tasks have two workers. */
static gboolean
other_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                  gpointer data, GError **error)
{
  return gpu_worker (bundle, stream, data, error);
}

/* What one call of a worker computes: @n bytes of the load @seq, from its byte
   @first. */
typedef struct
{
  const guint8 *in;
  guint8 *out;
  gsize n, first;
  guint64 seq;
} Stretch;

static void
compute (FaultBooks *k, const Stretch *s, HassWorker *worker)
{
  const guint8 *in = s->in;
  guint8 *out = s->out;
  guint64 sum = 0;
  for (gsize i = 0; i < s->n; i++)
    {
      guint8 x = in[i];
      out[i] = triple (x);
      sum += x;
      if (x % 16 == 0 && k->c->records)
        {
          Record record = { (guint32)s->seq, (guint32)(s->first + i), x };
          hass_worker_result (worker, &record, sizeof record);
        }
    }
  *(guint64 *)hass_worker_accumulator (worker) += sum;
  usleep (CPU_US);
  while (k->awaits_gpu && !atomic_load (&k->gpu_called)
         && fake_cudart_counts ().faults == 0
         && g_get_monotonic_time () < k->begin_us + PATIENCE_US)
    usleep (CPU_US);
}

static gboolean
cpu_worker (const HassBlock *b, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)error;
  Stretch s = { b->input, b->output, b->input_bytes, b->first, b->seq };
  compute (data, &s, worker);
  return TRUE;
}

static gboolean
cpu_task (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)error;
  Stretch s = { task->input, task->output, task->input_bytes, 0, 0 };
  compute (data, &s, worker);
  return TRUE;
}

static gboolean
gpu_result (const HassBlock *b, gconstpointer records, gsize n,
            HassWorker *worker, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < n; i++)
    {
      Record record = ((const Record *)records)[i];
      record.seq = (guint32)b->seq;
      record.at += (guint32)b->first;
      hass_worker_result (worker, &record, sizeof record);
    }
  return TRUE;
}

static gboolean
collect (const HassResult *r, gpointer data, GError **error)
{
  FaultBooks *k = data;
  const FaultCase *c = k->c;
  const guint8 *bytes = r->data;
  gsize at = r->seq * c->most_bytes;
  (void)error;
  /* A unit without any record: its output. */
  if (c->records && r->bytes == sizeof (Record))
    {
      Record record;
      memcpy (&record, r->data, sizeof record);
      if (record.seq == r->seq && record.at < k->loads[r->seq].size
          && k->in[at + record.at] == record.value)
        {
          k->delivered[at + record.at]++;
          return TRUE;
        }
    }
  const guint8 *in = k->in + at + r->first;
  guint8 *delivered = k->delivered + at + r->first;
  gboolean records = c->records;
  for (gsize i = 0, n = r->bytes; i < n; i++)
    {
      if (bytes[i] != triple (in[i]))
        blame (k, "a result is not the unit's");
      if (!records)
        delivered[i]++;
    }
  return TRUE;
}

static void
release_load (const HassLoad *load, gboolean committed, gpointer data)
{
  FaultBooks *k = data;
  (void)committed;
  k->released[GPOINTER_TO_UINT (load->tag)]++;
}

static void
release_task (const HassTask *task, gboolean committed, gpointer data)
{
  FaultBooks *k = data;
  (void)committed;
  k->released[GPOINTER_TO_UINT (task->data)]++;
}

static void
add (gpointer sum, gconstpointer part, gpointer data)
{
  (void)data;
  *(guint64 *)sum += *(const guint64 *)part;
}

/* -- A farm ------------------------------------------------------------- */

void
fault_books_init (FaultBooks *k, const FaultCase *c)
{
  gsize bytes = c->n_loads * c->most_bytes;
  *k = (FaultBooks){ .c = c };
  k->loads = g_new0 (HassLoad, c->n_loads);
  k->tasks = g_new0 (HassTask, c->n_loads);
  k->delivered = g_malloc0 (bytes);
  k->released = g_malloc0 (c->n_loads);
  k->in = c->pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  k->out = c->pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  memset (k->out, 0, bytes);
  guint8 *in = k->in;
  for (gsize i = 0; i < bytes; i++)
    in[i] = (guint8)(i * 31 + (i >> 7));
  for (guint i = 0; i < c->n_loads; i++)
    {
      gsize n = c->kind == HASS_FARM_PARTITION ? c->most_bytes
                : i % 8 == 5
                    ? c->most_bytes
                    : c->most_bytes / 4 + i * 7919 % (c->most_bytes / 4 * 3);
      gsize at = i * c->most_bytes;
      k->loads[i] = (HassLoad){ .input = k->in + at,
                                .input_bytes = n,
                                .output = k->out + at,
                                .output_bytes = n,
                                .size = n,
                                .tag = GUINT_TO_POINTER (i) };
      k->tasks[i] = (HassTask){
        .cpu = c->gpu_only || (c->gpu_tasks && i % 8 == 0) ? NULL : cpu_task,
        .gpu = i % 3 ? gpu_worker : other_gpu_worker,
        .data = GUINT_TO_POINTER (i),
        .input = k->in + at,
        .input_bytes = n,
        .output = k->out + at,
        .output_bytes = n,
        .expected_time = n
      };
    }
}

void
fault_books_clear (FaultBooks *k)
{
  if (k->c->pinned)
    {
      hass_memory_free (k->in);
      hass_memory_free (k->out);
    }
  else
    {
      g_free (k->in);
      g_free (k->out);
    }
  g_free (k->loads);
  g_free (k->tasks);
  g_free (k->delivered);
  g_free (k->released);
}

gboolean
fault_run_farm (FaultBooks *k, HassReport **report, GError **error)
{
  static const guint32 constant = 7;
  static const HassConstant constants[] = { { &constant, sizeof constant } };
  const FaultCase *c = k->c;
  HassRunOptions run = { .strategy = c->strategy,
                         .platform = "",
                         .n_cores = 2,
                         .on_error = c->on_error,
                         .bundle_deadline_ms = c->deadline_ms };
  k->begin_us = g_get_monotonic_time ();
  k->awaits_gpu = g_strcmp0 (c->strategy, "rogue-deep") == 0
                  && c->plan.start_ms == 0 && c->plan.device_count_code == 0;
  HassFunctionFarm tasks = HASS_FUNCTION_FARM_INIT;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  if (c->kind == HASS_FARM_FUNCTION)
    {
      tasks.name = "faults";
      tasks.user_data = k;
      tasks.tasks = k->tasks;
      tasks.n_tasks = c->n_loads;
      tasks.collect = collect;
      tasks.reduce = add;
      tasks.accumulator = &k->sum;
      tasks.accumulator_bytes = sizeof k->sum;
      tasks.release = release_task;
      tasks.constants = constants;
      tasks.n_constants = 1;
      tasks.run = run;
      return hass_function_farm (&tasks, report, error);
    }
  farm.name = "faults";
  farm.user_data = k;
  farm.loads = k->loads;
  farm.n_loads = c->n_loads;
  farm.cpu_worker = c->gpu_only ? NULL : cpu_worker;
  farm.gpu_worker = gpu_worker;
  farm.collect = collect;
  farm.reduce = add;
  farm.accumulator = &k->sum;
  farm.accumulator_bytes = sizeof k->sum;
  farm.release = release_load;
  farm.constants = constants;
  farm.n_constants = 1;
  farm.block_elements = c->block;
  farm.cost = HASS_COST_SIZED;
  if (c->records)
    {
      farm.gpu_result = gpu_result;
      farm.gpu_record_bytes = sizeof (Record);
    }
  farm.run = run;
  return c->kind == HASS_FARM_PARTITION
             ? hass_data_farm_partition (&farm, report, error)
         : c->kind == HASS_FARM_COMBINE
             ? hass_data_farm_combine (&farm, report, error)
             : hass_data_farm_indivisible (&farm, report, error);
}

void
fault_check_books (FaultBooks *k, gboolean all, gboolean accepted)
{
  const FaultCase *c = k->c;
  const guint8 *in = k->in, *out = k->out;
  gboolean records = c->records;
  guint64 sum = 0;
  for (guint i = 0; i < c->n_loads; i++)
    {
      if (k->released[i] != accepted)
        blame (k, "a load was not released once");
      gsize begin = i * c->most_bytes, end = begin + k->loads[i].size;
      for (gsize at = begin; at < end; at++)
        {
          guint8 x = in[at], delivered = k->delivered[at];
          gboolean wanted = !records || x % 16 == 0;
          sum += x;
          if (delivered > wanted)
            blame (k, "a result was delivered twice");
          if (all && delivered < wanted)
            blame (k, "a result was not delivered");
          if (all && out[at] != triple (x))
            blame (k, "an output is wrong");
        }
    }
  if (all && sum != k->sum)
    blame (k, "the sum is wrong");
}

/* The report has to agree with the farm's end, and has to give a reason for
   each GPU that failed. Returns whether a device was lost. */
static gboolean
check_report (FaultBooks *k, const HassReport *r, gboolean ok)
{
  gboolean lost = FALSE;
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      lost |= v->lost;
      if (v->kind == HASS_DEVICE_GPU && (v->lost || v->failures > 0)
          && !v->message)
        blame (k, "a GPU failed and the report does not say why");
    }
  guint64 n_unfinished = 0;
  for (guint i = 0; i < r->n_unfinished; i++)
    n_unfinished += r->unfinished[i].n_loads;
  if ((!ok && n_unfinished == 0)
      || (ok && n_unfinished > 0 && k->c->on_error == HASS_ON_ERROR_STOP))
    blame (k, "the unfinished are not named");
  if (k->c->kind != HASS_FARM_PARTITION && r->units + n_unfinished != r->loads)
    blame (k, "units and unfinished do not add up to the loads");
  if (r->loads != k->c->n_loads)
    blame (k, "not all loads were accepted");
  return lost;
}

/* The farm has ended, with @ok and this error. Returns whether a device was
   lost. */
static gboolean
check_end (FaultBooks *k, const HassReport *r, gboolean ok, const GError *error)
{
  const FaultCase *c = k->c;
  if (ok == (error != NULL))
    blame (k, "an error does not fit the farm's end");
  if (!ok && !c->gpu_only && !c->gpu_tasks)
    blame (k, "the farm failed");
  gboolean lost = r && check_report (k, r, ok);
  if (r)
    fault_check_books (k, ok && r->n_unfinished == 0, r->loads > 0);
  else if (ok)
    blame (k, "there is no report");
  return lost;
}

/* Frees the report of a farm that has not begun, which names no strategy. */
static HassReport *
only_if_begun (HassReport *r)
{
  if (!r || r->strategy)
    return r;
  hass_report_free (r);
  return NULL;
}

FakeCounts
fault_run_case (const FaultCase *c, HassReport **report, GError **error)
{
  FaultBooks k;
  FakePlan calm
      = { .n_devices = c->n_gpus, .memory_bytes = c->plan.memory_bytes };
  FakePlan plan = c->plan;
  GError *inner = NULL;
  HassReport *r = NULL;
  g_autofree char *what
      = g_strdup_printf ("kind %d %s gpus %u gpu_only %d pinned %d records %d",
                         c->kind, c->strategy ? c->strategy : "default",
                         c->n_gpus, c->gpu_only, c->pinned, c->records);
  rogue_strategies ();
  hass_gpus_forget ();
  fake_cudart_install (&calm);
  fault_books_init (&k, c);
  hass_gpus_forget ();
  plan.n_devices = c->n_gpus;
  fake_cudart_plan (&plan);
  watchdog (60, what);
  gboolean ok = fault_run_farm (&k, &r, &inner);
  watchdog (0, NULL);
  /* Only a GPU that hangs is not waited for. */
  if (c->deadline_ms == 0
      && fake_will_write (k.out, c->n_loads * c->most_bytes))
    blame (&k, "a copy to an output was not waited for");
  r = only_if_begun (r);
  fake_cudart_plan (&calm);
  gboolean lost = check_end (&k, r, ok, inner);
  fake_end_hang ();
  fault_books_clear (&k);
  hass_gpus_forget ();
  FakeCounts counts = fake_cudart_remove ();
  if (counts.wrong[0])
    blame (&k, counts.wrong);
  /* Pages that a lost GPU may be reading stay pinned. */
  if (counts.leaks[0]
      && !(lost && g_str_has_suffix (counts.leaks, "registrations")
           && !strstr (counts.leaks, "alloc")))
    blame (&k, counts.leaks);
  CU_ASSERT_PTR_NULL (k.wrong);
  if (k.wrong)
    {
      g_autofree char *table = r ? hass_report_to_string (r) : NULL;
      g_printerr ("\n    %s: %s (%s)\n%s", what, k.wrong,
                  inner ? inner->message : "no error", table ? table : "");
    }
  if (report)
    *report = r;
  else
    hass_report_free (r);
  if (error)
    *error = inner;
  else
    g_clear_error (&inner);
  return counts;
}

FaultCase
fault_nth_case (guint i)
{
  static const HassFarmKind kinds[]
      = { HASS_FARM_COMBINE, HASS_FARM_PARTITION, HASS_FARM_FUNCTION,
          HASS_FARM_INDIVISIBLE };
  FaultCase c = { .kind = kinds[i % 4],
                  .strategy = i % 3 == 0 ? "rogue-turns" : "rogue-deep",
                  .n_gpus = 1 + i / 4 % 2,
                  .n_loads = 30,
                  .most_bytes = 800,
                  .gpu_only = i % 5 == 4,
                  .pinned = i / 2 % 2,
                  .records = i % 4 != 2 && i / 3 % 2 };
  if (c.kind == HASS_FARM_PARTITION)
    {
      c.n_loads = 2;
      c.most_bytes = 10000;
      c.block = 400;
    }
  return c;
}

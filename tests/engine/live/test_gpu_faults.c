/* SPDX-License-Identifier: MIT */
/* test_gpu_faults.c: whole farms on GPUs that fail, over the stand-in for the
   CUDA runtime: nothing is lost, nothing is done twice, the answer is right
   and the report says what happened.

   DESIGN. A farm of any kind triples bytes, adds them up and reports either
   its outputs or a record for each sixteenth value. Every byte's output,
   delivery and part in the sum are checked, whatever the plan of faults. With
   a CPU worker a farm must succeed; without one it may fail, but must say
   why and name what is unfinished.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "device/fake_cudart.h"
#include "device/cuda/gpus-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "tests/engine/trial.h"

#define CPU_US 150
#ifdef __SANITIZE_THREAD__
#  define STEP 5
#else
#  define STEP 1
#endif
#define HEAD_START_US 30000 /* cores wait so long for a GPU's first bundle */

typedef struct
{
  HassFarmKind kind;
  const char *strategy;
  guint n_gpus;
  guint n_loads;
  gsize most_bytes; /* of a load */
  gsize block;
  gboolean gpu_only, pinned, records, gpu_tasks;
  gint64 deadline_ms;
  HassErrorPolicy on_error;
  FakePlan plan;
} Case;

typedef struct
{
  const Case *c;
  HassLoad *loads;
  HassTask *tasks;
  guint8 *delivered;        /* [n_loads * most_bytes]; collector */
  _Atomic guint8 *released; /* [n_loads] */
  guint8 *in, *out;
  guint64 sum;
  _Atomic gboolean gpu_called;
  gint64 begin_us;
  _Atomic (const char *) wrong;
} Books;

typedef struct
{
  guint32 seq, at, value;
} Record;

static void
blame (Books *k, const char *what)
{
  const char *none = NULL;
  atomic_compare_exchange_strong (&k->wrong, &none, what);
}

/* -- The work ----------------------------------------------------------- */

static guint8
triple (guint8 x)
{
  return (guint8)(3 * x + 1);
}

static void
kernel (const HassBundle *b, gpointer data)
{
  const Case *c = data;
  guint64 sum = 0;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      gsize n = fake_input_bytes (b, i);
      for (gsize k = 0; k < n; k++)
        {
          Record record = { 0, (guint32)k, in[k] };
          out[k] = triple (in[k]);
          sum += in[k];
          if (c->records && in[k] % 16 == 0)
            fake_append (b, (guint32)i, &record);
        }
    }
  __atomic_fetch_add ((guint64 *)b->accumulator, sum, __ATOMIC_RELAXED);
}

static gboolean
gpu_worker (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  Books *k = data;
  atomic_store (&k->gpu_called, TRUE);
  if (bundle->n_constants != 1 || !bundle->constants[0])
    blame (k, "the constant is not there");
  fake_launch (stream, kernel, bundle, (gpointer)k->c);
  return fake_check ("triple", error);
}

/* The same, by another name: tasks of two workers. */
static gboolean
other_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                  gpointer data, GError **error)
{
  return gpu_worker (bundle, stream, data, error);
}

static void
compute (Books *k, const guint8 *in, guint8 *out, gsize n, guint64 seq,
         gsize first, HassWorker *worker)
{
  guint64 sum = 0;
  for (gsize i = 0; i < n; i++)
    {
      Record record = { (guint32)seq, (guint32)(first + i), in[i] };
      out[i] = triple (in[i]);
      sum += in[i];
      if (k->c->records && in[i] % 16 == 0)
        hass_worker_result (worker, &record, sizeof record);
    }
  *(guint64 *)hass_worker_accumulator (worker) += sum;
  usleep (CPU_US);
  while (!atomic_load (&k->gpu_called)
         && g_get_monotonic_time () < k->begin_us + HEAD_START_US)
    usleep (CPU_US);
}

static gboolean
cpu_worker (const HassBlock *b, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)error;
  compute (data, b->input, b->output, b->input_bytes, b->seq, b->first, worker);
  return TRUE;
}

static gboolean
cpu_task (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)error;
  compute (data, task->input, task->output, task->input_bytes, 0, 0, worker);
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
  Books *k = data;
  const Case *c = k->c;
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
  for (gsize i = 0; i < r->bytes; i++)
    {
      if (bytes[i] != triple (k->in[at + r->first + i]))
        blame (k, "a result is not the unit's");
      if (!c->records)
        k->delivered[at + r->first + i]++;
    }
  return TRUE;
}

static void
release_load (const HassLoad *load, gboolean committed, gpointer data)
{
  Books *k = data;
  (void)committed;
  k->released[GPOINTER_TO_UINT (load->tag)]++;
}

static void
release_task (const HassTask *task, gboolean committed, gpointer data)
{
  Books *k = data;
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

static void
books_init (Books *k, const Case *c)
{
  gsize bytes = c->n_loads * c->most_bytes;
  *k = (Books){ .c = c };
  k->loads = g_new0 (HassLoad, c->n_loads);
  k->tasks = g_new0 (HassTask, c->n_loads);
  k->delivered = g_malloc0 (bytes);
  k->released = g_malloc0 (c->n_loads);
  k->in = c->pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  k->out = c->pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  memset (k->out, 0, bytes);
  for (gsize i = 0; i < bytes; i++)
    k->in[i] = (guint8)(i * 31 + (i >> 7));
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

static void
books_clear (Books *k)
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

static gboolean
run_farm (Books *k, HassReport **report, GError **error)
{
  static const guint32 constant = 7;
  static const HassConstant constants[] = { { &constant, sizeof constant } };
  const Case *c = k->c;
  HassRunOptions run = { .strategy = c->strategy,
                         .platform = "",
                         .n_cores = 2,
                         .on_error = c->on_error,
                         .bundle_deadline_ms = c->deadline_ms };
  k->begin_us = g_get_monotonic_time ();
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

static void
check_books (Books *k, gboolean all, gboolean accepted)
{
  const Case *c = k->c;
  guint64 sum = 0;
  for (guint i = 0; i < c->n_loads; i++)
    {
      if (k->released[i] != accepted)
        blame (k, "a load was not released once");
      for (gsize b = 0; b < k->loads[i].size; b++)
        {
          gsize at = i * c->most_bytes + b;
          gboolean wanted = !c->records || k->in[at] % 16 == 0;
          sum += k->in[at];
          if (k->delivered[at] > wanted)
            blame (k, "a result was delivered twice");
          if (all && k->delivered[at] < wanted)
            blame (k, "a result was not delivered");
          if (all && k->out[at] != triple (k->in[at]))
            blame (k, "an output is wrong");
        }
    }
  if (all && sum != k->sum)
    blame (k, "the sum is wrong");
}

/* What the report says has to fit: who failed says why. */
static gboolean
check_report (Books *k, const HassReport *r, gboolean ok)
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

/* Runs a case and holds it to the contract. Returns what the stand-in has
   counted; report and error are the farm's, if asked for. */
static FakeCounts
run_case (const Case *c, HassReport **report, GError **error)
{
  Books k;
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
  books_init (&k, c);
  hass_gpus_forget ();
  plan.n_devices = c->n_gpus;
  fake_cudart_plan (&plan);
  watchdog (60, what);
  gboolean ok = run_farm (&k, &r, &inner);
  watchdog (0, NULL);
  fake_cudart_plan (&calm);
  if (ok == (inner != NULL))
    blame (&k, "an error does not fit the farm's end");
  if (!ok && !c->gpu_only && !c->gpu_tasks)
    blame (&k, "the farm failed");
  gboolean lost = r && check_report (&k, r, ok);
  if (r)
    check_books (&k, ok && r->n_unfinished == 0, r->loads > 0);
  else if (ok)
    blame (&k, "there is no report");
  fake_end_hang ();
  books_clear (&k);
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

/* Farms of many kinds, by number. */
#define N_CASES 12

static Case
nth_case (guint i)
{
  static const HassFarmKind kinds[]
      = { HASS_FARM_COMBINE, HASS_FARM_PARTITION, HASS_FARM_FUNCTION,
          HASS_FARM_INDIVISIBLE };
  Case c = { .kind = kinds[i % 4],
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

/* -- Tests -------------------------------------------------------------- */

/* On a busy machine cores may do all of one farm before a GPU is open. */
static void
no_faults (void)
{
  guint64 beside_cores = 0;
  for (guint i = 0; i < N_CASES; i++)
    {
      Case c = nth_case (i);
      g_autoptr (HassReport) r = NULL;
      GError *error = NULL;
      run_case (&c, &r, &error);
      CU_ASSERT_PTR_NULL (error);
      g_clear_error (&error);
      guint64 gpu_units = 0;
      for (guint d = 0; d < r->n_devices; d++)
        {
          CU_ASSERT_PTR_NULL (r->devices[d].message);
          if (r->devices[d].kind == HASS_DEVICE_GPU)
            gpu_units += r->devices[d].units;
        }
      CU_ASSERT_TRUE (gpu_units > 0 || !c.gpu_only);
      beside_cores += c.gpu_only ? 0 : gpu_units;
    }
  CU_ASSERT_TRUE (beside_cores > 0);
}

/* GPUs that are started late, or never, as the cores do all or are given what
   their strategy keeps back. */
static void
cold (void)
{
  static const guint start_ms[] = { 6, 40, 3600000 };
  for (guint i = 0; i < 3 * N_CASES; i++)
    {
      Case c = nth_case (i / 3);
      if (i % 2)
        c.strategy = NULL;
      c.plan.start_ms = start_ms[i % 3];
      run_case (&c, NULL, NULL);
    }
}

/* Not in each of these farms: no tiles, no stretch that is worth pinning,
   seldom tasks of two workers in one bundle. */
static gboolean
is_called (FakeCall call)
{
  return call != FAKE_COPY_ROWS && call != FAKE_REGISTER
         && call != FAKE_STREAM_WAIT && call != FAKE_UNREGISTER
         && call != FAKE_RELEASE && call != FAKE_RELEASE_HOST
         && call != FAKE_STREAM_FREE && call != FAKE_EVENT_FREE;
}

/* Every call of every kind fails once. */
static void
each_call_fails (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    for (guint n = 1; n < 200; n += STEP + n / 8)
      {
        guint hits = 0;
        for (guint k = 0; k < 2; k++)
          {
            Case c = nth_case ((n + k * 5 + call) % N_CASES);
            c.plan.fail_at[call] = n;
            hits += run_case (&c, NULL, NULL).faults;
          }
        CU_ASSERT_TRUE (n > 1 || hits > 0 || !is_called (call));
        if (n == 1 && hits == 0 && is_called (call))
          g_printerr ("\n    %s was never called", fake_call_name (call));
        if (hits == 0)
          break;
      }
}

/* Calls of one kind that fail again and again, up to each time. */
static void
calls_keep_failing (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    for (guint n = 1; n <= 3; n++)
      {
        Case c = nth_case ((n * 7 + call) % N_CASES);
        c.plan.fail_every[call] = n;
        run_case (&c, NULL, NULL);
      }
}

/* One wait fails with four bundles there: all of them are given back, and
   the GPU, which has failed once, computes them again. */
static void
a_wait_fails (void)
{
  for (guint i = 0; i < 2; i++)
    {
      Case c = { .kind = HASS_FARM_COMBINE,
                 .strategy = "rogue-deep",
                 .n_gpus = 1,
                 .n_loads = 30,
                 .most_bytes = 800,
                 .gpu_only = TRUE,
                 .plan = { .kernel_delay_us = 20000 } };
      GError *error = NULL;
      g_autoptr (HassReport) r = NULL;
      if (i == 0)
        c.plan.fail_at[FAKE_EVENT_QUERY] = 1;
      else
        c.plan.fail_at[FAKE_EVENT_WAIT] = 2; /* the first is for constants */
      FakeCounts counts = run_case (&c, &r, &error);
      CU_ASSERT_EQUAL (counts.faults, 1);
      CU_ASSERT_PTR_NULL (error);
      if (error)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_FALSE (r->devices[0].lost);
      CU_ASSERT_EQUAL (r->devices[0].failures, 4);
      CU_ASSERT_EQUAL (r->units, c.n_loads);
    }
}

static void
copies_fail (void)
{
  for (guint n = 1; n < 60; n += STEP + n / 10)
    {
      Case c = nth_case (n % N_CASES), every = nth_case ((n + 5) % N_CASES);
      c.plan.fail_copy_at = n;
      run_case (&c, NULL, NULL);
      every.plan.fail_copy_every = n;
      run_case (&every, NULL, NULL);
    }
}

/* A sticky error takes every GPU; the CPU finishes. */
static void
sticky (void)
{
  for (guint n = 1; n < 200; n += STEP + n / 40)
    {
      Case c = nth_case (n % N_CASES);
      c.plan.sticky_at_call = n;
      run_case (&c, NULL, NULL);
    }
  for (guint n = 1; n < 14; n++)
    {
      Case c = nth_case (n % N_CASES);
      c.plan.sticky_at_kernel = n;
      g_autoptr (HassReport) r = NULL;
      g_autoptr (GError) error = NULL;
      FakeCounts counts = run_case (&c, &r, &error);
      for (guint d = 0; d < r->n_devices && counts.faults > 0; d++)
        if (r->devices[d].kind == HASS_DEVICE_GPU && r->devices[d].message)
          CU_ASSERT_PTR_NOT_NULL (strstr (r->devices[d].message, "assert"));
      if (c.gpu_only && counts.faults > 0)
        {
          CU_ASSERT_TRUE (
              g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
          CU_ASSERT_TRUE (error && strstr (error->message, "assert"));
        }
    }
}

static void
gone (void)
{
  for (guint n = 1; n < 150; n += STEP + n / 10)
    {
      Case c = nth_case (n % N_CASES);
      c.plan.gone_at_call = n;
      c.plan.gone_device = n / 3 % 2;
      run_case (&c, NULL, NULL);
    }
}

/* Nothing waits for a kernel that hangs. */
static void
hung (void)
{
  for (guint n = 1; n < 9; n++)
    {
      Case c = nth_case (n);
      g_autoptr (HassReport) r = NULL;
      c.deadline_ms = 300;
      c.plan.hang_kernel_at = n;
      c.plan.hang_ms = 600000;
      FakeCounts counts = run_case (&c, &r, NULL);
      gboolean lost = FALSE;
      for (guint d = 0; d < r->n_devices; d++)
        lost |= r->devices[d].lost && r->devices[d].message
                && strstr (r->devices[d].message, "longer than 300 ms");
      CU_ASSERT_TRUE (lost || counts.faults == 0);
    }
}

/* Large loads: pages are pinned, stripes are gathered. */
static void
large (void)
{
  static const FakeCall calls[] = { FAKE_REGISTER, FAKE_UNREGISTER, FAKE_COPY,
                                    FAKE_ALLOCATE_HOST, FAKE_EVENT_WAIT };
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint n = 1; n < 4; n++)
      {
        Case c = { .kind = HASS_FARM_PARTITION,
                   .strategy = "rogue-turns",
                   .n_gpus = 1 + n % 2,
                   .n_loads = 1,
                   .most_bytes = 3600000,
                   .block = 600000,
                   .gpu_only = n == 3 };
        c.plan.fail_at[calls[i]] = n;
        run_case (&c, NULL, NULL);
      }
}

/* -- Memory ------------------------------------------------------------- */

static const HassDeviceReport *
first_gpu (const HassReport *r)
{
  for (guint d = 0; r && d < r->n_devices; d++)
    if (r->devices[d].kind == HASS_DEVICE_GPU)
      return &r->devices[d];
  return NULL;
}

/* What does not fit at once goes in smaller bundles. */
static void
halved (void)
{
  for (guint i = 0; i < N_CASES; i++)
    {
      Case c = nth_case (i);
      GError *error = NULL;
      g_autoptr (HassReport) r = NULL;
      c.gpu_only = TRUE;
      c.records = FALSE;
      c.n_gpus = 1;
      c.strategy = "rogue-deep";
      if (c.kind != HASS_FARM_PARTITION)
        {
          c.n_loads = 12;
          c.most_bytes = 50000;
        }
      else
        {
          c.most_bytes = 400000;
          c.block = 50000;
        }
      c.plan.fail_above_bytes = i % 2 ? 1 << 17 : 0;
      c.plan.memory_bytes = i % 2 ? 0 : 700 << 10;
      FakeCounts counts = run_case (&c, &r, &error);
      CU_ASSERT_PTR_NULL (error);
      if (error)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_TRUE (i % 2 == 0 || counts.faults > 0);
      CU_ASSERT_FALSE (first_gpu (r)->lost);
    }
}

static void
limited (void)
{
  for (guint i = 0; i < N_CASES; i++)
    {
      Case c = nth_case (i);
      GError *error = NULL;
      c.gpu_only = TRUE;
      g_setenv ("HASS_GPU_MEM", "600K", TRUE);
      FakeCounts counts = run_case (&c, NULL, &error);
      g_unsetenv ("HASS_GPU_MEM");
      CU_ASSERT_PTR_NULL (error);
      if (error)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_TRUE (counts.most_bytes[0] <= 600 << 10);
    }
}

/* A load that can never fit goes to the CPU, or is named with its sizes. */
static void
never_fits (void)
{
  for (guint i = 0; i < 8; i++)
    {
      GError *error = NULL;
      g_autoptr (HassReport) r = NULL;
      Case c = { .kind = i % 2 ? HASS_FARM_INDIVISIBLE : HASS_FARM_COMBINE,
                 .strategy = "rogue-deep",
                 .n_gpus = 1 + i / 4,
                 .n_loads = 8,
                 .most_bytes = 150000,
                 .gpu_only = i / 2 % 2,
                 .pinned = i / 4,
                 .on_error = HASS_ON_ERROR_CONTINUE,
                 .plan = { .fail_above_bytes = 128 << 10 } };
      FakeCounts counts = run_case (&c, &r, &error);
      const HassDeviceReport *gpu = first_gpu (r);
      CU_ASSERT_FALSE (gpu->lost);
      if (!c.gpu_only)
        CU_ASSERT_PTR_NULL (error);
      if (c.gpu_only)
        {
          CU_ASSERT_TRUE (r->n_unfinished > 0 && r->units > 0);
          const char *why
              = r->n_unfinished > 0 ? r->unfinished[0].message : NULL;
          CU_ASSERT_TRUE (why && strstr (why, "needs") && strstr (why, "bytes")
                          && strstr (why, "gpu"));
          if (!why)
            g_printerr ("\n    %s", error ? error->message : "no error");
        }
      else if (counts.faults > 0 && gpu->message)
        CU_ASSERT_PTR_NOT_NULL (strstr (gpu->message, "needs"));
      g_clear_error (&error);
    }
}

/* -- Who is there ------------------------------------------------------- */

/* Tasks for GPUs alone, when there is none any more: an error names them. */
static void
gpu_tasks (void)
{
  for (guint n = 1; n < 4; n++)
    {
      Case c = { .kind = HASS_FARM_FUNCTION,
                 .strategy = "rogue-deep",
                 .n_gpus = 2,
                 .n_loads = 80,
                 .most_bytes = 500,
                 .gpu_tasks = TRUE };
      g_autoptr (GError) error = NULL;
      g_autoptr (HassReport) r = NULL;
      c.plan.sticky_at_kernel = n;
      run_case (&c, &r, &error);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      CU_ASSERT_TRUE (error && strstr (error->message, "task ")
                      && strstr (error->message, "gpu0 is lost")
                      && strstr (error->message, "assert"));
      if (error && !strstr (error->message, "gpu0 is lost"))
        g_printerr ("\n    %s", error->message);
      CU_ASSERT_TRUE (r->n_unfinished > 0);
    }
}

static void
absent (void)
{
  static const int codes[] = { FAKE_NO_DRIVER, FAKE_NO_DEVICE };
  for (guint i = 0; i < 4; i++)
    {
      Case c = nth_case (0);
      g_autoptr (GError) error = NULL;
      c.gpu_only = i / 2;
      c.plan.device_count_code = codes[i % 2];
      run_case (&c, NULL, &error);
      CU_ASSERT_EQUAL (error != NULL, c.gpu_only);
      if (c.gpu_only)
        CU_ASSERT_TRUE (
            g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE)
            && strstr (error->message, i % 2 ? "no CUDA-capable" : "driver"));
    }
}

/* A process whose GPUs are broken goes on without them. */
static void
farm_after_farm (void)
{
  Case c = nth_case (0);
  Books k;
  rogue_strategies ();
  hass_gpus_forget ();
  fake_cudart_install (&(FakePlan){ .n_devices = 2 });
  for (guint i = 0; i < 5; i++)
    {
      g_autoptr (HassReport) r = NULL;
      books_init (&k, &c);
      if (i == 2)
        fake_cudart_plan (&(FakePlan){ .sticky_at_kernel = 1 });
      watchdog (60, "farm after farm");
      CU_ASSERT_TRUE (run_farm (&k, &r, NULL));
      watchdog (0, NULL);
      check_books (&k, TRUE, TRUE);
      CU_ASSERT_PTR_NULL (k.wrong);
      CU_ASSERT_EQUAL (r->n_devices, i < 3 ? 3 : 1);
      books_clear (&k);
    }
  hass_gpus_forget ();
  CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
}

HASS_TEST_SUITE (
    gpu_faults, { "farms of all kinds run on GPUs", no_faults },
    { "farms of all kinds run on GPUs that start late or never", cold },
    { "any call may fail once", each_call_fails },
    { "any call may keep failing", calls_keep_failing },
    { "one wait that fails loses no GPU", a_wait_fails },
    { "copies may fail on the way", copies_fail },
    { "a sticky error takes all GPUs and loses nothing", sticky },
    { "a GPU that disappears loses nothing", gone },
    { "a kernel that hangs holds nothing up", hung },
    { "large loads survive failing pins and copies", large },
    { "bundles that do not fit are halved", halved },
    { "HASS_GPU_MEM is kept to", limited },
    { "a load that never fits goes to the CPU or is named", never_fits },
    { "tasks for lost GPUs alone are named", gpu_tasks },
    { "without a driver the CPU works, or the error says why", absent },
    { "farms go on when the GPUs are broken", farm_after_farm })

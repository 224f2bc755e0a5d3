/* SPDX-License-Identifier: MIT */
/* test_data_farm.c: what the callbacks of a data farm may do and what becomes
   of their failures.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

typedef gboolean (*Run) (const HassDataFarm *, HassReport **, GError **);

static gboolean
guarded (Run run, const HassDataFarm *f, HassReport **report, GError **error)
{
  watchdog (30, f->name);
  gboolean ok = run (f, report, error);
  watchdog (0, NULL);
  return ok;
}

static gboolean
fails_with (Run run, const HassDataFarm *f, HassError code, const char *text)
{
  GError *error = NULL;
  gboolean right = !guarded (run, f, NULL, &error)
                   && g_error_matches (error, HASS_ERROR, code)
                   && strstr (error->message, text);
  if (!right)
    g_printerr ("\n    '%s' was due, got: %s", text,
                error ? error->message : "success");
  g_clear_error (&error);
  return right;
}

static gboolean
count_elements (const HassBlock *block, HassWorker *worker, gpointer data,
                GError **error)
{
  (void)worker, (void)error;
  atomic_fetch_add ((_Atomic guint64 *)data, block->count);
  return TRUE;
}

/* -- The generator ------------------------------------------------------ */

static gboolean
broken_generator (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1 };
  (void)data;
  for (int i = 0; i < 10; i++)
    CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "disk on fire");
  return FALSE;
}

static void
generator_stops (void)
{
  _Atomic guint64 n = 0;
  g_autoptr (HassReport) report = NULL;
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = broken_generator;
  f.cpu_worker = count_elements;
  f.user_data = &n;
  f.run.n_cores = 1;
  CU_ASSERT_FALSE (guarded (hass_data_farm_combine, &f, &report, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_GENERATOR));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message, "after 10 loads: disk on fire"));
  CU_ASSERT_EQUAL (n, 0); /* one core: it was still generating */
  CU_ASSERT_EQUAL (report->n_unfinished, 1);
  CU_ASSERT_EQUAL (report->unfinished[0].seq, 0);
  CU_ASSERT_EQUAL (report->unfinished[0].n_loads, 10);
  g_clear_error (&error);
}

static void
generator_continues (void)
{
  _Atomic guint64 n = 0;
  g_autoptr (HassReport) report = NULL;
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = broken_generator;
  f.cpu_worker = count_elements;
  f.user_data = &n;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_FALSE (guarded (hass_data_farm_combine, &f, &report, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_GENERATOR));
  CU_ASSERT_EQUAL (n, 10);
  CU_ASSERT_EQUAL (report->n_unfinished, 0);
  g_clear_error (&error);
}

/* -- Divisible loads ---------------------------------------------------- */

static void
wrong_sizes (void)
{
  static guint8 bytes[10];
  _Atomic guint64 n = 0;
  const struct
  {
    HassLoad load;
    HassError code;
    const char *text;
  } wrong[]
      = { { { .size = 0 }, HASS_ERROR_INVALID, "must know its size" },
          { { .size = 3, .input = bytes, .input_bytes = 10 },
            HASS_ERROR_INVALID,
            "10 input and 0 output bytes are not multiples of 3" },
          { { .size = 3, .output = bytes, .output_bytes = 10 },
            HASS_ERROR_INVALID,
            "0 input and 10 output bytes are not multiples of 3" },
          { { .size = (gsize)1 << 40 },
            HASS_ERROR_OVERFLOW,
            "1099511627776 elements in blocks of 1" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = &wrong[i].load;
      f.n_loads = 1;
      f.cpu_worker = count_elements;
      f.user_data = &n;
      f.block_elements = 1;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_partition, &f, wrong[i].code,
                                  wrong[i].text));
    }
  CU_ASSERT_EQUAL (n, 0);
}

/* Elements need no bytes: an index range may be as long as a number. */
static void
longest_load (void)
{
  for (guint block = 0; block < 3; block++)
    {
      static const gsize blocks[] = { 0, G_MAXSIZE / 3, G_MAXSIZE };
      _Atomic guint64 n = 0;
      HassLoad load = { .size = G_MAXSIZE };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = count_elements;
      f.user_data = &n;
      f.block_elements = blocks[block];
      CU_ASSERT_TRUE (guarded (hass_data_farm_partition, &f, NULL, NULL));
      CU_ASSERT_EQUAL (n, G_MAXSIZE);
    }
}

static gboolean
bad_partition (const HassLoad *load, gsize first, gsize count, HassBlock *block,
               gpointer data, GError **error)
{
  const char *how = data;
  (void)count, (void)error;
  switch (first > 0 ? *how : 0)
    {
    case 'o': /* overlaps */
      block->first--;
      return TRUE;
    case 'g': /* leaves a gap */
      block->first++;
      return TRUE;
    case 'e':
      block->count = 0;
      return TRUE;
    case 'p':
      block->count = load->size;
      return TRUE;
    case 'f':
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "torn");
      return FALSE;
    case 's':
      return FALSE;
    default:
      return TRUE;
    }
}

static void
bad_partitions (void)
{
  static const struct
  {
    const char *how;
    HassError code;
    const char *text;
  } bad[] = {
    { "overlap", HASS_ERROR_PARTITION, "block at element 9 where 10 was due" },
    { "gap", HASS_ERROR_PARTITION, "block at element 11 where 10 was due" },
    { "empty", HASS_ERROR_PARTITION, "empty block at element 10 of 100" },
    { "past", HASS_ERROR_PARTITION, "past the load's end at 100" },
    { "fail", HASS_ERROR_IO, "load 0: torn" },
    { "silent", HASS_ERROR_PARTITION, "element 10 without saying why" },
  };
  HassLoad load = { .size = 100 };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.name = bad[i].how;
      f.loads = &load;
      f.n_loads = 1;
      f.block_elements = 10;
      f.cpu_worker = count_elements;
      f.partition = bad_partition;
      f.user_data = (gpointer)bad[i].how;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_partition, &f, bad[i].code,
                                  bad[i].text));
    }
}

/* Cuts a text at the ends of its lines. */
static gboolean
whole_lines (const HassLoad *load, gsize first, gsize count, HassBlock *block,
             gpointer data, GError **error)
{
  const char *text = load->input;
  gsize end = first + count;
  (void)data, (void)error;
  while (end < load->size && text[end - 1] != '\n')
    end++;
  block->count = end - first;
  return TRUE;
}

typedef struct
{
  _Atomic guint lines, wrong;
  const char *text;
  gsize size, halo;
} Lines;

static gboolean
see_lines (const HassBlock *b, HassWorker *worker, gpointer data,
           GError **error)
{
  Lines *l = data;
  (void)worker, (void)error;
  if (b->input_bytes != b->count || (const char *)b->input != l->text + b->first
      || b->halo_before != MIN (l->halo, b->first)
      || b->halo_after != MIN (l->halo, l->size - b->first - b->count)
      || b->input[b->input_bytes - 1] != '\n')
    l->wrong++;
  for (gsize i = 0; i < b->input_bytes; i++)
    l->lines += b->input[i] == '\n';
  return TRUE;
}

static void
blocks_at_boundaries (void)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < 500; i++)
    g_string_append_printf (text, "%*u\n", 1 + i % 37, i);
  Lines l = { .text = text->str, .size = text->len, .halo = 5 };
  HassLoad load
      = { .input = text->str, .input_bytes = text->len, .size = text->len };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = &load;
  f.n_loads = 1;
  f.block_elements = 100;
  f.halo_elements = 5;
  f.partition = whole_lines;
  f.cpu_worker = see_lines;
  f.user_data = &l;
  CU_ASSERT_TRUE (guarded (hass_data_farm_partition, &f, NULL, NULL));
  CU_ASSERT_EQUAL (l.lines, 500);
  CU_ASSERT_EQUAL (l.wrong, 0);
  g_string_free (text, TRUE);
}

/* -- Results ------------------------------------------------------------ */

typedef struct
{
  guint n, fail_at;
  guint64 sum;
  GCancellable *cancellable;
} Collected;

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  Collected *c = data;
  (void)result;
  c->n++;
  if (c->fail_at > 0 && c->n >= c->fail_at)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "no more paper");
      return FALSE;
    }
  return TRUE;
}

static gboolean
result_each (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)data, (void)error;
  return hass_worker_result (worker, &block->seq, sizeof block->seq);
}

static void
collector_fails (void)
{
  static HassLoad loads[1000];
  for (HassResultOrder order = 0; order <= HASS_RESULTS_ORDERED; order++)
    {
      Collected c = { .fail_at = 5 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = G_N_ELEMENTS (loads);
      f.cpu_worker = result_each;
      f.collect = collect;
      f.order = order;
      f.user_data = &c;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f,
                                  HASS_ERROR_COLLECTOR, "no more paper"));
      CU_ASSERT_EQUAL (c.n, 5);
    }
}

/* The first unit is slow and fails, so that results of later ones wait for
   the end, where the collector refuses them. */
static gboolean
first_fails (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  if (block->seq > 0)
    return result_each (block, worker, data, error);
  usleep (3000);
  return FALSE;
}

static void
collector_fails_at_the_end (void)
{
  static HassLoad loads[2000];
  for (guint i = 0; i < 20; i++)
    {
      Collected c = { .fail_at = 1 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = loads;
      f.n_loads = G_N_ELEMENTS (loads);
      f.cpu_worker = first_fails;
      f.collect = collect;
      f.order = HASS_RESULTS_ORDERED;
      f.round_loads = 100;
      f.user_data = &c;
      f.run.n_cores = 4;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f,
                                  HASS_ERROR_WORKER, "without saying why"));
      CU_ASSERT_TRUE (c.n <= 1);
    }
}

typedef struct
{
  _Atomic guint begun[4000];
  _Atomic guint finished[4000];
  _Atomic guint most;
} Window;

static gboolean
spread (const HassBlock *block, HassWorker *worker, gpointer data,
        GError **error)
{
  Window *w = data;
  guint first = 0;
  (void)worker, (void)error;
  w->begun[block->seq] = 1;
  while (first < block->seq && w->finished[first])
    first++;
  guint ahead = (guint)block->seq - first, most = w->most;
  while (ahead > most
         && !atomic_compare_exchange_weak (&w->most, &most, ahead))
    ;
  if (block->seq % 500 == 0)
    usleep (20000);
  w->finished[block->seq] = 1;
  return TRUE;
}

static gboolean
ignore (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  return TRUE;
}

static void
window_holds (void)
{
  static HassLoad loads[4000];
  g_autofree Window *w = g_new0 (Window, 1);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = spread;
  f.collect = ignore;
  f.order = HASS_RESULTS_ORDERED;
  f.window_loads = 64;
  f.user_data = w;
  f.run.n_cores = 3;
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, NULL));
  CU_ASSERT_TRUE (w->most <= 64);
}

/* -- Reducing and constants --------------------------------------------- */

static void
one (gpointer accumulator, gpointer data)
{
  (void)data;
  *(double *)accumulator = 1;
}

static void
times (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)data;
  *(double *)accumulator *= *(const double *)part;
}

static gboolean
twice (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  const double *factor = hass_worker_constant (worker, 1);
  (void)block, (void)data, (void)error;
  if (hass_worker_constant (worker, 2) || !factor)
    return FALSE;
  *(double *)hass_worker_accumulator (worker) *= *factor;
  return TRUE;
}

static void
reduced (void)
{
  static const double factor = 2;
  HassConstant constants[] = { { "unused", 6 }, { &factor, sizeof factor } };
  HassLoad loads[20] = { { 0 } };
  double product = 3;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = twice;
  f.reduce = times;
  f.reduce_init = one;
  f.accumulator = &product;
  f.accumulator_bytes = sizeof product;
  f.constants = constants;
  f.n_constants = 2;
  f.run.n_cores = 3;
  CU_ASSERT_TRUE (guarded (hass_data_farm_indivisible, &f, NULL, NULL));
  CU_ASSERT_EQUAL (product, 3.0 * (1 << 20));
}

/* -- Bundling ----------------------------------------------------------- */

typedef struct
{
  guint8 input[64], output[64];
  _Atomic guint on_cpu, on_gpu;
  char how;
} Bundling;

/* Interleaves the blocks' bytes backwards, or spoils them. */
static gboolean
bundle (const HassBlock *blocks, gsize n, HassStaging *staging, gpointer data,
        GError **error)
{
  Bundling *b = data;
  (void)error;
  for (gsize i = 0; i < n; i++)
    {
      staging->data[i] = *blocks[n - 1 - i].input;
      staging->offsets[i] = i;
    }
  staging->offsets[n] = n;
  if (b->how == 'w')
    staging->data[staging->capacity + 3] = 1;
  else if (b->how == 'o')
    staging->offsets[n] = staging->capacity + 1;
  else if (b->how == 'd')
    staging->offsets[0] = n + 1;
  return b->how != 'f';
}

static gboolean
unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
          gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < n; i++)
    *blocks[n - 1 - i].output = staging->data[i];
  return TRUE;
}

static void
add_constant (const HassBundle *bundle, gpointer data)
{
  Bundling *b = data;
  for (gsize i = 0; i < bundle->input_bytes; i++)
    bundle->output[i] = bundle->input[i] + *(guint8 *)bundle->constants[0];
  b->on_gpu += bundle->n_blocks;
}

static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)error;
  stand_in_launch (stream, add_constant, bundle, data);
  return TRUE;
}

static gboolean
on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
        GError **error)
{
  Bundling *b = data;
  (void)error;
  *block->output
      = *block->input + *(const guint8 *)hass_worker_constant (worker, 0);
  b->on_cpu++;
  return TRUE;
}

static void
run_bundling (Bundling *b, gboolean cpu, HassReport **report, GError **error)
{
  static const guint8 seven = 7;
  HassConstant constant = { &seven, 1 };
  StandInPlan plan = { .depth = 2 };
  HassDevice *device = stand_in_new (&plan);
  HassLoad loads[64];
  HassDataFarm f = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < 64; i++)
    {
      b->input[i] = i;
      b->output[i] = 0;
      loads[i] = (HassLoad){ .input = &b->input[i],
                             .input_bytes = 1,
                             .output = &b->output[i],
                             .output_bytes = 1,
                             .size = 1 };
    }
  f.loads = loads;
  f.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = cpu ? on_cpu : NULL;
  f.gpu_worker = on_gpu;
  f.bundle = bundle;
  f.unbundle = unbundle;
  f.constants = &constant;
  f.n_constants = 1;
  f.user_data = b;
  f.run.devices = &device;
  f.run.n_devices = 1;
  f.run.n_cores = 1;
  guarded (hass_data_farm_combine, &f, report, error);
  CU_ASSERT_PTR_NULL (stand_in_counts (device).wrong);
  stand_in_free (device);
}

static gboolean
all_right (const Bundling *b)
{
  for (guint i = 0; i < 64; i++)
    if (b->output[i] != i + 7)
      return FALSE;
  return TRUE;
}

static void
own_layout (void)
{
  Bundling b = { .how = ' ' };
  GError *error = NULL;
  run_bundling (&b, FALSE, NULL, &error);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (b.on_gpu, 64);
  CU_ASSERT_TRUE (all_right (&b));
}

static void
bundler_overruns (void)
{
  for (const char *how = "wodf"; *how; how++)
    {
      Bundling b = { .how = *how };
      g_autoptr (HassReport) report = NULL;
      GError *error = NULL;
      run_bundling (&b, TRUE, &report, &error);
      CU_ASSERT_PTR_NULL (error);
      CU_ASSERT_EQUAL (b.on_cpu, 64);
      CU_ASSERT_EQUAL (b.on_gpu, 0);
      CU_ASSERT_TRUE (all_right (&b));
      CU_ASSERT_TRUE (report->devices[1].failures > 0);
      g_clear_pointer (&report, hass_report_free);
      run_bundling (&b, FALSE, &report, &error);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      CU_ASSERT_EQUAL (report->unfinished[0].n_loads, 64);
      g_clear_error (&error);
    }
}

HASS_TEST_SUITE (
    data_farm,
    { "a generator that fails stops the farm and names what it emitted",
      generator_stops },
    { "with CONTINUE what it emitted is finished and the error returned",
      generator_continues },
    { "a divisible load's sizes must fit", wrong_sizes },
    { "a load may have as many elements as a number holds", longest_load },
    { "blocks that do not tile their load are refused", bad_partitions },
    { "a partitioner may move the ends of blocks", blocks_at_boundaries },
    { "a collector that fails stops the farm and is not called again",
      collector_fails },
    { "also when results are delivered after the stop",
      collector_fails_at_the_end },
    { "no unit begins further ahead than the ordered window", window_holds },
    { "accumulators begin neutral and are reduced into the user's", reduced },
    { "a bundler may lay data out anew", own_layout },
    { "a bundler that breaks its rules fails the bundle, not the farm",
      bundler_overruns })

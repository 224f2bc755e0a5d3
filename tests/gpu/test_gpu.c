/* SPDX-License-Identifier: MIT */
/* Farms on the real GPUs of the machine; skipped where there is none.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "device/cuda/gpus-private.h"
#include "kernels.h"

static gboolean
absent (void)
{
  if (!kernel_sum)
    hass_test_skip ("built without nvcc");
  else if (hass_gpus_count () == 0)
    hass_test_skip ("no GPU");
  else
    return FALSE;
  return TRUE;
}

/* Under a sanitizer: less of everything. */
static gsize
scaled (gsize n)
{
  return g_getenv ("TEST_GPU_SMALL") ? n / 50 + 1 : n;
}

static guint64 state = 88172645463325252u;

static guint64
next_random (void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static guint8 *
random_bytes (gsize n, gboolean pinned)
{
  guint8 *bytes = pinned ? hass_memory_alloc (n, NULL) : g_malloc (n);
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(next_random () >> 32);
  return bytes;
}

static HassReport *
must_run (gboolean (*run) (const HassDataFarm *, HassReport **, GError **),
          const HassDataFarm *farm)
{
  GError *error = NULL;
  HassReport *report = NULL;
  gboolean ok = run (farm, &report, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    fprintf (stderr, "%s\n", error->message);
  for (guint d = 0; report && d < report->n_devices; d++)
    if (report->devices[d].lost || report->devices[d].message)
      fprintf (stderr, "%s: %s\n", report->devices[d].name,
               report->devices[d].message);
  g_clear_error (&error);
  return report;
}

/* All GPUs together. */
static const HassDeviceReport *
gpu_of (const HassReport *report)
{
  static HassDeviceReport sum;
  sum = (HassDeviceReport){ 0 };
  for (guint d = 0; report && d < report->n_devices; d++)
    {
      const HassDeviceReport *v = &report->devices[d];
      if (v->kind != HASS_DEVICE_GPU)
        continue;
      sum.direct_bytes += v->direct_bytes;
      sum.staged_bytes += v->staged_bytes;
      sum.registered_bytes += v->registered_bytes;
      sum.failures += v->failures;
      sum.peak_bytes = MAX (sum.peak_bytes, v->peak_bytes);
      sum.message = v->message ? v->message : sum.message;
    }
  return &sum;
}

/* -- Ascents: halos, accumulators, records ------------------------------ */

static gboolean
ascent (const guint8 *text, gsize i, gsize n)
{
  return i + 1 < n && text[i] != 255 && text[i] + 1 == text[i + 1];
}

static guint64
count_all (const guint8 *text, gsize n)
{
  guint64 count = 0;
  for (gsize i = 0; i < n; i++)
    count += ascent (text, i, n);
  return count;
}

static gboolean
count_on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  guint64 *sum = hass_worker_accumulator (worker);
  gsize n = block->count + block->halo_after;
  guint64 count = 0;
  (void)data;
  (void)error;
  for (gsize i = 0; i < block->count; i++)
    count += ascent (block->input, i, n);
  *sum += count;
  return TRUE;
}

static void
add_counts (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)data;
  *(guint64 *)accumulator += *(const guint64 *)part;
}

static HassReport *
count_ascents (guint8 *text, gsize n, gboolean cpu, const char *strategy,
               gsize block, guint64 *count)
{
  HassLoad load = { .input = text, .input_bytes = n, .size = n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  *count = 0;
  farm.name = "ascents";
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = cpu ? count_on_cpu : NULL;
  farm.gpu_worker = kernel_count_ascents;
  farm.block_elements = block;
  farm.halo_elements = 1;
  farm.reduce = add_counts;
  farm.accumulator = count;
  farm.accumulator_bytes = sizeof *count;
  farm.run.strategy = strategy;
  return must_run (hass_data_farm_partition, &farm);
}

static void
streams_pinned (void)
{
  gsize n = scaled (200000003);
  guint64 count;
  if (absent ())
    return;
  guint8 *text = random_bytes (n, TRUE);
  guint64 right = count_all (text, n);
  HassReport *r = count_ascents (text, n, FALSE, NULL, 1 << 20, &count);
  CU_ASSERT_EQUAL (count, right);
  CU_ASSERT_TRUE (gpu_of (r)->direct_bytes >= n);
  CU_ASSERT_EQUAL (gpu_of (r)->staged_bytes, 0);
  hass_report_free (r);
  static const char *const strategies[]
      = { "naive-greedy", "modified-greedy", "hass-p", "min-min" };
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    {
      r = count_ascents (text, n, TRUE, strategies[s], 1 << 20, &count);
      CU_ASSERT_EQUAL (count, right);
      hass_report_free (r);
    }
  hass_memory_free (text);
}

static void
takes_pageable (void)
{
  gsize n = scaled (150000001);
  guint64 count;
  if (absent ())
    return;
  guint8 *text = random_bytes (n, FALSE);
  guint64 right = count_all (text, n);
  HassReport *r = count_ascents (text + 5, n - 5, FALSE, NULL, 1 << 18, &count);
  right -= count_all (text, 6);
  CU_ASSERT_EQUAL (count, right);
  const HassDeviceReport *gpu = gpu_of (r);
  CU_ASSERT_EQUAL (gpu->direct_bytes, 0);
  CU_ASSERT_TRUE (gpu->staged_bytes + gpu->registered_bytes >= n - 5);
  CU_ASSERT_TRUE (gpu->staged_bytes > 0);
  char *table = hass_report_to_string (r);
  fprintf (stderr, "\n%s", table);
  g_free (table);
  hass_report_free (r);
  CU_ASSERT_TRUE (hass_memory_register (text, n, NULL));
  r = count_ascents (text + 5, n - 5, FALSE, NULL, 1 << 18, &count);
  CU_ASSERT_EQUAL (count, right);
  CU_ASSERT_EQUAL (gpu_of (r)->staged_bytes, 0);
  hass_report_free (r);
  hass_memory_unregister (text);
  g_free (text);
}

typedef struct
{
  const guint8 *text;
  gsize n;
  GArray *found; /* guint64 */
} Listing;

static gboolean
list_block (const HassBlock *block, HassWorker *worker)
{
  gsize n = block->count + block->halo_after;
  for (gsize i = 0; i < block->count; i++)
    {
      guint64 at = block->first + i;
      if (ascent (block->input, i, n)
          && !hass_worker_result (worker, &at, sizeof at))
        return FALSE;
    }
  return TRUE;
}

static gboolean
list_on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)data;
  (void)error;
  return list_block (block, worker);
}

static gint
by_value (gconstpointer a, gconstpointer b)
{
  guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return (x > y) - (x < y);
}

static gboolean
list_records (const HassBlock *block, gconstpointer records, gsize n,
              HassWorker *worker, gpointer data, GError **error)
{
  g_autofree guint64 *sorted = g_memdup2 (records, n * sizeof (guint64));
  (void)data;
  (void)error;
  if (n > 0)
    qsort (sorted, n, sizeof *sorted, by_value);
  for (gsize i = 0; i < n; i++)
    {
      guint64 at = block->first + sorted[i];
      if (!hass_worker_result (worker, &at, sizeof at))
        return FALSE;
    }
  return TRUE;
}

static gboolean
keep (const HassResult *result, gpointer data, GError **error)
{
  Listing *listing = data;
  (void)error;
  g_array_append_vals (listing->found, result->data, 1);
  return TRUE;
}

/* As the default, but cut at odd places, so blocks stay apart. */
static gboolean
cut_oddly (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  (void)load;
  (void)data;
  (void)error;
  block->count = MIN (count, 1000 + first % 777);
  return TRUE;
}

static void
check_listing (guint8 *text, gsize n, gboolean cpu, gboolean odd,
               double expected)
{
  Listing listing = { text, n, g_array_new (FALSE, FALSE, sizeof (guint64)) };
  HassLoad load = { .input = text, .input_bytes = n, .size = n };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "listing";
  farm.user_data = &listing;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = cpu ? list_on_cpu : NULL;
  farm.gpu_worker = kernel_list_ascents;
  farm.gpu_result = list_records;
  farm.gpu_record_bytes = sizeof (guint64);
  farm.gpu_records_per_element = expected;
  farm.partition = odd ? cut_oddly : NULL;
  farm.block_elements = odd ? 2000 : 100000;
  farm.halo_elements = 1;
  farm.collect = keep;
  farm.order = HASS_RESULTS_ORDERED;
  hass_report_free (must_run (hass_data_farm_partition, &farm));
  guint at = 0;
  gboolean same = TRUE;
  for (gsize i = 0; i < n; i++)
    if (ascent (text, i, n))
      same &= at < listing.found->len
              && g_array_index (listing.found, guint64, at++) == i;
  CU_ASSERT_TRUE (same);
  CU_ASSERT_EQUAL (at, listing.found->len);
  g_array_unref (listing.found);
}

static void
lists_records (void)
{
  gsize n = scaled (20000003);
  if (absent ())
    return;
  guint8 *text = random_bytes (n, TRUE);
  check_listing (text, n, FALSE, FALSE, 0);
  check_listing (text, n, TRUE, FALSE, 1.0 / 100);
  check_listing (text, n / 10, FALSE, TRUE, 0);
  check_listing (text, n / 10, TRUE, TRUE, 0);
  /* Every byte but the last of 256 ascends: far more than expected. */
  for (gsize i = 0; i < n; i++)
    text[i] = (guint8)i;
  check_listing (text, n / 4, FALSE, FALSE, 1e-6);
  hass_memory_free (text);
}

/* -- Scattered loads ---------------------------------------------------- */

typedef struct
{
  guint8 *bytes;
  HassLoad *loads;
  guint64 *sums;
  gsize n;
} Scattered;

static Scattered
scatter (gsize n, gsize least, gsize most)
{
  Scattered s
      = { .loads = g_new0 (HassLoad, n), .sums = g_new0 (guint64, n), .n = n };
  s.bytes = random_bytes (n * most, FALSE);
  for (gsize i = 0; i < n; i++)
    {
      gsize at = (i * 7919) % n;
      s.loads[i].input = s.bytes + at * most;
      s.loads[i].input_bytes = least + next_random () % (most - least + 1);
      s.loads[i].size = s.loads[i].input_bytes;
      s.loads[i].output = &s.sums[i];
      s.loads[i].output_bytes = sizeof (guint64);
    }
  return s;
}

static guint64
sum_of (const HassLoad *load)
{
  const guint8 *in = load->input;
  guint64 sum = 0;
  for (gsize k = 0; k < load->input_bytes; k++)
    sum += in[k];
  return sum;
}

static void
check_sums (Scattered *s)
{
  guint wrong = 0;
  for (gsize i = 0; i < s->n; i++)
    wrong += s->sums[i] != sum_of (&s->loads[i]);
  CU_ASSERT_EQUAL (wrong, 0);
  memset (s->sums, 0, s->n * sizeof *s->sums);
}

static void
scattered_free (Scattered *s)
{
  g_free (s->bytes);
  g_free (s->loads);
  g_free (s->sums);
}

static gboolean
sum_on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)worker;
  (void)data;
  (void)error;
  guint64 sum = sum_of (block->load);
  memcpy (block->output, &sum, sizeof sum);
  return TRUE;
}

static HassDataFarm
sum_farm (Scattered *s, gboolean cpu, HassGpuWorkerFunc gpu)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "sums";
  farm.loads = s->loads;
  farm.n_loads = s->n;
  farm.cpu_worker = cpu ? sum_on_cpu : NULL;
  farm.gpu_worker = gpu;
  return farm;
}

static void
sums_loads (void)
{
  if (absent ())
    return;
  for (guint round = 0; round < 3; round++)
    {
      Scattered s = round == 0   ? scatter (4096, 4096, 4096)
                    : round == 1 ? scatter (20000, 0, 300)
                                 : scatter (500, 1, 400000);
      HassDataFarm farm = sum_farm (&s, FALSE, kernel_sum);
      hass_report_free (must_run (hass_data_farm_combine, &farm));
      check_sums (&s);
      farm = sum_farm (&s, TRUE, kernel_sum);
      farm.cost = HASS_COST_SIZED;
      hass_report_free (must_run (hass_data_farm_combine, &farm));
      check_sums (&s);
      farm.cost = HASS_COST_UNKNOWN;
      hass_report_free (must_run (hass_data_farm_indivisible, &farm));
      check_sums (&s);
      scattered_free (&s);
    }
}

/* -- Outputs, tiles, constants ------------------------------------------ */

static void
writes_outputs (void)
{
  gsize n = scaled (50000000);
  guint8 seven = 7;
  HassConstant constant = { &seven, 1 };
  if (absent ())
    return;
  guint8 *in = random_bytes (n, TRUE);
  guint8 *outs[] = { hass_memory_alloc (n, NULL), g_malloc (n) };
  for (guint o = 0; o < 2; o++)
    {
      HassLoad load = { .input = in,
                        .input_bytes = n,
                        .size = n,
                        .output = outs[o],
                        .output_bytes = n };
      HassDataFarm farm = HASS_DATA_FARM_INIT;
      farm.name = "add";
      farm.loads = &load;
      farm.n_loads = 1;
      farm.gpu_worker = kernel_add;
      farm.block_elements = 65536;
      farm.constants = &constant;
      farm.n_constants = 1;
      hass_report_free (must_run (hass_data_farm_partition, &farm));
      gsize wrong = 0;
      for (gsize i = 0; i < n; i++)
        wrong += outs[o][i] != (guint8)(in[i] + 7);
      CU_ASSERT_EQUAL (wrong, 0);
    }
  hass_memory_free (in);
  hass_memory_free (outs[0]);
  g_free (outs[1]);
}

#define SIDE 1000
#define TILE 96
#define TILES ((SIDE + TILE - 1) / TILE)

static gboolean
cut_tiles (const HassLoad *load, gsize first, gsize count, HassBlock *block,
           gpointer data, GError **error)
{
  gsize row = first / TILES * TILE, column = first % TILES * TILE;
  gsize rows = MIN (TILE, SIDE - row), columns = MIN (TILE, SIDE - column);
  (void)load;
  (void)count;
  (void)error;
  block->output = (guint8 *)((guint32 *)data + row * SIDE + column);
  block->output_row_bytes = columns * 4;
  block->output_pitch = SIDE * 4;
  block->output_bytes = rows * columns * 4;
  return TRUE;
}

static void
writes_tiles (void)
{
  if (absent ())
    return;
  guint32 *matrices[] = { hass_memory_alloc (SIDE * SIDE * 4, NULL),
                          g_malloc (SIDE * SIDE * 4) };
  for (guint i = 0; i < 4; i++)
    {
      guint m = i / 2, join = i % 2;
      HassLoad load = { .size = TILES * TILES };
      HassDataFarm farm = HASS_DATA_FARM_INIT;
      memset (matrices[m], 0xff, SIDE * SIDE * 4);
      farm.name = "tiles";
      farm.user_data = matrices[m];
      farm.loads = &load;
      farm.n_loads = 1;
      farm.partition = cut_tiles;
      farm.block_elements = 1;
      farm.join_tiles = join;
      farm.gpu_worker = join ? kernel_joined_tile : kernel_tile;
      hass_report_free (must_run (hass_data_farm_partition, &farm));
      gsize wrong = 0;
      for (gsize r = 0; r < SIDE; r++)
        for (gsize c = 0; c < SIDE; c++)
          {
            gsize tile = r / TILE * TILES + c / TILE;
            gsize columns = MIN (TILE, SIDE - c / TILE * TILE);
            gsize cell = r % TILE * columns + c % TILE;
            wrong += matrices[m][r * SIDE + c] != tile * 1000 + cell;
          }
      CU_ASSERT_EQUAL (wrong, 0);
    }
  hass_memory_free (matrices[0]);
  g_free (matrices[1]);
}

/* -- Tasks -------------------------------------------------------------- */

static gboolean
task_on_cpu (const HassTask *task, HassWorker *worker, gpointer data,
             GError **error)
{
  guint64 x = *(const guint64 *)task->input;
  (void)worker;
  (void)data;
  (void)error;
  *(guint64 *)task->output = task->gpu_function == 0 ? 3 * x : x + 100;
  return TRUE;
}

static void
runs_tasks (void)
{
  enum
  {
    N = 3000
  };
  static guint64 in[N], out[N];
  static HassTask tasks[N];
  if (absent ())
    return;
  for (guint way = 0; way < 4; way++)
    {
      for (guint i = 0; i < N; i++)
        {
          guint f = i % 3 == 0;
          in[i] = i * 17;
          out[i] = 0;
          tasks[i] = (HassTask){ .cpu = way % 2 && i % 5 ? task_on_cpu : NULL,
                                 .gpu = way >= 2 ? kernel_task_table
                                        : f      ? kernel_task_add
                                                 : kernel_task_triple,
                                 .gpu_function = f,
                                 .input = &in[i],
                                 .input_bytes = 8,
                                 .output = &out[i],
                                 .output_bytes = 8,
                                 .expected_time = 1 + i % 7,
                                 .parallelism = i % 4 == 0 ? 64 : 1 };
        }
      HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
      GError *error = NULL;
      farm.name = "tasks";
      farm.tasks = tasks;
      farm.n_tasks = N;
      CU_ASSERT_TRUE (hass_function_farm (&farm, NULL, &error));
      if (error)
        fprintf (stderr, "%s\n", error->message);
      g_clear_error (&error);
      guint wrong = 0;
      for (guint i = 0; i < N; i++)
        wrong += out[i] != (i % 3 == 0 ? in[i] + 100 : 3 * in[i]);
      CU_ASSERT_EQUAL (wrong, 0);
    }
}

/* -- Memory ------------------------------------------------------------- */

static void
keeps_to_memory (void)
{
  if (absent ())
    return;
  Scattered s = scatter (40, 2 << 20, 3 << 20);
  g_setenv ("HASS_GPU_MEM", "12M", TRUE);
  hass_gpus_forget ();
  HassDataFarm farm = sum_farm (&s, FALSE, kernel_sum);
  HassReport *r = must_run (hass_data_farm_combine, &farm);
  check_sums (&s);
  CU_ASSERT_TRUE (gpu_of (r)->peak_bytes <= 12 << 20);
  hass_report_free (r);
  /* A load that can never fit: on the CPU, or an error that names it. */
  g_setenv ("HASS_GPU_MEM", "2500K", TRUE);
  hass_gpus_forget ();
  farm = sum_farm (&s, TRUE, kernel_sum);
  r = must_run (hass_data_farm_combine, &farm);
  check_sums (&s);
  hass_report_free (r);
  farm = sum_farm (&s, FALSE, kernel_sum);
  GError *error = NULL;
  CU_ASSERT_FALSE (hass_data_farm_combine (&farm, NULL, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "needs"));
  if (error)
    fprintf (stderr, "\n(expected) %s\n", error->message);
  g_clear_error (&error);
  g_unsetenv ("HASS_GPU_MEM");
  hass_gpus_forget ();
  scattered_free (&s);
}

/* -- Faults ------------------------------------------------------------- */

static void
survives_bad_launches (void)
{
  if (absent ())
    return;
  Scattered s = scatter (2000, 100, 1000);
  HassDataFarm farm = sum_farm (&s, TRUE, kernel_bad_launch);
  GError *error = NULL;
  HassReport *r = NULL;
  farm.run.strategy = "gpu-only"; /* or cores may be done before it asks */
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  check_sums (&s);
  CU_ASSERT_TRUE (gpu_of (r)->failures > 0);
  CU_ASSERT_PTR_NOT_NULL (gpu_of (r)->message);
  hass_report_free (r);
  g_clear_error (&error);
  farm = sum_farm (&s, FALSE, kernel_bad_launch);
  CU_ASSERT_FALSE (hass_data_farm_combine (&farm, NULL, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "no device is left"));
  g_clear_error (&error);
  /* Nothing is broken: the next farm runs. */
  farm = sum_farm (&s, FALSE, kernel_sum);
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  check_sums (&s);
  scattered_free (&s);
}

/* These break the process's CUDA context or a GPU, so each runs in a process
   of its own: this program again, told so by TEST_GPU_FAULT. */
static void
in_child (const char *fault)
{
  g_auto (GStrv) env
      = g_environ_setenv (g_get_environ (), "TEST_GPU_FAULT", fault, TRUE);
  char *argv[] = { "/proc/self/exe", "--suite", "gpu_fault_child", NULL };
  gint status = -1;
  g_autofree char *out = NULL, *err = NULL;
  GError *error = NULL;
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  argv[0] = self;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, env, 0, NULL, NULL, &out, &err,
                                &status, &error));
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (out && strstr (out, "passed"));
  if (status != 0)
    fprintf (stderr, "%s\n%s\n", out, err);
  g_clear_error (&error);
}

static void
survives (const char *fault)
{
  if (absent ())
    return;
  if (g_getenv ("TEST_GPU_SMALL"))
    hass_test_skip ("not under a sanitizer");
  else
    in_child (fault);
}

static void
survives_assert (void)
{
  survives ("assert");
}

static void
survives_hang (void)
{
  survives ("hang");
}

static void
fault_child (void)
{
  const char *fault = g_getenv ("TEST_GPU_FAULT");
  if (absent ())
    return;
  if (!fault)
    {
      hass_test_skip ("runs as a child of gpu");
      return;
    }
  gboolean hang = strcmp (fault, "hang") == 0;
  Scattered s = scatter (3000, 100, 2000);
  /* Cores would be done before the GPU is started. */
  HassDataFarm farm = sum_farm (&s, FALSE, kernel_sum);
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  farm = sum_farm (&s, TRUE, hang ? kernel_loop : kernel_assert);
  GError *error = NULL;
  HassReport *r = NULL;
  farm.run.bundle_deadline_ms = hang ? 300 : 0;
  gint64 begin = g_get_monotonic_time ();
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  CU_ASSERT_TRUE (g_get_monotonic_time () - begin < 3500000);
  check_sums (&s);
  guint n_lost = 0;
  for (guint d = 0; d < r->n_devices; d++)
    {
      n_lost += r->devices[d].lost;
      fprintf (stderr, "%s: %s\n", r->devices[d].name, r->devices[d].message);
    }
  CU_ASSERT_TRUE (n_lost > 0);
  hass_report_free (r);
  /* And the next farm, without that GPU. */
  farm.gpu_worker = kernel_sum;
  farm.run.bundle_deadline_ms = 0;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  check_sums (&s);
  hass_report_free (r);
  if (!hang)
    {
      farm = sum_farm (&s, FALSE, kernel_sum);
      CU_ASSERT_FALSE (hass_data_farm_combine (&farm, NULL, &error));
      CU_ASSERT_TRUE (error && strstr (error->message, "no GPU"));
      if (error)
        fprintf (stderr, "(expected) %s\n", error->message);
      g_clear_error (&error);
    }
  scattered_free (&s);
}

/* -- Waiting ------------------------------------------------------------ */

static double
cpu_seconds (void)
{
  struct rusage u;
  getrusage (RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_stime.tv_sec
         + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void
waits_without_spinning (void)
{
  double ms = 60;
  if (absent ())
    return;
  if (g_getenv ("TEST_GPU_SMALL"))
    {
      hass_test_skip ("not under a sanitizer");
      return;
    }
  Scattered s = scatter (16, 1000, 1000);
  HassDataFarm farm = sum_farm (&s, FALSE, kernel_slow);
  farm.user_data = &ms;
  farm.run.n_gpus = 1;
  farm.run.strategy = "naive-greedy";
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  double cpu = cpu_seconds ();
  gint64 begin = g_get_monotonic_time ();
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  double wall = (g_get_monotonic_time () - begin) * 1e-6;
  cpu = cpu_seconds () - cpu;
  check_sums (&s);
  fprintf (stderr, "\n%.1f ms of a core in %.0f ms of the GPU\n", cpu * 1e3,
           wall * 1e3);
  CU_ASSERT_TRUE (cpu < 0.05 * wall);
  scattered_free (&s);
}

/* CUDA 12 and later know none before 5. */
static void
tells_generation (void)
{
  if (absent ())
    return;
  for (guint i = 0; i < hass_gpus_count (); i++)
    {
      guint major = hass_gpus_get (i)->properties.compute_major;
      fprintf (stderr, "\ngpu%u: compute capability %u.*\n", i, major);
      CU_ASSERT_TRUE (major >= 5 && major < 100);
    }
}

HASS_TEST_SUITE (
    gpu, { "a GPU tells its compute capability", tells_generation },
    { "a stream of pinned bytes is counted, halos included", streams_pinned },
    { "pageable bytes are registered or staged", takes_pageable },
    { "records of varying number arrive, however many", lists_records },
    { "scattered loads are summed", sums_loads },
    { "outputs go to pinned and other memory", writes_outputs },
    { "tiles go to their places", writes_tiles },
    { "tasks run by worker and by table", runs_tasks },
    { "no more memory is taken than may be", keeps_to_memory },
    { "a proxy sleeps while its GPU computes", waits_without_spinning },
    { "launch errors lose nothing", survives_bad_launches },
    { "a failed device assert loses nothing", survives_assert },
    { "a kernel past its deadline loses nothing", survives_hang })

HASS_TEST_SUITE (gpu_fault_child,
                 { "a fault, in a process of its own", fault_child })

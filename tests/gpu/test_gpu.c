/* SPDX-License-Identifier: MIT */
/* test_gpu.c: what farms compute on the real GPUs of the machine, the memory
   they use and how they wait; skipped where there is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "gpu_trial.h"
#include "kernels.h"
#include "tests/cpu_time.h"

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
  if (gpu_absent ())
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
  if (gpu_absent ())
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
  if (gpu_absent ())
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

static void
sums_loads (void)
{
  if (gpu_absent ())
    return;
  for (guint round = 0; round < 3; round++)
    {
      Scattered s = round == 0   ? scattered_new (4096, 4096, 4096)
                    : round == 1 ? scattered_new (20000, 0, 300)
                                 : scattered_new (500, 1, 400000);
      HassDataFarm farm = scattered_farm (&s, FALSE, kernel_sum);
      hass_report_free (must_run (hass_data_farm_combine, &farm));
      scattered_check (&s);
      farm = scattered_farm (&s, TRUE, kernel_sum);
      farm.cost = HASS_COST_SIZED;
      hass_report_free (must_run (hass_data_farm_combine, &farm));
      scattered_check (&s);
      farm.cost = HASS_COST_UNKNOWN;
      hass_report_free (must_run (hass_data_farm_indivisible, &farm));
      scattered_check (&s);
      scattered_free (&s);
    }
}

/* -- Memory ------------------------------------------------------------- */

static void
keeps_to_memory (void)
{
  if (gpu_absent ())
    return;
  Scattered s = scattered_new (40, 2 << 20, 3 << 20);
  g_setenv ("HASS_GPU_MEM", "12M", TRUE);
  hass_gpus_forget ();
  HassDataFarm farm = scattered_farm (&s, FALSE, kernel_sum);
  HassReport *r = must_run (hass_data_farm_combine, &farm);
  scattered_check (&s);
  CU_ASSERT_TRUE (gpu_of (r)->peak_bytes <= 12 << 20);
  hass_report_free (r);
  /* A load that can never fit: on the CPU, or an error that names it. */
  g_setenv ("HASS_GPU_MEM", "2500K", TRUE);
  hass_gpus_forget ();
  farm = scattered_farm (&s, TRUE, kernel_sum);
  r = must_run (hass_data_farm_combine, &farm);
  scattered_check (&s);
  hass_report_free (r);
  farm = scattered_farm (&s, FALSE, kernel_sum);
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

/* -- Waiting ------------------------------------------------------------ */

static void
waits_without_spinning (void)
{
  double ms = 60;
  if (gpu_absent ())
    return;
  if (g_getenv ("TEST_GPU_SMALL"))
    {
      hass_test_skip ("not under a sanitizer");
      return;
    }
  Scattered s = scattered_new (16, 1000, 1000);
  HassDataFarm farm = scattered_farm (&s, FALSE, kernel_slow);
  farm.user_data = &ms;
  farm.run.n_gpus = 1;
  farm.run.strategy = "naive-greedy";
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  cpu_time_await_rest ();
  double cpu = cpu_time_s ();
  gint64 begin = g_get_monotonic_time ();
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  double wall = (g_get_monotonic_time () - begin) * 1e-6;
  cpu = cpu_time_s () - cpu;
  scattered_check (&s);
  fprintf (stderr, "\n%.1f ms of a core in %.0f ms of the GPU\n", cpu * 1e3,
           wall * 1e3);
  CU_ASSERT_TRUE (cpu < 0.05 * wall);
  scattered_free (&s);
}

/* CUDA 12 and later know none before 5. */
static void
tells_generation (void)
{
  if (gpu_absent ())
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
    { "no more memory is taken than may be", keeps_to_memory },
    { "a proxy sleeps while its GPU computes", waits_without_spinning })

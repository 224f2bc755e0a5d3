/* SPDX-License-Identifier: MIT */
/* test_grants.c: what becomes of a grant on a device: parts that are alike, and
   what the strategy hears of the time that the GPU worker itself and kernels
   took, and of when it ended.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <unistd.h>

#include "tests/engine/counting.h"
#include "device/cuda/cudart-private.h"
#include "device/fake_machine.h"
#include "engine/core/feeder.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define SETUP_US 20000

/* Cuts a grant of @all units from @first on. Parts but the last, and the first
   that begins amid a step, differ by no more than a step. */
static gboolean
is_cut_well (guint32 first, guint32 all, guint32 most, guint32 multiple)
{
  guint32 step = multiple > most ? 1 : multiple, end = first + all, n = 0;
  guint32 least = G_MAXUINT32, largest = 0, before = first % step;
  gboolean ok = TRUE;
  for (guint32 at = first; at < end && ok; n++)
    {
      HassExtent rest = { at, end - at };
      guint32 part = hass_part_units (rest, most, multiple);
      ok = part >= 1 && part <= MIN (rest.n, most)
           && (part == rest.n || (at + part) % step == 0);
      at += part;
      if (at == end)
        break;
      least = MIN (least, n == 0 ? part + before : part);
      largest = MAX (largest, n == 0 ? part + before : part);
    }
  guint32 steps = (before + all - 1) / step + 1, fit = most / step;
  return ok && n + 1 == (steps - 1) / fit + 1
         && (n == 0 || largest - least <= step);
}

static void
parts_are_alike (void)
{
  guint n_wrong = 0;
  for (guint32 all = 1; all <= 300; all++)
    for (guint32 most = 1; most <= 70; most++)
      n_wrong += !is_cut_well (7, all, most, 1);
  CU_ASSERT_EQUAL (n_wrong, 0);
  HassExtent all = { 0, G_MAXUINT32 };
  CU_ASSERT_EQUAL (hass_part_units (all, G_MAXUINT32, 0), G_MAXUINT32);
}

static void
parts_end_at_multiples (void)
{
  guint n_wrong = 0;
  for (guint32 first = 0; first <= 40; first++)
    for (guint32 all = 1; all <= 300; all += 3)
      for (guint32 most = 1; most <= 70; most++)
        n_wrong += !is_cut_well (first, all, most, 16);
  CU_ASSERT_EQUAL (n_wrong, 0);
  CU_ASSERT_EQUAL (hass_part_units ((HassExtent){ 32, 4000 }, 64, 32), 64);
}

/* -- Whole rows --------------------------------------------------------- */

#define ELEMENTS 4000
#define ELEMENT_BYTES 1024
#define ROW 16
#define PART_ROWS 4

static guint n_bundles, n_amid, n_most;

/* In the order of the positions, wherever they lie. */
static gboolean
in_place (const HassLoad *load, gsize first, gsize count, HassBlock *block,
          gpointer data, GError **error)
{
  (void)data, (void)error;
  block->input = (const guint8 *)load->input + first * ELEMENT_BYTES;
  block->input_bytes = count * ELEMENT_BYTES;
  return TRUE;
}

static gboolean
note_ends (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  const HassBlock *last = &bundle->blocks[bundle->n_blocks - 1];
  gsize end = last->first + last->count;
  n_bundles++;
  n_amid += end % ROW > 0 && end != ELEMENTS;
  n_most = MAX (n_most, end - bundle->blocks[0].first);
  return counting_gpu_worker (bundle, stream, data, error);
}

/* In multiples of its own, which are not rows. */
static HassAnswer
grant_ragged (gpointer self, HassRound *round, guint device, gboolean force,
              HassGrant *grant)
{
  const HassStrategyEnv *env = self;
  (void)round, (void)force;
  grant->units = 2 * ROW + ROW / 2;
  grant->multiple = ROW + ROW / 4;
  return env->devices[device].kind == HASS_DEVICE_GPU ? HASS_TAKE : HASS_DONE;
}

/* The cores' share may leave a range that does not end with a row. */
static void
bundles_are_rows (void)
{
  static const HassStrategyOps ragged
      = { .struct_size = sizeof (HassStrategyOps),
          .name = "ragged",
          .summary = "grants no whole rows",
          .source = "tests",
          .farms = HASS_FARM_PARTITION,
          .create = trial_env,
          .grant = grant_ragged };
  static const char *const strategies[]
      = { "gpu-only", "static:cpu=0.1234", "ragged" };
  g_autofree guint8 *input = g_malloc0 (ELEMENTS * ELEMENT_BYTES);
  HassLoad load = { .size = ELEMENTS,
                    .input = input,
                    .input_bytes = ELEMENTS * ELEMENT_BYTES };
  hass_strategy_register (&ragged, NULL);
  g_setenv ("HASS_GPU_MEM", "240K", TRUE);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (strategies); i++)
    {
      g_autoptr (GError) error = NULL;
      HassDataFarm farm = HASS_DATA_FARM_INIT;
      fake_machine_begin (&(FakePlan){ .n_devices = 1 });
      n_bundles = n_amid = n_most = 0;
      farm.name = "rows";
      farm.loads = &load;
      farm.n_loads = 1;
      farm.cpu_worker = counting_cpu_worker;
      farm.gpu_worker = note_ends;
      farm.partition = i % 2 ? in_place : NULL;
      farm.block_elements = 1;
      farm.gpu_multiple = ROW;
      farm.run.n_cores = 2;
      farm.run.strategy = strategies[i / 2];
      farm.run.platform = "";
      watchdog (60, "a farm of rows");
      CU_ASSERT_TRUE (hass_data_farm_partition (&farm, NULL, &error));
      watchdog (0, NULL);
      CU_ASSERT_PTR_NULL (error);
      CU_ASSERT_TRUE (n_amid <= (i / 2 == 1));
      CU_ASSERT_TRUE (n_most <= PART_ROWS * ROW);
      CU_ASSERT_TRUE (n_bundles > ELEMENTS / ROW / PART_ROWS / 2);
      fake_machine_end ();
    }
  g_unsetenv ("HASS_GPU_MEM");
}

/* -- What a worker's own calls take ------------------------------------- */

static HassCompletion told[8];
static guint n_told, n_in_flight;

static HassAnswer
grant_one (gpointer self, HassRound *round, guint device, gboolean force,
           HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force;
  grant->source = HASS_FROM_FRONT;
  grant->units = 1;
  grant->in_flight = n_in_flight;
  return HASS_TAKE;
}

static void
note (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  if (n_told < G_N_ELEMENTS (told))
    told[n_told++] = *done;
}

static gboolean
slow_at_first (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
               GError **error)
{
  gboolean *made = data;
  if (!*made)
    usleep (SETUP_US);
  *made = TRUE;
  return counting_gpu_worker (bundle, stream, NULL, error);
}

/* A farm of five loads, one to a bundle, on a GPU that does as @plan says. */
static void
hear (HassGpuWorkerFunc worker, gpointer data, guint in_flight,
      const FakePlan *plan)
{
  static const HassStrategyOps ops = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "one-by-one-told",
                                       .summary = "notes what it is told",
                                       .source = "tests",
                                       .farms = HASS_FARM_COMBINE,
                                       .create = trial_env,
                                       .grant = grant_one,
                                       .observe = note };
  HassLoad loads[5] = {
    { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 }
  };
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&ops, NULL);
  fake_machine_begin (plan);
  n_told = 0;
  n_in_flight = in_flight;
  farm.name = "told";
  farm.loads = loads;
  farm.n_loads = G_N_ELEMENTS (loads);
  farm.gpu_worker = worker;
  farm.user_data = data;
  farm.run.strategy = ops.name;
  farm.run.platform = "";
  counting_reset ();
  watchdog (60, "a farm that is listened to");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (n_told, G_N_ELEMENTS (loads));
  fake_machine_end ();
}

static void
setup_is_told (void)
{
  gboolean made = FALSE;
  hear (slow_at_first, &made, 1, &(FakePlan){ .n_devices = 1 });
  CU_ASSERT_TRUE (told[0].worker_ns >= SETUP_US * 1e3);
  for (guint i = 1; i < n_told; i++)
    CU_ASSERT_TRUE (told[i].worker_ns > 0);
}

/* -- When a bundle left --------------------------------------------------- */

static HassGpuStream *of_first;
static gint64 left_ns; /* then all of the first bundle's work had ended */

/* While the second bundle is handed over, the first one ends. */
static gboolean
outlives_first (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
                GError **error)
{
  guint *n_calls = data;
  if (++*n_calls == 1)
    of_first = stream;
  else if (*n_calls == 2)
    {
      while (hass_cudart ()->stream_query (of_first) != 0)
        usleep (100);
      hass_cudart ()->last_error ();
      left_ns = hass_engine_clock ();
    }
  return counting_gpu_worker (bundle, stream, NULL, error);
}

/* The strategy is told when the bundle left, not when that was noticed. */
static void
end_is_told (void)
{
  guint n_calls = 0;
  hear (outlives_first, &n_calls, 2, &(FakePlan){ .n_devices = 1 });
  CU_ASSERT_TRUE (told[0].end_ns > told[0].grant_ns);
  CU_ASSERT_TRUE (told[0].end_ns <= left_ns);
  for (guint i = 1; i < n_told; i++)
    CU_ASSERT_TRUE (told[i].end_ns >= told[i - 1].end_ns);
}

/* -- How long kernels kept a device busy --------------------------------- */

#define KERNEL_US 3000

/* With three bundles in flight a kernel's time holds the wait for the kernel
   before, or both run at the same time. */
static void
busy_with_kernels (void)
{
  for (guint in_flight = 1; in_flight <= 3; in_flight += 2)
    {
      double busy_ns = 0, kernel_ns = 0;
      hear (counting_gpu_worker, NULL, in_flight,
            &(FakePlan){ .n_devices = 1, .kernel_delay_us = KERNEL_US });
      for (guint i = 0; i < n_told; i++)
        {
          busy_ns += told[i].kernel_busy_ns;
          kernel_ns += told[i].kernel_ns;
        }
      double took_ns = told[n_told - 1].end_ns - told[0].grant_ns;
      CU_ASSERT_TRUE (kernel_ns >= n_told * KERNEL_US * 1e3);
      CU_ASSERT_TRUE (busy_ns <= took_ns && busy_ns <= kernel_ns);
      CU_ASSERT_TRUE (busy_ns
                      >= (in_flight > 1 ? 1 : n_told) * 0.99 * KERNEL_US * 1e3);
    }
}

/* -- Units that fail ------------------------------------------------------ */

static gboolean
refuse (const HassBlock *block, gconstpointer records, gsize n_records,
        HassWorker *worker, gpointer data, GError **error)
{
  (void)records, (void)n_records, (void)worker, (void)data, (void)error;
  return block->seq != 1;
}

/* Two loads of three blocks each, the last of which is short: one bundle of two
   blocks, of which the second one's result fails. */
static void
failed_blocks_count (void)
{
  HassLoad loads[] = { { .size = 5 }, { .size = 5 } };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  farm.name = "failed";
  farm.loads = loads;
  farm.n_loads = G_N_ELEMENTS (loads);
  farm.block_elements = 2;
  farm.gpu_worker = counting_gpu_worker;
  farm.gpu_result = refuse;
  farm.run.on_error = HASS_ON_ERROR_CONTINUE;
  farm.run.strategy = "gpu-only";
  farm.run.platform = "";
  watchdog (60, "a farm with a block that fails");
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, &report, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (report->units, 3);
  CU_ASSERT_EQUAL (report->n_unfinished, 1);
  fake_machine_end ();
}

HASS_TEST_SUITE (
    grants, { "parts of a grant are alike", parts_are_alike },
    { "parts of a farm with a gpu_multiple end at a multiple",
      parts_end_at_multiples },
    { "bundles of a farm with a gpu_multiple are whole rows",
      bundles_are_rows },
    { "a worker's own time is told, the first one's too", setup_is_told },
    { "a grant has ended when it left the GPU, though that is noticed later",
      end_is_told },
    { "no time of kernels that overlap is counted twice", busy_with_kernels },
    { "a block that fails counts as all its units", failed_blocks_count })

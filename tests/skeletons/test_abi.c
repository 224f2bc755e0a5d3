/* SPDX-License-Identifier: MIT */
/* test_abi.c: the fields of public structs stay where programs that were built
   before expect them, and reserved words are refused by name.
   Thread safety: one thread. */
#include <stddef.h>
#include <string.h>

#include "hass/hass.h"
#include "hass/profile.h"
#include "hass_test.h"

#define AT(type, field, at)                                                    \
  {                                                                            \
#    type "." #    field, offsetof(type, field), at                            \
  }

/* On a machine of 64 bits. A new field is appended here and in its struct;
   where the struct is one of skeletons/abi.c it takes the place of reserved
   words, whose number becomes smaller by as much. */
static const struct
{
  const char *name;
  gsize is, was;
} fields[] = {
  AT (HassLoad, input, 0),
  AT (HassLoad, input_bytes, 8),
  AT (HassLoad, output, 16),
  AT (HassLoad, output_bytes, 24),
  AT (HassLoad, size, 32),
  AT (HassLoad, tag, 40),
  AT (HassLoad, cost, 48),
  AT (HassLoad, flags, 52),
  AT (HassBlock, load, 0),
  AT (HassBlock, seq, 8),
  AT (HassBlock, first, 16),
  AT (HassBlock, count, 24),
  AT (HassBlock, halo_before, 32),
  AT (HassBlock, halo_after, 40),
  AT (HassBlock, input, 48),
  AT (HassBlock, input_bytes, 56),
  AT (HassBlock, output, 64),
  AT (HassBlock, output_bytes, 72),
  AT (HassBlock, input_row_bytes, 80),
  AT (HassBlock, input_pitch, 88),
  AT (HassBlock, output_row_bytes, 96),
  AT (HassBlock, output_pitch, 104),
  AT (HassBlock, reserved, 112),
  AT (HassDeviceTraits, name, 0),
  AT (HassDeviceTraits, kind, 8),
  AT (HassDeviceTraits, cores, 12),
  AT (HassDeviceTraits, width, 16),
  AT (HassDeviceTraits, latency_ns, 24),
  AT (HassDeviceTraits, link_bytes_per_ns, 32),
  AT (HassDeviceTraits, work_per_ns, 40),
  AT (HassDeviceTraits, max_in_flight, 48),
  AT (HassDeviceTraits, link, 52),
  AT (HassDeviceTraits, memory_bytes, 56),
  AT (HassDeviceTraits, part_bytes, 64),
  AT (HassDeviceTraits, model, 72),
  AT (HassDeviceTraits, opening, 80),
  AT (HassDeviceTraits, opens_at_ns, 88),
  AT (HassDeviceTraits, opening_ns, 96),
  AT (HassDeviceTraits, load_flag, 104),
  AT (HassDeviceTraits, reserved, 112),
  AT (HassGrant, source, 0),
  AT (HassGrant, share, 4),
  AT (HassGrant, units, 8),
  AT (HassGrant, work, 16),
  AT (HassGrant, multiple, 24),
  AT (HassGrant, chunk, 32),
  AT (HassGrant, in_flight, 40),
  AT (HassGrant, taken, 48),
  AT (HassGrant, first, 56),
  AT (HassGrant, within_ns, 64),
  AT (HassGrant, reserved, 72),
  AT (HassProgress, units, 0),
  AT (HassProgress, work, 8),
  AT (HassProgress, busy_ns, 16),
  AT (HassConstant, data, 0),
  AT (HassConstant, bytes, 8),
  AT (HassRectangle, first_block, 0),
  AT (HassRectangle, n_blocks, 8),
  AT (HassRectangle, across, 16),
  AT (HassRectangle, offset, 24),
  AT (HassRectangle, row_bytes, 32),
  AT (HassRectangle, rows, 40),
  AT (HassStaging, data, 0),
  AT (HassStaging, capacity, 8),
  AT (HassStaging, offsets, 16),
  AT (HassBundleDone, slot, 0),
  AT (HassBundleDone, failed, 4),
  AT (HassBundleDone, too_large, 8),
  AT (HassBundleDone, lost, 12),
  AT (HassBundleDone, together, 16),
  AT (HassBundleDone, h2d_ns, 24),
  AT (HassBundleDone, kernel_ns, 32),
  AT (HassBundleDone, d2h_ns, 40),
  AT (HassBundleDone, host_ns, 48),
  AT (HassBundleDone, n_records, 56),
  AT (HassBundleDone, records, 64),
  AT (HassBundleDone, record_blocks, 72),
  AT (HassBundleDone, accumulator, 80),
  AT (HassBundleDone, worker_ns, 88),
  AT (HassBundleDone, kernel_busy_ns, 96),
  AT (HassBundleDone, reserved, 104),
  AT (HassTransfers, direct_bytes, 0),
  AT (HassTransfers, registered_bytes, 8),
  AT (HassTransfers, staged_bytes, 16),
  AT (HassTransfers, constant_bytes, 24),
  AT (HassTransfers, peak_bytes, 32),
  AT (HassTransfers, reserved, 40),
  AT (HassParameter, name, 0),
  AT (HassParameter, preset, 8),
  AT (HassParameter, min, 16),
  AT (HassParameter, max, 24),
  AT (HassParameter, help, 32),
  AT (HassProfileRate, work_per_ns, 0),
  AT (HassProfileRate, latency_ns, 8),
  AT (HassProfileRate, runs, 16),
  AT (HassProfileRate, reserved, 24),
  AT (HassDeviceSummary, units, 0),
  AT (HassDeviceSummary, work, 8),
  AT (HassDeviceSummary, bundles, 16),
  AT (HassDeviceSummary, busy_ns, 24),
  AT (HassDeviceSummary, last_finish_ns, 32),
  AT (HassDeviceSummary, reserved, 40),
  AT (HassTask, cpu, 0),
  AT (HassTask, gpu, 8),
  AT (HassTask, data, 16),
  AT (HassTask, input, 24),
  AT (HassTask, input_bytes, 32),
  AT (HassTask, output, 40),
  AT (HassTask, output_bytes, 48),
  AT (HassTask, expected_time, 56),
  AT (HassTask, parallelism, 64),
  AT (HassTask, gpu_function, 72),
  AT (HassTask, workers, 80),
  AT (HassTask, reserved, 88),
  AT (HassRunOptions, strategy, 0),
  AT (HassRunOptions, platform, 8),
  AT (HassRunOptions, dry, 16),
  AT (HassRunOptions, seed, 24),
  AT (HassRunOptions, n_cores, 32),
  AT (HassRunOptions, on_error, 36),
  AT (HassRunOptions, cancellable, 40),
  AT (HassRunOptions, deadline_ms, 48),
  AT (HassRunOptions, progress, 56),
  AT (HassRunOptions, progress_data, 64),
  AT (HassRunOptions, progress_interval_ms, 72),
  AT (HassRunOptions, trace, 80),
  AT (HassRunOptions, devices, 88),
  AT (HassRunOptions, n_devices, 96),
  AT (HassRunOptions, n_gpus, 100),
  AT (HassRunOptions, bundle_deadline_ms, 104),
  AT (HassRunOptions, record, 112),
  AT (HassRunOptions, explain, 120),
  AT (HassRunOptions, reserved, 128),
  AT (HassDeviceReport, name, 0),
  AT (HassDeviceReport, kind, 8),
  AT (HassDeviceReport, cores, 12),
  AT (HassDeviceReport, units, 16),
  AT (HassDeviceReport, bytes, 24),
  AT (HassDeviceReport, bundles, 32),
  AT (HassDeviceReport, failures, 40),
  AT (HassDeviceReport, work, 48),
  AT (HassDeviceReport, busy_s, 56),
  AT (HassDeviceReport, kernel_s, 64),
  AT (HassDeviceReport, waiting_s, 72),
  AT (HassDeviceReport, tail_s, 80),
  AT (HassDeviceReport, lost, 88),
  AT (HassDeviceReport, message, 96),
  AT (HassDeviceReport, direct_bytes, 104),
  AT (HassDeviceReport, registered_bytes, 112),
  AT (HassDeviceReport, staged_bytes, 120),
  AT (HassDeviceReport, constant_bytes, 128),
  AT (HassDeviceReport, peak_bytes, 136),
  AT (HassDeviceReport, reserved, 144),
  AT (HassUnfinished, seq, 0),
  AT (HassUnfinished, n_loads, 8),
  AT (HassUnfinished, first, 16),
  AT (HassUnfinished, count, 24),
  AT (HassUnfinished, message, 32),
  AT (HassUnfinished, reserved, 40),
  AT (HassDataFarm, struct_size, 0),
  AT (HassDataFarm, name, 8),
  AT (HassDataFarm, user_data, 16),
  AT (HassDataFarm, generate, 24),
  AT (HassDataFarm, loads, 32),
  AT (HassDataFarm, n_loads, 40),
  AT (HassDataFarm, cpu_worker, 48),
  AT (HassDataFarm, gpu_worker, 56),
  AT (HassDataFarm, partition, 64),
  AT (HassDataFarm, bundle, 72),
  AT (HassDataFarm, unbundle, 80),
  AT (HassDataFarm, collect, 88),
  AT (HassDataFarm, order, 96),
  AT (HassDataFarm, window_loads, 104),
  AT (HassDataFarm, reduce, 112),
  AT (HassDataFarm, reduce_init, 120),
  AT (HassDataFarm, reduce_clear, 128),
  AT (HassDataFarm, accumulator, 136),
  AT (HassDataFarm, accumulator_bytes, 144),
  AT (HassDataFarm, gpu_result, 152),
  AT (HassDataFarm, gpu_record_bytes, 160),
  AT (HassDataFarm, gpu_records_per_element, 168),
  AT (HassDataFarm, release, 176),
  AT (HassDataFarm, cost, 184),
  AT (HassDataFarm, block_elements, 192),
  AT (HassDataFarm, halo_elements, 200),
  AT (HassDataFarm, constants, 208),
  AT (HassDataFarm, n_constants, 216),
  AT (HassDataFarm, pool_loads, 224),
  AT (HassDataFarm, pool_bytes, 232),
  AT (HassDataFarm, round_loads, 240),
  AT (HassDataFarm, run, 248),
  AT (HassDataFarm, element_threads, 440),
  AT (HassDataFarm, join_tiles, 448),
  AT (HassDataFarm, gpu_multiple, 456),
  AT (HassDataFarm, workers, 464),
  AT (HassKindWorker, kind, 0),
  AT (HassKindWorker, worker, 8),
  AT (HassDeviceKindOps, struct_size, 0),
  AT (HassDeviceKindOps, name, 8),
  AT (HassDeviceKindOps, summary, 16),
  AT (HassDeviceKindOps, count, 24),
  AT (HassDeviceKindOps, create, 32),
  AT (HassDeviceKindOps, destroy, 40),
  AT (HassDeviceKindOps, problem, 48),
  AT (HassDeviceKindOps, check, 56),
  AT (HassFunctionFarm, struct_size, 0),
  AT (HassFunctionFarm, name, 8),
  AT (HassFunctionFarm, user_data, 16),
  AT (HassFunctionFarm, generate, 24),
  AT (HassFunctionFarm, tasks, 32),
  AT (HassFunctionFarm, n_tasks, 40),
  AT (HassFunctionFarm, collect, 48),
  AT (HassFunctionFarm, order, 56),
  AT (HassFunctionFarm, window_tasks, 64),
  AT (HassFunctionFarm, reduce, 72),
  AT (HassFunctionFarm, reduce_init, 80),
  AT (HassFunctionFarm, reduce_clear, 88),
  AT (HassFunctionFarm, accumulator, 96),
  AT (HassFunctionFarm, accumulator_bytes, 104),
  AT (HassFunctionFarm, release, 112),
  AT (HassFunctionFarm, constants, 120),
  AT (HassFunctionFarm, n_constants, 128),
  AT (HassFunctionFarm, pool_tasks, 136),
  AT (HassFunctionFarm, round_tasks, 144),
  AT (HassFunctionFarm, run, 152),
  AT (HassStrategyOps, struct_size, 0),
  AT (HassStrategyOps, name, 8),
  AT (HassStrategyOps, summary, 16),
  AT (HassStrategyOps, source, 24),
  AT (HassStrategyOps, farms, 32),
  AT (HassStrategyOps, parameters, 40),
  AT (HassStrategyOps, create, 48),
  AT (HassStrategyOps, begin_round, 56),
  AT (HassStrategyOps, grant, 64),
  AT (HassStrategyOps, granted, 72),
  AT (HassStrategyOps, observe, 80),
  AT (HassStrategyOps, end_round, 88),
  AT (HassStrategyOps, destroy, 96),
  AT (HassDeviceOps, struct_size, 0),
  AT (HassDeviceOps, kind, 8),
  AT (HassDeviceOps, describe, 16),
  AT (HassDeviceOps, open, 24),
  AT (HassDeviceOps, submit, 32),
  AT (HassDeviceOps, wait, 40),
  AT (HassDeviceOps, close, 48),
  AT (HassDeviceOps, transfers, 56),
  AT (HassDeviceOps, opening_ns, 64),
  AT (HassDeviceOps, unopened, 72),
  AT (HassStrategyEnv, struct_size, 0),
  AT (HassStrategyEnv, farm_name, 8),
  AT (HassStrategyEnv, farm, 16),
  AT (HassStrategyEnv, cost, 20),
  AT (HassStrategyEnv, n_devices, 24),
  AT (HassStrategyEnv, devices, 32),
  AT (HassStrategyEnv, parameters, 40),
  AT (HassStrategyEnv, seed, 48),
  AT (HassStrategyEnv, profile, 56),
  AT (HassStrategyEnv, entry_bytes, 64),
  AT (HassStrategyEnv, merge_ns, 72),
  AT (HassStrategyEnv, note, 80),
  AT (HassStrategyEnv, note_data, 88),
  AT (HassStrategyEnv, element_threads, 96),
  AT (HassCompletion, device, 0),
  AT (HassCompletion, units, 8),
  AT (HassCompletion, work, 16),
  AT (HassCompletion, elements, 24),
  AT (HassCompletion, bytes, 32),
  AT (HassCompletion, grant_ns, 40),
  AT (HassCompletion, start_ns, 48),
  AT (HassCompletion, end_ns, 56),
  AT (HassCompletion, h2d_ns, 64),
  AT (HassCompletion, kernel_ns, 72),
  AT (HassCompletion, d2h_ns, 80),
  AT (HassCompletion, first_of_round, 88),
  AT (HassCompletion, failed, 92),
  AT (HassCompletion, host_ns, 96),
  AT (HassCompletion, worker_ns, 104),
  AT (HassCompletion, kernel_busy_ns, 112),
  AT (HassRoundSummary, number, 0),
  AT (HassRoundSummary, units, 8),
  AT (HassRoundSummary, makespan_ns, 16),
  AT (HassRoundSummary, n_devices, 24),
  AT (HassRoundSummary, devices, 32),
  AT (HassBundle, n_blocks, 0),
  AT (HassBundle, blocks, 8),
  AT (HassBundle, input, 16),
  AT (HassBundle, offsets, 24),
  AT (HassBundle, halos, 32),
  AT (HassBundle, input_start, 40),
  AT (HassBundle, input_bytes, 48),
  AT (HassBundle, output, 56),
  AT (HassBundle, output_offsets, 64),
  AT (HassBundle, output_bytes, 72),
  AT (HassBundle, elements, 80),
  AT (HassBundle, n_elements, 88),
  AT (HassBundle, functions, 96),
  AT (HassBundle, accumulator, 104),
  AT (HassBundle, records, 112),
  AT (HassBundle, record_blocks, 120),
  AT (HassBundle, n_records, 128),
  AT (HassBundle, record_capacity, 136),
  AT (HassBundle, record_bytes, 144),
  AT (HassBundle, constants, 152),
  AT (HassBundle, n_constants, 160),
  AT (HassBundle, rectangles, 168),
  AT (HassBundle, n_rectangles, 176),
  AT (HassBundle, output_pitches, 184),
  AT (HassDeviceFarm, name, 0),
  AT (HassDeviceFarm, kind, 8),
  AT (HassDeviceFarm, gpu_worker, 16),
  AT (HassDeviceFarm, gpu_worker_of, 24),
  AT (HassDeviceFarm, gpu_function_of, 32),
  AT (HassDeviceFarm, bundle, 40),
  AT (HassDeviceFarm, unbundle, 48),
  AT (HassDeviceFarm, constants, 56),
  AT (HassDeviceFarm, n_constants, 64),
  AT (HassDeviceFarm, accumulator_bytes, 72),
  AT (HassDeviceFarm, accumulator_init, 80),
  AT (HassDeviceFarm, record_bytes, 88),
  AT (HassDeviceFarm, records_per_element, 96),
  AT (HassDeviceFarm, bundle_deadline_ns, 104),
  AT (HassDeviceFarm, user_data, 112),
  AT (HassDeviceFarm, unwanted, 120),
  AT (HassDeviceFarm, join_tiles, 128),
  AT (HassResult, seq, 0),
  AT (HassResult, tag, 8),
  AT (HassResult, first, 16),
  AT (HassResult, count, 24),
  AT (HassResult, data, 32),
  AT (HassResult, bytes, 40),
  AT (HassProgressInfo, elapsed_s, 0),
  AT (HassProgressInfo, loads_emitted, 8),
  AT (HassProgressInfo, units_done, 16),
  AT (HassProgressInfo, bytes_done, 24),
  AT (HassProgressInfo, generated, 32),
  AT (HassReport, farm, 0),
  AT (HassReport, strategy, 8),
  AT (HassReport, platform, 16),
  AT (HassReport, virtual_time, 24),
  AT (HassReport, makespan_s, 32),
  AT (HassReport, rounds, 40),
  AT (HassReport, loads, 48),
  AT (HassReport, units, 56),
  AT (HassReport, bytes, 64),
  AT (HassReport, results, 72),
  AT (HassReport, work, 80),
  AT (HassReport, bound_s, 88),
  AT (HassReport, efficiency, 96),
  AT (HassReport, lost_copies_s, 104),
  AT (HassReport, lost_imbalance_s, 112),
  AT (HassReport, lost_overhead_s, 120),
  AT (HassReport, n_devices, 128),
  AT (HassReport, devices, 136),
  AT (HassReport, n_unfinished, 144),
  AT (HassReport, unfinished, 152),
  AT (HassProfileEntry, machine, 0),
  AT (HassProfileEntry, farm, 8),
  AT (HassProfileEntry, kind, 16),
  AT (HassProfileEntry, cost, 20),
  AT (HassProfileEntry, device, 24),
  AT (HassProfileEntry, model, 32),
  AT (HassProfileEntry, work_per_ns, 40),
  AT (HassProfileEntry, latency_ns, 160),
  AT (HassProfileEntry, n_samples, 280),
  AT (HassProfileEntry, runs, 284),
  AT (HassProfileEntry, unit_work, 288),
  AT (HassProfileEntry, updated_s, 296),
  AT (HassProfileEntry, drifted_s, 304),
};

static void
fields_stay (void)
{
  if (sizeof (gpointer) != 8)
    {
      hass_test_skip ("the offsets are those of a machine of 64 bits");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if (fields[i].is != fields[i].was)
      {
        g_printerr ("\n    %s was at %zu and is at %zu", fields[i].name,
                    fields[i].was, fields[i].is);
        CU_FAIL ("a field has moved");
      }
}

/* -- Reserved words ----------------------------------------------------- */

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)error;
  *(gboolean *)data = TRUE;
  return TRUE;
}

static void
options (void)
{
  gboolean ran = FALSE;
  HassLoad load = { .size = 1 };
  for (guint i = 0; i < G_N_ELEMENTS (((HassRunOptions *)NULL)->reserved); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autofree char *word = g_strdup_printf ("run.reserved[%u]", i);
      GError *error = NULL;
      f.user_data = &ran;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = never;
      f.run.reserved[i] = &ran;
      CU_ASSERT_FALSE (hass_data_farm_combine (&f, NULL, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_PTR_NOT_NULL (error && strstr (error->message, word));
      g_clear_error (&error);
    }
  CU_ASSERT_FALSE (ran);
}

static gboolean
never_task (const HassTask *task, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)task, (void)worker, (void)error;
  *(gboolean *)data = TRUE;
  return TRUE;
}

static gboolean
never_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)error;
  *(gboolean *)data = TRUE;
  return TRUE;
}

static void
tasks (void)
{
  gboolean ran = FALSE;
  for (guint i = 0; i < 4; i++)
    {
      HassTask task = { .cpu = i & 2 ? NULL : never_task, .gpu = never_gpu };
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      GError *error = NULL;
      f.user_data = &ran;
      f.tasks = &task;
      f.n_tasks = 1;
      task.reserved[0] = 1;
      CU_ASSERT_FALSE (hass_function_farm (&f, NULL, &error));
      CU_ASSERT_PTR_NOT_NULL (error
                              && strstr (error->message, "reserved words"));
      g_clear_error (&error);
    }
  CU_ASSERT_FALSE (ran);
}

/* Each of a pair of names works on what the other one has made. */
static void
old_names (void)
{
  guint8 own[64];
  gpointer memory = hass_alloc (100, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (memory);
  memset (memory, 1, 100);
  hass_memory_free (memory);
  memory = hass_memory_alloc (100, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (memory);
  hass_free (memory);

  CU_ASSERT_TRUE (hass_register (own, sizeof own, NULL));
  CU_ASSERT_FALSE (hass_memory_register (own, sizeof own, NULL));
  hass_memory_unregister (own);
  CU_ASSERT_TRUE (hass_memory_register (own, sizeof own, NULL));
  CU_ASSERT_FALSE (hass_register (own, sizeof own, NULL));
  hass_unregister (own);
  CU_ASSERT_TRUE (hass_register (own, sizeof own, NULL));
  hass_unregister (own);
}

HASS_TEST_SUITE (
    abi, { "the fields of public structs stay where they are", fields_stay },
    { "an option of a later version is refused", options },
    { "a task of a later version is refused", tasks },
    { "the earlier names of the memory functions still work", old_names })

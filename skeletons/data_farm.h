/* SPDX-License-Identifier: MIT */
/* hass/data_farm.h: the three data farms (Zhang 2011, 3.3 and 5.1).
   Thread safety: farms may run on several threads at once; each call blocks
   its caller, which works along as one of the cores. */
#ifndef HASS_DATA_FARM_H
#define HASS_DATA_FARM_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

/**
 * HassDataFarm: a data farm; start from HASS_DATA_FARM_INIT or
 * hass_data_farm_init(), zero is the default everywhere. Settings that mean
 * nothing in the farm they are given to are HASS_ERROR_INVALID.
 * @struct_size: set by either. A struct may end after
 *   @cpu_worker; what is behind its end is zero. A shorter one, and one of a
 *   later version that sets what this library does not know, is
 *   HASS_ERROR_INVALID.
 * @name: in messages, reports and profiles; NULL: "farm".
 * @user_data: given to every callback.
 * @generate: emits the loads; or
 * @loads: [@n_loads] loads known at the start, which must stay valid and are
 *   not copied. Both may be given: the array comes first.
 * @cpu_worker, @gpu_worker, @workers: at least one that a present device can
 *   run. @gpu_worker is the worker for CUDA.
 * @partition: partition farm only; NULL slices evenly.
 * @bundle, @unbundle: NULL copies inputs and outputs one after another.
 * @collect: takes results; NULL: outputs are in place or reduced.
 * @order: of the results that @collect gets.
 * @window_loads: ORDERED: at most so many units are begun beyond the first
 *   unfinished one; 0: 8192.
 * @reduce, @reduce_init, @reduce_clear, @accumulator, @accumulator_bytes: each
 *   worker has an accumulator, of zeros or as @reduce_init sets it; at the end
 *   all are reduced into @accumulator [accumulator_bytes], which the user has
 *   initialised, and cleared, where they own something.
 * @gpu_result: takes what @gpu_worker has left for each block; NULL: its
 *   outputs are results as a CPU worker's are.
 * @gpu_record_bytes: results of varying number that @gpu_worker appends are
 *   records of so many bytes, which @gpu_result gets; 0: none.
 * @gpu_records_per_element: how many are to be expected; 0: 1/256. More are
 *   no error, but the bundle is then computed again.
 * @release: called once for each load that the library is done with.
 * @cost: what is known of the costs.
 * @block_elements: partition farm: elements in a block; 0: the library
 *   chooses by these rules, each of which outweighs those before it. As many as
 *   fill the widest device, its width / @element_threads (HASS_p's e), but at
 *   least 1/4096 of the load; at least 8 blocks for each core (without a CPU
 *   pool for each GPU); at least 16 halos; at least one block for each core.
 * @halo_elements: partition farm: elements readable on both sides of a block.
 *   The report counts what workers got of them (HassReport.halo_elements) as
 *   work done again; what all blocks read belongs into @constants.
 * @constants: [@n_constants] bytes that every worker may read; not owned.
 * @pool_loads, @pool_bytes: bounds of the load pool; 0: 8192 loads, 64 MiB.
 *   One load larger than @pool_bytes is let in alone.
 * @round_loads: at most so many loads in a round; 0: no bound but the pool's.
 * @run: how to run it.
 * @element_threads: GPU threads that @gpu_worker has for one element: 1 for a
 *   byte or a record, a thousand or so for a tile of a matrix. With it
 *   strategies know from the first bundle on how many elements fill a GPU; 0:
 *   they find out; the default block takes it as 1. Indivisible farms: not
 * used, a load is a thread block.
 * @join_tiles: blocks' outputs that are tiles of one array and follow each
 *   other side by side there lie in a GPU's memory as they do in the array, see
 *   #HassBundle.rectangles: long rows are copied back at the link's full rate,
 *   those of 4 KiB at a third of it. Then @gpu_worker must heed their pitch.
 * Not with @unbundle.
 * @gpu_multiple: GPUs get multiples of so many units, where as many wait, and
 *   their bundles end at multiples: the tiles in a row of tiles, so that a
 *   bundle is whole rows; 0: any number.
 * @workers: workers for further kinds of devices, ended by one whose kind is
 *   NULL; or NULL. An entry "cuda" is the same as @gpu_worker, and not allowed
 *   beside it. The farm runs on the machine's devices of each kind that has a
 *   worker here, and on given devices (HassRunOptions.devices) of such a kind.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  gpointer user_data;

  HassGenerateFunc generate;
  const HassLoad *loads;
  gsize n_loads;

  HassCpuWorkerFunc cpu_worker;
  HassGpuWorkerFunc gpu_worker;
  HassPartitionFunc partition;
  HassBundleFunc bundle;
  HassUnbundleFunc unbundle;

  HassCollectFunc collect;
  HassResultOrder order;
  gsize window_loads;
  HassReduceFunc reduce;
  HassReduceInitFunc reduce_init;
  HassReduceClearFunc reduce_clear;
  gpointer accumulator;
  gsize accumulator_bytes;
  HassGpuResultFunc gpu_result;
  gsize gpu_record_bytes;
  double gpu_records_per_element;
  HassReleaseFunc release;

  HassCostClass cost;
  gsize block_elements;
  gsize halo_elements;
  const HassConstant *constants;
  guint n_constants;
  gsize pool_loads;
  gsize pool_bytes;
  gsize round_loads;

  HassRunOptions run;

  gsize element_threads;
  gboolean join_tiles;
  gsize gpu_multiple;
  const HassKindWorker *workers;
} HassDataFarm;

/* A farm of zeros that knows its size. */
static inline HassDataFarm
hass_data_farm_init (void)
{
  HassDataFarm farm;
  memset (&farm, 0, sizeof farm);
  farm.struct_size = sizeof farm;
  return farm;
}

/* The same as an initialiser. C++ has those of this form since 2020 only. */
#ifdef __cplusplus
#  define HASS_DATA_FARM_INIT hass_data_farm_init ()
#else
#  define HASS_DATA_FARM_INIT                                                  \
    {                                                                          \
      .struct_size = sizeof (HassDataFarm)                                     \
    }
#endif

/**
 * hass_data_farm_partition:
 * @report: (out) (optional): set also when the farm fails; free with
 *   hass_report_free().
 *
 * Runs a farm of large divisible loads: each load is one round, cut into
 * blocks (Zhang 2011, 3.4.2, HASS_p). Loads must have a size; input_bytes
 * and output_bytes must be multiples of it.
 *
 * Returns: TRUE when every unit was computed and every result delivered, or,
 * with HASS_ON_ERROR_CONTINUE, when the farm came to its end. Any HassError
 * but IO may be set.
 */
gboolean hass_data_farm_partition (const HassDataFarm *farm,
                                   HassReport **report, GError **error);

/**
 * hass_data_farm_combine:
 *
 * Runs a farm of small divisible loads, which GPUs get in bundles (3.4.2,
 * HASS_ce, HASS_cd, modified greedy). Otherwise as
 * hass_data_farm_partition().
 */
gboolean hass_data_farm_combine (const HassDataFarm *farm, HassReport **report,
                                 GError **error);

/**
 * hass_data_farm_indivisible:
 *
 * Runs a farm of loads with inner dependencies: on a GPU one load is one
 * thread block (3.5, HASS_i). Otherwise as hass_data_farm_partition().
 */
gboolean hass_data_farm_indivisible (const HassDataFarm *farm,
                                     HassReport **report, GError **error);

HASS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* hass/data_farm.h: the three data farms (Zhang 2011, sections 3.3 and 5.1).
   Thread safety: farms may run on several threads at once. A call blocks until
   the farm has ended; its thread works as one of the cores. */
#ifndef HASS_DATA_FARM_H
#define HASS_DATA_FARM_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

/**
 * HassDataFarm: the settings of a data farm. Start from HASS_DATA_FARM_INIT or
 * hass_data_farm_init(); zero is the default of every field. A setting that
 * does not apply to the kind of farm is HASS_ERROR_INVALID. Nothing that the
 * struct points to is copied or freed.
 * @struct_size: set by the initialiser. The struct may end after @cpu_worker;
 *   fields beyond its end count as zero. A shorter struct, and one of a later
 *   version that sets a field unknown to this library, is HASS_ERROR_INVALID.
 * @name: name in messages, reports and the profile store; NULL: "farm".
 * @user_data: last argument of every callback.
 * @generate: emits the loads; or NULL.
 * @loads: [@n_loads] loads known at the beginning; must stay valid. With both
 *   @loads and @generate, these loads come first.
 * @n_loads: number of loads. Without @generate @loads is needed also if this is
 *   0; the data of an empty GArray or std::vector may be NULL, which is
 *   HASS_ERROR_INVALID.
 * @cpu_worker, @gpu_worker: computes a unit, or a bundle on a CUDA device. At
 *   least one of these and @workers is needed, for a device that is present.
 * @partition: partition farm: cuts blocks; NULL: equal slices.
 * @bundle, @unbundle: gather inputs and scatter outputs; NULL: copies them one
 *   after another.
 * @collect: takes results; NULL: results are in the outputs or accumulators.
 * @order: order in which @collect gets results.
 * @window_loads: HASS_RESULTS_ORDERED: maximum number of units begun beyond
 *   the first unfinished one; 0: 8192.
 * @reduce: merges accumulators. Each worker has one of @accumulator_bytes,
 *   initially zero or set by @reduce_init; when the farm ends, all are merged
 *   into @accumulator.
 * @reduce_init: initialises an accumulator; NULL: zeros.
 * @reduce_clear: frees what an accumulator owns; NULL: nothing.
 * @accumulator: host memory [@accumulator_bytes], initialised by the user.
 * @accumulator_bytes: size of an accumulator.
 * @gpu_result: takes the results of @gpu_worker for each block; NULL: its
 *   outputs are results, as those of a CPU worker.
 * @gpu_record_bytes: size of the records that @gpu_worker appends, a varying
 *   number of results, which @gpu_result gets; 0: none.
 * @gpu_records_per_element: expected number of records an element; 0: 1/256. A
 *   bundle with more records is computed again.
 * @release: called once for each load that the library no longer uses.
 * @cost: what is known about the costs of loads.
 * @block_elements: partition farm: elements in a block; 0: chosen by the
 *   library. It chooses (width / @element_threads) of the widest device (e of
 *   HASS_p), but, each rule taking precedence over the ones before it, at least
 *   1/4096 of the load; at most 1/8 of a core's part of the load (without a CPU
 *   pool, of a GPU's); at least 16 halos; at most a core's part.
 * @halo_elements: partition farm: elements readable on both sides of a block.
 *   The report counts them as computed again (HassReport.halo_elements). Data
 *   that all blocks read belongs into @constants.
 * @constants: [@n_constants] data that every worker may read.
 * @n_constants: number of constants.
 * @pool_loads, @pool_bytes: bounds of the load pool; 0: 8192 loads that are not
 *   computed yet, and 65536 with those that are, which a long load of their
 *   round keeps; 64 MiB, or, up to a sixteenth of the memory, so much that two
 *   loads a core wait or are computed. A load larger than @pool_bytes is
 *   admitted when the pool is empty.
 * @round_loads: maximum number of loads in a round; 0: as the pool holds.
 * @run: how the farm runs.
 * @element_threads: number of GPU threads that @gpu_worker uses for an element:
 *   1 for a byte or a record, about 1000 for a tile of a matrix. It tells
 *   strategies before the first bundle how many elements fill a GPU; 0: unknown
 *   (1 for the choice of @block_elements). Not used in indivisible farms, where
 *   a load is a thread block.
 * @join_tiles: outputs that are adjacent tiles of one array form one array on
 *   the GPU as well (#HassBundle.rectangles), so that long rows are copied back
 *   at the full rate of the link; rows of 4 KiB reach a third of it. The GPU
 *   worker must use their pitch. Not with @unbundle.
 * @gpu_multiple: GPUs get multiples of this number of units, if that many
 *   wait, and bundles end at multiples: with the number of tiles in a row of
 *   tiles, bundles are whole rows; 0: any number.
 * @workers: workers for further kinds of devices, ended by an entry whose kind
 *   is NULL; or NULL. The farm runs on the devices of the machine of each kind
 *   that has a worker, and on devices of such a kind in HassRunOptions.devices.
 *   An entry "cuda" is the same as @gpu_worker, which must then be NULL.
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

/* Returns: a farm with all fields zero but struct_size. */
static inline HassDataFarm
hass_data_farm_init (void)
{
  HassDataFarm farm;
  memset (&farm, 0, sizeof farm);
  farm.struct_size = sizeof farm;
  return farm;
}

/* An initialiser of a farm with all fields zero but struct_size. In C++ it is
   a function call, as C++ has designated initialisers only since C++20. */
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
 * @report: (out) (optional): set in every case, also when the farm fails; free
 *   with hass_report_free().
 *
 * Runs a farm of large divisible loads: each load is one round, cut into
 * blocks (Zhang 2011, section 3.4.2, HASS_p). Beside a GPU, loads that wait
 * become one round until they take about 20 ms, and half of them while the
 * generator runs; @round_loads 1 prevents that. A load needs a size, of which
 * input_bytes and output_bytes are multiples. Blocks until the farm has ended;
 * not from a callback.
 *
 * Returns: TRUE if every unit was computed and every result delivered, or,
 * with HASS_ON_ERROR_CONTINUE, if the farm came to its end. FALSE with any
 * HassError, or with the error of a callback.
 */
gboolean hass_data_farm_partition (const HassDataFarm *farm,
                                   HassReport **report, GError **error);

/**
 * hass_data_farm_combine:
 *
 * Runs a farm of small divisible loads, which GPUs get in bundles (Zhang 2011,
 * section 3.4.2, HASS_ce, HASS_cd, modified greedy). Report, threads, return
 * value and errors as for hass_data_farm_partition().
 */
gboolean hass_data_farm_combine (const HassDataFarm *farm, HassReport **report,
                                 GError **error);

/**
 * hass_data_farm_indivisible:
 *
 * Runs a farm of loads with inner dependencies: on a GPU one thread block
 * computes one load (Zhang 2011, section 3.5, HASS_i). Report, threads, return
 * value and errors as for hass_data_farm_partition().
 */
gboolean hass_data_farm_indivisible (const HassDataFarm *farm,
                                     HassReport **report, GError **error);

HASS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* hass/report.h: the efficiency of a run and the causes of lost time.
   Thread safety: a report belongs to the caller of the farm. */
#ifndef HASS_REPORT_H
#define HASS_REPORT_H

#include <glib.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/**
 * HassDeviceReport: what one device did in a farm. Times are in s; those of a
 * CPU pool are averages over its cores.
 * @name: "cpu", "gpu0", ...
 * @kind: CPU pool or GPU.
 * @cores: threads of the CPU pool; multiprocessors of a GPU.
 * @units, @bytes, @work: units that it computed, bytes of their inputs, and
 *   their work, as the cost class shows it. Of a pipeline a unit is a token at
 *   one stage, so a token counts once for each stage that the device computed.
 *   Of a dataflow @bytes are those that were copied to the device; of the CPU
 *   pool those that other devices have copied to their homes.
 * @bundles: number of grants; on a CPU pool of pulls.
 * @failures: number of bundles, or runs of units, that failed.
 * @busy_s: time spent computing or copying.
 * @kernel_s: time spent computing; of a GPU that runs several kernels side by
 *   side, the time in which at least one of them ran.
 * @waiting_s: time without work: makespan less @busy_s.
 * @tail_s: time from the device's last unit of each round to the end of the
 *   round, over all rounds.
 * @lost: the device was given up.
 * @message: reason of the first failure; or why the device was not started; or
 *   why a CPU pool has fewer @cores than requested; or NULL.
 * @direct_bytes: bytes of inputs copied directly from pinned memory.
 * @registered_bytes: bytes of inputs copied from pages pinned for the copy.
 * @staged_bytes: bytes of inputs gathered into pinned staging memory.
 * @constant_bytes: bytes of the farm's constants copied to the device.
 * @peak_bytes: maximum of device memory that the library held.
 * @taken_back: CPU pool: units that were taken from cores which had begun them
 *   (hass_worker_stopping()), for a device that would have done them sooner.
 * @vain_s: time that cores had spent on these; a part of @waiting_s.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  char *name;
  HassDeviceKind kind;
  guint cores;
  guint64 units;
  guint64 bytes;
  guint64 bundles;
  guint64 failures;
  double work;
  double busy_s;
  double kernel_s;
  double waiting_s;
  double tail_s;
  gboolean lost;
  char *message;
  guint64 direct_bytes, registered_bytes, staged_bytes, constant_bytes;
  guint64 peak_bytes;
  guint64 taken_back;
  double vain_s;
  guint64 reserved[4];
} HassDeviceReport;

/**
 * HassUnfinished: adjacent units that were not computed.
 * @seq, @n_loads: loads [seq, seq + n_loads); of a dataflow tasks, numbered
 *   from 0 in the order of submission.
 * @first, @count: elements, for a part of one divisible load; else 0.
 * @message: why it failed; NULL: it was not begun, or was interrupted.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  guint64 seq;
  guint64 n_loads;
  gsize first;
  gsize count;
  char *message;
  guint64 reserved[3];
} HassUnfinished;

/**
 * HassStageReport: what one stage of a pipeline did, or the tasks of one
 * codelet of a dataflow, or those tasks of a function farm that call the same
 * function. Times are in s.
 * @name: name of the stage or codelet. Functions have no names: they are called
 *   after the first task that calls them, known or of the generator, "like task
 *   7" (HassBlock.seq), and if others share its GPU functions and differ in
 *   HassTask.gpu_function, "like task 7, gpu_function 2". "other tasks": those
 *   that call a further function than eight, or that a worker has emitted and
 *   none of the former calls.
 * @mode: "parallel", "ordered", "serial" or "caller"; of a codelet "codelet",
 *   of a function "function".
 * @tokens: tokens that it computed, also those that it dropped or that failed,
 *   and each as often as it was sent back to it; of a codelet or function: its
 *   tasks that were computed, also those that failed.
 * @bytes: bytes of their inputs; of a codelet 0.
 * @batches: how often a core or a device began a run of tokens; of a function
 *   in how many pulls of cores and bundles of devices it had tasks.
 * @busy_s: time that cores computed at this stage, summed over the cores, those
 *   that run pieces of a hass_worker_parallel_for() included. Of tasks shorter
 *   than a microsecond one of 64 is measured; of such tasks of a function farm
 *   one pull of 64, if it has several functions. In virtual time such a pull is
 *   divided by HassTask.expected_time.
 * @device_s: likewise of the other devices. Of consecutive stages that a device
 *   computes without copies in between the first one has all of the time. Of
 *   functions these are the devices' HassDeviceReport.busy_s; a bundle with
 *   tasks of several is divided by their HassTask.expected_time.
 * @waiting_s: time that tokens waited before the stage, summed over the tokens;
 *   divided by the makespan: how many waited on average, which tables call
 *   "queued". Of a codelet or function 0.
 * @utilisation: @busy_s / (n * makespan), n being how many tokens cores can
 *   compute at this stage at once: 1, unless it is PARALLEL; then the number of
 *   cores, or HassStage.at_once if that is less; of a codelet or a function
 *   that of cores.
 *   Where n is less than the number of cores, without the time of cores that
 *   help in loops: the part of the time for which it had its n tokens.
 * @again: of a pure stage: tokens that a second device has begun while the
 *   first computed them; in @tokens they count once, in times twice.
 * @overtaken: of @again: tokens that the second device was done with first.
 * @left_out: why the strategy gave less than a twentieth of the tokens to a
 *   device that can compute the stage: "cores: a token takes ..."; several,
 *   separated by "; "; NULL: there is none, or it does not say.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  char *name;
  const char *mode;
  guint64 tokens, bytes, batches;
  double busy_s, device_s, waiting_s, utilisation;
  guint64 again, overtaken;
  char *left_out;
  guint64 reserved[3];
} HassStageReport;

/**
 * HassReport: the report of a farm; read-only, freed with hass_report_free().
 * What fails before it begins, because of its settings, the environment or the
 * platform, has an empty report: @farm and @kind, all else 0 and NULL.
 * @farm, @strategy, @platform: names; @platform is NULL on the real machine.
 * @virtual_time: times are those of a modelled machine.
 * @saturated: the modelled makespan exceeds the range of virtual time, 31
 *   years: all times are lower bounds.
 * @makespan_s: time from the call of the farm to its return, in s; in virtual
 *   time to the end of the last unit.
 * @rounds, @loads, @units, @bytes, @results: totals of the farm. @units of a
 *   pipeline are its tokens that have left it, through the last stage or
 *   dropped, but for those that failed; the parts of a token count in its
 *   place.
 * @work: total work, as the cost class shows it.
 * @bound_s: lower bound of the makespan without copies, sum(work) / sum(rates),
 *   in s. The rate of a device is the model's in virtual time; else work per
 *   second of computing for a CPU pool, and the rate of the best bundle for a
 *   GPU. Work that only one kind of device can run (tasks without a CPU or
 *   without a GPU function) is divided by the rates of that kind; the bound is
 *   the maximum of the three quotients and of the time of the longest chain of
 *   loads of which each was emitted by the one before.
 * @efficiency: @bound_s / @makespan_s; 0 if nothing was computed.
 * @n_devices, @devices: [@n_devices] one entry a device.
 * @n_unfinished, @unfinished: [@n_unfinished], in order of seq.
 *
 * If @bound_s is not 0, the following nine losses add up to @makespan_s -
 * @bound_s. Each is the time that the devices of the bound lost to one cause,
 * weighted by their rates; for a CPU pool the average over its cores. Causes
 * that a model has no time for are 0 in virtual time: start-up, generator,
 * collector, reduction, teardown and halos.
 * @lost_startup_s: before the generator was called, and until a GPU was ready.
 * @lost_generator_s: idle because the generator had not emitted enough, and, on
 *   the core of the calling thread, generating; at most the time in the
 *   generator. Excludes time in which the pool was full.
 * @lost_copies_s: copying and launching without computing.
 * @lost_halo_s: computing @halo_elements, at the cost of other elements. An
 *   upper limit: a worker may only read them.
 * @lost_imbalance_s: idle at the ends of rounds, and work of the devices of the
 *   bound that other devices could have computed.
 * @lost_collector_s: cores that ran the collector or waited for the thread that
 *   did, and all devices while only results were delivered.
 * @lost_reduce_s: reduction of the accumulators after the last unit.
 * @lost_teardown_s: remaining time after the last unit.
 * @lost_overhead_s: the remainder.
 *
 * A pipeline: @bound_s is the time for which the busiest of its devices, or of
 * the stages that compute fewer tokens at once than there are cores, computed
 * or copied (of such a stage busy_s / n, see HassStageReport.utilisation), the
 * library's work between tokens included: with these shares of the work it
 * cannot end earlier. The losses are times, none negative, in which that
 * resource did neither: start-up; reduction; teardown; generator, only if the
 * cores bind (the time in the generator while there was room for tokens,
 * divided by the number of cores) or if the generator itself does (all of that
 * time); imbalance, the remaining time, in which no token was ready for the
 * resource. Copies, halos, collector and overhead are 0.
 * A dataflow: @bound_s is the larger of the time for which the device that
 * computed longest was in codelets, of the cores the mean, and of
 * @critical_path_s. If the cores bind, the losses are means over the cores,
 * none negative: start-up: before the build callback was called; generator: the
 * calling thread submitted tasks, or the build callback had submitted none that
 * cores could compute; imbalance: tasks waited for others, for a slot in the
 * window, or hass_graph_wait() did; teardown; overhead: the library's work
 * between tasks, and waking cores. The others are 0.
 * @halo_elements: number of halo elements that workers got; adjacent blocks
 *   computed in one call have one halo at each end.
 * @n_stages, @stages: [@n_stages] one entry a stage of a pipeline, a codelet of
 *   a dataflow that was called, or a function of a function farm that was, if
 *   its tasks have called several. Tasks call the same function if all their
 *   members @cpu, @gpu, @workers and @gpu_function are equal, and all or none
 *   have a @parallelism above 1. The tokens, bytes and times of all functions
 *   together are those of all devices, failed tasks included. Else 0 and NULL:
 *   also of a farm with a generator and without devices beside the cores, and
 *   if HassFunctionFarm.tasks call one function and there is no generator.
 * @binding: a pipeline or dataflow: what bounds its rate, in a sentence: "stage
 *   'write' binds: ordered, busy 97 %"; else NULL. Of a pipeline it names the
 *   device or stage that was busiest, if that was for 70 % of the makespan or
 *   more; else what took a larger part of the makespan than that: the generator
 *   without its waits for room, start-up until the generator was called,
 *   reduction, teardown, or a bound on what is in flight, if on average 70 % of
 *   @most_tokens or @most_bytes were; else it begins "nothing binds".
 * @kind: kind of the farm.
 * @critical_path_s: of a recorded graph: the time of its longest path, if each
 *   task takes as long as the mean task of its codelet, in all runs together; 0
 *   if some task was not computed, and of all else.
 * @most_tokens, @most_bytes: a pipeline: how many tokens, and bytes of tokens,
 *   might be in flight at its end; see HassPipeline. Else 0.
 */
typedef struct
{
  char *farm;
  char *strategy;
  char *platform;
  gboolean virtual_time;
  gboolean saturated;
  double makespan_s;
  guint64 rounds;
  guint64 loads;
  guint64 units;
  guint64 bytes;
  guint64 results;
  double work;
  double bound_s;
  double efficiency;
  double lost_copies_s;
  double lost_imbalance_s;
  double lost_overhead_s;
  guint n_devices;
  HassDeviceReport *devices;
  guint n_unfinished;
  HassUnfinished *unfinished;
  double lost_startup_s;
  double lost_generator_s;
  double lost_halo_s;
  double lost_collector_s;
  double lost_reduce_s;
  double lost_teardown_s;
  guint64 halo_elements;
  guint n_stages;
  HassStageReport *stages;
  char *binding;
  HassFarmKind kind;
  double critical_path_s;
  guint64 most_tokens, most_bytes;
} HassReport;

void hass_report_free (HassReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HassReport, hass_report_free)

/* Returns: (transfer full): the report as a table for people; free with
   g_free(). */
char *hass_report_to_string (const HassReport *report);

/* Returns: (transfer full): the report as one JSON object with the field names
   above; free with g_free(). */
char *hass_report_to_json (const HassReport *report);

HASS_END_DECLS

#endif

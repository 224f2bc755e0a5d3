/* SPDX-License-Identifier: MIT */
/* trial.h: runs one farm of any kind and holds it to the contract: each unit
   computed once and delivered once, each load released once with the right
   flag, what is not computed named in the report.

   Thread safety: one trial at a time but for those that are unwatched. */
#ifndef TRIAL_H
#define TRIAL_H

#include "hass/hass.h"
#include "hass/strategy.h"

#define TRIAL_DEVICES 3

/**
 * Trial: what farm to run.
 * @platform: NULL: live on @n_cores cores and @devices.
 * @noisy: the platform has noise, so a run may be faster than its rates.
 * @n_loads: of which the last @n_generated come from a generator.
 * @most_elements: sizes are from 1 to this.
 * @nested_percent: of the units that emit one more load.
 * @fail_percent: of the units that fail.
 * @cancel_after: units, then the farm is cancelled, by the collector when
 *   @collect is set; 0: never.
 * @odd_tasks: function farm: some tasks run only on one kind of device.
 * @gpu_only: no CPU worker.
 * @spin_us: a CPU unit's time at most.
 * @may_fail_device: that no device is left, or has the memory, is a fair end.
 * @may_fail_memory: that there is none for the farm's own is a fair end.
 * @n_gpus: of the stand-in for the CUDA runtime, which is installed: the farm
 *   runs on them; 0: on @devices.
 * @pinned: its loads lie in pinned memory.
 * @records: its GPU worker has results of varying number.
 * @deadline_ms, @bundle_deadline_ms: of the farm and of a bundle; 0: none.
 * @unwatched: the caller has a watchdog, and other trials may run meanwhile.
 */
typedef struct
{
  HassFarmKind kind;
  const char *strategy;
  const char *platform;
  gboolean noisy;
  guint n_cores;
  guint64 seed;
  HassCostClass cost;
  guint n_loads, n_generated, most_elements;
  guint round_loads, pool_loads;
  guint nested_percent, fail_percent, cancel_after;
  HassErrorPolicy on_error;
  gboolean collect, ordered, reduce, own_partition, odd_tasks, gpu_only;
  gsize halo, block_elements;
  guint spin_us;
  gboolean may_fail_device, may_fail_memory;
  guint n_gpus;
  gboolean pinned, records, unwatched;
  gint64 deadline_ms, bundle_deadline_ms;
  HassDevice *devices[TRIAL_DEVICES];
  guint n_devices;
} Trial;

/* Runs it. NULL: all held; else what did not, to be freed. @report may be
   NULL. */
char *trial_run (const Trial *trial, HassReport **report);

/* Runs it and fails the CUnit test when something did not hold. */
void trial_expect (const Trial *trial);

/* The sum of a report's losses: makespan less bound. */
double trial_lost (const HassReport *report);

/* A line that tells a trial from others; free with g_free(). */
char *trial_describe (const Trial *trial);

/* Ends the test program when the current test takes many times @seconds, which
   are for an idle machine; 0: off. Says what hung. */
void watchdog (guint seconds, const char *what);

/* HassStrategyOps.create of a strategy whose state is its environment. */
gpointer trial_env (const HassStrategyEnv *env, GError **error);

/* A file with this text in the temporary folder; unlink and g_free() it. */
char *trial_file (const char *text);

/* A file, as trial_file(), that models 4 cores and two GPUs, of which the first
   is twice as fast. @noise: relative, as text. */
char *trial_two_gpus (const char *noise);

#endif

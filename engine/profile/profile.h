/* SPDX-License-Identifier: MIT */
/* hass/profile.h: read access to the profile store, which keeps the rates that
   devices reached in earlier runs of each farm; for programs that show it.

   DESIGN. When a live farm with a name of its own ends without error, it adds
   one sample for each device; doc/environment.md says where and when. The rate
   of a device is the median of its samples, but at least half of their upper
   quartile: a device with some slow runs must still get work, or no later
   sample could show that it is faster.

   Thread safety: any thread, while no thread changes the environment. */
#ifndef HASS_PROFILE_H
#define HASS_PROFILE_H

#include <hass/load.h>
#include <hass/strategy.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/* Most samples that an entry keeps; the oldest is dropped for a new one. A
   guess: fewer, and the median is noisy; more, and the store follows changes
   slowly. */
#define HASS_PROFILE_SAMPLES 15

/**
 * HassProfileEntry: the samples of one device in one farm on one machine.
 * @machine: host name, CPU model and number of CPUs.
 * @farm: "program/farm": name of the program's file and of the farm.
 * @kind: kind of the farm.
 * @cost: cost class of the farm, which says what work is.
 * @device: "cpu", "gpu0", ...
 * @model: product name with the number of cores.
 * @work_per_ns: [@n_samples], oldest first: work per ns of busy time in a run.
 * @latency_ns: [@n_samples]: fixed part of the time of a bundle, in ns; 0: not
 *   measurable in that run.
 * @n_samples: from 1 to HASS_PROFILE_SAMPLES.
 * @runs: number of runs that have added a sample, dropped ones included.
 * @unit_work: mean work of a unit in the last run.
 * @updated_s: time of the last run, in s since 1970.
 * @drifted_s: when a sample last differed so much that older ones were dropped,
 *   in s since 1970; 0: never.
 */
typedef struct
{
  char *machine;
  char *farm;
  HassFarmKind kind;
  HassCostClass cost;
  char *device;
  char *model;
  double work_per_ns[HASS_PROFILE_SAMPLES];
  double latency_ns[HASS_PROFILE_SAMPLES];
  guint n_samples;
  guint runs;
  double unit_work;
  gint64 updated_s;
  gint64 drifted_s;
} HassProfileEntry;

/**
 * hass_profile_path:
 *
 * Any thread; does not block.
 *
 * Returns: (transfer full) (nullable): path of the store's file, which need not
 * exist; NULL if HASS_PROFILE turns the store off. Free with g_free().
 */
char *hass_profile_path (void);

/**
 * hass_profile_machine:
 *
 * Any thread; does not block.
 *
 * Returns: the name of this machine in the store; owned by the library.
 */
const char *hass_profile_machine (void);

/**
 * hass_profile_list:
 *
 * Reads the store. Any thread; blocks for reading the file.
 *
 * Returns: (transfer full) (element-type HassProfileEntry): the entries of all
 * machines, ordered by machine, farm and device; empty if there is no file or
 * the store is turned off. Free with g_ptr_array_unref(). NULL with
 * HASS_ERROR_IO if the file cannot be read or is no store of this version.
 */
GPtrArray *hass_profile_list (GError **error);

/**
 * hass_profile_entry_rate:
 *
 * Any thread; does not block.
 *
 * Returns: the rate that strategies get for this entry
 * (HassStrategyEnv.profile).
 */
HassProfileRate hass_profile_entry_rate (const HassProfileEntry *entry);

HASS_END_DECLS

#endif

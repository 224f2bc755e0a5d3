/* SPDX-License-Identifier: MIT */
/* hass/profile.h: read access to the profile store, which remembers how fast
   each device was in earlier runs of each farm; for programs that show it.

   DESIGN. Live farms that have a name of their own add one sample for each
   device when they end well; doc/environment.md says where and when. What
   a device counts for is the median of its samples, but never less than half
   of their upper quartile, so that a few bad runs cannot starve it: it must
   get work to show that it is better than that.

   Thread safety: any thread, while nobody changes the environment. */
#ifndef HASS_PROFILE_H
#define HASS_PROFILE_H

#include <hass/load.h>
#include <hass/strategy.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

#define HASS_PROFILE_SAMPLES 15

/**
 * HassProfileEntry: one device in one farm on one machine.
 * @machine: host name, CPU model and number of CPUs.
 * @farm: "program/farm", the name of the program's file and the farm's.
 * @kind, @cost: of the farm; its cost class says what work is.
 * @device: "cpu", "gpu0", ...
 * @model: what the device is, with its number of cores.
 * @work_per_ns: [@n_samples], the oldest first; work per busy time of a run.
 * @latency_ns: [@n_samples], fixed cost of a bundle; 0: that run could not
 *   tell.
 * @n_samples: from 1 to HASS_PROFILE_SAMPLES.
 * @runs: all that ever added a sample.
 * @unit_work: mean work of a unit in the last run.
 * @updated_s: when that was, seconds since 1970.
 * @drifted_s: when the device last turned out to be another than it was, so
 *   that older samples were dropped; 0: never.
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
 * Returns: (transfer full) (nullable): the file of the store, which need not
 * exist; NULL when HASS_PROFILE turns it off. Free with g_free().
 */
char *hass_profile_path (void);

/**
 * hass_profile_machine:
 *
 * Returns: the name of this machine in the store.
 */
const char *hass_profile_machine (void);

/**
 * hass_profile_list:
 *
 * Reads the store; blocks for as long as that takes.
 *
 * Returns: (transfer full) (element-type HassProfileEntry): all entries, of
 * all machines, in the order of machine, farm and device; none where there is
 * no file or the store is off. Free with g_ptr_array_unref(). NULL with
 * HASS_ERROR_IO when there is something else than a store of this version.
 */
GPtrArray *hass_profile_list (GError **error);

/**
 * hass_profile_entry_rate:
 *
 * Returns: what strategies are told.
 */
HassProfileRate hass_profile_entry_rate (const HassProfileEntry *entry);

HASS_END_DECLS

#endif

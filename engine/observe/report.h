/* SPDX-License-Identifier: MIT */
/* hass/report.h: how good a run was, and where its time went.
   Thread safety: a report belongs to who got it. */
#ifndef HASS_REPORT_H
#define HASS_REPORT_H

#include <glib.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/**
 * HassDeviceReport: one device over the whole farm.
 * @busy_s: computing or copying; on a CPU pool averaged over its cores.
 * @kernel_s: computing alone.
 * @waiting_s: the farm's time less @busy_s.
 * @tail_s: from the device's last unit of each round to the round's end.
 * @bundles: grants; on the CPU pool pulls.
 * @failures: bundles or runs of units that failed.
 * @lost: the device was given up.
 * @message: why it first failed, or, where it has not, why it was never
 *   started; of a CPU pool, why some of its threads could not be made, so
 *   that it has fewer @cores than were asked for; or NULL.
 * @direct_bytes, @registered_bytes, @staged_bytes: how inputs reached it:
 *   straight from pinned memory, from pages pinned for the copy, through
 *   pinned staging; @constant_bytes: of the farm's constants.
 * @peak_bytes: most device memory that hass held there.
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
  guint64 reserved[6];
} HassDeviceReport;

/**
 * HassUnfinished: adjacent units that were not computed.
 * @seq, @n_loads: loads [seq, seq + n_loads).
 * @first, @count: elements, where it is a part of one divisible load; else 0.
 * @message: why it failed; NULL: it was never begun, or was interrupted.
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
 * HassReport: read-only for the user.
 * @saturated: the modelled machine needs more than 31 years, where virtual time
 *   ends: all times are at least what they say.
 * @virtual_time: times are of a modelled machine.
 * @makespan_s: from the call of the farm to its return; in virtual time to the
 *   end of the last unit.
 * @bound_s: sum(work) / sum(rates), what a perfect schedule without copies
 *   would need. Rates are the model's in virtual time; else a CPU pool's work
 *   per second of computing and the rate of a GPU's best bundle. Work that only
 *   one kind of device may run (tasks without a CPU or without a GPU function)
 *   counts against the rates of that kind: the bound is the largest of the
 *   three.
 * @efficiency: @bound_s / @makespan_s; 0 when nothing was computed.
 * @unfinished: [@n_unfinished], in order of seq.
 *
 * Nine losses add up to @makespan_s - @bound_s, where that is not 0. Each is
 * a time of the devices of which the bound is, weighted by their rates; on a
 * CPU pool the average over its cores. What takes no time in the model is 0 in
 * virtual time: start-up, generating, collecting, reducing, teardown, halos.
 * @lost_startup_s: before the generator was called, and until a GPU was ready.
 * @lost_generator_s: idle before the generator had returned, since it had not
 *   emitted enough, and, on the core of the calling thread, generating; at most
 *   the time in the generator. Not while the pool is full.
 * @lost_copies_s: copying and launching while not computing.
 * @lost_halo_s: computing the @halo_elements, if one costs what an element of a
 *   block costs. A worker that only reads them has lost less.
 * @lost_imbalance_s: idle at the ends of rounds. Also work of the devices of
 *   which the bound is that other devices could have done.
 * @lost_collector_s: cores that ran the collector or waited for the thread that
 *   did, and all devices while results alone were delivered.
 * @lost_reduce_s: reducing the accumulators after the last unit.
 * @lost_teardown_s: the rest of the time after the last unit.
 * @lost_overhead_s: what has none of these causes.
 * @halo_elements: elements of halos that workers were given: blocks that are
 *   computed at once have one halo at each end.
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
} HassReport;

void hass_report_free (HassReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HassReport, hass_report_free)

/* The table that a person reads; free with g_free(). */
char *hass_report_to_string (const HassReport *report);

/* The same as one JSON object, with the field names above; free with
   g_free(). */
char *hass_report_to_json (const HassReport *report);

HASS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* source.h: where the ready work of a job comes from: the rounds of a farm, a
   pipeline or a dataflow. The rest of the core calls it through a table.
   Thread safety: constant tables; each op says which thread calls it. */
#ifndef HASS_SOURCE_H
#define HASS_SOURCE_H

#include "hass/report.h"
#include "hass/strategy.h"

struct HassJob;
struct HassSlot;

/**
 * HassRest: what is left of a pipeline or dataflow.
 * @shown: a device of a kind has computed something.
 * @more: more work than is known of may come, or the time of what has come is
 *   unknown.
 * @alone: cores may be through before a device would be open: none is opened.
 * @ns: time in which the open devices of that kind would compute what has come
 *   and what is known to come, if other devices did nothing, in ns.
 * @open: bit d: device d is of that kind, has computed something and is not
 *   lost; 0: unknown.
 * @busy_ns: time in which a device of @open had something in flight, up to now,
 *   in ns; their mean.
 * @binds: the devices of @open are what binds if they are busy for at least
 *   this part of a period; 0: their busy time is unknown, and they are taken to
 *   bind.
 */
typedef struct
{
  gboolean shown, more, alone;
  double ns;
  guint64 open;
  double busy_ns, binds;
} HassRest;

/**
 * HassSourceOps: a source of work. Each op by the calling thread, unless stated
 * otherwise.
 * @create: makes the source's state before the strategy is made, which it tells
 *   of the classes in HassJob.env. Returns: FALSE with an error, and then
 *   nothing is left to free.
 * @started: (nullable): the strategy has been made.
 * @finish: all other threads have left: lists what is not computed and releases
 *   it, merges its accumulators and adds what was done to HassJob.totals.
 * @store: (nullable): a dataflow on the real machine has ended without an error
 *   after @makespan_ns: stores what it has measured in the profile store.
 * @report: (nullable): adds what is reported of the stages.
 * @pass: (nullable): a pipeline of which the calling thread is the only one and
 *   where nothing waits: has the load pass all stages; if the job stops
 *   meanwhile, its tokens are found when the pipeline is over. The clock of
 *   worker 0 is set before and is then that of the end.
 * @idle: any thread: returns: TRUE if nothing waits and nothing runs.
 * @has_work: any thread of the live engine: returns: TRUE if a core may find
 *   work beside @others that look for it as well. @caller: the core is the
 *   calling thread, which has stages of its own in a pipeline. What waits is
 *   read with sequential consistency, so that a thread that finds nothing after
 *   hass_event_prepare() misses no change.
 * @again_ns: the calling thread: returns: when a core that has found no work
 *   should look again; 0: it need not. NULL: rounds ask their strategy.
 * @lost: (nullable): a device is lost; under the decision lock.
 * @wants, @serve: (nullable): a dataflow: what the proxies of devices do.
 * @wants, by the calling thread: returns: TRUE if device @device is to be
 * opened; HassEngineOps.wanted says when that may have changed.
 * @serve, by its proxy thread: has the open device compute until the job stops,
 * has no more work, or *@over; when it returns the device has nothing left of
 * it, or is lost and hass_decide_lost() was called.
 * @grant_over: a pipeline: all units of a grant, which are those of @slot, have
 *   been computed or given back; under the decision lock.
 * @refused: a pipeline: the unit at a position of @slot, a part of a grant, has
 *   failed, as it fits into the memory of no device that can run it.
 * @unfuse: a pipeline: that unit, of a grant that passes several stages, does
 *   not fit into the device's memory, is given back, and passes its next stage
 *   alone; under the decision lock.
 * @work: a dataflow: a core of the live engine computes tasks for a while,
 *   returns: FALSE if there was none. NULL: the engine drives a pipeline by
 *   engine/stream/stream.h, and rounds by job.h.
 * @has_room: (nullable): a dataflow: the calling thread need not wait any
 *   longer.
 * @rest: a pipeline or dataflow: the proxy thread of device @device, under the
 *   decision lock: returns: what is left for devices of the kind of @device.
 * @progress: (nullable): a pipeline or dataflow: any thread: fills in how many
 *   loads or tasks have come, how many of them have ended and how many there
 *   will be; it counts units itself.
 */
typedef struct
{
  gboolean (*create) (struct HassJob *job, GError **error);
  void (*started) (struct HassJob *job);
  void (*finish) (struct HassJob *job);
  void (*store) (struct HassJob *job, gint64 makespan_ns);
  void (*report) (struct HassJob *job, HassReport *report);
  void (*free) (struct HassJob *job);
  void (*pass) (struct HassJob *job, const HassLoad *load);
  gboolean (*idle) (struct HassJob *job);
  gboolean (*has_work) (struct HassJob *job, gboolean caller, guint others);
  gint64 (*again_ns) (struct HassJob *job);
  void (*lost) (struct HassJob *job, guint device);
  gboolean (*wants) (struct HassJob *job, guint device);
  void (*serve) (struct HassJob *job, guint device,
                 const _Atomic gboolean *over);
  void (*grant_over) (struct HassJob *job, struct HassSlot *slot,
                      const HassCompletion *told);
  void (*refused) (struct HassJob *job, struct HassSlot *slot, guint32 position,
                   const char *why);
  void (*unfuse) (struct HassJob *job, struct HassSlot *slot, guint32 position);
  gboolean (*work) (struct HassJob *job, HassWorker *worker);
  gboolean (*has_room) (struct HassJob *job);
  HassRest (*rest) (struct HassJob *job, guint device);
  void (*progress) (struct HassJob *job, HassProgressInfo *info);
} HassSourceOps;

#endif

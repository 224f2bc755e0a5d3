/* SPDX-License-Identifier: MIT */
/* hass/stream.h: what a strategy sees of a pipeline: classes of ready units.

   In a pipeline there are no rounds. Each stage is a class of work with a set
   of units that are ready, in the order in which they became ready. A strategy
   decides per class and device, never per unit. It sees no unit.

   Thread safety: as hass/strategy.h: the engine calls one op of an instance at
   a time. Plain values, valid during the call unless stated otherwise. */
#ifndef HASS_STREAM_H
#define HASS_STREAM_H

#include <glib.h>
#include <hass/load.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/* Most classes of a stream. */
#define HASS_MAX_CLASSES 32

/**
 * HassClassTraits: what is known of a class before the stream begins; valid
 * until the strategy is destroyed.
 * @name: name of the stage.
 * @cost: what is known about the costs of its units.
 * @devices: bit d: device d has a worker for this class.
 * @one_at_a_time: at most one unit of the class runs at any time, on a core.
 * @in_order: its units run in the order of the stream, too.
 * @at_once: most units of it on cores at once; 0: no bound.
 * @bundle_wait_ns: longest time that a unit may wait for others to share a
 *   bundle with; 0: none.
 * @element_threads: GPU threads that a unit keeps busy; 0: unknown.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  const char *name;
  HassCostClass cost;
  guint64 devices;
  gboolean one_at_a_time, in_order;
  guint at_once;
  gint64 bundle_wait_ns;
  gsize element_threads;
  guint64 reserved[2];
} HassClassTraits;

/**
 * HassClassState: the units of one class at this moment.
 * @ready: number of units that wait and may run.
 * @oldest_ns: when the first of them became ready; 0: none waits.
 * @running: units that run on cores.
 * @done: units that have passed the class.
 * @bytes: total bytes of input of the @done units.
 */
typedef struct
{
  guint64 ready;
  gint64 oldest_ns;
  guint64 running;
  guint64 done;
  guint64 bytes;
} HassClassState;

/**
 * HassDeviceHolds: what a device holds at this moment.
 * @units: [n_classes] units of each class that were granted and are not done.
 * @bundles: number of grants in flight.
 * @lost: the device is lost.
 */
typedef struct
{
  const guint64 *units;
  guint bundles;
  gboolean lost;
} HassDeviceHolds;

/**
 * HassHeld: units that a device computes and another one may begin again, since
 * the user says that they may be computed twice (HassStage.pure).
 * @class_index, @device: what is computed and where.
 * @units: number of units; 0: there are none, and the rest is undefined.
 * @since_ns: when the device was given them.
 */
typedef struct
{
  guint class_index, device;
  guint64 units;
  gint64 since_ns;
} HassHeld;

/**
 * HassStreamState: a stream at this moment.
 * @now_ns: the time, on the clock of completions.
 * @n_classes, @classes: [@n_classes] the classes in the order of the stages.
 * @n_devices, @devices: [@n_devices] what the devices hold.
 * @tokens: tokens in flight.
 * @most_tokens: the most tokens that may be in flight: by the user's bound, and
 *   by that of bytes if they are as large as those in flight now.
 * @waiting: loads that wait for their tokens to begin; where there is no
 *   generator, all that are left of those given.
 * @generated: no load will be emitted any more; where there is no generator,
 *   from the beginning.
 * @ample_tokens: as @most_tokens, if the strategy does not ask for more
 *   (HassServe.tokens): where the user gives no bound on bytes, more large
 *   tokens than keep the devices busy are in flight only if it does.
 * @ended: tokens that have been in flight and are through, or were dropped.
 * @held: of what the device that is asked may begin again, the units that come
 *   first in the stream; of the CPU pool: none.
 */
typedef struct
{
  gint64 now_ns;
  guint n_classes;
  const HassClassState *classes;
  guint n_devices;
  const HassDeviceHolds *devices;
  guint64 tokens, most_tokens, waiting;
  gboolean generated;
  guint64 ample_tokens, ended;
  HassHeld held;
} HassStreamState;

/**
 * HassServe: what a device serves next. The engine sets all fields to 0 before
 * it asks.
 * @class_index: a device other than the CPU pool: the class that it takes units
 *   of.
 * @units: likewise: most units of the grant; at least 1.
 * @in_flight: likewise: the device is asked again while fewer than this number
 *   of bundles are in flight; 0 means 1.
 * @fuse: likewise: most stages after that one that the device computes on the
 *   same units before it copies their output back, as far as it can; 0: none.
 * @within_ns: with HASS_WAIT: the device is asked again after this time at the
 *   latest, in ns; 0: when a unit becomes ready or a grant is done.
 * @leave: CPU pool: cores take units of class c only while more than @leave[c]
 *   wait; 0: always; G_MAXUINT32: never. Classes that only the CPU pool can run
 *   are always taken.
 * @at_once: CPU pool: most units of class c that cores compute at once; 0: as
 *   many as the class allows. Where other devices can run it.
 * @feed: CPU pool: 1 + the class that cores should bring units to before all
 *   else, by the stages before it and by new tokens; 0: none. Cores prefer the
 *   latest stage otherwise, and new tokens last.
 * @tokens: CPU pool: tokens that should be in flight; 0: all that the user
 *   allows.
 * @again: a device other than the CPU pool: it begins HassStreamState.held
 * again and, up to @units, more of the same class that others compute; what is
 * done first counts.
 */
typedef struct
{
  guint class_index;
  guint64 units;
  guint in_flight;
  guint fuse;
  gint64 within_ns;
  guint32 leave[HASS_MAX_CLASSES];
  guint32 at_once[HASS_MAX_CLASSES];
  guint feed;
  guint64 tokens;
  gboolean again;
} HassServe;

/**
 * HassServed: units that a device has done.
 * @device, @class_index: who and what.
 * @units, @bytes: number of units and bytes of their inputs.
 * @busy_ns: the time that the units took: on a CPU pool the sum over its cores;
 *   on other devices from @start_ns to @end_ns.
 * @grant_ns, @start_ns, @end_ns: when the grant was made, when the device began
 *   it and was done with it; for a CPU pool the interval of the report.
 * @held_ns: of a CPU pool, the part of @busy_ns in which cores held the units:
 *   the rest is that of other cores that helped inside them
 *   (hass_worker_parallel_for()); 0 for other devices.
 * @h2d_ns, @kernel_ns, @d2h_ns: what the grant adds to the time for which the
 *   device copies to it, runs kernels and copies back, so without the time in
 *   which bundles that left it earlier did the same; 0 for a CPU pool.
 * @failed: the units went back into the ready set.
 * @fused: stages after @class_index that the device has computed, too.
 */
typedef struct
{
  guint device, class_index;
  guint64 units, bytes;
  double busy_ns, held_ns;
  gint64 grant_ns, start_ns, end_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  gboolean failed;
  guint fused;
} HassServed;

HASS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* hass/types.h: farm kinds, device traits and grants, which rounds and
   strategies share.
   Thread safety: plain values. */
#ifndef HASS_TYPES_H
#define HASS_TYPES_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/* The kinds of farms, by the structure of their loads (Zhang 2011, figure
   10). */
typedef enum
{
  HASS_FARM_PARTITION = 1 << 0, /* each load is large and is cut into blocks */
  /* Loads are small and are gathered into bundles for GPUs. */
  HASS_FARM_COMBINE = 1 << 1,
  /* Loads have inner dependencies: a GPU computes a load with one thread
     block. */
  HASS_FARM_INDIVISIBLE = 1 << 2,
  /* Each load is a task with functions of its own. */
  HASS_FARM_FUNCTION = 1 << 3,
  HASS_FARM_ANY = (1 << 4) - 1, /* all kinds that have rounds */
  /* A stream of loads passes stages; strategies serve it by classes
     (hass/stream.h). */
  HASS_FARM_PIPELINE = 1 << 4,
  /* Tasks wait for each other as their accesses to data say. */
  HASS_FARM_DATAFLOW = 1 << 5
} HassFarmKind;

typedef enum
{
  HASS_DEVICE_CPU, /* the pool of all cores is one device */
  HASS_DEVICE_GPU  /* a device that gets bundles over a link */
} HassDeviceKind;

/**
 * HassDeviceTraits: properties of a device that are known before it runs a
 * load.
 * @name: "cpu", "gpu0", ...
 * @kind: CPU pool or GPU.
 * @cores: worker threads of a CPU pool; multiprocessors of a GPU.
 * @width: number of threads that fill the device, with one thread an element
 *   unless the farm says otherwise (element_threads); the number of SPs in
 *   Zhang 2011. For a CPU pool its cores.
 * @latency_ns: fixed cost of a bundle (launch and message start-up); 0 for a
 *   CPU pool.
 * @link_bytes_per_ns: bandwidth of the link in bytes/ns (= GB/s); 0: no link.
 * @work_per_ns: calibrated rate of the filled device; 0: unknown.
 * @max_in_flight: maximum number of bundles in flight, at least 1.
 * @link: number of the link; devices with the same number other than 0 share
 *   one.
 * @memory_bytes: device memory available for inputs and outputs of all
 *   bundles in flight; 0: unlimited.
 * @part_bytes: a grant with more input and output than this is submitted in
 *   parts of about this size, so that copies overlap kernels; 0: never cut.
 * @model: product name, for reports and the profile store; NULL: unknown.
 * @opening: the device is not ready: it is being opened, or opening has not
 *   begun. It does not ask for work. The value may change during a farm.
 * @opens_at_ns: if @opening: when the device is expected to be ready, on the
 *   clock of completions, from the duration of earlier starts and the size of
 *   the farm's constants; 0: unknown, or opening has not begun.
 * @opening_ns: if opening has not begun, in the last round of a farm: how long
 *   it is expected to take, copies of constants included. The engine does not
 *   open the device if the other devices are expected to finish the remaining
 *   work in less than twice this time. 0: unknown, or the device will be
 *   opened in any case; always 0 in virtual time.
 * @load_flag: the bit of HassLoad.flags that marks the loads that the device
 *   can run; 0: HASS_LOAD_CPU or HASS_LOAD_GPU, as @kind. Set by the engine.
 * @max_fused: most stages of a pipeline that the device computes on a bundle
 *   after the first one, without a copy to the host between them
 *   (HassBlock.fused); 0: each stage is a bundle of its own.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  const char *name;
  HassDeviceKind kind;
  guint cores;
  guint64 width;
  double latency_ns;
  double link_bytes_per_ns;
  double work_per_ns;
  guint max_in_flight;
  guint link;
  guint64 memory_bytes;
  guint64 part_bytes;
  const char *model;
  gboolean opening;
  gint64 opens_at_ns;
  gint64 opening_ns;
  guint64 load_flag;
  guint64 max_fused;
  guint64 reserved[1];
} HassDeviceTraits;

typedef enum
{
  /* front of the common range; of an open round, the units of highest priority,
     the oldest first */
  HASS_FROM_FRONT,
  /* back of the common range; of an open round, the units of lowest priority,
     the newest first */
  HASS_FROM_BACK,
  HASS_FROM_SHARE, /* front of the share of device HassGrant.share */
  HASS_FROM_THEFT  /* back of that share: the grant steals */
} HassSource;

/**
 * HassGrant: what a strategy grants to a device with room.
 * @source: the range to take units from.
 * @share: for SHARE and THEFT: the device whose share it is.
 * @units: maximum number of units; 0: limited by @work only. A CPU pool asks
 *   again after this number; with 0 its cores pull from the source until it is
 *   empty, while other devices may steal from its back.
 * @work: maximum work, though at least one unit is granted; 0: unlimited.
 *   Ignored for a CPU pool.
 * @multiple: the number of units is rounded down to a multiple of this, but
 *   not below one multiple unless fewer units remain; 0 or 1: any number.
 *   (HASS_i: one load a multiprocessor.)
 * @chunk: CPU pool: units that a core pulls at a time; 0: chosen by the
 *   engine. The engine pulls more where a chunk takes less than about 100 us,
 *   so that the pull costs less than the computation.
 * @in_flight: GPU: the device is asked again while fewer than this number of
 *   bundles are in flight; 0 means 1.
 * @taken, @first: set by the engine before granted() and observe(): number of
 *   units taken, and the first position.
 * @leave: CPU pool, open round (HASS_STRATEGY_OPEN): cores take a unit that
 *   other devices can run, too, only while the work of the others that wait is
 *   more than this many times its own; 0: always.
 * @within_ns: with HASS_WAIT: the device is asked again after this time at the
 *   latest, in ns; 0: after a completion only. Waking a thread takes about
 *   50 us, so shorter times have no effect. A GPU with bundles in flight is
 *   asked when one of them is done. When nothing is in flight, all waiting
 *   devices are asked with force regardless of @within_ns.
 * @reserved: zero; for later versions.
 *
 * Before it asks, the engine sets all fields to 0 and @share to the asking
 * device.
 */
typedef struct
{
  HassSource source;
  guint share;
  guint64 units;
  double work;
  guint64 multiple;
  guint64 chunk;
  guint in_flight;
  guint64 taken;
  guint64 first;
  gint64 within_ns;
  double leave;
  guint64 reserved[2];
} HassGrant;

HASS_END_DECLS

#endif

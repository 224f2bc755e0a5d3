/* SPDX-License-Identifier: MIT */
/* hass/types.h: farms, devices and grants, the words that rounds and
   strategies share.
   Thread safety: plain values. */
#ifndef HASS_TYPES_H
#define HASS_TYPES_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/* The farm kinds, Zhang 2011, figure 10. */
typedef enum
{
  HASS_FARM_PARTITION = 1 << 0,   /* large divisible loads, cut in blocks */
  HASS_FARM_COMBINE = 1 << 1,     /* small divisible loads, bundled */
  HASS_FARM_INDIVISIBLE = 1 << 2, /* inner dependencies: one load, one block */
  HASS_FARM_FUNCTION = 1 << 3,    /* tasks with functions of their own */
  HASS_FARM_ANY = (1 << 4) - 1
} HassFarmKind;

typedef enum
{
  HASS_DEVICE_CPU, /* the pool of all cores is one device */
  HASS_DEVICE_GPU  /* whatever takes bundles over a link */
} HassDeviceKind;

/**
 * HassDeviceTraits: what is known of a device before it has run anything.
 * @name: "cpu", "gpu0", ...
 * @kind: its kind.
 * @cores: worker threads of a CPU pool; multiprocessors of a GPU.
 * @width: threads that fill it, one for each element unless the farm says
 *   otherwise (the SPs of the thesis); on a CPU pool its cores.
 * @latency_ns: launch and message start-up of one bundle; 0 on a CPU.
 * @link_bytes_per_ns: bandwidth of the link (= GB/s); 0: no link.
 * @work_per_ns: calibrated rate when filled; 0: unknown.
 * @max_in_flight: bundles it can hold at a time, at least 1.
 * @link: devices with the same number other than 0 share one link.
 * @memory_bytes: what inputs and outputs of all its bundles may take; 0: no
 *   bound.
 * @part_bytes: a grant of more is handed over in parts of about so much, so
 *   that copies overlap kernels; 0: never.
 * @model: what it is, for people and the profile store; NULL: unknown.
 * @opening: it is being made ready, or not even begun with, and cannot ask for
 *   work; strategies see it change in the course of a farm.
 * @opens_at_ns: then: when it may be ready, on the clock of completions, by
 *   how long it took before and what the farm has to copy to it first; 0:
 *   nobody knows, or it has not been begun with.
 * @opening_ns: how long that would take from when it is begun with, the copies
 *   included, in a farm's last round: there the engine does not begin where the
 *   others will have done the rest in less than twice that. 0: nobody knows, or
 *   it will begin; in virtual time.
 * @load_flag: the bit of HassLoad.flags that marks loads for this device; 0:
 *   the one of @kind. The engine sets it.
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
  guint64 reserved[2];
} HassDeviceTraits;

typedef enum
{
  HASS_FROM_FRONT, /* of the common range */
  HASS_FROM_BACK,  /* of the common range */
  HASS_FROM_SHARE, /* front of the share of grant.share (mostly one's own) */
  HASS_FROM_THEFT  /* back of the share of grant.share: steal */
} HassSource;

/**
 * HassGrant: an answer to "this device has room".
 * @source: where from.
 * @share: for SHARE and THEFT, whose.
 * @units: at most so many; 0: no limit but @work. On a CPU pool: after so
 *   many the strategy is asked again; 0: the cores pull from the source
 *   itself until it is empty (others may steal from its back meanwhile).
 * @work: at most so much work, but at least one unit; 0: no limit. Ignored
 *   on a CPU pool.
 * @multiple: round down to multiples of so many units, but at least one of
 *   them, unless fewer are left; 0 or 1: any number (HASS_i: one load a
 * multiprocessor).
 * @chunk: CPU pool: units that a core pulls at a time; 0: the engine
 *   chooses. The engine pulls more where units are so short (below about
 *   100 us a chunk) that pulling would cost more than computing.
 * @in_flight: GPU: the device is asked again while fewer than so many
 *   bundles are on it; 0 means 1.
 * @taken, @first: filled in by the engine before granted() and observe():
 *   units really taken, and their first position.
 * @within_ns: with WAIT: asked again after so long at the latest; 0: only after
 *   a completion. Waking a thread takes some 50 us, so less is of no use. A GPU
 *   that has bundles is asked when one is back. When nothing is in flight all
 *   who wait are asked with force, however long they wanted to wait.
 * @reserved: zero; for later versions.
 *
 * The engine sets all fields to 0 and @share to the asking device first.
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
  guint64 reserved[3];
} HassGrant;

HASS_END_DECLS

#endif

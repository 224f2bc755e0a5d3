/* SPDX-License-Identifier: MIT */
/* virtual.h: what a bench adds to a modelled machine, and what it is told of
   each round.

   DESIGN. A platform file says how fast devices are; a HassVirtualModel says
   what this run is about: true costs, entry copies, merges, and what goes
   wrong. Strategies are told of entry copies and merges and of nothing else.

   Thread safety: constant while the farm runs; the functions are called on
   its thread. */
#ifndef HASS_VIRTUAL_H
#define HASS_VIRTUAL_H

#include "device/model/model.h"
#include "engine/core/farm.h"
#include "hass/strategy.h"

/**
 * HassVirtualEvent: a device gets slower, or is lost.
 * @device: its index, the CPU pool first; only GPUs can be lost.
 * @slower: from then on its kernels (of the CPU pool: what cores pull) take
 *   so many times as long as the model says, those under way excepted; 0:
 *   lost, what it has in flight fails at once.
 * @round: when so many rounds have ended; of the broken part, when that part
 *   of the round's units is finished. Where @at_ns is set, ignored.
 * @at_ns: time since the farm's begin; 0: not set.
 */
typedef struct
{
  guint device;
  double slower;
  double round;
  gint64 at_ns;
} HassVirtualEvent;

/**
 * HassVirtualRound: a round that has ended.
 * @begin_ns, @end_ns: with the merge, where there was one.
 * @bytes: [n_devices], inputs and entry copies.
 * @asked: how often the strategy was asked for a grant.
 */
typedef struct
{
  const HassRoundSummary *summary;
  gint64 begin_ns, end_ns;
  const guint64 *bytes;
  guint64 asked;
} HassVirtualRound;

/**
 * HassVirtualModel:
 * @entry_bytes: what a GPU copies before its first bundle of each round.
 * @merge_ns: time of the host at the end of a round in which more than one
 *   device took part; no unit runs meanwhile.
 * @cost: true work of @n units from @unit on, in their order of emission, on
 *   a device; NULL: the loads' costs. More for a GPU than for the CPU where
 *   its threads diverge.
 * @traits: [n_devices], what strategies are told of the devices instead of
 *   what the platform says; grants are handed to GPUs in parts of their
 *   part_bytes. NULL: the platform's.
 * @gap_ns: [@n_gaps] time before each round in which nothing runs; one more
 *   than there are rounds is the time after the last.
 * @late_ns: [@n_late * cores]: each core takes part in a round so long after
 *   its begin.
 * @open_ns: [n_devices] when a GPU takes its first part; NULL: at once.
 * @submit_ns: [n_devices] before each part is copied to a GPU, taken as a part
 *   of the copy; NULL: no time.
 * @host_ns: [n_devices] for so long the host is busy with each part that is
 *   back and hands no other over; NULL: no time.
 * @round_ended: or NULL.
 * @data: the user's, for both.
 */
typedef struct
{
  double entry_bytes;
  double merge_ns;
  double (*cost) (gpointer data, guint64 round, guint device, guint32 unit,
                  guint32 n);
  const HassDeviceTraits *traits;
  const double *gap_ns, *late_ns, *open_ns, *submit_ns, *host_ns;
  guint64 n_gaps, n_late; /* rounds */
  void (*round_ended) (gpointer data, const HassVirtualRound *round);
  gpointer data;
  const HassVirtualEvent *events;
  guint n_events;
} HassVirtualModel;

/* Runs the farm on the modelled machine. */
gboolean hass_virtual_run (const HassFarm *farm, HassPlatform *platform,
                           HassReport **report, GError **error);

/* The same with what a bench adds to the machine; @model may be NULL. */
gboolean hass_virtual_run_model (const HassFarm *farm, HassPlatform *platform,
                                 const HassVirtualModel *model,
                                 HassReport **report, GError **error);

#endif

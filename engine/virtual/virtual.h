/* SPDX-License-Identifier: MIT */
/* virtual.h: what a bench adds to a modelled machine, and what it is told of
   each round.

   DESIGN. A platform file says how fast devices are. A HassVirtualModel says
   what is special in one run: true costs of units, entry copies (what a GPU
   needs in its memory before its first bundle of a round), merges of results on
   the host, and devices that get slower or fail. Strategies are told of entry
   copies and merges and of nothing else.

   Thread safety: constant while the farm runs; the functions are called on its
   thread. */
#ifndef HASS_VIRTUAL_H
#define HASS_VIRTUAL_H

#include "device/model/model.h"
#include "engine/core/farm.h"
#include "engine/stream/stage.h"
#include "hass/strategy.h"

/**
 * HassVirtualEvent: a device gets slower, or is lost.
 * @device: index of the device, the CPU pool first; only GPUs can be lost.
 * @slower: from the event on, kernels of the device that begin (for the CPU
 *   pool: pulls) take this many times as long as before; 0: the device is lost,
 *   and what it has in flight fails at once.
 * @round: when the event happens, in rounds: 2.25 is when a quarter of the
 *   units of the third round is finished. Ignored if @at_ns is set.
 * @at_ns: when the event happens, in ns since the farm's begin; 0: @round says
 *   it.
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
 * @summary: what the devices have done in it.
 * @begin_ns, @end_ns: when it began and ended, including the merge.
 * @bytes: [n_devices], inputs and entry copies of each device.
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
 * HassVirtualModel: what a bench adds to the modelled machine. Times are in ns.
 * @entry_bytes: bytes that a GPU copies before its first bundle of each round.
 * @merge_ns: time of the host at the end of a round in which more than one
 *   device participated; no unit runs meanwhile.
 * @cost: returns the true work of @n units from @unit on, in their order of
 *   emission, on a device; it is more for a GPU than for the CPU where the
 *   GPU's threads diverge. NULL: the loads' costs.
 * @token_work: pipeline: returns the work of a token at a stage on a device, in
 *   the unit of the platform's rates. NULL: the cost of its load, else its
 *   input bytes, else 1.
 * @stoppable: workers ask whether they should stop, so that what cores have
 * begun can be taken from them.
 * @loops: pipeline: [n_stages] where idle cores can help inside a token
 *   (hass_worker_parallel_for()): all cores take for it 1 / (@loops * cores) of
 *   the time of one, if that is less; 0: they cannot. NULL: nowhere.
 * @traits: [n_devices], what strategies are told of the devices instead of what
 *   the platform says; grants are handed to GPUs in parts of their part_bytes.
 *   NULL: as the platform says.
 * @gap_ns: [@n_gaps] time before each round in which nothing runs; one entry
 *   more than there are rounds is the time after the last.
 * @late_ns: [@n_late * cores]: each core joins a round this long after the
 *   round's begin.
 * @open_ns: [n_devices] when a GPU takes its first part; NULL: after the
 *   platform's opening time.
 * @submit_ns: [n_devices] time before each part is copied to a GPU, counted as
 *   a part of the copy; NULL: none.
 * @host_ns: [n_devices] time that the host is busy with each part that has left
 *   the device, during which it hands no other part over; NULL: none.
 * @n_gaps, @n_late: numbers of rounds.
 * @round_ended: called after each round; or NULL.
 * @data: the user's, first argument of both functions.
 * @events: [@n_events], devices that get slower or are lost.
 */
typedef struct
{
  double entry_bytes;
  double merge_ns;
  double (*cost) (gpointer data, guint64 round, guint device, guint32 unit,
                  guint32 n);
  double (*token_work) (gpointer data, guint stage, guint device,
                        const HassToken *token);
  gboolean stoppable;
  const double *loops;
  const HassDeviceTraits *traits;
  const double *gap_ns, *late_ns, *open_ns, *submit_ns, *host_ns;
  guint64 n_gaps, n_late;
  void (*round_ended) (gpointer data, const HassVirtualRound *round);
  gpointer data;
  const HassVirtualEvent *events;
  guint n_events;
} HassVirtualModel;

/* Runs the farm on the modelled machine in virtual time and makes @report,
   unless that is NULL. Returns: FALSE with an error if the farm failed. */
gboolean hass_virtual_run (const HassFarm *farm, HassPlatform *platform,
                           HassReport **report, GError **error);

/* As hass_virtual_run(), with what a bench adds to the machine; @model may be
   NULL. */
gboolean hass_virtual_run_model (const HassFarm *farm, HassPlatform *platform,
                                 const HassVirtualModel *model,
                                 HassReport **report, GError **error);

#endif

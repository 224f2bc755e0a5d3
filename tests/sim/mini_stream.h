/* SPDX-License-Identifier: MIT */
/* mini_stream.h: a small event simulator that runs a strategy on a modelled
   pipeline, for tests of strategies alone.
   Thread safety: one thread. */
#ifndef MINI_STREAM_H
#define MINI_STREAM_H

#include "tools/hass-sim/pipe/pipe.h"

/**
 * MiniStream: a run and its result.
 * @strategy: name and parameters.
 * @slow_device, @slow_factor, @slow_ns: from @slow_ns on, what the device
 * begins takes @slow_factor times as long; 0: no device becomes slower.
 * @most_tokens: what the user allows in flight.
 * @makespan_ns: of the run; 0: it hung or the strategy refused.
 * @late_rate: loads per ns of the last quarter of the loads.
 * @forced: how often the engine had to ask with force.
 * @peak: most tokens in flight.
 * @in_order: every ordered stage got its tokens in order.
 * @through: tokens that passed the last stage.
 * @units: [stage][device] tokens.
 * @busy: [device] part of the makespan that it computed (cores: their mean).
 */
typedef struct
{
  const char *strategy;
  guint slow_device;
  double slow_factor;
  gint64 slow_ns;
  guint64 most_tokens;
  gint64 makespan_ns;
  double late_rate;
  guint64 forced, peak, through;
  gboolean in_order;
  guint64 units[SIM_MOST_STAGES][SIM_MOST_DEVICES];
  double busy[SIM_MOST_DEVICES];
} MiniStream;

void mini_stream_run (const SimPipeCase *c, MiniStream *run);

#endif

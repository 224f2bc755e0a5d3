/* SPDX-License-Identifier: MIT */
/* flow.h: how a farm without rounds is run; see engine/stream.
   Thread safety: see HassFlowOps. */
#ifndef HASS_FLOW_H
#define HASS_FLOW_H

#include "job.h"

/**
 * HassFlowOps: how a farm without rounds is run: a pipeline. All by the calling
 * thread, but @idle by any.
 * @create: makes HassJob.flow, before the strategy is made, which it tells of
 * the classes in HassJob.env. Returns: NULL with an error.
 * @finish: lists what is not through and releases it, merges accumulators and
 *   adds what was done to HassJob.totals, when all other threads have left.
 * @report: adds what is reported of the stages.
 * @idle: returns: TRUE if no load waits and none is on its way.
 * @grant_over: all units of a grant, which are those of @slot, have been
 * computed or given back; under the decision lock.
 * @refused: the unit at a position of @slot, a part of a grant, fits into the
 *   memory of no device that can run it, and has failed.
 */
struct HassFlowOps
{
  gpointer (*create) (HassJob *job, GError **error);
  void (*finish) (HassJob *job);
  void (*report) (HassJob *job, HassReport *report);
  void (*free) (gpointer flow);
  gboolean (*idle) (HassJob *job);
  void (*grant_over) (HassJob *job, HassSlot *slot, const HassCompletion *told);
  void (*refused) (HassJob *job, HassSlot *slot, guint32 position,
                   const char *why);
};

#endif

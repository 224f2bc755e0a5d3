/* SPDX-License-Identifier: MIT */
/* fill.h: which devices participate in the remaining work, and when all of
   them finish together.
   Thread safety: plain values. */
#ifndef HASS_SCHED_FILL_H
#define HASS_SCHED_FILL_H

#include <glib.h>

/**
 * HassRunner: a device in a plan. Times are in ns and count from now.
 * @rate: work per ns; 0: the device is excluded.
 * @ready_ns: when the device could begin to compute more.
 * @step_ns: time of its smallest bundle, or of one unit on one core.
 * @fill_ns: the time in @step_ns for the least work that fills a GPU.
 * @alone: extra fraction of a bundle's time when its copies overlap nothing;
 *   @ready_ns includes @alone * @step_ns.
 * @runs: result: the device participates.
 */
typedef struct
{
  double rate, ready_ns, step_ns, fill_ns, alone;
  gboolean runs;
} HassRunner;

/**
 * HassPlan: how the remaining work is divided.
 * @runners: [n_devices] the devices.
 * @work: the remaining work.
 * @finish_ns: time in ns from now until all participating devices finish
 *   together; INFINITY: none participates.
 */
typedef struct
{
  HassRunner *runners;
  double work, finish_ns;
} HassPlan;

/* Chooses which devices participate in @work (runners[d].runs). Returns the
   time in ns from now until all of these finish together; INFINITY: none
   participates. */
double hass_fill (HassRunner *runners, guint n, double work);

#endif

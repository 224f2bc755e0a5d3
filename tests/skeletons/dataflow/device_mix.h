/* SPDX-License-Identifier: MIT */
/* device_mix.h: random graphs on cores and on stand-ins for devices, with
   little memory and with faults of any kind, must have the values of the
   sequential program.

   DESIGN. A seed makes a plan (graph_plan.h), one to three stand-ins
   (stand_in_data.h), and what is wrong with them. A third of the stand-ins have
   threads; a plan with others depends on the timing of the proxy threads alone.
   Codelets for devices alone come with devices that can compute all of them: at
   least one has no faults, and the memory that the largest task needs.

   TEST_FARMS is the number of graphs of each test, TEST_SEED the first one's
   seed, the next ones have the next seeds. A graph that hangs ends the program,
   with its seed.

   Thread safety: one thread beside those of the dataflows. */
#ifndef DEVICE_MIX_H
#define DEVICE_MIX_H

#include "graph_plan.h"

/**
 * DeviceMix: what a test's graphs are like.
 * @flags: of graph_plan_new().
 * @strategy: NULL: the preset one.
 * @small: devices have little memory.
 * @faulty: devices have faults; the last one has none if there are codelets for
 *   devices alone.
 */
typedef struct
{
  const char *name, *strategy;
  guint n, flags;
  gboolean small, faulty;
} DeviceMix;

/* What the devices did in all graphs. */
typedef struct
{
  guint64 graphs, computed, failed, no_memory, lost, copies;
} DeviceTally;

/* Runs its graphs, adds up what the devices did, and asserts that all values
   are right. */
void device_mix_run (const DeviceMix *mix, DeviceTally *tally);

#endif

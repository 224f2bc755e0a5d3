/* SPDX-License-Identifier: MIT */
/* shape-private.h: in what bundles a GPU that copies while it computes does so
   much work soonest.

   DESIGN. A bundle is copied in, computed and copied out. Kernels follow one
   another without a gap where no copy in takes longer than the kernel before
   it, and no copy out longer than the kernel after it. Then all takes
     the first copy in + all kernels + the last copy out.
   Sizes that grow from the first as fast as copies in allow, m of them, and
   then shrink to the last as fast as copies out allow, n of them, make both
   ends short: for given m and n, two linear equations give their sizes. Each
   bundle costs the fixed part of a kernel. The best m and n are searched for;
   the time first falls and then grows with each of them. Against linear
   programs, depth and the sharing of links apart, this is within 1 in 1000 of
   the optimum of hass-sim's model.

   As the time is linear in work for given m and n, that line is the plan's.

   Thread safety: plain values. */
#ifndef HASS_SCHED_AUTO_SHAPE_PRIVATE_H
#define HASS_SCHED_AUTO_SHAPE_PRIVATE_H

#include <glib.h>

/* a * work + b. */
typedef struct
{
  double a, b;
} HassAutoLine;

/**
 * HassAutoPipe: a GPU that is to do more work. Times count from now.
 * @in: copy in; of the first bundle, if kernels are in flight, such that a
 *   bundle whose copy ends with them is as large as it may be.
 * @kernel, @out: kernels, copies out.
 * @next: of a size the largest that may follow it; @a 0: nothing overlaps.
 * @last: of a size the largest that may come before it, at the end.
 * @in_ns: before that no copy in begins.
 * @kernel_ns: until then kernels are in flight.
 * @least: work of the smallest bundle.
 * @held_up: number of GPUs like it that wait for its first copy.
 * @held_later: number that wait for the part of it beyond @in_time.
 */
typedef struct
{
  HassAutoLine in, kernel, out, next, last;
  double in_ns, kernel_ns, least, held_up, held_later, in_time;
} HassAutoPipe;

/**
 * HassAutoShape: bundles for so much work.
 * @first: work of the first bundle.
 * @exposed: kernels wait for the first copy.
 * @ns: when all is done; @cost_ns: with the waits of other GPUs.
 * @ready_ns, @rate: a little more or less work takes ready_ns + work / rate.
 */
typedef struct
{
  double first;
  gboolean exposed;
  double ns, cost_ns, ready_ns, rate;
} HassAutoShape;

HassAutoShape hass_auto_best_shape (const HassAutoPipe *pipe, double work);

#endif

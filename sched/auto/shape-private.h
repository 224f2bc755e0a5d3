/* SPDX-License-Identifier: MIT */
/* shape-private.h: in what bundles a GPU that copies while it computes does
   given work soonest.

   DESIGN. A bundle is copied in, computed by kernels and copied out. The
   kernels of successive bundles follow one another without a gap if no copy in
   takes longer than the kernel of the bundle before it, and no copy out longer
   than the kernel of the bundle after it. Then all bundles together take
     the first copy in + all kernels + the last copy out.
   The first and the last copy are short if there are m bundles that grow from
   the first as fast as copies in allow, and then n bundles that shrink to the
   last as fast as copies out allow. For given m and n, two linear equations
   give the sizes of all bundles. Each bundle costs the fixed part of a kernel's
   time, so the best m and n are searched for; the total time first falls and
   then grows with each of them. Compared with linear programs, and leaving out
   limits of bundles in flight and shared links, the result is within 1 in 1000
   of the optimum of hass-sim's model.

   As the time is linear in the work for given m and n, that line is used in the
   plan.

   Thread safety: plain values. */
#ifndef HASS_SCHED_AUTO_SHAPE_PRIVATE_H
#define HASS_SCHED_AUTO_SHAPE_PRIVATE_H

#include <glib.h>

/* A straight line over work: a * work + b, in ns where it is a time, in work
   where it is the size of a bundle. */
typedef struct
{
  double a, b;
} HassAutoLine;

/**
 * HassAutoPipe: what the bundles of a GPU that is to do more work depend on:
 * how long its three stages (copy in, kernels, copy out) take, and when they
 * are free. Times are in ns and count from now.
 * @in: time of a copy in over a bundle's work. If kernels are in flight it is,
 *   for the first bundle, a steeper line, so that a copy that ends with these
 *   kernels has the largest work that delays no other GPU.
 * @kernel: time of a bundle's kernels over its work.
 * @out: time of a copy out over a bundle's work.
 * @next: largest work of the bundle after one, over the work of that one, with
 *   which its copy in is hidden behind the kernels of that one. @next.a = 0:
 *   copies overlap no kernels.
 * @last: at the end of the GPU's part: largest work of the bundle before one,
 *   over the work of that one, with which the copy out of the earlier is hidden
 *   behind the kernels of the later.
 * @in_ns: when the next copy in can begin.
 * @kernel_ns: when the kernels in flight end; 0: none are.
 * @least: work of the smallest bundle.
 * @held_up: number of other GPUs, in GPUs of this one's rate, that hold nothing
 *   and wait for this one's first copy on a shared link.
 * @held_later: number of other GPUs, in GPUs of this one's rate, that wait only
 *   for the fraction of that copy beyond @in_time.
 * @in_time: work whose copy in delays no other GPU.
 */
typedef struct
{
  HassAutoLine in, kernel, out, next, last;
  double in_ns, kernel_ns, least, held_up, held_later, in_time;
} HassAutoPipe;

/**
 * HassAutoShape: the sequence of bundles with which a GPU does given work
 * soonest.
 * @first: work of the first bundle.
 * @exposed: the first copy in is not hidden: kernels wait for it.
 * @ns: time from now until all of the work is done.
 * @cost_ns: @ns and the time that other GPUs wait for the first copy; the best
 *   sequence has the least.
 * @ready_ns, @rate: near the given work, other work w would take ready_ns + w /
 *   rate.
 */
typedef struct
{
  double first;
  gboolean exposed;
  double ns, cost_ns, ready_ns, rate;
} HassAutoShape;

/* Returns the bundles with which a GPU does @work soonest, waits of other GPUs
   included. */
HassAutoShape hass_auto_best_shape (const HassAutoPipe *pipe, double work);

#endif

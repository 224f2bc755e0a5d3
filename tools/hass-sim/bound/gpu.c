/* SPDX-License-Identifier: MIT */
/* gpu.c: the most that one GPU can do within a time.

   DESIGN. Item 2 of bound.c: it follows from the least that bundles cost; see
   bundles.c where they overlap. Where every unit is one block, the rate
   is that of multiprocessors which each have a block of as many elements as any
   unit has, and equal units are computed in whole waves.

   Thread safety: any thread, each with a problem of its own. */
#include <math.h>

#include "bound.h"

BoundLeast
bound_least_of (const BoundProblem *q, guint g)
{
  const HassGpuModel *m = &q->p->gpus[g];
  const SimWorkload *w = q->w;
  BoundLeast l = { .rate = q->gpu_rate[g], .launch_ns = m->launch_ns };
  l.blocks = 1;
  if (q->kernels == BOUND_BLOCKS)
    {
      HassGpuModel own = *m;
      own.work_per_ns = l.rate;
      l.blocks = m->multiprocessors;
      l.rate = l.blocks / hass_model_block_ns (&own, 1, q->most_elements);
    }
  l.in_ns = q->in_bytes / m->h2d_bytes_per_ns;
  l.out_ns = q->out_bytes / m->d2h_bytes_per_ns;
  if (q->in_bytes > 0 || w->entry_bytes > 0)
    l.in_fixed = m->link_ns + w->entry_bytes / m->h2d_bytes_per_ns;
  if (q->in_bytes > 0)
    l.latency_ns = m->link_ns;
  if (q->out_bytes > 0)
    l.out_fixed = m->link_ns;
  l.saturating = m->curve == HASS_CURVE_SATURATING;
  l.depth_one = m->depth <= 1;
  l.duplex = m->duplex;
  l.smallest = q->smallest;
  l.lines = q->lines[g];
  if (q->kernels == BOUND_MERGED)
    {
      l.non_linear = m->width * q->density / l.rate;
      l.round_widths = m->width / ((double)w->units * w->elements);
    }
  return l;
}

/* Maximum of work * a + units * b on this GPU within @t. */
static double
most_of (const BoundLeast *l, double t, double a, double b)
{
  double fixed = l->in_fixed + l->launch_ns + l->out_fixed;
  double extra = l->saturating ? l->non_linear : 0;
  double room = t - fixed - extra;
  double copy = l->in_ns + l->out_ns, work, units;
  if (room <= 0 || (!l->saturating && t < fixed + l->non_linear))
    return 0;
  if (l->depth_one)
    {
      /* work / rate + units * copy <= room, both free: the better corner. */
      work = room * l->rate;
      if (copy <= 0)
        return b > 0 ? INFINITY : work * a;
      return MAX (work * a, room / copy * b);
    }
  work = (room - copy > 0 ? room - copy : 0) * l->rate;
  /* No bundle has more elements than the round. */
  if (l->saturating)
    work = MIN (work, (room + extra) * l->rate / (1 + l->round_widths));
  units = copy > 0 ? INFINITY : G_MAXDOUBLE;
  if (l->in_ns > 0)
    units = MIN (units, room / l->in_ns);
  if (l->out_ns > 0)
    units = MIN (units, room / l->out_ns);
  return work * a + (b > 0 ? units * b : 0);
}

/* Maximum number of equal units of @cost work on this GPU within @t. */
static double
most_units (const BoundLeast *l, double t, double cost)
{
  double fixed = l->in_fixed + l->launch_ns + l->out_fixed;
  double extra = l->saturating ? l->non_linear : 0;
  double room = t - fixed - extra, each = cost / l->rate;
  double copy = l->in_ns + l->out_ns, least = l->smallest, n;
  double waves = room / (each * l->blocks);
  if (room <= 0)
    return 0;
  if (l->depth_one)
    {
      n = room / (each + copy);
      if (!l->saturating && n * each < l->non_linear)
        n = copy > 0 ? (room - l->non_linear) / copy
                     : (room < l->non_linear ? 0 : room / each);
    }
  else
    {
      double kernels = room - least * copy;
      if (kernels < (l->saturating ? 0 : l->non_linear))
        return 0;
      n = MIN (kernels / each,
               bound_most_by_lines (l->lines, t - l->in_fixed + l->latency_ns));
      if (l->in_ns > 0)
        n = MIN (n, (room - least * (l->out_ns + each)) / l->in_ns);
      if (l->out_ns > 0)
        n = MIN (n, (room - least * (l->in_ns + each)) / l->out_ns);
    }
  if (n <= 0)
    return 0;
  /* A multiprocessor computes whole blocks. */
  if (least == 1 && l->blocks > 1)
    n = MIN (n, l->blocks * floor (waves + 1e-9));
  return least == 1 ? floor (n + 1e-9) : n;
}

double
bound_most_of_gpu (const BoundLeast *l, const BoundWanted *want)
{
  return want->cost > 0 ? most_units (l, want->t, want->cost)
                        : most_of (l, want->t, want->a, want->b);
}

BoundBundle
bound_bundle_of (const BoundLeast *l, double cost)
{
  return (BoundBundle){ .in_ns = l->in_ns,
                        .in_fixed = l->latency_ns,
                        .out_ns = l->out_ns,
                        .out_fixed = l->out_fixed,
                        .kernel_ns = cost / l->rate,
                        .extra_ns
                        = l->launch_ns + (l->saturating ? l->non_linear : 0),
                        .floor_ns = l->saturating ? 0 : l->non_linear,
                        .least = l->smallest };
}

/* SPDX-License-Identifier: MIT */
/* bound_gpu.c: the most that GPUs can do within a time.

   DESIGN. Items 2 and 3 of bound.c. What one GPU can do follows from the least
   that its bundles cost; GPUs of one link are bounded by what the link lets
   through as well.

   Thread safety: any thread, each with a problem of its own. */
#include <math.h>

#include "bound.h"

#define MOST_ON_LINK 8

BoundLeast
bound_least_of (const BoundProblem *q, guint g)
{
  const HassGpuModel *m = &q->p->gpus[g];
  const SimWorkload *w = q->w;
  BoundLeast l = { .rate = q->gpu_rate[g], .launch_ns = m->launch_ns };
  double floor_ns = m->width * q->density / l.rate;
  l.in_ns = w->input_bytes / m->h2d_bytes_per_ns;
  l.out_ns = w->output_bytes / m->d2h_bytes_per_ns;
  if (w->input_bytes > 0 || w->entry_bytes > 0)
    l.in_fixed = m->link_ns + w->entry_bytes / m->h2d_bytes_per_ns;
  if (w->input_bytes > 0)
    l.latency_ns = m->link_ns;
  if (w->output_bytes > 0)
    l.out_fixed = m->link_ns;
  l.saturating = m->curve == HASS_CURVE_SATURATING;
  l.depth_one = m->depth <= 1;
  l.smallest = q->smallest;
  l.round_widths = m->width / ((double)w->units * w->elements);
  if (w->farm == HASS_FARM_PARTITION || w->farm == HASS_FARM_COMBINE)
    l.non_linear = floor_ns;
  return l;
}

static gboolean
are_alike (const BoundLeast *a, const BoundLeast *b)
{
  return a->rate == b->rate && a->in_ns == b->in_ns && a->out_ns == b->out_ns
         && a->in_fixed == b->in_fixed && a->launch_ns == b->launch_ns
         && a->non_linear == b->non_linear && a->saturating == b->saturating
         && a->depth_one == b->depth_one;
}

/* Most of work * a + units * b on this GPU within T. */
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

/* Most equal units on a GPU that overlaps copies and kernels, in k bundles.
   Let bundle i have s_i units. Kernel j begins when j copies in are done, and
   kernels j to k follow one another, so for each j
     T >= sum (i <= j) in (s_i) + sum (i >= j) kernel (s_i).
   A mean of these with weights y_j >= 0 holds as well. With y_j in the
   proportion of p^j, p = copy / kernel of a unit, each unit counts the same,
   whatever bundle it is in, and the mean bounds their number. */
static double
most_in_bundles (const BoundLeast *l, double room, double each, guint k)
{
  double p = l->in_ns / each, sum = 0, weight = 1, latency = 0, launches = 0;
  double extra = l->launch_ns + (l->saturating ? l->non_linear : 0);
  for (guint j = 1; j <= k; j++)
    {
      sum += weight;
      latency += weight * (j - 1);
      launches += weight * (k - j);
      weight *= p;
    }
  /* One latency and one launch are in the room already. */
  room -= l->latency_ns * latency / sum + extra * launches / sum;
  return room / (l->in_ns + each / sum);
}

/* And in any number of bundles. */
static double
most_overlapped (const BoundLeast *l, double room, double each)
{
  enum
  {
    MOST = 24
  };
  double extra = l->launch_ns + (l->saturating ? l->non_linear : 0);
  double best = (room - MOST * extra) / each;
  for (guint k = 1; k <= MOST && l->in_ns > 0; k++)
    best = MAX (best, most_in_bundles (l, room, each, k));
  return l->in_ns > 0 ? best : room / each;
}

/* Most equal units on this GPU within T; each has `cost` work. */
static double
most_units (const BoundLeast *l, double t, double cost)
{
  double fixed = l->in_fixed + l->launch_ns + l->out_fixed;
  double extra = l->saturating ? l->non_linear : 0;
  double room = t - fixed - extra, each = cost / l->rate;
  double copy = l->in_ns + l->out_ns, least = l->smallest, n;
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
               most_overlapped (l, room - least * l->out_ns, each));
      if (l->in_ns > 0)
        n = MIN (n, (room - least * (l->out_ns + each)) / l->in_ns);
      if (l->out_ns > 0)
        n = MIN (n, (room - least * (l->in_ns + each)) / l->out_ns);
    }
  if (n <= 0)
    return 0;
  return least == 1 ? floor (n + 1e-9) : n;
}

/* GPUs that enter one after another over their link. */
static double
in_order (const BoundLeast *l, const guint *order, guint k,
          const BoundWanted *want)
{
  double sum = 0, entered = 0;
  for (guint i = 0; i < k; i++)
    {
      BoundLeast own = l[order[i]];
      entered += own.in_fixed;
      own.in_fixed = entered;
      sum += want->cost > 0 ? most_units (&own, want->t, want->cost)
                            : most_of (&own, want->t, want->a, want->b);
    }
  return sum;
}

/* The best of all orders. */
static double
best_order (const BoundLeast *l, guint *order, guint done, guint k,
            const BoundWanted *want)
{
  double best = 0;
  if (done == k)
    return in_order (l, order, k, want);
  for (guint i = done; i < k; i++)
    {
      guint swap = order[done];
      order[done] = order[i];
      order[i] = swap;
      best = MAX (best, best_order (l, order, done + 1, k, want));
      order[i] = order[done];
      order[done] = swap;
    }
  return best;
}

/* Units that the link itself lets through, for a set of its GPUs. */
static double
link_units (const BoundLeast *l, guint k, gboolean duplex, double t)
{
  double in = 0, out = 0, in_ns = INFINITY, out_ns = INFINITY;
  double first = INFINITY, last = INFINITY;
  for (guint i = 0; i < k; i++)
    {
      in += l[i].in_fixed;
      out += l[i].out_fixed;
      in_ns = MIN (in_ns, l[i].in_ns);
      out_ns = MIN (out_ns, l[i].out_ns);
      first = MIN (first, l[i].in_fixed + l[i].launch_ns);
      last = MIN (last, l[i].launch_ns + l[i].out_fixed);
    }
  if (!duplex)
    return in_ns + out_ns > 0 ? MAX (t - in - out, 0) / (in_ns + out_ns)
                              : INFINITY;
  double by_in = in_ns > 0 ? MAX (t - in - last, 0) / in_ns : INFINITY;
  double by_out = out_ns > 0 ? MAX (t - out - first, 0) / out_ns : INFINITY;
  return MIN (by_in, by_out);
}

/* Most of the GPUs of one link, over all subsets of them. */
static double
most_of_link (const BoundProblem *q, const guint *gpus, guint n,
              const BoundWanted *want)
{
  double best = 0;
  for (guint set = 1; set < 1u << n; set++)
    {
      BoundLeast l[MOST_ON_LINK];
      guint order[MOST_ON_LINK], k = 0;
      gboolean duplex = TRUE, alike = TRUE;
      double sum = 0;
      for (guint i = 0; i < n; i++)
        if (set & (1u << i))
          {
            l[k] = bound_least_of (q, gpus[i]);
            duplex &= q->p->gpus[gpus[i]].duplex;
            alike &= are_alike (&l[k], &l[0]);
            order[k] = k;
            k++;
          }
      if (q->w->entry_bytes > 0 && alike)
        sum = in_order (l, order, k, want);
      else if (q->w->entry_bytes > 0 && k <= 4)
        sum = best_order (l, order, 0, k, want);
      else
        for (guint i = 0; i < k; i++)
          sum += in_order (l, &order[i], 1, want);
      double through = link_units (l, k, duplex, want->t);
      if (want->cost > 0)
        sum = MIN (sum, through);
      else if (want->a == 0)
        sum = MIN (sum, through * want->b);
      best = MAX (best, sum);
    }
  return best;
}

double
bound_most_of_gpus (const BoundProblem *q, const BoundWanted *want)
{
  double sum = 0;
  for (guint link = 0; link < q->p->n_links; link++)
    {
      guint gpus[MOST_ON_LINK], n = 0;
      for (guint g = 0; g < q->p->n_gpus; g++)
        if (q->p->gpus[g].link == link && q->gpu_rate[g] > 0
            && (q->use_gpu == G_MAXUINT || q->use_gpu == g))
          {
            /* More than these: as if they had a link of their own. */
            if (n == MOST_ON_LINK)
              {
                sum += most_of_link (q, gpus, n, want);
                n = 0;
              }
            gpus[n++] = g;
          }
      sum += most_of_link (q, gpus, n, want);
    }
  return sum;
}

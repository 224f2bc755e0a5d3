/* SPDX-License-Identifier: MIT */
/* link.c: the most that GPUs can do within a time, those of one link
   together.

   DESIGN. Item 3 of bound.c, and for equal units one thing more, where a link
   has n > 1 GPUs. Let A_j be when the j-th copy in over the link is there, of N
   for all of them, N the last one as well. Bundles j to N are computed by n
   GPUs, each of which begins with them no earlier than its first of them is
   there, and those n arrivals differ. So
     n T >= A_j + .. + A_(j + n - 1) + kernel (s_j) + .. + kernel (s_N),
   where A beyond N stands for A_N. As in bundles.c, a mean of these
   bounds the units, with weights by which all bundles' units count the same:
   with p = n in / kernel of a unit each weight is p times the mean of the n
   before it. On a linear curve the first n bundles are taken in part as the
   shortest there are. GPUs that differ are taken to be as good as the best of
   them in everything. Copies out and the kernels before them are the same read
   backwards in time.

   Thread safety: any thread, each with a problem of its own. */
#include <math.h>

#include "bound.h"

enum
{
  MOST_ON_LINK = 8,
  MOST = 96 /* bundles of all GPUs together */
};

/* Weights may be any; they grow by it MOST times and are to stay finite. */
#define MOST_RATIO 1e3

static gboolean
are_alike (const BoundLeast *a, const BoundLeast *b)
{
  return a->rate == b->rate && a->in_ns == b->in_ns && a->out_ns == b->out_ns
         && a->duplex == b->duplex && a->blocks == b->blocks
         && a->round_widths == b->round_widths && a->in_fixed == b->in_fixed
         && a->latency_ns == b->latency_ns && a->out_fixed == b->out_fixed
         && a->launch_ns == b->launch_ns && a->non_linear == b->non_linear
         && a->saturating == b->saturating && a->depth_one == b->depth_one;
}

/* Capacity of GPUs that enter one after another over their link. */
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
      sum += bound_most_of_gpu (&own, want);
    }
  return sum;
}

/* The maximum over all orders. */
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

/* Returns: whether copies out of these GPUs queue. */
static gboolean
outs_queue (const BoundLeast *l, guint k)
{
  for (guint i = 1; i < k; i++)
    if (l[i].duplex != l[0].duplex)
      return FALSE;
  return TRUE;
}

/* Maximum number of units that the link carries for a set of its GPUs. */
static double
link_units (const BoundLeast *l, guint k, double t)
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
  gboolean queue = outs_queue (l, k);
  if (queue && !l[0].duplex)
    return in_ns + out_ns > 0 ? MAX (t - in - out, 0) / (in_ns + out_ns)
                              : INFINITY;
  double by_in = in_ns > 0 ? MAX (t - in - last, 0) / in_ns : INFINITY;
  double by_out
      = queue && out_ns > 0 ? MAX (t - out - first, 0) / out_ns : INFINITY;
  return MIN (by_in, by_out);
}

/* -- Bundles of all GPUs of a link ---------------------------------------- */

/* The mean over where the kernels begin that are looked at; `alpha` is what of
   the first n kernels counts by units. */
static BoundLine
mean_of (const BoundBundle *b, guint n, guint k, double alpha)
{
  double y[MOST], counts[MOST], sum = 1, window = 0;
  double ratio = MIN (n * b->in_ns / b->kernel_ns, MOST_RATIO);
  BoundLine line = { .k = k, .each_ns = INFINITY };
  y[0] = 1;
  for (guint i = 0; i + 1 < k; i++)
    {
      double part = i < n ? alpha : 1, next = i + 1 < n ? alpha : 1;
      window += y[i] - (i >= n ? y[i - n] : 0);
      y[i + 1] = MAX ((part * sum + ratio * window / n) / next - sum, 0);
      sum += y[i + 1];
    }
  double begun = 0, in = 1; /* weight of j <= i; of A_i and those behind */
  window = 0;
  for (guint i = 0; i < k; i++)
    {
      double part = i < n ? alpha : 1;
      begun += y[i] / sum;
      counts[i] = b->in_ns * in + b->kernel_ns * begun * part / n;
      line.less_ns += b->in_fixed * in
                      + (b->extra_ns + b->floor_ns * (1 - part)) * begun / n;
      line.each_ns = MIN (line.each_ns, counts[i]);
      window += (y[i] - (i >= n ? y[i - n] : 0)) / sum;
      in -= window / n;
    }
  for (guint i = 0; i < k; i++)
    line.less_ns += (counts[i] - line.each_ns) * b->least;
  return line;
}

static GArray *
lines_of_link (const BoundBundle *b, guint n)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (BoundLine));
  double part = MAX (1 - n * b->in_ns / b->kernel_ns, 0.01);
  for (guint k = 1; k <= MOST; k++)
    {
      bound_add_line (lines, mean_of (b, n, k, 1));
      if (b->floor_ns > 0)
        bound_add_line (lines, mean_of (b, n, k, part));
    }
  bound_add_many (lines, b, n, MOST);
  return lines;
}

/* A GPU as good as the best of these in everything. */
static BoundBundle
best_of (const BoundLeast *l, guint n, double cost)
{
  BoundBundle best = bound_bundle_of (&l[0], cost);
  for (guint i = 1; i < n; i++)
    {
      BoundBundle b = bound_bundle_of (&l[i], cost);
      best.in_ns = MIN (best.in_ns, b.in_ns);
      best.in_fixed = MIN (best.in_fixed, b.in_fixed);
      best.out_ns = MIN (best.out_ns, b.out_ns);
      best.out_fixed = MIN (best.out_fixed, b.out_fixed);
      best.kernel_ns = MIN (best.kernel_ns, b.kernel_ns);
      best.extra_ns = MIN (best.extra_ns, b.extra_ns);
      best.floor_ns = MIN (best.floor_ns, b.floor_ns);
    }
  return best;
}

/* Units that n > 1 GPUs compute whose copies in come one after another. `key`
   names them and the direction. */
static double
joint_units (const BoundProblem *q, guint key, const BoundBundle *b, guint n,
             double t)
{
  GArray *lines = g_hash_table_lookup (q->link_lines, GUINT_TO_POINTER (key));
  if (!lines)
    {
      lines = lines_of_link (b, n);
      g_hash_table_insert (q->link_lines, GUINT_TO_POINTER (key), lines);
    }
  return bound_most_by_lines (lines, t - b->out_fixed - b->out_ns * b->least);
}

static BoundBundle
backwards (BoundBundle b)
{
  BoundBundle back = b;
  back.in_ns = b.out_ns;
  back.in_fixed = b.out_fixed;
  back.out_ns = b.in_ns;
  back.out_fixed = b.in_fixed;
  return back;
}

/* The same for a set of GPUs of one link; @set is unique to it. */
static double
bundles_units (const BoundProblem *q, guint set, const BoundLeast *l, guint n,
               const BoundWanted *want)
{
  BoundBundle b = best_of (l, n, want->cost);
  double units = INFINITY;
  if (n > 1 && b.in_ns > 0)
    units = joint_units (q, 2 * set, &b, n, want->t);
  if (n > 1 && b.out_ns > 0 && outs_queue (l, n))
    {
      b = backwards (b);
      units = MIN (units, joint_units (q, 2 * set + 1, &b, n, want->t));
    }
  return units;
}

/* Maximum for the GPUs of one link, over all subsets; for equal GPUs over their
   number. */
static double
most_of_link (const BoundProblem *q, const guint *gpus, guint n,
              const BoundWanted *want)
{
  BoundLeast all[MOST_ON_LINK], l[MOST_ON_LINK];
  guint order[MOST_ON_LINK];
  gboolean alike = TRUE;
  double best = 0;
  for (guint i = 0; i < n; i++)
    {
      all[i] = bound_least_of (q, gpus[i]);
      alike &= are_alike (&all[i], &all[0]);
    }
  for (guint set = 1; set < 1u << n; set++)
    {
      guint k = 0;
      gboolean same = TRUE; /* of this set */
      double sum = 0;
      if (alike && (set & (set + 1)) != 0)
        continue;
      for (guint i = 0; i < n; i++)
        if (set & (1u << i))
          {
            l[k] = all[i];
            same &= are_alike (&l[k], &l[0]);
            order[k] = k;
            k++;
          }
      if (q->w->entry_bytes > 0 && same)
        sum = in_order (l, order, k, want);
      else if (q->w->entry_bytes > 0 && k <= 4)
        sum = best_order (l, order, 0, k, want);
      else
        for (guint i = 0; i < k; i++)
          sum += bound_most_of_gpu (&l[i], want);
      double through = link_units (l, k, want->t);
      guint key = gpus[0] << MOST_ON_LINK | set;
      if (want->cost > 0)
        sum = MIN (sum, MIN (through, bundles_units (q, key, l, k, want)));
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
            /* Further GPUs count as if they had a link of their own. */
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

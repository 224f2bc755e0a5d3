/* SPDX-License-Identifier: MIT */
/* bundles.c: the most equal units that a GPU can do within a time where
   copies and kernels of several bundles overlap.

   DESIGN. Let k bundles have s_1 to s_k units. Copies in follow one another,
   so do kernels, so do copies out, and a kernel waits for its copy, a copy out
   for its kernel. So for any j <= l
     T >= in (s_1) + .. + in (s_j) + kernel (s_j) + .. + kernel (s_l)
          + out (s_l) + .. + out (s_k).
   A mean of these inequalities, with weights that sum to 1, holds as well. The
   weights here are u_j * v_l, with u on the bundles up to some a and v on those
   from a on, so that j <= l. In the mean, a unit of bundle i then counts
     in * U (j >= i) + kernel * U (j <= i) * V (l >= i) + out * V (l <= i),
   U and V being the weights' sums over what is named, and latencies and
   launches count alike, once a bundle. Let each be the least of the units'
   counts: the mean says T >= constant + each * units, which bounds the units.
   Bundles have at least a smallest unit; what it counts beyond `each` joins the
   constant. On a linear curve no kernel is shorter than that of a bundle as
   wide as the GPU, so a kernel is also at least any mean of that and of what
   its units need; the first and the last bundle are taken so, with parts alpha
   and beta of the latter, as they are what strategies keep small.

   Any weights give a bound. Those are close where all bundles' units count the
   same; with p = in / kernel and r = out / kernel of a unit that makes u grow
   like p^j and v fall like r^(k - l), see weights_of(). For each k several
   weights are tried (a, alpha, beta) and the least of their bounds is taken; of
   all k the largest. More bundles than MOST take a launch more than MOST at
   least.

   Thread safety: any thread, each with lines of its own. */
#include <math.h>

#include "bound.h"

enum
{
  MOST = 24
};

/* Weights may be any; they grow by it MOST times and are to stay finite. */
#define MOST_RATIO 1e9

/* What the weights are made of. */
typedef struct
{
  const BoundBundle *b;
  guint k, a;
  double alpha, beta;
} Means;

/* Weights of one end, outermost bundle first: 1, then by `ratio`, the first
   step from a bundle of which only `part` of the kernel counts units. */
static double
outer_weights (double *w, guint n, double ratio, double part)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    {
      w[i] = i == 0 ? 1 : i == 1 ? MAX (ratio - 1 + part, 0) : w[i - 1] * ratio;
      sum += w[i];
    }
  return sum;
}

/* u [k] and v [k] that make all units count the same, as far as weights that
   are not negative can. */
static void
weights_of (const Means *m, double *u, double *v)
{
  double p = MIN (m->b->in_ns / m->b->kernel_ns, MOST_RATIO);
  double r = MIN (m->b->out_ns / m->b->kernel_ns, MOST_RATIO);
  guint before = m->a - 1, after = m->k - m->a;
  double out[MOST];
  double in_sum = outer_weights (u, before, p, m->alpha);
  double out_sum = outer_weights (out, after, r, m->beta);
  double x = in_sum / m->alpha, y = out_sum / m->beta;
  /* What a unit counts, by a kernel's time. */
  double each = (p + 1 + r + p * p * x + r * r * y) / (1 + p * x + r * y);
  double first = before > 0 ? MAX (each - p, 0) / m->alpha : 0;
  double last = after > 0 ? MAX (each - r, 0) / m->beta : 0;
  if (before > 0)
    first = MIN (first, 1 / in_sum);
  if (after > 0)
    last = MIN (last, 1 / out_sum);
  for (guint i = 0; i < m->k; i++)
    {
      u[i] = i < before ? u[i] * first : 0;
      v[i] = i > before ? out[m->k - 1 - i] * last : 0;
    }
  u[before] = MAX (1 - in_sum * first, 0);
  v[before] = MAX (1 - out_sum * last, 0);
}

static BoundLine
mean_of (const Means *m)
{
  const BoundBundle *b = m->b;
  double u[MOST], v[MOST], counts[MOST];
  BoundLine line = { .k = m->k, .each_ns = INFINITY };
  double done = 0, to_come = 1, outs = 0;
  weights_of (m, u, v);
  for (guint i = 0; i < m->k; i++)
    {
      double in = 1 - done; /* U (j >= i) */
      done += u[i];
      outs += v[i];
      double kernel = done * to_come;
      double part = i == 0 && m->a > 1             ? m->alpha
                    : i + 1 == m->k && m->a < m->k ? m->beta
                                                   : 1;
      counts[i]
          = b->in_ns * in + b->kernel_ns * kernel * part + b->out_ns * outs;
      line.less_ns += b->in_fixed * in + b->extra_ns * kernel
                      + b->out_fixed * outs + b->floor_ns * kernel * (1 - part);
      line.each_ns = MIN (line.each_ns, counts[i]);
      to_come -= v[i];
    }
  for (guint i = 0; i < m->k; i++)
    line.less_ns += (counts[i] - line.each_ns) * b->least;
  return line;
}

GArray *
bound_lines_of_gpu (const BoundBundle *b)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (BoundLine));
  Means m = { .b = b };
  guint n = b->floor_ns > 0 ? 2 : 1;
  double alphas[2] = { 1, MAX (1 - b->in_ns / b->kernel_ns, 0.01) };
  double betas[2] = { 1, MAX (1 - b->out_ns / b->kernel_ns, 0.01) };
  for (m.k = 1; m.k <= MOST; m.k++)
    for (m.a = 1; m.a <= m.k; m.a++)
      for (guint i = 0; i < (m.a > 1 ? n : 1); i++)
        for (guint j = 0; j < (m.a < m.k ? n : 1); j++)
          {
            m.alpha = alphas[i];
            m.beta = betas[j];
            bound_add_line (lines, mean_of (&m));
          }
  bound_add_many (lines, b, 1, MOST);
  return lines;
}

/* -- Lines --------------------------------------------------------------- */

void
bound_add_line (GArray *lines, BoundLine new)
{
  for (guint i = lines->len; i-- > 0;)
    {
      const BoundLine *old = &g_array_index (lines, BoundLine, i);
      if (old->k != new.k)
        break;
      if (old->less_ns >= new.less_ns && old->each_ns >= new.each_ns)
        return;
      if (old->less_ns <= new.less_ns && old->each_ns <= new.each_ns)
        g_array_remove_index (lines, i);
    }
  g_array_append_val (lines, new);
}

void
bound_add_many (GArray *lines, const BoundBundle *b, guint n, guint most)
{
  static const double parts[] = { 1, 0.8, 0.6, 0.4, 0.2 };
  for (guint i = 0; i < (b->floor_ns > 0 ? G_N_ELEMENTS (parts) : 1); i++)
    {
      double one = b->extra_ns + b->floor_ns * (1 - parts[i]);
      bound_add_line (
          lines, (BoundLine){ .k = most + 1,
                              .less_ns = b->in_fixed + (most + 1) * one / n,
                              .each_ns = b->kernel_ns * parts[i] / n });
    }
}

double
bound_most_by_lines (const GArray *lines, double t)
{
  const BoundLine *line = (const BoundLine *)lines->data;
  double most = 0, least = INFINITY;
  for (guint i = 0; i < lines->len; i++)
    {
      least = MIN (least, (t - line[i].less_ns) / line[i].each_ns);
      if (i + 1 < lines->len && line[i + 1].k == line[i].k)
        continue;
      most = MAX (most, least);
      least = INFINITY;
    }
  return most;
}

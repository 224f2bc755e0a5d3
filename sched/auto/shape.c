/* SPDX-License-Identifier: MIT */
/* shape.c: see shape-private.h.
   Thread safety: plain values. */
#include "shape-private.h"

#include <math.h>

/* Bundles that are tried at each end. Sizes grow at least geometrically where
   copies hide, so twelve span any round; more only cost time. Guesses. */
#define MOST_GROWING 12
#define MOST_SHRINKING 4

/* Consecutive sizes: the sum of those so far, and the next one, as lines over
   the size that they begin with. */
typedef struct
{
  HassAutoLine sum, next;
} Chain;

static void
go_on (Chain *c, const HassAutoLine *by)
{
  c->sum.a += c->next.a;
  c->sum.b += c->next.b;
  c->next = (HassAutoLine){ by->a * c->next.a, by->a * c->next.b + by->b };
}

/* n bundles with a first and a last of these sizes. */
static HassAutoShape
shape_of (const HassAutoPipe *p, double work, guint n, double first,
          double last)
{
  double copied_ns = p->in_ns + p->in.b + p->in.a * first;
  double ns = MAX (copied_ns, p->kernel_ns) + n * p->kernel.b
              + p->kernel.a * work + p->out.b + p->out.a * last;
  double held_ns = p->held_up * first
                   + p->held_later * MAX (first - MAX (p->in_time, 0), 0);
  return (HassAutoShape){ .first = first,
                          .exposed = copied_ns > p->kernel_ns,
                          .ns = ns,
                          .cost_ns = ns + p->in.a * held_ns };
}

/* The best number of growing sizes before those that shrink. */
static void
try_growing (const HassAutoPipe *p, double work, guint n, const Chain *back,
             HassAutoShape *best)
{
  Chain front = { .next = { 1, 0 } };
  double before_ns = INFINITY;
  gboolean least = FALSE;
  for (guint m = 1; m <= MOST_GROWING && !least; m++)
    {
      HassAutoLine largest = front.next;
      go_on (&front, &p->next);
      HassAutoLine last = { largest.a / back->next.a,
                            (largest.b - back->next.b) / back->next.a };
      HassAutoLine all = { front.sum.a + back->sum.a * last.a,
                           front.sum.b + back->sum.b + back->sum.a * last.b };
      double first = (work - all.b) / all.a, end = last.a * first + last.b;
      /* A bundle below the least takes as long as the least one; then the next
         ones need not grow as fast as they could. */
      least = first < p->least;
      if (least && n == 0 && m > 1 && m * p->least <= work)
        {
          first = p->least;
          end = CLAMP (end, p->least, work - (m - 1) * p->least);
        }
      else if (m + n > 1 && (least || end < p->least))
        return;
      HassAutoShape shape = shape_of (p, work, m + n, first, end);
      if (shape.cost_ns < best->cost_ns)
        {
          double slope = p->kernel.a + p->out.a * last.a / all.a
                         + (shape.exposed ? p->in.a / all.a : 0);
          /* What is copied while kernels are in flight costs nothing. */
          if (!shape.exposed && m > 1 && p->in.a > 0)
            shape.first
                = MIN ((p->kernel_ns - p->in_ns - p->in.b) / p->in.a, work);
          shape.rate = 1 / slope;
          shape.ready_ns = shape.ns - slope * work;
          *best = shape;
        }
      if (shape.cost_ns >= before_ns || p->next.a <= 0)
        return;
      before_ns = shape.cost_ns;
    }
}

HassAutoShape
hass_auto_best_shape (const HassAutoPipe *p, double work)
{
  HassAutoShape best = { .cost_ns = INFINITY };
  Chain back = { .next = { 1, 0 } };
  for (guint n = 0; n <= MOST_SHRINKING; n++)
    {
      double before_ns = best.cost_ns;
      try_growing (p, work, n, &back, &best);
      if (best.cost_ns >= before_ns || p->last.a <= 0)
        break;
      go_on (&back, &p->last);
    }
  return best;
}

/* SPDX-License-Identifier: MIT */
/* shape.c: see shape-private.h.
   Thread safety: plain values. */
#include "shape-private.h"

#include <math.h>

/* Largest number of growing bundles that is tried. Sizes grow at least
   geometrically where copies are hidden behind kernels, so 12 of them span any
   round; more only cost time of the decision. A guess. */
#define MOST_GROWING 12
/* Largest number of shrinking bundles that is tried at the end of a GPU's part.
   A guess: more cost time of the decision and save little. */
#define MOST_SHRINKING 4

/**
 * Chain: a sequence of bundles each of which is as large as the one before
 * allows. Sizes are work, as lines over the size x of the bundle that the
 * sequence begins with.
 * @sum: sum of the sizes so far. @next: size of the next bundle.
 */
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

/* Returns the times of a sequence of n bundles that do @work, with a first and
   a last bundle of given work: the first copy in + all kernels + the last copy
   out, as all else is hidden. The cost adds the time that other GPUs wait for
   the first copy. */
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

/* Tries numbers of growing bundles before the n shrinking ones in @back, and
   puts the sequence with the least cost into @best if it is better than
   that. */
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
      /* A bundle of less than the least work takes as long as one of the least,
         so the first has that; then the next bundles need not grow as fast as
         they could. */
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
          /* A first bundle whose copy ends before the kernels in flight may be
             larger at no cost. */
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

/* Returns the bundles with which the GPU does @work soonest: numbers of growing
   and of shrinking bundles are tried in turn until the time no longer falls. */
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

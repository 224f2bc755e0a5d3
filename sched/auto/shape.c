/* SPDX-License-Identifier: MIT */
/* auto_shape.c: in what bundles a GPU that copies while it computes does so
   much work soonest; of step 3 of auto.c.

   DESIGN. A bundle is copied in, computed and copied out. Kernels follow one
   another without a gap where no copy in takes longer than the kernel before
   it, and no copy out longer than the kernel after it. Then all takes
     the first copy in + all kernels + the last copy out.
   Sizes that grow from the first as fast as copies in allow, m of them, and
   then shrink to the last as fast as copies out allow, n of them, make both
   ends short: with m and n given two linear equations say how short. Each
   bundle costs the fixed part of a kernel, which counts where a GPU reaches its
   rate slowly. The best m and n are tried out; time first falls and then grows
   with each of them. Checked by linear programs, depth and the sharing of links
   apart, this is the optimum of `hass-sim`'s model but for 1 in 1000.

   As time is linear in work for each m and n, the line is the plan's.

   Thread safety: plain values. */
#include "auto-private.h"

#include <math.h>

#define MOST_GROWING 12
#define MOST_SHRINKING 4

/* Sizes after one another: sum of those so far, and the next; as lines over
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

/* So many bundles whose first and last are so large. */
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

/* Best of all numbers of growing sizes before those that shrink. */
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
      /* Smaller than the least it would not be shorter; then those after it
         need not grow as fast as they might. */
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
          /* As much as fits in behind what is there is not too much. */
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

/* SPDX-License-Identifier: MIT */
/* spoliation.c: see spoliation.h.
   Thread safety: plain values. */
#include "spoliation.h"

#include <math.h>

/* A device takes units that it has done in 1 / SURE of the time that their
   cores are predicted to need. A guess: less loses work of cores that would
   have ended soon; more leaves the round waiting for cores. */
#define SURE 2

typedef struct
{
  HassBegun *begun;
  double left_ns; /* that the core is predicted to need */
} Held;

static gint
last_first (gconstpointer a, gconstpointer b, gpointer unused)
{
  const Held *x = a, *y = b;
  (void)unused;
  return (x->left_ns < y->left_ns) - (x->left_ns > y->left_ns);
}

/* Returns by how much the number of bundles grows when the device takes @next
   besides the first n of @of: a bundle has adjacent units. */
static gint
more_bundles (const Held *of, guint n, const HassBegun *next)
{
  gint more = 1;
  for (guint i = 0; i < n; i++)
    more -= of[i].begun->first + of[i].begun->units == next->first
            || next->first + next->units == of[i].begun->first;
  return more;
}

gint64
hass_spoliation (const HassSpoliator *by, HassBegun *begun, guint n)
{
  g_autofree Held *of = g_new (Held, n);
  double work = 0, longest = 0, again_ns = INFINITY;
  gint bundles = 0;
  guint best = 0;
  for (guint i = 0; i < n; i++)
    of[i] = (Held){ &begun[i], by->core_rate > 0
                                   ? begun[i].work / by->core_rate - begun[i].ns
                                   : begun[i].ns };
  g_qsort_with_data (of, (gint)n, sizeof *of, last_first, NULL);
  for (guint i = 0; i < n; i++)
    {
      const HassBegun *b = of[i].begun;
      work += b->work;
      longest = MAX (longest, b->work / b->units);
      bundles += more_bundles (of, i, b);
      double ns
          = SURE
            * (bundles * by->fixed_ns
               + MAX (work, bundles * by->fill * longest) * by->ns_per_work);
      if (ns < of[i].left_ns)
        best = i + 1;
      again_ns = MIN (again_ns, ns - of[i].left_ns);
    }
  for (guint i = 0; i < best; i++)
    of[i].begun->take = TRUE;
  return best == 0 && by->core_rate <= 0 ? (gint64)MAX (again_ns, 0) + 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* loops.c: cores of a modelled machine that help inside a token.

   DESIGN. A token of a stage with loops is work that remains: a core and @k
   helpers do it 1 + k (e n - 1) / (n - 1) times as fast as one core, n being
   the cores and e the efficiency of all of them. Idle cores are divided evenly
   among such tokens, and a helper leaves at no cost as soon as something else
   is there for it, as between two pieces of a loop (device/cpu/loop.c). When
   their number changes, the end of the token moves.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

/* Returns: times as fast as one core that a core and its helpers are. */
static double
speed (const HassVirtualWorld *w, const HassVirtualLoop *loop)
{
  double others = w->job->n_cores - 1.;
  double most = loop->efficiency * (others + 1) - 1;
  return 1 + (most > 0 ? loop->helpers * most / others : 0);
}

/* Books what was done since the last change. */
static void
advance (HassVirtualWorld *w, guint core)
{
  HassVirtualLoop *loop = &w->loops[core];
  gint64 ns = w->clock - loop->since_ns;
  loop->left_ns -= (double)ns * speed (w, loop);
  loop->since_ns = w->clock;
  atomic_fetch_add_explicit (&w->job->workers[core].helped_ns,
                             ns * loop->helpers, memory_order_relaxed);
}

void
hass_virtual_loop_begin (HassVirtualWorld *w, guint core, guint stage,
                         double ns)
{
  double efficiency = w->model && w->model->loops ? w->model->loops[stage] : 0;
  w->loops[core] = (HassVirtualLoop){ .efficiency = efficiency,
                                      .left_ns = ns,
                                      .since_ns = w->clock };
}

void
hass_virtual_loop_end (HassVirtualWorld *w, guint core)
{
  advance (w, core);
  w->loops[core].efficiency = 0;
}

void
hass_virtual_help (HassVirtualWorld *w)
{
  guint idle = w->job->n_cores - w->n_busy, loops = 0;
  for (guint c = 0; c < w->job->n_cores; c++)
    loops += w->loops[c].efficiency > 0;
  for (guint c = 0; loops > 0 && c < w->job->n_cores; c++)
    {
      HassVirtualLoop *loop = &w->loops[c];
      if (loop->efficiency <= 0)
        continue;
      guint helpers = idle / loops--;
      idle -= helpers;
      if (helpers == loop->helpers)
        continue;
      advance (w, c);
      loop->helpers = helpers;
      double ns = loop->left_ns / speed (w, loop);
      hass_virtual_move (w, c, hass_virtual_later (w, w->clock, MAX (ns, 0)));
    }
}

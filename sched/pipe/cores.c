/* SPDX-License-Identifier: MIT */
/* cores.c: keeps a core free to bring GPUs their units.

   DESIGN. Where a core takes hundreds of times as long for a unit as a GPU, all
   cores may soon compute such units at once. Then no core reads the tokens that
   come next, and GPUs have nothing to do until one of them is free, however
   many tokens may be in flight. So all but one compute such units at once,
   unless more wait than the GPUs take in the time of one; or they compute one,
   all together (guard.c).

   Thread safety: see steady.h. */
#include "steady.h"

/* Time of a unit in ns from which cores take a single one, not the batch that
   it waits in: as long as the engine makes a batch on few cores. More, and a
   core holds up the order for as long as several units take; less, and it takes
   a lock for a short unit. */
#define BATCH_NS 2e4

/* Returns: units of a class that GPUs take in the time of one on a core. */
static double
meanwhile (const HassSteady *s, guint c)
{
  const HassPaces *p = s->paces;
  double units = 0;
  for (guint d = 0; d < p->env->n_devices; d++)
    if (d != p->cpu && hass_steady_part (s, c, d) > 0)
      units += hass_pace (p, c, p->cpu)->ns / hass_pace_ns (p, c, d);
  return units;
}

/* Returns: cores that compute no unit of a class that other devices serve. */
static guint64
free_cores (const HassSteady *s, const HassStreamState *state)
{
  guint64 busy = 0, cores = s->paces->env->devices[s->paces->cpu].cores;
  for (guint c = 0; c < state->n_classes; c++)
    if (hass_steady_is_served (s, state, c))
      busy += state->classes[c].running;
  return cores - MIN (busy, cores);
}

guint32
hass_steady_at_once (const HassSteady *s, const HassStreamState *state, guint c)
{
  const HassPaces *p = s->paces;
  if (!hass_steady_is_served (s, state, c))
    return 0;
  if (!hass_pace_known (p, c, p->cpu))
    return 1;
  if (hass_steady_is_out (s, c, p->cpu)
      || hass_pace (p, c, p->cpu)->ns < BATCH_NS)
    return 0;
  if (p->wide_ns[c] > 0)
    return 1;
  if ((double)state->classes[c].ready > meanwhile (s, c))
    return p->env->devices[p->cpu].cores;
  guint64 most = state->classes[c].running + free_cores (s, state);
  return (guint32)(MAX (most, 2) - 1);
}

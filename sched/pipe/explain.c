/* SPDX-License-Identifier: MIT */
/* explain.c: why devices take units of a class, or do not.
   Thread safety: see steady.h. */
#include "sched/units.h"
#include "steady.h"

void
hass_steady_explain (const HassSteady *s, const HassStreamState *state,
                     guint gpu, const HassServe *serve)
{
  const HassPaces *p = s->paces;
  guint c = serve->class_index;
  if (!hass_pace_known (p, c, gpu))
    HASS_NOTE (
        p->env, "%s: %" G_GUINT64_FORMAT " units of %s: not measured yet",
        p->env->devices[gpu].name, serve->units, p->env->classes[c].name);
  else
    HASS_NOTE (p->env,
               "%s: %" G_GUINT64_FORMAT " units of %s, %" G_GUINT64_FORMAT
               " wait: its part is %.3g, it is %.4g units "
               "behind; %.4g us a unit",
               p->env->devices[gpu].name, serve->units, p->env->classes[c].name,
               state->classes[c].ready, hass_steady_part (s, c, gpu),
               hass_steady_behind (s, c, gpu), hass_pace_ns (p, c, gpu) * 1e-3);
}

char *
hass_steady_left_out (const HassSteady *s, guint c, guint device)
{
  const HassPaces *p = s->paces;
  const HassSteadyOut *why = &s->why[c * p->env->n_devices + device];
  if (!hass_pace_can (p, c, device))
    return NULL;
  if (device == p->cpu && !hass_pace_known (p, c, device))
    return g_strdup (
        "none was tried, as one may take far longer than it gains");
  if (why->hold_ns <= 0 || !hass_pace_known (p, c, device))
    return NULL;
  if (why->held_up <= 0)
    return g_strdup_printf ("a token takes up to %.3g ms, for which the end "
                            "would wait longer than it gains",
                            why->hold_ns * 1e-6);
  return g_strdup_printf ("a token takes up to %.3g ms, in which %.3g pass "
                          "elsewhere, but %.3g at most may wait behind it",
                          why->hold_ns * 1e-6, why->passing, why->held_up);
}

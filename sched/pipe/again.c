/* SPDX-License-Identifier: MIT */
/* again.c: what an idle device begins again of what others hold.

   DESIGN. Where a device finds nothing to do although no token can begin, what
   others hold is all that is left, or keeps all the rest waiting. Then it loses
   nothing by computing the first of it, too, where the user allows it, and does
   so if it is expected to be done before the other. That one is expected to
   take its mean time; if it has taken longer already, as long again as it has
   taken: with heavy tails, and for a device that has become slow, that is about
   the mean of what is left.

   Thread safety: see steady.h. */
#include "sched/units.h"
#include "steady.h"

/* Returns: whether a token can begin, now or when the generator emits it. */
static gboolean
can_begin (const HassStreamState *state)
{
  return state->tokens < state->most_tokens
         && (state->waiting > 0 || !state->generated);
}

/* Returns: the time in ns that a device takes for units that it has been given
   when it had nothing else, or which a core computes. */
static double
alone_ns (const HassPaces *p, guint c, guint device, double units)
{
  const HassPace *pace = hass_pace (p, c, device);
  double latency = p->env->devices[device].latency_ns;
  if (device == p->cpu)
    return units * pace->ns;
  return pace->ns * MAX (units, hass_pace_width (p, c, device))
         + units * (pace->in_ns + pace->out_ns) + 3 * latency;
}

HassAnswer
hass_steady_again (const HassSteady *s, const HassStreamState *state,
                   guint device, HassServe *serve)
{
  const HassPaces *p = s->paces;
  const HassHeld *held = &state->held;
  guint c = held->class_index;
  if (held->units == 0 || can_begin (state)
      || state->devices[device].bundles > 0 || !hass_pace_known (p, c, device))
    return HASS_WAIT;
  double own = alone_ns (p, c, device, (double)held->units);
  double mean = alone_ns (p, c, held->device,
                          held->device == p->cpu
                              ? (double)held->units
                              : (double)state->devices[held->device].units[c]);
  double since = (double)(state->now_ns - held->since_ns);
  double left = since < mean ? mean - since : since;
  if (left <= own)
    {
      serve->within_ns = (gint64)MAX (MAX (mean, own) - since, 1);
      return HASS_WAIT;
    }
  HASS_NOTE (p->env,
             "%s: begins %" G_GUINT64_FORMAT " units of %s again that %s has "
             "computed for %.4g us: %.4g are expected to be left, %.4g here",
             p->env->devices[device].name, held->units, p->env->classes[c].name,
             p->env->devices[held->device].name, since * 1e-3, left * 1e-3,
             own * 1e-3);
  serve->again = TRUE;
  serve->units = hass_pace_fill (p, c, device);
  serve->in_flight = 1;
  return HASS_TAKE;
}

/* SPDX-License-Identifier: MIT */
/* functions.c: what devices get in a round of several functions. The
   DESIGN paragraph is in functions.h.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* A GPU's bundle takes this many times the fixed part of its time, if its part
   has so many units. A guess: less, and the fixed part costs; more, and devices
   do not end together. */
#define FIXED_TIMES 4
/* A GPU gets all of a function at once if it is done with it before a core ends
   a unit, even if it were SURE times as slow as is known. A guess, as in
   gpu.c. */
#define SURE 2
/* A GPU's first bundle of a function fills 1/FILLED of it, and is at most
   1/TRIED of the units there. Guesses: less shows less; more takes longer where
   the GPU is slow. */
#define FILLED 4
#define TRIED 8
/* Cores get what takes them so long at once, in ns, if their part has so much.
   A guess, as in cpu.c: more, and units are gone that GPUs could do; less, and
   cores ask more often. */
#define AHEAD_NS 2e6

/* Returns the place in the order of the function at a position. */
static guint
place_of (const HassFunctions *f, guint64 position)
{
  guint i = 0;
  while (i + 1 < f->n && position >= f->first[i + 1])
    i++;
  return i;
}

/* Returns the position before which cores, and from which on GPUs, would take
   about as long. */
static guint64
meet (const HassFunctions *f, guint64 front, guint64 back)
{
  guint64 lo = front, hi = back;
  while (lo < hi)
    {
      guint64 at = lo + (hi - lo + 1) / 2;
      if (hass_functions_cores_ns (f, front, at)
          <= hass_functions_gpus_ns (f, at, back))
        lo = at;
      else
        hi = at - 1;
    }
  return lo;
}

/* -- GPUs --------------------------------------------------------------- */

/* Returns how many units a GPU's first bundle of a function has. */
static guint64
tries (const HassFunctions *f, guint function, guint device, guint64 units)
{
  double fill = hass_function_fill (f, function, device) / FILLED;
  return (guint64)CLAMP (fill, 1, (double)(units / TRIED + 1));
}

/* Returns whether a GPU has bundles of another function in flight, and has not
   shown its pace in both. */
static gboolean
has_other (const HassFunctions *f, guint function, guint device)
{
  const HassFunctionSeat *seat = &f->seats[device];
  return seat->in_flight > 0 && seat->function != function
         && !(hass_function_shown (f, function, device)
              && hass_function_shown (f, seat->function, device));
}

/* Returns whether nobody knows how fast a GPU computes a function, nor will
   soon. */
static gboolean
to_try (const HassFunctions *f, guint function, guint device)
{
  return !hass_function_known (f, function, device)
         && !hass_function_tried (f, function);
}

/* Returns how many GPUs compute a function. */
static guint
n_gpus (const HassFunctions *f, guint function)
{
  guint n = 0;
  for (guint d = 0; d < f->u->n; d++)
    n += hass_function_counts (f, d) && hass_function_known (f, function, d);
  return MAX (n, 1);
}

/* Returns whether cores compute their first units, so that their pace will be
   known soon. */
static gboolean
cores_begin (const HassFunctions *f)
{
  gboolean known = FALSE, begun = FALSE;
  for (guint k = 0; k < f->n; k++)
    {
      known |= hass_function_known (f, k, f->u->cpu);
      begun |= f->held[k] > 0;
    }
  return begun && !known;
}

/* Returns how many of the @units units at the back a GPU gets, whose function
   it has computed before. */
static guint64
bundle (const HassFunctions *f, guint function, guint device, guint64 units)
{
  double one_ns = hass_function_gpu_ns (f, function, device, 1);
  double each_ns = hass_function_each_ns (f, function, device);
  double least = FIXED_TIMES * (one_ns - each_ns) / MAX (each_ns, 1);
  guint64 part = units / n_gpus (f, function);
  guint64 n = MAX ((part + 1) / 2, (guint64)MIN (least, (double)part));
  if (n_gpus (f, function) == 1
      && SURE * hass_function_gpu_ns (f, function, device, (double)units)
             <= hass_function_core_ns (f, function)
      && isfinite (hass_function_core_ns (f, function)))
    n = units;
  if (!hass_function_shown (f, function, device))
    n = MIN (n, tries (f, function, device, units));
  return cores_begin (f) ? 1 : MAX (n, 1);
}

HassAnswer
hass_auto_functions_gpu (HassAuto *s, HassRound *round, guint device,
                         gboolean force, HassGrant *grant)
{
  HassFunctions *f = &s->functions;
  hass_functions_sort (f, round);
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint first = place_of (f, lo), last = place_of (f, hi > lo ? hi - 1 : lo);
  guint k = f->order[last];
  guint64 from = MAX (f->first[last], lo);
  grant->source = HASS_FROM_BACK;
  grant->in_flight = f->u->devices[device].max_in_flight;
  grant->units = 1;
  s->why = "the cores have all that waits";
  if (hass_round_waiting (round) + hass_round_exclusive (round, device) == 0)
    return HASS_WAIT;
  s->why = "one unit, as its last bundle failed or nothing else waits";
  if (f->seats[device].failed || hi == lo)
    return HASS_TAKE;
  s->why = "to show its pace in a function";
  if (to_try (f, k, device) && !has_other (f, k, device))
    {
      grant->units = tries (f, k, device, hi - from);
      return HASS_TAKE;
    }
  if (first < last && to_try (f, f->order[first], device)
      && !has_other (f, f->order[first], device))
    {
      grant->source = HASS_FROM_FRONT;
      grant->units
          = tries (f, f->order[first], device, f->first[first + 1] - lo);
      return HASS_TAKE;
    }
  s->why = "until its bundles of another function are back";
  if (has_other (f, k, device) && !force)
    return HASS_WAIT;
  s->why = "until it has shown its pace";
  if (!hass_function_known (f, k, device))
    return force ? HASS_TAKE : HASS_WAIT;
  double ready_ns
      = MAX (f->seats[device].end_ns - hass_functions_now_ns (f), 0);
  s->why = "cores would be done with all before it ends a unit";
  if (!force
      && ready_ns + hass_function_gpu_ns (f, k, device, 1)
             > hass_functions_cores_ns (f, lo, hi))
    return HASS_WAIT;
  s->why = "of its part";
  grant->units = bundle (f, k, device, hi - CLAMP (meet (f, lo, hi), from, hi));
  return HASS_TAKE;
}

/* -- Cores -------------------------------------------------------------- */

/* Returns the least time that a GPU takes for a unit of any function, of a
   large bundle, in ns; 0: none is known. @times: the units that it is assumed
   to do while a core does one. */
static double
fastest_ns (const HassFunctions *f, double *times)
{
  double least = INFINITY;
  for (guint d = 0; d < f->u->n; d++)
    for (guint k = 0; k < f->n; k++)
      {
        double ns = hass_function_each_ns (f, k, d);
        if (!hass_function_counts (f, d) || !(ns < least))
          continue;
        least = ns;
        *times = hass_auto_core_times (f->u, d);
      }
  return isfinite (least) ? least : 0;
}

/* Returns whether a GPU that counts has not shown its pace in a function that
   waits. */
static gboolean
any_unknown (const HassFunctions *f)
{
  for (guint d = 0; d < f->u->n; d++)
    for (guint i = 0; i < f->n; i++)
      if (hass_function_counts (f, d) && f->first[i + 1] > f->first[i]
          && !hass_function_known (f, f->order[i], d))
        return TRUE;
  return FALSE;
}

/* Returns how many units of a function are kept for a GPU that is open, or will
   be before a core ends a unit, and is to try it. */
static guint64
kept (const HassFunctions *f, guint function, double core_ns)
{
  for (guint d = 0; d < f->u->n; d++)
    {
      const HassDeviceTraits *t = &f->u->devices[d];
      double opens_ns
          = t->opening ? (double)t->opens_at_ns - hass_functions_now_ns (f) : 0;
      if (hass_function_counts (f, d) && opens_ns < core_ns
          && to_try (f, function, d))
        return 1;
    }
  return 0;
}

/* Returns how many units at the front of [lo, hi) idle cores get, each of
   @each_ns, which end before the GPUs are done with all, or within @late_ns
   after that. */
static guint64
in_time (const HassFunctions *f, guint64 lo, guint64 hi, double each_ns,
         double late_ns)
{
  gint64 held = 0;
  for (guint k = 0; k < f->n; k++)
    held += f->held[k];
  guint64 idle = (guint64)MAX ((gint64)f->u->cores - held, 1), n = 0;
  while (n < idle && lo + n < hi
         && each_ns <= hass_functions_gpus_ns (f, lo + n, hi) + late_ns)
    n++;
  return n;
}

/* Returns how many units cores get now, all of the function at the front. */
static guint64
units_for_cores (HassAuto *s, const HassRound *round, gboolean force)
{
  HassFunctions *f = &s->functions;
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  guint place = place_of (f, lo);
  guint64 most = MIN (f->first[place + 1], hi) - lo;
  double each_ns = hass_function_core_ns (f, f->order[place]), late_ns = 0;
  gboolean unknown = any_unknown (f), known = isfinite (each_ns);
  if (!known)
    {
      double gpus_ns = hass_functions_gpus_ns (f, lo, hi);
      double times = 1, gpu_ns = fastest_ns (f, &times);
      each_ns = times * gpu_ns;
      late_ns = isfinite (gpus_ns)
                    ? HASS_AUTO_TRIED_PART * hass_auto_spent_ns (s, gpus_ns)
                    : 0;
    }
  s->why = "as many as end before GPUs would be done with all";
  guint64 n = in_time (f, lo, hi, each_ns, late_ns);
  guint64 keep = kept (f, f->order[place], MAX (each_ns, 1));
  guint64 part = unknown ? most : meet (f, lo, hi) - lo;
  if (n > 0 && known)
    n = MAX (n,
             MIN ((guint64)(AHEAD_NS * f->u->cores / MAX (each_ns, 1)), part));
  return force ? MAX (MIN (n, most), 1) : MIN (n, most - MIN (keep, most));
}

HassAnswer
hass_auto_functions_cpu (HassAuto *s, HassRound *round, gboolean force,
                         HassGrant *grant)
{
  guint cpu = s->k.u.cpu;
  gboolean common = hass_round_back (round) > hass_round_front (round);
  hass_functions_sort (&s->functions, round);
  grant->chunk = 1;
  grant->source = HASS_FROM_SHARE;
  grant->share = cpu;
  if (hass_round_share (round, cpu) > 0)
    return HASS_TAKE;
  guint64 n = common ? units_for_cores (s, round, force) : 1;
  if (n == 0 && hass_round_exclusive (round, cpu) == 0)
    return HASS_WAIT;
  if (common && n > 0)
    {
      s->counts[cpu] = n;
      hass_round_carve (round, s->counts);
      return HASS_TAKE;
    }
  grant->source = HASS_FROM_FRONT; /* given back, or only for cores */
  grant->units = 1;
  return HASS_TAKE;
}

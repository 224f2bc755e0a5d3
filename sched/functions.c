/* SPDX-License-Identifier: MIT */
/* functions.c: what is known of the functions of a round: paces, order, and how
   long a range of units takes. The DESIGN paragraph is in functions.h.
   Thread safety: as hass/strategy.h. */
#include "functions.h"

#include <math.h>

/* In ns, the fixed part of a bundle's time until bundles of several sizes have
   shown it, where a device states none. A guess: more, and the first bundle
   makes a GPU seem faster than it is. */
#define FIXED_NS 1e4

/* A GPU that has not opened for so long, in ns, after the time that was
   predicted is no longer counted on. A guess: more, and cores wait for one that
   never opens; less, and they begin units that it would do sooner. */
#define LATE_NS 1e7

void
hass_functions_init (HassFunctions *s, const HassUnits *u,
                     const HassForecast *f)
{
  guint n = u->env->n_functions;
  *s = (HassFunctions){ .u = u, .f = f };
  if (n < 2 || n > HASS_MOST_FUNCTIONS || u->cpu == u->n || u->n < 2)
    return;
  s->n = n;
  for (guint k = 0; k < n; k++)
    s->work[k] = s->elements[k] = 1;
  s->paces = g_new0 (HassFunctionPace, n * u->n);
  s->seats = g_new0 (HassFunctionSeat, u->n);
}

void
hass_functions_clear (HassFunctions *s)
{
  g_free (s->paces);
  g_free (s->seats);
}

/* -- Paces -------------------------------------------------------------- */

static HassFunctionPace *
pace_of (const HassFunctions *s, guint function, guint device)
{
  return &s->paces[function * s->u->n + device];
}

/* Returns what earlier runs have shown; NULL: nothing. */
static const HassProfileRate *
told (const HassFunctions *s, guint function, guint device)
{
  const HassProfileRate *all = s->u->env->function_profile;
  const HassProfileRate *rate = all ? &all[function * s->u->n + device] : NULL;
  return rate && rate->work_per_ns > 0 ? rate : NULL;
}

gboolean
hass_function_shown (const HassFunctions *s, guint function, guint device)
{
  const HassFunctionPace *p = pace_of (s, function, device);
  return p->fit.seen > 0 || p->work > 0 || told (s, function, device);
}

/* Returns the device whose pace in a function is a device's own or, until a GPU
   has shown its own, that of another GPU; the number of devices: unknown. */
static guint
like (const HassFunctions *s, guint function, guint device)
{
  if (hass_function_shown (s, function, device))
    return device;
  for (guint d = 0; d < s->u->n && device != s->u->cpu; d++)
    if (d != s->u->cpu && hass_function_shown (s, function, d))
      return d;
  return s->u->n;
}

gboolean
hass_function_known (const HassFunctions *s, guint function, guint device)
{
  return like (s, function, device) < s->u->n;
}

gboolean
hass_function_tried (const HassFunctions *s, guint function)
{
  for (guint d = 0; d < s->u->n; d++)
    if (pace_of (s, function, d)->trying)
      return TRUE;
  return FALSE;
}

/* Returns the time of a unit of work of a function on a core, in ns; 0:
   unknown. */
static double
core_ns_per_work (const HassFunctions *s, guint function)
{
  const HassFunctionPace *p = pace_of (s, function, s->u->cpu);
  const HassProfileRate *before = told (s, function, s->u->cpu);
  if (p->work > 0)
    return p->ns / p->work;
  return before ? s->u->cores / before->work_per_ns : 0;
}

/* A function that is unknown takes as long per work as the known one that takes
   least. */
double
hass_function_core_ns (const HassFunctions *s, guint function)
{
  double ns = core_ns_per_work (s, function), least = INFINITY;
  for (guint k = 0; k < s->n && ns == 0; k++)
    if (core_ns_per_work (s, k) > 0)
      least = MIN (least, core_ns_per_work (s, k));
  return (ns > 0 ? ns : least) * s->work[function];
}

/* Returns what earlier runs let expect of a bundle, in ns. */
static double
told_ns (const HassProfileRate *rate, double work)
{
  return rate->latency_ns + work / rate->work_per_ns;
}

/* Earlier runs had more bundles than this farm, so they say how the time
   depends on the work, and this farm how much slower the device is now. */
double
hass_function_gpu_ns (const HassFunctions *s, guint function, guint device,
                      double units)
{
  guint shown = like (s, function, device);
  if (shown == s->u->n)
    return INFINITY;
  const HassFunctionPace *p = pace_of (s, function, shown);
  const HassProfileRate *before = told (s, function, shown);
  double work = units * s->work[function];
  if (before)
    return told_ns (before, work)
           * (p->told_ns > 0 ? p->took_ns / p->told_ns : 1);
  return hass_fit_ns (&p->fit, work);
}

double
hass_function_each_ns (const HassFunctions *s, guint function, guint device)
{
  return hass_function_gpu_ns (s, function, device, 2)
         - hass_function_gpu_ns (s, function, device, 1);
}

double
hass_function_fill (const HassFunctions *s, guint function, guint device)
{
  const HassDeviceTraits *t = &s->u->devices[device];
  double elements = s->elements[function];
  return elements > 1 ? t->width / elements : MAX (t->cores, 1);
}

gboolean
hass_function_counts (const HassFunctions *s, guint device)
{
  const HassDeviceTraits *t = &s->u->devices[device];
  double late_ns = hass_functions_now_ns (s) - (double)t->opens_at_ns;
  return device != s->u->cpu && !s->seats[device].failed
         && (!t->opening || (t->opens_at_ns > 0 && late_ns < LATE_NS));
}

/* -- Order -------------------------------------------------------------- */

static guint
n_known (const HassFunctions *s)
{
  guint n = 0;
  for (guint k = 0; k < s->n; k++)
    for (guint d = 0; d < s->u->n; d++)
      n += hass_function_shown (s, k, d);
  return n;
}

/* Returns how many times as fast as a core the fastest GPU computes a unit in a
   large bundle; 0: no GPU is known to compute it. */
static double
suits_gpus (const HassFunctions *s, guint function)
{
  double core_ns = hass_function_core_ns (s, function), ns = INFINITY;
  for (guint d = 0; d < s->u->n; d++)
    if (d != s->u->cpu && hass_function_known (s, function, d))
      ns = MIN (ns, hass_function_each_ns (s, function, d));
  return (isfinite (core_ns) ? core_ns : s->work[function]) / MAX (ns, 1e-3);
}

/* Returns where the units of the function at @lo end, which lie together. */
static guint64
end_of (const HassRound *round, guint64 lo, guint64 hi)
{
  guint k = hass_round_function (round, lo);
  while (lo < hi)
    {
      guint64 at = lo + (hi - lo) / 2;
      if (hass_round_function (round, at) == k)
        lo = at + 1;
      else
        hi = at;
    }
  return lo;
}

/* Notes where each function lies now, and the mean work of its units. */
static void
look (HassFunctions *s, const HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round), end;
  gboolean there[HASS_MOST_FUNCTIONS] = { FALSE };
  guint n = 0;
  for (guint64 at = lo; at < hi && n < s->n; at = end)
    {
      guint k = hass_round_function (round, at);
      end = end_of (round, at, hi);
      there[k] = TRUE;
      s->work[k] = hass_round_work (round, at, end - at) / (double)(end - at);
      s->elements[k] = (double)hass_round_elements (round, at + (end - at) / 2);
      s->first[n] = at;
      s->order[n++] = k;
    }
  for (guint k = 0; k < s->n; k++)
    if (!there[k])
      {
        s->first[n] = hi;
        s->order[n++] = k;
      }
  s->first[n] = hi;
}

/* Sorts the units by how well their functions suit GPUs. */
static void
sort (HassFunctions *s, HassRound *round)
{
  double rank[HASS_MOST_FUNCTIONS];
  for (guint k = 0; k < s->n; k++)
    rank[k] = suits_gpus (s, k);
  hass_round_order_by_function (round, rank);
  look (s, round);
  s->n_known = n_known (s);
}

gboolean
hass_functions_begin (HassFunctions *s, HassRound *round)
{
  guint64 front = hass_round_front (round);
  s->several |= s->n > 1 && hass_round_functions (round) > 1;
  s->used = s->several && hass_round_back (round) > front;
  if (!s->used)
    return FALSE;
  s->begin_ns = hass_round_begin_ns (round);
  for (guint d = 0; d < s->u->n; d++)
    s->seats[d].end_ns = s->seats[d].in_flight = 0;
  for (guint k = 0; k < s->n; k++)
    s->held[k] = 0;
  for (guint i = 0; i < s->n * s->u->n; i++)
    s->paces[i].trying = FALSE;
  sort (s, round);
  return TRUE;
}

void
hass_functions_sort (HassFunctions *s, HassRound *round)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (n_known (s) != s->n_known || lo < s->first[0] || hi > s->first[s->n])
    sort (s, round);
}

double
hass_functions_now_ns (const HassFunctions *s)
{
  return (double)MAX (s->f->now_ns, s->begin_ns);
}

/* -- What devices do ---------------------------------------------------- */

void
hass_functions_granted (HassFunctions *s, const HassRound *round, guint device,
                        const HassGrant *grant)
{
  guint k = hass_round_function (round, grant->first);
  HassFunctionSeat *seat = &s->seats[device];
  if (device == s->u->cpu)
    {
      s->held[k] += (gint64)grant->taken;
      return;
    }
  HassFunctionPace *p = pace_of (s, k, device);
  double ns = hass_function_gpu_ns (s, k, device, (double)grant->taken);
  p->trying = !hass_function_shown (s, k, device);
  seat->end_ns = MAX (seat->end_ns, hass_functions_now_ns (s))
                 + (isfinite (ns) ? ns : 0);
  seat->in_flight++;
  seat->function = k;
}

void
hass_functions_observe (HassFunctions *s, const HassCompletion *done)
{
  guint k = MIN (done->function, s->n - 1);
  HassFunctionPace *p = pace_of (s, k, done->device);
  HassFunctionSeat *seat = &s->seats[done->device];
  if (done->device == s->u->cpu)
    {
      s->held[k] = MAX (s->held[k] - (gint64)done->units, 0);
      p->work += done->work;
      p->ns += done->kernel_ns * s->u->cores;
      return;
    }
  double from_ns = MAX ((double)done->start_ns, seat->last_ns);
  double ns = MAX ((double)done->end_ns - from_ns - done->setup_ns
                       - (p->fit.seen > 0 ? 0 : done->worker_ns),
                   MAX (done->kernel_busy_ns, 1));
  seat->failed = done->failed;
  seat->in_flight -= seat->in_flight > 0;
  seat->last_ns = MAX (seat->last_ns, (double)done->end_ns);
  if (seat->in_flight == 0)
    seat->end_ns = 0;
  p->trying = FALSE;
  if (done->failed || !(done->work > 0))
    return;
  const HassProfileRate *before = told (s, k, done->device);
  const HassDeviceTraits *t = &s->u->devices[done->device];
  double fixed_ns = MAX (t->latency_ns, FIXED_NS);
  if (p->fit.seen == 0)
    fixed_ns += hass_unfilled_ns (t, done, MAX (ns - fixed_ns, 0));
  hass_fit_add (&p->fit, done->work, ns, fixed_ns);
  p->told_ns += before ? told_ns (before, done->work) : 0;
  p->took_ns += ns;
}

/* -- How long a range takes --------------------------------------------- */

/* Returns how many units of the function at place @i of the order lie in
   [lo, hi). */
static double
units_in (const HassFunctions *s, guint i, guint64 lo, guint64 hi)
{
  guint64 from = MAX (s->first[i], lo), to = MIN (s->first[i + 1], hi);
  return to > from ? (double)(to - from) : 0;
}

double
hass_functions_gpus_ns (const HassFunctions *s, guint64 lo, guint64 hi)
{
  double ready_ns = INFINITY, ns = 0;
  for (guint d = 0; d < s->u->n; d++)
    {
      const HassDeviceTraits *t = &s->u->devices[d];
      double at_ns = MAX (s->seats[d].end_ns, t->opening ? t->opens_at_ns : 0);
      if (hass_function_counts (s, d))
        ready_ns = MIN (ready_ns, MAX (at_ns - hass_functions_now_ns (s), 0));
    }
  for (guint i = 0; i < s->n; i++)
    {
      guint k = s->order[i];
      double units = units_in (s, i, lo, hi), per_ns = 0, one_ns = INFINITY;
      for (guint d = 0; d < s->u->n && units > 0; d++)
        if (hass_function_counts (s, d))
          {
            per_ns += units / hass_function_gpu_ns (s, k, d, units);
            one_ns = MIN (one_ns, hass_function_gpu_ns (s, k, d, 1));
          }
      ns += units > 0 ? MAX (units / per_ns, one_ns) : 0;
    }
  return ready_ns + ns;
}

double
hass_functions_cores_ns (const HassFunctions *s, guint64 lo, guint64 hi)
{
  double core_ns = 0, longest = 0;
  for (guint i = 0; i < s->n; i++)
    {
      guint k = s->order[i];
      double units = units_in (s, i, lo, hi) + (double)s->held[k];
      double each_ns = hass_function_core_ns (s, k);
      if (units == 0)
        continue;
      core_ns += units * each_ns;
      longest = MAX (longest, each_ns);
    }
  return MAX (core_ns / s->u->cores, longest);
}

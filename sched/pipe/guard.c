/* SPDX-License-Identifier: MIT */
/* guard.c: takes devices out of classes where the units that they would hold
   keep the stream waiting for longer than they gain.

   DESIGN. Little's law: a unit that a device holds for the time C holds up all
   tokens behind it where an ordered stage follows, and at the end of the stream
   anywhere. Meanwhile at most W tokens pass on other devices, W being the
   tokens that may be in flight, or that the class has still to do if these are
   fewer; so the stream passes at most W / C tokens per time while the device
   takes part. It takes part in a class only if min (rate with it, W / C) > rate
   without it, both rates being optima of the steady state. Devices are looked
   at in the order of C, the longest first, since without one of them the others
   may do no harm. A device without a part, which takes what would wait for long
   otherwise, is excluded alike.
   Where the end is not known to be far, as many tokens are expected as have
   come, and the cores take part only if they gain over these more than a unit
   of theirs takes, for which the end may wait.
   While GPUs are being opened the cores have all classes, unless earlier runs
   have shown that their units would keep the stream from a GPU then, or nothing
   is known of the cores and a GPU is open in a moment.
   Before the cores are taken out of a class, idle cores may be able to help
   inside a unit of it (hass_worker_parallel_for()): with one unit at a time,
   which C then is shorter for by the number of cores that compute it, their
   rate is the same. Where several at a time do no harm they remain, since
   not all of a unit may be in loops.
   Of a core C is not the mean: with heavy tails one of the units that cores
   hold is far longer, so C is the time that only one in thousands exceeds.
   The cores take no part in a class that another device serves before their
   pace is known, but for the unit by which it is measured, and not before the
   first token begins, since W depends on its bytes. That unit may hold up the
   stream for as long as a core takes, so it is computed in the class in which
   the GPUs are fastest, and only if it is expected to pay (pays). In the other
   classes the cores are then guessed to be as much slower than the GPUs, within
   a factor: where they would be excluded even so they are not measured.

   Thread safety: see steady.h. */
#include "sched/units.h"
#include "steady.h"

#include <math.h>
#include <string.h>

/* C lies so many standard deviations of the logarithm above its mean, if times
   are distributed log-normally: one unit in 4300 is longer. With heavy tails a
   core that takes a few units soon has one of the longest. Fewer let it hold up
   the stream, more exclude it where it would help. Measured on modelled
   pipelines with heavy tails: 3.5 is better than 3, 4 slightly better still; on
   others all three are alike. */
#define DEVIATIONS 3.5
/* The variance of times of which nothing is known, as a multiple of the square
   of their mean. Measured likewise, in chains and short streams: 2 is better
   than 1 by 1 to 5 %, that is better than 0 by 1 to 2 %, 4 and 2 are alike. */
#define FIRST_SPREAD 2
/* Likewise of a class with equal costs that is measured, and in whose units no
   cores help, which makes their times differ. More, and the cores are kept out
   of short streams; doc/results/pipelines-held-up.md has what it changes. */
#define EQUAL_SPREAD 0.1
/* FIRST_SPREAD or EQUAL_SPREAD counts as so many grants: a few grants say
   little of a heavy tail of which they had no unit. Measured likewise: with 1
   cores are let in too soon, with 32 and 128 single cases of chains and of
   video lose. */
#define FIRST_GRANTS 8

/* So many times as fast as another class lets guess cores may be in a class. A
   guess: more, and a core is measured in each stage of a chain, which holds up
   the stream each time; less, and cores are never measured where they are
   fast. */
#define UNLIKE 4
/* A device that should be open within so many ns, or should have been so long
   ago, counts as open. A guess: longer, and cores wait for a cold GPU; less,
   and each of them begins a unit of unknown time beside a GPU that the process
   has used before, which opens within 1 ms. A variable for tests. */
gint64 hass_steady_soon_ns = 5000000;
/* Units of a class that pass before the cores are measured in it though another
   class would do it in less time: that one may get no units. A guess. */
#define SEEN 32

/* Returns: the longest time of a unit of a class but for a few, as a multiple
   of the mean. @first: the variance of times of which nothing is known. */
static double
longest (const HassPaces *p, guint c, double first)
{
  double n = p->spread_grants[c];
  double sum = p->spread[c] * n + first * FIRST_GRANTS;
  double variance = log (1 + sum / (n + FIRST_GRANTS));
  return exp (DEVIATIONS * sqrt (variance) - variance / 2);
}

/* Returns: C, the time in ns for which a device holds a unit of a class at
   most, but for a few. */
static double
hold_ns (const HassSteady *s, guint c, guint device)
{
  const HassPaces *p = s->paces;
  const HassPace *pace = hass_pace (p, c, device);
  gboolean equal
      = p->env->classes[c].cost == HASS_COST_EQUAL && p->speed_up[c] <= 1;
  if (device == p->cpu && !hass_pace_known (p, c, device))
    return pace->ns / UNLIKE;
  if (device == p->cpu)
    return pace->ns * longest (p, c, equal ? EQUAL_SPREAD : FIRST_SPREAD)
           / (p->wide_ns[c] > 0 ? p->speed_up[c] : 1);
  return (double)hass_pace_fill (p, c, device) * pace->ns + pace->in_ns
         + pace->out_ns;
}

/* Returns: tokens that a class has still to do, as far as is known; at least 1.
   Those that wait behind it for others do not count. Where a stage makes
   several tokens of one, only the last class tells how many have left. */
static double
to_come (const HassStreamState *state, guint c)
{
  guint64 gone = MAX (state->ended, state->classes[state->n_classes - 1].done);
  guint64 past = state->classes[c].done;
  past = MIN (past - MIN (past, gone), state->tokens);
  return MAX ((double)(state->tokens + state->waiting - past), 1);
}

/* Returns: W of a class. */
static double
window (const HassSteady *s, const HassStreamState *state, guint c)
{
  gboolean ordered = FALSE;
  for (guint next = c + 1; next < state->n_classes; next++)
    ordered = ordered || s->paces->env->classes[next].in_order;
  double most = ordered ? (double)state->most_tokens : G_MAXDOUBLE;
  return state->generated ? MIN (most, to_come (state, c)) : most;
}

/* Returns: the most tokens that one unit which is being computed can hold up.
 */
static double
most_held_up (const HassSteady *s, const HassStreamState *state)
{
  const HassPaces *p = s->paces;
  double most = 0;
  for (guint c = 0; c < state->n_classes; c++)
    for (guint d = 0; d < state->n_devices; d++)
      {
        guint64 n = d == p->cpu ? state->classes[c].running
                                : state->devices[d].units[c];
        if (n > 0 && !hass_pace_known (p, c, d))
          return G_MAXDOUBLE;
        if (n > 0)
          most = MAX (most, hold_ns (s, c, d));
      }
  return most * s->rate;
}

guint64
hass_steady_held_up (const HassSteady *s, const HassStreamState *state)
{
  const HassClassTraits *classes = s->paces->env->classes;
  guint first = 0;
  while (first < state->n_classes && classes[first].one_at_a_time)
    first++;
  guint64 n = first == 0 ? state->tokens : state->classes[first - 1].done;
  if (first > 0)
    n = MIN (n - MIN (n, state->ended), state->tokens);
  for (guint c = first; c < state->n_classes; c++)
    {
      guint64 taken = state->classes[c].ready + state->classes[c].running;
      for (guint d = 0; d < state->n_devices; d++)
        taken += state->devices[d].units[c];
      n -= MIN (n, taken);
    }
  return (guint64)MIN ((double)n, ceil (most_held_up (s, state)));
}

/* Returns: whether fewer tokens pass in the time C of a unit than otherwise do.
 */
static gboolean
is_too_long (const HassSteady *s, const HassStreamState *state, guint c,
             guint device)
{
  return window (s, state, c) < hold_ns (s, c, device) * s->rate;
}

/* Remembers why a device is taken out of a class. At the end of a stream nearly
   all are, which explains nothing. */
static void
remember (HassSteady *s, const HassStreamState *state, guint i)
{
  guint c = i / state->n_devices;
  double hold = hold_ns (s, c, i % state->n_devices);
  if (!state->generated || s->why[i].hold_ns <= 0)
    s->why[i] = (HassSteadyOut){ hold, hold * s->rate, window (s, state, c) };
}

/* Returns: index in s->parts of what is to be looked at next, and W / C of it
   in @rate; -1: none. @kept: what has been looked at. */
static gint
worst (const HassSteady *s, const HassStreamState *state, const gboolean *kept,
       double *rate)
{
  double most = 0;
  gint at = -1;
  for (guint c = 0; c < state->n_classes; c++)
    for (guint d = 0; d < state->n_devices; d++)
      {
        guint i = c * state->n_devices + d;
        double hold = hold_ns (s, c, d);
        if (kept[i] || s->parts[i] <= 0 || hold <= most
            || !is_too_long (s, state, c, d))
          continue;
        most = hold;
        at = (gint)i;
        *rate = window (s, state, c) / hold;
      }
  return at;
}

gboolean
hass_steady_is_served (const HassSteady *s, const HassStreamState *state,
                       guint c)
{
  const HassPaces *p = s->paces;
  for (guint d = 0; d < state->n_devices; d++)
    {
      const HassDeviceTraits *t = &p->env->devices[d];
      gboolean is_open
          = !t->opening
            || (t->opens_at_ns > 0
                && ABS (t->opens_at_ns - state->now_ns) < hass_steady_soon_ns);
      if (d != p->cpu && is_open && hass_pace_can (p, c, d)
          && !state->devices[d].lost)
        return TRUE;
    }
  return FALSE;
}

/* Returns: the least pace in ns of the devices that serve a class beside the
   CPU pool and are known; G_MAXDOUBLE: there is none. */
static double
others_ns (const HassSteady *s, guint c)
{
  const HassPaces *p = s->paces;
  double least = G_MAXDOUBLE;
  for (guint d = 0; d < p->env->n_devices; d++)
    if (d != p->cpu && hass_pace_can (p, c, d) && hass_pace_known (p, c, d))
      least = MIN (least, hass_pace_ns (p, c, d));
  return least;
}

/* Returns: whether another class shows how many times as long as a device that
   serves this one the cores take. */
static gboolean
is_guessed (const HassSteady *s, guint c)
{
  const HassPaces *p = s->paces;
  for (guint other = 0; other < p->env->n_classes; other++)
    if (hass_pace_known (p, other, p->cpu)
        && others_ns (s, other) < G_MAXDOUBLE)
      return others_ns (s, c) < G_MAXDOUBLE;
  return FALSE;
}

gboolean
hass_steady_is_measured (const HassSteady *s, const HassStreamState *state,
                         guint c)
{
  const HassPaces *p = s->paces;
  return !hass_steady_is_served (s, state, c) || p->cpu == state->n_devices
         || !hass_pace_can (p, c, p->cpu) || hass_pace_known (p, c, p->cpu)
         || is_guessed (s, c);
}

/* Returns: tokens that are left to a class: where more may come, at least as
   many as there were before. */
static double
left (const HassStreamState *state, guint c)
{
  double n = to_come (state, c);
  return state->generated ? n : MAX (n, (double)state->classes[0].done);
}

/* Returns: runs of the stream in which GPUs computed units of a class that it
   had before. */
static guint
runs_before (const HassSteady *s, guint c)
{
  const HassPaces *p = s->paces;
  guint most = 0;
  for (guint d = 0; d < p->env->n_devices && p->prior; d++)
    most = MAX (most, p->prior[c * p->env->n_devices + d].runs);
  return most;
}

/* Returns: whether the unit by which the cores are measured is expected to cost
   less than it gains, in units of the time of a token on the GPUs. A core takes
   g times as long, and ln g is anything up to that of @most_times. The stream
   stands still for g - W tokens if g > W. If cores take part, n of them save
   n / (g + n) of the time of what is left; they do if g < W / (C / mean). What
   is measured serves later runs, too: of these there are expected to be as many
   as there were, each with as much to do. So a short stream is measured once it
   has been run often enough, and not only if its first run is long. */
static gboolean
pays (const HassSteady *s, const HassStreamState *state, guint c,
      double most_times)
{
  double n = s->paces->env->devices[s->paces->cpu].cores;
  double most = MIN (window (s, state, c), most_times);
  double below = MAX (most / longest (s->paces, c, FIRST_SPREAD), 1);
  double cost = most_times - most - most * log (most_times / most);
  double tokens = left (state, c) * (1 + runs_before (s, c));
  return tokens * log (below * (1 + n) / (below + n)) > cost;
}

gboolean
hass_steady_measures (const HassSteady *s, const HassStreamState *state,
                      guint c, double most_times)
{
  double ns = others_ns (s, c);
  if (ns == G_MAXDOUBLE || hass_steady_is_measured (s, state, c))
    return FALSE;
  for (guint other = 0; other < state->n_classes; other++)
    {
      double other_ns = others_ns (s, other);
      if (state->classes[c].done < SEEN
          && hass_steady_is_served (s, state, other)
          && hass_pace_can (s->paces, other, s->paces->cpu)
          && (other_ns < ns || other_ns == G_MAXDOUBLE))
        return FALSE;
    }
  return pays (s, state, c, most_times);
}

/* Returns: whether a unit of a class on a core would keep the stream from a
   device that is being opened, and known from earlier runs: for longer than the
   opening takes and the tokens that may be in flight last it then. */
static gboolean
waits_for_opening (const HassSteady *s, const HassStreamState *state, guint c)
{
  const HassPaces *p = s->paces;
  for (guint d = 0; d < state->n_devices; d++)
    {
      const HassDeviceTraits *t = &p->env->devices[d];
      if (d != p->cpu && t->opening && t->opens_at_ns > 0
          && hass_pace_can (p, c, d) && hass_pace_known (p, c, d)
          && hass_pace_known (p, c, p->cpu)
          && hold_ns (s, c, p->cpu)
                 > (double)MAX (t->opens_at_ns - state->now_ns, 0)
                       + window (s, state, c) * hass_pace_ns (p, c, d))
        return TRUE;
    }
  return FALSE;
}

/* Excludes devices that have no part and would hold a unit for too long. */
static void
exclude_idle (HassSteady *s, const HassStreamState *state)
{
  for (guint c = 0; c < state->n_classes; c++)
    for (guint d = 0; d < state->n_devices; d++)
      {
        guint i = c * state->n_devices + d;
        if (s->parts[i] > 0 || !is_too_long (s, state, c, d))
          continue;
        s->out[i] = TRUE;
        remember (s, state, i);
      }
}

/* Returns: index in s->parts of the class in which the cores have a part beside
   other devices and hold a unit longest; -1: there is none. */
static gint
longest_shared (const HassSteady *s, const HassStreamState *state)
{
  guint cpu = s->paces->cpu;
  double most = 0;
  gint at = -1;
  for (guint c = 0; c < state->n_classes && cpu < state->n_devices; c++)
    {
      double ns = hass_pace (s->paces, c, cpu)->ns;
      guint i = c * state->n_devices + cpu;
      if (s->parts[i] <= 0 || ns <= most
          || !hass_steady_is_served (s, state, c))
        continue;
      most = ns;
      at = (gint)i;
    }
  return at;
}

/* Returns: the rate if the cores compute nothing that other devices serve. */
static double
rate_without_cores (HassSteady *s, const HassStreamState *state, double *parts)
{
  guint n = state->n_classes * state->n_devices, cpu = s->paces->cpu;
  g_autofree gboolean *out = g_memdup2 (s->out, n * sizeof *out);
  double with = s->rate, without;
  memcpy (parts, s->parts, n * sizeof *parts);
  for (guint c = 0; c < state->n_classes; c++)
    s->out[c * state->n_devices + cpu] |= hass_steady_is_served (s, state, c);
  hass_steady_solve (s);
  without = s->rate;
  s->rate = with;
  memcpy (s->parts, parts, n * sizeof *parts);
  memcpy (s->out, out, n * sizeof *out);
  return without;
}

/* Excludes the cores from the classes of which they hold a unit for longer than
   they gain over all that is left, since the end would wait for it. Where the
   end is known, W ends their part in time. */
static void
exclude_for_the_end (HassSteady *s, const HassStreamState *state, double *parts)
{
  gint at = state->generated ? -1 : longest_shared (s, state);
  if (at < 0)
    return;
  double n = left (state, (guint)at / state->n_devices);
  double without = rate_without_cores (s, state, parts);
  while (at >= 0
         && n / without - n / s->rate < hass_pace (s->paces,
                                                   (guint)at / state->n_devices,
                                                   s->paces->cpu)
                                            ->ns)
    {
      guint c = (guint)at / state->n_devices;
      s->out[at] = TRUE;
      s->why[at] = (HassSteadyOut){ hold_ns (s, c, s->paces->cpu), 0, 0 };
      hass_steady_solve (s);
      at = longest_shared (s, state);
    }
}

/* Has all cores compute one unit at a time, if that is what s->parts[@at] is
   about and shortens C. @was: HassPaces.wide_ns so far. Returns: whether it
   does so from now on. */
static gboolean
widen (HassSteady *s, const HassStreamState *state, guint at, const gint64 *was)
{
  HassPaces *p = s->paces;
  guint c = at / state->n_devices;
  if (at % state->n_devices != p->cpu || p->wide_ns[c] > 0
      || p->speed_up[c] <= 1)
    return FALSE;
  p->wide_ns[c] = was[c] > 0 ? was[c] : state->now_ns;
  return TRUE;
}

/* Says where cores compute one unit at a time from now on. */
static void
explain (const HassSteady *s, const HassStreamState *state, const gint64 *was)
{
  const HassPaces *p = s->paces;
  for (guint c = 0; c < state->n_classes; c++)
    if (p->wide_ns[c] > 0 && was[c] == 0 && !hass_steady_is_out (s, c, p->cpu))
      HASS_NOTE (p->env,
                 "cores: one unit of %s at a time, by %.3g of them: several, "
                 "for %.4g us each, would hold up the stream",
                 p->env->classes[c].name, p->speed_up[c],
                 hass_pace (p, c, p->cpu)->ns * 1e-3);
}

void
hass_steady_guard (HassSteady *s, const HassStreamState *state)
{
  guint n = state->n_classes * state->n_devices, cpu = s->paces->cpu;
  gboolean any = FALSE;
  gsize wide_bytes = state->n_classes * sizeof *s->paces->wide_ns;
  g_autofree gint64 *was = g_memdup2 (s->paces->wide_ns, wide_bytes);
  memset (s->paces->wide_ns, 0, wide_bytes);
  for (guint c = 0; c < state->n_classes && cpu < state->n_devices; c++)
    if (!hass_steady_is_measured (s, state, c)
        || waits_for_opening (s, state, c)
        || (state->tokens == 0 && hass_steady_is_served (s, state, c)))
      any = s->out[c * state->n_devices + cpu] = TRUE;
  if (any)
    hass_steady_solve (s);
  exclude_idle (s, state);
  g_autofree gboolean *kept = g_new0 (gboolean, n);
  g_autofree double *parts = g_new (double, n);
  double with;
  gint at;
  while ((at = worst (s, state, kept, &with)) >= 0)
    {
      double rate = s->rate;
      memcpy (parts, s->parts, n * sizeof *parts);
      s->out[at] = TRUE;
      hass_steady_solve (s);
      double without = s->rate;
      if (with <= without && !widen (s, state, (guint)at, was))
        {
          remember (s, state, (guint)at);
          continue;
        }
      s->out[at] = FALSE;
      kept[at] = with > without;
      s->rate = rate;
      memcpy (s->parts, parts, n * sizeof *parts);
    }
  exclude_for_the_end (s, state, parts);
  explain (s, state, was);
}

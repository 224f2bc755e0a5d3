/* SPDX-License-Identifier: MIT */
/* auto_known.c: what auto knows of each device; step 1 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define CPU_MEMORY 0.8 /* for each pass of all cores */
#define SETTLED_BUNDLES 3
#define STALE_BUNDLES 2
#define STALE 2 /* times as fast or slow */
#define EARLY_BUNDLES 8
#define DATA_BYTES (64 << 10) /* of a unit */
#define UNSETTLED 0.3         /* error of what is foretold */
#define LONG_NS 1e7           /* a unit on a core */
#define WORST_THREADS (4 * HASS_AUTO_CORE_THREADS)
#define MOST_LOST 0.05 /* of the time that has passed */

/* Takes what the cores have done since the last look. Sums of finished work
   over sums of their time are right at any moment, so a look in the middle
   of units harms nothing. */
void
hass_auto_look_at_cpu (HassAuto *s, const HassRound *round)
{
  HassAutoMember *m = &s->members[s->cpu];
  HassProgress p = hass_round_progress (round, s->cpu);
  guint64 units = p.units - m->seen.units;
  if (units == 0
      || (m->shown.busy_ns > 0 && units < s->env->devices[s->cpu].cores))
    return;
  double work = p.work - m->seen.work;
  if (s->levels)
    {
      guint64 first = s->reversed ? s->round_units - p.units : m->seen.units;
      double all = (double)s->round_units;
      work = hass_auto_range_work (s, round, first, units);
      hass_auto_levels_add (s->levels, s->cpu, first / all,
                            (first + units) / all, (double)units,
                            p.busy_ns - m->seen.busy_ns);
    }
  m->shown.work = CPU_MEMORY * m->shown.work + work;
  m->shown.busy_ns
      = CPU_MEMORY * m->shown.busy_ns + p.busy_ns - m->seen.busy_ns;
  m->n_seen += units;
  m->seen = p;
}

/* Where nobody knows costs the last bundles tell of those beside them as much
   as of the device: half way to what rounds have shown of it. */
double
hass_auto_of_late (const HassAuto *s, guint device, double rate)
{
  double usual = s->levels
                     ? hass_auto_levels_rate (s->levels, device) * s->unit_work
                     : 0;
  return usual > 0 ? sqrt (rate * usual) : rate;
}

double
hass_auto_cpu_rate (const HassAuto *s)
{
  const HassAutoMember *m = &s->members[s->cpu];
  if (m->shown.busy_ns <= 0)
    return m->prior_rate;
  return hass_auto_of_late (s, s->cpu, m->shown.work / m->shown.busy_ns);
}

/* Whether what a GPU would get now is a set of simple tasks, one for each
   multiprocessor. No round: it is over, or all of it is meant. */
gboolean
hass_auto_simple (const HassAuto *s, const HassRound *round)
{
  return s->env->farm == HASS_FARM_FUNCTION && round
         && hass_round_back (round) <= s->first_mpd;
}

/* The fit for the next bundle; that of the other state of the device where
   this one has not been seen, or with little work only. */
const HassFit *
hass_auto_fit_of (const HassAuto *s, const HassRound *round, guint device,
                  gboolean idle)
{
  const HassAutoMember *m = &s->members[device];
  guint kind = hass_auto_simple (s, round) ? HASS_AUTO_SIMPLE : 0;
  const HassFit *fit = &m->shown.fits[kind + (idle ? HASS_AUTO_IDLE : 0)];
  const HassFit *other = &m->shown.fits[kind + (idle ? 0 : HASS_AUTO_IDLE)];
  gboolean stale = other->last > fit->last + STALE_BUNDLES
                   && (other->ns_per_work > STALE * fit->ns_per_work
                       || STALE * other->ns_per_work < fit->ns_per_work);
  return fit->work > 0 && 4 * fit->work >= other->work && !stale ? fit : other;
}

gboolean
hass_auto_measured (const HassAuto *s, const HassRound *round, guint device)
{
  if (device == s->cpu)
    return s->members[device].shown.busy_ns > 0;
  return hass_auto_fit_of (s, round, device, TRUE)->seen > 0;
}

/* Units that cores were granted and have not done. */
gint64
hass_auto_core_units (const HassAuto *s, const HassRound *round)
{
  return s->members[s->cpu].units
         - (gint64)hass_round_progress (round, s->cpu).units;
}

/* Something is on the device, so there will be a completion. */
gboolean
hass_auto_busy (const HassAuto *s, const HassRound *round, guint device)
{
  if (device != s->cpu)
    return s->members[device].n_bundles > 0;
  return hass_auto_core_units (s, round) > 0;
}

/* Whether the GPUs that have work show by it what they can: the first bundle
   of each may have been slowed by what is made once, and early ones are small.
   Meanwhile another completion is due soon, for planned ones surely. */
gboolean
hass_auto_all_settled (const HassAuto *s, const HassRound *round,
                       gboolean planned)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      if (d != s->cpu
          && (m->n_bundles > 0 || (m->back && (!planned || s->plan[d].runs)))
          && (m->n_done < SETTLED_BUNDLES
              || (m->n_done < EARLY_BUNDLES
                  && hass_auto_fit_of (s, round, d, FALSE)->error > UNSETTLED)))
        return FALSE;
    }
  return TRUE;
}

gboolean
hass_auto_out (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  return m->failed || m->absent || m->hopeless;
}

/* What one thread of a GPU that nobody knows may take for an element, and all
   of the round's at once, since it cannot fill the GPU. Nobody can tell that
   before; it may be several times what is thought. */
static double
worst_ns (const HassAuto *s)
{
  double rate = hass_auto_cpu_rate (s);
  if (!(rate > 0) || !(s->unit_elements > 0))
    return INFINITY;
  double element_ns
      = s->unit_work * s->env->devices[s->cpu].cores / rate / s->unit_elements;
  return WORST_THREADS * element_ns;
}

/* Whether a GPU that nobody has seen at work could help at all. Its kernels
   have a thread for each element, and a thread is slower than a core by far;
   and what it needs to copy first may take longer than the others need for all
   there is. A GPU that a round cannot fill is tried when so much time has
   passed that little of it is lost at worst. */
void
hass_auto_judge (HassAuto *s, const HassRound *round, guint device)
{
  HassAutoMember *m = &s->members[device];
  m->hopeless = FALSE;
  if (device == s->cpu || s->cpu == s->n || hass_auto_known (s, round, device))
    return;
  guint cores = s->env->devices[s->cpu].cores;
  double elements = s->unit_elements * hass_round_units (round);
  m->hopeless = elements > 0 && elements < s->env->devices[device].width
                && elements < WORST_THREADS * cores
                && worst_ns (s) > MOST_LOST * s->spent_ns;
  if (!m->hopeless && m->copy_ns > 0)
    m->hopeless
        = m->entry_ns > hass_auto_whole_ns (s, hass_round_total_work (round));
}

/* Work of the smallest bundle that fills it; any smaller takes as long. */
double
hass_auto_fill_work (const HassAuto *s, guint device)
{
  return s->members[device].fill_units * s->unit_work;
}

/* Whether elements fill a GPU, and not units. */
gboolean
hass_auto_counts_elements (const HassAuto *s)
{
  return s->env->farm != HASS_FARM_INDIVISIBLE
         && s->env->farm != HASS_FARM_FUNCTION;
}

/* GPU threads for a unit, the mean of some of n; 0: unknown, or a unit has a
   multiprocessor to itself. */
double
hass_auto_elements (const HassAuto *s, const HassRound *round, guint64 first,
                    guint64 n, guint some)
{
  guint64 looked_at = MIN (n, s->env->cost == HASS_COST_EQUAL ? 2 : some);
  double sum = 0;
  if (n == 0 || s->env->element_threads == 0 || !hass_auto_counts_elements (s))
    return 0;
  for (guint64 i = 0; i < looked_at; i++)
    sum += hass_round_elements (round,
                                first + (2 * i + 1) * n / (2 * looked_at));
  return sum / looked_at * s->env->element_threads;
}

/* Work of as many of the units that it would get next as fill it, where costs
   are known: fewer take as long as if they did. */
double
hass_auto_fill_next (const HassAuto *s, const HassRound *round, guint device)
{
  double fill = s->members[device].fill_units;
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  if (s->env->cost != HASS_COST_SIZED || fill <= 0 || hi == lo)
    return hass_auto_fill_work (s, device)
           * hass_auto_next_level (s, round, device);
  guint64 n = (guint64)CLAMP (ceil (fill), 1, hi - lo);
  double each = hass_auto_elements (s, round, s->reversed ? lo : hi - n, n, 4);
  fill *= s->unit_elements / MAX (each, 1);
  n = (guint64)CLAMP (ceil (fill), 1, hi - lo);
  return hass_auto_work_at (s, round, TRUE, n) * MAX (fill / n, 1);
}

/* A unit that a core has begun holds up the round for long. */
gboolean
hass_auto_long_units (const HassAuto *s)
{
  if (s->cpu == s->n || !(hass_auto_cpu_rate (s) > 0))
    return FALSE;
  return s->unit_work * s->env->devices[s->cpu].cores
         > LONG_NS * hass_auto_cpu_rate (s);
}

/* Inputs of one of the units that wait, in their middle; 0: none wait. */
gsize
hass_auto_middle_bytes (const HassRound *round)
{
  guint64 front = hass_round_front (round), back = hass_round_back (round);
  return back > front ? hass_round_input_bytes (round, (front + back) / 2) : 0;
}

/* The units that wait are more data than work. */
gboolean
hass_auto_are_data (const HassRound *round)
{
  return hass_auto_middle_bytes (round) >= DATA_BYTES;
}

/* A GPU's very first bundle may have been slowed by what is made once, and its
   first few tell little of large ones. Is there one of which no more than so
   many are known, and which will have done as much again in so long, or a few
   in half of that? */
gboolean
hass_auto_warming_up (const HassAuto *s, const HassRound *round, double soon_ns,
                      gboolean few)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      const HassFit *fit = hass_auto_fit_of (s, round, d, TRUE);
      double left = m->n_done == 1 ? 1
                    : few          ? 2. * (EARLY_BUNDLES - (double)m->n_done)
                                   : 0;
      if (d != s->cpu && m->n_done > 0 && left > 0
          && (m->n_bundles > 0 || (m->back && s->plan[d].runs))
          && left * hass_fit_ns (fit, m->largest) <= soon_ns
          && (m->n_bundles == 0 || m->bundles[0].ns <= soon_ns))
        return TRUE;
    }
  return FALSE;
}

/* Others who may come to take part but are not planned with yet. */
gboolean
hass_auto_all_measured (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!hass_auto_out (s, d) && !hass_auto_measured (s, round, d))
      return FALSE;
  return TRUE;
}

/* Measured, or known from earlier runs. */
gboolean
hass_auto_known (const HassAuto *s, const HassRound *round, guint device)
{
  return s->members[device].prior_rate > 0
         || hass_auto_measured (s, round, device);
}

gboolean
hass_auto_all_known (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!hass_auto_out (s, d) && !hass_auto_known (s, round, d))
      return FALSE;
  return TRUE;
}

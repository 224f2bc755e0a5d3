/* SPDX-License-Identifier: MIT */
/* levels.c: how unknown costs lie along a round. The DESIGN paragraph is in
   levels.h.
   Thread safety: as hass/strategy.h. */
#include "levels.h"

#include <math.h>

/* Weight of a round's sums of units and times after each further round. A
   guess: more follows a changed shape of costs later, less follows noise. */
#define MEMORY 0.7
/* Number of times that devices' rates and parts' levels (cost over the mean
   cost of the round) are fitted to each other in turn. A guess: fewer may not
   converge, more cost time at the end of a round. */
#define PASSES 16
/* Weight of what a part of the round shows in the parts beside it; 1 in the
   part itself. A guess: more blurs the shape of costs, less cannot tell costs
   from speeds where the units of two devices meet. */
#define BESIDE 0.3
/* Trust in the shape of costs along a round, 0 to 1, before a second round has
   been compared with it. A guess: more follows noise at first. */
#define TRUST 0.5
/* Sum of squared deviations of levels that the initial trust counts for. A
   guess: more keeps the initial trust for longer. */
#define PRIOR 0.01
/* Largest relative error of a bundle's predicted level that counts; an outlier
   counts as this. A guess: more lets one bundle decide. */
#define MOST_OFF 2
/* Weight of the mean error of bundles of earlier rounds when a round is added.
   A guess: more follows a change later, less follows noise. */
#define OFF_MEMORY 0.6
/* Lower bound of a part's level (cost over the mean cost), so that no rate
   becomes infinite. A guess: more makes cheap parts of a round look too
   costly. */
#define LEAST_LEVEL 0.02

#define PARTS HASS_LEVELS_PARTS

/**
 * HassLevels: the costs along a round, by parts of equal length.
 * @level: cost of a unit in each part over the mean cost, as measured.
 * @before: sum of the trusted levels of all parts before this one.
 * @units, @ns: [n * PARTS] decayed sums of units and their time, for each
 *   device and part.
 * @rate: [n] units of level 1 per ns of each device; 0: unknown.
 * @seen: decayed sum of squared deviations of measured levels from 1.
 * @back: decayed sum of these deviations times those of the next round.
 * @off, @of: this round's sums of squared errors of bundles, and of weights.
 * @doubt: relative error of a bundle's predicted work; less than 0: unknown.
 */
struct HassLevels
{
  double level[PARTS];
  double before[PARTS + 1];
  double *units, *ns;
  double *rate;
  double seen, back;
  double off, of;
  double doubt;
};

HassLevels *
hass_levels_new (guint n_devices)
{
  HassLevels *h = g_new0 (HassLevels, 1);
  h->units = g_new0 (double, n_devices *PARTS);
  h->ns = g_new0 (double, n_devices *PARTS);
  h->rate = g_new0 (double, n_devices);
  h->seen = PRIOR;
  h->back = TRUST * PRIOR;
  h->doubt = -1;
  for (guint i = 0; i <= PARTS; i++)
    h->before[i] = i;
  for (guint i = 0; i < PARTS; i++)
    h->level[i] = 1;
  return h;
}

void
hass_levels_free (HassLevels *h)
{
  if (!h)
    return;
  g_free (h->units);
  g_free (h->ns);
  g_free (h->rate);
  g_free (h);
}

double
hass_levels_between (const HassLevels *h, double from, double to)
{
  double sum = 0;
  for (guint i = 0; i < 2; i++)
    {
      double x = (i == 0 ? to : from) * PARTS;
      guint part = (guint)CLAMP (x, 0, PARTS - 1);
      double there = h->before[part]
                     + (x - part) * (h->before[part + 1] - h->before[part]);
      sum += i == 0 ? there : -there;
    }
  return to > from ? sum / ((to - from) * PARTS) : 1;
}

/* Returns the mean level between two positions (fractions of the round) as
   measured, however little it is trusted. */
static double
raw_level (const HassLevels *h, double from, double to)
{
  double sum = 0;
  for (guint i = (guint)(from * PARTS); i < PARTS && i < to * PARTS; i++)
    sum += h->level[i] * (MIN (to * PARTS, i + 1) - MAX (from * PARTS, i));
  return sum / ((to - from) * PARTS);
}

void
hass_levels_add (HassLevels *h, guint device, double from, double to,
                 double units, double ns)
{
  double mean = hass_levels_between (h, from, to);
  if (!(to > from) || !(ns > 0))
    return;
  if (h->rate[device] > 0)
    {
      double level = ns * h->rate[device] / units;
      double x = raw_level (h, from, to) - 1;
      double y = level - 1;
      double off = MIN (fabs (level / mean - 1), MOST_OFF);
      h->seen += units * x * x;
      h->back += units * x * y;
      h->off += units * off * off;
      h->of += units;
    }
  /* The time of the units is divided among the parts of the round by their
     trusted levels. */
  for (guint i = (guint)(from * PARTS); i < PARTS && i < to * PARTS; i++)
    {
      double part = (MIN (to * PARTS, i + 1) - MAX (from * PARTS, i))
                    / ((to - from) * PARTS);
      double level = h->before[i + 1] - h->before[i];
      for (guint k = MAX (i, 1) - 1; k <= MIN (i + 1, PARTS - 1); k++)
        {
          double w = part * (k == i ? 1 : BESIDE);
          h->units[device * PARTS + k] += w * units;
          h->ns[device * PARTS + k] += w * ns * level / mean;
        }
    }
}

/* Fits once: rates of devices from the levels of parts, then levels of parts
   from the rates of devices; the mean level stays 1. */
static void
fit (HassLevels *h, guint n)
{
  for (guint d = 0; d < n; d++)
    {
      double work = 0, ns = 0;
      for (guint i = 0; i < PARTS; i++)
        {
          work += h->units[d * PARTS + i] * h->level[i];
          ns += h->ns[d * PARTS + i];
        }
      h->rate[d] = ns > 0 ? work / ns : 0;
    }
  double sum = 0;
  for (guint i = 0; i < PARTS; i++)
    {
      double work = 0, units = 0;
      for (guint d = 0; d < n; d++)
        if (h->rate[d] > 0)
          {
            work += h->ns[d * PARTS + i] * h->rate[d];
            units += h->units[d * PARTS + i];
          }
      if (units > 0)
        h->level[i] = MAX (work / units, LEAST_LEVEL);
      sum += h->level[i];
    }
  for (guint i = 0; i < PARTS; i++)
    h->level[i] *= PARTS / sum;
  for (guint d = 0; d < n; d++)
    h->rate[d] *= PARTS / sum;
}

void
hass_levels_end (HassLevels *h, guint n_devices)
{
  for (guint pass = 0; pass < PASSES; pass++)
    fit (h, n_devices);
  double trust = CLAMP (h->back / h->seen, 0, 1);
  for (guint i = 0; i < PARTS; i++)
    h->before[i + 1] = h->before[i] + 1 + trust * (h->level[i] - 1);
  if (h->of > 0)
    {
      double off = sqrt (h->off / h->of);
      h->doubt
          = h->doubt < 0 ? off : OFF_MEMORY * h->doubt + (1 - OFF_MEMORY) * off;
    }
  h->off = h->of = 0;
  h->seen *= MEMORY;
  h->back *= MEMORY;
  for (guint k = 0; k < n_devices * PARTS; k++)
    {
      h->units[k] *= MEMORY;
      h->ns[k] *= MEMORY;
    }
}

double
hass_levels_rate (const HassLevels *h, guint device)
{
  return h->rate[device];
}

double
hass_levels_doubt (const HassLevels *h)
{
  return h->doubt;
}

double
hass_levels_trust (const HassLevels *h)
{
  return CLAMP (h->back / h->seen, 0, 1);
}

/* SPDX-License-Identifier: MIT */
/* auto_levels.c: how costs that nobody knows lie along a round; step 10 of
   auto.c.

   DESIGN. Rounds of a farm are often alike: the end of a triangle is always
   its wide one. What bundles and cores took, by where their units lay, tells
   it from round to round.
   1. A round is cut into parts. For each device and part two decayed sums are
      kept, of units and of the time that they took. A device's rate and a
      part's level, its cost over the mean, are fitted to them in turn, so that
      a device is not thought slow because it does the costly end. What a part
      shows counts a little for those beside it: where one device's end meets
      another's that tells what of a difference is costs and what is devices.
   2. Chance looks like a shape. So each bundle's level is held against what
      the rounds before it say; the part of their deviations that comes back is
      how far the shape is trusted. Costs that lie anew in each round have none.
   3. How far bundles are off in spite of that is what is not known of costs:
      the less, the larger bundles may be.

   A bundle costs O(parts) when it has finished, a round O(devices * parts), a
   decision O(1).

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define MEMORY 0.7 /* of rounds */
#define PASSES 16  /* of rates and levels */
#define BESIDE 0.3 /* that a part says of the next ones */
#define TRUST 0.5  /* before anything has come back */
#define PRIOR 0.01 /* deviations, squared, that this is worth */
#define MOST_OFF 2 /* times the mean, that one bundle may be off */
#define OFF_MEMORY 0.6
#define LEAST_LEVEL 0.02

#define PARTS HASS_AUTO_PARTS

struct HassAutoLevels
{
  double level[PARTS];      /* as seen; mean 1 */
  double before[PARTS + 1]; /* as trusted: sum of the levels before */
  double *units, *ns;       /* [n * PARTS], decayed */
  double *rate;             /* [n]; units of level 1 per ns; 0: unknown */
  double seen, back;        /* deviations, and what of them came back */
  double off, of;           /* squared and weighted, of this round */
  double doubt;             /* relative error of a bundle; < 0: unknown */
};

HassAutoLevels *
hass_auto_levels_new (guint n_devices)
{
  HassAutoLevels *h = g_new0 (HassAutoLevels, 1);
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
hass_auto_levels_free (HassAutoLevels *h)
{
  if (!h)
    return;
  g_free (h->units);
  g_free (h->ns);
  g_free (h->rate);
  g_free (h);
}

/* Mean level, as trusted, between two places of a round of length 1. */
double
hass_auto_levels_between (const HassAutoLevels *h, double from, double to)
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

/* As seen, and not yet trusted. */
static double
raw_level (const HassAutoLevels *h, double from, double to)
{
  double sum = 0;
  for (guint i = (guint)(from * PARTS); i < PARTS && i < to * PARTS; i++)
    sum += h->level[i] * (MIN (to * PARTS, i + 1) - MAX (from * PARTS, i));
  return sum / ((to - from) * PARTS);
}

/* What units between two places took a device, without what it would have
   taken if they were none. */
void
hass_auto_levels_add (HassAutoLevels *h, guint device, double from, double to,
                      double units, double ns)
{
  double mean = hass_auto_levels_between (h, from, to);
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
  /* Within it, as is believed. */
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

static void
fit (HassAutoLevels *h, guint n)
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
hass_auto_levels_end (HassAutoLevels *h, guint n_devices)
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

/* Units of the mean cost per ns, of late rounds; 0: nobody knows. */
double
hass_auto_levels_rate (const HassAutoLevels *h, guint device)
{
  return h->rate[device];
}

/* How far a bundle's work is off; less than 0: nobody knows. */
double
hass_auto_levels_doubt (const HassAutoLevels *h)
{
  return h->doubt;
}

double
hass_auto_levels_trust (const HassAutoLevels *h)
{
  return CLAMP (h->back / h->seen, 0, 1);
}

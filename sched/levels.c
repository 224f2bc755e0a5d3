/* SPDX-License-Identifier: MIT */
/* levels.c: how unknown costs lie along a round. The DESIGN paragraph is in
   levels.h.
   Thread safety: as hass/strategy.h. */
#include "levels.h"

#include <math.h>

/* Guesses. Longer memories follow a changed shape later, shorter ones follow
   noise. */
#define MEMORY 0.7     /* of a round's sums in the next round */
#define PASSES 16      /* of fitting rates and levels to each other */
#define BESIDE 0.3     /* weight of what a part shows in the parts beside it */
#define TRUST 0.5      /* in the shape before anything has come back */
#define PRIOR 0.01     /* squared deviations that this trust is worth */
#define MOST_OFF 2     /* times the mean: an outlier counts for no more */
#define OFF_MEMORY 0.6 /* of a round's error in the next round */
#define LEAST_LEVEL 0.02 /* of the mean, so that no rate becomes infinite */

#define PARTS HASS_LEVELS_PARTS

struct HassLevels
{
  double level[PARTS];      /* as seen; mean 1 */
  double before[PARTS + 1]; /* sum of the trusted levels of the parts before */
  double *units, *ns;       /* [n * PARTS], decayed */
  double *rate;             /* [n]; units of level 1 per ns; 0: unknown */
  double seen, back;        /* squared deviations; what of them came back */
  double off, of;           /* squared errors of this round, and weights */
  double doubt;             /* relative error of a bundle; < 0: unknown */
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

/* The mean level as measured, whatever it is trusted. */
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
  /* Its time is spread over the parts by their trusted levels. */
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

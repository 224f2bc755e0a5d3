/* SPDX-License-Identifier: MIT */
/* auto_model.c: the fit and the fill of auto-private.h.
   Thread safety: plain values. */
#include "auto-private.h"

#include <math.h>

/* -- 1. The fit --------------------------------------------------------- */

/* The slope follows a device that drifts within three bundles; the fixed
   part, which hardly changes, is learned from more of them. */
#define SLOPE_MEMORY 0.7
#define FIXED_MEMORY 0.95
/* Bundles of about the same size cannot tell the two parts apart. */
#define LEAST_SPREAD 0.05
#define FIRST_STEP 2
#define LAST_STEP 1.1
#define STEP_MEMORY 0.95
#define PAIR_RATIO 1.3
#define LARGEST_FIXED 0.98 /* of the shortest bundle */
#define HIDDEN_PART 0.1    /* of the fixed part: no slope can be seen in it */

/* Under a cost that grows along the range the regression finds a fixed part
   that is not there, and none where bundles wait for others' copies; it is
   held between half of the device's latency, because half of that may overlap
   something, and the shortest bundle seen. */
static double
fixed_part (HassFit *f, double latency_ns)
{
  double known = f->seen > 0 ? f->fixed_ns : latency_ns;
  double spread = f->s * f->s_ww - f->s_w * f->s_w;
  f->spread = spread > LEAST_SPREAD * f->s * f->s_ww;
  if (f->spread)
    known = (f->s_t * f->s_ww - f->s_w * f->s_wt) / spread;
  return MIN (MAX (known, latency_ns / 2), LARGEST_FIXED * f->least_ns);
}

static void
set_slope (HassFit *f)
{
  double sloped = MAX (f->ns - f->n * f->fixed_ns, (1 - LARGEST_FIXED) * f->ns);
  f->ns_per_work = sloped / MAX (f->work, 1e-300);
}

/* A bundle of so much work was served in ns. latency_ns is believed to be
   the fixed part until sizes have differed. */
void
hass_fit_add (HassFit *f, double work, double ns, double latency_ns)
{
  ns = MAX (ns, 1);
  if (f->seen > 0)
    {
      double off = fabs (ns - hass_fit_ns (f, work)) / ns;
      f->error += 0.3 * (MIN (off, 1) - f->error);
    }
  f->n = SLOPE_MEMORY * f->n + 1;
  f->work = SLOPE_MEMORY * f->work + work;
  f->ns = SLOPE_MEMORY * f->ns + ns;
  double g = 1 / ns;
  f->s = FIXED_MEMORY * f->s + g;
  f->s_w = FIXED_MEMORY * f->s_w + g * work;
  f->s_t = FIXED_MEMORY * f->s_t + g * ns;
  f->s_ww = FIXED_MEMORY * f->s_ww + g * work * work;
  f->s_wt = FIXED_MEMORY * f->s_wt + g * work * ns;
  f->least_ns = f->seen > 0 ? MIN (1.02 * f->least_ns, ns) : ns;
  f->fixed_ns = fixed_part (f, latency_ns);
  set_slope (f);
  f->seen++;
}

/* Where nobody knows costs, bundles are small where costs are high, as they are
   given by time, and a regression finds a fixed part that is not there. Two
   bundles of different sizes, one after the other, lie side by side and cost
   about the same: what they say is the fixed part, and the median over such
   pairs, which clusters' borders do not move, is believed. It is followed by
   steps, up or down, that become smaller. */
void
hass_fit_compare (HassFit *f, double work, double ns, double latency_ns)
{
  double least = MIN (f->last_work, work), most = MAX (f->last_work, work);
  if (f->pair_ns <= 0)
    {
      f->pair_ns = latency_ns;
      f->step = FIRST_STEP;
    }
  if (least > 0 && most > PAIR_RATIO * least)
    {
      double fixed_ns
          = (f->last_ns * work - ns * f->last_work) / (work - f->last_work);
      f->pair_ns *= fixed_ns > f->pair_ns ? f->step : 1 / f->step;
      f->step = MAX (LAST_STEP, 1 + STEP_MEMORY * (f->step - 1));
    }
  f->last_work = work;
  f->last_ns = ns;
  f->pair_ns = MAX (f->pair_ns, latency_ns / 2);
  f->fixed_ns = MIN (f->pair_ns, LARGEST_FIXED * f->least_ns);
  set_slope (f);
}

/* The device has become so many times slower. */
void
hass_fit_scale (HassFit *f, double times)
{
  f->s /= times;
  f->s_w /= times;
  f->s_ww /= times;
  f->ns *= times;
  f->least_ns *= times;
  f->fixed_ns *= times;
  f->ns_per_work *= times;
}

/* More than that no bundle needs beside its work: what looks so was waiting. */
void
hass_fit_limit (HassFit *f, double most_fixed_ns)
{
  if (f->fixed_ns <= most_fixed_ns)
    return;
  f->fixed_ns = most_fixed_ns;
  set_slope (f);
}

/* Bundles up to the largest differed, but were so small that the fixed part
   hides what their work took: the slope is what it may be at most, unless the
   fixed part is what fills the GPU. */
gboolean
hass_fit_hides (const HassFit *f, double largest)
{
  return f->spread && f->fixed_ns >= 0.999 * LARGEST_FIXED * f->least_ns
         && f->ns_per_work * largest < HIDDEN_PART * f->fixed_ns;
}

double
hass_fit_ns (const HassFit *f, double work)
{
  return f->fixed_ns + f->ns_per_work * work;
}

/* -- 2. The fill -------------------------------------------------------- */

static guint
next_runner (const HassRunner *r, guint n)
{
  guint best = n;
  for (guint d = 0; d < n; d++)
    if (!r[d].runs && r[d].rate > 0
        && (best == n
            || r[d].ready_ns + r[d].step_ns
                   < r[best].ready_ns + r[best].step_ns))
      best = d;
  return best;
}

/* Devices come in by when their first step would end, as long as it ends
   before the others would be done with everything. Returns the time at which
   all who run finish together; INFINITY: nobody does. O(n^2) at worst. */
double
hass_fill (HassRunner *r, guint n, double work)
{
  double finish_ns = INFINITY, rates = 0, last_ns = 0;
  for (guint d = 0; d < n; d++)
    r[d].runs = FALSE;
  for (guint d; (d = next_runner (r, n)) < n;)
    {
      double end_ns = r[d].ready_ns + r[d].step_ns;
      if (end_ns > finish_ns)
        break;
      last_ns = end_ns;
      r[d].runs = TRUE;
      rates += r[d].rate;
      work += r[d].rate * r[d].ready_ns;
      finish_ns = MAX (work / rates, last_ns);
    }
  return finish_ns;
}

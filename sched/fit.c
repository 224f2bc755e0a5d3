/* SPDX-License-Identifier: MIT */
/* fit.c: see fit.h. Weighted least squares, recent bundles first, with bounds
   that keep a few odd bundles from giving an absurd line.
   Thread safety: plain values. */
#include "fit.h"

#include <math.h>

/* Weight of a bundle in the slope after each further bundle. The slope follows
   a device that becomes slower within three bundles; a longer memory would
   divide a round by a rate that no longer holds. A guess. */
#define SLOPE_MEMORY 0.7
/* Weight of a bundle in the fixed part of the time after each further bundle:
   the fixed part hardly changes, and needs bundles of many sizes. A guess: less
   follows noise. */
#define FIXED_MEMORY 0.95
/* Relative variance of the bundles' sizes below which no regression is made, as
   it would only amplify noise. A guess: more leaves the fixed part at the
   latency for longer. */
#define LEAST_SPREAD 0.05
/* The estimate of the fixed part is multiplied or divided by a step for each
   pair of bundles that hass_fit_compare() sees. FIRST_STEP is the first step,
   large enough to get from a wrong latency to the true fixed part in about ten
   pairs. A guess. */
#define FIRST_STEP 2
/* Smallest step of the fixed part in hass_fit_compare(): the estimate ends up
   within 10 % of the median of the pairs. A guess: more is less precise, less
   follows a change later. */
#define LAST_STEP 1.1
/* The excess of a step over 1 is multiplied by STEP_MEMORY with each pair of
   bundles. A guess: less stops at a wrong value, more is unsteady for
   longer. */
#define STEP_MEMORY 0.95
/* A pair of bundles is used only if one has PAIR_RATIO times the work of the
   other; a closer pair shows noise. A guess: less follows noise, more finds few
   pairs. */
#define PAIR_RATIO 1.3
/* The fixed part is at most this fraction of the time of the shortest recent
   bundle, since the slope has to stay above 0. A guess: with 1 the slope could
   be 0, and so the rate infinite. */
#define LARGEST_FIXED 0.98
/* A launch hides what a bundle's work takes if that is less than this fraction
   of the fixed part of its time. A guess: more takes a measured slope for a
   hidden one. */
#define HIDDEN_PART 0.1
/* Weight of the newest relative error of a predicted time in the mean, which so
   covers about the last three bundles. A guess: more follows noise, less
   notices a change later. */
#define ERROR_WEIGHT 0.3
/* The time of the shortest recent bundle is multiplied by LEAST_GROWTH with
   each further bundle, so that an old one is forgotten. A guess: 1.02 takes 35
   bundles to double it. */
#define LEAST_GROWTH 1.02

/* Returns the fixed part of the line, in ns, by weighted regression, or what is
   known already where sizes have hardly differed. Where costs grow along the
   range, regression finds a fixed part that does not exist, and where bundles
   wait for copies of other devices it finds none. So the result is at least
   half of the device's latency, as the other half may overlap something, and at
   most nearly the time of the shortest bundle. */
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

/* Sets the slope of the line to that with which the recent bundles took their
   time in sum, given the fixed part. */
static void
set_slope (HassFit *f)
{
  double sloped = MAX (f->ns - f->n * f->fixed_ns, (1 - LARGEST_FIXED) * f->ns);
  f->ns_per_work = sloped / MAX (f->work, 1e-300);
}

void
hass_fit_add (HassFit *f, double work, double ns, double latency_ns)
{
  ns = MAX (ns, 1);
  if (f->seen > 0)
    {
      double off = fabs (ns - hass_fit_ns (f, work)) / ns;
      f->error += ERROR_WEIGHT * (MIN (off, 1) - f->error);
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
  f->least_ns = f->seen > 0 ? MIN (LEAST_GROWTH * f->least_ns, ns) : ns;
  f->fixed_ns = fixed_part (f, latency_ns);
  set_slope (f);
  f->seen++;
}

/* Estimates the fixed part of the time from pairs of consecutive bundles of
   different sizes, which lie side by side and so have about the same cost per
   unit. It replaces the regression where costs are unknown: bundles are granted
   by time and so are small where costs are high, and a regression would find a
   fixed part that does not exist. The median over pairs is used, which a few
   pairs across the border of a cluster of costs do not move; it is tracked by
   steps up or down that become smaller. */
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

/* Scales the line and its sums after a device has become @times slower. */
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

/* Bounds the fixed part of the line: what exceeds @most_fixed_ns was time that
   bundles waited. */
void
hass_fit_limit (HassFit *f, double most_fixed_ns)
{
  if (f->fixed_ns <= most_fixed_ns)
    return;
  f->fixed_ns = most_fixed_ns;
  set_slope (f);
}

/* Returns TRUE if bundles of up to @largest work differed in size but were so
   small that the fixed part of their time hides what their work took. The slope
   is then an upper bound, unless the fixed part is the time that it takes to
   fill the GPU. */
gboolean
hass_fit_hides (const HassFit *f, double largest)
{
  return f->spread && f->fixed_ns >= 0.999 * LARGEST_FIXED * f->least_ns
         && f->ns_per_work * largest < HIDDEN_PART * f->fixed_ns;
}

/* Returns the predicted time of a bundle of @work, in ns. */
double
hass_fit_ns (const HassFit *f, double work)
{
  return f->fixed_ns + f->ns_per_work * work;
}

double
hass_unfilled_ns (const HassDeviceTraits *traits, const HassCompletion *done,
                  double ns)
{
  double fill = done->elements > done->units ? traits->width : traits->cores;
  double kernel_ns = done->kernel_busy_ns > 0 ? done->kernel_busy_ns : ns;
  if (done->elements == 0) /* unknown */
    return 0;
  return kernel_ns * (1 - MIN ((double)done->elements / MAX (fill, 1), 1));
}

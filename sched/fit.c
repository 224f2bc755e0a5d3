/* SPDX-License-Identifier: MIT */
/* fit.c: see fit.h. Weighted least squares, recent bundles first, with bounds
   that keep a few odd bundles from giving an absurd line.
   Thread safety: plain values. */
#include "fit.h"

#include <math.h>

/* What a bundle counts for after the next one; guesses. The slope follows a
   device that becomes slower within three bundles, where a longer memory would
   divide a round by a rate that no longer holds; the fixed part hardly changes
   and needs bundles of many sizes. */
#define SLOPE_MEMORY 0.7
#define FIXED_MEMORY 0.95
/* Relative variance of sizes below which a regression would only amplify noise;
   a guess. */
#define LEAST_SPREAD 0.05
/* Factors of a step of the fixed part in hass_fit_compare(): large enough to
   get from a wrong latency to the right value in ten pairs, and in the end
   small enough for a tenth. Guesses. */
#define FIRST_STEP 2
#define LAST_STEP 1.1
#define STEP_MEMORY 0.95
/* Least ratio of sizes of a pair: closer ones say nothing but noise; a guess.
 */
#define PAIR_RATIO 1.3
/* Of the shortest bundle: the slope has to stay above 0. */
#define LARGEST_FIXED 0.98
/* Of the fixed part: a smaller share of a bundle's time is lost in it. */
#define HIDDEN_PART 0.1
/* Weight of the newest error; the mean covers about the last three bundles. */
#define ERROR_WEIGHT 0.3
/* By so much the shortest bundle is forgotten with each bundle. */
#define LEAST_GROWTH 1.02

/* Where costs grow along the range the regression finds a fixed part that does
   not exist, and where bundles wait for copies of other devices it finds none.
   So it is bounded by half of the device's latency, as half of that may overlap
   something, and by the shortest bundle. */
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

/* Where costs are unknown, bundles are small where costs are high, because they
   are granted by time, and a regression finds a fixed part that does not exist.
   Two consecutive bundles of different sizes lie side by side and have about
   the same cost per unit, so each such pair gives an estimate of the fixed
   part. The median over pairs is used, which a few pairs across the border of a
   cluster do not move; it is tracked by steps up or down that become smaller.
 */
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

/* A fixed part above this bound was time that the bundle waited. */
void
hass_fit_limit (HassFit *f, double most_fixed_ns)
{
  if (f->fixed_ns <= most_fixed_ns)
    return;
  f->fixed_ns = most_fixed_ns;
  set_slope (f);
}

/* Bundles up to the largest differed in size but were so small that the fixed
   part hides what their work took: the slope is then an upper bound, unless the
   fixed part is the time that fills the GPU. */
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

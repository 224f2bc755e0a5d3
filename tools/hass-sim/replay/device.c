/* SPDX-License-Identifier: MIT */
/* device.c: fits the rates and fixed costs of the devices of a record.

   DESIGN. Step 3 of fit.h: a line through the times of a device's pulls
   or parts, over work for kernels and over bytes for copies.

   Thread safety: any thread. */
#include <math.h>

#include "fit.h"

#define MOST_POINTS 300 /* of a line */

/* -- 3. Devices --------------------------------------------------------- */

static gint
by_value (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double
median (GArray *v)
{
  g_array_sort (v, by_value);
  return v->len > 0 ? g_array_index (v, double, v->len / 2) : 0;
}

/* Intercept of a line through points (x, y) (Theil 1950, Sen 1968: the median
   of the slopes), between 0 and most of the smallest y. Otherwise where the x
   hardly differ. */
static double
intercept (const GArray *x, const GArray *y, double otherwise, double most)
{
  guint n = x->len, step = n / MOST_POINTS + 1;
  double least = INFINITY, low = INFINITY, high = 0;
  g_autoptr (GArray) slopes = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (double));
#define X(i) g_array_index (x, double, i)
#define Y(i) g_array_index (y, double, i)
  for (guint i = 0; i < n; i++)
    {
      least = MIN (least, Y (i));
      low = MIN (low, X (i));
      high = MAX (high, X (i));
    }
  if (n == 0)
    return otherwise;
  if (n < 3 || high < 1.3 * low)
    return MIN (otherwise, least / 2);
  for (guint i = 0; i < n; i += step)
    for (guint k = i + step; k < n; k += step)
      if (fabs (X (k) - X (i)) > 0.1 * (high - low))
        {
          double slope = (Y (k) - Y (i)) / (X (k) - X (i));
          g_array_append_val (slopes, slope);
        }
  double slope = MAX (median (slopes), 0);
  for (guint i = 0; i < n; i += step)
    {
      double offset = Y (i) - slope * X (i);
      g_array_append_val (offsets, offset);
    }
#undef X
#undef Y
  return CLAMP (median (offsets), 0, most * least);
}

typedef double (*RowFunc) (const Replay *p, const RecordRow *row,
                           const ReplayDevice *v);

/* Weight of a unit within its row. */
static double
weight_at (const Replay *p, guint64 at)
{
  double said = p->said[p->unit_at[at]];
  return said > 0 ? said : 1;
}

/* Where each unit is one block of a GPU, a part takes as long as its
   replay_fullest multiprocessor: what that one has to do, times the number of
   multiprocessors, over the weight of all units. A part that fills all alike
   has 1. Of several parts in one row, or of units that lie between those of
   other rows, like numbers are taken from all over the span. */
double
replay_fullest (const Replay *p, const RecordRow *r)
{
  HassGpuModel gpu
      = { .multiprocessors = MAX (p->farm->devices[r->who].cores, 1),
          .width = 1,
          .work_per_ns = 1 };
  if (p->farm->kind != HASS_FARM_INDIVISIBLE)
    return 1;
  guint64 n = r->units;
  g_autofree double *weight = g_new (double, n);
  g_autofree guint64 *elements = g_new (guint64, n);
  double time = 0, sum = 0;
  for (guint64 i = 0; i < n; i++)
    {
      weight[i] = weight_at (p, r->first + r->span * i / n);
      elements[i] = gpu.multiprocessors;
      sum += weight[i];
    }
  for (guint64 k = 0; k < r->n; k++)
    {
      guint64 a = n * k / r->n, b = n * (k + 1) / r->n;
      time += hass_model_blocks_ns (&gpu, weight + a, elements + a, b - a);
    }
  return time / sum;
}

/* The part of the full rate that a part of so many elements reaches. */
double
replay_part_of_rate (const RecordRow *r, const ReplayDevice *v)
{
  double each = (double)r->elements / r->n;
  if (v->width == 0 || each <= 0)
    return 1;
  return v->curve == HASS_CURVE_SATURATING ? each / (each + v->width)
                                           : MIN (1, each / v->width);
}

static double
row_work (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p;
  return r->work / (v->width > 0 ? replay_part_of_rate (r, v) : 1);
}

static double
row_blocks (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  return row_work (p, r, v) * replay_fullest (p, r);
}

static double
row_busy (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->busy;
}

static double
row_kernel (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->kernel;
}

static double
row_in (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->in_bytes;
}

static double
row_h2d (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->h2d;
}

static double
row_out (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->out_bytes;
}

static double
row_d2h (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  (void)p, (void)v;
  return r->d2h;
}

typedef struct
{
  double x, y; /* sums */
  guint64 n;
  double intercept;
  double off; /* median distance of a part from the line, by its y */
} Line;

/* ns for one x, so that the sum over all parts is the recorded one. */
static double
slope (const Line *line, double fixed)
{
  return line->x > 0 ? MAX (line->y - fixed * line->n, 0) / line->x : 0;
}

/* What a line is fitted to: y over x of a device's rows, for one pull or part
   each. @device: -1: all. @otherwise: the intercept where the x hardly differ.
   @most: largest intercept, as a fraction of the smallest y. */
typedef struct
{
  const GArray *rows;
  gint device;
  RowFunc x, y;
  double otherwise, most;
} Points;

static Line
fit (const Replay *p, const ReplayDevice *v, const Points *of)
{
  const GArray *rows = of->rows;
  gint device = of->device;
  Line line = { 0 };
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) y = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if ((device >= 0 && r->who != (guint)device) || (device >= 0 && !r->ok))
        continue;
      double all_x = of->x (p, r, v), all_y = of->y (p, r, v);
      double one_x = all_x / r->n, one_y = all_y / r->n;
      g_array_append_val (x, one_x);
      g_array_append_val (y, one_y);
      line.x += all_x;
      line.y += all_y;
      line.n += r->n;
    }
  line.intercept = intercept (x, y, of->otherwise, of->most);
  g_autoptr (GArray) off = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < x->len; i++)
    {
      double is = g_array_index (y, double, i);
      double said
          = line.intercept
            + slope (&line, line.intercept) * g_array_index (x, double, i);
      double far = is > 0 ? fabs (said - is) / is : 0;
      g_array_append_val (off, far);
    }
  line.off = median (off);
  return line;
}

guint64
replay_units_of (const GArray *rows, gint device)
{
  guint64 n = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if (device < 0 || (r->who == (guint)device && r->ok))
        n += r->units;
    }
  return n;
}

void
replay_fit_cpu (Replay *p, ReplayDevice *v)
{
  Line line = fit (p, v,
                   &(Points){ p->farm->pulls, -1, row_work, row_busy, 0,
                              REPLAY_MOST_FIXED });
  /* Long units hide the fixed cost of a pull; 2 us bounds it. */
  v->launch = MIN (line.intercept, 2000);
  v->units = replay_units_of (p->farm->pulls, -1);
  v->ns_per_work = slope (&line, v->launch);
  v->present = line.x > 0;
}

/* Copies: what has a price even without bytes is the host's submitting; one
   latency serves both ways, and the slopes make good the difference. Without
   results there is no copy out to tell submitting from latency: a modelled
   device only has the latency, of a live one the half of its traits' is
   taken. Strategies are told of copies, but not of submitting. */
static void
fit_copies (const Replay *p, guint d, ReplayDevice *v)
{
  const GArray *rows = p->farm->parts;
  double preset = p->farm->devices[d].latency_ns / 2;
  Line in = fit (p, v, &(Points){ rows, (gint)d, row_in, row_h2d, preset, 1 });
  Line out
      = fit (p, v, &(Points){ rows, (gint)d, row_out, row_d2h, preset, 1 });
  double fixed = in.x > 0 ? in.intercept : in.y / MAX (in.n, 1);
  v->in_ns = slope (&in, fixed);
  if (out.x > 0)
    {
      v->copy = in.x > 0 ? MIN (out.intercept, fixed) : out.intercept;
      v->out_ns = slope (&out, v->copy);
    }
  else
    {
      v->copy = in.x > 0 ? (p->farm->live ? MIN (preset, fixed) : fixed) : 0;
      v->launch += out.y / MAX (out.n, 1); /* time without bytes */
    }
  v->submit = in.x > 0 ? fixed - v->copy : fixed;
}

static double
host_ns (const GArray *rows, guint d)
{
  double sum = 0;
  guint64 n = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if (r->who == d && r->ok)
        {
          sum += r->host;
          n += r->n;
        }
    }
  return sum * replay_per_unit (n);
}

/* Whether all parts are about as large and smaller than the width, so that they
   do not show the rate of the filled device. */
static gboolean
all_small (const GArray *rows, guint d, guint64 width)
{
  double least = INFINITY, most = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      double each = (double)r->elements / r->n;
      if (r->who != d || !r->ok)
        continue;
      least = MIN (least, each);
      most = MAX (most, each);
    }
  return least > 0 && most < width && most < 1.3 * least;
}

/* Where no part fills the device it would, by the meaning of its width, be
   faster with more elements in proportion. Else it has a width only where that
   explains the parts clearly better than a fixed cost alone. */
static Line
fit_kernel (const Replay *p, guint d, ReplayDevice *v)
{
  const HassDeviceTraits *t = &p->farm->devices[d];
  const GArray *rows = p->farm->parts;
  double preset = t->latency_ns / 2;
  gboolean blocks = p->farm->kind == HASS_FARM_INDIVISIBLE;
  Line best = fit (p, v,
                   &(Points){ rows, (gint)d, blocks ? row_blocks : row_work,
                              row_kernel, preset, REPLAY_MOST_FIXED });
  HassCurve curves[] = { HASS_CURVE_LINEAR, HASS_CURVE_SATURATING };
  ReplayDevice tried = *v;
  if (blocks)
    return best;
  if (all_small (rows, d, t->width))
    {
      v->width = t->width;
      return fit (p, v,
                  &(Points){ rows, (gint)d, row_work, row_kernel, preset,
                             REPLAY_MOST_FIXED });
    }
  for (guint i = 0; i < G_N_ELEMENTS (curves); i++)
    {
      tried.curve = curves[i];
      tried.width = t->width;
      Line line = fit (p, &tried,
                       &(Points){ rows, (gint)d, row_work, row_kernel, preset,
                                  REPLAY_MOST_FIXED });
      if (line.off < 0.8 * best.off)
        {
          best = line;
          v->curve = tried.curve;
          v->width = tried.width;
        }
    }
  return best;
}

void
replay_fit_gpu (Replay *p, guint d, ReplayDevice *v)
{
  const GArray *rows = p->farm->parts;
  Line kernel = fit_kernel (p, d, v);
  v->launch = kernel.intercept;
  v->ns_per_work = slope (&kernel, v->launch);
  v->units = replay_units_of (rows, (gint)d);
  v->present = kernel.x > 0;
  fit_copies (p, d, v);
  v->host = host_ns (rows, d);
  for (guint i = 0; i < p->farm->openings->len; i++)
    {
      const RecordOpening *o
          = &g_array_index (p->farm->openings, RecordOpening, i);
      if (o->device == d && o->ok)
        v->open = MAX (v->open, o->end);
    }
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if (r->who == d && !r->ok)
        p->failed_ns += r->busy;
    }
}

/* SPDX-License-Identifier: MIT */
/* replay_fit.c: fits costs and devices to a record.

   DESIGN.
   1. Rounds that overlap in time become one; those that were put together in
      the record are cut evenly.
   2. Each row spreads its time over its units. A row whose units lie between
      those of others gives each unit in its span a part by weight.
   3. A device's fixed costs are the intercepts of lines through its parts;
      the slopes are then chosen so that the sums are the recorded ones.
   4. What a unit would have cost on a device that did not compute it is the
      device's mean for so much work, times how much dearer than its work the
      unit was where it was computed. Where all units cost the same, that is
      noise and left out.

   Thread safety: any thread. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

#define MOST_UNITS 100000000
#define MOST_POINTS 300 /* of a line */
/* Most of a row's time that is fixed: its units cost something. */
#define MOST_FIXED 0.95

/* -- 1. Rounds ---------------------------------------------------------- */

static void
add_round (GArray *out, guint64 first, guint64 units, double begin, double end)
{
  ReplayRound *last
      = out->len > 0 ? &g_array_index (out, ReplayRound, out->len - 1) : NULL;
  if (last && begin < last->end)
    {
      last->units = first + units - last->first;
      last->end = MAX (last->end, end);
      return;
    }
  ReplayRound round
      = { .first = first, .units = units, .begin = begin, .end = end };
  g_array_append_val (out, round);
}

static void
make_rounds (Replay *p)
{
  const RecordFarm *f = p->farm;
  GArray *out = g_array_new (FALSE, FALSE, sizeof (ReplayRound));
  for (guint i = 0; i < f->rounds->len; i++)
    {
      const RecordRound *r = &g_array_index (f->rounds, RecordRound, i);
      guint64 n = MIN (r->n, MAX (r->units, 1));
      double ns = (r->end - r->begin) / n;
      for (guint64 k = 0; k < n; k++)
        {
          guint64 a = r->span * k / n, b = r->span * (k + 1) / n;
          if (b > a)
            add_round (out, r->first + a, b - a, r->begin + ns * k,
                       r->begin + ns * (k + 1));
        }
    }
  p->n_rounds = out->len;
  p->rounds = (ReplayRound *)g_array_free (out, FALSE);
  double before = 0;
  for (guint i = 0; i < p->n_rounds; i++)
    {
      p->rounds[i].gap = MAX (p->rounds[i].begin - before, 0);
      before = p->rounds[i].end;
    }
  p->gap_after = MAX (p->farm->makespan - before, 0);
}

/* -- 2. Units ----------------------------------------------------------- */

/* Sums by weight of what rows say of units. */
typedef struct
{
  double *weight, *sum; /* [n_units] */
} Spread;

static Spread
spread_new (guint64 n)
{
  return (Spread){ g_new0 (double, n + 1), g_new0 (double, n + 1) };
}

static void
spread_clear (Spread *s)
{
  g_free (s->weight);
  g_free (s->sum);
}

/* Units share the total alike, or by what each was said to cost. */
static void
spread_add (const Replay *p, Spread *s, const RecordRow *row, double total,
            gboolean by_work)
{
  double weight = (double)row->units / row->span, mean = 0;
  guint64 end = row->first + row->span;
  for (guint64 at = row->first; at < end && by_work; at++)
    mean += p->said[p->unit_at[at]] / row->span;
  for (guint64 at = row->first; at < end; at++)
    {
      guint32 u = p->unit_at[at];
      double part = mean > 0 ? p->said[u] / mean : 1;
      s->weight[u] += weight;
      s->sum[u] += weight * total / row->units * part;
    }
}

/* What the spread says of a unit; otherwise when it says nothing. */
static double
spread_at (const Spread *s, guint64 u, double otherwise)
{
  return s->weight[u] > 0 ? s->sum[u] / s->weight[u] : otherwise;
}

/* Rows that were put together only tell the mean size of their units. Where
   blocks of the same size explain the sum, they are what was cut. */
static void
even_blocks (Replay *p, const RecordRound *round)
{
  double e = round->block, last = round->work - e * (round->units - 1.0);
  if (p->farm->kind != HASS_FARM_PARTITION || round->n > 1 || round->units == 0
      || round->span != round->units || last <= 0 || last > e)
    return;
  for (guint64 k = 0; k < round->units; k++)
    p->said[round->first + k] = k + 1 < round->units ? e : last;
}

/* Which unit lay where, and what units were said to cost where that was
   kept. */
static void
make_order (Replay *p)
{
  const RecordFarm *f = p->farm;
  p->unit_at = g_new (guint32, f->n_units + 1);
  p->said = g_new0 (double, f->n_units + 1);
  for (guint64 u = 0; u < f->n_units; u++)
    p->unit_at[u] = (guint32)u;
  for (guint i = 0; i < f->rounds->len; i++)
    even_blocks (p, &g_array_index (f->rounds, RecordRound, i));
  for (guint i = 0; i < f->units->len; i++)
    {
      const RecordUnits *u = &g_array_index (f->units, RecordUnits, i);
      for (guint64 k = 0; k < u->n && u->order; k++)
        p->unit_at[u->first + k] = (guint32)(u->first + u->order[k]);
      for (guint64 k = 0; k < u->n && u->work; k++)
        p->said[p->unit_at[u->first + k]] = u->work[k];
    }
}

static double
of_units (guint64 n)
{
  return n > 0 ? 1.0 / n : 0;
}

/* Shapes of the units: work, elements, bytes. Units that no row tells of get
   the mean. */
static void
make_shapes (Replay *p)
{
  const RecordFarm *f = p->farm;
  guint64 n = f->n_units, units = 0;
  const GArray *lists[] = { f->pulls, f->parts };
  Spread s[4];
  double mean[4] = { 0 };
  for (guint k = 0; k < 4; k++)
    s[k] = spread_new (n);
  for (guint l = 0; l < 2; l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        const RecordRow *r = &g_array_index (lists[l], RecordRow, i);
        double v[4] = { r->work, r->elements, r->in_bytes, r->out_bytes };
        units += r->units;
        for (guint k = 0; k < 4; k++)
          {
            gboolean alike = f->kind == HASS_FARM_PARTITION
                             || fabs (v[k] - r->work) <= 0.001 * r->work;
            spread_add (p, &s[k], r, v[k], alike);
            mean[k] += v[k];
          }
      }
  p->work = g_new (double, n + 1);
  p->elements = g_new (guint64, n + 1);
  p->in_bytes = g_new (guint64, n + 1);
  p->out_bytes = g_new (guint64, n + 1);
  for (guint k = 0; k < 4; k++)
    mean[k] *= of_units (units);
  for (guint64 u = 0; u < n; u++)
    {
      double work = p->said[u] > 0 ? p->said[u] : spread_at (&s[0], u, mean[0]);
      p->work[u] = MAX (work, 1e-12);
      p->elements[u] = (guint64)(spread_at (&s[1], u, mean[1]) + 0.5);
      if (f->kind == HASS_FARM_PARTITION && p->said[u] > 0)
        p->elements[u] = (guint64)p->said[u];
      p->in_bytes[u] = (guint64)(spread_at (&s[2], u, mean[2]) + 0.5);
      p->out_bytes[u] = (guint64)(spread_at (&s[3], u, mean[3]) + 0.5);
    }
  for (guint k = 0; k < 4; k++)
    spread_clear (&s[k]);
}

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

/* What a unit is weighed by within its row. */
static double
weight_at (const Replay *p, guint64 at)
{
  double said = p->said[p->unit_at[at]];
  return said > 0 ? said : 1;
}

/* Where each unit is one block of a GPU, a part takes as long as its fullest
   multiprocessor: what that one has to do, times the number of
   multiprocessors, over the weight of all units. A part that fills all alike
   has 1. Of several parts in one row, or of units that lie between those of
   other rows, like numbers are taken from all over the span. */
static double
fullest (const Replay *p, const RecordRow *r)
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

/* Part of the full rate that the elements of a part reach. */
static double
part_of_rate (const RecordRow *r, const ReplayDevice *v)
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
  return r->work / (v->width > 0 ? part_of_rate (r, v) : 1);
}

static double
row_blocks (const Replay *p, const RecordRow *r, const ReplayDevice *v)
{
  return row_work (p, r, v) * fullest (p, r);
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

/* y over x of a device's rows, for one pull or part each. */
static Line
fit (const Replay *p, const GArray *rows, const ReplayDevice *v, gint device,
     RowFunc fx, RowFunc fy, double otherwise, double most)
{
  Line line = { 0 };
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) y = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if ((device >= 0 && r->who != (guint)device) || (device >= 0 && !r->ok))
        continue;
      double all_x = fx (p, r, v), all_y = fy (p, r, v);
      double one_x = all_x / r->n, one_y = all_y / r->n;
      g_array_append_val (x, one_x);
      g_array_append_val (y, one_y);
      line.x += all_x;
      line.y += all_y;
      line.n += r->n;
    }
  line.intercept = intercept (x, y, otherwise, most);
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

static guint64
units_of (const GArray *rows, gint device)
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

static void
fit_cpu (Replay *p, ReplayDevice *v)
{
  Line line = fit (p, p->farm->pulls, v, -1, row_work, row_busy, 0, MOST_FIXED);
  /* Units so long that no pull shows its fixed cost hide it. */
  v->launch = MIN (line.intercept, 2000);
  v->units = units_of (p->farm->pulls, -1);
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
  Line in = fit (p, rows, v, (gint)d, row_in, row_h2d, preset, 1);
  Line out = fit (p, rows, v, (gint)d, row_out, row_d2h, preset, 1);
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
      v->launch += out.y / MAX (out.n, 1); /* no bytes, but time all the same */
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
  return sum * of_units (n);
}

/* Parts that are all about as large, and smaller than the device is wide, do
   not tell how fast it is when it is full. */
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
  Line best = fit (p, rows, v, (gint)d, blocks ? row_blocks : row_work,
                   row_kernel, preset, MOST_FIXED);
  HassCurve curves[] = { HASS_CURVE_LINEAR, HASS_CURVE_SATURATING };
  ReplayDevice tried = *v;
  if (blocks)
    return best;
  if (all_small (rows, d, t->width))
    {
      v->width = t->width;
      return fit (p, rows, v, (gint)d, row_work, row_kernel, preset,
                  MOST_FIXED);
    }
  for (guint i = 0; i < G_N_ELEMENTS (curves); i++)
    {
      tried.curve = curves[i];
      tried.width = t->width;
      Line line = fit (p, rows, &tried, (gint)d, row_work, row_kernel, preset,
                       MOST_FIXED);
      if (line.off < 0.8 * best.off)
        {
          best = line;
          v->curve = tried.curve;
          v->width = tried.width;
        }
    }
  return best;
}

static void
fit_gpu (Replay *p, guint d, ReplayDevice *v)
{
  const GArray *rows = p->farm->parts;
  Line kernel = fit_kernel (p, d, v);
  v->launch = kernel.intercept;
  v->ns_per_work = slope (&kernel, v->launch);
  v->units = units_of (rows, (gint)d);
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

/* -- 4. Costs ----------------------------------------------------------- */

static Spread
costs_of (const Replay *p, guint d)
{
  gboolean cpu = p->farm->devices[d].kind == HASS_DEVICE_CPU;
  const GArray *rows = cpu ? p->farm->pulls : p->farm->parts;
  double launch = p->devices[d].launch;
  Spread s = spread_new (p->farm->n_units);
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if (!cpu && (r->who != d || !r->ok))
        continue;
      double ns = cpu ? r->busy : r->kernel;
      ns = MAX (ns - launch * r->n, (1 - MOST_FIXED) * ns);
      if (!cpu)
        ns *= part_of_rate (r, &p->devices[d]);
      spread_add (p, &s, r, cpu ? ns : ns / fullest (p, r), TRUE);
    }
  return s;
}

/* How much dearer than its work a unit was, where it was computed. */
static double *
relative_costs (const Replay *p, const Spread *costs)
{
  guint64 n = p->farm->n_units;
  double *relative = g_new (double, n + 1);
  for (guint64 u = 0; u < n; u++)
    {
      double sum = 0, weight = 0;
      for (guint d = 0; d < p->n_devices; d++)
        if (p->devices[d].present && costs[d].weight[u] > 0
            && p->devices[d].ns_per_work > 0)
          {
            double w = costs[d].weight[u];
            sum += w * spread_at (&costs[d], u, 0)
                   / (p->devices[d].ns_per_work * p->work[u]);
            weight += w;
          }
      gboolean told = weight > 0 && p->farm->cost != HASS_COST_EQUAL;
      relative[u] = told ? sum / weight : 1;
    }
  return relative;
}

static void
make_costs (Replay *p)
{
  guint64 n = p->farm->n_units;
  g_autofree Spread *costs = g_new0 (Spread, p->n_devices);
  for (guint d = 0; d < p->n_devices; d++)
    costs[d] = costs_of (p, d);
  g_autofree double *relative = relative_costs (p, costs);
  for (guint d = 0; d < p->n_devices; d++)
    {
      ReplayDevice *v = &p->devices[d];
      v->cost = g_new (double, n + 1);
      v->cost[0] = 0;
      for (guint64 u = 0; u < n; u++)
        v->cost[u + 1]
            = v->cost[u]
              + spread_at (&costs[d], u,
                           v->ns_per_work * p->work[u] * relative[u]);
      spread_clear (&costs[d]);
    }
  p->relative = g_new (double, n + 1);
  p->relative[0] = 0;
  for (guint64 u = 0; u < n; u++)
    p->relative[u + 1] = p->relative[u] + p->work[u] * relative[u];
}

/* -- Cores -------------------------------------------------------------- */

/* When each core took part in each round: on the CPU alone it was away for as
   long as it computed nothing, since nothing but the generator and a late
   start keeps it from work; beside other devices the strategy may, so only
   its delay behind the first core counts. */
static void
make_late (Replay *p)
{
  const RecordFarm *f = p->farm;
  guint cores = f->devices[0].kind == HASS_DEVICE_CPU ? f->devices[0].cores : 0;
  gsize n = (gsize)p->n_rounds * cores;
  p->late = g_new0 (double, n + 1);
  g_autofree double *busy = g_new0 (double, n + 1);
  g_autofree double *first = g_new (double, n + 1);
  for (gsize i = 0; i < n; i++)
    first[i] = INFINITY;
  for (guint i = 0; i < f->pulls->len; i++)
    {
      const RecordRow *r = &g_array_index (f->pulls, RecordRow, i);
      guint at = 0, end = p->n_rounds;
      while (end - at > 1)
        {
          guint middle = (at + end) / 2;
          if (p->rounds[middle].first <= r->first)
            at = middle;
          else
            end = middle;
        }
      gsize k = (gsize)at * cores + r->who;
      busy[k] += r->busy;
      first[k] = MIN (first[k], r->begin);
    }
  for (guint i = 0; i < p->n_rounds; i++)
    {
      double earliest = INFINITY, least = INFINITY;
      double span = p->rounds[i].end - p->rounds[i].begin;
      for (guint c = 0; c < cores; c++)
        {
          earliest = MIN (earliest, first[(gsize)i * cores + c]);
          least = MIN (least, MAX (span - busy[(gsize)i * cores + c], 0));
        }
      for (guint c = 0; c < cores; c++)
        {
          gsize k = (gsize)i * cores + c;
          if (f->n_devices == 1)
            p->late[k] = MAX (span - busy[k], 0);
          else if (isfinite (first[k]))
            p->late[k] = first[k] - earliest;
        }
    }
}

/* How much slower cores were while devices computed: the mean time for work
   of pulls within a part's time by that of pulls outside all. */
static void
see_slowing (Replay *p)
{
  const RecordFarm *f = p->farm;
  double ns[2] = { 0 }, work[2] = { 0 };
  p->slowing = 1;
  for (guint i = 0; i < f->pulls->len; i++)
    {
      const RecordRow *r = &g_array_index (f->pulls, RecordRow, i);
      gboolean beside = FALSE;
      for (guint k = 0; k < f->parts->len && !beside; k++)
        {
          const RecordRow *part = &g_array_index (f->parts, RecordRow, k);
          beside = r->begin < part->end && part->begin < r->end;
        }
      ns[beside] += r->busy;
      work[beside] += r->work;
    }
  /* A tenth of the work on either side is enough to compare. */
  double least = 0.1 * (work[0] + work[1]);
  if (work[0] > least && work[1] > least && ns[0] > 0)
    p->slowing = ns[1] / work[1] / (ns[0] / work[0]);
}

/* -- All of it ---------------------------------------------------------- */

static void G_GNUC_PRINTF (2, 3) note (Replay *p, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (p->notes, g_strdup_vprintf (format, args));
  va_end (args);
}

/* A device that computed nothing is modelled by what was known of it, and
   left out where that is nothing. */
static void
settle_absent (Replay *p, guint d)
{
  ReplayDevice *v = &p->devices[d];
  const HassDeviceTraits *t = &p->farm->devices[d];
  const HassProfileRate *known = &p->farm->known[d];
  double rate = known->runs > 0 ? known->work_per_ns : t->work_per_ns;
  gboolean cpu = t->kind == HASS_DEVICE_CPU;
  if (v->present)
    return;
  if (!(rate > 0))
    {
      note (p, "%s computed nothing and is left out", t->name);
      return;
    }
  v->present = TRUE;
  v->ns_per_work = cpu ? t->cores / rate : 1 / rate;
  v->launch = cpu ? 0 : t->latency_ns;
  if (!cpu && t->link_bytes_per_ns > 0)
    v->in_ns = v->out_ns = 1 / t->link_bytes_per_ns;
  note (p, "%s computed nothing; its rate is what was known before the run",
        t->name);
}

static void
describe (Replay *p)
{
  const RecordFarm *f = p->farm;
  for (guint d = 0; d < p->n_devices; d++)
    {
      const ReplayDevice *v = &p->devices[d];
      if (!v->present)
        continue;
      if (f->devices[d].kind == HASS_DEVICE_CPU)
        note (p, "%s: %u cores, %.4g ns for a work each, %.0f ns a pull",
              f->devices[d].name, f->devices[d].cores, v->ns_per_work,
              v->launch);
      else
        note (p,
              "%s: %.4g ns for a work, %.1f us a launch, in %.1f GB/s, out "
              "%.1f GB/s, %.1f us a copy, %.1f us to submit, %.1f us for "
              "results, open after %.1f ms",
              f->devices[d].name, v->ns_per_work, v->launch * 1e-3,
              v->in_ns > 0 ? 1 / v->in_ns : 0,
              v->out_ns > 0 ? 1 / v->out_ns : 0, v->copy * 1e-3,
              v->submit * 1e-3, v->host * 1e-3, v->open * 1e-6);
    }
  if (p->slowing > 1.03)
    note (p, "cores were %.0f %% slower while devices computed",
          100 * (p->slowing - 1));
  if (p->failed_ns > 0)
    note (p, "parts that failed took %.3f ms, which is not replayed",
          p->failed_ns * 1e-6);
}

/* NULL with an error when there is nothing to learn from. */
Replay *
replay_fit (const RecordFarm *farm, GError **error)
{
  gboolean any = FALSE;
  if (farm->failed)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "record file %s, line %u: the farm '%s' failed: there is "
                   "nothing to replay",
                   farm->path, farm->line, farm->farm);
      return NULL;
    }
  if (farm->n_units == 0 || farm->n_units > MOST_UNITS
      || units_of (farm->pulls, -1) + farm->parts->len == 0)
    {
      g_set_error (
          error, HASS_ERROR, HASS_ERROR_INVALID,
          "record file %s, line %u: the farm '%s' has %" G_GUINT64_FORMAT
          " units; a replay needs 1 to %d, computed",
          farm->path, farm->line, farm->farm, farm->n_units, MOST_UNITS);
      return NULL;
    }
  Replay *p = g_new0 (Replay, 1);
  p->farm = farm;
  p->n_devices = farm->n_devices;
  p->devices = g_new0 (ReplayDevice, p->n_devices);
  p->notes = g_ptr_array_new_with_free_func (g_free);
  make_rounds (p);
  make_order (p);
  make_shapes (p);
  for (guint d = 0; d < p->n_devices; d++)
    {
      if (farm->devices[d].kind == HASS_DEVICE_CPU)
        fit_cpu (p, &p->devices[d]);
      else
        fit_gpu (p, d, &p->devices[d]);
      any |= p->devices[d].present;
      settle_absent (p, d);
    }
  make_costs (p);
  make_late (p);
  see_slowing (p);
  describe (p);
  if (any)
    return p;
  replay_free (p);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "record file %s, line %u: no device of the farm '%s' computed "
               "anything",
               farm->path, farm->line, farm->farm);
  return NULL;
}

void
replay_free (Replay *p)
{
  for (guint d = 0; d < p->n_devices; d++)
    g_free (p->devices[d].cost);
  g_free (p->devices);
  g_free (p->rounds);
  g_free (p->late);
  g_free (p->unit_at);
  g_free (p->said);
  g_free (p->work);
  g_free (p->relative);
  g_free (p->elements);
  g_free (p->in_bytes);
  g_free (p->out_bytes);
  g_ptr_array_unref (p->notes);
  g_free (p);
}

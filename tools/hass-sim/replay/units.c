/* SPDX-License-Identifier: MIT */
/* units.c: the rounds and the units of a record.

   DESIGN. Steps 1 and 2 of fit.h: rounds that overlap in time become
   one, and every unit gets its place and its shape from the rows that cover
   it, by weight where they cover more than their own.

   Thread safety: any thread. */
#include <math.h>

#include "fit.h"

/* -- 1. Rounds ---------------------------------------------------------- */

static void
add_round (GArray *out, guint64 first, guint64 units, double begin, double end)
{
  ReplayRound *last
      = out->len > 0 ? &g_array_index (out, ReplayRound, out->len - 1) : NULL;
  if (last && begin < last->end)
    {
      last->units
          = MAX (last->first + last->units, first + units) - last->first;
      last->end = MAX (last->end, end);
      return;
    }
  ReplayRound round
      = { .first = first, .units = units, .begin = begin, .end = end };
  g_array_append_val (out, round);
}

void
replay_make_rounds (Replay *p)
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

ReplaySpread
replay_spread_new (guint64 n)
{
  return (ReplaySpread){ g_new0 (double, n + 1), g_new0 (double, n + 1) };
}

void
replay_spread_clear (ReplaySpread *s)
{
  g_free (s->weight);
  g_free (s->sum);
}

void
replay_spread_add (const Replay *p, ReplaySpread *s, const RecordRow *row,
                   double total, gboolean by_work)
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

double
replay_spread_at (const ReplaySpread *s, guint64 u, double otherwise)
{
  return s->weight[u] > 0 ? s->sum[u] / s->weight[u] : otherwise;
}

/* Merged rows only give the mean size of their units. If equal blocks explain
   the sum, they are assumed. */
static void
even_blocks (Replay *p, const RecordRound *round)
{
  double e = round->block, last = round->work - e * (round->units - 1.0);
  if (p->farm->kind != HASS_FARM_PARTITION || round->n > 1 || round->loads > 1
      || round->units == 0 || round->span != round->units || last <= 0
      || last > e)
    return;
  for (guint64 k = 0; k < round->units; k++)
    p->said[round->first + k] = k + 1 < round->units ? e : last;
}

/* Restores the order of units, and their stated costs if recorded. */
void
replay_make_order (Replay *p)
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

/* A unit's part of a number whose total over all units fits a guint64. */
static guint64
whole (const Replay *p, double value)
{
  return (guint64)MIN (value + 0.5, 1e18 / p->farm->n_units);
}

static void
set_kind (Replay *p, guint64 first, guint64 n, guint8 kind)
{
  guint64 end = MIN (first + n, p->farm->n_units);
  for (guint64 at = first; at < end; at++)
    p->kinds[p->unit_at[at]] = kind;
}

/* Restores the kinds of tasks: those for one kind of device are at the ends of
   a round; in merged rounds only if all are of one kind. */
void
replay_make_kinds (Replay *p)
{
  const RecordFarm *f = p->farm;
  p->kinds = g_new0 (guint8, f->n_units + 1);
  for (guint i = 0; i < f->rounds->len; i++)
    {
      const RecordRound *r = &g_array_index (f->rounds, RecordRound, i);
      if (f->kind != HASS_FARM_FUNCTION)
        return;
      if (r->n == 1 || r->cpu_only == r->units)
        set_kind (p, r->first, r->cpu_only, HASS_LOAD_CPU);
      if (r->n == 1 || r->gpu_only == r->units)
        set_kind (p, r->first + r->span - r->gpu_only, r->gpu_only,
                  HASS_LOAD_GPU);
    }
}

/* Restores work, elements and bytes of the units. Units in no row get the
   mean. */
void
replay_make_shapes (Replay *p)
{
  const RecordFarm *f = p->farm;
  guint64 n = f->n_units, units = 0;
  const GArray *lists[] = { f->pulls, f->parts };
  ReplaySpread s[4];
  double mean[4] = { 0 };
  for (guint k = 0; k < 4; k++)
    s[k] = replay_spread_new (n);
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
            replay_spread_add (p, &s[k], r, v[k], alike);
            mean[k] += v[k];
          }
      }
  p->work = g_new (double, n + 1);
  p->elements = g_new (guint64, n + 1);
  p->in_bytes = g_new (guint64, n + 1);
  p->out_bytes = g_new (guint64, n + 1);
  for (guint k = 0; k < 4; k++)
    mean[k] *= replay_per_unit (units);
  for (guint64 u = 0; u < n; u++)
    {
      double work
          = p->said[u] > 0 ? p->said[u] : replay_spread_at (&s[0], u, mean[0]);
      p->work[u] = MAX (work, 1e-12);
      p->elements[u] = whole (p, replay_spread_at (&s[1], u, mean[1]));
      if (f->kind == HASS_FARM_PARTITION && p->said[u] > 0)
        p->elements[u] = whole (p, floor (p->said[u]));
      p->in_bytes[u] = whole (p, replay_spread_at (&s[2], u, mean[2]));
      p->out_bytes[u] = whole (p, replay_spread_at (&s[3], u, mean[3]));
    }
  for (guint k = 0; k < 4; k++)
    replay_spread_clear (&s[k]);
}

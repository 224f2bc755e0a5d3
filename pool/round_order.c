/* SPDX-License-Identifier: MIT */
/* round_order.c: what a strategy reads from a round and how it carves it:
   sums of work, the order by size, shares.

   DESIGN. Sums of work are kept for every 16th position and the rest is
   added up on demand. Whoever re-orders or carves first seizes the waiting
   units of the range, so that nobody takes what is being moved; what is
   given back meanwhile goes to the list of returned units.

   Thread safety: under the engine's decision lock. */
#include "round-private.h"

#include <string.h>

#define STRIDE 16

guint64
hass_round_number (const HassRound *round)
{
  return round->number;
}

gint64
hass_round_begin_ns (const HassRound *round)
{
  return round->begin_ns;
}

guint64
hass_round_units (const HassRound *round)
{
  return round->n_units;
}

enum
{
  RETURNED_COMMON,
  RETURNED_CPU,
  RETURNED_GPU
};

/* Units that were given back where they touched no end of their range. */
static guint64
returned (const HassRound *constant, int set)
{
  HassRound *round = (HassRound *)constant;
  guint64 n = 0;
  /* Relaxed: as in take_first. */
  if (atomic_load_explicit (&round->n_returned, memory_order_relaxed) == 0)
    return 0;
  pthread_mutex_lock (&round->returned_lock);
  for (guint i = 0; i < round->returned->len; i++)
    {
      const HassReturned *r = &g_array_index (round->returned, HassReturned, i);
      HassExtent e = r->extent;
      int its = r->no_gpu || e.first < round->n_only_cpu ? RETURNED_CPU
                : e.first >= round->n_units - round->n_only_gpu
                    ? RETURNED_GPU
                    : RETURNED_COMMON;
      n += its == set ? e.n : 0;
    }
  pthread_mutex_unlock (&round->returned_lock);
  return n;
}

guint64
hass_round_waiting (const HassRound *round)
{
  return hass_unit_range_peek (&round->ranges[HASS_RANGE_COMMON]).n
         + returned (round, RETURNED_COMMON);
}

guint64
hass_round_front (const HassRound *round)
{
  return hass_unit_range_peek (&round->ranges[HASS_RANGE_COMMON]).first;
}

guint64
hass_round_back (const HassRound *round)
{
  HassExtent e = hass_unit_range_peek (&round->ranges[HASS_RANGE_COMMON]);
  return (guint64)e.first + e.n;
}

guint64
hass_round_share (const HassRound *round, guint device)
{
  g_return_val_if_fail (device < round->n_devices, 0);
  return hass_unit_range_peek (&round->ranges[HASS_RANGE_SHARES + device]).n;
}

guint64
hass_round_exclusive (const HassRound *round, guint device)
{
  g_return_val_if_fail (device < round->n_devices, 0);
  gboolean cpu = round->kinds[device] == HASS_DEVICE_CPU;
  guint range = cpu ? HASS_RANGE_ONLY_CPU : HASS_RANGE_ONLY_GPU;
  return hass_unit_range_peek (&round->ranges[range]).n
         + returned (round, cpu ? RETURNED_CPU : RETURNED_GPU);
}

HassProgress
hass_round_progress (const HassRound *round, guint device)
{
  HassProgress sum = { 0 };
  g_return_val_if_fail (device < round->n_devices, sum);
  guint a = round->counter_of[device], b = round->counter_of[device + 1];
  for (guint i = a; i < b; i++)
    {
      HassCounter *c = &round->counters[i];
      sum.units += atomic_load_explicit (&c->units, memory_order_relaxed);
      sum.work += atomic_load_explicit (&c->work, memory_order_relaxed);
      sum.busy_ns += atomic_load_explicit (&c->busy_ns, memory_order_relaxed);
    }
  sum.busy_ns /= b - a;
  return sum;
}

/* -- Work --------------------------------------------------------------- */

/* What a unit costs by all that is known, whatever the cost class shows. */
static double
known_cost (const HassRound *round, guint32 unit)
{
  if (round->divisible)
    {
      const HassDivision *division = &round->division;
      if (division->blocks)
        return division->blocks[unit].count;
      gsize first = (gsize)unit * division->block_elements;
      return MIN (division->block_elements, division->load.size - first);
    }
  const HassLoad *load = &round->loads[(round->base + unit) & round->mask];
  return load->cost > 0 ? load->cost : load->size > 0 ? load->size : 1;
}

/* For the models of the virtual engine, not for strategies. */
double
hass_round_true_cost (const HassRound *round, guint32 position)
{
  return known_cost (round, hass_round_unit (round, position));
}

static gboolean
work_is_count (const HassRound *round)
{
  return !round->divisible && round->cost != HASS_COST_SIZED;
}

/* Sums from the group of `first` on, as far as position `end`. */
static void
sum_up (HassRound *round, guint32 first, guint32 end)
{
  guint32 g = first / STRIDE;
  double sum = round->prefix[g];
  for (guint32 p = g * STRIDE; p < end; p++)
    {
      if (p % STRIDE == 0)
        round->prefix[p / STRIDE] = sum;
      sum += known_cost (round, hass_round_unit (round, p));
    }
  if (end % STRIDE == 0)
    round->prefix[end / STRIDE] = sum;
}

static double
work_before (HassRound *round, guint32 position)
{
  double sum = round->prefix[position / STRIDE];
  for (guint32 p = position / STRIDE * STRIDE; p < position; p++)
    sum += known_cost (round, hass_round_unit (round, p));
  return sum;
}

double
hass_round_work (const HassRound *constant, guint64 first, guint64 n)
{
  HassRound *round = (HassRound *)constant;
  g_return_val_if_fail (first + n <= round->n_units, 0);
  if (work_is_count (round))
    return n;
  if (round->divisible && !round->division.blocks && !hass_round_order (round))
    return hass_round_element (round, first + n)
           - hass_round_element (round, first);
  if (n <= STRIDE)
    {
      double sum = 0;
      for (guint64 i = 0; i < n; i++)
        sum += known_cost (round, hass_round_unit (round, first + i));
      return sum;
    }
  if (!round->prefix)
    {
      round->prefix = g_new0 (double, round->n_units / STRIDE + 2);
      sum_up (round, 0, round->n_units);
    }
  return work_before (round, first + n) - work_before (round, first);
}

double
hass_round_total_work (const HassRound *round)
{
  return hass_round_work (round, 0, round->n_units);
}

guint64
hass_round_elements (const HassRound *round, guint64 position)
{
  g_return_val_if_fail (position < round->n_units, 0);
  if (round->divisible)
    return (guint64)hass_round_true_cost (round, position);
  return hass_round_load (round, position)->size;
}

/* -- Order and shares --------------------------------------------------- */

static HassExtent
seize (HassRound *round)
{
  return hass_unit_range_seize (&round->ranges[HASS_RANGE_COMMON]);
}

static void
need_order (HassRound *round)
{
  if (hass_round_order (round))
    return;
  guint32 *order = g_new (guint32, MAX (round->n_units, 1));
  for (guint32 i = 0; i < round->n_units; i++)
    order[i] = i;
  atomic_store_explicit (&round->order, order, memory_order_release);
}

typedef struct
{
  float work;
  guint32 unit;
} Key;

static gint
by_work (gconstpointer a, gconstpointer b, gpointer unused)
{
  const Key *x = a, *y = b;
  (void)unused;
  return (x->work > y->work) - (x->work < y->work);
}

static void
sort (HassRound *round, guint32 first, guint32 n)
{
  if (n < 2)
    return;
  guint32 *order = hass_round_order (round);
  Key *keys = g_new (Key, n);
  for (guint32 i = 0; i < n; i++)
    {
      guint32 unit = order[first + i];
      keys[i] = (Key){ (float)known_cost (round, unit), unit };
    }
  g_qsort_with_data (keys, n, sizeof *keys, by_work, NULL);
  for (guint32 i = 0; i < n; i++)
    order[first + i] = keys[i].unit;
  g_free (keys);
  if (round->prefix)
    sum_up (round, first, first + n);
}

/* Sorts what waits in a range that only one kind of device takes from. */
static void
sort_exclusive (HassRound *round, guint index)
{
  HassExtent e = hass_unit_range_seize (&round->ranges[index]);
  sort (round, e.first, e.n);
  hass_unit_range_set (&round->ranges[index], e.first, e.n);
}

void
hass_round_order_by_work (HassRound *round)
{
  if (work_is_count (round) || (round->divisible && !round->division.blocks))
    return;
  HassExtent e = seize (round);
  need_order (round);
  guint32 spd = e.n;
  if (round->farm == HASS_FARM_FUNCTION)
    {
      /* [SPD | MPD]: the sets stay apart (Zhang 2011, 3.6.3). */
      for (spd = 0; spd < e.n; spd++)
        if (hass_round_elements (round, e.first + spd) > 1)
          break;
      sort_exclusive (round, HASS_RANGE_ONLY_CPU);
      sort_exclusive (round, HASS_RANGE_ONLY_GPU);
    }
  sort (round, e.first, spd);
  sort (round, e.first + spd, e.n - spd);
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], e.first, e.n);
}

void
hass_round_carve (HassRound *round, const guint64 *units)
{
  HassExtent e = seize (round);
  guint32 at = e.first, left = e.n;
  for (guint d = 0; d < round->n_devices; d++)
    {
      HassUnitRange *share = &round->ranges[HASS_RANGE_SHARES + d];
      guint32 n = (guint32)MIN (units[d], left);
      if (n == 0 || hass_unit_range_peek (share).n > 0)
        continue;
      hass_unit_range_set (share, at, n);
      at += n;
      left -= n;
    }
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], at, left);
}

void
hass_round_carve_back (HassRound *round, guint device, guint64 units)
{
  HassUnitRange *share = &round->ranges[HASS_RANGE_SHARES + device];
  g_return_if_fail (device < round->n_devices);
  if (hass_unit_range_peek (share).n > 0)
    return;
  HassExtent e = seize (round);
  guint32 n = (guint32)MIN (units, e.n);
  hass_unit_range_set (share, e.first + e.n - n, n);
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], e.first, e.n - n);
}

void
hass_round_assign (HassRound *round, HassAssignFunc assign, gpointer user_data)
{
  HassExtent e = seize (round);
  guint n = round->n_devices;
  guint16 *owner = g_new (guint16, MAX (e.n, 1));
  guint32 *at = g_new0 (guint32, n + 2);
  for (guint32 i = 0; i < e.n; i++)
    {
      guint d = assign (round, e.first + i, user_data);
      if (d >= n
          || hass_unit_range_peek (&round->ranges[HASS_RANGE_SHARES + d]).n)
        d = n;
      owner[i] = d;
      at[d + 1]++;
    }
  for (guint d = 0; d <= n; d++)
    at[d + 1] += at[d];
  need_order (round);
  guint32 *order = hass_round_order (round);
  guint32 *moved = g_new (guint32, MAX (e.n, 1));
  guint32 *next = g_memdup2 (at, (n + 2) * sizeof *at);
  for (guint32 i = 0; i < e.n; i++)
    moved[next[owner[i]]++] = order[e.first + i];
  memcpy (order + e.first, moved, e.n * sizeof *moved);
  if (round->prefix)
    sum_up (round, e.first, e.first + e.n);
  for (guint d = 0; d < n; d++)
    if (at[d + 1] > at[d])
      hass_unit_range_set (&round->ranges[HASS_RANGE_SHARES + d],
                           e.first + at[d], at[d + 1] - at[d]);
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], e.first + at[n],
                       at[n + 1] - at[n]);
  g_free (next);
  g_free (moved);
  g_free (at);
  g_free (owner);
}

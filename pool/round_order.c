/* SPDX-License-Identifier: MIT */
/* round_order.c: what a strategy reads from a round, and how it orders and
   carves it.

   DESIGN. A function that orders or carves first seizes the waiting units of
   the common range, so that no device takes a unit while it is moved. Units
   given back meanwhile go to the list of returned units.

   Thread safety: under the engine's decision lock. */
#include "round_engine.h"

#include <string.h>

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
  return round->ready ? atomic_load_explicit (&((HassRound *)round)->room,
                                              memory_order_relaxed)
                            - hass_round_missing (round)
                      : round->n_units;
}

/* Returns: the number of units that were given back and are in no range,
   because they touched neither end of it: with @common the common ones, else
   those that class @klass and not every other can run. */
static guint64
returned (const HassRound *constant, gboolean common, guint klass)
{
  HassRound *round = (HassRound *)constant;
  guint64 n = 0;
  if (!hass_round_any_returned (round))
    return 0;
  pthread_mutex_lock (&round->returned_lock);
  for (guint i = 0; i < round->returned->len; i++)
    {
      const HassReturned *r = &g_array_index (round->returned, HassReturned, i);
      guint mask = hass_round_returned_mask (round, r);
      if (common ? mask == round->all_classes
                 : mask != round->all_classes && mask >> klass & 1)
        n += r->extent.n;
    }
  pthread_mutex_unlock (&round->returned_lock);
  return n;
}

guint64
hass_round_waiting (const HassRound *round)
{
  guint64 ready = hass_round_takes_ready (round)
                      ? hass_ready_set_common (round->ready)
                      : 0;
  return hass_unit_range_peek (&round->ranges[HASS_RANGE_COMMON]).n + ready
         + returned (round, TRUE, 0);
}

gboolean
hass_round_is_open (const HassRound *round)
{
  return round->ready != NULL;
}

double
hass_round_waiting_work (const HassRound *round)
{
  if (hass_round_takes_ready (round))
    return hass_ready_set_work (round->ready);
  HassExtent e = hass_unit_range_peek (&round->ranges[HASS_RANGE_COMMON]);
  return hass_round_work (round, e.first, e.n);
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
  guint klass = round->classes[device];
  guint64 ready = hass_round_takes_ready (round)
                      ? hass_ready_set_partial (round->ready, klass)
                      : 0;
  return hass_round_partial_units (round, klass) + ready
         + returned (round, FALSE, klass);
}

/* Reads a tally again if it was written meanwhile: its writer has then counted
   more units. */
static HassProgress
read_counter (const HassCounter *c)
{
  HassProgress p;
  guint64 turns, now = atomic_load_explicit (&c->turns, memory_order_acquire);
  do
    {
      const HassTally *t = &c->tallies[now % 2];
      turns = now;
      p.units = atomic_load_explicit (&t->units, memory_order_acquire);
      p.work = atomic_load_explicit (&t->work, memory_order_acquire);
      p.busy_ns = atomic_load_explicit (&t->busy_ns, memory_order_acquire);
      now = atomic_load_explicit (&c->turns, memory_order_acquire);
    }
  while (now != turns);
  return p;
}

HassProgress
hass_round_progress (const HassRound *round, guint device)
{
  HassProgress sum = { 0 };
  g_return_val_if_fail (device < round->n_devices, sum);
  guint a = round->counter_of[device], b = round->counter_of[device + 1];
  for (guint i = a; i < b; i++)
    {
      HassProgress p = read_counter (&round->counters[i]);
      sum.units += p.units;
      sum.work += p.work;
      sum.busy_ns += p.busy_ns;
    }
  sum.busy_ns /= b - a;
  return sum;
}

/* Units are read first: what they say is done has been counted, at least. */
HassProgress
hass_round_function_progress (const HassRound *round, guint device,
                              guint function)
{
  HassProgress sum = { 0 };
  guint a = round->counter_of[device], b = round->counter_of[device + 1];
  for (guint i = a; i < b; i++)
    {
      const HassTally *t = &round->counters[i].functions[function];
      sum.units += atomic_load_explicit (&t->units, memory_order_acquire);
      sum.work += atomic_load_explicit (&t->work, memory_order_relaxed);
      sum.busy_ns += atomic_load_explicit (&t->busy_ns, memory_order_relaxed);
    }
  sum.busy_ns /= b - a;
  return sum;
}

guint
hass_round_function (const HassRound *round, guint64 position)
{
  if (round->n_functions < 2 || position >= round->n_units)
    return 0;
  return (hass_round_load (round, (guint32)position)->flags
          & HASS_LOAD_FUNCTIONS)
         / HASS_LOAD_FUNCTION (1);
}

guint
hass_round_functions (const HassRound *round)
{
  return round->n_functions;
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
by_work (gconstpointer a, gconstpointer b)
{
  const Key *x = a, *y = b;
  return (x->work > y->work) - (x->work < y->work);
}

static void
sort (HassRound *round, guint32 first, guint32 n)
{
  if (n < 2)
    return;
  guint32 *order = hass_round_order (round);
  g_autoptr (GArray) keys = g_array_sized_new (FALSE, FALSE, sizeof (Key), n);
  for (guint32 i = 0; i < n; i++)
    {
      guint32 unit = order[first + i];
      Key key = { (float)hass_round_known_cost (round, unit), unit };
      g_array_append_val (keys, key);
    }
  g_array_sort (keys, by_work);
  for (guint32 i = 0; i < n; i++)
    order[first + i] = g_array_index (keys, Key, i).unit;
  if (round->prefix)
    hass_round_sum_up (round, first, first + n);
}

/* Sorts the waiting units of a partial set (tasks that not every class of
   devices can run) by ascending work. */
static void
sort_partial (HassRound *round, const HassPartialSet *set)
{
  HassUnitRange *range = hass_round_partial (round, set->mask);
  HassExtent e = hass_unit_range_seize (range);
  sort (round, e.first, e.n);
  hass_unit_range_set (range, e.first, e.n);
}

void
hass_round_order_by_work (HassRound *round)
{
  if (round->ready || hass_round_counts_units (round)
      || (round->divisible && !round->division.blocks))
    return;
  HassExtent e = seize (round);
  need_order (round);
  guint32 spd = e.n;
  if (round->farm == HASS_FARM_FUNCTION)
    {
      /* SPD tasks (parallelism degree 1) precede MPD tasks; each set is sorted
         on its own (Zhang 2011, 3.6.3). */
      for (spd = 0; spd < e.n; spd++)
        if (hass_round_elements (round, e.first + spd) > 1)
          break;
      for (guint i = 0; i < round->n_sets; i++)
        sort_partial (round, &round->sets[i]);
    }
  sort (round, e.first, spd);
  sort (round, e.first + spd, e.n - spd);
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], e.first, e.n);
}

void
hass_round_order_by_function (HassRound *round, const double *rank)
{
  guint n = round->n_functions, next = 0;
  gboolean placed[HASS_MOST_FUNCTIONS] = { FALSE };
  if (n < 2)
    return;
  HassExtent e = seize (round);
  need_order (round);
  guint32 *order = hass_round_order (round), at = 0;
  g_autofree guint8 *function = g_new (guint8, MAX (e.n, 1));
  g_autofree guint32 *unit = g_memdup2 (order + e.first, e.n * sizeof *order);
  for (guint32 i = 0; i < e.n; i++)
    function[i] = (guint8)hass_round_function (round, e.first + i);
  for (guint done = 0; done < n; done++, placed[next] = TRUE)
    {
      for (next = 0; placed[next];)
        next++;
      for (guint f = next + 1; f < n; f++)
        if (!placed[f] && rank[f] < rank[next])
          next = f;
      for (guint32 i = 0; i < e.n; i++)
        if (function[i] == next)
          order[e.first + at++] = unit[i];
    }
  if (round->prefix)
    hass_round_sum_up (round, e.first, e.first + e.n);
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
  if (round->ready)
    return;
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
    hass_round_sum_up (round, e.first, e.first + e.n);
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

/* SPDX-License-Identifier: MIT */
/* round.c: begins a round; devices take its units and give them back.
   Thread safety: see round_engine.h. */
#include "round_engine.h"

#include <string.h>

/* Initialises what lasts over rounds; begin sets the rest. */
gboolean
hass_round_init (HassRound *round, guint n_devices,
                 const HassDeviceTraits *devices)
{
  memset (round, 0, sizeof *round);
  round->n_devices = n_devices;
  guint n_ranges = HASS_RANGE_SHARES + n_devices;
  round->ranges
      = g_aligned_alloc0 (n_ranges, sizeof (HassUnitRange), HASS_CACHE_LINE);
  round->counter_of = g_new0 (guint, n_devices + 1);
  HassDeviceKind *kinds = g_new0 (HassDeviceKind, MAX (n_devices, 1));
  for (guint d = 0; d < n_devices; d++)
    {
      kinds[d] = devices[d].kind;
      guint n = kinds[d] == HASS_DEVICE_CPU ? MAX (devices[d].cores, 1) : 1;
      round->counter_of[d + 1] = round->counter_of[d] + n;
    }
  round->kinds = kinds;
  round->counters = g_aligned_alloc0 (MAX (round->counter_of[n_devices], 1),
                                      sizeof (HassCounter), HASS_CACHE_LINE);
  round->returned = g_array_new (FALSE, FALSE, sizeof (HassReturned));
  pthread_mutex_init (&round->returned_lock, NULL);
  atomic_init (&round->pull_source, HASS_PULL_DONE);
  return TRUE;
}

void
hass_round_clear (HassRound *round)
{
  g_aligned_free (round->ranges);
  g_aligned_free (round->counters);
  g_free (round->counter_of);
  g_free ((gpointer)round->kinds);
  g_free (hass_round_order (round));
  g_free (round->prefix);
  g_free (round->division.blocks);
  g_array_unref (round->returned);
  pthread_mutex_destroy (&round->returned_lock);
}

static void
begin (HassRound *round, HassFarmKind farm, HassCostClass cost, guint32 n)
{
  g_assert (n <= HASS_ROUND_MAX_UNITS);
  /* A core that still uses the previous round may look for returned units. */
  pthread_mutex_lock (&round->returned_lock);
  round->farm = farm;
  round->cost = cost;
  round->n_units = n;
  round->n_only_cpu = round->n_only_gpu = 0;
  g_array_set_size (round->returned, 0);
  pthread_mutex_unlock (&round->returned_lock);
  for (guint kind = 0; kind < G_N_ELEMENTS (round->n_returned); kind++)
    atomic_store_explicit (&round->n_returned[kind], 0, memory_order_relaxed);
  g_free (hass_round_order (round));
  atomic_store_explicit (&round->order, NULL, memory_order_relaxed);
  g_clear_pointer (&round->prefix, g_free);
  g_clear_pointer (&round->division.blocks, g_free);
  for (guint i = 0; i < round->counter_of[round->n_devices]; i++)
    {
      HassCounter *c = &round->counters[i];
      atomic_store_explicit (&c->units, 0, memory_order_relaxed);
      atomic_store_explicit (&c->bytes, 0, memory_order_relaxed);
      atomic_store_explicit (&c->work, 0, memory_order_relaxed);
      atomic_store_explicit (&c->busy_ns, 0, memory_order_relaxed);
      atomic_store_explicit (&c->last_finish_ns, 0, memory_order_relaxed);
      atomic_store_explicit (&c->bundles, 0, memory_order_relaxed);
      atomic_store_explicit (&c->halo, 0, memory_order_relaxed);
      atomic_store_explicit (&c->exclusive, 0, memory_order_relaxed);
    }
}

/* Returns: the kinds of device that may run a load: 1 CPU, 2 GPU, 3 both. */
static guint
eligible (const HassLoad *load)
{
  guint kinds = load->flags & (HASS_LOAD_CPU | HASS_LOAD_GPU);
  return kinds ? kinds : HASS_LOAD_CPU | HASS_LOAD_GPU;
}

/* Sets of tasks of a function farm, in the order of their positions. */
enum
{
  SET_ONLY_CPU,
  SET_SPD,
  SET_MPD,
  SET_ONLY_GPU,
  N_SETS
};

static int
set_of (const HassLoad *load)
{
  guint kinds = eligible (load);
  if (kinds == HASS_LOAD_CPU)
    return SET_ONLY_CPU;
  if (kinds == HASS_LOAD_GPU)
    return SET_ONLY_GPU;
  return load->size > 1 ? SET_MPD : SET_SPD;
}

/* Orders the positions of a function farm: [CPU only | SPD | MPD | GPU only],
   each set in order of emission (Zhang 2011, 3.6.3). */
static void
order_tasks (HassRound *round)
{
  guint32 n = round->n_units, at[N_SETS + 1] = { 0 };
  for (guint32 i = 0; i < n; i++)
    at[set_of (&round->loads[(round->base + i) & round->mask]) + 1]++;
  round->n_only_cpu = at[SET_ONLY_CPU + 1];
  round->n_only_gpu = at[SET_ONLY_GPU + 1];
  for (int s = 0; s < N_SETS; s++)
    at[s + 1] += at[s];
  guint32 *order = g_new (guint32, n);
  for (guint32 i = 0; i < n; i++)
    {
      int s = set_of (&round->loads[(round->base + i) & round->mask]);
      order[at[s]++] = i;
    }
  atomic_store_explicit (&round->order, order, memory_order_release);
}

/* Begins a round whose units are the loads of a span. They stay the caller's
   and must not move until the round has ended. */
void
hass_round_begin_loads (HassRound *round, HassFarmKind farm, HassCostClass cost,
                        const HassSpan *span)
{
  begin (round, farm, cost, span->n);
  round->loads = span->loads;
  round->base = span->base;
  round->mask = span->mask;
  round->divisible = FALSE;
  if (farm == HASS_FARM_FUNCTION && span->n > 0)
    order_tasks (round);
}

/* Begins a round whose units are the @n blocks of one load. The round takes
   over the blocks of the division, if it has any. */
void
hass_round_begin_load (HassRound *round, HassCostClass cost,
                       const HassDivision *division, guint32 n)
{
  begin (round, HASS_FARM_PARTITION, cost, n);
  round->divisible = TRUE;
  round->division = *division;
}

/* Publishes all units, the exclusive and the common ones. */
void
hass_round_open (HassRound *round)
{
  guint32 n = round->n_units;
  atomic_store_explicit (&round->outstanding, n, memory_order_relaxed);
  hass_unit_range_set (&round->ranges[HASS_RANGE_ONLY_CPU], 0,
                       round->n_only_cpu);
  hass_unit_range_set (&round->ranges[HASS_RANGE_ONLY_GPU],
                       n - round->n_only_gpu, round->n_only_gpu);
  hass_unit_range_set (&round->ranges[HASS_RANGE_ALLOTMENT], 0, 0);
  for (guint d = 0; d < round->n_devices; d++)
    hass_unit_range_set (&round->ranges[HASS_RANGE_SHARES + d], 0, 0);
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], round->n_only_cpu,
                       n - round->n_only_cpu - round->n_only_gpu);
}

/* -- Taking ------------------------------------------------------------- */

/* Under the list's lock: adds (1) or removes (-1) an extent. */
static void
count_returned_locked (HassRound *round, const HassReturned *r, gint change)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (round->n_returned); kind++)
    if (hass_round_may_run (round, kind, r))
      atomic_fetch_add_explicit (&round->n_returned[kind], (guint32)change,
                                 memory_order_relaxed);
}

static HassExtent
take_returned (HassRound *round, HassDeviceKind kind, guint32 k)
{
  HassExtent found = { 0, 0 };
  pthread_mutex_lock (&round->returned_lock);
  for (guint i = 0; i < round->returned->len && found.n == 0; i++)
    {
      HassReturned *r = &g_array_index (round->returned, HassReturned, i);
      HassExtent *e = &r->extent;
      if (!hass_round_may_run (round, kind, r))
        continue;
      found = (HassExtent){ e->first, MIN (k, e->n) };
      if (found.n == e->n)
        {
          count_returned_locked (round, r, -1);
          g_array_remove_index_fast (round->returned, i);
          break;
        }
      e->first += found.n;
      e->n -= found.n;
    }
  pthread_mutex_unlock (&round->returned_lock);
  return found;
}

/* Takes units that were given back, or that no other kind can run: they go
   first. */
static HassExtent
take_first (HassRound *round, HassDeviceKind kind, guint32 k)
{
  HassExtent e = { 0, 0 };
  if (hass_round_has_returned (round, kind))
    e = take_returned (round, kind, k);
  if (e.n == 0 && kind == HASS_DEVICE_CPU)
    e = hass_unit_range_take_front (&round->ranges[HASS_RANGE_ONLY_CPU], k);
  if (e.n == 0 && kind == HASS_DEVICE_GPU)
    e = hass_unit_range_take_back (&round->ranges[HASS_RANGE_ONLY_GPU], k);
  return e;
}

/* Number of units at one end of @waiting whose work is at most @work. */
static guint32
units_for_work (const HassRound *round, HassExtent waiting, gboolean back,
                double work)
{
  guint32 lo = 1, hi = waiting.n; /* lo always fits: at least one unit */
  while (lo < hi)
    {
      guint32 n = lo + (hi - lo + 1) / 2;
      guint32 first = back ? waiting.first + waiting.n - n : waiting.first;
      if (hass_round_work (round, first, n) <= work)
        lo = n;
      else
        hi = n - 1;
    }
  return lo;
}

/* Keeps the last units of @e whose work is within the grant's, and returns the
   others. */
static HassExtent
trim (HassRound *round, HassExtent e, double work)
{
  guint32 over = e.n - units_for_work (round, e, TRUE, work);
  hass_round_give_back (round, (HassExtent){ e.first, over });
  return (HassExtent){ e.first + over, e.n - over };
}

/* Takes the units of a grant and sets its taken and first. Under the decision
   lock, so no other thread moves the back of a range. */
HassExtent
hass_round_take (HassRound *round, guint device, HassGrant *grant)
{
  HassDeviceKind kind = round->kinds[device];
  guint32 k = grant->units == 0 ? G_MAXUINT32
                                : (guint32)MIN (grant->units, G_MAXUINT32);
  gboolean by_work = grant->work > 0 && kind != HASS_DEVICE_CPU;
  HassExtent e = take_first (round, kind, k);
  if (e.n > 1 && by_work)
    e = trim (round, e, grant->work);
  else if (e.n == 0)
    {
      gboolean theft = grant->source == HASS_FROM_THEFT;
      gboolean back = theft || grant->source == HASS_FROM_BACK;
      gboolean shared = theft || grant->source == HASS_FROM_SHARE;
      guint index = HASS_RANGE_COMMON;
      if (shared)
        index = HASS_RANGE_SHARES + MIN (grant->share, round->n_devices - 1);
      HassUnitRange *range = &round->ranges[index];
      HassExtent waiting = hass_unit_range_peek (range);
      if (by_work && waiting.n > 0)
        k = MIN (k, units_for_work (round, waiting, back, grant->work));
      if (grant->multiple > 1 && waiting.n >= grant->multiple)
        k = MAX (MIN (k, waiting.n) / grant->multiple, 1) * grant->multiple;
      e = back ? hass_unit_range_take_back (range, k)
               : hass_unit_range_take_front (range, k);
    }
  grant->taken = e.n;
  grant->first = e.first;
  return e;
}

/* Takes up to @k units that a device of this kind can run, from any range: for
   the engine, when no strategy answers TAKE. */
HassExtent
hass_round_take_any (HassRound *round, HassDeviceKind kind, guint32 k)
{
  HassExtent e = take_first (round, kind, k);
  for (guint i = 0; e.n == 0 && i < HASS_RANGE_SHARES + round->n_devices; i++)
    if (i != HASS_RANGE_ONLY_CPU && i != HASS_RANGE_ONLY_GPU)
      e = hass_unit_range_take_front (&round->ranges[i], k);
  return e;
}

/* A core's pull from the source of the CPU pool's last grant. Lock-free unless
   units were given back. */
HassExtent
hass_round_pull (HassRound *round, guint32 k)
{
  /* Acquire pairs with the engine's release when it publishes a grant, so
     that the core sees the ranges that the strategy carved. */
  gint32 source
      = atomic_load_explicit (&round->pull_source, memory_order_acquire);
  if (source < 0)
    return (HassExtent){ 0, 0 };
  HassExtent e = take_first (round, HASS_DEVICE_CPU, k);
  if (e.n == 0)
    e = hass_unit_range_take_front (&round->ranges[source], k);
  return e;
}

static void
add_returned (HassRound *round, HassExtent e, gboolean no_gpu)
{
  HassReturned r = { e, no_gpu };
  pthread_mutex_lock (&round->returned_lock);
  g_array_append_val (round->returned, r);
  count_returned_locked (round, &r, 1);
  pthread_mutex_unlock (&round->returned_lock);
}

/* Gives back units that were taken and not finished, for any device. */
void
hass_round_give_back (HassRound *round, HassExtent e)
{
  if (e.n == 0)
    return;
  guint index = HASS_RANGE_COMMON;
  if (e.first < round->n_only_cpu)
    index = HASS_RANGE_ONLY_CPU;
  else if (e.first >= round->n_units - round->n_only_gpu)
    index = HASS_RANGE_ONLY_GPU;
  if (hass_unit_range_give_back (&round->ranges[index], e))
    return;
  add_returned (round, e, FALSE);
}

/* Gives back units that no GPU can run, for the CPU only. */
void
hass_round_keep_from_gpus (HassRound *round, HassExtent e)
{
  if (e.n > 0)
    add_returned (round, e, TRUE);
}

/* Number of waiting units in all ranges. Exact under the decision lock while
   no core pulls. */
guint32
hass_round_waiting_anywhere (HassRound *round)
{
  guint32 n = 0;
  for (guint i = 0; i < HASS_RANGE_SHARES + round->n_devices; i++)
    n += hass_unit_range_peek (&round->ranges[i]).n;
  if (hass_round_has_returned (round, HASS_DEVICE_CPU)
      || hass_round_has_returned (round, HASS_DEVICE_GPU))
    {
      pthread_mutex_lock (&round->returned_lock);
      for (guint i = 0; i < round->returned->len; i++)
        n += g_array_index (round->returned, HassReturned, i).extent.n;
      pthread_mutex_unlock (&round->returned_lock);
    }
  return n;
}

/* SPDX-License-Identifier: MIT */
/* round.c: begins a round; devices take its units and give them back.
   Thread safety: see round_engine.h. */
#include "round_engine.h"

#include <string.h>

/* Returns: the class of devices that run the loads with this flag; makes a new
   class if there is none. All devices of a class can run the same units. */
static guint
class_of (HassRound *round, guint32 flag)
{
  for (guint c = 0; c < round->n_classes; c++)
    if (round->class_flags[c] == flag)
      return c;
  g_assert (round->n_classes < HASS_MOST_CLASSES);
  round->class_flags[round->n_classes] = flag;
  return round->n_classes++;
}

/* Sets the class of each device, and all_classes, the classes that can run a
   common unit (one that every device can run): CPU and GPUs, present or not,
   if the round has no other kinds of devices; else all classes of present
   devices. */
static void
classify (HassRound *round, const HassDeviceTraits *devices)
{
  guint present = 0;
  round->class_flags[HASS_DEVICE_CPU] = HASS_LOAD_CPU;
  round->class_flags[HASS_DEVICE_GPU] = HASS_LOAD_GPU;
  round->n_classes = 2;
  round->classes = g_new0 (guint, MAX (round->n_devices, 1));
  for (guint d = 0; d < round->n_devices; d++)
    {
      guint32 flag = (guint32)devices[d].load_flag;
      round->classes[d] = flag ? class_of (round, flag) : devices[d].kind;
      present |= 1u << round->classes[d];
    }
  round->all_classes = round->n_classes == 2 ? 3 : present;
}

/* Initialises what lasts over all rounds of a farm: classes, ranges and
   counters. The fields of a single round are set by begin(). Returns: TRUE. */
gboolean
hass_round_init (HassRound *round, guint n_devices,
                 const HassDeviceTraits *devices)
{
  memset (round, 0, sizeof *round);
  round->n_devices = n_devices;
  classify (round, devices);
  round->ranges = g_aligned_alloc0 (hass_round_n_ranges (round),
                                    sizeof (HassUnitRange), HASS_CACHE_LINE);
  round->counter_of = g_new0 (guint, n_devices + 1);
  for (guint d = 0; d < n_devices; d++)
    {
      gboolean cpu = devices[d].kind == HASS_DEVICE_CPU;
      guint n = cpu ? MAX (devices[d].cores, 1) : 1;
      round->counter_of[d + 1] = round->counter_of[d] + n;
    }
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
  g_free (round->classes);
  g_free (hass_round_order (round));
  g_free (round->prefix);
  g_free (round->division.cuts);
  g_free (round->division.blocks);
  g_free (round->cells);
  g_free (round->earliest_ns);
  g_array_unref (round->returned);
  pthread_mutex_destroy (&round->returned_lock);
}

/* Begins a round of @n units that are the loads of @span or parts of them. */
static void
begin (HassRound *round, HassFarmKind farm, HassCostClass cost,
       const HassSpan *span, guint32 n)
{
  g_assert (n <= HASS_ROUND_MAX_UNITS);
  /* The lock is needed because a core that still uses the previous round may
     look for returned units. */
  pthread_mutex_lock (&round->returned_lock);
  round->farm = farm;
  round->cost = cost;
  round->n_units = n;
  round->n_functions = 0;
  round->divisible = FALSE;
  if (round->ready)
    round->span.n = 0;
  else
    round->span = *span;
  round->n_partial_cpu = round->n_partial_linked = round->n_sets = 0;
  g_array_set_size (round->returned, 0);
  pthread_mutex_unlock (&round->returned_lock);
  for (guint c = 0; c < HASS_MOST_CLASSES; c++)
    atomic_store_explicit (&round->n_returned[c], 0, memory_order_relaxed);
  g_free (hass_round_order (round));
  atomic_store_explicit (&round->order, NULL, memory_order_relaxed);
  g_clear_pointer (&round->prefix, g_free);
  g_clear_pointer (&round->division.cuts, g_free);
  g_clear_pointer (&round->division.blocks, g_free);
  for (guint i = 0; i < round->counter_of[round->n_devices]; i++)
    {
      hass_counter_reset (&round->counters[i]);
      if (round->most_functions > 1)
        hass_counter_reset_functions (&round->counters[i]);
    }
}

/* The sets that the tasks of a function farm are sorted into, in the order of
   their positions: a set for each mask of classes (kinds of devices) that
   contains the CPU, then the tasks that all classes can run, SPD (parallelism
   degree 1) before MPD (above 1), then a set for each mask without the CPU. */
enum
{
  SET_SPD = HASS_MOST_MASKS,
  SET_MPD,
  SET_WITHOUT_CPU,
  N_SETS = SET_WITHOUT_CPU + HASS_MOST_MASKS
};

static guint
set_of (const HassRound *round, const HassLoad *load)
{
  guint mask = hass_round_mask_of (round, load);
  if (mask == round->all_classes)
    return load->size > 1 ? SET_MPD : SET_SPD;
  return mask & 1u << HASS_DEVICE_CPU ? mask : SET_WITHOUT_CPU + mask;
}

static void
note_set (HassRound *round, guint set, guint32 first, guint32 n)
{
  if (n == 0 || set == SET_SPD || set == SET_MPD)
    return;
  gboolean cpu = set < SET_SPD;
  *(cpu ? &round->n_partial_cpu : &round->n_partial_linked) += n;
  round->sets[round->n_sets++]
      = (HassPartialSet){ cpu ? set : set - SET_WITHOUT_CPU, first, n };
}

/* Sorts the positions of a function farm's tasks: [partial sets with the CPU |
   SPD | MPD | other partial sets], each in order of emission (Zhang 2011,
   3.6.3). A partial set holds tasks that the same classes of devices, but not
   all, can run; SPD are tasks of parallelism degree 1, MPD of a higher one.
   The CPU takes units from the front, GPUs from the back. */
static void
order_tasks (HassRound *round)
{
  guint32 n = round->n_units, at[N_SETS + 1] = { 0 };
  for (guint32 i = 0; i < n; i++)
    at[set_of (round, hass_span_load (&round->span, i)) + 1]++;
  for (guint s = 0; s < N_SETS; s++)
    {
      note_set (round, s, at[s], at[s + 1]);
      at[s + 1] += at[s];
    }
  guint32 *order = g_new (guint32, n);
  for (guint32 i = 0; i < n; i++)
    order[at[set_of (round, hass_span_load (&round->span, i))]++] = i;
  atomic_store_explicit (&round->order, order, memory_order_release);
}

/* Begins a round whose units are the loads of a span. The caller keeps the
   loads, which must not move until the round has ended. In a function farm the
   units are sorted by the devices that can run them. An open round begins with
   room for span->n units. */
void
hass_round_begin_loads (HassRound *round, HassFarmKind farm, HassCostClass cost,
                        const HassSpan *span)
{
  begin (round, farm, cost, span, span->n);
  if (round->ready)
    atomic_store_explicit (&round->room, 0, memory_order_relaxed);
  else if (farm == HASS_FARM_FUNCTION && span->n > 0)
    {
      hass_round_note_functions (round);
      order_tasks (round);
    }
}

/* Begins a round whose units are the blocks of the divisible loads of a span,
   which the caller keeps as in hass_round_begin_loads(). The round takes over
   the arrays of @division. */
void
hass_round_begin_blocks (HassRound *round, HassCostClass cost,
                         const HassSpan *span, const HassDivision *division)
{
  begin (round, HASS_FARM_PARTITION, cost, span,
         division->cuts[division->n_loads].block);
  round->divisible = TRUE;
  round->division = *division;
}

/* Publishes all units of the round, so that devices can take them: those that
   only some classes of devices can run, and the common ones. */
void
hass_round_open (HassRound *round)
{
  guint32 n = round->n_units;
  atomic_store_explicit (&round->outstanding, n, memory_order_relaxed);
  for (guint mask = 0; mask < 1u << round->n_classes; mask++)
    hass_unit_range_set (hass_round_partial (round, mask), 0, 0);
  for (guint i = 0; i < round->n_sets; i++)
    {
      const HassPartialSet *set = &round->sets[i];
      hass_unit_range_set (hass_round_partial (round, set->mask), set->first,
                           set->n);
    }
  hass_unit_range_set (&round->ranges[HASS_RANGE_ALLOTMENT], 0, 0);
  for (guint d = 0; d < round->n_devices; d++)
    hass_unit_range_set (&round->ranges[HASS_RANGE_SHARES + d], 0, 0);
  guint32 common = n - round->n_partial_cpu - round->n_partial_linked;
  hass_unit_range_set (&round->ranges[HASS_RANGE_COMMON], round->n_partial_cpu,
                       round->ready ? 0 : common);
}

/* -- Taking ------------------------------------------------------------- */

/* Takes up to @k units that this class of devices and not every other can run,
   those that only this class can run first: the CPU pool from the front, other
   devices from the back. Reads nothing but the ranges, since a core may still
   hold an earlier round. */
static HassExtent
take_partial (HassRound *round, guint klass, guint32 k)
{
  HassExtent e = { 0, 0 };
  for (guint mask = 1u << klass; mask > 0 && e.n == 0;
       mask = hass_round_next_mask (round, klass, mask))
    {
      HassUnitRange *range = hass_round_partial (round, mask);
      e = klass == HASS_DEVICE_CPU ? hass_unit_range_take_front (range, k)
                                   : hass_unit_range_take_back (range, k);
    }
  return e;
}

/* Takes up to @k units that precede the common ones: units that a device gave
   back or, if there are none, units that not every class can run. n is 0 if
   there are none of either. */
static HassExtent
take_first (HassRound *round, guint klass, guint32 k)
{
  HassExtent e = { 0, 0 };
  if (hass_round_has_returned (round, klass))
    e = hass_round_take_returned (round, klass, k);
  return e.n > 0 ? e : take_partial (round, klass, k);
}

/* Returns: the largest number of units from one end of @waiting (@back: from
   the back) whose work is at most @work, but at least 1. */
static guint32
units_for_work (const HassRound *round, HassExtent waiting, gboolean back,
                double work)
{
  /* Lo is always accepted: at least one unit is granted. */
  guint32 lo = 1, hi = waiting.n;
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

/* Returns: the last units of @e whose work is at most @work; the others are
   given back to the round. */
static HassExtent
trim (HassRound *round, HassExtent e, double work)
{
  guint32 over = e.n - units_for_work (round, e, TRUE, work);
  hass_round_give_back (round, (HassExtent){ e.first, over });
  return (HassExtent){ e.first + over, e.n - over };
}

/* Takes the units of a grant for the device and sets grant->taken and
   grant->first. Called under the decision lock, so that no other thread moves
   the back of a range. */
HassExtent
hass_round_take (HassRound *round, guint device, HassGrant *grant)
{
  guint klass = round->classes[device];
  guint32 k = grant->units == 0 ? G_MAXUINT32
                                : (guint32)MIN (grant->units, G_MAXUINT32);
  gboolean by_work = grant->work > 0 && klass != HASS_DEVICE_CPU;
  HassExtent e = take_first (round, klass, k);
  if (e.n == 0 && round->ready)
    e = hass_round_join (
        round, (HassReadyTake){ .klass = klass,
                                .n = k,
                                .work = by_work ? grant->work : 0,
                                .back = grant->source == HASS_FROM_BACK });
  else if (e.n > 1 && by_work)
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

/* Takes up to @k units that a class of devices can run, from whatever range
   they wait in. The engine uses it when the strategy grants nothing although
   units wait. */
HassExtent
hass_round_take_any (HassRound *round, guint klass, guint32 k)
{
  HassExtent e = take_first (round, klass, k);
  if (e.n == 0 && round->ready)
    e = hass_round_join (round, (HassReadyTake){ .klass = klass, .n = k });
  for (guint i = 0; e.n == 0 && i < HASS_RANGE_SHARES + round->n_devices; i++)
    e = hass_unit_range_take_front (&round->ranges[i], k);
  return e;
}

/* Takes up to @k units for a core, from the source of the CPU pool's last
   grant; n is 0 if there are none. Lock-free unless units were given back. */
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
  if (e.n == 0 && round->ready && source == HASS_RANGE_COMMON)
    e = hass_round_join_cores (round, k);
  return e;
}

/* Returns: the number of units of the round itself that wait, in all ranges and
   the list of returned units. Exact under the decision lock while no core
   pulls.
 */
guint32
hass_round_waiting_inside (HassRound *round)
{
  guint32 n = 0;
  for (guint i = 0; i < hass_round_n_ranges (round); i++)
    n += hass_unit_range_peek (&round->ranges[i]).n;
  if (hass_round_any_returned (round))
    {
      pthread_mutex_lock (&round->returned_lock);
      for (guint i = 0; i < round->returned->len; i++)
        n += g_array_index (round->returned, HassReturned, i).extent.n;
      pthread_mutex_unlock (&round->returned_lock);
    }
  return n;
}

/* Returns: the number of waiting units, those that may join included. */
guint32
hass_round_waiting_anywhere (HassRound *round)
{
  guint32 n = hass_round_waiting_inside (round);
  if (hass_round_takes_ready (round))
    n += (guint32)hass_ready_set_waiting (round->ready);
  return n;
}

/* Returns: whether units are in flight: outstanding, but neither waiting nor,
   in an open round, missing because they have not joined. Exact as
   hass_round_waiting_inside(). */
gboolean
hass_round_in_flight (HassRound *round)
{
  guint32 waiting
      = hass_round_waiting_inside (round) + hass_round_missing (round);
  return atomic_load_explicit (&round->outstanding, memory_order_acquire)
         > waiting;
}

/* SPDX-License-Identifier: MIT */
/* common_map.c: dividing a round among the devices of a crew. The DESIGN
   paragraph is in common.h.
   Thread safety: as the strategy that owns the crew. */
#include "common.h"

#include <math.h>

/* Notes that the round's units are in shares, and computes their mean work
   once, so that each decision stays O(devices). */
static void
set_mapped (HassCrew *crew, HassRound *round)
{
  crew->mapped = TRUE;
  if (crew->n > 1 && hass_round_units (round) > 0)
    crew->unit_work = hass_round_total_work (round) / hass_round_units (round);
}

/* -- Each unit to its first finisher -------------------------------------- */

/**
 * Mapping: the state of assigning units one by one. @rates: [n] work per ns of
 * each device. @ready_ns: [n] when each device will have done its units.
 */
typedef struct
{
  const double *rates;
  double *ready_ns;
  guint n;
} Mapping;

/* Returns the device that would finish this unit first, and adds the unit to
   that device's time. */
static guint
first_to_finish (HassRound *round, guint64 position, gpointer user_data)
{
  Mapping *map = user_data;
  double work = hass_round_work (round, position, 1), best_ns = INFINITY;
  guint best = map->n;
  for (guint d = 0; d < map->n; d++)
    if (map->rates[d] > 0 && map->ready_ns[d] + work / map->rates[d] < best_ns)
      {
        best = d;
        best_ns = map->ready_ns[d] + work / map->rates[d];
      }
  if (best < map->n)
    map->ready_ns[best] = best_ns;
  return best;
}

/**
 * Owners: devices that were chosen for units beforehand. @owners: device of
 * each unit from position @first on.
 */
typedef struct
{
  const guint *owners;
  guint64 first;
} Owners;

static guint
owner_of (HassRound *round, guint64 position, gpointer user_data)
{
  const Owners *map = user_data;
  (void)round;
  return map->owners[position - map->first];
}

/* Assigns the units from the last to the first: in descending order if they are
   sorted by work. */
static void
assign_backwards (HassRound *round, Mapping *map)
{
  guint64 first = hass_round_front (round);
  guint64 n = hass_round_back (round) - first;
  g_autofree guint *owners = g_new (guint, MAX (n, 1));
  for (guint64 i = n; i-- > 0;)
    owners[i] = first_to_finish (round, first + i, map);
  hass_round_assign (round, owner_of, &(Owners){ owners, first });
}

/* Divides the round: assigns units in the crew's order, each to the device that
   would finish it first. Times are taken as linear in the work (Zhang 2011,
   chapter 4), so the unit that can finish first is always the shortest one
   left: Min-min is one pass in ascending order, and Max-min one in descending
   order. Equal units need no pass, only how many each device gets, and stay
   adjacent. */
void
hass_crew_map (HassCrew *crew, HassRound *round)
{
  set_mapped (crew, round);
  if (crew->n == 1)
    return;
  const double *rates = hass_crew_weights (crew);
  if (crew->env->cost != HASS_COST_SIZED
      || crew->env->farm == HASS_FARM_PARTITION)
    {
      hass_share_min_min (hass_round_waiting (round), rates, crew->n,
                          crew->counts);
      hass_round_carve (round, crew->counts);
      return;
    }
  Mapping map = { rates, g_new0 (double, crew->n), crew->n };
  if (crew->order != HASS_MAP_AS_EMITTED)
    hass_round_order_by_work (round);
  if (crew->order == HASS_MAP_LARGEST_FIRST)
    assign_backwards (round, &map);
  else
    hass_round_assign (round, first_to_finish, &map);
  for (guint d = 0; d < crew->n; d++)
    crew->counts[d] = hass_round_share (round, d);
  g_free (map.ready_ns);
}

/* The begin_round() of strategies that map each round (assign each unit to the
   device that would finish it first). The round is mapped now if all rates are
   known. */
void
hass_crew_begin_mapped (gpointer self, HassRound *round)
{
  hass_crew_begin_round (self, round);
  if (hass_crew_known (self))
    hass_crew_map (self, round);
}

/* Maps the round (assigns units to devices) as soon as all rates are known.
   Returns TRUE if it is mapped; FALSE, with the answer for the asking device in
   *answer, while a device is still being measured. */
gboolean
hass_crew_mapped (HassCrew *crew, HassRound *round, guint device,
                  gboolean force, HassGrant *grant, HassAnswer *answer)
{
  if (crew->mapped)
    return TRUE;
  if (hass_crew_probe (crew, round, device, force, grant, answer))
    return FALSE;
  hass_crew_map (crew, round);
  return TRUE;
}

/* -- Cuts ---------------------------------------------------------------- */

/* Cuts the round into shares in proportion to @weights: where these are rates,
   all devices finish together. */
void
hass_crew_carve (HassCrew *crew, HassRound *round, const double *weights)
{
  set_mapped (crew, round);
  if (crew->n == 1)
    return;
  hass_share_largest_remainder (hass_round_waiting (round), weights, crew->n,
                                crew->counts);
  hass_round_carve (round, crew->counts);
}

/* Returns: the number of units from position @first on, at most @n, whose work
   is nearest to @work. */
guint64
hass_units_for_work (HassRound *round, guint64 first, guint64 n, double work)
{
  guint64 lo = 0, hi = n;
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo + 1) / 2;
      if (hass_round_work (round, first, middle) <= work)
        lo = middle;
      else
        hi = middle - 1;
    }
  if (lo == n)
    return n;
  double below = work - hass_round_work (round, first, lo);
  double above = hass_round_work (round, first, lo + 1) - work;
  return below <= above ? lo : lo + 1;
}

/* Sets crew->counts to the number of units of each device, when the common
   range (units in no share yet) is divided in its present order by parts of its
   work: whole numbers of equal units, and otherwise cuts where the sum of work
   is nearest. */
static void
count_parts (HassCrew *crew, HassRound *round, const double *parts)
{
  guint64 first = hass_round_front (round), before = 0;
  guint64 n = hass_round_back (round) - first;
  double sum = 0, up_to = 0;
  hass_share_largest_remainder (n, parts, crew->n, crew->counts);
  for (guint d = 0; d < crew->n; d++)
    sum += parts[d];
  if (crew->env->cost != HASS_COST_SIZED || n == 0 || !(sum > 0))
    return;
  double work = hass_round_work (round, first, n);
  for (guint d = 0; d < crew->n; d++)
    {
      up_to += parts[d];
      guint64 end = hass_units_for_work (round, first, n, work * (up_to / sum));
      crew->counts[d] = end - before;
      before = end;
    }
}

/* Cuts the round into shares by parts of its work, in the present order. A
   device whose last grant failed has no part; one unit stays in the common
   range instead, which that device gets to show that it works again. */
void
hass_crew_carve_parts (HassCrew *crew, HassRound *round, const double *parts)
{
  guint most = 0;
  set_mapped (crew, round);
  for (guint d = 0; d < crew->n; d++)
    crew->weights[d] = crew->members[d].failed ? 0 : parts[d];
  count_parts (crew, round, crew->weights);
  for (guint d = 1; d < crew->n; d++)
    if (crew->counts[d] > crew->counts[most])
      most = d;
  for (guint d = 0; d < crew->n; d++)
    if (crew->members[d].failed && crew->counts[most] > 1)
      crew->counts[most]--;
  hass_round_carve (round, crew->counts);
}

/* Cuts the given work, or all of it, off the front of the common range into the
   devices' shares, in the present order. Each share is right to one unit, and
   at least one unit is cut. one_each: each device with a part gets at least one
   unit, while there are any. */
void
hass_crew_carve_work (HassCrew *crew, HassRound *round, double work,
                      const double *parts, gboolean one_each)
{
  guint64 first = hass_round_front (round), before = 0;
  guint64 n = hass_round_back (round) - first;
  double sum = 0, up_to = 0;
  guint largest = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      crew->counts[d] = 0;
      sum += parts[d];
      largest = parts[d] > parts[largest] ? d : largest;
    }
  if (n == 0 || !(sum > 0))
    return;
  work = MIN (work, hass_round_work (round, first, n));
  for (guint d = 0; d < crew->n; d++)
    {
      up_to += parts[d];
      guint64 end = hass_units_for_work (round, first, n, work * (up_to / sum));
      crew->counts[d] = end - before;
      if (one_each && parts[d] > 0)
        crew->counts[d] = MAX (crew->counts[d], 1);
      before = end;
    }
  if (before == 0) /* the work is less than half a unit */
    crew->counts[largest] = MAX (crew->counts[largest], 1);
  hass_round_carve (round, crew->counts);
}

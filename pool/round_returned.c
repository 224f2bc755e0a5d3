/* SPDX-License-Identifier: MIT */
/* round_returned.c: units of a round that were taken and come back. They join
   the range that they came from if they are adjacent to it; else they wait in a
   list, adjacent ones as one extent, so that a device can take them at once.
   Thread safety: any thread. */
#include "round_engine.h"

/* Adds (@change 1) or removes (-1) an extent of returned units in the counters
   of all classes that can run it. Under returned_lock. */
static void
count_returned_locked (HassRound *round, const HassReturned *r, gint change)
{
  guint mask = hass_round_returned_mask (round, r);
  if (round->ready)
    atomic_fetch_add_explicit (&round->ready->n_returned, (guint32)change,
                               memory_order_relaxed);
  for (guint c = 0; c < round->n_classes; c++)
    if (mask >> c & 1)
      atomic_fetch_add_explicit (&round->n_returned[c], (guint32)change,
                                 memory_order_relaxed);
}

/* Takes up to @k adjacent units that were given back and that the class of
   devices can run; n is 0 if there are none. */
HassExtent
hass_round_take_returned (HassRound *round, guint klass, guint32 k)
{
  HassExtent found = { 0, 0 };
  pthread_mutex_lock (&round->returned_lock);
  for (guint i = 0; i < round->returned->len && found.n == 0; i++)
    {
      HassReturned *r = &g_array_index (round->returned, HassReturned, i);
      HassExtent *e = &r->extent;
      if (!(hass_round_returned_mask (round, r) >> klass & 1))
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

/* Removes an extent of the list that is adjacent to @r and that the same
   devices can run, and adds its units to @r. Returns: whether there is one. The
   units of an open round differ in what can run them. */
static gboolean
join_locked (HassRound *round, HassReturned *r)
{
  for (guint i = 0; i < round->returned->len && !round->ready; i++)
    {
      HassReturned other = g_array_index (round->returned, HassReturned, i);
      HassExtent *e = &r->extent, *o = &other.extent;
      if ((e->first + e->n != o->first && o->first + o->n != e->first)
          || hass_round_returned_mask (round, r)
                 != hass_round_returned_mask (round, &other))
        continue;
      e->first = MIN (e->first, o->first);
      e->n += o->n;
      count_returned_locked (round, &other, -1);
      g_array_remove_index_fast (round->returned, i);
      return TRUE;
    }
  return FALSE;
}

static void
add_returned (HassRound *round, HassExtent e, gboolean only_cpu)
{
  HassReturned r = { e, only_cpu };
  pthread_mutex_lock (&round->returned_lock);
  while (join_locked (round, &r))
    ;
  g_array_append_val (round->returned, r);
  count_returned_locked (round, &r, 1);
  pthread_mutex_unlock (&round->returned_lock);
}

/* Gives units that were taken and not finished back to the round, for any
   device that can run them. */
void
hass_round_give_back (HassRound *round, HassExtent e)
{
  if (e.n == 0)
    return;
  HassUnitRange *range = &round->ranges[HASS_RANGE_COMMON];
  if (round->ready)
    {
      add_returned (round, e, FALSE);
      return;
    }
  if (hass_round_is_exclusive (round, e))
    range = hass_round_partial (round, hass_round_mask (round, e.first));
  if (hass_unit_range_give_back (range, e))
    return;
  add_returned (round, e, FALSE);
}

/* Gives back units that only the CPU may take from now on, because they are
   too large for the memory of the other devices. */
void
hass_round_keep_for_cpu (HassRound *round, HassExtent e)
{
  if (e.n > 0)
    add_returned (round, e, TRUE);
}

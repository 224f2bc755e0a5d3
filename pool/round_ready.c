/* SPDX-License-Identifier: MIT */
/* round_ready.c: open rounds, whose units join while they run.

   DESIGN. A round is made for open use once and then begun again and again. The
   loads wait in a ready set, which all open rounds of a farm share; one round
   at a time takes from it. A take moves loads to the next positions of the
   round, so grants, pulls and what is given back are extents as in any round.
   The round has room for a number of units, and those that have not joined
   count as outstanding until it is closed: only then can it end.

   Thread safety: as round_engine.h; joins under the lock of the set. */
#include "round_engine.h"

/* Makes a round that was initialised an open one. At most @n units join it. */
void
hass_round_init_open (HassRound *round, HassReadySet *ready, guint32 n)
{
  round->ready = ready;
  round->cells = g_new (HassLoad, n);
  round->earliest_ns = g_new (double, n);
  round->loads = round->cells;
  round->mask = G_MAXUINT64;
}

/* Has the loads of the ready set join this round, which has been begun with
   room for units, from now on. */
void
hass_round_let_join (HassRound *round)
{
  pthread_mutex_lock (&round->ready->lock);
  atomic_store_explicit (&round->room, round->n_units, memory_order_relaxed);
  atomic_store_explicit (&round->pull_leave, 0, memory_order_relaxed);
  atomic_store_explicit (&round->pull_back, FALSE, memory_order_relaxed);
  atomic_store_explicit (&round->ready->round, round, memory_order_relaxed);
  pthread_mutex_unlock (&round->ready->lock);
}

/* Closes an open round: no more units join it. Returns: the number of those
   that have not joined, which the caller passes on as finished. */
guint32
hass_round_close (HassRound *round)
{
  const void *self = round;
  pthread_mutex_lock (&round->ready->lock);
  atomic_compare_exchange_strong_explicit (&round->ready->round, &self, NULL,
                                           memory_order_relaxed,
                                           memory_order_relaxed);
  pthread_mutex_unlock (&round->ready->lock);
  guint32 joined = atomic_load_explicit (&round->joined, memory_order_relaxed);
  guint32 rest = round->n_units - joined;
  round->n_units = joined;
  return rest;
}

/* Has up to take->n loads of the ready set join the round. Returns: their
   positions; the last that has room makes the set wait for another round. */
HassExtent
hass_round_join (HassRound *round, HassReadyTake take)
{
  HassReadySet *set = round->ready;
  HassExtent e = { 0, 0 };
  if (!hass_round_takes_ready (round))
    return e;
  pthread_mutex_lock (&set->lock);
  if (hass_round_takes_ready (round))
    {
      guint32 room = atomic_load_explicit (&round->room, memory_order_relaxed);
      e.first = atomic_load_explicit (&round->joined, memory_order_relaxed);
      take.n = MIN (take.n, room - e.first);
      e.n = hass_ready_set_take (set, &take, round->cells + e.first,
                                 round->earliest_ns + e.first);
      atomic_store_explicit (&round->joined, e.first + e.n,
                             memory_order_relaxed);
      if (e.first + e.n == room)
        atomic_store_explicit (&set->round, NULL, memory_order_relaxed);
    }
  pthread_mutex_unlock (&set->lock);
  return e;
}

/* Returns the time before which not all units of @e could have begun, by what
   emitted them: the least of theirs, in ns from the farm's begin. */
double
hass_round_earliest_ns (const HassRound *round, HassExtent e)
{
  if (!round->ready || e.n == 0)
    return 0;
  double least = round->earliest_ns[e.first];
  for (guint32 i = 1; i < e.n; i++)
    least = MIN (least, round->earliest_ns[e.first + i]);
  return least;
}

static HassReadyTake
take_of_cores (HassRound *round, guint32 k)
{
  return (HassReadyTake){
    .klass = HASS_DEVICE_CPU,
    .n = k,
    .leave = atomic_load_explicit (&round->pull_leave, memory_order_relaxed),
    .back = atomic_load_explicit (&round->pull_back, memory_order_relaxed)
  };
}

/* Has up to @k loads join the round for a core, as the last grant to the CPU
   pool says. */
HassExtent
hass_round_join_cores (HassRound *round, guint32 k)
{
  if (hass_ready_set_waiting (round->ready) == 0)
    return (HassExtent){ 0, 0 };
  return hass_round_join (round, take_of_cores (round, k));
}

/* Returns: whether hass_round_join_cores() would find a load now. */
gboolean
hass_round_can_pull (HassRound *round)
{
  HassReadyTake take = take_of_cores (round, 1);
  if (!hass_round_takes_ready (round)
      || hass_ready_set_waiting (round->ready) == 0)
    return FALSE;
  pthread_mutex_lock (&round->ready->lock);
  gboolean can = hass_round_takes_ready (round)
                 && hass_ready_set_would (round->ready, &take);
  pthread_mutex_unlock (&round->ready->lock);
  return can;
}

/* SPDX-License-Identifier: MIT */
/* round_ready.c: open rounds, whose units join while they run.

   DESIGN. A round is made for open use once and then begun again and again. The
   loads wait in a ready set, which all open rounds of a farm share; one round
   at a time takes from it. A take moves loads to the next positions of the
   round, so grants, pulls and what is given back are extents as in any round.
   The round has room for a number of units, and those that have not joined
   count as outstanding until it is closed: only then can it end.

   What a core takes from a deque needs no lock of the round or of the set: it
   takes the next positions of the vacant ones by one compare-and-swap. Takes
   from the set itself are made under its lock.

   Thread safety: as round_engine.h. */
#include "round_engine.h"

/* A core takes older loads than its own once in so many pulls, lest loads that
   emit themselves again keep others from their turn. A guess: fewer, and cores
   contend more; more, and old loads wait for longer. */
#define TURN 64

/* Makes a round that was initialised an open one. At most @n units join it. */
void
hass_round_init_open (HassRound *round, HassReadySet *ready, guint32 n)
{
  round->ready = ready;
  round->cells = g_new (HassLoad, n);
  round->earliest_ns = g_new (double, n);
  round->span = (HassSpan){ .loads = round->cells, .mask = G_MAXUINT64 };
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
  hass_unit_range_set (&round->vacant, 0, round->n_units);
  atomic_store_explicit (&round->ready->round, round, memory_order_relaxed);
  pthread_mutex_unlock (&round->ready->lock);
}

/* Returns: the number of units that may still join a round; 0 if it is not an
   open one. None may be vacant because a take from the set holds them, but
   never under its lock. */
guint32
hass_round_missing (const HassRound *round)
{
  guint32 n = hass_unit_range_peek (&round->vacant).n;
  if (n > 0 || !round->ready)
    return n;
  pthread_mutex_lock (&round->ready->lock);
  n = hass_unit_range_peek (&round->vacant).n;
  pthread_mutex_unlock (&round->ready->lock);
  return n;
}

/* Has no more loads join the round, unless that is so already and another round
   may have come: its thread then has none of this round's units. */
static void
take_no_more (HassRound *round)
{
  const void *self = round;
  atomic_compare_exchange_strong_explicit (&round->ready->round, &self, NULL,
                                           memory_order_relaxed,
                                           memory_order_relaxed);
}

/* Closes an open round: no more units join it. Returns: the number of those
   that have not joined, which the caller passes on as finished. */
guint32
hass_round_close (HassRound *round)
{
  pthread_mutex_lock (&round->ready->lock);
  take_no_more (round);
  guint32 rest = hass_unit_range_seize (&round->vacant).n;
  round->n_units -= rest;
  atomic_store_explicit (&round->room, round->n_units, memory_order_relaxed);
  pthread_mutex_unlock (&round->ready->lock);
  return rest;
}

/* The thread that has loads join the last positions of a round makes the set
   wait for another one. The round cannot begin anew before, as that thread has
   units of it. */
static void
look_if_full (HassRound *round, HassExtent e)
{
  if (e.n > 0
      && e.first + e.n
             == atomic_load_explicit (&round->room, memory_order_relaxed))
    take_no_more (round);
}

/* Only the set knows how many loads it gives, so the vacant positions are held
   meanwhile: seized if cores may take some without its lock, which then look
   again. */
static HassExtent
join_set (HassRound *round, HassReadyTake take)
{
  HassReadySet *set = round->ready;
  HassExtent e = { 0, 0 };
  pthread_mutex_lock (&set->lock);
  if (hass_round_takes_ready (round))
    {
      HassExtent vacant = set->n_deques > 0
                              ? hass_unit_range_seize (&round->vacant)
                              : hass_unit_range_peek (&round->vacant);
      take.n = MIN (take.n, vacant.n);
      e.first = vacant.first;
      if (take.n > 0)
        e.n = hass_ready_set_take (set, &take, round->cells + e.first,
                                   round->earliest_ns + e.first);
      hass_unit_range_set (&round->vacant, e.first + e.n, vacant.n - e.n);
      look_if_full (round, e);
    }
  pthread_mutex_unlock (&set->lock);
  return e;
}

/* Has up to take->n loads of the ready set join the round. Returns: their
   positions. */
HassExtent
hass_round_join (HassRound *round, HassReadyTake take)
{
  if (!hass_round_takes_ready (round))
    return (HassExtent){ 0, 0 };
  hass_ready_set_gather (round->ready);
  return join_set (round, take);
}

/* Has up to @k loads of a deque join the round, the newest or the oldest half.
   The positions are taken before the deque's count falls, so that a load is
   always counted: as waiting, or as a unit of a round that cannot end. */
static HassExtent
join_deque (HassRound *round, HassReadyDeque *deque, guint32 k, gboolean newest)
{
  if (!hass_round_takes_ready (round) || hass_ready_deque_n (deque) == 0)
    return (HassExtent){ 0, 0 };
  pthread_mutex_lock (&deque->lock);
  guint32 n = hass_ready_deque_n (deque);
  if (!newest)
    n = n / 2 + n % 2;
  HassExtent e = hass_unit_range_take_front (&round->vacant, MIN (k, n));
  if (e.n > 0)
    hass_ready_deque_take (round->ready, deque, e.n, newest,
                           round->cells + e.first,
                           round->earliest_ns + e.first);
  pthread_mutex_unlock (&deque->lock);
  look_if_full (round, e);
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

/* Returns: whether the strategy lets cores take any load of the deques, in any
   order. */
static gboolean
uses_deques (const HassReadySet *set, const HassReadyTake *take)
{
  return set->n_deques > 0 && take->leave <= 0 && !take->back
         && !atomic_load_explicit (&set->ranked, memory_order_relaxed);
}

/* Takes up to @k loads that the core has emitted last; n is 0 if there are
   none, if it may not take them without the others, or every so often, so that
   older loads have their turn. */
HassExtent
hass_round_pull_own (HassRound *round, guint core, guint32 k)
{
  HassReadySet *set = round->ready;
  HassReadyTake take = take_of_cores (round, k);
  /* Acquire as in hass_round_pull(). */
  if (atomic_load_explicit (&round->pull_source, memory_order_acquire)
          != HASS_RANGE_COMMON
      || hass_round_has_returned (round, HASS_DEVICE_CPU)
      || !uses_deques (set, &take) || core >= set->n_deques
      || ++set->deques[core].n_pulls % TURN == 0)
    return (HassExtent){ 0, 0 };
  return join_deque (round, &set->deques[core], k, TRUE);
}

/* Has up to @k of the oldest loads of some deque join the round. */
static HassExtent
steal (HassRound *round, guint32 k)
{
  HassReadySet *set = round->ready;
  HassExtent e = { 0, 0 };
  guint first
      = atomic_fetch_add_explicit (&set->next_victim, 1, memory_order_relaxed);
  for (guint i = 0; i < set->n_deques && e.n == 0; i++)
    e = join_deque (round, &set->deques[(first + i) % set->n_deques], k, FALSE);
  return e;
}

/* Has up to @k loads join the round for a core, as the last grant to the CPU
   pool says. */
HassExtent
hass_round_join_cores (HassRound *round, guint32 k)
{
  HassReadySet *set = round->ready;
  HassReadyTake take = take_of_cores (round, k);
  if (!hass_round_takes_ready (round) || hass_ready_set_waiting (set) == 0)
    return (HassExtent){ 0, 0 };
  if (!uses_deques (set, &take))
    return hass_round_join (round, take);
  HassExtent e = { 0, 0 };
  if (atomic_load_explicit (&set->n, memory_order_relaxed) > 0)
    e = join_set (round, take);
  return e.n > 0 ? e : steal (round, k);
}

/* Returns: whether hass_round_join_cores() would find a load now. */
gboolean
hass_round_can_pull (HassRound *round)
{
  HassReadyTake take = take_of_cores (round, 1);
  if (!hass_round_takes_ready (round)
      || hass_ready_set_waiting (round->ready) == 0)
    return FALSE;
  if (!uses_deques (round->ready, &take))
    hass_ready_set_gather (round->ready);
  else if (hass_ready_set_in_deques (round->ready) > 0)
    return TRUE;
  pthread_mutex_lock (&round->ready->lock);
  gboolean can = hass_round_takes_ready (round)
                 && hass_ready_set_would (round->ready, &take);
  pthread_mutex_unlock (&round->ready->lock);
  return can;
}

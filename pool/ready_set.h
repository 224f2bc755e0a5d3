/* SPDX-License-Identifier: MIT */
/* ready_set.h: loads that became ready one by one, in order of priority, until
   an open round takes them.

   DESIGN. Loads that become ready at the same time with the same priority are a
   run, which is added and taken as a whole or in parts. Runs of one priority
   form a queue, and the queues of one mask (the classes of devices that can run
   the loads) a sequence in descending order of priority. So adding and taking
   costs one lock for a batch of loads, and the number of priorities, not of
   loads, makes a set slower. Within a priority the load that became ready first
   is the first. Loads can be taken from either end of that order.

   A set may have a deque for each core, for loads of priority 0 that this core
   has emitted. The core takes the newest of its deque and other cores the
   oldest, so that cores rarely use the same lock. Every other taker first has
   the deques moved into the set. Counts include the deques.

   Thread safety: hass_ready_set_take under the set's lock, and
   hass_ready_deque_take under the deque's, which the caller holds; everything
   else from any thread. A deque's lock is taken before the set's. */
#ifndef HASS_READY_SET_H
#define HASS_READY_SET_H

#include <pthread.h>
#include <stdatomic.h>

#include "hass/load.h"
#include "unit_range.h"

/* Maximum number of classes of devices. All devices of a class can run the same
   loads. */
#define HASS_MOST_CLASSES 6

/* Loads that one core has emitted and that the same classes of devices can run,
   in a ring. Written under the lock; the atomics are read by any thread. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t lock;
  HassLoad *loads;     /* [capacity] */
  double *earliest_ns; /* [capacity]; see HassReadyRun */
  guint32 capacity;    /* a power of two, or 0 */
  guint32 first;       /* index of the oldest, modulo the capacity */
  guint32 n_pulls;     /* of its core, which alone uses it without the lock */
  _Atomic guint32 n;   /* number of loads */
  _Atomic guint mask;  /* as HassReadyRun.mask; changes only while n is 0 */
  _Atomic double work; /* of all loads */
} HassReadyDeque;

typedef struct
{
  /* Constant but for @ranked and @round, which are rarely written. */
  gboolean sized;         /* costs are known */
  guint all;              /* mask of the classes that run common loads */
  HassReadyDeque *deques; /* [n_deques]; NULL: there are none */
  guint n_deques;
  /* a load had a priority, so that deques are no longer used */
  _Atomic gboolean ranked;
  /* the open round that takes loads, or NULL; not beside the lock, as cores
     that need no lock read it in each pull */
  _Atomic (const void *) round;
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t lock;
  GPtrArray *lanes; /* Lane, one for each mask; under lock */
  guint64 bytes; /* input bytes of all loads but those of deques; under lock */
  _Atomic guint next_victim; /* the deque where the next thief begins to look */
  /* Written under the lock, read by any thread: numbers of loads, in total,
     common ones, and those that a class and not every other can run; and the
     work of the common ones; without those of deques. */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 n, n_common;
  _Atomic guint64 n_partial[HASS_MOST_CLASSES];
  _Atomic double work_common;
  /* Number of extents that were given back to the open rounds of the farm. */
  _Atomic guint32 n_returned;
} HassReadySet;

/**
 * HassReadyRun: what loads that become ready together have in common.
 * @mask: bit c: class c can run them.
 * @earliest_ns: earliest time, in ns from the farm's begin, at which they could
 *   begin on the fastest devices; see engine/core/open.c.
 */
typedef struct
{
  guint mask;
  gint64 priority;
  double earliest_ns;
} HassReadyRun;

/**
 * HassReadyTake: what is taken at once.
 * @klass: class of the device.
 * @n: most loads.
 * @work: most work, though at least one load is taken; 0: unlimited.
 * @leave: a common load is taken only while the work of the others that wait is
 *   more than this many times its own; 0: always.
 * @back: from the end of lowest priority.
 */
typedef struct
{
  guint klass;
  guint32 n;
  double work, leave;
  gboolean back;
} HassReadyTake;

HassReadySet *hass_ready_set_new (gboolean sized, guint all);
void hass_ready_set_free (HassReadySet *set);
void hass_ready_set_add (HassReadySet *set, const HassReadyRun *run,
                         const HassLoad *loads, gsize n);
gboolean hass_ready_set_would (HassReadySet *set, const HassReadyTake *take);
guint32 hass_ready_set_take (HassReadySet *set, const HassReadyTake *take,
                             HassLoad *loads, double *earliest_ns);
gboolean hass_ready_set_pop (HassReadySet *set, guint klass, HassLoad *load);
guint64 hass_ready_set_bytes (HassReadySet *set);
void hass_ready_set_add_deques (HassReadySet *set, guint n);
gboolean hass_ready_deque_push (HassReadySet *set, guint deque,
                                const HassReadyRun *run, const HassLoad *loads,
                                guint32 n);
void hass_ready_deque_take (HassReadySet *set, HassReadyDeque *deque, guint32 n,
                            gboolean newest, HassLoad *loads,
                            double *earliest_ns);
void hass_ready_set_gather (HassReadySet *set);

/* Returns: a load's work by all that is known of it: its expected cost, else
   its size. Inline, as it is asked for each load several times. */
static inline double
hass_load_work (const HassLoad *load)
{
  return load->cost > 0 ? load->cost : load->size > 0 ? load->size : 1;
}

/* Returns: the number of loads in a deque. Sequentially consistent as
   hass_ready_set_waiting(). */
static inline guint32
hass_ready_deque_n (HassReadyDeque *deque)
{
  return atomic_load_explicit (&deque->n, memory_order_seq_cst);
}

/* Returns: the number of loads in all deques. */
static inline guint64
hass_ready_set_in_deques (HassReadySet *set)
{
  guint64 n = 0;
  for (guint i = 0; i < set->n_deques; i++)
    n += hass_ready_deque_n (&set->deques[i]);
  return n;
}

/* Returns: the mask of the loads in a deque. Relaxed: a mask that has just
   changed makes a count that strategies read late by as much as any count. */
static inline guint
hass_ready_deque_mask (HassReadyDeque *deque)
{
  return atomic_load_explicit (&deque->mask, memory_order_relaxed);
}

/* Returns: the number of loads that wait. A moment later there may be more or
   fewer. Sequentially consistent, because a core that goes to sleep looks here
   last; see pool/event.h. The deques are read first, as loads of theirs may be
   moved to the set. */
static inline guint64
hass_ready_set_waiting (HassReadySet *set)
{
  guint64 n = hass_ready_set_in_deques (set);
  return n + atomic_load_explicit (&set->n, memory_order_seq_cst);
}

/* Returns: whether units were given back to an open round, as a number.
   Relaxed: what is missed now is found when the farm does not end. */
static inline guint32
hass_ready_set_returned (HassReadySet *set)
{
  return atomic_load_explicit (&set->n_returned, memory_order_relaxed);
}

/* Returns: the number of waiting loads that every class can run. */
static inline guint64
hass_ready_set_common (HassReadySet *set)
{
  guint64 n = atomic_load_explicit (&set->n_common, memory_order_relaxed);
  for (guint i = 0; i < set->n_deques; i++)
    if (hass_ready_deque_mask (&set->deques[i]) == set->all)
      n += hass_ready_deque_n (&set->deques[i]);
  return n;
}

/* Returns: the number of waiting loads that this class of devices and not every
   other can run. */
static inline guint64
hass_ready_set_partial (HassReadySet *set, guint klass)
{
  guint64 n
      = atomic_load_explicit (&set->n_partial[klass], memory_order_relaxed);
  for (guint i = 0; i < set->n_deques; i++)
    {
      guint mask = hass_ready_deque_mask (&set->deques[i]);
      if (mask != set->all && mask >> klass & 1)
        n += hass_ready_deque_n (&set->deques[i]);
    }
  return n;
}

/* Returns: the work of the waiting loads that every class can run. */
static inline double
hass_ready_set_work (HassReadySet *set)
{
  double work = atomic_load_explicit (&set->work_common, memory_order_relaxed);
  for (guint i = 0; i < set->n_deques; i++)
    if (hass_ready_deque_mask (&set->deques[i]) == set->all)
      work += atomic_load_explicit (&set->deques[i].work, memory_order_relaxed);
  return work;
}

#endif

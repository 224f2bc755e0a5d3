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

   Thread safety: hass_ready_set_take under the set's lock, which the caller
   holds; everything else from any thread. */
#ifndef HASS_READY_SET_H
#define HASS_READY_SET_H

#include <pthread.h>
#include <stdatomic.h>

#include "hass/load.h"
#include "unit_range.h"

/* Maximum number of classes of devices. All devices of a class can run the same
   loads. */
#define HASS_MOST_CLASSES 6

typedef struct
{
  pthread_mutex_t lock;
  /* the open round that takes loads, or NULL; written under the lock */
  _Atomic (const void *) round;
  gboolean sized;   /* costs are known; constant */
  guint all;        /* mask of the classes that run common loads; constant */
  GPtrArray *lanes; /* Lane, one for each mask; under lock */
  guint64 bytes;    /* input bytes of all loads; under lock */
  /* Written under the lock, read by any thread: numbers of loads, in total,
     common ones, and those that a class and not every other can run; and the
     work of the common ones. */
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

/* Returns: the number of loads that wait. A moment later there may be more or
   fewer. Sequentially consistent, because a core that goes to sleep looks here
   last; see pool/event.h. */
static inline guint64
hass_ready_set_waiting (HassReadySet *set)
{
  return atomic_load_explicit (&set->n, memory_order_seq_cst);
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
  return atomic_load_explicit (&set->n_common, memory_order_relaxed);
}

/* Returns: the number of waiting loads that this class of devices and not every
   other can run. */
static inline guint64
hass_ready_set_partial (HassReadySet *set, guint klass)
{
  return atomic_load_explicit (&set->n_partial[klass], memory_order_relaxed);
}

/* Returns: the work of the waiting loads that every class can run. */
static inline double
hass_ready_set_work (HassReadySet *set)
{
  return atomic_load_explicit (&set->work_common, memory_order_relaxed);
}

#endif

/* SPDX-License-Identifier: MIT */
/* load_pool_ring.h: the pool of loads from within, for the generator, which
   puts its loads into the ring without a call.
   Thread safety: see load_pool.h. */
#ifndef HASS_LOAD_POOL_RING_H
#define HASS_LOAD_POOL_RING_H

#include "load_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "unit_range.h"

struct HassLoadPool
{
  /* Constant after the pool was made. */
  HassLoad *ring;
  guint64 capacity, mask;
  gsize max_loads, max_bytes;
  /* see hass_load_pool_widen() */
  gsize most_loads, wide_loads, wide_bytes;
  HassLoadsDoneFunc done;
  gpointer data;
  gboolean light; /* result of hass_fence_is_light() */

  /* Used by the generator only. */
  _Alignas(HASS_CACHE_LINE) guint64 head;
  guint64 until; /* there was room for loads before this position */
  guint64 bytes_in;
  guint64 bytes_until; /* there was room for bytes up to this sum */
  gsize refused;       /* bytes of the load that was refused last */

  /* Written by the generator, read by the thread that begins rounds. */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 published;
  _Atomic gsize largest; /* bytes of input of a load in the ring so far */

  /* Written by the threads that release, read by the generator. */
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 freed;
  _Atomic guint64 bytes_out, loads_out;

  /* Guarded by the lock. */
  _Alignas(HASS_CACHE_LINE) pthread_mutex_t lock;
  _Atomic guint64 taken; /* ring position at which the next round begins */
  GArray *held;          /* Held, in order of ring positions */
  /* Waiting: arrays of the generator, oldest first. */
  GQueue generated;
  HassLoadArray *nested; /* nested loads that wait, or NULL */
  /* Number of loads that wait in both kinds of arrays. */
  _Atomic guint64 array_loads;
  _Atomic guint64 array_total; /* number of loads added in arrays so far */
};

/* Called by the generator only. Returns: whether it is known that the load fits
   into the pool; if not, hass_load_pool_emit() counts the room. */
static inline gboolean
hass_load_pool_fits (const HassLoadPool *pool, const HassLoad *load)
{
  return pool->head < pool->until
         && load->input_bytes <= pool->bytes_until - pool->bytes_in;
}

/* Called by the generator only: adds a copy of the load to the ring, where
   there is room for it. */
static inline void
hass_load_pool_put (HassLoadPool *pool, const HassLoad *load)
{
  guint64 head = pool->head;
  gsize bytes = load->input_bytes;
  pool->ring[head & pool->mask] = *load;
  pool->bytes_in += bytes;
  if (G_UNLIKELY (
          bytes > atomic_load_explicit (&pool->largest, memory_order_relaxed)))
    atomic_store_explicit (&pool->largest, bytes, memory_order_relaxed);
  /* A core that goes to sleep announces this and then checks `published`
     again, so this store and the later check for sleepers must not be
     reordered: see fence.h. The release makes the load visible to a thread
     that reads the new counter. */
  pool->head = ++head;
  if (G_LIKELY (pool->light))
    {
      atomic_store_explicit (&pool->published, head, memory_order_release);
      atomic_signal_fence (memory_order_seq_cst);
    }
  else
    atomic_store_explicit (&pool->published, head, memory_order_seq_cst);
}

#endif

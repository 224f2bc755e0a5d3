/* SPDX-License-Identifier: MIT */
/* load_pool.c: the bounded ring of loads, and arrays of loads beside it.
   Thread safety: see load_pool.h. */
#include "load_pool_ring.h"

#include <string.h>

#include "fence.h"

/* Loads in the ring, in which the generator passes loads to the cores; more
   than may wait in it. A cache line that another core has just read is then
   written again only after that core's cache has dropped it, which makes
   emitting two to three times cheaper (measured by bench/overhead.c). With a
   shorter ring emitting is slower, a longer one takes memory; pages never
   reached cost none. */
#define RING_LOADS 65536
/* The ring holds at most this many times the maximum number of waiting
   loads. */
#define RING_FACTOR 8

/* The part of an array that still waits; the generator added the array. Its
   loads enter a round after those at ring positions before @after. */
typedef struct
{
  guint64 after;
  const HassLoad *loads;
  gsize n;
} Waiting;

/* An array of loads that workers emitted (nested loads). Rounds that hold
   parts of it share it; each holds a reference. */
struct HassLoadArray
{
  _Atomic guint refs;
  gsize n, capacity, taken;
  HassLoad *loads;
};

/* Ring positions [begin, end) that a round holds; `done`: the round has
   released them. */
typedef struct
{
  guint64 begin, end;
  gboolean done;
} Held;

/* Makes a pool in which at most @max_loads loads of @max_bytes input bytes in
   total wait. Returns: the pool; NULL if memory is insufficient. */
HassLoadPool *
hass_load_pool_new (gsize max_loads, gsize max_bytes)
{
  HassLoadPool *pool = g_aligned_alloc0 (1, sizeof *pool, HASS_CACHE_LINE);
  pool->max_loads = max_loads;
  pool->max_bytes = max_bytes;
  pool->light = hass_fence_is_light ();
  pool->capacity = 1;
  guint64 wanted = MIN (RING_LOADS, (guint64)RING_FACTOR * max_loads);
  while (pool->capacity < MAX (max_loads, wanted))
    pool->capacity *= 2;
  pool->mask = pool->capacity - 1;
  pool->most_loads = max_loads;
  /* Pages not yet written take no memory. */
  pool->ring = g_try_malloc_n (pool->capacity, sizeof *pool->ring);
  if (!pool->ring)
    {
      g_aligned_free (pool);
      return NULL;
    }
  pthread_mutex_init (&pool->lock, NULL);
  pool->held = g_array_new (FALSE, FALSE, sizeof (Held));
  g_queue_init (&pool->generated);
  return pool;
}

/* Before the pool is used: the pool's bound of loads is of those to be
   computed, and with the computed ones so many may be in it as the ring holds,
   at most @most_loads. As long as fewer than @n_loads are to be computed all
   that are in it may have @bytes of input, if that is more than the pool's
   bound. @done: (nullable): counts those that are computed, which wait for
   others of their round: a long one would keep all others waiting. */
void
hass_load_pool_widen (HassLoadPool *pool, gsize most_loads, gsize n_loads,
                      gsize bytes, HassLoadsDoneFunc done, gpointer data)
{
  pool->most_loads = CLAMP (most_loads, pool->max_loads, (gsize)pool->capacity);
  pool->wide_loads = n_loads;
  pool->wide_bytes = bytes;
  pool->done = done;
  pool->data = data;
}

static void
array_unref (HassLoadArray *array)
{
  /* Acquire and release order the last reads of the array by any round before
     it is freed. */
  if (array
      && atomic_fetch_sub_explicit (&array->refs, 1, memory_order_acq_rel) == 1)
    {
      g_free (array->loads);
      g_free (array);
    }
}

void
hass_load_pool_free (HassLoadPool *pool)
{
  g_queue_clear_full (&pool->generated, g_free);
  array_unref (pool->nested);
  g_array_unref (pool->held);
  pthread_mutex_destroy (&pool->lock);
  g_free (pool->ring);
  g_aligned_free (pool);
}

/* Called by the generator only. Returns: how many loads are to be computed. */
static guint64
unfinished (const HassLoadPool *pool)
{
  /* Before the count: a load that is released meanwhile is in neither number,
     and counts as one to be computed. Acquire: no load that the count misses
     was released before. */
  guint64 in = pool->head
               - atomic_load_explicit (&pool->loads_out, memory_order_acquire);
  return pool->done ? in - pool->done (pool->data) : in;
}

/* Called by the generator only. Returns: whether fewer loads are to be computed
   than may have more bytes than the pool's bound. */
static gboolean
is_wide (const HassLoadPool *pool)
{
  /* Those that wait, of which there may be many, are known without a count. */
  guint64 waiting
      = pool->head - atomic_load_explicit (&pool->taken, memory_order_relaxed);
  return waiting < pool->wide_loads && unfinished (pool) < pool->wide_loads;
}

/* Called by the generator only. Returns: for how many loads there is room,
   whatever their bytes. */
static guint64
places (const HassLoadPool *pool)
{
  /* Acquire pairs with the release in hass_load_pool_release: the slots may be
     written again only after their loads were read. */
  guint64 in
      = pool->head - atomic_load_explicit (&pool->freed, memory_order_acquire);
  guint64 n = pool->most_loads - MIN (in, pool->most_loads);
  if (n == 0 || pool->most_loads == pool->max_loads)
    return n;
  guint64 to_do = unfinished (pool);
  return MIN (n, pool->max_loads - MIN (to_do, pool->max_loads));
}

/* So much of a pool that was full must be free before it is filled again. */
static gsize
quarter (const HassLoadPool *pool)
{
  return (pool->max_loads + 3) / 4;
}

/* Called by the generator only. Returns: whether a load of @bytes input bytes
   fits into the pool. */
static gboolean
room_for (HassLoadPool *pool, gsize bytes)
{
  if (pool->head >= pool->until)
    {
      /* Where loads are counted, not for each that ends. */
      guint64 n = places (pool);
      if (n < (pool->most_loads > pool->max_loads ? quarter (pool) : 1))
        return FALSE;
      pool->until = pool->head + n;
    }
  if (bytes <= pool->bytes_until - pool->bytes_in)
    return TRUE;
  /* Relaxed: a number; `freed` orders the use of the slots. */
  guint64 held
      = pool->bytes_in
        - atomic_load_explicit (&pool->bytes_out, memory_order_relaxed);
  guint64 left = pool->max_bytes - MIN (held, pool->max_bytes);
  if (bytes > left && held > 0
      && !(held + bytes <= pool->wide_bytes && is_wide (pool)))
    return FALSE;
  pool->bytes_until = pool->bytes_in + MAX (left, bytes);
  return TRUE;
}

/* Called by the generator only. Returns: whether the generator may continue
   after hass_load_pool_emit() has refused a load; not for one or two, which
   would soon make it wait again. */
gboolean
hass_load_pool_has_room (HassLoadPool *pool)
{
  return places (pool) >= quarter (pool) && room_for (pool, pool->refused);
}

/* Returns: the most bytes of input that a load in the ring has had so far. A
   thread that has taken loads sees at least the largest of these and of those
   before, as `published`, by which it got them, is written later. */
gsize
hass_load_pool_largest (const HassLoadPool *pool)
{
  return atomic_load_explicit (&pool->largest, memory_order_relaxed);
}

/* Called by the generator only: adds a copy of the load to the ring. Returns:
   FALSE if the pool is full. */
gboolean
hass_load_pool_emit (HassLoadPool *pool, const HassLoad *load)
{
  if (G_UNLIKELY (!hass_load_pool_fits (pool, load))
      && !room_for (pool, load->input_bytes))
    {
      pool->refused = load->input_bytes;
      return FALSE;
    }
  hass_load_pool_put (pool, load);
  return TRUE;
}

/* Called by the generator only, when it is the only thread, the ring is empty
   and all loads taken out of it have been released: counts a load that its
   thread computes without the ring. Relaxed: a thread that shows the progress
   reads `published`. */
void
hass_load_pool_pass (HassLoadPool *pool)
{
  guint64 head = ++pool->head;
  atomic_store_explicit (&pool->published, head, memory_order_relaxed);
  atomic_store_explicit (&pool->taken, head, memory_order_relaxed);
  atomic_store_explicit (&pool->freed, head, memory_order_relaxed);
  atomic_store_explicit (
      &pool->loads_out,
      atomic_load_explicit (&pool->loads_out, memory_order_relaxed) + 1,
      memory_order_relaxed);
}

/* Counts @n loads that are added in an array. Under the lock, since otherwise
   a thread that takes the loads could subtract them from the counter before
   they were added. array_loads is sequentially consistent for the same reason
   as `published` in hass_load_pool_put(). */
static void
count_array_locked (HassLoadPool *pool, gsize n)
{
  atomic_fetch_add_explicit (&pool->array_total, n, memory_order_relaxed);
  atomic_fetch_add_explicit (&pool->array_loads, n, memory_order_seq_cst);
}

/* Called by the generator only: adds an array of loads, which is not copied,
   after the loads emitted so far. */
void
hass_load_pool_add_array (HassLoadPool *pool, const HassLoad *loads, gsize n)
{
  Waiting *w = g_new (Waiting, 1);
  *w = (Waiting){ pool->head, loads, n };
  pthread_mutex_lock (&pool->lock);
  count_array_locked (pool, n);
  g_queue_push_tail (&pool->generated, w);
  pthread_mutex_unlock (&pool->lock);
}

/* Adds copies of loads that a worker emits; any worker may call it. */
void
hass_load_pool_add_nested (HassLoadPool *pool, const HassLoad *loads, gsize n)
{
  pthread_mutex_lock (&pool->lock);
  HassLoadArray *array = pool->nested;
  if (!array || (array->taken > 0 && array->n + n > array->capacity))
    {
      /* A new array is made, since enlarging the old one could move loads that
         a round holds. */
      HassLoadArray *fresh = g_new0 (HassLoadArray, 1);
      atomic_init (&fresh->refs, 1);
      fresh->n = array ? array->n - array->taken : 0;
      fresh->capacity = MAX (64, 2 * (fresh->n + n));
      fresh->loads = g_new (HassLoad, fresh->capacity);
      if (fresh->n > 0)
        memcpy (fresh->loads, array->loads + array->taken,
                fresh->n * sizeof *loads);
      array_unref (array);
      pool->nested = array = fresh;
    }
  else if (array->n + n > array->capacity)
    {
      array->capacity = 2 * (array->n + n);
      array->loads = g_renew (HassLoad, array->loads, array->capacity);
    }
  memcpy (array->loads + array->n, loads, n * sizeof *loads);
  array->n += n;
  count_array_locked (pool, n);
  pthread_mutex_unlock (&pool->lock);
}

/* Returns: the number of loads that wait to enter a round. It may be too high
   while another thread takes loads. */
guint64
hass_load_pool_waiting (HassLoadPool *pool)
{
  /* @taken is read before @published; in the other order it could be the
       larger one. Acquire pairs with the release in hass_load_pool_next(). */
  guint64 taken = atomic_load_explicit (&pool->taken, memory_order_acquire);
  return atomic_load_explicit (&pool->published, memory_order_seq_cst) - taken
         + atomic_load_explicit (&pool->array_loads, memory_order_seq_cst);
}

/* Returns: the number of loads that the pool has accepted so far, waiting or
   not. */
guint64
hass_load_pool_emitted (HassLoadPool *pool)
{
  return atomic_load_explicit (&pool->published, memory_order_relaxed)
         + atomic_load_explicit (&pool->array_total, memory_order_relaxed);
}

static void
take_generated (HassLoadPool *pool, HassSpanLimit most, HassSpan *span)
{
  Waiting *w = g_queue_peek_head (&pool->generated);
  *span = (HassSpan){ .loads = w->loads, .mask = G_MAXUINT64 };
  guint32 n = hass_span_limit (span, w->n, most);
  w->loads += n;
  w->n -= n;
  atomic_fetch_sub_explicit (&pool->array_loads, n, memory_order_relaxed);
  if (w->n == 0)
    g_free (g_queue_pop_head (&pool->generated));
}

static void
take_nested (HassLoadPool *pool, HassSpanLimit most, HassSpan *span)
{
  HassLoadArray *array = pool->nested;
  *span = (HassSpan){ .loads = array->loads + array->taken,
                      .mask = G_MAXUINT64,
                      .array = array };
  guint32 n = hass_span_limit (span, array->n - array->taken, most);
  array->taken += n;
  atomic_fetch_sub_explicit (&pool->array_loads, n, memory_order_relaxed);
  if (array->taken == array->n)
    pool->nested = NULL; /* the span takes over the reference */
  else
    atomic_fetch_add_explicit (&array->refs, 1, memory_order_relaxed);
}

/* Takes up to @max waiting loads for a round and describes them in @span.
   Returns: FALSE if none waits. */
gboolean
hass_load_pool_next (HassLoadPool *pool, guint32 max, HassSpan *span)
{
  return hass_load_pool_next_elements (pool, max, G_MAXUINT64, span);
}

/* As hass_load_pool_next(), but takes one load or no more than @most_elements
   elements. */
gboolean
hass_load_pool_next_elements (HassLoadPool *pool, guint32 max,
                              guint64 most_elements, HassSpan *span)
{
  HassSpanLimit most = { max, most_elements };
  gboolean found = TRUE;
  pthread_mutex_lock (&pool->lock);
  /* Acquire pairs with the release store in hass_load_pool_put(): the loads
     before `end` are written. */
  guint64 end = atomic_load_explicit (&pool->published, memory_order_acquire);
  guint64 taken = atomic_load_explicit (&pool->taken, memory_order_relaxed);
  Waiting *w = g_queue_peek_head (&pool->generated);
  if (w && w->after < end)
    end = w->after;
  if (pool->nested)
    take_nested (pool, most, span);
  else if (taken < end)
    {
      *span = (HassSpan){ .loads = pool->ring,
                          .base = taken,
                          .mask = pool->mask,
                          .from_ring = TRUE };
      guint32 n = hass_span_limit (span, end - taken, most);
      Held held = { taken, taken + n, FALSE };
      g_array_append_val (pool->held, held);
      atomic_store_explicit (&pool->taken, taken + n, memory_order_release);
    }
  else if (w)
    take_generated (pool, most, span);
  else
    found = FALSE;
  pthread_mutex_unlock (&pool->lock);
  return found;
}

/* Frees the place of a span of loads in the pool, for new loads. The loads
   must not be read any more. */
void
hass_load_pool_release (HassLoadPool *pool, const HassSpan *span)
{
  array_unref (span->array);
  if (!span->from_ring)
    return;
  guint64 bytes = 0;
  for (guint32 i = 0; i < span->n; i++)
    bytes += hass_span_load (span, i)->input_bytes;
  pthread_mutex_lock (&pool->lock);
  guint n_done = 0;
  for (guint i = 0; i < pool->held->len; i++)
    {
      Held *h = &g_array_index (pool->held, Held, i);
      if (h->begin == span->base)
        h->done = TRUE;
      if (h->done && i == n_done)
        n_done++;
    }
  atomic_fetch_add_explicit (&pool->bytes_out, bytes, memory_order_relaxed);
  atomic_fetch_add_explicit (&pool->loads_out, span->n, memory_order_release);
  if (n_done > 0)
    {
      guint64 freed = g_array_index (pool->held, Held, n_done - 1).end;
      g_array_remove_range (pool->held, 0, n_done);
      atomic_store_explicit (&pool->freed, freed, memory_order_release);
    }
  pthread_mutex_unlock (&pool->lock);
}

/* SPDX-License-Identifier: MIT */
/* result_pool.c: runs of results, delivered one at a time.
   Thread safety: see result_pool.h. */
#include "result_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define RUN_BYTES 4096
#define RUNS_KEPT 64

struct HassResultPool
{
  gboolean ordered;
  gsize max_bytes;
  HassDeliverFunc deliver;
  gpointer user_data;

  pthread_mutex_t lock; /* guards the fields below */
  pthread_cond_t room;
  gboolean delivering;
  gboolean refused;
  HassRun *first, **last; /* runs that may be delivered, in order */
  gsize queued_bytes;     /* bytes of the runs in that list */
  /* Ordered results: runs that wait for runs before them. */
  GPtrArray *heap;
  /* Ordered results: key of the run to be delivered next. */
  guint64 next_key;
  guint64 n_committed; /* unordered results: number of runs committed */
  HassRun *kept;       /* list of empty runs for reuse */
  guint n_kept;

  /* Number of units (ordered results) or runs (unordered) delivered. */
  _Atomic guint64 passed;
  _Atomic guint64 n_delivered; /* number of items delivered */
};

HassResultPool *
hass_result_pool_new (gboolean ordered, gsize max_bytes,
                      HassDeliverFunc deliver, gpointer user_data)
{
  HassResultPool *pool = g_new0 (HassResultPool, 1);
  pool->ordered = ordered;
  pool->max_bytes = max_bytes;
  pool->deliver = deliver;
  pool->user_data = user_data;
  pool->last = &pool->first;
  pool->heap = g_ptr_array_new ();
  pthread_mutex_init (&pool->lock, NULL);
  pthread_cond_init (&pool->room, NULL);
  return pool;
}

/* Frees a run that is not committed. */
void
hass_run_free (HassRun *run)
{
  g_free (run->items);
  g_free (run);
}

static void
runs_free (HassRun *run)
{
  while (run)
    {
      HassRun *next = run->next;
      hass_run_free (run);
      run = next;
    }
}

void
hass_result_pool_free (HassResultPool *pool)
{
  runs_free (pool->first);
  runs_free (pool->kept);
  for (guint i = 0; i < pool->heap->len; i++)
    hass_run_free (pool->heap->pdata[i]);
  g_ptr_array_unref (pool->heap);
  pthread_mutex_destroy (&pool->lock);
  pthread_cond_destroy (&pool->room);
  g_free (pool);
}

/* Returns: an empty run (the results of the units of one pull or bundle),
   owned by the caller until it is committed. */
HassRun *
hass_result_pool_run (HassResultPool *pool)
{
  pthread_mutex_lock (&pool->lock);
  HassRun *run = pool->kept;
  if (run)
    {
      pool->kept = run->next;
      pool->n_kept--;
    }
  pthread_mutex_unlock (&pool->lock);
  if (!run)
    run = g_new0 (HassRun, 1);
  run->used = 0;
  run->next = NULL;
  return run;
}

/* The usual form of a result item in a run, followed by its data. It is small
   because a run often moves from one core to another: with eight bytes of data
   it takes half a cache line. If `bytes` is WIDE, the whole HassResultItem
   follows. */
typedef struct
{
  gint32 seq_beyond; /* sequence number of the item, less that of the run */
  guint32 bytes;
  gpointer tag;
  gsize count;
} Narrow;

#define WIDE G_MAXUINT32

static gsize
padded (gsize bytes)
{
  return (bytes + 7) & ~(gsize)7;
}

static void
append (HassRun *run, gconstpointer head, gsize head_bytes, gconstpointer data,
        gsize data_bytes)
{
  gsize need = run->used + head_bytes + padded (data_bytes);
  if (G_UNLIKELY (need > run->capacity))
    {
      run->capacity = MAX (RUN_BYTES, need + need / 2);
      run->items = g_realloc (run->items, run->capacity);
    }
  memcpy (run->items + run->used, head, head_bytes);
  if (data_bytes > 0)
    memcpy (run->items + run->used + head_bytes, data, data_bytes);
  run->used = need;
}

/* Appends a copy of an item to the run; if item->data is NULL, also the
   item->bytes bytes at @inline_data. */
void
hass_run_add (HassRun *run, const HassResultItem *item,
              gconstpointer inline_data)
{
  if (run->used == 0)
    run->seq = item->seq;
  gint64 beyond = (gint64)(item->seq - run->seq);
  Narrow narrow
      = { (gint32)beyond, (guint32)item->bytes, item->tag, item->count };
  if (!item->data && item->first == 0 && item->bytes < WIDE
      && beyond == narrow.seq_beyond)
    append (run, &narrow, sizeof narrow, inline_data, item->bytes);
  else
    {
      narrow.bytes = WIDE;
      append (run, &narrow, sizeof narrow, NULL, 0);
      append (run, item, sizeof *item, inline_data,
              item->data ? 0 : item->bytes);
    }
}

/* Reads the item at offset @at in bytes of the run into @item. Returns: the
   offset of the next item. */
static gsize
read_item (const HassRun *run, gsize at, HassResultItem *item)
{
  Narrow narrow;
  memcpy (&narrow, run->items + at, sizeof narrow);
  at += sizeof narrow;
  if (narrow.bytes == WIDE)
    {
      memcpy (item, run->items + at, sizeof *item);
      at += sizeof *item;
    }
  else
    *item = (HassResultItem){ .seq = run->seq + (gint64)narrow.seq_beyond,
                              .tag = narrow.tag,
                              .count = narrow.count,
                              .bytes = narrow.bytes };
  if (item->data)
    return at;
  item->data = run->items + at;
  return at + padded (item->bytes);
}

/* -- Order -------------------------------------------------------------- */

static void
heap_push (GPtrArray *heap, HassRun *run)
{
  g_ptr_array_add (heap, run);
  HassRun **h = (HassRun **)heap->pdata;
  guint i = heap->len - 1;
  for (; i > 0 && h[(i - 1) / 2]->key > run->key; i = (i - 1) / 2)
    h[i] = h[(i - 1) / 2];
  h[i] = run;
}

static HassRun *
heap_pop (GPtrArray *heap)
{
  HassRun **h = (HassRun **)heap->pdata;
  HassRun *top = h[0], *moved = h[heap->len - 1];
  guint n = heap->len - 1, i = 0;
  for (;;)
    {
      guint child = 2 * i + 1;
      if (child >= n)
        break;
      if (child + 1 < n && h[child + 1]->key < h[child]->key)
        child++;
      if (h[child]->key >= moved->key)
        break;
      h[i] = h[child];
      i = child;
    }
  h[i] = moved;
  g_ptr_array_set_size (heap, n);
  return top;
}

static void
queue_locked (HassResultPool *pool, HassRun *run)
{
  run->next = NULL;
  *pool->last = run;
  pool->last = &run->next;
  pool->queued_bytes += run->used;
}

static void
arrive_locked (HassResultPool *pool, HassRun *run)
{
  pool->n_committed++;
  if (!pool->ordered)
    {
      queue_locked (pool, run);
      return;
    }
  if (run->key != pool->next_key)
    {
      heap_push (pool->heap, run);
      return;
    }
  pool->next_key += run->n_units;
  queue_locked (pool, run);
  while (pool->heap->len > 0
         && ((HassRun *)pool->heap->pdata[0])->key == pool->next_key)
    {
      run = heap_pop (pool->heap);
      pool->next_key += run->n_units;
      queue_locked (pool, run);
    }
}

/* -- Delivery ----------------------------------------------------------- */

static gboolean
deliver_run (HassResultPool *pool, const HassRun *run, guint64 *n)
{
  for (gsize at = 0; at < run->used;)
    {
      HassResultItem item;
      at = read_item (run, at, &item);
      if (!pool->deliver (&item, pool->user_data))
        return FALSE;
      ++*n;
    }
  return TRUE;
}

/* Passes the items of all deliverable runs to the collector. The lock is
   released meanwhile, and the calling thread is the only one that delivers.
   Called and returns with the lock held. */
static void
deliver_locked (HassResultPool *pool)
{
  pool->delivering = TRUE;
  while (pool->first)
    {
      HassRun *runs = pool->first;
      gboolean refused = pool->refused;
      pool->first = NULL;
      pool->last = &pool->first;
      pool->queued_bytes = 0;
      pthread_cond_broadcast (&pool->room);
      pthread_mutex_unlock (&pool->lock);

      guint64 n = 0, passed = 0;
      for (HassRun *run = runs; run; run = run->next)
        {
          if (!refused && run->used > 0)
            refused = !deliver_run (pool, run, &n);
          passed += pool->ordered ? run->n_units : 1;
        }
      atomic_fetch_add_explicit (&pool->n_delivered, n, memory_order_relaxed);
      /* Release pairs with hass_result_pool_passed(): a thread that sees that
         the results of a round were delivered may free its loads. Sequentially
         consistent for hass_job_units_finished(). */
      atomic_fetch_add_explicit (&pool->passed, passed, memory_order_seq_cst);

      pthread_mutex_lock (&pool->lock);
      pool->refused = refused;
      while (runs && pool->n_kept < RUNS_KEPT)
        {
          HassRun *run = runs;
          runs = run->next;
          run->next = pool->kept;
          pool->kept = run;
          pool->n_kept++;
        }
      runs_free (runs);
    }
  pool->delivering = FALSE;
}

/* Hands the results of a run over to the pool. May run the collector on this
   thread, and may wait for a thread that runs it. Returns: the time that this
   took, in ns, measured in steps of 1 us without bias. */
gint64
hass_result_pool_commit (HassResultPool *pool, HassRun *run)
{
  gint64 us = 0;
  pthread_mutex_lock (&pool->lock);
  arrive_locked (pool, run);
  if (!pool->delivering && pool->first)
    {
      us = -g_get_monotonic_time ();
      deliver_locked (pool);
      us += g_get_monotonic_time ();
    }
  else if (pool->delivering && pool->queued_bytes > pool->max_bytes)
    {
      us = -g_get_monotonic_time ();
      while (pool->queued_bytes > pool->max_bytes)
        pthread_cond_wait (&pool->room, &pool->lock);
      us += g_get_monotonic_time ();
    }
  pthread_mutex_unlock (&pool->lock);
  return us * 1000;
}

/* Delivers all remaining runs at the end of the farm, in order even if the
   results of failed or unfinished units are missing between them. */
void
hass_result_pool_flush (HassResultPool *pool)
{
  pthread_mutex_lock (&pool->lock);
  while (pool->heap->len > 0)
    queue_locked (pool, heap_pop (pool->heap));
  deliver_locked (pool);
  pthread_mutex_unlock (&pool->lock);
}

/* Returns: the value that hass_result_pool_n_passed() must reach for all
   results of a round to be delivered: with ordered results @end_key, the key
   after the round's last unit; else the number of runs committed so far. */
guint64
hass_result_pool_mark (HassResultPool *pool, guint64 end_key)
{
  if (pool->ordered)
    return end_key;
  pthread_mutex_lock (&pool->lock);
  guint64 mark = pool->n_committed;
  pthread_mutex_unlock (&pool->lock);
  return mark;
}

/* Returns: the number of units (ordered results) or of runs (unordered) that
   were delivered. */
guint64
hass_result_pool_n_passed (HassResultPool *pool)
{
  return atomic_load_explicit (&pool->passed, memory_order_seq_cst);
}

gboolean
hass_result_pool_passed (HassResultPool *pool, guint64 mark)
{
  /* Acquire pairs with the release in deliver_locked. */
  return hass_result_pool_n_passed (pool) >= mark;
}

/* Returns: the number of result items that the collector accepted. */
guint64
hass_result_pool_delivered (HassResultPool *pool)
{
  return atomic_load_explicit (&pool->n_delivered, memory_order_relaxed);
}

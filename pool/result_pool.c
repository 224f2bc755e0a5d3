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

  pthread_mutex_t lock; /* all below */
  pthread_cond_t room;
  gboolean delivering;
  gboolean refused;
  HassRun *first, **last; /* deliverable, in order */
  gsize queued_bytes;     /* of the deliverable runs */
  GPtrArray *heap;        /* ordered: runs that came too early */
  guint64 next_key;       /* ordered: the run that is due */
  guint64 n_committed;    /* unordered: runs */
  HassRun *kept;          /* to be used again */
  guint n_kept;

  _Atomic guint64 passed;      /* ordered: units, else runs, delivered */
  _Atomic guint64 n_delivered; /* records */
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

static void
run_free (HassRun *run)
{
  g_free (run->records);
  g_free (run);
}

static void
runs_free (HassRun *run)
{
  while (run)
    {
      HassRun *next = run->next;
      run_free (run);
      run = next;
    }
}

void
hass_result_pool_free (HassResultPool *pool)
{
  runs_free (pool->first);
  runs_free (pool->kept);
  for (guint i = 0; i < pool->heap->len; i++)
    run_free (pool->heap->pdata[i]);
  g_ptr_array_unref (pool->heap);
  pthread_mutex_destroy (&pool->lock);
  pthread_cond_destroy (&pool->room);
  g_free (pool);
}

/* An empty run to fill. */
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

/* How most records are kept, because a run often crosses from core to core:
   half a cache line with eight bytes of data. `bytes` of WIDE: the whole
   HassRecord follows instead. */
typedef struct
{
  gint32 seq_beyond; /* the run's seq */
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
      run->records = g_realloc (run->records, run->capacity);
    }
  memcpy (run->records + run->used, head, head_bytes);
  if (data_bytes > 0)
    memcpy (run->records + run->used + head_bytes, data, data_bytes);
  run->used = need;
}

/* Appends a record; with record->data NULL the bytes of inline_data too. */
void
hass_run_add (HassRun *run, const HassRecord *record, gconstpointer inline_data)
{
  if (run->used == 0)
    run->seq = record->seq;
  gint64 beyond = (gint64)(record->seq - run->seq);
  Narrow narrow
      = { (gint32)beyond, (guint32)record->bytes, record->tag, record->count };
  if (!record->data && record->first == 0 && record->bytes < WIDE
      && beyond == narrow.seq_beyond)
    append (run, &narrow, sizeof narrow, inline_data, record->bytes);
  else
    {
      narrow.bytes = WIDE;
      append (run, &narrow, sizeof narrow, NULL, 0);
      append (run, record, sizeof *record, inline_data,
              record->data ? 0 : record->bytes);
    }
}

/* Reads the record at `at`; returns where the next one begins. */
static gsize
read_record (const HassRun *run, gsize at, HassRecord *record)
{
  Narrow narrow;
  memcpy (&narrow, run->records + at, sizeof narrow);
  at += sizeof narrow;
  if (narrow.bytes == WIDE)
    {
      memcpy (record, run->records + at, sizeof *record);
      at += sizeof *record;
    }
  else
    *record = (HassRecord){ .seq = run->seq + (gint64)narrow.seq_beyond,
                            .tag = narrow.tag,
                            .count = narrow.count,
                            .bytes = narrow.bytes };
  if (record->data)
    return at;
  record->data = run->records + at;
  return at + padded (record->bytes);
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
      HassRecord record;
      at = read_record (run, at, &record);
      if (!pool->deliver (&record, pool->user_data))
        return FALSE;
      ++*n;
    }
  return TRUE;
}

/* Delivers what is deliverable, as the only one who does. Returns with the
   lock held. */
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
      /* Release: who sees a round passed may free its loads. Sequentially
         consistent for hass_job_units_finished. */
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

/* Hands a run over; it is the pool's from now on. May run the collector, and
   may wait for another thread that does. Returns how long that took, in ns: to
   the microsecond, but right on average. */
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

/* At the farm's end: delivers what is left, across gaps that failed or
   unfinished units have left. */
void
hass_result_pool_flush (HassResultPool *pool)
{
  pthread_mutex_lock (&pool->lock);
  while (pool->heap->len > 0)
    queue_locked (pool, heap_pop (pool->heap));
  deliver_locked (pool);
  pthread_mutex_unlock (&pool->lock);
}

/* What has to be passed before all that is committed up to now, or in order
   up to unit end_key, is delivered. */
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

/* In order: units delivered; else runs. */
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

/* Records that the collector took. */
guint64
hass_result_pool_delivered (HassResultPool *pool)
{
  return atomic_load_explicit (&pool->n_delivered, memory_order_relaxed);
}

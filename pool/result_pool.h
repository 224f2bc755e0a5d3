/* SPDX-License-Identifier: MIT */
/* result_pool.h: results on their way from workers to the collector.

   DESIGN. A pull of adjacent units produces one run of items: a result costs a
   copy, a run costs a lock.
   1. A worker fills a run and commits it.
   2. Unordered runs queue in order of commitment. Ordered runs wait in a heap
      until their predecessor has come; the engine bounds the heap, since it
      begins no unit beyond the window.
   3. One thread at a time delivers: a thread that commits while no other
      delivers. Any other thread leaves its run and continues working, unless
      too many bytes wait: then it waits for the delivering thread.

   Thread safety: any thread; a run belongs to its worker until committed. */
#ifndef HASS_RESULT_POOL_H
#define HASS_RESULT_POOL_H

#include <glib.h>

typedef struct HassResultPool HassResultPool;

/* One result item: `bytes` bytes at `data`. If `data` is NULL, the bytes
   follow the item in its run. */
typedef struct
{
  guint64 seq;
  gpointer tag;
  gsize first, count;
  gconstpointer data;
  gsize bytes;
} HassResultItem;

/* A run: the result items of the consecutive units [key, key + n_units), which
   were computed together and are delivered together. */
typedef struct HassRun
{
  guint64 key;
  guint64 n_units;
  guint64 seq; /* sequence number of the first item */
  gsize used, capacity;
  guint8 *items;
  struct HassRun *next;
} HassRun;

/* Passes one item to the collector. Returns: FALSE if no further items are to
   be delivered. */
typedef gboolean (*HassDeliverFunc) (const HassResultItem *item,
                                     gpointer user_data);

HassResultPool *hass_result_pool_new (gboolean ordered, gsize max_bytes,
                                      HassDeliverFunc deliver,
                                      gpointer user_data);
void hass_result_pool_free (HassResultPool *pool);

HassRun *hass_result_pool_run (HassResultPool *pool);
void hass_run_free (HassRun *run);
void hass_run_add (HassRun *run, const HassResultItem *item,
                   gconstpointer inline_data);
gint64 hass_result_pool_commit (HassResultPool *pool, HassRun *run);
void hass_result_pool_flush (HassResultPool *pool);
guint64 hass_result_pool_mark (HassResultPool *pool, guint64 end_key);
guint64 hass_result_pool_n_passed (HassResultPool *pool);
gboolean hass_result_pool_passed (HassResultPool *pool, guint64 mark);
guint64 hass_result_pool_delivered (HassResultPool *pool);

#endif

/* SPDX-License-Identifier: MIT */
/* result_pool.h: results on their way from workers to the collector.

   DESIGN. What a worker's pull of adjacent units produced is one run of
   records, so that a result costs a copy and a run costs a lock.
   1. A worker fills a run and commits it.
   2. Unordered runs queue in order of commitment. Ordered ones wait in a
      heap until the run before them has come; the window is the engine's
      business (it begins no unit too far ahead).
   3. One thread at a time delivers: whoever commits while nobody does. Who
      finds somebody delivering leaves its run and goes back to work, unless
      too many bytes wait: then it waits for the deliverer.

   Thread safety: any thread; a run belongs to its worker until committed. */
#ifndef HASS_RESULT_POOL_H
#define HASS_RESULT_POOL_H

#include <glib.h>

typedef struct HassResultPool HassResultPool;

/* A result; inline data follows it when data is NULL. */
typedef struct
{
  guint64 seq;
  gpointer tag;
  gsize first, count;
  gconstpointer data;
  gsize bytes;
} HassRecord;

/* Records of units [key, key + n_units). */
typedef struct HassRun
{
  guint64 key;
  guint64 n_units;
  guint64 seq; /* of the first record */
  gsize used, capacity;
  guint8 *records;
  struct HassRun *next;
} HassRun;

/* Takes one record; FALSE refuses the rest. */
typedef gboolean (*HassDeliverFunc) (const HassRecord *record,
                                     gpointer user_data);

HassResultPool *hass_result_pool_new (gboolean ordered, gsize max_bytes,
                                      HassDeliverFunc deliver,
                                      gpointer user_data);
void hass_result_pool_free (HassResultPool *pool);

HassRun *hass_result_pool_run (HassResultPool *pool);
void hass_run_add (HassRun *run, const HassRecord *record,
                   gconstpointer inline_data);
gint64 hass_result_pool_commit (HassResultPool *pool, HassRun *run);
void hass_result_pool_flush (HassResultPool *pool);
guint64 hass_result_pool_mark (HassResultPool *pool, guint64 end_key);
guint64 hass_result_pool_n_passed (HassResultPool *pool);
gboolean hass_result_pool_passed (HassResultPool *pool, guint64 mark);
guint64 hass_result_pool_delivered (HassResultPool *pool);

#endif

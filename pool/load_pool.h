/* SPDX-License-Identifier: MIT */
/* load_pool.h: the pool in which loads wait to enter a round.

   DESIGN.
   1. The generator writes loads into a ring that is bounded in loads and
      bytes. It is the only writer; rounds take spans of the ring in order and
      free them when their loads are committed, in any order.
   2. Arrays (known at the beginning, or emitted by workers) are spans of their
      own. An array of the generator keeps its place among the loads of the
      ring; loads of workers enter the next round and are unbounded, since a
      worker that waited for room could wait for ever.

   A full pool makes the generator wait; the engine lets it compute meanwhile.

   Thread safety: emit and add_array by the generator; next by one thread at a
   time (the decision lock); add_nested and release by any thread. */
#ifndef HASS_LOAD_POOL_H
#define HASS_LOAD_POOL_H

#include "hass/load.h"

typedef struct HassLoadPool HassLoadPool;
typedef struct HassLoadArray HassLoadArray;

/* A span: the n loads of one round, loads[(base + i) & mask] for 0 <= i < n. */
typedef struct
{
  const HassLoad *loads;
  guint64 base;
  guint64 mask;
  guint32 n;
  /* The array that holds the loads if workers emitted them; else NULL. */
  HassLoadArray *array;
  gboolean from_ring;
} HassSpan;

static inline const HassLoad *
hass_span_load (const HassSpan *span, guint32 i)
{
  return &span->loads[(span->base + i) & span->mask];
}

/* The most that a round takes: loads, and elements (HassLoad.size), but for a
   single load that has more. */
typedef struct
{
  guint32 loads;
  guint64 elements;
} HassSpanLimit;

/* Sets the number of loads of @span, which begins with the first of @waiting
   adjacent ones, to what a round takes. Returns: that number, at least 1. */
static inline guint32
hass_span_limit (HassSpan *span, guint64 waiting, HassSpanLimit most)
{
  span->n = (guint32)MIN (most.loads, waiting);
  guint64 left = most.elements;
  for (guint32 i = 0; i < span->n && most.elements < G_MAXUINT64; i++)
    {
      gsize size = hass_span_load (span, i)->size;
      if (i > 0 && size > left)
        span->n = i;
      left -= MIN (size, left);
    }
  return span->n;
}

/* Called by the generator: returns: of how many loads of the ring that are not
   released the rounds have computed all units. */
typedef guint64 (*HassLoadsDoneFunc) (gpointer data);

HassLoadPool *hass_load_pool_new (gsize max_loads, gsize max_bytes);
void hass_load_pool_widen (HassLoadPool *pool, gsize most_loads, gsize n_loads,
                           gsize bytes, HassLoadsDoneFunc done, gpointer data);
void hass_load_pool_free (HassLoadPool *pool);

gboolean hass_load_pool_emit (HassLoadPool *pool, const HassLoad *load);
void hass_load_pool_pass (HassLoadPool *pool);
gboolean hass_load_pool_has_room (HassLoadPool *pool);
void hass_load_pool_add_array (HassLoadPool *pool, const HassLoad *loads,
                               gsize n);
void hass_load_pool_add_nested (HassLoadPool *pool, const HassLoad *loads,
                                gsize n);
guint64 hass_load_pool_waiting (HassLoadPool *pool);
gsize hass_load_pool_largest (const HassLoadPool *pool);
guint64 hass_load_pool_emitted (HassLoadPool *pool);
gboolean hass_load_pool_next (HassLoadPool *pool, guint32 max, HassSpan *span);
gboolean hass_load_pool_next_elements (HassLoadPool *pool, guint32 max,
                                       guint64 most_elements, HassSpan *span);
void hass_load_pool_release (HassLoadPool *pool, const HassSpan *span);

#endif

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
void hass_load_pool_release (HassLoadPool *pool, const HassSpan *span);

#endif

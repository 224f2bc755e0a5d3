/* SPDX-License-Identifier: MIT */
/* recycle.h: objects that are used again, by any worker.

   DESIGN. Where one core makes objects and another one frees them, a lock for
   each of them would bind both. So free objects move between workers in
   magazines, lists of a fixed number of them. A worker keeps two of each kind,
   so that it may free and take the same object many times without a lock: it
   frees into the loaded one and takes from it; a full one becomes its spare
   one, an earlier spare one goes to the depot, which all workers share; an
   empty one is replaced by the spare one, or by one of the depot. (Bonwick and
   Adams, Magazines and Vmem, USENIX 2001.) All magazines in a depot are full.

   Thread safety: a rack by its worker's thread; a depot by any. */
#ifndef HASS_RECYCLE_H
#define HASS_RECYCLE_H

#include <glib.h>
#include <pthread.h>

/* What a free object begins with. */
typedef struct HassFree
{
  struct HassFree *next; /* in the magazine */
  struct HassFree
      *magazine; /* the next one of the depot, in the first object */
} HassFree;

typedef struct
{
  HassFree *full; /* the first objects of magazines; under the lock */
} HassDepot;

typedef struct
{
  HassFree *loaded, *spare; /* NULL: empty */
  guint n;                  /* objects in @loaded; @spare is full */
} HassRack;

static inline void
hass_depot_add (HassDepot *depot, pthread_mutex_t *lock, HassFree *magazine)
{
  pthread_mutex_lock (lock);
  magazine->magazine = depot->full;
  depot->full = magazine;
  pthread_mutex_unlock (lock);
}

/* Frees an object. @size: of a magazine; 0: the worker keeps none. */
static inline void
hass_recycle_put (HassRack *rack, HassDepot *depot, pthread_mutex_t *lock,
                  HassFree *object, guint size)
{
  if (size == 0)
    {
      object->next = NULL;
      hass_depot_add (depot, lock, object);
      return;
    }
  if (rack->n == size)
    {
      if (rack->spare)
        hass_depot_add (depot, lock, rack->spare);
      rack->spare = rack->loaded;
      rack->loaded = NULL;
      rack->n = 0;
    }
  object->next = rack->loaded;
  rack->loaded = object;
  rack->n++;
}

/* Returns: an object that was freed with the same @size; NULL: there is none.
 */
static inline HassFree *
hass_recycle_take (HassRack *rack, HassDepot *depot, pthread_mutex_t *lock,
                   guint size)
{
  if (!rack->loaded)
    {
      rack->loaded = rack->spare;
      rack->spare = NULL;
      if (!rack->loaded)
        {
          pthread_mutex_lock (lock);
          rack->loaded = depot->full;
          if (rack->loaded)
            depot->full = rack->loaded->magazine;
          pthread_mutex_unlock (lock);
        }
      rack->n = rack->loaded ? MAX (size, 1) : 0;
    }
  HassFree *object = rack->loaded;
  if (object)
    {
      rack->loaded = object->next;
      rack->n--;
    }
  return object;
}

#endif

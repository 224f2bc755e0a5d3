/* SPDX-License-Identifier: MIT */
/* spare.c: leaves one core to the start of devices.

   DESIGN. The start of a GPU is work of the host's threads. Measured with 16
   cores: beside 15 busy ones it takes as long as beside none; beside 16 the
   CUDA driver needs 0.1 to 0.2 s more, and one of the cores does not get on for
   40 to 55 ms. So while devices are being opened, one thread of the CPU pool
   has a function that sleeps. Cores of the farm and helpers of nested loops go
   to the other threads. If all threads are cores of the farm, one leaves for
   it, between two portions of work.

   Thread safety: any thread. */
#include "live-private.h"

/* A pool of fewer cores leaves none. A guess: a smaller number idles a larger
   part of the cores. */
#define LEAST_CORES 8

struct HassSpare
{
  HassCpuPool *pool; /* constant */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint n_openings;   /* under the lock */
  gboolean has_idler; /* likewise: a thread sleeps here, or will */
  /* The idler has no thread yet. A hint: cores that see it late leave late. */
  _Atomic gboolean wanted;
  _Atomic guint refs; /* the job's and the idler's */
};

/* Returns: NULL if the pool, which may be NULL, leaves no core. */
HassSpare *
hass_spare_new (HassCpuPool *pool)
{
  if (!pool || hass_cpu_pool_cores (pool) < LEAST_CORES)
    return NULL;
  HassSpare *spare = g_new0 (HassSpare, 1);
  spare->pool = pool;
  pthread_mutex_init (&spare->lock, NULL);
  pthread_cond_init (&spare->changed, NULL);
  atomic_init (&spare->refs, 1);
  return spare;
}

void
hass_spare_unref (HassSpare *spare)
{
  /* Each thread's accesses are before its release, the last acquires all. */
  if (!spare
      || atomic_fetch_sub_explicit (&spare->refs, 1, memory_order_acq_rel) > 1)
    return;
  pthread_mutex_destroy (&spare->lock);
  pthread_cond_destroy (&spare->changed);
  g_free (spare);
}

/* What one thread of the pool does while devices are being opened. */
static void
idle (gpointer data)
{
  HassSpare *spare = data;
  atomic_store_explicit (&spare->wanted, FALSE, memory_order_relaxed);
  pthread_mutex_lock (&spare->lock);
  while (spare->n_openings > 0)
    pthread_cond_wait (&spare->changed, &spare->lock);
  spare->has_idler = FALSE;
  pthread_mutex_unlock (&spare->lock);
  hass_spare_unref (spare);
}

/* A device is being opened, until hass_spare_end (). */
void
hass_spare_begin (HassSpare *spare)
{
  if (!spare)
    return;
  pthread_mutex_lock (&spare->lock);
  gboolean first = !spare->has_idler;
  spare->n_openings++;
  spare->has_idler = TRUE;
  pthread_mutex_unlock (&spare->lock);
  if (!first)
    return;
  atomic_fetch_add_explicit (&spare->refs, 1, memory_order_relaxed);
  atomic_store_explicit (&spare->wanted, TRUE, memory_order_relaxed);
  hass_cpu_pool_enqueue (spare->pool, idle, spare);
}

void
hass_spare_end (HassSpare *spare)
{
  if (!spare)
    return;
  pthread_mutex_lock (&spare->lock);
  spare->n_openings--;
  pthread_cond_broadcast (&spare->changed);
  pthread_mutex_unlock (&spare->lock);
}

/* Returns: TRUE if a core should leave, so that its thread can idle. */
gboolean
hass_spare_wanted (const HassSpare *spare)
{
  return spare && atomic_load_explicit (&spare->wanted, memory_order_relaxed);
}

/* SPDX-License-Identifier: MIT */
/* cpu_pool.h: the cores of the machine, through oneTBB.

   DESIGN. There is one arena (oneTBB's group of threads) for each number of
   cores asked for; it is made once and kept for the life of the process. A
   farm enqueues a function for each core that it can use. A thread that has run
   one sleeps for the next for 0.1 s (tasks.h), then goes back to oneTBB, which
   owns the idle threads. A thread is moved to a core of its own when it first
   enters, because the kernel may leave a new thread on its creator's core for
   15 ms; after that it may move.

   Thread safety: any thread. */
#ifndef HASS_CPU_POOL_H
#define HASS_CPU_POOL_H

#include <glib.h>
#include <sched.h>

#include "tasks.h"

G_BEGIN_DECLS

typedef struct HassCpuPool HassCpuPool;

guint hass_cpu_pool_available (void);
void hass_cpu_pool_unbind (void);
int hass_cpu_pool_move (const cpu_set_t *taken, int from);
HassCpuPool *hass_cpu_pool_get (guint n_cores, GError **error);
guint hass_cpu_pool_cores (const HassCpuPool *pool);
char *hass_cpu_pool_problem (const HassCpuPool *pool);
guint hass_cpu_pool_try_threads (guint n, int *failure);
void hass_cpu_pool_enqueue (HassCpuPool *pool, void (*run) (gpointer data),
                            gpointer data);
void hass_cpu_pool_offer (HassCpuPool *pool, void (*run) (gpointer data),
                          gpointer data);
HassTasks *hass_cpu_pool_tasks (const HassCpuPool *pool);

/* loop.c */
void hass_cpu_pool_parallel_for (HassCpuPool *pool, gsize n, gsize grain,
                                 void (*body) (gsize first, gsize count,
                                               gpointer data),
                                 gpointer data);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* live-private.h: what the files of the live engine share.
   Thread safety: fields say who writes them. */
#ifndef HASS_LIVE_PRIVATE_H
#define HASS_LIVE_PRIVATE_H

#include "live.h"

#include "engine/core/job.h"

/* The cores that help the calling thread; see helpers.c. */
typedef struct HassHelpers
{
  struct HassHelpers *next; /* constant */
  _Atomic guint refs;       /* 0: free for the next job */
  pthread_mutex_t lock;     /* the rest */
  pthread_cond_t empty;
  HassJob *job; /* NULL: over */
  guint n_inside;
} HassHelpers;

typedef struct HassProxyThread HassProxyThread;

typedef struct
{
  HassJob *job;
  /* Handed to and fro with the cancellable's handler, for ThreadSanitizer,
     which cannot see GLib's locks. */
  _Atomic guint cancels;
  HassCpuPool *pool;                    /* NULL without a CPU pool */
  void (*core_task) (gpointer helpers); /* a core's stay in the job */
  guint n_helpers;                      /* cores beside the caller */
  gboolean has_proxies;                 /* devices beside the CPU pool */
  gboolean proxies_begin;               /* rounds, too */
  HassHelpers *helpers;
  pthread_mutex_t seat_lock;
  GArray *seats;             /* free worker indices; seat_lock */
  HassProxyThread **proxies; /* [n_devices], the caller's; NULL: has none */
  GCancellable *unwanted;    /* cancelled when the farm is over */
  _Atomic gboolean over;
  HassEvent end;                                  /* over has become TRUE */
  _Alignas(HASS_CACHE_LINE) _Atomic guint inside; /* helpers, come or coming */
  _Atomic guint coming;
  _Atomic gint64 again_ns;    /* a hint; when cores are to ask; 0: no matter */
  _Atomic gboolean has_asker; /* a helper sleeps until then */
} HassLive;

/* clock.c */
gint64 hass_live_now (HassJob *job);

/* wake.c */
void hass_live_let_in (HassJob *job);
void hass_live_loads_came (HassJob *job);
void hass_live_changed (HassJob *job);

/* begin.c */
gboolean hass_live_begin (HassJob *job, double unit_ns);

/* cores.c */
void hass_live_core_task (gpointer helpers);
void hass_live_work_until (HassJob *job, gboolean (*done) (HassJob *job));

/* How long fewer than FEW_LOADS loads wait for more before a round begins, in
   ns. Longer, and the first loads are late; shorter, and rounds are small. A
   guess. */
#define HASS_FEW_WAIT_NS 8000

/* devices.c */
gboolean hass_live_devices (const HassFarm *farm, HassCpuPool **pool,
                            HassDeviceTraits **devices, HassDevice ***gpus,
                            guint *n_devices, GError **error);
const char *hass_live_device_kind (const HassFarm *farm,
                                   const HassDevice *device);
HassGpuWorkerFunc hass_live_device_worker (const HassFarm *farm,
                                           const HassDevice *device);
void hass_live_free_devices (const HassFarm *farm, HassDevice **gpus,
                             guint n_devices);

/* helpers.c */
HassHelpers *hass_helpers_new (HassJob *job);
HassJob *hass_helpers_enter (HassHelpers *helpers);
void hass_helpers_leave (HassHelpers *helpers);
void hass_helpers_close (HassHelpers *helpers);
void hass_helpers_unref (HassHelpers *helpers);

/* yield.c */
void hass_yield (HassJob *job, HassWorker *worker);
void hass_yield_leave (HassWorker *worker);

/* proxies.c */
void hass_proxies_start (HassJob *job, HassLive *live);
void hass_proxies_stop (HassJob *job, HassLive *live);

/* proxy_threads.c */
HassProxyThread *hass_proxy_thread_run (guint gpu, void (*func) (gpointer data),
                                        gpointer data, int *failure);
void hass_proxy_thread_wait (HassProxyThread *thread);

/* progress.c */
typedef struct HassProgressThread HassProgressThread;
HassProgressThread *hass_progress_start (HassJob *job);
void hass_progress_stop (HassProgressThread *thread);

#endif

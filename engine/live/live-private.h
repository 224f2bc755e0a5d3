/* SPDX-License-Identifier: MIT */
/* live-private.h: what the files of the live engine share.
   Thread safety: fields say who writes them. */
#ifndef HASS_LIVE_PRIVATE_H
#define HASS_LIVE_PRIVATE_H

#include "live.h"

#include "engine/core/feeder.h"
#include "engine/core/job.h"

/* The job as the cores that help its calling thread see it; see helpers.c. */
typedef struct HassHelpers
{
  struct HassHelpers *next; /* next of all such structs; constant */
  /* references of the job and of tasks in the CPU pool; 0: free for the next
     job */
  _Atomic guint refs;
  pthread_mutex_t lock; /* for the fields below */
  pthread_cond_t empty;
  HassJob *job; /* NULL: the job has ended */
  guint n_inside;
} HassHelpers;

typedef struct HassSpare HassSpare;
typedef struct HassProxyThread HassProxyThread;
typedef struct HassProxy HassProxy;

typedef enum
{
  HASS_FIND_FOUND,   /* there may be something to take */
  HASS_FIND_NOTHING, /* there is no work at present */
  HASS_FIND_FINISHED /* there is no more work */
} HassFind;

/**
 * HassLiveCourse: how the live engine drives a job, by what its work comes
 * from: rounds, a pipeline or a dataflow.
 * @once: a core takes something and computes it; returns: FALSE if there was
 *   nothing to take.
 * @find: a core that has found nothing asks the strategy; it looks for work
 *   again where the answer is HASS_FIND_FOUND. @unit_ns: time of a unit as the
 *   core has measured it; 0: unknown. Unless @patient, it may return
 *   HASS_FIND_NOTHING because another thread holds the decision lock.
 * @again_ns: returns: when a core without work should look again; 0: it need
 *   not.
 * @is_supplied: (nullable): returns: TRUE if a core without work need not wait
 *   for some: the stage that binds has enough.
 * @waiting_ns: (nullable): returns: how long other cores would take for what
 *   waits, in ns; < 0: unknown. Where it is NULL the generating thread
 *   computes nothing between two loads.
 * @collect: (nullable): a proxy takes over what its device has computed.
 * @ask: (nullable): a proxy asks the strategy for a grant, which its feeder
 *   then has; returns: FALSE if there is none now.
 * @complete: (nullable): a proxy completes the blocks of a part that its feeder
 *   has cut; returns: FALSE if it cannot, and the job stops.
 * @patience_ns: (nullable): returns: how long an idle proxy sleeps if nothing
 *   changes, in ns; < 0: no limit.
 *
 * Those with a worker by the thread that has its seat, those with a proxy by
 * its thread.
 */
typedef struct
{
  gboolean (*once) (HassJob *job, HassWorker *worker);
  HassFind (*find) (HassJob *job, double unit_ns, gboolean patient);
  gint64 (*again_ns) (HassJob *job);
  gboolean (*is_supplied) (const HassJob *job);
  double (*waiting_ns) (HassJob *job);
  void (*collect) (HassProxy *p);
  gboolean (*ask) (HassProxy *p);
  gboolean (*complete) (HassProxy *p, HassFeederPart *part);
  gint64 (*patience_ns) (HassProxy *p);
} HassLiveCourse;

extern const HassLiveCourse hass_live_rounds, hass_live_stream, hass_live_graph;

/* Time that a core without work spins before it leaves, in ns. Measured: waking
   a sleeping thread takes 25 us and costs the waking thread 7 to 10 us.
   Shorter, and threads sleep between loads that come soon; longer, and idle
   cores burn time. */
#define HASS_SPIN_NS 50000

typedef struct
{
  HassJob *job;
  const HassLiveCourse *course;
  /* Written and read by the calling thread and by the handler of the
     cancellable, to order them for ThreadSanitizer, which cannot see GLib's
     locks. */
  _Atomic guint cancels;
  HassCpuPool *pool; /* NULL: the farm has no CPU pool */
  /* task of the CPU pool: a core works for the job */
  void (*core_task) (gpointer helpers);
  /* number of cores besides the calling thread */
  guint n_helpers;
  /* there are devices besides the CPU pool */
  gboolean has_proxies;
  /* of these, that are open or being opened: cores yield to their proxies */
  _Atomic guint n_serving;
  /* proxies begin rounds, too, as no core does while the generator runs */
  gboolean proxies_begin;
  HassHelpers *helpers;
  HassSpare *spare; /* NULL: no core is left to the start of devices */
  pthread_mutex_t seat_lock;
  /* worker indices that no core has; under seat_lock */
  GArray *seats;
  /* [n_devices], used by the calling thread; NULL: no proxy */
  HassProxyThread **proxies;
  /* Of the generating thread: when a load came last, the value of
     HassPhases.room_ns then, and the value when a helper that was woken for
     earlier loads would have left. */
  gint64 came_ns, came_room_ns, since_room_ns;
  struct _GCancellable *unwanted; /* cancelled when the farm is over */
  _Atomic gboolean over;
  /* notified when @over has become TRUE */
  HassEvent end;
  /* of the cores HassJob.inside, those on their way */
  _Alignas(HASS_CACHE_LINE) _Atomic guint coming;
  /* when idle cores should ask the strategy again, a hint; 0: need not */
  _Atomic gint64 again_ns;
  _Atomic gboolean has_asker; /* a helper sleeps until again_ns */
} HassLive;

/* clock.c */
gint64 hass_live_now (HassJob *job);

/* wake.c */
/* What waking a sleeping core costs the waking thread, in ns. A variable for
   tests, which cannot know how long a token takes. */
extern gint64 hass_live_wake_ns;
void hass_live_add_core (HassJob *job, guint inside);
void hass_live_loads_came (HassJob *job);
gboolean hass_live_is_supplied (const HassJob *job);
void hass_live_changed (HassJob *job);
void hass_live_joined (HassJob *job);
gint64 hass_live_waking_ns (HassJob *job, const HassWorker *worker);

/* Lets one more core into the farm, unless all are in. Inline, as it runs for
   every pull that emits. */
static inline void
hass_live_let_in (HassJob *job)
{
  const HassLive *live = job->driver;
  guint inside = atomic_load_explicit (&job->inside, memory_order_seq_cst);
  if (inside < live->n_helpers)
    hass_live_add_core (job, inside);
}

/* begin.c */
gboolean hass_live_begin (HassJob *job, double unit_ns);

/* cores.c */
void hass_live_core_task (gpointer helpers);
void hass_live_work_until (HassJob *job, gboolean (*done) (HassJob *job));

/* How long the engine waits for more loads before it begins a round with fewer
   than FEW_LOADS (begin.c), in ns. Longer, and the first loads are computed
   late; shorter, and rounds are small. A guess. */
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

/* spare.c */
HassSpare *hass_spare_new (HassCpuPool *pool);
void hass_spare_unref (HassSpare *spare);
void hass_spare_begin (HassSpare *spare);
void hass_spare_end (HassSpare *spare);
gboolean hass_spare_wanted (const HassSpare *spare);

/* yield.c */
void hass_yield (HassJob *job, HassWorker *worker);
void hass_yield_leave (HassWorker *worker);

/* proxies.c */
void hass_proxies_start (HassJob *job, HassLive *live);
void hass_proxies_start_wanted (HassJob *job);
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

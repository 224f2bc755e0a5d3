/* SPDX-License-Identifier: MIT */
/* progress.c: calls the progress callback of a farm, on a thread of its own.
   Thread safety: reads the job's relaxed counters only. */
#include "live-private.h"

#include <math.h>

struct HassProgressThread
{
  HassJob *job;
  pthread_t thread;
  pthread_mutex_t lock; /* guards @over */
  pthread_cond_t changed;
  gboolean over;
  /* of the last call: time since the begin, loads done, mean rate */
  double elapsed_s, rate;
  guint64 done;
};

/* Time, in s, after which a rate counts 1/e in the mean of a pipeline's rate. A
   guess: shorter, and the time left jumps with short disturbances; longer, and
   it follows a change of the rate late. */
#define MEMORY_S 10

/* Fills in how far a pipeline or dataflow is. The rate is at first the mean
   over the whole run. */
static void
add_rate (HassProgressThread *t, HassProgressInfo *info)
{
  HassJob *job = t->job;
  double s = info->elapsed_s - t->elapsed_s;
  job->source->progress (job, info);
  if (s > 0)
    t->rate += ((double)(info->loads_done - t->done) / s - t->rate)
               * MAX (s / info->elapsed_s, 1 - exp (-s / MEMORY_S));
  t->elapsed_s = info->elapsed_s;
  t->done = info->loads_done;
  info->loads_per_s = t->rate;
  if (info->loads_total > 0 && t->rate > 0)
    info->left_s = (double)(info->loads_total
                            - MIN (info->loads_done, info->loads_total))
                   / t->rate;
}

static void
tell (HassProgressThread *t)
{
  HassJob *job = t->job;
  const HassRunOptions *run = job->farm->run;
  HassProgressInfo info = {
    .elapsed_s = (hass_live_now (job) - job->begin_ns) * 1e-9,
    .loads_emitted = hass_load_pool_emitted (job->pool),
    .units_done = atomic_load_explicit (&job->units_done, memory_order_relaxed),
    .bytes_done = atomic_load_explicit (&job->bytes_done, memory_order_relaxed),
    .generated = atomic_load_explicit (&job->generated, memory_order_acquire),
    .left_s = -1
  };
  if (job->source->progress)
    add_rate (t, &info);
  run->progress (&info, run->progress_data);
}

static gpointer
watch (gpointer data)
{
  HassProgressThread *t = data;
  guint ms = t->job->farm->run->progress_interval_ms;
  if (ms == 0)
    ms = 200;
  pthread_mutex_lock (&t->lock);
  while (!t->over)
    {
      struct timespec until;
      clock_gettime (CLOCK_MONOTONIC, &until);
      gint64 ns = until.tv_nsec + (gint64)ms * 1000000;
      until.tv_sec += ns / 1000000000;
      until.tv_nsec = ns % 1000000000;
      int rc = 0;
      while (!t->over && rc == 0)
        rc = pthread_cond_timedwait (&t->changed, &t->lock, &until);
      if (!t->over)
        tell (t);
    }
  pthread_mutex_unlock (&t->lock);
  return NULL;
}

static void
progress_free (HassProgressThread *t)
{
  pthread_mutex_destroy (&t->lock);
  pthread_cond_destroy (&t->changed);
  g_free (t);
}

/* Starts a thread that calls the farm's progress callback at intervals.
   Returns: NULL if the farm has no progress callback or no thread can be made.
 */
HassProgressThread *
hass_progress_start (HassJob *job)
{
  if (!job->farm->run->progress)
    return NULL;
  pthread_condattr_t attr;
  HassProgressThread *t = g_new0 (HassProgressThread, 1);
  t->job = job;
  pthread_mutex_init (&t->lock, NULL);
  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (&t->changed, &attr);
  pthread_condattr_destroy (&attr);
  if (pthread_create (&t->thread, NULL, watch, t) == 0)
    return t;
  progress_free (t);
  return NULL;
}

void
hass_progress_stop (HassProgressThread *t)
{
  if (!t)
    return;
  pthread_mutex_lock (&t->lock);
  t->over = TRUE;
  pthread_cond_signal (&t->changed);
  pthread_mutex_unlock (&t->lock);
  pthread_join (t->thread, NULL);
  progress_free (t);
}

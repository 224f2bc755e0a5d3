/* SPDX-License-Identifier: MIT */
/* callback.h: which of the user's callbacks a thread runs, of which farm or
   recorded graph and with which worker; implemented in fate.c. Thread safety:
   each thread has its own. */
#ifndef HASS_CALLBACK_H
#define HASS_CALLBACK_H

#include <glib.h>

struct HassJob;
struct _HassWorker;

/**
 * HassRecording: a dataflow that is recorded, which has no job.
 * @name: of the dataflow.
 * @refuse: makes the recording fail with HASS_ERROR_MISUSE.
 * @graph: first argument of @refuse.
 */
typedef struct
{
  const char *name;
  void (*refuse) (gpointer graph, const char *why);
  gpointer graph;
} HassRecording;

/**
 * HassCallback: the user's callback that a thread runs.
 * @what: its name for people; NULL: the thread runs none.
 * @job: its farm; NULL: the callback builds @recording.
 * @worker: the worker that it was given; NULL: it has none, or one that may not
 *   emit: that of a loop's body.
 * @charged: the worker whose busy time the thread's time counts to: @worker,
 *   or the one whose callback runs the loop.
 */
typedef struct
{
  const char *what;
  struct HassJob *job;
  struct _HassWorker *worker, *charged;
  const HassRecording *recording;
} HassCallback;

/* The calling thread's. Initial-exec, because each call of a token or worker
   function reads it, which in the shared library would else be a call. */
extern __thread HassCallback hass_callback
    __attribute__ ((tls_model ("initial-exec")));

HassCallback hass_engine_enter_callback (const char *what, struct HassJob *job,
                                         struct _HassWorker *worker);
/* Likewise the build callback of a graph that is recorded. */
HassCallback hass_engine_enter_recording (const HassRecording *recording);
void hass_engine_leave_callback (HassCallback before);
void hass_engine_dead_handle (const char *function);
gint64 hass_worker_take_helped (struct _HassWorker *worker); /* worker.c */

/* Returns: TRUE if the calling thread runs a callback that was given @worker;
   reads nothing of @worker, which may belong to another thread. */
static inline gboolean
hass_worker_is_current (const struct _HassWorker *worker)
{
  return hass_callback.worker == worker;
}

#endif

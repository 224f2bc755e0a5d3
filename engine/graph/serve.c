/* SPDX-License-Identifier: MIT */
/* serve.c: a device serves a dataflow from its opening to its end.
   Thread safety: the proxy thread of the device, or the thread of the virtual
   engine, except where stated. */
#include "device-private.h"

/* How long the proxy waits for an operation before it looks for tasks, in ns. A
   guess: longer, and a device that has room begins late; shorter, and the proxy
   takes time from cores. */
#define WAIT_NS 200000

/* An operation has ended. */
static void
finish (HassServing *s, const HassDataDone *done, const GError *error)
{
  HassFlight *f = g_hash_table_lookup (s->flights, &done->ticket);
  if (!f)
    {
      g_clear_error (&s->gone);
      s->gone = g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                             "it ended operation %" G_GUINT64_FORMAT
                             ", which it did not have",
                             done->ticket);
      return;
    }
  if (!f->from)
    hass_serving_count (s, done->failed, error);
  if (f->kind == HASS_FLIGHT_ARRIVE)
    {
      hass_device_arrived (s, f, done->failed);
    }
  else if (f->kind == HASS_FLIGHT_LEAVE)
    {
      hass_device_left (s, f, done->failed);
      return;
    }
  else
    hass_device_computed (s, f, done, error);
  g_hash_table_remove (s->flights, &done->ticket);
}

/* Waits until an operation has ended, then takes all that have. Returns: FALSE
   if none has. */
static gboolean
wait_for_end (HassServing *s, gint64 timeout_ns)
{
  for (guint i = 0; i <= s->most_computing && !s->gone; i++)
    {
      HassLanded ended = { .error = NULL };
      if (!hass_serving_wait (s, i == 0 ? timeout_ns : 0, &ended))
        return i > 0;
      finish (s, &ended.done, ended.error);
      g_clear_error (&ended.error);
      if (g_hash_table_size (s->flights) == 0)
        return TRUE;
    }
  return TRUE;
}

/* Takes the data that have been moved home. */
static gboolean
take_moved (HassServing *s)
{
  gboolean any = FALSE;
  for (HassFlight *f; (f = hass_mover_moved (s->mover)); any = TRUE)
    hass_device_moved (s, f);
  return any;
}

/* Takes what is home, and begins what can begin. Returns: TRUE if something has
   happened. */
static gboolean
advance (HassServing *s)
{
  gboolean any = take_moved (s);
  any |= !hass_job_stopping (s->job) && hass_device_feed (s);
  return any;
}

static gboolean
is_over (HassServing *s, const _Atomic gboolean *over)
{
  if (s->n_moving > 0)
    return FALSE;
  return atomic_load_explicit (over, memory_order_seq_cst)
         || hass_job_stopping (s->job)
         || (atomic_load_explicit (&s->job->generated, memory_order_seq_cst)
             && s->job->source->idle (s->job));
}

static void
serve (HassServing *s, const _Atomic gboolean *over)
{
  while (!s->gone)
    {
      guint64 epoch = hass_event_prepare (&s->job->event);
      gboolean any = advance (s);
      if (g_hash_table_size (s->flights) > 0 && !s->gone)
        {
          hass_event_cancel (&s->job->event);
          wait_for_end (s, any ? 0 : WAIT_NS);
        }
      else if (any || s->gone)
        hass_event_cancel (&s->job->event);
      else if (is_over (s, over))
        {
          hass_event_cancel (&s->job->event);
          return;
        }
      else if (hass_serving_rest (s))
        {
          hass_event_cancel (&s->job->event);
          s->job->engine->changed (s->job);
        }
      else
        hass_event_wait (&s->job->event, epoch, -1);
    }
}

/* The device is given up, though it may not be lost: waits until it does
   nothing any more. */
static void
drain (HassServing *s)
{
  hass_mover_finish (s->mover);
  take_moved (s);
  for (guint n = g_hash_table_size (s->flights); n > 0 && !s->lost;)
    {
      HassLanded ended = { .error = NULL };
      n -= hass_serving_wait (s, WAIT_NS, &ended);
      g_clear_error (&ended.error);
    }
}

/* Any thread. Returns: TRUE if a task that device @d can compute has been
   submitted. */
gboolean
hass_graph_wants (HassJob *job, guint d)
{
  const HassGraph *graph = job->flow;
  const HassGraphDevice *device = hass_placing_device (graph, d);
  return device
         && atomic_load_explicit (&graph->placing->usable, memory_order_relaxed)
                    >> device->index
                & 1;
}

HassServing *
hass_serving_new (HassJob *job, guint d)
{
  HassGraph *graph = job->flow;
  HassGraphDevice *device = hass_placing_device (graph, d);
  HassServing *s = g_new0 (HassServing, 1);
  s->job = job;
  s->graph = graph;
  s->placing = graph->placing;
  s->device = device;
  s->worker = job->n_workers - (job->n_devices - d);
  s->flights = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL,
                                      hass_flight_free);
  s->together = g_ptr_array_new ();
  s->mover = hass_mover_new (job);
  s->ended = g_array_new (FALSE, FALSE, sizeof (HassLanded));
  s->asides = g_array_new (FALSE, FALSE, sizeof (HassAside));
  s->most_computing = MAX (device->ops->most_computing (device->device), 1);
  s->ahead = 2 * s->most_computing;
  pthread_mutex_lock (&s->placing->lock);
  hass_serving_begin_locked (s);
  device->state = HASS_GRAPH_DEVICE_OPEN;
  pthread_mutex_unlock (&s->placing->lock);
  return s;
}

void
hass_serving_free (HassServing *s)
{
  HassJob *job = s->job;
  pthread_mutex_lock (&s->placing->lock);
  hass_serving_begin_locked (s);
  pthread_mutex_unlock (&s->placing->lock);
  if (s->gone)
    {
      drain (s);
      hass_device_gone (s);
    }
  else
    {
      pthread_mutex_lock (&s->placing->lock);
      /* Others that do not know yet that the job stops copy no more from it. */
      s->device->state = HASS_GRAPH_DEVICE_SHUT;
      s->device->soon_ns = -1;
      hass_serving_await_readers_locked (s);
      hass_device_free_all_locked (s->device);
      pthread_mutex_unlock (&s->placing->lock);
    }
  hass_mover_finish (s->mover);
  hass_mover_free (s->mover);
  atomic_fetch_sub_explicit (&s->placing->n_busy, 1, memory_order_seq_cst);
  hass_serving_clear (s);
  g_free (s);
  job->engine->changed (job);
}

void
hass_graph_serve (HassJob *job, guint d, const _Atomic gboolean *over)
{
  HassServing *s = hass_serving_new (job, d);
  serve (s, over);
  hass_serving_free (s);
}

/* -- Virtual time ------------------------------------------------------- */

gboolean
hass_serving_step (HassServing **serving)
{
  HassServing *s = *serving;
  gboolean any = advance (s);
  any |= g_hash_table_size (s->flights) > 0 && wait_for_end (s, 0);
  if (!s->gone)
    return any || hass_serving_rest (s);
  hass_serving_free (s);
  *serving = NULL;
  return TRUE;
}

const char *
hass_serving_codelet (const HassServing *s, double *cost)
{
  *cost = s->cost;
  return s->codelet;
}

/* SPDX-License-Identifier: MIT */
/* flight.c: the operations of a device that are in flight.
   Thread safety: the proxy thread of the device. */
#include "device-private.h"

/* Operations in a row that fail before the device is given up. */
#define FAILURES_IN_A_ROW 3

HassFlight *
hass_flight_new (HassServing *s, HassFlightKind kind)
{
  HassFlight *f = g_new0 (HassFlight, 1);
  f->kind = kind;
  f->ticket = ++s->ticket;
  f->begun_ns = s->job->engine->now (s->job);
  g_hash_table_insert (s->flights, &f->ticket, f);
  return f;
}

void
hass_flight_free (gpointer p)
{
  HassFlight *f = p;
  g_clear_pointer (&f->tasks, g_array_unref);
  g_free (f);
}

/* The device does not copy from another one any more. */
void
hass_flight_end_reading_locked (const HassServing *s, const HassFlight *f)
{
  if (!f->from)
    return;
  f->from->readers--;
  s->placing->devices[f->from - f->places->at].going_bytes
      -= hass_data_bytes (f->places->data);
}

/* An operation has failed, or another one has not. */
void
hass_serving_count (HassServing *s, gboolean failed, const GError *error)
{
  s->n_failures = failed ? s->n_failures + 1 : 0;
  s->device->n_failed += failed;
  if (s->n_failures >= FAILURES_IN_A_ROW && !s->gone)
    s->gone = error ? g_error_copy (error)
                    : g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                                   "%d operations in a row have failed",
                                   FAILURES_IN_A_ROW);
}

static gboolean
ask (HassServing *s, gint64 timeout_ns, HassLanded *ended)
{
  if (s->device->ops->wait (s->device->device, timeout_ns, &ended->done,
                            &ended->error))
    return TRUE;
  if (ended->error)
    {
      s->lost = TRUE;
      g_clear_error (&s->gone);
      s->gone = g_steal_pointer (&ended->error);
    }
  return FALSE;
}

/* Waits for the end of an operation. Returns: FALSE if none has ended; then the
   device may be lost. */
gboolean
hass_serving_wait (HassServing *s, gint64 timeout_ns, HassLanded *ended)
{
  if (s->ended->len == 0)
    return ask (s, timeout_ns, ended);
  *ended = g_array_index (s->ended, HassLanded, 0);
  g_array_remove_index (s->ended, 0);
  return TRUE;
}

/* An operation could not begin. Returns: TRUE if that is as the device is lost.
 */
gboolean
hass_serving_is_lost (HassServing *s)
{
  HassLanded ended = { .error = NULL };
  if (ask (s, 0, &ended))
    g_array_append_val (s->ended, ended);
  return s->lost;
}

/* -- Rest ---------------------------------------------------------------- */

/* The proxy gets something to do: see left.c. */
void
hass_serving_begin_locked (HassServing *s)
{
  if (!s->busy)
    atomic_fetch_add_explicit (&s->placing->n_busy, 1, memory_order_seq_cst);
  s->busy = TRUE;
}

/* The proxy finds nothing to do: if no tasks and no operations are left to it,
   it has nothing in hand. Returns: TRUE if that is new, so that other threads
   should look whether any worker takes the tasks that wait. */
gboolean
hass_serving_rest (HassServing *s)
{
  if (!s->busy || g_hash_table_size (s->flights) > 0
      || s->device->taken->len > 0 || s->n_leaving > 0)
    return FALSE;
  s->busy = FALSE;
  /* Sequentially consistent, as are the reads in left.c. */
  atomic_fetch_sub_explicit (&s->placing->n_busy, 1, memory_order_seq_cst);
  return TRUE;
}

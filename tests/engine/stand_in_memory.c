/* SPDX-License-Identifier: MIT */
/* stand_in_memory.c: the memory of a stand-in device for dataflows.
   Thread safety: see stand_in_data.h. */
#include "stand_in_data-private.h"

#include <stdlib.h>
#include <string.h>

#include "hass/error.h"

#define ALIGN 256
#define FRESH 0xa5 /* fills memory that was just allocated */
#define MOST_BYTES ((gsize)1 << 40)

static Memory *
find_locked (DataStandIn *s, gconstpointer at, gsize bytes)
{
  for (guint i = 0; i < s->memory->len; i++)
    {
      Memory *m = s->memory->pdata[i];
      gsize offset = (gsize)at - (gsize)m->data;
      if ((gsize)at >= (gsize)m->data && offset < m->bytes
          && bytes <= m->bytes - offset)
        return m;
    }
  return NULL;
}

static void
let_go_locked (Memory *m)
{
  if (--m->uses == 0 && m->gone)
    g_free (m);
}

/* The device is lost: operations that run end first, then all memory is spoilt
   and freed. */
void
sid_lose_locked (DataStandIn *s)
{
  if (s->counts.lost)
    return;
  s->counts.lost = TRUE;
  while (s->running > 0)
    pthread_cond_wait (&s->changed, &stand_in_data_lock);
  /* no operation uses the memory of another device any more */
  GPtrArray *all[] = { s->queued, s->done, s->hung };
  for (guint a = 0; a < G_N_ELEMENTS (all); a++)
    while (all[a]->len > 0)
      sid_op_free_locked (
          g_ptr_array_steal_index_fast (all[a], all[a]->len - 1));
  for (guint i = 0; i < s->memory->len; i++)
    {
      Memory *m = s->memory->pdata[i];
      while (m->running > 0)
        pthread_cond_wait (&s->changed, &stand_in_data_lock);
      memset (m->data, SPOILT, m->bytes);
      free (m->data);
      m->gone = TRUE;
      if (m->uses == 0)
        g_free (m);
    }
  g_ptr_array_set_size (s->memory, 0);
  s->counts.bytes = 0;
  pthread_cond_broadcast (&s->changed);
}

gsize
sid_capacity (HassDevice *device)
{
  DataStandIn *s = (DataStandIn *)device;
  return s->plan.memory_bytes ? s->plan.memory_bytes : MOST_BYTES;
}

/* Returns: whether the device serves this call of alloc, copy or compute. */
gboolean
sid_serves_locked (DataStandIn *s, GError **error)
{
  if (sid_is_nth (++s->n_calls, s->plan.lose_at_call, 0))
    sid_lose_locked (s);
  return !s->counts.lost
         || sid_fail (error, HASS_ERROR_DEVICE, "the stand-in is lost");
}

gboolean
sid_alloc (HassDevice *device, gsize bytes, gpointer *memory, GError **error)
{
  DataStandIn *s = (DataStandIn *)device;
  gboolean ok = FALSE;
  gpointer data = NULL;
  pthread_mutex_lock (&stand_in_data_lock);
  if (!sid_serves_locked (s, error))
    goto out;
  if (bytes == 0)
    sid_wrong_locked (s, "asked for no bytes");
  if (sid_is_nth (++s->counts.allocs, s->plan.fail_alloc_at,
                  s->plan.fail_alloc_every)
      || bytes > sid_capacity (device) - s->counts.bytes
      || posix_memalign (&data, ALIGN, MAX (bytes, 1)) != 0)
    {
      s->counts.no_memory++;
      sid_fail (error, HASS_ERROR_NO_MEMORY, "the stand-in is full");
      goto out;
    }
  Memory *m = g_new0 (Memory, 1);
  *m = (Memory){ .data = data, .bytes = bytes };
  memset (data, FRESH, bytes);
  g_ptr_array_add (s->memory, m);
  s->counts.bytes += bytes;
  s->counts.most_bytes = MAX (s->counts.most_bytes, s->counts.bytes);
  *memory = data;
  ok = TRUE;
out:
  pthread_mutex_unlock (&stand_in_data_lock);
  return ok;
}

/* Between its loss and the wait() that reports it the device still gets
   memory to free. */
void
sid_free (HassDevice *device, gpointer memory)
{
  DataStandIn *s = (DataStandIn *)device;
  pthread_mutex_lock (&stand_in_data_lock);
  Memory *m = s->counts.lost ? NULL : find_locked (s, memory, 0);
  if (m && m->data == memory)
    {
      if (m->uses > 0)
        sid_wrong_locked (s, "freed memory that an operation uses");
      else
        {
          memset (m->data, SPOILT, m->bytes);
          free (m->data);
          s->counts.bytes -= m->bytes;
          s->counts.frees++;
          g_ptr_array_remove_fast (s->memory, m);
          g_free (m);
        }
    }
  else if (!s->counts.lost)
    sid_wrong_locked (s, "freed memory that it does not have");
  pthread_mutex_unlock (&stand_in_data_lock);
}

/* Notes that the operation of the stream uses this memory of @s. Returns: FALSE
   if there is none. */
gboolean
sid_use_locked (HassGpuStream *stream, DataStandIn *s, gconstpointer at,
                gsize bytes)
{
  Memory *m = find_locked (s, at, bytes);
  if (m)
    {
      m->uses++;
      g_ptr_array_add (stream->uses, m);
    }
  else if (!s->counts.lost)
    sid_wrong_locked (stream->device,
                      "an operation on memory that is not there");
  return m != NULL;
}

void
sid_unuse_locked (HassGpuStream *stream)
{
  for (guint i = 0; i < stream->uses->len; i++)
    let_go_locked (stream->uses->pdata[i]);
}

/* SPDX-License-Identifier: MIT */
/* buffers.c: host memory for a generator's loads, used again when they are
   finished. Sizes are rounded up to powers of two, so that loads of many
   sizes share a few kinds of buffers and memory stays flat. Where the farm
   has GPUs, large ones are pinned.
   Thread safety: buffer by the generator; recycle by any thread. */
#include "hass/memory.h"
#include "job-private.h"

/* Pinning takes longer than copying less than this. */
#define PIN_BYTES ((gsize)64 << 10)

/* A buffer's size stands before it, so that recycling needs no look-up. */
typedef struct
{
  gsize bytes;
  gboolean pinned;
  guint8 pad[HASS_CACHE_LINE - sizeof (gsize) - sizeof (gboolean)];
} BufferHead;

static void
free_buffer (gpointer data)
{
  BufferHead *head = data;
  if (head->pinned)
    hass_free (head);
  else
    g_aligned_free (head);
}

static BufferHead *
new_buffer (HassJob *job, gsize bytes)
{
  gsize all = sizeof (BufferHead) + bytes;
  gboolean pinned = bytes >= PIN_BYTES && job->n_devices > (job->cpu >= 0);
  BufferHead *head = pinned ? hass_alloc (all, NULL) : NULL;
  pinned = head != NULL;
  if (!head)
    head = g_aligned_alloc (1, all, HASS_CACHE_LINE);
  head->bytes = bytes;
  head->pinned = pinned;
  return head;
}

static void
free_list (gpointer data)
{
  g_ptr_array_unref (data);
}

void
hass_buffers_init (HassJob *job)
{
  job->buffers = g_hash_table_new_full (NULL, NULL, NULL, free_list);
  job->all_buffers = g_ptr_array_new_with_free_func (free_buffer);
  pthread_mutex_init (&job->buffer_lock, NULL);
}

void
hass_buffers_clear (HassJob *job)
{
  g_hash_table_unref (job->buffers);
  g_ptr_array_unref (job->all_buffers);
  pthread_mutex_destroy (&job->buffer_lock);
}

gpointer
hass_emitter_buffer (HassEmitter *emitter, gsize bytes)
{
  HassJob *job = emitter->job;
  BufferHead *head = NULL;
  gsize rounded = HASS_CACHE_LINE;
  g_return_val_if_fail (bytes <= G_MAXSIZE / 4, NULL);
  while (rounded < bytes)
    rounded *= 2;
  atomic_store_explicit (&job->has_buffers, TRUE, memory_order_relaxed);
  pthread_mutex_lock (&job->buffer_lock);
  GPtrArray *free_ones
      = g_hash_table_lookup (job->buffers, GSIZE_TO_POINTER (rounded));
  if (free_ones && free_ones->len > 0)
    head = g_ptr_array_steal_index_fast (free_ones, free_ones->len - 1);
  else
    {
      head = new_buffer (job, rounded);
      g_ptr_array_add (job->all_buffers, head);
    }
  pthread_mutex_unlock (&job->buffer_lock);
  return head + 1;
}

/* Takes a finished load's buffer back, if it has one of ours. */
void
hass_job_recycle (HassJob *job, const HassLoad *load)
{
  if (!(load->flags & HASS_LOAD_BUFFER) || !load->input)
    return;
  BufferHead *head = (BufferHead *)load->input - 1;
  pthread_mutex_lock (&job->buffer_lock);
  gpointer key = GSIZE_TO_POINTER (head->bytes);
  GPtrArray *free_ones = g_hash_table_lookup (job->buffers, key);
  if (!free_ones)
    {
      free_ones = g_ptr_array_new ();
      g_hash_table_insert (job->buffers, key, free_ones);
    }
  g_ptr_array_add (free_ones, head);
  pthread_mutex_unlock (&job->buffer_lock);
}

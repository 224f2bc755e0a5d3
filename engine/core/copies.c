/* SPDX-License-Identifier: MIT */
/* copies.c: the library's copies of emitted tasks.

   DESIGN. Copies of one size lie in chunks that are aligned to their own size,
   so the chunk follows from the address of a copy. Each emitting thread fills a
   chunk of its own without a lock. A chunk counts the copies that have not been
   freed; it starts with the count of a full chunk, so only freeing changes the
   count. The last copy that is freed makes the chunk available again. All
   chunks live as long as the job.

   Thread safety: new by the owner of the copier; free by any thread. */
#include "job-private.h"

/* Size and alignment of a chunk of copies, in bytes. A guess: smaller, and
   threads take the lock more often; larger, and one live copy keeps more memory
   in use. */
#define CHUNK_BYTES ((gsize)4096)

struct HassCopyChunk
{
  /* copies that have not been freed */
  _Atomic guint n_out;
  HassCopyChunk *next; /* next free chunk; under copy_lock */
  _Alignas(HASS_CACHE_LINE) guint8 copies[];
};

void
hass_copies_init (HassJob *job)
{
  job->all_chunks = g_ptr_array_new_with_free_func (g_aligned_free);
  pthread_mutex_init (&job->copy_lock, NULL);
}

void
hass_copies_clear (HassJob *job)
{
  g_ptr_array_unref (job->all_chunks);
  pthread_mutex_destroy (&job->copy_lock);
}

/* Gives the copier a new chunk; the slow path of hass_copy_new(). */
void
hass_copier_refill (HassJob *job, HassCopier *copier)
{
  guint n = (CHUNK_BYTES - sizeof (HassCopyChunk)) / job->farm->tag_bytes;
  pthread_mutex_lock (&job->copy_lock);
  HassCopyChunk *chunk = job->free_chunks;
  if (chunk)
    job->free_chunks = chunk->next;
  else
    {
      chunk = g_aligned_alloc (1, CHUNK_BYTES, CHUNK_BYTES);
      g_ptr_array_add (job->all_chunks, chunk);
    }
  pthread_mutex_unlock (&job->copy_lock);
  /* Relaxed: other threads see the copies through the load pool's lock. */
  atomic_store_explicit (&chunk->n_out, n, memory_order_relaxed);
  atomic_store_explicit (&job->has_owned, TRUE, memory_order_relaxed);
  *copier = (HassCopier){ chunk->copies, n };
}

static inline HassCopyChunk *
chunk_of (gpointer copy)
{
  return (HassCopyChunk *)((guintptr)copy & ~(guintptr)(CHUNK_BYTES - 1));
}

static void
free_of_chunk (HassJob *job, HassCopyChunk *chunk, guint n)
{
  /* Release orders this thread's last access to its copies before the chunk is
     filled again; acquire, with the release of the other threads that freed
     copies of the chunk, orders their accesses likewise. */
  if (atomic_fetch_sub_explicit (&chunk->n_out, n, memory_order_acq_rel) > n)
    return;
  pthread_mutex_lock (&job->copy_lock);
  chunk->next = job->free_chunks;
  job->free_chunks = chunk;
  pthread_mutex_unlock (&job->copy_lock);
}

void
hass_copy_free (HassJob *job, gpointer copy)
{
  free_of_chunk (job, chunk_of (copy), 1);
}

/* Frees the copies of a span's tasks. Those that one thread has emitted
   together mostly lie in one chunk, whose count is changed once for them. */
void
hass_copies_free (HassJob *job, const HassSpan *span)
{
  HassCopyChunk *chunk = NULL;
  guint n = 0;
  for (guint32 i = 0; i < span->n; i++)
    {
      const HassLoad *load = hass_span_load (span, i);
      if (!(load->flags & HASS_LOAD_COPIED))
        continue;
      if (chunk_of (load->tag) != chunk && n > 0)
        {
          free_of_chunk (job, chunk, n);
          n = 0;
        }
      chunk = chunk_of (load->tag);
      n++;
    }
  if (n > 0)
    free_of_chunk (job, chunk, n);
}

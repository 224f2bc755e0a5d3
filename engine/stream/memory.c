/* SPDX-License-Identifier: MIT */
/* memory.c: batches, their arrays of items, and memory for outputs, used again
   when tokens end.

   DESIGN. Free ones of each kind pass from worker to worker in magazines
   (recycle.h). All that was ever made is also in an array, from which it is
   freed at the end of the pipeline, and in which the tokens of a stopped
   pipeline are found. Large chunks that were made before a GPU was started get
   pinned memory when they are used again later: pinning would wait for the
   start, and meanwhile cores have tokens to compute. To pin a chunk of 512 KiB
   took 1.2 ms (H200), so those below LEAST_SLAB are pieces of slabs, each of
   which is as large as all before it.

   Thread safety: a worker's racks by its thread; the stream's depots and arrays
   under memory_lock. */
#include "stream-private.h"

#include "device/pinned.h"
#include "hass/memory.h"

/* Free batches, and arrays of items of each size, in a magazine. A guess: more,
   and memory lies idle; fewer, and workers take the lock more often. */
#define MAGAZINE 8
/* Most free chunks, and bytes of them, in a magazine. Guesses, as MAGAZINE. */
#define MAGAZINE_CHUNKS 32
#define MAGAZINE_BYTES ((gsize)256 << 10)
/* Smallest chunk. */
#define LEAST_CLASS 6
/* Bytes of the first slab, that of a huge page, and of the largest. Guesses. */
#define LEAST_SLAB ((gsize)2 << 20)
#define MOST_SLAB ((gsize)32 << 20)

/* Pinned memory that chunks are pieces of. */
typedef struct HassSlabs
{
  pthread_mutex_t lock;
  GPtrArray *all;
  guint8 *last;
  gsize bytes, size, used; /* of all; of the last one */
} HassSlabs;

void
hass_stream_memory_init (HassStream *stream)
{
  pthread_mutex_init (&stream->memory_lock, NULL);
  pthread_mutex_init (&stream->race_lock, NULL);
  stream->slabs = g_new0 (HassSlabs, 1);
  pthread_mutex_init (&stream->slabs->lock, NULL);
  stream->slabs->all = g_ptr_array_new_with_free_func (hass_memory_free);
  stream->all_batches = g_ptr_array_new ();
  stream->all_items = g_ptr_array_new ();
  stream->all_chunks = g_ptr_array_new ();
}

void
hass_stream_memory_clear (HassStream *stream)
{
  for (guint i = 0; i < stream->all_batches->len; i++)
    g_aligned_free (g_ptr_array_index (stream->all_batches, i));
  for (guint i = 0; i < stream->all_items->len; i++)
    g_aligned_free (g_ptr_array_index (stream->all_items, i));
  for (guint i = 0; i < stream->all_chunks->len; i++)
    {
      HassChunk *chunk = g_ptr_array_index (stream->all_chunks, i);
      if (!chunk->pinned)
        free (chunk->data);
      else if (chunk->bytes >= LEAST_SLAB)
        hass_memory_free (chunk->data);
      g_free (chunk);
    }
  g_ptr_array_unref (stream->all_batches);
  g_ptr_array_unref (stream->all_items);
  g_ptr_array_unref (stream->all_chunks);
  g_ptr_array_unref (stream->slabs->all);
  pthread_mutex_destroy (&stream->slabs->lock);
  g_free (stream->slabs);
  pthread_mutex_destroy (&stream->race_lock);
  pthread_mutex_destroy (&stream->memory_lock);
}

/* -- Batches ------------------------------------------------------------ */

/* Returns a batch without tokens, at stage 0 and without a turn. */
HassBatch *
hass_batch_new (HassStream *stream, HassStreamWorker *sw)
{
  HassBatch *batch = (HassBatch *)hass_recycle_take (
      &sw->free_batches, &stream->free_batches, &stream->memory_lock, MAGAZINE);
  if (!batch)
    {
      batch = g_aligned_alloc0 (1, sizeof *batch, HASS_CACHE_LINE);
      pthread_mutex_lock (&stream->memory_lock);
      g_ptr_array_add (stream->all_batches, batch);
      pthread_mutex_unlock (&stream->memory_lock);
    }
  batch->next = batch->link = NULL;
  batch->items = NULL;
  batch->n = batch->capacity = batch->n_alive = 0;
  batch->stage = 0;
  batch->entered = FALSE;
  batch->back_ns = 0;
  for (guint s = 0; s < stream->n_stages; s++)
    atomic_store_explicit (&batch->turn[s], HASS_TURN_NONE,
                           memory_order_relaxed);
  return batch;
}

/* Returns the index of the smallest array with room for @n items;
   HASS_N_SIZES: there is none. */
static guint
size_of (guint32 n)
{
  guint size = 0;
  while (size < HASS_N_SIZES && (1u << size) < n)
    size++;
  return size;
}

static void
free_items (HassStream *stream, HassStreamWorker *sw, HassItem *items,
            guint32 capacity)
{
  guint size = size_of (capacity);
  if (size >= HASS_N_SIZES) /* it was made for one batch with many parts */
    {
      pthread_mutex_lock (&stream->memory_lock);
      g_ptr_array_remove_fast (stream->all_items, items);
      pthread_mutex_unlock (&stream->memory_lock);
      g_aligned_free (items);
    }
  else
    hass_recycle_put (&sw->free_items[size], &stream->free_items[size],
                      &stream->memory_lock, (HassFree *)items, MAGAZINE);
}

static HassItem *
new_items (HassStream *stream, HassStreamWorker *sw, guint32 *capacity)
{
  guint size = size_of (*capacity);
  HassItem *items = NULL;
  if (size < HASS_N_SIZES)
    {
      *capacity = 1u << size;
      items = (HassItem *)hass_recycle_take (&sw->free_items[size],
                                             &stream->free_items[size],
                                             &stream->memory_lock, MAGAZINE);
    }
  if (items)
    return items;
  items = g_aligned_alloc (*capacity, sizeof *items, HASS_CACHE_LINE);
  pthread_mutex_lock (&stream->memory_lock);
  g_ptr_array_add (stream->all_items, items);
  pthread_mutex_unlock (&stream->memory_lock);
  return items;
}

/* Makes room for @n items in the batch; those that it has are kept. */
void
hass_batch_reserve (HassStream *stream, HassStreamWorker *sw, HassBatch *batch,
                    guint32 n)
{
  if (n <= batch->capacity)
    return;
  guint32 capacity = n;
  HassItem *items = new_items (stream, sw, &capacity);
  for (guint32 i = 0; i < batch->n; i++)
    hass_item_move (&items[i], &batch->items[i]);
  if (batch->items)
    free_items (stream, sw, batch->items, batch->capacity);
  batch->items = items;
  batch->capacity = capacity;
}

void
hass_batch_free (HassStream *stream, HassStreamWorker *sw, HassBatch *batch)
{
  if (batch->items)
    free_items (stream, sw, batch->items, batch->capacity);
  batch->items = NULL;
  batch->n = batch->capacity = 0;
  hass_recycle_put (&sw->free_batches, &stream->free_batches,
                    &stream->memory_lock, &batch->free, MAGAZINE);
}

/* -- Chunks ------------------------------------------------------------- */

/* Makes a slab the last one. Under the lock. Returns: FALSE if there is no
   memory for it. */
static gboolean
add_slab (HassSlabs *slabs)
{
  gsize size = CLAMP (slabs->bytes, LEAST_SLAB, MOST_SLAB);
  gpointer slab = hass_memory_alloc (size, NULL);
  if (!slab)
    return FALSE;
  g_ptr_array_add (slabs->all, slab);
  slabs->last = slab;
  slabs->size = size;
  slabs->used = 0;
  slabs->bytes += size;
  return TRUE;
}

/* Returns: @bytes of pinned memory, a power of two; NULL: there is none. Small
   memory follows what was asked for before. */
static gpointer
pinned_memory (HassStream *stream, gsize bytes)
{
  if (bytes >= LEAST_SLAB)
    return hass_memory_alloc (bytes, NULL);
  HassSlabs *slabs = stream->slabs;
  gpointer memory = NULL;
  pthread_mutex_lock (&slabs->lock);
  slabs->used = (slabs->used + bytes - 1) & ~(bytes - 1);
  if (slabs->used + bytes <= slabs->size || add_slab (slabs))
    {
      memory = slabs->last + slabs->used;
      slabs->used += bytes;
    }
  pthread_mutex_unlock (&slabs->lock);
  return memory;
}

/* Gives a chunk pinned memory in place of what it has, if any, unless it has
   that or should not, or that would take as long as the start of a GPU. */
static void
pin_chunk (HassStream *stream, HassChunk *chunk)
{
  if (chunk->pinned || !hass_job_pins (stream->job, chunk->bytes)
      || !hass_memory_pins_at_once ())
    return;
  gpointer data = pinned_memory (stream, chunk->bytes);
  if (!data)
    return;
  free (chunk->data);
  chunk->data = data;
  chunk->pinned = TRUE;
}

static HassChunk *
make_chunk (HassStream *stream, gsize bytes)
{
  HassChunk *chunk = g_new0 (HassChunk, 1);
  gpointer data = NULL;
  chunk->bytes = bytes;
  pin_chunk (stream, chunk);
  if (chunk->data)
    return chunk;
  if (posix_memalign (&data, HASS_CACHE_LINE, bytes) == 0)
    chunk->data = data;
  else
    g_clear_pointer (&chunk, g_free);
  return chunk;
}

static guint
chunks_in_magazine (guint size_class)
{
  return (guint)MIN (MAGAZINE_BYTES >> size_class, MAGAZINE_CHUNKS);
}

/* Returns memory of at least @bytes with one reference; NULL if there is too
   little, then the pipeline is stopped. */
HassChunk *
hass_chunk_new (HassStream *stream, HassStreamWorker *sw, gsize bytes)
{
  guint size_class = LEAST_CLASS;
  while (size_class < HASS_CHUNK_CLASSES - 1
         && ((gsize)1 << size_class) < bytes)
    size_class++;
  HassChunk *chunk = (HassChunk *)hass_recycle_take (
      &sw->free_chunks[size_class], &stream->free_chunks[size_class],
      &stream->memory_lock, chunks_in_magazine (size_class));
  if (!chunk && (chunk = make_chunk (stream, (gsize)1 << size_class)))
    {
      pthread_mutex_lock (&stream->memory_lock);
      g_ptr_array_add (stream->all_chunks, chunk);
      pthread_mutex_unlock (&stream->memory_lock);
    }
  if (chunk)
    {
      pin_chunk (stream, chunk);
      chunk->size_class = size_class;
      atomic_store_explicit (&chunk->refs, 1, memory_order_relaxed);
      return chunk;
    }
  hass_job_stop (stream->job,
                 g_error_new (HASS_ERROR, HASS_ERROR_NO_MEMORY,
                              "pipeline '%s', %s: there is no memory for %zu "
                              "bytes of a token",
                              stream->job->farm->name,
                              stream->stages[sw->stage].label, bytes));
  return NULL;
}

/* Drops a reference to a chunk, which may be NULL; the last makes it free. */
void
hass_chunk_unref (HassStream *stream, HassStreamWorker *sw, HassChunk *chunk)
{
  /* Acquire and release order the other users' last accesses before the chunk
     is used again. A chunk with one reference is the caller's alone. */
  if (!chunk
      || (atomic_load_explicit (&chunk->refs, memory_order_acquire) > 1
          && atomic_fetch_sub_explicit (&chunk->refs, 1, memory_order_acq_rel)
                 > 1))
    return;
  guint size_class = chunk->size_class;
  hass_recycle_put (&sw->free_chunks[size_class],
                    &stream->free_chunks[size_class], &stream->memory_lock,
                    &chunk->free, chunks_in_magazine (size_class));
}

/* SPDX-License-Identifier: MIT */
/* buffers.c: host memory for the loads of a generator, which is used again when
   the loads are finished. Sizes are rounded up to powers of two, so that loads
   of many sizes share few kinds of buffers and memory stays bounded. Where the
   farm has GPUs, large buffers are pinned (page-locked, for fast copies), but
   not while none is to be started (HassJob.alone).

   DESIGN.
   1. Claims. A load with HASS_LOAD_BUFFER claims the buffer that its input lies
      in, which is looked up by address: several loads may share one. When the
      last of them is finished, the buffer is free.
   2. The last buffer. The generator may emit further loads of the buffer that
      it got last, so that buffer is not free before the generator asks for the
      next one.
   3. Buffers that were not pinned while no GPU was to be started are not used
      again later, but freed, so that what follows is pinned.

   Thread safety: hass_emitter_buffer by the generator; claim and recycle by any
   thread. */
#include "hass/memory.h"
#include "job-private.h"

/* Buffers, and outputs of tokens, of at least this many bytes are pinned
   (page-locked). A guess: pinning fewer takes longer than it saves in the
   copies to a GPU; with a higher bound more copies are slow. */
#define PIN_BYTES ((gsize)64 << 10)

typedef struct
{
  guint8 *data; /* [bytes] */
  gsize bytes;
  gboolean pinned;
  gboolean is_free;
  /* a load in it was emitted since the generator got the buffer */
  gboolean emitted;
  guint n_loads; /* number of unfinished loads whose inputs lie in it */
} Buffer;

static void
free_buffer (gpointer data)
{
  Buffer *b = data;
  if (b->pinned)
    hass_memory_free (b->data);
  else
    g_aligned_free (b->data);
  g_free (b);
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

/* Returns the index in all_buffers, which is sorted by address, of the first
   buffer that begins behind @at. */
static guint
first_behind (const HassJob *job, gconstpointer at)
{
  guint low = 0, high = job->all_buffers->len;
  while (low < high)
    {
      guint middle = (low + high) / 2;
      const Buffer *b = g_ptr_array_index (job->all_buffers, middle);
      if ((guintptr)b->data > (guintptr)at)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Returns the buffer that holds the byte at @at, or NULL. The caller holds
   buffer_lock. */
static Buffer *
find_locked (const HassJob *job, gconstpointer at)
{
  guint behind = first_behind (job, at);
  if (behind == 0)
    return NULL;
  Buffer *b = g_ptr_array_index (job->all_buffers, behind - 1);
  return (guintptr)at - (guintptr)b->data < b->bytes ? b : NULL;
}

static GPtrArray *
free_ones_locked (HassJob *job, gsize bytes)
{
  gpointer key = GSIZE_TO_POINTER (bytes);
  GPtrArray *free_ones = g_hash_table_lookup (job->buffers, key);
  if (!free_ones)
    {
      free_ones = g_ptr_array_new ();
      g_hash_table_insert (job->buffers, key, free_ones);
    }
  return free_ones;
}

/* Makes a buffer available again if neither a load nor the generator uses it.
 */
static void
free_if_unused_locked (HassJob *job, Buffer *b)
{
  if (b->n_loads > 0 || !b->emitted || b == job->last_buffer)
    return;
  b->is_free = TRUE;
  g_ptr_array_add (free_ones_locked (job, b->bytes), b);
}

/* Returns: TRUE if memory of @bytes that is made now is pinned: it is large,
   and the farm has GPUs. Any thread. */
gboolean
hass_job_pins (const HassJob *job, gsize bytes)
{
  return bytes >= PIN_BYTES && job->n_devices > (job->cpu >= 0)
         && !atomic_load_explicit (&job->alone, memory_order_relaxed);
}

/* Returns a free buffer of @bytes, or NULL. */
static Buffer *
reuse_locked (HassJob *job, gsize bytes)
{
  GPtrArray *free_ones = free_ones_locked (job, bytes);
  while (free_ones->len > 0)
    {
      Buffer *b = g_ptr_array_steal_index_fast (free_ones, free_ones->len - 1);
      if (b->pinned || !hass_job_pins (job, bytes))
        return b;
      g_ptr_array_remove_index (job->all_buffers,
                                first_behind (job, b->data) - 1);
    }
  return NULL;
}

/* Returns a new buffer; NULL if there is too little memory. */
static Buffer *
new_buffer_locked (HassJob *job, gsize bytes)
{
  gboolean pinned = hass_job_pins (job, bytes);
  gpointer data = pinned ? hass_memory_alloc (bytes, NULL) : NULL;
  pinned = data != NULL;
  if (!data && posix_memalign (&data, HASS_CACHE_LINE, bytes) != 0)
    return NULL;
  Buffer *b = g_new0 (Buffer, 1);
  *b = (Buffer){ .data = data, .bytes = bytes, .pinned = pinned };
  g_ptr_array_insert (job->all_buffers, (gint)first_behind (job, data), b);
  return b;
}

gpointer
hass_emitter_buffer (HassEmitter *emitter, gsize bytes)
{
  if (!hass_emitter_is_generating (emitter, "hass_emitter_buffer"))
    return NULL;
  HassJob *job = emitter->job;
  gsize rounded = HASS_CACHE_LINE;
  while (rounded < bytes && rounded <= G_MAXSIZE / 4)
    rounded *= 2;
  atomic_store_explicit (&job->has_owned, TRUE, memory_order_relaxed);
  pthread_mutex_lock (&job->buffer_lock);
  Buffer *b = job->last_buffer;
  job->last_buffer = NULL;
  if (b)
    free_if_unused_locked (job, b);
  b = reuse_locked (job, rounded);
  if (!b && rounded >= bytes)
    b = new_buffer_locked (job, rounded);
  job->last_buffer = b;
  if (b)
    b->is_free = b->emitted = FALSE;
  pthread_mutex_unlock (&job->buffer_lock);
  if (b)
    return b->data;
  hass_job_fail (job, HASS_ERROR_NO_MEMORY,
                 "there is no memory for a buffer of %zu bytes", bytes);
  return NULL;
}

/* Returns what is wrong with a load that claims to lie in buffer @b, or NULL.
 */
static const char *
look_locked (const HassJob *job, const HassLoad *load, const Buffer *b,
             gboolean nested)
{
  if (!b)
    return "is set, but its input lies in no buffer of hass_emitter_buffer() "
           "of this farm";
  if (load->input_bytes
      > b->bytes - (gsize)((const guint8 *)load->input - b->data))
    return "is set, but its input ends behind its buffer";
  if (b->is_free)
    return "is set, but its buffer belonged to loads that are finished";
  if (!nested && b->emitted && b != job->last_buffer)
    return "is set, but its buffer was emitted before: only the one that "
           "hass_emitter_buffer() returned last may be emitted again";
  return NULL;
}

/* Notes that an emitted load uses the buffer in which its input lies, so that
   the buffer is not used again before the load is finished. @nested: a worker,
   not the generator, emitted the load. Returns: FALSE if the load may not use
   the buffer; the farm is stopped. */
gboolean
hass_buffer_claim (HassJob *job, const HassLoad *load, guint64 seq,
                   gboolean nested)
{
  pthread_mutex_lock (&job->buffer_lock);
  Buffer *b = find_locked (job, load->input);
  const char *wrong = look_locked (job, load, b, nested);
  if (!wrong)
    {
      b->emitted = TRUE;
      b->n_loads++;
    }
  pthread_mutex_unlock (&job->buffer_lock);
  if (wrong)
    hass_job_fail (job, HASS_ERROR_MISUSE,
                   "%sload %" G_GUINT64_FORMAT ": HASS_LOAD_BUFFER %s",
                   nested ? "a load emitted by " : "", seq, wrong);
  return !wrong;
}

/* Returns: TRUE if a part of a load, which claims to lie in a buffer, lies in
   that of the load, which must have claimed it. The load lasts longer than its
   parts, so the part needs no claim of its own. */
gboolean
hass_buffer_holds_part (HassJob *job, const HassLoad *load,
                        const HassLoad *part)
{
  if (!(load->flags & HASS_LOAD_BUFFER))
    return FALSE;
  pthread_mutex_lock (&job->buffer_lock);
  const Buffer *b = find_locked (job, load->input);
  gsize at = b ? (guintptr)part->input - (guintptr)b->data : 0;
  gboolean holds = b && at < b->bytes && part->input_bytes <= b->bytes - at;
  pthread_mutex_unlock (&job->buffer_lock);
  return holds;
}

/* Notes that a finished load no longer uses its buffer, and makes the buffer
   available if it was the last. Loads that were given with the farm, not
   emitted, use no buffer of the library: with HASS_LOAD_BUFFER they are an
   error. */
void
hass_buffer_recycle (HassJob *job, const HassLoad *load, guint64 seq)
{
  pthread_mutex_lock (&job->buffer_lock);
  Buffer *b = find_locked (job, load->input);
  gboolean claimed = b && b->n_loads > 0;
  if (claimed)
    {
      b->n_loads--;
      free_if_unused_locked (job, b);
    }
  pthread_mutex_unlock (&job->buffer_lock);
  if (!claimed)
    hass_job_fail (job, HASS_ERROR_MISUSE,
                   "load %" G_GUINT64_FORMAT
                   ": HASS_LOAD_BUFFER is set, but its input lies in no "
                   "buffer that was emitted",
                   seq);
}

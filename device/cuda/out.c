/* SPDX-License-Identifier: MIT */
/* out.c: copies the results of a bundle back to the host.

   DESIGN. The output buffer begins with a record counter and the bundle's
   accumulator; the outputs of the groups follow, then the scratch memory of a
   chain of stages. Outputs are copied directly to their destination if that is
   pinned memory, contiguous, made of rectangles of tiles (rectangles.h), or
   scattered in large pieces; otherwise through pinned staging, from which
   several threads scatter them. With a deadline for bundles all outputs are
   staged: a kernel that ends late must not write to memory that is used again
   by then.

   The expected number of records is copied with the outputs, the rest when the
   number is known.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <string.h>

#include "hass/error.h"
#include "device/copy_crew.h"

#define COUNTER_BYTES HASS_LAYOUT_ALIGN
#define LEAST_RECORDS 1024
/* Outputs of at most this many rectangles (runs of equal rows in host memory)
   are copied directly, each with a call; more are staged and scattered by
   cores, as each call takes microseconds. A guess. */
#define MOST_RECTANGLES 256
#define CREW_BYTES ((gsize)1 << 20)

static gsize
head_bytes (const HassCudaDevice *d)
{
  return COUNTER_BYTES + hass_layout_aligned (d->farm->accumulator_bytes);
}

/* Sets the place of each group's outputs in the slot's output buffer, behind
   the record counter and the accumulator, and that of the outputs between the
   stages of a chain, which follow as they are not copied to the host. Returns:
   the bytes that the buffer needs. */
static gsize
out_size (HassCudaDevice *d, HassCudaSlot *slot)
{
  gsize at = head_bytes (d);
  for (guint i = 0; i < slot->groups->len; i++)
    {
      HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      g->out_at = at;
      at += hass_layout_aligned (g->layout.output_bytes);
    }
  slot->scratch_at = at;
  return at + slot->chain.scratch_bytes;
}

gsize
hass_cuda_record_blocks_bytes (guint64 capacity)
{
  return hass_layout_aligned (capacity * sizeof (guint32));
}

/* Returns: the bytes of a buffer for @capacity records: first the number of
   the block that each record belongs to, then the records. */
static gsize
records_size (const HassCudaDevice *d, guint64 capacity)
{
  return hass_cuda_record_blocks_bytes (capacity)
         + capacity * d->farm->record_bytes;
}

/* Returns: whether bundles of the farm have records or an accumulator, which
   must be set to their initial value before the kernels run. */
gboolean
hass_cuda_clears (const HassCudaDevice *d)
{
  return d->farm->record_bytes > 0 || d->farm->accumulator_bytes > 0;
}

/* Returns: whether the bundle has anything to copy back to the host: outputs,
   records or an accumulator. */
gboolean
hass_cuda_brings_results (const HassCudaDevice *d, const HassCudaSlot *slot)
{
  gboolean any = hass_cuda_clears (d);
  for (guint i = 0; i < slot->groups->len; i++)
    any |= g_array_index (slot->groups, HassCudaGroup, i).layout.output_bytes
           > 0;
  return any;
}

/* Enqueues operations that set the number of records (results whose number
   varies) to 0 and the accumulator to its initial value, before the kernels.
   Does nothing for a farm without either. Returns: FALSE with an error if it
   fails. */
gboolean
hass_cuda_clear_results (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  const HassDeviceFarm *farm = d->farm;
  HassGpuKit *kit = slot->kit;
  if (!hass_cuda_clears (d))
    return TRUE;
  int code = cuda->clear (kit->out.data, head_bytes (d), kit->stream);
  if (code == 0 && farm->accumulator_init)
    code = cuda->copy (kit->out.data + COUNTER_BYTES, farm->accumulator_init,
                       farm->accumulator_bytes, HASS_CUDA_TO_DEVICE,
                       kit->stream);
  return hass_gpu_check (d->gpu, code, "clear the results", error);
}

/* -- Which outputs are staged --------------------------------------------- */

static gconstpointer
place_of (const HassBlock *b)
{
  return b->output;
}

static gsize
bytes_of (const HassBlock *b)
{
  return b->output_bytes;
}

/* Returns: whether the outputs of a group are copied directly to pinned
   memory. */
static gboolean
may_go_straight (const HassCudaDevice *d, const HassLayout *l)
{
  const HassRectangle *r = hass_layout_rectangles (l);
  if (d->farm->unbundle || d->farm->bundle_deadline_ns > 0
      || l->output_bytes == 0)
    return FALSE;
  if (!r)
    return (l->adjacent_out || !l->has_tiles)
           && hass_layout_is_pinned (l, l->adjacent_out, l->output_bytes,
                                     hass_cudart ()->batch_bytes, place_of,
                                     bytes_of);
  if (l->n_rectangles > MOST_RECTANGLES)
    return FALSE;
  for (guint i = 0; i < l->n_rectangles; i++)
    {
      guint8 *to = l->blocks[r[i].first_block].output;
      if (!to
          || !hass_memory_is_pinned (to,
                                     hass_rectangle_span (&r[i], l->blocks)))
        return FALSE;
    }
  return TRUE;
}

/* -- Room ---------------------------------------------------------------- */

/* Makes a device buffer hold @bytes and sets it to zero if it is newly
   allocated: padding between outputs is copied back with them and must not be
   undefined. Returns: FALSE with an error if memory is insufficient. */
static gboolean
reserve_cleared (HassCudaDevice *d, HassCudaSlot *slot, HassGpuBuffer *buffer,
                 gsize bytes, GError **error)
{
  gsize before = buffer->capacity;
  return hass_cuda_reserve (d, slot, buffer, bytes, error)
         && (buffer->capacity == before
             || hass_gpu_check (d->gpu,
                                hass_cudart ()->clear (buffer->data,
                                                       buffer->capacity,
                                                       slot->kit->stream),
                                "clear device memory", error));
}

/* Makes device and host buffers for slot->record_capacity records. Returns:
   FALSE with an error if memory is insufficient. */
gboolean
hass_cuda_reserve_records (HassCudaDevice *d, HassCudaSlot *slot,
                           GError **error)
{
  gsize bytes = records_size (d, slot->record_capacity);
  return reserve_cleared (d, slot, &slot->kit->records, bytes, error)
         && hass_gpu_reserve_host (d->gpu, &slot->kit->host_records, bytes,
                                   error);
}

/* Finds out which outputs are staged, and makes room for them and for the
   counter and the accumulator. Returns: FALSE with an error. */
static gboolean
reserve_staging (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  slot->staged_from = slot->staged_to = head_bytes (d);
  for (guint i = 0; i < slot->groups->len; i++)
    {
      HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      g->direct_out = may_go_straight (d, &g->layout);
      if (g->direct_out || g->layout.output_bytes == 0)
        continue;
      if (slot->staged_to == head_bytes (d))
        slot->staged_from = g->out_at;
      slot->staged_to = g->out_at + g->layout.output_bytes;
    }
  return (!hass_cuda_clears (d) && slot->staged_from == slot->staged_to)
         || hass_gpu_reserve_host (d->gpu, &slot->kit->host_out,
                                   slot->staged_to, error);
}

/* Makes room for the results of the slot's bundle: its outputs, and 1.5 times
   the records expected from earlier bundles; fewer records if memory is
   insufficient. If the bundle produces more records, it is computed again. */
gboolean
hass_cuda_reserve_results (HassCudaDevice *d, HassCudaSlot *slot,
                           GError **error)
{
  const HassDeviceFarm *farm = d->farm;
  if (!reserve_cleared (d, slot, &slot->kit->out, out_size (d, slot), error)
      || !reserve_staging (d, slot, error))
    return FALSE;
  if (farm->record_bytes == 0)
    return TRUE;
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, 0);
  double wanted = d->record_rate * g->layout.n_elements * 1.5;
  slot->record_capacity = MAX (slot->record_capacity, LEAST_RECORDS);
  slot->record_capacity = MAX (slot->record_capacity, (guint64)wanted);
  for (;;)
    {
      GError *inner = NULL;
      if (hass_cuda_reserve_records (d, slot, &inner))
        return TRUE;
      gboolean last
          = slot->record_capacity <= LEAST_RECORDS
            || !g_error_matches (inner, HASS_ERROR, HASS_ERROR_NO_MEMORY);
      slot->record_capacity = MAX (slot->record_capacity / 2, LEAST_RECORDS);
      if (last)
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      g_clear_error (&inner);
    }
}

/* -- Copies -------------------------------------------------------------- */

/* Enqueues the copy of one rectangle (r->rows rows of equal length) of outputs
   from the GPU to host memory, where @first is its first block. Rows that are
   as long as their distance in host memory are contiguous and take a plain
   copy. Returns: the CUDA code. */
static int
fetch_rectangle (HassCudaSlot *slot, const HassBlock *first,
                 const HassRectangle *r, const guint8 *from)
{
  const HassCudart *cuda = hass_cudart ();
  gsize bytes = r->rows * r->row_bytes;
  if (bytes == 0)
    return 0;
  if (r->rows == 1 || r->row_bytes == first->output_pitch)
    return cuda->copy (first->output, from, bytes, HASS_CUDA_TO_HOST,
                       slot->out_stream);
  return cuda->copy_rows (first->output, first->output_pitch, from,
                          r->row_bytes, r->row_bytes, r->rows,
                          HASS_CUDA_TO_HOST, slot->out_stream);
}

static int
fetch_rectangles (HassCudaSlot *slot, const HassLayout *l, const guint8 *from)
{
  const HassRectangle *r = hass_layout_rectangles (l);
  int code = 0;
  for (guint i = 0; i < l->n_rectangles && code == 0; i++)
    code = fetch_rectangle (slot, &l->blocks[r[i].first_block], &r[i],
                            from + r[i].offset);
  return code;
}

static gboolean
fetch_straight (HassCudaDevice *d, HassCudaSlot *slot, HassCudaGroup *g,
                GError **error)
{
  const HassLayout *l = &g->layout;
  guint8 *from = slot->kit->out.data + g->out_at;
  int code;
  if (l->adjacent_out)
    code = hass_cudart ()->copy (l->blocks[0].output, from, l->output_bytes,
                                 HASS_CUDA_TO_HOST, slot->out_stream);
  else if (l->n_rectangles > 0)
    code = fetch_rectangles (slot, l, from);
  else
    code = hass_cuda_copy_each (l, place_of, bytes_of, from, HASS_CUDA_TO_HOST,
                                slot->out_stream);
  return hass_gpu_check (d->gpu, code, "copy results to the host", error);
}

static gboolean
fetch_bytes (HassCudaDevice *d, HassCudaSlot *slot, gsize at, gsize bytes,
             GError **error)
{
  HassGpuKit *kit = slot->kit;
  return hass_gpu_check (
      d->gpu,
      hass_cudart ()->copy (kit->host_out.data + at, kit->out.data + at, bytes,
                            HASS_CUDA_TO_HOST, slot->out_stream),
      "copy results to the host", error);
}

/* Enqueues the copy to the host of records [first, first + n), and of the
   numbers of the blocks that they belong to if the bundle has several
   blocks. */
gboolean
hass_cuda_fetch_records (HassCudaDevice *d, HassCudaSlot *slot, guint64 first,
                         guint64 n, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *kit = slot->kit;
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, 0);
  gsize blocks_bytes = hass_cuda_record_blocks_bytes (slot->record_capacity);
  gsize at = first * sizeof (guint32);
  int code = 0;
  if (n == 0)
    return TRUE;
  if (g->layout.n > 1)
    code = cuda->copy (kit->host_records.data + at, kit->records.data + at,
                       n * sizeof (guint32), HASS_CUDA_TO_HOST,
                       slot->out_stream);
  at = blocks_bytes + first * d->farm->record_bytes;
  if (code == 0)
    code = cuda->copy (kit->host_records.data + at, kit->records.data + at,
                       n * d->farm->record_bytes, HASS_CUDA_TO_HOST,
                       slot->out_stream);
  slot->n_copied = first + n;
  return hass_gpu_check (d->gpu, code, "copy records to the host", error);
}

static guint64
expected_records (const HassCudaDevice *d, const HassCudaSlot *slot)
{
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, 0);
  double n = d->record_rate * g->layout.n_elements * 1.25 + 64;
  return (guint64)MIN (n, (double)slot->record_capacity);
}

/* Enqueues the copies of all results of the bundle to the host. Outputs go
   directly to the user's memory if possible, the others through the staging
   buffer, from where hass_cuda_deliver() scatters them. Returns: FALSE with an
   error. */
gboolean
hass_cuda_fetch (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  const HassDeviceFarm *farm = d->farm;
  gsize staged_bytes = slot->staged_to - slot->staged_from;
  if (hass_cuda_clears (d) && !fetch_bytes (d, slot, 0, head_bytes (d), error))
    return FALSE;
  for (guint i = 0; i < slot->groups->len; i++)
    {
      HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      if (g->direct_out && !fetch_straight (d, slot, g, error))
        return FALSE;
    }
  if (staged_bytes > 0
      && !fetch_bytes (d, slot, slot->staged_from, staged_bytes, error))
    return FALSE;
  slot->n_copied = 0;
  return farm->record_bytes == 0
         || hass_cuda_fetch_records (d, slot, 0, expected_records (d, slot),
                                     error);
}

/* -- After the copies --------------------------------------------------- */

guint64
hass_cuda_n_records (const HassCudaDevice *d, const HassCudaSlot *slot)
{
  guint64 n = 0;
  if (d->farm->record_bytes > 0)
    memcpy (&n, slot->kit->host_out.data, sizeof n);
  return n;
}

/* Returns: the accumulator of the finished bundle in host memory; NULL if the
   farm has none. */
gconstpointer
hass_cuda_accumulator (const HassCudaDevice *d, const HassCudaSlot *slot)
{
  return d->farm->accumulator_bytes > 0
             ? slot->kit->host_out.data + COUNTER_BYTES
             : NULL;
}

typedef struct
{
  const HassLayout *layout;
  guint64 *offsets, *pitches;
  const guint8 *from;
  gsize step;
} Scatter;

static void
scatter_piece (guint i, gpointer data)
{
  const Scatter *s = data;
  gsize end = MIN ((i + 1) * s->step, s->layout->n);
  for (gsize k = i * s->step; k < end; k++)
    hass_layout_copy_out (&s->layout->blocks[k], s->from + s->offsets[k],
                          s->pitches[k]);
}

static gboolean
scatter (HassCudaDevice *d, HassCudaSlot *slot, const HassCudaGroup *g,
         GError **error)
{
  const HassLayout *l = &g->layout;
  guint8 *from = slot->kit->host_out.data + g->out_at;
  g_autofree guint64 *offsets = g_new (guint64, 2 * l->n + 1);
  guint64 *pitches = offsets + l->n + 1;
  hass_layout_places (l, offsets, pitches);
  if (d->farm->unbundle)
    {
      HassStaging staging = { from, l->output_bytes, offsets };
      gint64 begin_ns = hass_clock_ns ();
      gboolean ok
          = hass_staging_scatter (l->blocks, l->n, &staging, d->farm->unbundle,
                                  d->farm->user_data, error);
      slot->host_ns += hass_clock_ns () - begin_ns;
      return ok;
    }
  gsize pieces = l->output_bytes >= CREW_BYTES ? MIN (l->n, 64) : 1;
  Scatter s = { l, offsets, pitches, from, (l->n + pieces - 1) / pieces };
  slot->host_ns += hass_copy_crew_run ((guint)((l->n + s.step - 1) / s.step),
                                       scatter_piece, &s);
  return TRUE;
}

/* Copies the outputs that are in the staging buffer to the user's memory,
   after their copy from the device has ended. Returns: FALSE with an error if
   the farm's unbundler fails. */
gboolean
hass_cuda_deliver (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  for (guint i = 0; i < slot->groups->len; i++)
    {
      const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      if (!g->direct_out && g->layout.output_bytes > 0
          && !scatter (d, slot, g, error))
        return FALSE;
    }
  return TRUE;
}

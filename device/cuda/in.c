/* SPDX-License-Identifier: MIT */
/* in.c: brings the inputs of a bundle to a GPU.

   DESIGN. The first way that applies:
   1. The bundler of the farm fills pinned staging.
   2. Inputs in pinned memory are copied from there: contiguous ones at once,
      scattered ones in a batch if they are large enough on average.
   3. 1 MiB or more of contiguous pageable memory: either its pages are pinned
      for the copy or it is staged, as hass_gpu_prefers_pinning() decides. The
      partial pages at both ends, and halos in pages of a neighbouring block,
      are always staged.
   4. Scattered inputs are gathered into pinned staging by several threads,
      while the part that is gathered is being copied (gather.c).
   The tables that kernels need are copied with the first bytes.

   A copy from pinned memory is extended to whole lines of 256 bytes within the
   loads: a copy that begins with a halo of a few bytes is 0.7 % slower.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include "hass/error.h"

#define PAGE_BYTES ((gsize)4096)
#define COPY_LINE ((gsize)HASS_LAYOUT_ALIGN)
/* Most bytes of inputs for which the slot has staging of its own. A guess:
   less, and many small bundles need a copy more for their tables; more, and
   staging of each slot takes long to pin. */
#define MOST_OWN_BYTES ((gsize)256 << 10)
/* Bundles of a slot that pass through the ring before its own staging grows to
   their size. Measured on an H200: pinned memory takes 0.5 ms a MiB, and the
   way through the ring 0.003 to 0.005 ms a MiB longer. */
#define RING_USES 128

/* -- 2. Pinned memory --------------------------------------------------- */

/* Returns: the address where the input of the block's load begins, if @begin
   lies in it; else @begin. The bytes from there on belong to the farm and may
   be copied. */
static gsize
load_begin (const HassBlock *b, gsize begin)
{
  gsize load = b->load ? (gsize)b->load->input : 0;
  return load > 0 && load <= begin && begin <= load + b->load->input_bytes
             ? load
             : begin;
}

static gsize
load_end (const HassBlock *b, gsize end)
{
  gsize load = load_begin (b, end);
  return load < end ? MAX (load + b->load->input_bytes, end) : end;
}

static gconstpointer
place_of (const HassBlock *b)
{
  return b->input_row_bytes > 0 ? NULL : hass_layout_input (b);
}

/* Returns: whether the inputs of a group are copied directly from pinned
   memory. */
static gboolean
may_go_straight (const HassCudaDevice *d, const HassLayout *l)
{
  return !d->farm->bundle && l->input_bytes > 0
         && hass_layout_is_pinned (l, l->adjacent, l->input_bytes,
                                   hass_cudart ()->batch_bytes, place_of,
                                   hass_layout_input_bytes);
}

/* Enqueues the copies of scattered inputs in pinned memory. */
static gboolean
send_each (HassCudaDevice *d, HassCudaSlot *slot, const HassCudaGroup *group,
           GError **error)
{
  const HassLayout *l = &group->layout;
  guint8 *to = slot->kit->in.data + group->in_at + l->table_bytes;
  int code = hass_cuda_copy_each (l, place_of, hass_layout_input_bytes, to,
                                  HASS_CUDA_TO_DEVICE, slot->in_stream);
  return hass_gpu_check (d->gpu, code, "copy to the device", error);
}

/* Enqueues the copy of adjacent pinned inputs, extended on both sides to whole
   lines of COPY_LINE bytes, which copy faster, but never beyond the loads:
   another thread may be writing there. The device buffer has room for a line
   behind the inputs, and before them if there are no tables. */
static gboolean
send_lines (HassCudaDevice *d, HassCudaSlot *slot, const HassCudaGroup *group,
            GError **error)
{
  const HassLayout *l = &group->layout;
  gsize begin = (gsize)hass_layout_input (&l->blocks[0]);
  gsize end = begin + l->input_bytes, first = begin;
  if (l->table_bytes == 0)
    first = MAX (begin & ~(COPY_LINE - 1), load_begin (&l->blocks[0], begin));
  gsize last = MIN ((end + COPY_LINE - 1) & ~(COPY_LINE - 1),
                    load_end (&l->blocks[l->n - 1], end));
  if (!hass_memory_is_pinned ((gconstpointer)first, last - first))
    first = begin, last = end;
  return hass_cuda_copy_in (d, slot,
                            group->in_at + l->table_bytes - (begin - first),
                            (gconstpointer)first, last - first, error);
}

/* -- 3. Pages pinned for the copy --------------------------------------- */

/* Finds the whole pages in the group's contiguous inputs: @first is their
   offset in bytes, @bytes their length. Only these may be pinned for the
   bundle, as a page that is partly outside may be pinned by another bundle as
   well. Returns: FALSE if there is no whole page. */
static gboolean
own_pages (const HassLayout *l, gsize *first, gsize *bytes)
{
  const HassBlock *a = &l->blocks[0], *z = &l->blocks[l->n - 1];
  gsize base = (gsize)hass_layout_input (a);
  gsize begin = (gsize)a->input, end = (gsize)z->input + z->input_bytes;
  begin = (begin + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
  end &= ~(PAGE_BYTES - 1);
  if (begin >= end)
    return FALSE;
  *first = begin - base;
  *bytes = end - begin;
  return TRUE;
}

/* Pins the pages of the group's inputs and enqueues the copy directly from
   them. Returns: TRUE if the copy is enqueued; FALSE without an error if the
   inputs must be staged instead (pages that cannot be pinned), with one if the
   copy fails. */
static gboolean
send_pinning (HassCudaDevice *d, HassCudaSlot *slot, HassCudaGroup *group,
              GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  const HassLayout *l = &group->layout;
  const guint8 *stretch = hass_layout_input (&l->blocks[0]);
  gsize first, bytes;
  if (slot->registered || !own_pages (l, &first, &bytes))
    return FALSE;
  gint64 begin_ns = hass_clock_ns ();
  gpointer pages = (gpointer)(stretch + first);
  if (cuda->register_host (pages, bytes) != 0)
    {
      cuda->last_error ();
      d->pins_refused = TRUE;
      return FALSE;
    }
  slot->registered = pages;
  slot->registered_of = l->input_bytes;
  slot->register_ns = hass_clock_ns () - begin_ns;
  slot->host_ns += slot->register_ns;
  d->transfers.registered_bytes += bytes;
  return hass_cuda_send_staged (d, slot, group, 0, first, error)
         && hass_cuda_copy_in (d, slot, group->in_at + l->table_bytes + first,
                               pages, bytes, error)
         && (first + bytes == l->input_bytes
             || hass_cuda_send_staged (d, slot, group, first + bytes,
                                       l->input_bytes, error));
}

/* Unpins the pages that were pinned for the bundle, after its inputs have
   arrived on the device. */
void
hass_cuda_sent (HassCudaDevice *d, HassCudaSlot *slot)
{
  if (!slot->registered)
    return;
  gint64 begin_ns = hass_clock_ns ();
  hass_gpu_check (d->gpu, hass_cudart ()->unregister_host (slot->registered),
                  "unpin pages", NULL);
  gint64 unpin_ns = hass_clock_ns () - begin_ns;
  slot->host_ns += unpin_ns;
  hass_gpu_way_took (d->gpu, HASS_GPU_PINNED, slot->registered_of,
                     slot->register_ns + unpin_ns);
  slot->registered = NULL;
}

/* -- A group ------------------------------------------------------------ */

/* Way 1, the farm's bundler: the user's callback gathers the group's inputs in
   the pinned staging buffer, and their copy to the device is enqueued. */
static gboolean
send_bundled (HassCudaDevice *d, HassCudaSlot *slot, HassCudaGroup *group,
              GError **error)
{
  HassLayout *l = &group->layout;
  guint8 *tables = slot->kit->host_in.data + group->host_at;
  guint64 two[2];
  guint64 *offsets
      = l->n > 1 ? (guint64 *)(gpointer)(tables + l->offsets_at) : two;
  HassStaging staging = { .data = tables + l->table_bytes,
                          .capacity = l->input_bytes,
                          .offsets = offsets };
  gint64 begin_ns = hass_clock_ns ();
  if (!hass_staging_gather (l->blocks, l->n, &staging, d->farm->bundle,
                            d->farm->user_data, error))
    return FALSE;
  slot->host_ns += hass_clock_ns () - begin_ns;
  group->bundle.input_bytes = offsets[l->n];
  group->bundle.input_start = offsets[0];
  d->transfers.staged_bytes += offsets[l->n];
  return hass_cuda_copy_in (d, slot, group->in_at, tables,
                            l->table_bytes + offsets[l->n], error);
}

static gboolean
send_group (HassCudaDevice *d, HassCudaSlot *slot, HassCudaGroup *group,
            GError **error)
{
  const HassLayout *l = &group->layout;
  GError *inner = NULL;
  guint8 *tables = slot->kit->host_in.data + group->host_at;
  hass_layout_fill (l, d->farm->gpu_function_of, tables);
  hass_chain_fill (&slot->chain, tables);
  if (d->farm->bundle)
    return send_bundled (d, slot, group, error);
  if (group->direct_in)
    {
      d->transfers.direct_bytes += l->input_bytes;
      return hass_cuda_send_tables (d, slot, group, error)
             && (l->adjacent ? send_lines (d, slot, group, error)
                             : send_each (d, slot, group, error));
    }
  if (l->adjacent && l->input_bytes >= HASS_GPU_CHOICE_BYTES && !d->pins_refused
      && hass_gpu_prefers_pinning (d->gpu, l->input_bytes))
    {
      if (send_pinning (d, slot, group, &inner))
        return TRUE;
      if (inner)
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
    }
  return hass_cuda_send_staged (d, slot, group, 0, l->input_bytes, error);
}

/* Returns: whether the inputs of a group pass through the ring. Small ones are
   copied at once with their tables; a piece of a tile may be anywhere; and
   staging of the slot is faster where there is enough of it. */
static gboolean
passes_through_ring (const HassCudaDevice *d, const HassCudaSlot *slot,
                     const HassCudaGroup *g)
{
  const HassLayout *l = &g->layout;
  const HassGpuKit *kit = slot->kit;
  return !d->farm->bundle && !g->direct_in && l->input_bytes > MOST_OWN_BYTES
         && !l->has_tiles && (l->adjacent || l->n > 1)
         && kit->host_in.capacity
                < l->table_bytes + l->input_bytes + HASS_STAGING_GUARD
         && kit->ringed_bytes / RING_USES < l->input_bytes;
}

/* Returns: the bytes that a group may need in the slot's own pinned staging,
   its tables included. */
static gsize
staging_bytes (const HassCudaGroup *group)
{
  const HassLayout *l = &group->layout;
  return l->table_bytes
         + (group->direct_in || group->rings
                ? 0
                : l->input_bytes + HASS_STAGING_GUARD);
}

/* Places the groups of the slot's bundle in its input buffer and makes room for
   them. Returns: FALSE with an error if memory is insufficient. */
gboolean
hass_cuda_place (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  gsize device_bytes = COPY_LINE, host_bytes = 0;
  gboolean rings = FALSE;
  for (guint i = 0; i < slot->groups->len; i++)
    {
      HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      gsize bytes = g->layout.table_bytes + g->layout.input_bytes;
      g->in_at = device_bytes;
      g->direct_in = may_go_straight (d, &g->layout);
      g->rings = passes_through_ring (d, slot, g);
      rings |= g->rings;
      g->host_at = host_bytes;
      host_bytes = hass_layout_aligned (host_bytes + staging_bytes (g));
      device_bytes
          = (device_bytes + bytes + 2 * COPY_LINE - 1) & ~(COPY_LINE - 1);
    }
  if (host_bytes > slot->kit->host_in.capacity)
    slot->kit->ringed_bytes = 0;
  return (!rings || hass_gpu_kit_ring (d->gpu, d->slots[0].kit, error))
         && hass_cuda_reserve (d, slot, &slot->kit->in, device_bytes, error)
         && hass_gpu_reserve_host (d->gpu, &slot->kit->host_in, host_bytes,
                                   error);
}

/* Enqueues the copies of all inputs of a bundle that has been placed. Returns:
   FALSE with an error if a copy fails. */
gboolean
hass_cuda_send (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  for (guint i = 0; i < slot->groups->len; i++)
    {
      HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, i);
      g->bundle.input_bytes = g->layout.input_bytes;
      if (!send_group (d, slot, g, error))
        return FALSE;
    }
  return TRUE;
}

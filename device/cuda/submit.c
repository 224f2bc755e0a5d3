/* SPDX-License-Identifier: MIT */
/* submit.c: a bundle's way onto a GPU; steps 1 and 3 of cuda.c.

   DESIGN. Blocks with the same GPU worker form a group; only in a function farm
   can a bundle have several. The kernels of a single group follow its inputs on
   the stream of the slot; several groups run on streams of their own, which
   wait for the inputs, and the copies of the results wait for all of them.

   Where both inputs and outputs are large, the copies of all bundles are on one
   stream for each direction, so they take turns. If bundles in flight shared
   the link, they would all have their inputs at the same time and then their
   results, and meanwhile the other direction would be idle. Large inputs alone
   share it: two copies at a time leave no gaps, and those between copies that
   take turns are 2 % of the time of 32 MiB.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include "device/copy_crew.h"
#include "pool/callback_error.h"

/* Bytes of scattered input for each thread that is woken to help with
   gathering. A guess: with fewer bytes waking costs more than the help saves;
   with more, gathering takes longer than necessary. */
#define HELPED_BYTES ((gsize)256 << 10)
/* Least bytes of inputs and of outputs of a bundle whose copies take turns with
   those of other bundles. A guess: less, and waiting costs more than the turn
   gains; 256 KiB is alike. */
#define IN_TURN_BYTES ((gsize)1 << 20)

/* -- Groups ------------------------------------------------------------- */

static void
add_group (HassCudaDevice *d, HassCudaSlot *slot, const HassBlock *blocks,
           gsize n)
{
  HassCudaGroup group = { .worker = hass_device_worker (d->farm, &blocks[0]) };
  hass_layout_init (&group.layout, blocks, n, d->farm->gpu_function_of != NULL,
                    slot->rectangles, d->farm->join_tiles);
  group.layout.table_bytes
      = hass_chain_place (&slot->chain, group.layout.table_bytes);
  g_array_append_val (slot->groups, group);
}

/* Sorts the blocks of a bundle into slot->sorted so that blocks with the same
   GPU worker are adjacent, in O(blocks * workers) time. */
static void
sort_by_worker (HassCudaDevice *d, HassCudaSlot *slot, const HassBlock *blocks,
                gsize n)
{
  g_autofree gboolean *taken = g_new0 (gboolean, n);
  g_array_set_size (slot->sorted, 0);
  for (gsize i = 0; i < n; i++)
    {
      HassGpuWorkerFunc worker = hass_device_worker (d->farm, &blocks[i]);
      for (gsize k = i; k < n && !taken[i]; k++)
        if (!taken[k] && hass_device_worker (d->farm, &blocks[k]) == worker)
          {
            g_array_append_vals (slot->sorted, &blocks[k], 1);
            taken[k] = k > i;
          }
    }
}

static void
make_groups (HassCudaDevice *d, HassCudaSlot *slot, const HassBlock *blocks,
             gsize n)
{
  gboolean alike = TRUE;
  g_array_set_size (slot->groups, 0);
  if (slot->rectangles->len > 0)
    g_array_set_size (slot->rectangles, 0);
  for (gsize i = 1; i < n && alike && d->farm->gpu_worker_of; i++)
    alike = hass_device_worker (d->farm, &blocks[i])
            == hass_device_worker (d->farm, &blocks[0]);
  if (alike)
    {
      add_group (d, slot, blocks, n);
      return;
    }
  sort_by_worker (d, slot, blocks, n);
  const HassBlock *sorted = (const HassBlock *)(gpointer)slot->sorted->data;
  for (gsize first = 0, i = 1; i <= n; i++)
    if (i == n
        || hass_device_worker (d->farm, &sorted[i])
               != hass_device_worker (d->farm, &sorted[first]))
      {
        add_group (d, slot, &sorted[first], i - first);
        first = i;
      }
}

/* -- Kernels ------------------------------------------------------------ */

/* Fills in g->bundle, the description of the bundle that the GPU worker gets:
   device addresses of inputs, outputs, records, accumulator and constants. */
static void
describe_bundle (HassCudaDevice *d, HassCudaSlot *slot, HassCudaGroup *g)
{
  const HassLayout *l = &g->layout;
  const guint8 *tables = slot->kit->in.data + g->in_at;
  HassGpuBuffer *records = &slot->kit->records;
  HassBundle *b = &g->bundle;
#define TABLE(at) (l->at == G_MAXSIZE ? NULL : (gconstpointer)(tables + l->at))
  b->n_blocks = l->n;
  b->blocks = l->blocks;
  b->input = tables + l->table_bytes;
  b->offsets = TABLE (offsets_at);
  b->halos = d->farm->bundle ? NULL : TABLE (halos_at);
  if (!d->farm->bundle)
    b->input_start
        = hass_layout_halo_bytes (&l->blocks[0], l->blocks[0].halo_before);
  b->output = slot->kit->out.data + g->out_at;
  b->output_offsets = TABLE (output_offsets_at);
  b->output_pitches = TABLE (output_pitches_at);
  b->rectangles = hass_layout_rectangles (l);
  b->n_rectangles = l->n_rectangles;
  b->output_bytes = l->output_bytes;
  b->elements = TABLE (elements_at);
  b->n_elements = l->n_elements;
  b->functions = TABLE (functions_at);
#undef TABLE
  if (d->farm->accumulator_bytes > 0)
    b->accumulator = slot->kit->out.data + HASS_LAYOUT_ALIGN;
  if (d->farm->record_bytes > 0)
    {
      b->record_blocks = (guint32 *)(gpointer)records->data;
      b->records = records->data
                   + hass_cuda_record_blocks_bytes (slot->record_capacity);
      b->n_records = (guint64 *)(gpointer)slot->kit->out.data;
      b->record_capacity = slot->record_capacity;
      b->record_bytes = d->farm->record_bytes;
    }
  b->constants = (const gpointer *)d->constant_data;
  b->n_constants = d->farm->n_constants;
  hass_chain_describe (&slot->chain, b, tables,
                       slot->kit->out.data + slot->scratch_at);
}

static gboolean
call_worker (HassCudaDevice *d, HassGpuWorkerFunc worker,
             const HassBundle *bundle, gpointer stream, GError **error)
{
  GError *inner = NULL;
  gboolean ok
      = worker
        && worker (bundle, (HassGpuStream *)stream, d->farm->user_data, &inner);
  /* Finds the error of a kernel launch that the user's worker did not check. */
  int code = hass_cudart ()->last_error ();
  if (code != 0)
    hass_gpu_check (d->gpu, code, "GPU worker", inner ? NULL : &inner);
  if (hass_callback_ok (ok, &inner, HASS_ERROR_WORKER))
    return TRUE;
  g_propagate_prefixed_error (error, inner, "%s: GPU worker: ", d->gpu->name);
  return FALSE;
}

/* Calls the workers of the stages that a group passes, one after another on
   @stream. Returns: FALSE with an error if one fails. */
static gboolean
call_stages (HassCudaDevice *d, HassCudaSlot *slot, guint group,
             gpointer stream, GError **error)
{
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, group);
  gboolean ok = TRUE;
  for (guint i = 0; i < slot->chain.n && ok; i++)
    ok = call_worker (d, g->worker,
                      hass_chain_bundle (&slot->chain, i, &g->bundle), stream,
                      error);
  return ok;
}

/* Calls the GPU workers of a bundle with several groups, each on a side
   stream, so that their kernels run concurrently. The side streams begin after
   the inputs have arrived, and the main stream waits for all of them. Returns:
   FALSE with an error if one fails. */
static gboolean
call_workers_aside (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *kit = slot->kit;
  guint n = slot->groups->len;
  gboolean ok = hass_gpu_kit_side (d->gpu, kit, n, error);
  guint streams = MIN (n, HASS_GPU_SIDE_STREAMS);
  for (guint i = 0; i < streams && ok; i++)
    ok = hass_gpu_check (d->gpu, cuda->stream_wait (kit->side[i], kit->copied),
                         "wait for inputs", error);
  for (guint i = 0; i < n && ok; i++)
    ok = call_stages (d, slot, i, kit->side[i % streams], error);
  /* The main stream waits for the side streams also after a failure, so that
     draining it covers their work. */
  for (guint i = 0; i < streams && i < kit->n_side; i++)
    {
      int code = cuda->event_record (kit->joined[i], kit->side[i]);
      if (code == 0)
        code = cuda->stream_wait (kit->stream, kit->joined[i]);
      if (!hass_gpu_check (d->gpu, code, "join streams", ok ? error : NULL))
        ok = FALSE;
    }
  return ok;
}

static gboolean
has_inputs (const HassCudaSlot *slot)
{
  gsize bytes = 0;
  for (guint i = 0; i < slot->groups->len; i++)
    {
      const HassLayout *l
          = &g_array_index (slot->groups, HassCudaGroup, i).layout;
      bytes += l->table_bytes + l->input_bytes;
    }
  return bytes > 0;
}

/* Sets the streams for a bundle's copies. Several groups wait for more than the
   inputs, so their copies are on the slot's own. Returns: FALSE with an error.
 */
static gboolean
choose_streams (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  HassGpuKit *links = d->slots[0].kit;
  const HassLayout *l = &g_array_index (slot->groups, HassCudaGroup, 0).layout;
  slot->in_stream = slot->out_stream = slot->kit->stream;
  if (MIN (l->input_bytes, l->output_bytes) < IN_TURN_BYTES
      || slot->groups->len > 1)
    return TRUE;
  if (!hass_gpu_kit_links (d->gpu, links, error))
    return FALSE;
  slot->in_stream = links->link[0];
  slot->out_stream = links->link[1];
  return TRUE;
}

/* Has what is enqueued next on stream @to wait for what is on stream @from now,
   behind which @event is recorded. Returns: FALSE with an error. */
static gboolean
follow (HassCudaDevice *d, gpointer to, gpointer from, gpointer event,
        GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  int code = cuda->event_record (event, from);
  if (code == 0 && to != from)
    code = cuda->stream_wait (to, event);
  return hass_gpu_check (d->gpu, code, "record an event", error);
}

/* Enqueues the copies of a bundle's inputs, for which the slot's stream waits.
 */
static gboolean
send_inputs (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  HassGpuKit *kit = slot->kit;
  gpointer stream = slot->in_stream;
  slot->times_in = has_inputs (slot) || hass_cuda_clears (d);
  return (!slot->times_in
          || hass_gpu_check (d->gpu,
                             hass_cudart ()->event_record (kit->begun, stream),
                             "record an event", error))
         && hass_cuda_send (d, slot, error)
         && (stream == kit->stream
             || follow (d, kit->stream, stream, kit->copied, error));
}

/* Enqueues the copies of a bundle's results, which wait for its kernels. */
static gboolean
fetch_results (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  HassGpuKit *kit = slot->kit;
  gpointer stream = slot->out_stream;
  return (!slot->times_out
          || follow (d, stream, kit->stream, kit->computed, error))
         && hass_cuda_fetch (d, slot, error)
         && hass_gpu_check (d->gpu,
                            hass_cudart ()->event_record (kit->done, stream),
                            "record an event", error);
}

/* Step 3, kernels: enqueues the bundle's kernels and the copies of its results
   to the host. Called a second time for a bundle whose records did not fit
   into their buffer. Returns: FALSE with an error. */
gboolean
hass_cuda_compute (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  HassGpuKit *kit = slot->kit;
  slot->n_runs++;
  for (guint i = 0; i < slot->groups->len; i++)
    describe_bundle (d, slot, &g_array_index (slot->groups, HassCudaGroup, i));
  slot->times_out = hass_cuda_brings_results (d, slot);
  /* Inputs of another stream have recorded their event. */
  gboolean has_event = slot->in_stream != kit->stream && slot->n_runs == 1;
  if (!hass_cuda_clear_results (d, slot, error)
      || (!has_event
          && !hass_gpu_check (
              d->gpu, hass_cudart ()->event_record (kit->copied, kit->stream),
              "record an event", error)))
    return FALSE;
  gint64 begin_ns = hass_clock_ns ();
  if (!slot->counted)
    hass_gpu_bundle_begins (d->gpu);
  slot->counted = TRUE;
  gboolean ok = slot->groups->len > 1
                    ? call_workers_aside (d, slot, error)
                    : call_stages (d, slot, 0, kit->stream, error);
  slot->worker_ns += hass_clock_ns () - begin_ns;
  return ok && fetch_results (d, slot, error);
}

/* Wakes the threads that will help to gather inputs, before the bundle is laid
   out, if its first two blocks are not adjacent: waking then overlaps the
   layout. */
static void
expect_gathering (const HassCudaDevice *d, const HassBlock *blocks, gsize n)
{
  const HassBlock *a = &blocks[0];
  if (n > 1 && !d->farm->bundle && a->input
      && blocks[1].input != a->input + a->input_bytes)
    hass_copy_crew_expect ((guint)MIN (n * a->input_bytes / HELPED_BYTES, 64));
}

/* Makes room for a bundle on the GPU and in staging, and measures how long that
   takes. Returns: FALSE with an error. */
static gboolean
make_room (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  gint64 begin_ns = hass_clock_ns ();
  gboolean ok = hass_cuda_reserve_results (d, slot, error)
                && hass_cuda_place (d, slot, error);
  slot->setup_ns = hass_clock_ns () - begin_ns;
  return ok;
}

/* Records the epoch event, time 0 of the farm on this device, when the farm's
   first bundle is submitted; the ends of kernels are measured from it.
   Returns: FALSE with an error. */
static gboolean
begin_epoch (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  if (d->has_epoch)
    return TRUE;
  d->epoch_ns = hass_clock_ns ();
  d->has_epoch = hass_gpu_check (
      d->gpu,
      hass_cudart ()->event_record (d->slots[0].kit->epoch, slot->kit->stream),
      "record an event", error);
  return d->has_epoch;
}

/* Frees the slot: its bundle has left the GPU and no longer counts as in
   flight. */
void
hass_cuda_leave (HassCudaDevice *d, HassCudaSlot *slot)
{
  slot->busy = FALSE;
  if (slot->counted)
    hass_gpu_bundle_ends (d->gpu);
  slot->counted = FALSE;
}

/* Waits for what a bundle enqueued before its submission failed, and frees the
   slot. If this work does not end, the slot stays busy and the error becomes
   HASS_ERROR_DEVICE: submitting a smaller bundle would not help either. */
static void
fail_submitted (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  if (hass_cuda_drain (d, slot))
    {
      hass_cuda_leave (d, slot);
      return;
    }
  slot->busy = TRUE;
  if (error && *error)
    (*error)->code = HASS_ERROR_DEVICE;
}

gboolean
hass_cuda_submit (HassDevice *device, guint index, const HassBlock *blocks,
                  gsize n, GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  HassCudaSlot *slot = &d->slots[index];
  if (d->lost || !hass_gpu_usable (d->gpu, error))
    {
      if (d->lost && (!error || !*error))
        g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s is lost",
                     d->gpu->name);
      return FALSE;
    }
  g_return_val_if_fail (!slot->busy && n > 0, FALSE);
  if (!hass_chain_make (&slot->chain, d->farm, blocks, n, error))
    return FALSE;
  expect_gathering (d, blocks, n);
  make_groups (d, slot, blocks, n);
  slot->submit_ns = hass_clock_ns ();
  slot->n_blocks = n;
  slot->n_runs = 0;
  slot->host_ns = slot->worker_ns = 0;
  gboolean ok = choose_streams (d, slot, error) && make_room (d, slot, error)
                && begin_epoch (d, slot, error) && send_inputs (d, slot, error)
                && hass_cuda_compute (d, slot, error);
  hass_cuda_note_peak (d);
  if (!ok)
    {
      fail_submitted (d, slot, error);
      return FALSE;
    }
  slot->busy = TRUE;
  if (d->n_queued == 0)
    d->oldest_ns = hass_clock_ns ();
  d->queue[d->n_queued++] = index;
  return TRUE;
}

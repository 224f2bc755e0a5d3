/* SPDX-License-Identifier: MIT */
/* cuda.c: NVIDIA GPUs as devices.

   DESIGN. A device has a few slots, each with a stream, buffers and pinned
   staging of its own, so that one bundle is copied in while another is
   computed and a third is copied out. Life of a bundle:

   1. submit lays it out, enqueues its inputs (cuda_in.c), clears what
      kernels add to, calls the farm's GPU worker, which enqueues kernels, and
      enqueues the copies of its results (cuda_out.c). In a function farm the
      blocks are grouped by their workers, and groups run on streams of their
      own at the same time.
   2. wait sleeps on the last event of the oldest bundle (cuda_wait.c).
   3. A bundle with more records than its buffer holds is computed again with
      a larger one; its inputs are still there.
   4. A failure leaves nothing behind: what was enqueued is waited for. After
      a sticky error, or past the bundle's deadline, the device is lost and
      what it holds is left to it.

   Thread safety: as hass/device.h says. */
#include "cuda-private.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"
#include "topology-private.h"

#define LATENCY_NS 12000
#define LINK_BYTES_PER_NS 25
#define PART_BYTES ((guint64)32 << 20)
#define FREE_PART 0.95      /* of free memory that hass may take */
#define FRESH_NS 2000000000 /* an answer about free memory */
#define LEAST_RECORDS 1024
#define MOST_RUNS 4

/* -- Opening and closing ------------------------------------------------ */

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  HassGpu *gpu = ((HassCudaDevice *)device)->gpu;
  const HassCudaProperties *p = &gpu->properties;
  guint64 limit = G_MAXUINT64;
  hass_gpus_memory_limit (&limit, NULL);
  *traits = (HassDeviceTraits){ .name = gpu->name,
                                .kind = HASS_DEVICE_GPU,
                                .cores = p->multiprocessors,
                                .width = (guint64)p->multiprocessors
                                         * p->threads_per_multiprocessor,
                                .latency_ns = LATENCY_NS,
                                .link_bytes_per_ns = LINK_BYTES_PER_NS,
                                .max_in_flight = HASS_CUDA_SLOTS,
                                .link = gpu->link,
                                .memory_bytes = MIN (limit, p->memory_bytes),
                                .part_bytes = PART_BYTES,
                                .model = p->name };
}

/* What hass may hold on this GPU in all. The driver takes long to say what is
   free, so a recent answer serves again. */
static gboolean
set_budget (HassCudaDevice *d, GError **error)
{
  HassGpu *gpu = d->gpu;
  gint64 now_ns = hass_cuda_now ();
  gsize free_bytes = 0, total = 0;
  guint64 limit;
  pthread_mutex_lock (&gpu->lock);
  gboolean fresh = gpu->budget_ns > 0 && now_ns < gpu->budget_ns + FRESH_NS;
  pthread_mutex_unlock (&gpu->lock);
  if (!hass_gpus_memory_limit (&limit, error)
      || (!fresh
          && !hass_gpu_check (gpu,
                              hass_cudart ()->memory_info (&free_bytes, &total),
                              "ask for free memory", error)))
    return FALSE;
  pthread_mutex_lock (&gpu->lock);
  if (!fresh)
    {
      gpu->budget_bytes = gpu->held_bytes + (guint64)(free_bytes * FREE_PART);
      gpu->budget_ns = now_ns;
    }
  d->budget = MIN (limit, gpu->budget_bytes);
  pthread_mutex_unlock (&gpu->lock);
  return TRUE;
}

static void
give_kits_back (HassCudaDevice *d)
{
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    if (d->slots[i].kit)
      hass_gpu_kit_return (d->gpu, g_steal_pointer (&d->slots[i].kit));
}

static void
free_constants (HassCudaDevice *d)
{
  for (guint i = 0; d->constants && i < d->farm->n_constants; i++)
    hass_gpu_release (d->gpu, &d->constants[i]);
  g_clear_pointer (&d->constants, g_free);
  g_clear_pointer (&d->constant_data, g_free);
}

static gboolean
open_device (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  /* First of all: what is allocated here lies near, too. */
  hass_topology_bind_near (d->gpu->properties.pci);
  gboolean ok = hass_gpu_usable (d->gpu, error)
                && hass_gpu_check (
                    d->gpu, hass_cudart ()->set_device ((int)d->gpu->index),
                    "open the device", error)
                && set_budget (d, error);
  d->farm = farm;
  d->lost = FALSE;
  d->n_queued = d->n_failing = 0;
  d->transfers = (HassTransfers){ 0 };
  d->record_rate = farm->records_per_element;
  for (guint i = 0; i < HASS_CUDA_SLOTS && ok; i++)
    {
      d->slots[i].busy = FALSE;
      d->slots[i].kit = hass_gpu_kit_take (d->gpu, error);
      ok = d->slots[i].kit != NULL;
    }
  ok = ok && hass_cuda_send_constants (d, error);
  if (!ok)
    {
      free_constants (d);
      give_kits_back (d);
    }
  return ok;
}

static void
close_device (HassDevice *device)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  /* What a lost device holds may still be in use by it. */
  if (d->lost)
    {
      for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
        if (d->slots[i].busy)
          hass_gpu_kit_abandon (d->gpu, g_steal_pointer (&d->slots[i].kit));
      for (guint i = 0; i < d->farm->n_constants; i++)
        if (d->constants[i].data)
          hass_gpu_abandon (d->gpu, d->constants[i]);
      g_clear_pointer (&d->constants, g_free);
      g_clear_pointer (&d->constant_data, g_free);
    }
  free_constants (d);
  give_kits_back (d);
}

static void
transfers (HassDevice *device, HassTransfers *transfers)
{
  *transfers = ((HassCudaDevice *)device)->transfers;
}

/* -- 1. Submitting ------------------------------------------------------ */

static HassGpuWorkerFunc
worker_of (const HassDeviceFarm *farm, const HassBlock *block)
{
  return farm->gpu_worker_of ? farm->gpu_worker_of (block->load)
                             : farm->gpu_worker;
}

static void
add_group (HassCudaDevice *d, HassCudaSlot *slot, const HassBlock *blocks,
           gsize n)
{
  HassCudaGroup group = { .worker = worker_of (d->farm, &blocks[0]) };
  hass_layout_init (&group.layout, blocks, n, d->farm->gpu_function_of != NULL);
  g_array_append_val (slot->groups, group);
}

/* Blocks with the same worker become neighbours; few workers are expected. */
static void
sort_by_worker (HassCudaDevice *d, HassCudaSlot *slot, const HassBlock *blocks,
                gsize n)
{
  g_autofree gboolean *taken = g_new0 (gboolean, n);
  g_array_set_size (slot->sorted, 0);
  for (gsize i = 0; i < n; i++)
    {
      HassGpuWorkerFunc worker = worker_of (d->farm, &blocks[i]);
      for (gsize k = i; k < n && !taken[i]; k++)
        if (!taken[k] && worker_of (d->farm, &blocks[k]) == worker)
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
  for (gsize i = 1; i < n && alike && d->farm->gpu_worker_of; i++)
    alike = worker_of (d->farm, &blocks[i]) == worker_of (d->farm, &blocks[0]);
  if (alike)
    {
      add_group (d, slot, blocks, n);
      return;
    }
  sort_by_worker (d, slot, blocks, n);
  const HassBlock *sorted = (const HassBlock *)(gpointer)slot->sorted->data;
  for (gsize first = 0, i = 1; i <= n; i++)
    if (i == n
        || worker_of (d->farm, &sorted[i])
               != worker_of (d->farm, &sorted[first]))
      {
        add_group (d, slot, &sorted[first], i - first);
        first = i;
      }
}

/* Freeing memory waits for all that runs on the device, so a farm whose
   bundles have a deadline frees none while one is there, but for that in the
   slot that is being filled. */
static gboolean
may_free (const HassCudaDevice *d, const HassCudaSlot *filling)
{
  if (d->farm->bundle_deadline_ns == 0)
    return TRUE;
  for (guint i = 0; i < d->n_queued; i++)
    if (&d->slots[d->queue[i]] != filling)
      return FALSE;
  return TRUE;
}

static gboolean
may_grow (const HassCudaDevice *d, const HassCudaSlot *filling,
          const HassGpuBuffer *buffer, gsize bytes, GError **error)
{
  if (!buffer->data || bytes <= buffer->capacity || may_free (d, filling))
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
               "%s: a buffer can grow to %zu bytes only when nothing runs",
               d->gpu->name, bytes);
  return FALSE;
}

/* Makes a buffer hold so many bytes. Where there is no room the buffers of
   idle slots are freed first, but for those of the slot that is being filled,
   which may be NULL. */
gboolean
hass_cuda_reserve (HassCudaDevice *d, const HassCudaSlot *filling,
                   HassGpuBuffer *buffer, gsize bytes, GError **error)
{
  GError *inner = NULL;
  if (!may_grow (d, filling, buffer, bytes, error))
    return FALSE;
  if (hass_gpu_reserve (d->gpu, buffer, bytes, d->budget, &inner))
    return TRUE;
  if (!may_free (d, filling))
    {
      g_propagate_error (error, inner);
      return FALSE;
    }
  g_clear_error (&inner);
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      HassCudaSlot *s = &d->slots[i];
      if (s == filling || s->busy || !s->kit)
        continue;
      hass_gpu_release (d->gpu, &s->kit->in);
      hass_gpu_release (d->gpu, &s->kit->out);
      hass_gpu_release (d->gpu, &s->kit->records);
    }
  return hass_gpu_reserve (d->gpu, buffer, bytes, d->budget, error);
}

gboolean
hass_cuda_reserve_host (HassCudaDevice *d, const HassCudaSlot *filling,
                        HassGpuBuffer *buffer, gsize bytes, GError **error)
{
  return may_grow (d, filling, buffer, bytes, error)
         && hass_gpu_reserve_host (d->gpu, buffer, bytes, error);
}

/* Memory that a copy to the host will read is cleared once, since kernels
   need not fill all of it. */
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

/* Room for the slot's number of records. */
static gboolean
reserve_records (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  gsize bytes = hass_cuda_records_size (d, slot->record_capacity);
  return reserve_cleared (d, slot, &slot->kit->records, bytes, error)
         && hass_cuda_reserve_host (d, slot, &slot->kit->host_records, bytes,
                                    error);
}

/* Room for what is expected; where that is too much, for fewer records. */
static gboolean
reserve_results (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  const HassDeviceFarm *farm = d->farm;
  if (!reserve_cleared (d, slot, &slot->kit->out, hass_cuda_out_size (d, slot),
                        error))
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
      if (reserve_records (d, slot, &inner))
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

/* Fills in what the worker sees; inputs are on their way. */
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
}

static gboolean
call_worker (HassCudaDevice *d, HassCudaGroup *g, gpointer stream,
             GError **error)
{
  GError *inner = NULL;
  gboolean ok = g->worker
                && g->worker (&g->bundle, (HassGpuStream *)stream,
                              d->farm->user_data, &inner);
  /* A launch that failed and that the worker did not look at. */
  int code = hass_cudart ()->last_error ();
  if (ok && code == 0)
    return TRUE;
  if (code != 0)
    hass_gpu_check (d->gpu, code, "GPU worker", inner ? NULL : &inner);
  if (!inner)
    inner = g_error_new (HASS_ERROR, HASS_ERROR_WORKER,
                         "%s: the GPU worker failed without saying why",
                         d->gpu->name);
  g_propagate_error (error, inner);
  return FALSE;
}

/* Several groups: each on a stream of its own, from the inputs' arrival to
   the results' departure. */
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
    ok = call_worker (d, &g_array_index (slot->groups, HassCudaGroup, i),
                      kit->side[i % streams], error);
  /* Also after a failure: the kit's stream must not run ahead. */
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

/* 3. The kernels, and the way back; also a second time. */
static gboolean
compute (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *kit = slot->kit;
  slot->n_runs++;
  for (guint i = 0; i < slot->groups->len; i++)
    describe_bundle (d, slot, &g_array_index (slot->groups, HassCudaGroup, i));
  if (!hass_cuda_clear_results (d, slot, error)
      || !hass_gpu_check (d->gpu, cuda->event_record (kit->copied, kit->stream),
                          "record an event", error))
    return FALSE;
  gboolean ok
      = slot->groups->len > 1
            ? call_workers_aside (d, slot, error)
            : call_worker (d, &g_array_index (slot->groups, HassCudaGroup, 0),
                           kit->stream, error);
  return ok
         && hass_gpu_check (d->gpu,
                            cuda->event_record (kit->computed, kit->stream),
                            "record an event", error)
         && hass_cuda_fetch (d, slot, error)
         && hass_gpu_check (d->gpu, cuda->event_record (kit->done, kit->stream),
                            "record an event", error);
}

static void
note_peak (HassCudaDevice *d)
{
  pthread_mutex_lock (&d->gpu->lock);
  d->transfers.peak_bytes = MAX (d->transfers.peak_bytes, d->gpu->held_bytes);
  pthread_mutex_unlock (&d->gpu->lock);
}

static gboolean
submit (HassDevice *device, guint index, const HassBlock *blocks, gsize n,
        GError **error)
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
  make_groups (d, slot, blocks, n);
  slot->submit_ns = hass_cuda_now ();
  slot->n_runs = 0;
  if (!reserve_results (d, slot, error))
    return FALSE;
  gboolean ok = hass_gpu_check (d->gpu,
                                hass_cudart ()->event_record (
                                    slot->kit->begun, slot->kit->stream),
                                "record an event", error)
                && hass_cuda_send (d, slot, error) && compute (d, slot, error);
  note_peak (d);
  if (!ok)
    {
      slot->busy = !hass_cuda_drain (d, slot);
      return FALSE;
    }
  slot->busy = TRUE;
  d->queue[d->n_queued++] = index;
  return TRUE;
}

/* -- 2. Waiting --------------------------------------------------------- */

typedef enum
{
  COMPLETE,
  AGAIN, /* more is on its way */
  FAILED,
  TOO_LARGE
} Outcome;

/* Copies are on their way again: more records, or all of another run. */
static Outcome
fetch_rest (HassCudaDevice *d, HassCudaSlot *slot, guint64 n, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  GError *inner = NULL;
  gboolean ok;
  if (n <= slot->record_capacity)
    ok = hass_cuda_fetch_records (d, slot, slot->n_copied, n - slot->n_copied,
                                  &inner)
         && hass_gpu_check (
             d->gpu, cuda->event_record (slot->kit->done, slot->kit->stream),
             "record an event", &inner);
  else
    {
      slot->record_capacity = n + n / 8;
      d->record_rate
          = MAX (d->record_rate,
                 (double)n
                     / MAX (g_array_index (slot->groups, HassCudaGroup, 0)
                                .layout.n_elements,
                            1));
      ok = slot->n_runs < MOST_RUNS && reserve_records (d, slot, &inner)
           && compute (d, slot, &inner);
      note_peak (d);
    }
  if (ok)
    return AGAIN;
  gboolean large = g_error_matches (inner, HASS_ERROR, HASS_ERROR_NO_MEMORY);
  if (!hass_cuda_drain (d, slot))
    large = FALSE;
  if (!inner)
    inner = g_error_new (HASS_ERROR, HASS_ERROR_WORKER,
                         "%s: the number of records grows from run to run",
                         d->gpu->name);
  slot->record_capacity = 0;
  g_propagate_error (error, inner);
  return large ? TOO_LARGE : FAILED;
}

static Outcome
complete (HassCudaDevice *d, HassCudaSlot *slot, GError **error)
{
  guint64 n = hass_cuda_n_records (d, slot);
  hass_cuda_sent (d, slot);
  if (d->farm->record_bytes > 0 && n > slot->n_copied)
    return fetch_rest (d, slot, n, error);
  if (d->farm->record_bytes > 0)
    {
      guint64 elements
          = g_array_index (slot->groups, HassCudaGroup, 0).layout.n_elements;
      double rate = (double)n / MAX (elements, 1);
      d->record_rate = MAX (rate, 0.75 * d->record_rate + 0.25 * rate);
    }
  return hass_cuda_deliver (d, slot, error) ? COMPLETE : FAILED;
}

static double
stage_ns (gpointer begin, gpointer end)
{
  const HassCudart *cuda = hass_cudart ();
  float ms = 0;
  if (cuda->event_elapsed (&ms, begin, end) != 0)
    {
      cuda->last_error ();
      return 0;
    }
  return ms * 1e6;
}

static void
report_done (HassCudaDevice *d, HassCudaSlot *slot, HassBundleDone *done)
{
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, 0);
  HassGpuKit *kit = slot->kit;
  done->h2d_ns = stage_ns (kit->begun, kit->copied);
  done->kernel_ns = stage_ns (kit->copied, kit->computed);
  done->d2h_ns = stage_ns (kit->computed, kit->done);
  d->expected_ns = done->h2d_ns + done->kernel_ns + done->d2h_ns;
  done->accumulator = hass_cuda_accumulator (d, slot);
  if (d->farm->record_bytes == 0)
    return;
  done->n_records = hass_cuda_n_records (d, slot);
  if (g->layout.n > 1)
    done->record_blocks
        = (const guint32 *)(gconstpointer)kit->host_records.data;
  done->records = kit->host_records.data
                  + hass_cuda_record_blocks_bytes (slot->record_capacity);
}

/* Waiting has failed, and which bundle is to blame is not known: all that
   are there have failed, once they have ended. FALSE: they do not end. */
static gboolean
fail_queued (HassCudaDevice *d)
{
  gboolean ok = hass_gpu_usable (d->gpu, NULL);
  for (guint i = 0; i < d->n_queued && ok; i++)
    ok = hass_cuda_drain (d, &d->slots[d->queue[i]]);
  d->lost |= !ok;
  d->n_failing = ok ? d->n_queued : 0;
  return ok;
}

static guint
take_queued (HassCudaDevice *d, guint at)
{
  guint index = d->queue[at];
  d->n_queued--;
  memmove (&d->queue[at], &d->queue[at + 1],
           (d->n_queued - at) * sizeof *d->queue);
  return index;
}

static gboolean
leave_failed (HassCudaDevice *d, HassBundleDone *done)
{
  *done = (HassBundleDone){ .slot = take_queued (d, 0), .failed = TRUE };
  d->slots[done->slot].busy = FALSE;
  d->n_failing--;
  return TRUE;
}

/* The device is lost: bundles leave it as failed, one a call. */
static gboolean
leave_lost (HassCudaDevice *d, HassBundleDone *done)
{
  *done = (HassBundleDone){ .slot = d->queue[--d->n_queued],
                            .failed = TRUE,
                            .lost = TRUE };
  return TRUE;
}

static gboolean
wait_bundle (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
             GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  GError *inner = NULL;
  if (d->n_queued == 0)
    return FALSE;
  if (d->lost)
    return leave_lost (d, done);
  if (d->n_failing > 0)
    return leave_failed (d, done);
  for (;;)
    {
      guint at = hass_cuda_find_done (d, timeout_ns, &inner);
      if (at == d->n_queued)
        {
          if (!inner)
            return FALSE;
          g_propagate_error (error, inner);
          return fail_queued (d) ? leave_failed (d, done)
                                 : leave_lost (d, done);
        }
      guint index = d->queue[at];
      HassCudaSlot *slot = &d->slots[index];
      Outcome outcome = complete (d, slot, &inner);
      if (outcome == AGAIN)
        continue;
      take_queued (d, at);
      *done = (HassBundleDone){ .slot = index,
                                .failed = outcome != COMPLETE,
                                .too_large = outcome == TOO_LARGE,
                                .lost = d->lost };
      if (outcome == COMPLETE)
        report_done (d, slot, done);
      else
        g_propagate_error (error, inner);
      slot->busy = d->lost;
      return TRUE;
    }
}

static const HassDeviceOps cuda_ops = { .struct_size = sizeof (HassDeviceOps),
                                        .kind = "cuda",
                                        .describe = describe,
                                        .open = open_device,
                                        .submit = submit,
                                        .wait = wait_bundle,
                                        .close = close_device,
                                        .transfers = transfers };

/* A device for one farm; index < hass_gpus_count (). NULL when the GPU has
   gone. */
HassDevice *
hass_cuda_device_new (guint index)
{
  HassGpu *gpu = hass_gpus_get (index);
  if (!gpu)
    return NULL;
  HassCudaDevice *d = g_new0 (HassCudaDevice, 1);
  d->device.ops = &cuda_ops;
  d->gpu = gpu;
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      d->slots[i].groups = g_array_new (FALSE, FALSE, sizeof (HassCudaGroup));
      d->slots[i].sorted = g_array_new (FALSE, FALSE, sizeof (HassBlock));
    }
  return &d->device;
}

void
hass_cuda_device_free (HassDevice *device)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      g_array_unref (d->slots[i].groups);
      g_array_unref (d->slots[i].sorted);
    }
  g_free (d);
}

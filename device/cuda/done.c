/* SPDX-License-Identifier: MIT */
/* done.c: bundles that leave a GPU, done or failed; steps 2 to 4 of
   cuda.c.

   DESIGN. The results of a bundle are delivered, unless it has more records
   than its buffer holds: then it is computed again with a larger buffer. If
   waiting fails, all bundles in flight leave as failed, one a call.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include <string.h>

#include "hass/error.h"

#define MOST_RUNS 4

typedef enum
{
  COMPLETE,
  AGAIN, /* the bundle's remaining records or results are being copied */
  FAILED,
  TOO_LARGE
} Outcome;

/* Continues a bundle with @n records of which only some have been copied to
   the host. If the buffer holds all of them, enqueues the copy of the others;
   if there were more records than the buffer has room for, enlarges it and
   enqueues the kernels again. */
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
             d->gpu, cuda->event_record (slot->kit->done, slot->out_stream),
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
      ok = slot->n_runs < MOST_RUNS
           && hass_cuda_reserve_records (d, slot, &inner)
           && hass_cuda_compute (d, slot, &inner);
      hass_cuda_note_peak (d);
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

/* Returns: the time in ns that a stage of a bundle adds to the time for which
   the GPU was busy with that stage. Bundles on several streams overlap, so @ns,
   the time between the stage's events, may contain the same stage of other
   bundles: only the time after the end of all earlier ones counts. @end: the
   event at the end of the stage; sets when it was, in ns since the epoch. */
static double
busy_ns (HassCudaDevice *d, HassCudaStage stage, gpointer end, double ns,
         double *end_ns)
{
  *end_ns = stage_ns (d->slots[0].kit->epoch, end);
  double busy_ns = MIN (ns, *end_ns - d->stage_end_ns[stage]);
  d->stage_end_ns[stage] = MAX (d->stage_end_ns[stage], *end_ns);
  return MAX (busy_ns, 0);
}

/* Returns: for how long the bundle, which left the GPU @left_ns after the
   epoch, had done so when it was looked at, in us. One for which the thread
   waited was looked at when it left, which tells when the epoch was, on the
   host's clock. */
static guint
late_us (HassCudaDevice *d, double left_ns)
{
  if (d->awaited)
    d->epoch_ns = d->done_ns - (gint64)left_ns;
  double late_ns = (double)(d->done_ns - d->epoch_ns) - left_ns;
  return left_ns > 0 ? (guint)CLAMP (late_ns * 1e-3, 0, G_MAXUINT) : 0;
}

static void
report_done (HassCudaDevice *d, HassCudaSlot *slot, HassBundleDone *done)
{
  const HassCudaGroup *g = &g_array_index (slot->groups, HassCudaGroup, 0);
  HassGpuKit *kit = slot->kit;
  gpointer computed = slot->times_out ? kit->computed : kit->done;
  double copied_ns, left_ns;
  done->h2d_ns = slot->times_in ? stage_ns (kit->begun, kit->copied) : 0;
  if (slot->times_in)
    done->h2d_busy_ns
        = busy_ns (d, HASS_CUDA_COPY_IN, kit->copied, done->h2d_ns, &copied_ns);
  done->kernel_ns = stage_ns (kit->copied, computed);
  done->kernel_busy_ns
      = busy_ns (d, HASS_CUDA_KERNELS, computed, done->kernel_ns, &left_ns);
  done->d2h_ns = slot->times_out ? stage_ns (computed, kit->done) : 0;
  if (slot->times_out)
    done->d2h_busy_ns
        = busy_ns (d, HASS_CUDA_COPY_OUT, kit->done, done->d2h_ns, &left_ns);
  done->host_ns = slot->host_ns;
  done->worker_ns = slot->worker_ns;
  done->setup_ns = slot->setup_ns;
  done->late_us = late_us (d, left_ns);
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

/* Called when waiting has failed and it is unknown which bundle is at fault:
   waits until all bundles in flight have ended and counts all of them as
   failed. Returns: FALSE if one does not end; the device is lost then. */
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
  if (at == 0)
    d->oldest_ns = hass_clock_ns ();
  d->n_queued--;
  memmove (&d->queue[at], &d->queue[at + 1],
           (d->n_queued - at) * sizeof *d->queue);
  return index;
}

/* Reports the oldest failed bundle in @done and frees its slot. @together:
   bundles in flight have failed together and this is not the first of them, so
   it may be innocent. Returns: TRUE. */
static gboolean
leave_failed (HassCudaDevice *d, HassBundleDone *done, gboolean together)
{
  *done = (HassBundleDone){ .slot = take_queued (d, 0),
                            .failed = TRUE,
                            .together = together };
  hass_cuda_leave (d, &d->slots[done->slot]);
  d->n_failing--;
  return TRUE;
}

/* Reports one bundle of a lost device in @done, as failed; the next call
   reports the next one. Sets @error to "... is lost" if it has no reason yet.
   Returns: TRUE. */
static gboolean
leave_lost (HassCudaDevice *d, HassBundleDone *done, GError **error)
{
  if (error && !*error && hass_gpu_usable (d->gpu, error))
    g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s is lost",
                 d->gpu->name);
  *done = (HassBundleDone){ .slot = d->queue[--d->n_queued],
                            .failed = TRUE,
                            .lost = TRUE };
  return TRUE;
}

gboolean
hass_cuda_wait (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
                GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  GError *inner = NULL;
  if (d->n_queued == 0)
    return FALSE;
  if (d->lost)
    return leave_lost (d, done, error);
  if (d->n_failing > 0)
    return leave_failed (d, done, TRUE);
  for (;;)
    {
      guint at = hass_cuda_find_done (d, timeout_ns, &inner);
      if (at == d->n_queued)
        {
          if (!inner)
            return FALSE;
          g_propagate_error (error, inner);
          return fail_queued (d) ? leave_failed (d, done, FALSE)
                                 : leave_lost (d, done, error);
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
      if (!d->lost)
        hass_cuda_leave (d, slot);
      return TRUE;
    }
}

/* SPDX-License-Identifier: MIT */
/* drain.c: waits for everything that a bundle has enqueued; step 4 of cuda.c.
   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#define DRAIN_TRIES 3

/* Waits until all work of the stream has ended, successful or not: records
   @event behind this work and waits for the event. Tries again after an error,
   up to DRAIN_TRIES times. Returns: FALSE if the event does not complete in
   time. */
static gboolean
drain_stream (HassCudaDevice *d, const HassCudaSlot *slot, gpointer stream,
              gpointer event)
{
  const HassCudart *cuda = hass_cudart ();
  for (guint i = 0; i < DRAIN_TRIES; i++)
    {
      if (!hass_gpu_check (d->gpu, cuda->event_record (event, stream),
                           "record an event", NULL))
        continue;
      if (hass_cuda_await (d, event, slot->submit_ns, "a bundle", NULL))
        return TRUE;
      if (hass_cuda_past_deadline (d, slot))
        return FALSE;
    }
  return FALSE;
}

/* Step 4, drain: waits until everything that the slot's bundle has enqueued,
   on its main stream and its side streams, has ended; called after a failure,
   before buffers are used again. Then unpins the pages of the inputs. Returns:
   FALSE if the work does not end; the device is lost then. */
gboolean
hass_cuda_drain (HassCudaDevice *d, HassCudaSlot *slot)
{
  HassGpuKit *kit = slot->kit;
  gboolean ok = drain_stream (d, slot, kit->stream, kit->done);
  for (guint i = 0; i < kit->n_side && ok; i++)
    ok = drain_stream (d, slot, kit->side[i], kit->joined[i]);
  if (ok)
    hass_cuda_sent (d, slot);
  d->lost |= !ok;
  return ok;
}

/* SPDX-License-Identifier: MIT */
/* room.c: device memory and staging for the bundles of one device.

   DESIGN. Buffers only grow. If memory is short, the buffers of idle slots and
   spare memory (idle.c) are freed, and a bundle with records gets room for
   fewer of them (out.c).

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

/* Frees the GPU's spare device memory. As freeing waits for every kernel on
   the GPU, a farm with a deadline for bundles waits at most that long for
   bundles of other farms, and not at all for its own, except the bundle of
   @filling, which is being prepared. On a GPU that hangs nothing is freed.
   Returns: whether memory could be freed. */
static gboolean
trim (const HassCudaDevice *d, const HassCudaSlot *filling)
{
  gint64 deadline = d->farm->bundle_deadline_ns;
  if (deadline > 0)
    return hass_gpu_trim_within (d->gpu, filling && filling->counted,
                                 g_get_monotonic_time () + deadline / 1000);
  if (!hass_gpu_usable (d->gpu, NULL))
    return FALSE;
  hass_gpu_trim (d->gpu);
  return TRUE;
}

static gboolean
runs_own (const HassCudaDevice *d, const HassCudaSlot *filling)
{
  for (guint i = 0; i < d->n_queued; i++)
    if (&d->slots[d->queue[i]] != filling)
      return TRUE;
  return FALSE;
}

/* Makes a device buffer hold @bytes. If memory is short, first frees the
   buffers of the device's idle slots, except those of @filling, which may be
   NULL. Returns: FALSE with an error if memory is insufficient all the same. */
gboolean
hass_cuda_reserve (HassCudaDevice *d, const HassCudaSlot *filling,
                   HassGpuBuffer *buffer, gsize bytes, GError **error)
{
  GError *inner = NULL;
  if (hass_gpu_reserve (d->gpu, buffer, bytes, d->budget, &inner))
    return TRUE;
  if (d->farm->bundle_deadline_ns > 0 && runs_own (d, filling))
    {
      g_propagate_error (error, inner);
      return FALSE;
    }
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      HassCudaSlot *s = &d->slots[i];
      if (s == filling || s->busy || !s->kit)
        continue;
      hass_gpu_release (d->gpu, &s->kit->in);
      hass_gpu_release (d->gpu, &s->kit->out);
      hass_gpu_release (d->gpu, &s->kit->records);
    }
  hass_gpu_strip_idle_kits (d->gpu);
  if (!trim (d, filling))
    {
      g_propagate_error (error, inner);
      return FALSE;
    }
  g_clear_error (&inner);
  return hass_gpu_reserve (d->gpu, buffer, bytes, d->budget, error);
}

void
hass_cuda_note_peak (HassCudaDevice *d)
{
  pthread_mutex_lock (&d->gpu->lock);
  d->transfers.peak_bytes = MAX (d->transfers.peak_bytes, d->gpu->held_bytes);
  pthread_mutex_unlock (&d->gpu->lock);
}

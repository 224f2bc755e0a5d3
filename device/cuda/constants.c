/* SPDX-License-Identifier: MIT */
/* constants.c: the farm's constants on a GPU.

   DESIGN. Constants are copied once, when the device is opened, and waited
   for. A large copy from pinned memory also measures the link's rate.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

/* Constants of at least this size in bytes measure the bandwidth of the link;
   the fixed time of a smaller copy would make the link look slower. A guess. */
#define TELLING_BYTES (16 << 20)

static gboolean
reserve_constants (HassCudaDevice *d, GError **error)
{
  guint n = d->farm->n_constants;
  d->constants = g_new0 (HassGpuBuffer, n + 1);
  d->constant_data = g_new0 (gpointer, n + 1);
  for (guint i = 0; i < n; i++)
    {
      gsize bytes = d->farm->constants[i].bytes;
      if (!hass_cuda_reserve (d, NULL, &d->constants[i], MAX (bytes, 1), error))
        {
          g_prefix_error (error, "constant %u of %u, %zu bytes: ", i, n, bytes);
          return FALSE;
        }
      d->constant_data[i] = d->constants[i].data;
    }
  return TRUE;
}

static gboolean
copy_constants (HassCudaDevice *d, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *kit = d->slots[0].kit;
  guint n = d->farm->n_constants;
  gint64 begin_ns = hass_clock_ns ();
  for (guint i = 0; i < n; i++)
    {
      const HassConstant *c = &d->farm->constants[i];
      if (c->bytes > 0
          && !hass_gpu_check (d->gpu,
                              cuda->copy (d->constants[i].data, c->data,
                                          c->bytes, HASS_CUDA_TO_DEVICE,
                                          kit->stream),
                              "copy a constant to the device", error))
        {
          g_prefix_error (error, "constant %u of %u, %zu bytes: ", i, n,
                          c->bytes);
          return FALSE;
        }
      d->transfers.constant_bytes += c->bytes;
    }
  return n == 0
         || (hass_gpu_check (d->gpu,
                             cuda->event_record (kit->done, kit->stream),
                             "record an event", error)
             && hass_cuda_await (d, kit->done, begin_ns,
                                 "copy constants to the device", error));
}

/* Sets the bandwidth of the GPU's link from the copy of the farm's constants,
   which took @ns, if they are large and in pinned (page-locked) memory. The
   highest rate of all farms is kept, since other copies at the same time may
   have slowed this one down. */
static void
learn_link (HassCudaDevice *d, gint64 ns)
{
  guint64 bytes = d->transfers.constant_bytes;
  gboolean tells = bytes >= TELLING_BYTES && ns > 0;
  for (guint i = 0; i < d->farm->n_constants && tells; i++)
    {
      const HassConstant *c = &d->farm->constants[i];
      tells = c->bytes == 0 || hass_memory_is_pinned (c->data, c->bytes);
    }
  if (!tells)
    return;
  pthread_mutex_lock (&d->gpu->lock);
  d->gpu->link_bytes_per_ns
      = MAX (d->gpu->link_bytes_per_ns, (double)bytes / ns);
  pthread_mutex_unlock (&d->gpu->lock);
}

/* Copies the farm's constants to the GPU, on the stream of slot 0, and waits
   until they have arrived. Called once for each farm. Returns: FALSE with an
   error if there is no memory or the copy fails. */
gboolean
hass_cuda_send_constants (HassCudaDevice *d, GError **error)
{
  if (!reserve_constants (d, error))
    return FALSE;
  HassCudaSlot *slot = &d->slots[0];
  gint64 begin_ns = slot->submit_ns = hass_clock_ns ();
  if (!copy_constants (d, error))
    {
      slot->busy = !hass_cuda_drain (d, slot);
      return FALSE;
    }
  learn_link (d, hass_clock_ns () - begin_ns);
  return TRUE;
}

void
hass_cuda_free_constants (HassCudaDevice *d)
{
  for (guint i = 0; d->constants && i < d->farm->n_constants; i++)
    hass_gpu_release (d->gpu, &d->constants[i]);
  g_clear_pointer (&d->constants, g_free);
  g_clear_pointer (&d->constant_data, g_free);
}

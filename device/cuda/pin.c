/* SPDX-License-Identifier: MIT */
/* pin.c: pinned host memory of the CUDA driver, for device/memory.c.
   Thread safety: any thread. */
#include "gpus-private.h"

#include "device/kinds.h"
#include "hass/error.h"

/* Returns: whether memory can be pinned: there is a GPU and none hangs.
   Pinning waits for every kernel of the process, so with one that hangs it
   would never return. */
static gboolean
present (void)
{
  return hass_gpus_count () > 0 && !hass_gpus_hang ();
}

/* Memory is pinned in a CUDA context, which the start of a GPU makes. */
static gboolean
at_once (void)
{
  return hass_gpus_noted (HASS_GPUS_PINNED | HASS_GPUS_STARTED);
}

static gpointer
allocate (gsize bytes)
{
  HassGpuBuffer spare = { NULL, 0 };
  gpointer memory = NULL;
  if (hass_gpus_take_host_spare (bytes, &spare))
    return spare.data;
  if (hass_cudart ()->allocate_host (&memory, bytes) != 0)
    {
      hass_cudart ()->last_error ();
      return NULL;
    }
  hass_gpus_note (HASS_GPUS_PINNED);
  return memory;
}

static void
release (gpointer memory, gsize bytes)
{
  HassGpuBuffer buffer = { memory, bytes };
  hass_gpus_release_host (&buffer);
}

static gboolean
pin (gpointer memory, gsize bytes, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  int code = cuda->register_host (memory, bytes);
  if (code == 0)
    {
      hass_gpus_note (HASS_GPUS_PINNED);
      return TRUE;
    }
  gboolean full = cuda->classify (code) == HASS_CUDA_NO_MEMORY;
  g_set_error (error, HASS_ERROR,
               full ? HASS_ERROR_NO_MEMORY : HASS_ERROR_DEVICE,
               "%zu bytes at %p cannot be registered: %s", bytes, memory,
               cuda->text (code));
  cuda->last_error ();
  return FALSE;
}

static void
unpin (gpointer memory)
{
  if (!hass_gpus_hang () && hass_cudart ()->unregister_host (memory) != 0)
    hass_cudart ()->last_error ();
}

const HassPinner hass_cuda_pinner = { .present = present,
                                      .at_once = at_once,
                                      .allocate = allocate,
                                      .release = release,
                                      .pin = pin,
                                      .unpin = unpin };

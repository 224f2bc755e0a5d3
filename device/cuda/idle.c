/* SPDX-License-Identifier: MIT */
/* idle.c: memory that is freed when nothing runs.

   DESIGN. The runtime frees device memory only after every kernel of the device
   has ended, and pinned host memory only after every kernel of every device. If
   a kernel hangs, that call never returns, whichever farm launched the kernel.
   So memory is freed only while no bundle is on the GPUs. Until then it is
   spare: it serves the next buffer of at most its size and at least half of it.
   On a GPU that hangs it stays spare.

   When memory is short, hass_gpu_trim() frees spare memory although kernels may
   run, and hass_gpu_trim_within() waits for them for a limited time; room.c
   decides which one is called.

   Thread safety: any thread; one lock, before those of the GPUs. */
#include "gpus-private.h"

/* A spare buffer may be so many times as large as is needed. */
#define ROOMY 2
#define LOOK_NS 100000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the rest */
static guint n_bundles;     /* in flight on all GPUs */
static gboolean given_up;   /* one of them is never reported as ended */
static GArray *host_spares; /* HassGpuBuffer: pinned memory; NULL: none */

static void
free_device (HassGpu *gpu, const HassGpuBuffer *buffer)
{
  hass_gpu_check (gpu, hass_cudart ()->release (buffer->data), "free", NULL);
  pthread_mutex_lock (&gpu->lock);
  gpu->held_bytes -= buffer->capacity;
  pthread_mutex_unlock (&gpu->lock);
}

static void
free_spares_locked (HassGpu *gpu)
{
  for (guint i = 0; i < gpu->spares->len; i++)
    free_device (gpu, &g_array_index (gpu->spares, HassGpuBuffer, i));
  g_array_set_size (gpu->spares, 0);
}

static void
free_host (const HassGpuBuffer *buffer)
{
  if (hass_cudart ()->release_host (buffer->data) != 0)
    hass_cudart ()->last_error ();
}

static void
free_host_spares_locked (void)
{
  for (guint i = 0; host_spares && i < host_spares->len; i++)
    free_host (&g_array_index (host_spares, HassGpuBuffer, i));
  g_clear_pointer (&host_spares, g_array_unref);
}

static gboolean
is_idle_locked (const HassGpu *gpu)
{
  return gpu->n_bundles == 0 && !hass_gpu_hangs (gpu);
}

static gboolean
all_idle_locked (void)
{
  return n_bundles == 0 && !hass_gpus_hang ();
}

/* -- What runs ---------------------------------------------------------- */

/* A bundle's kernels are about to be enqueued. */
void
hass_gpu_bundle_begins (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->n_bundles++;
  n_bundles++;
  pthread_mutex_unlock (&lock);
}

/* All work of a bundle has ended. Not called for a bundle that is given up. */
void
hass_gpu_bundle_ends (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->n_bundles--;
  n_bundles--;
  if (is_idle_locked (gpu))
    free_spares_locked (gpu);
  if (all_idle_locked ())
    free_host_spares_locked ();
  pthread_mutex_unlock (&lock);
}

/* -- What is spare ------------------------------------------------------ */

/* Gives device memory back. */
void
hass_gpu_release (HassGpu *gpu, HassGpuBuffer *buffer)
{
  if (!buffer->data)
    return;
  pthread_mutex_lock (&lock);
  if (is_idle_locked (gpu))
    free_device (gpu, buffer);
  else
    g_array_append_val (gpu->spares, *buffer);
  pthread_mutex_unlock (&lock);
  *buffer = (HassGpuBuffer){ NULL, 0 };
}

/* The same for pinned host memory, of farms and of hass_memory_alloc(). */
void
hass_gpus_release_host (HassGpuBuffer *buffer)
{
  if (!buffer->data)
    return;
  pthread_mutex_lock (&lock);
  if (all_idle_locked ())
    free_host (buffer);
  else
    {
      if (!host_spares)
        host_spares = g_array_new (FALSE, FALSE, sizeof (HassGpuBuffer));
      g_array_append_val (host_spares, *buffer);
    }
  pthread_mutex_unlock (&lock);
  *buffer = (HassGpuBuffer){ NULL, 0 };
}

static gboolean
take (GArray *spares, gsize bytes, HassGpuBuffer *buffer)
{
  for (guint i = 0; i < spares->len; i++)
    {
      HassGpuBuffer *spare = &g_array_index (spares, HassGpuBuffer, i);
      if (spare->capacity < bytes || spare->capacity / ROOMY > bytes)
        continue;
      *buffer = *spare;
      g_array_remove_index_fast (spares, i);
      return TRUE;
    }
  return FALSE;
}

/* Takes a spare buffer of at least @bytes and at most twice as many. FALSE
   after a bundle was given up: its kernels may still use the buffer. */
gboolean
hass_gpu_take_spare (HassGpu *gpu, gsize bytes, HassGpuBuffer *buffer)
{
  pthread_mutex_lock (&lock);
  gboolean found = !gpu->given_up && take (gpu->spares, bytes, buffer);
  pthread_mutex_unlock (&lock);
  return found;
}

gboolean
hass_gpus_take_host_spare (gsize bytes, HassGpuBuffer *buffer)
{
  pthread_mutex_lock (&lock);
  gboolean found
      = host_spares && !given_up && take (host_spares, bytes, buffer);
  pthread_mutex_unlock (&lock);
  return found;
}

/* A bundle on the GPU is given up: its end will not be reported. */
void
hass_gpu_give_bundle_up (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->given_up = given_up = TRUE;
  pthread_mutex_unlock (&lock);
}

/* Frees spare memory, which may wait for the kernels on the GPU. */
void
hass_gpu_trim (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  GArray *spares = gpu->spares;
  gpu->spares = g_array_new (FALSE, FALSE, sizeof (HassGpuBuffer));
  pthread_mutex_unlock (&lock);
  for (guint i = 0; i < spares->len; i++)
    free_device (gpu, &g_array_index (spares, HassGpuBuffer, i));
  g_array_unref (spares);
}

/* Frees spare memory as soon as at most n bundles are on the GPU, the kernels
   of which have ended. No farm can begin a bundle meanwhile, since it might
   hang. FALSE: not before @until_us, or the GPU became unusable. */
gboolean
hass_gpu_trim_within (HassGpu *gpu, guint n, gint64 until_us)
{
  while (hass_gpu_usable (gpu, NULL))
    {
      pthread_mutex_lock (&lock);
      gboolean idle = gpu->n_bundles <= n;
      if (idle)
        free_spares_locked (gpu);
      pthread_mutex_unlock (&lock);
      if (idle || g_get_monotonic_time () >= until_us)
        return idle;
      g_usleep (LOOK_NS / 1000);
    }
  return FALSE;
}

/* When the GPUs are forgotten: nothing runs any more. */
void
hass_gpus_forget_bundles (void)
{
  pthread_mutex_lock (&lock);
  n_bundles = 0;
  given_up = FALSE;
  hass_gpus_forget_hung ();
  free_host_spares_locked ();
  pthread_mutex_unlock (&lock);
}

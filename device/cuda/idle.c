/* SPDX-License-Identifier: MIT */
/* idle.c: memory that is freed when no bundle runs.

   DESIGN. The runtime frees device memory only after every kernel of the
   device has ended, and pinned host memory only after every kernel of every
   device. If a kernel hangs, that call never returns, whichever farm launched
   the kernel. So memory is freed only while no bundle is on the GPUs. Until
   then it is spare: it serves the next request for at most its size and at
   least half of it. On a GPU that hangs it stays spare. Some pinned host memory
   stays spare while nothing runs, since pinning takes long: 5 ms for 8 MiB.

   When memory is short, hass_gpu_trim() frees spare memory although kernels
   may run, and hass_gpu_trim_within() waits for them for a limited time;
   room.c decides which one is called.

   Thread safety: any thread; one lock, taken before those of the GPUs. */
#include "gpus-private.h"

#include "device/cpu/memory.h"

/* A spare buffer is used for a request only if it is at most this many times
   as large. With a larger factor big buffers are wasted on small requests;
   with a smaller one more memory is allocated. A guess. */
#define ROOMY 2
#define LOOK_NS 100000
/* The part of the machine's memory that stays spare as pinned memory. A guess:
   less, and a dataflow whose data are large pins memory each time; more, and
   the machine lacks it. */
#define KEPT_PART 64

/* Guards the variables below, and the spares and bundles of each GPU. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static guint n_bundles; /* bundles in flight on all GPUs */
/* A bundle on some GPU hangs: its end will not be reported. */
static gboolean given_up;
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

static gsize
kept_bytes (void)
{
  return (gsize)hass_memory_bytes () / KEPT_PART;
}

/* Frees spare pinned memory, the oldest first, until at most @kept bytes are
   left. */
static void
free_host_spares_locked (gsize kept)
{
  gsize bytes = 0;
  guint n = host_spares ? host_spares->len : 0;
  while (n > 0
         && bytes + g_array_index (host_spares, HassGpuBuffer, n - 1).capacity
                <= kept)
    bytes += g_array_index (host_spares, HassGpuBuffer, --n).capacity;
  for (guint i = 0; i < n; i++)
    free_host (&g_array_index (host_spares, HassGpuBuffer, i));
  if (n > 0)
    g_array_remove_range (host_spares, 0, n);
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

/* Counts a bundle, whose kernels are about to be enqueued, as in flight on the
   GPU. While a bundle is in flight, released memory is kept as spare. */
void
hass_gpu_bundle_begins (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->n_bundles++;
  n_bundles++;
  pthread_mutex_unlock (&lock);
}

/* Counts a bundle, all of whose work has ended, as no longer in flight, and
   frees spare memory that no bundle can use any more. Not called for a bundle
   that is given up. */
void
hass_gpu_bundle_ends (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->n_bundles--;
  n_bundles--;
  if (is_idle_locked (gpu))
    free_spares_locked (gpu);
  if (all_idle_locked ())
    free_host_spares_locked (kept_bytes ());
  pthread_mutex_unlock (&lock);
}

/* -- What is spare ------------------------------------------------------ */

/* Releases device memory and clears @buffer. The memory is freed at once if
   the GPU is idle. Otherwise it becomes spare, since freeing it would wait for
   all kernels on the GPU: a later request takes it, or it is freed when the
   GPU is idle. */
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

/* Releases pinned (page-locked) host memory of farms and of
   hass_memory_alloc() and clears @buffer. The memory becomes spare: a later
   request takes it. What is spare beyond kept_bytes() is freed if all GPUs are
   idle, or when they are, since freeing waits for the kernels of all GPUs. */
void
hass_gpus_release_host (HassGpuBuffer *buffer)
{
  if (!buffer->data)
    return;
  pthread_mutex_lock (&lock);
  if (!host_spares)
    host_spares = g_array_new (FALSE, FALSE, sizeof (HassGpuBuffer));
  g_array_append_val (host_spares, *buffer);
  if (all_idle_locked ())
    free_host_spares_locked (kept_bytes ());
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
      g_array_remove_index (spares, i);
      return TRUE;
    }
  return FALSE;
}

/* Sets @buffer to a spare device buffer of at least @bytes and at most ROOMY
   times as many bytes, if there is one. Returns: FALSE if there is none, or
   after a bundle of the GPU was given up: its kernels may still use any spare
   buffer. */
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

/* Notes that a bundle on the GPU is given up, since it hangs: its end will
   never be reported. Spare buffers are not reused from now on, as its kernels
   may still use them. */
void
hass_gpu_give_bundle_up (HassGpu *gpu)
{
  pthread_mutex_lock (&lock);
  gpu->given_up = given_up = TRUE;
  pthread_mutex_unlock (&lock);
}

/* Frees the GPU's spare device memory, even if kernels run: CUDA then waits
   for all kernels on the GPU. Used when a new buffer needs the memory. */
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

/* Frees the GPU's spare memory as soon as at most @n bundles are in flight
   there; the kernels of these must have ended. Holds the lock meanwhile, so
   that no farm begins a bundle that might hang. Returns: FALSE if that does
   not happen before @until_us, or if the GPU became unusable. */
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

/* Sets the number of bundles in flight to 0, clears the marks that a bundle or
   a GPU hangs, and frees the spare pinned host memory. Called when the GPUs are
   forgotten and no kernel runs any more. */
void
hass_gpus_forget_bundles (void)
{
  pthread_mutex_lock (&lock);
  n_bundles = 0;
  given_up = FALSE;
  hass_gpus_forget_hung ();
  free_host_spares_locked (0);
  g_clear_pointer (&host_spares, g_array_unref);
  pthread_mutex_unlock (&lock);
}

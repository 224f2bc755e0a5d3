/* SPDX-License-Identifier: MIT */
/* gpu_start.c: makes a GPU ready, once per process.

   DESIGN. The CUDA runtime takes 0.25 to 0.5 s to make the context of a
   device, often longer than a farm. So a thread of the process makes it, and a
   farm waits for that thread only until the farm ends.

   1. The first device that is opened begins the start; devices that are opened
      meanwhile wait for the same start. The thread uses the HassGpu and the
      runtime, which outlive every farm, and nothing of a farm.
   2. A farm that ends stops waiting and the thread goes on, since the runtime
      cannot be interrupted; but not before the runtime is loaded, see 3. The
      next farm finds the GPU ready or waits for the rest of the start. After a
      failed start the next device that is opened begins a new one.
   3. The thread is joined by the next start, when the GPUs are forgotten, or
      at the process's exit, which waits for a start under way: no thread may
      be inside the runtime while the runtime is taken down. The exit handler
      is registered when a start begins, and again when a farm first leaves the
      wait: by then the driver is loaded, as the thread has asked the runtime
      for the GPUs, so the handler runs before those of the driver. A detached
      thread would be left in the runtime; one that is cancelled would leave
      the runtime's locks held.
   4. A proxy asks how long a start takes before it begins one. Each farm that
      ends without the GPU reduces the answer by its duration (ski rental,
      Karlin et al. 1988, competitive snoopy caching): farms and starts
      together take at most twice the time of the best decisions.

   Kits and constants, which belong to a farm, are made by open.

   Thread safety: any thread. */
#include "gpus-private.h"

#include <gio/gio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "hass/error.h"
#include "device/cpu/topology.h"
#include "device/cpu/urgent.h"

/* Part of the free device memory that hass may take; the rest is left for the
   driver's and the kernels' own needs. A guess: if it is too large, launches
   fail for lack of memory; if too small, bundles are smaller than they could
   be. */
#define FREE_PART 0.95

static pthread_once_t once = PTHREAD_ONCE_INIT, again = PTHREAD_ONCE_INIT;
/* Process that registered the exit handler; a forked child differs. */
static pid_t owner;
/* The process ends: no GPU may be started any more. */
static _Atomic gboolean exiting;

/* -- 3. The end --------------------------------------------------------- */

static void
join_locked (HassGpu *gpu)
{
  if (gpu->has_starter)
    pthread_join (gpu->starter, NULL);
  gpu->has_starter = FALSE;
}

/* Waits until no GPU is being started any more, and joins the threads that
   started them. */
void
hass_gpus_end_starts (void)
{
  HassGpu *gpu;
  for (guint i = 0; (gpu = hass_gpus_get_any (i)); i++)
    {
      pthread_mutex_lock (&gpu->lock);
      while (gpu->start == HASS_GPU_STARTING)
        pthread_cond_wait (&gpu->started, &gpu->lock);
      join_locked (gpu);
      pthread_mutex_unlock (&gpu->lock);
    }
}

static void
at_exit (void)
{
  if (getpid () != owner)
    return;
  atomic_store_explicit (&exiting, TRUE, memory_order_seq_cst);
  hass_gpus_end_starts ();
}

static void
watch_exit (void)
{
  owner = getpid ();
  atexit (at_exit);
}

static void
watch_exit_again (void)
{
  atexit (at_exit);
}

/* -- 1. The thread ------------------------------------------------------ */

/* Sets the GPU's budget, the bytes of device memory that hass may hold in all:
   what it holds now and FREE_PART of what the driver says is free, or what the
   memory pool of dataflows keeps without need. The GPU must be the current
   device of the calling thread. */
gboolean
hass_gpu_ask_memory (HassGpu *gpu, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  gsize free_bytes = 0, total = 0, spare = 0;
  if (!hass_gpu_check (gpu, cuda->memory_info (&free_bytes, &total),
                       "ask for free memory", error))
    return FALSE;
  /* Where it fails there is no pool. */
  hass_gpu_check (gpu, cuda->pool_spare ((int)gpu->index, &spare),
                  "ask for spare memory", NULL);
  pthread_mutex_lock (&gpu->lock);
  gpu->budget_bytes
      = gpu->held_bytes + (guint64)((free_bytes + spare) * FREE_PART);
  gpu->budget_ns = 1000 * g_get_monotonic_time ();
  pthread_mutex_unlock (&gpu->lock);
  return TRUE;
}

/* Returns: whether the GPU has a CUDA context before hass starts it. Pinning
   host memory makes one, on the first GPU. */
static gboolean
has_context (const HassGpu *gpu)
{
  return hass_gpus_noted (HASS_GPUS_PINNED) && gpu->index == 0;
}

/* Makes what the first bundle would wait for. Errors are ignored: it tries
   again. */
static void
prepare (HassGpu *gpu)
{
  HassGpuKit *kit = hass_gpu_kit_take (gpu, NULL);
  if (!kit)
    return;
  hass_gpu_kit_ring (gpu, kit, NULL);
  hass_gpu_kit_return (gpu, kit);
}

/* The thread that starts a GPU: chooses the device, asks it for its free
   memory and makes the first kit with its ring. Older runtimes make the CUDA
   context, which takes most of the start, when the device is first used, newer
   ones when it is chosen. */
static gpointer
run (gpointer data)
{
  HassGpu *gpu = data;
  GError *error = NULL;
  gint64 begin_us = g_get_monotonic_time (), took_ns = 0;
  gboolean had_context = has_context (gpu);
  hass_thread_urgent ();
  hass_gpus_look ();
  pthread_mutex_lock (&gpu->lock);
  gpu->looked = TRUE;
  pthread_cond_broadcast (&gpu->started);
  pthread_mutex_unlock (&gpu->lock);
  /* Binds this thread near the GPU, so that what the runtime allocates for it
     lies on the GPU's NUMA node. */
  hass_topology_bind_near (gpu->properties.pci);
  gboolean ok
      = hass_gpu_usable (gpu, &error)
        && hass_gpu_check (gpu, hass_cudart ()->set_device ((int)gpu->index),
                           "open the device", &error)
        && hass_gpu_ask_memory (gpu, &error);
  if (ok)
    prepare (gpu);
  pthread_mutex_lock (&gpu->lock);
  gpu->start = ok ? HASS_GPU_READY : HASS_GPU_COLD;
  gpu->start_error = error;
  /* A start with an existing context is short and does not predict those of
     other GPUs. */
  if (ok && !had_context)
    gpu->start_ns = took_ns = 1000 * (g_get_monotonic_time () - begin_us);
  pthread_cond_broadcast (&gpu->started);
  pthread_mutex_unlock (&gpu->lock);
  if (ok)
    hass_gpus_note (HASS_GPUS_STARTED);
  /* Who joins this thread may hold the GPU's lock. */
  if (took_ns > 0)
    hass_gpus_note_start (took_ns);
  return NULL;
}

/* Begins to start the GPU in a thread of its own. If the process ends or no
   thread can be made, the GPU stays cold (not started) and start_error says
   why. Under the GPU's lock. */
static void
begin_locked (HassGpu *gpu)
{
  pthread_once (&once, watch_exit);
  /* Joins the thread of an earlier start that failed; it has released the
     lock. */
  join_locked (gpu);
  g_clear_error (&gpu->start_error);
  if (atomic_load_explicit (&exiting, memory_order_seq_cst))
    {
      g_set_error (&gpu->start_error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "%s is not started any more, the process ends", gpu->name);
      return;
    }
  int failure = pthread_create (&gpu->starter, NULL, run, gpu);
  if (failure != 0)
    {
      g_set_error (&gpu->start_error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "no thread can be made to start %s: %s", gpu->name,
                   g_strerror (failure));
      return;
    }
  gpu->has_starter = TRUE;
  gpu->looked = FALSE;
  gpu->start = HASS_GPU_STARTING;
}

/* -- 4. Whether it can pay ---------------------------------------------- */

/* Returns: the expected duration of the start of a GPU in ns: the longest
   start that this process has measured, else what an earlier process has, else
   the runtime's usual duration. */
static gint64
usual_start_ns (void)
{
  gint64 ns = 0;
  HassGpu *gpu;
  for (guint i = 0; (gpu = hass_gpus_get (i)); i++)
    {
      pthread_mutex_lock (&gpu->lock);
      ns = MAX (ns, gpu->start_ns);
      pthread_mutex_unlock (&gpu->lock);
    }
  if (ns == 0)
    ns = hass_gpus_remembered_start_ns ();
  return ns > 0 ? ns : hass_cudart ()->start_ns;
}

/* Returns: how long, in ns, a farm's other devices must still have work for
   the start of this GPU to be worth it: the usual duration of a start, less
   the time of farms that did without the GPU. 0 if the start has begun or
   fails, or if pinning host memory has already made the context. */
gint64
hass_gpu_start_ns (HassGpu *gpu)
{
  gint64 usual = usual_start_ns ();
  if (has_context (gpu) || !hass_gpu_usable (gpu, NULL))
    return 0;
  pthread_mutex_lock (&gpu->lock);
  gint64 ns
      = gpu->start == HASS_GPU_COLD ? MAX (usual - gpu->unstarted_ns, 0) : 0;
  pthread_mutex_unlock (&gpu->lock);
  return ns;
}

/* Notes that a farm of @ns ns ended without starting the GPU. The time is
   subtracted from the cost of a start, so that a sequence of short farms
   starts the GPU in the end. */
void
hass_gpu_unstarted (HassGpu *gpu, gint64 ns)
{
  pthread_mutex_lock (&gpu->lock);
  gpu->unstarted_ns += ns;
  pthread_mutex_unlock (&gpu->lock);
}

/* -- 2. Waiting --------------------------------------------------------- */

static void
wake (GCancellable *unwanted, gpointer data)
{
  HassGpu *gpu = data;
  (void)unwanted;
  pthread_mutex_lock (&gpu->lock);
  pthread_cond_broadcast (&gpu->started);
  pthread_mutex_unlock (&gpu->lock);
}

/* Starts the GPU if it is cold, and waits until it is ready. Fails with
   HASS_ERROR_CANCELLED once @unwanted, which may be NULL, is cancelled: the
   start then continues without the caller. Returns: whether the GPU is
   ready. */
gboolean
hass_gpu_start (HassGpu *gpu, GCancellable *unwanted, GError **error)
{
  gulong handler = 0;
  if (unwanted)
    handler = g_cancellable_connect (unwanted, G_CALLBACK (wake), gpu, NULL);
  pthread_mutex_lock (&gpu->lock);
  gboolean wanted = !g_cancellable_is_cancelled (unwanted);
  if (gpu->start == HASS_GPU_COLD && wanted)
    begin_locked (gpu);
  while (gpu->start == HASS_GPU_STARTING
         && (!gpu->looked || !g_cancellable_is_cancelled (unwanted)))
    pthread_cond_wait (&gpu->started, &gpu->lock);
  wanted = wanted && !g_cancellable_is_cancelled (unwanted);
  gboolean ready = gpu->start == HASS_GPU_READY;
  gboolean leaves = gpu->start == HASS_GPU_STARTING;
  if (!ready && !wanted)
    g_set_error (error, HASS_ERROR, HASS_ERROR_CANCELLED,
                 "%s was not ready in time", gpu->name);
  else if (!ready)
    g_propagate_error (error, g_error_copy (gpu->start_error));
  pthread_mutex_unlock (&gpu->lock);
  if (leaves)
    pthread_once (&again, watch_exit_again);
  /* Disconnecting waits for a handler that runs now. The handler takes the
     GPU's lock, so this must happen after the lock was released. */
  if (unwanted)
    g_cancellable_disconnect (unwanted, handler);
  return ready;
}

/* -- The GPUs are forgotten --------------------------------------------- */

/* Frees everything that is kept between farms and forgets the GPUs: the next
   farm looks for them anew. No farm may run; for tests and leak checkers. */
void
hass_gpus_forget (void)
{
  hass_gpus_end_starts ();
  hass_gpus_drop ();
  hass_gpus_forget_bundles ();
}

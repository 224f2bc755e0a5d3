/* SPDX-License-Identifier: MIT */
/* gpus.c: a GPU and what is kept of it between farms; see gpus-private.h.
   Thread safety: see gpus-private.h. */
#include "gpus-private.h"

#include "hass/error.h"

#include <string.h>

#define SMALL_BYTES ((gsize)64 << 10)
#define LARGE_BYTES ((gsize)1 << 20)
/* Each so manyth stretch of pageable input goes the way that has taken longer,
   as that may change. */
#define RETRY 64

/* -- A GPU --------------------------------------------------------------- */

static void kit_free (HassGpu *gpu, HassGpuKit *kit);

/* Frees a GPU with its kits and spare buffers. If the GPU holds anything, it
   must be the current device of the calling thread. */
void
hass_gpu_free (HassGpu *gpu)
{
  const HassCudart *cuda = hass_cudart ();
  for (guint k = 0; k < gpu->kits->len; k++)
    kit_free (gpu, gpu->kits->pdata[k]);
  for (guint k = 0; k < gpu->abandoned->len; k++)
    kit_free (gpu, gpu->abandoned->pdata[k]);
  for (guint i = 0; i < gpu->spares->len; i++)
    cuda->release (g_array_index (gpu->spares, HassGpuBuffer, i).data);
  g_ptr_array_unref (gpu->kits);
  g_ptr_array_unref (gpu->abandoned);
  g_array_unref (gpu->spares);
  pthread_mutex_destroy (&gpu->lock);
  pthread_cond_destroy (&gpu->started);
  g_clear_error (&gpu->start_error);
  g_free (gpu);
}

HassGpu *
hass_gpu_new (guint index, const HassCudaProperties *properties)
{
  HassGpu *gpu = g_new0 (HassGpu, 1);
  gpu->index = index;
  gpu->properties = *properties;
  g_snprintf (gpu->name, sizeof gpu->name, "gpu%u", index);
  pthread_mutex_init (&gpu->lock, NULL);
  pthread_cond_init (&gpu->started, NULL);
  gpu->kits = g_ptr_array_new ();
  gpu->abandoned = g_ptr_array_new ();
  gpu->spares = g_array_new (FALSE, FALSE, sizeof (HassGpuBuffer));
  return gpu;
}

/* -- Buffers ------------------------------------------------------------ */

/* Returns: the capacity to allocate for @bytes bytes: a power of two up to
   LARGE_BYTES, above it a multiple of 2 MiB. Small buffers grow by doubling so
   that they soon stop growing: the smaller buffers that they replace cannot be
   freed before the device is idle. */
static gsize
roomy (gsize bytes)
{
  gsize size = SMALL_BYTES;
  while (size < bytes && size < LARGE_BYTES)
    size *= 2;
  if (size >= bytes)
    return size;
  gsize step = (gsize)2 << 20;
  return bytes > G_MAXSIZE - step ? bytes : (bytes + step - 1) / step * step;
}

/* Counts @bytes more as held on the GPU. Returns: FALSE with
   HASS_ERROR_NO_MEMORY if hass would hold more than @budget bytes. */
gboolean
hass_gpu_take_budget (HassGpu *gpu, gsize bytes, guint64 budget, GError **error)
{
  pthread_mutex_lock (&gpu->lock);
  guint64 held = gpu->held_bytes;
  gboolean ok = held <= budget && bytes <= budget - held;
  if (ok)
    gpu->held_bytes += bytes;
  pthread_mutex_unlock (&gpu->lock);
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                 "%s: %zu bytes do not fit, hass holds %" G_GUINT64_FORMAT
                 " of the %" G_GUINT64_FORMAT " it may",
                 gpu->name, bytes, held, budget);
  return ok;
}

void
hass_gpu_give_budget_back (HassGpu *gpu, gsize bytes)
{
  pthread_mutex_lock (&gpu->lock);
  gpu->held_bytes -= bytes;
  pthread_mutex_unlock (&gpu->lock);
}

/* Releases the device buffers of all kits that no bundle uses, to make room
   for other buffers on this GPU. */
void
hass_gpu_strip_idle_kits (HassGpu *gpu)
{
  for (;;)
    {
      HassGpuKit *kit = NULL;
      pthread_mutex_lock (&gpu->lock);
      for (guint i = 0; i < gpu->kits->len && !kit; i++)
        {
          HassGpuKit *k = gpu->kits->pdata[i];
          if (k->in.data || k->out.data || k->records.data)
            kit = g_ptr_array_steal_index_fast (gpu->kits, i);
        }
      pthread_mutex_unlock (&gpu->lock);
      if (!kit)
        return;
      hass_gpu_release (gpu, &kit->in);
      hass_gpu_release (gpu, &kit->out);
      hass_gpu_release (gpu, &kit->records);
      hass_gpu_kit_return (gpu, kit);
    }
}

static gboolean
try_reserve (HassGpu *gpu, HassGpuBuffer *buffer, gsize bytes, guint64 budget,
             GError **error)
{
  gpointer data = NULL;
  if (hass_gpu_take_spare (gpu, bytes, buffer))
    return TRUE;
  if (!hass_gpu_take_budget (gpu, bytes, budget, error))
    return FALSE;
  if (!hass_gpu_check (gpu, hass_cudart ()->allocate (&data, bytes),
                       "allocate device memory", error))
    {
      hass_gpu_give_budget_back (gpu, bytes);
      return FALSE;
    }
  *buffer = (HassGpuBuffer){ data, bytes };
  return TRUE;
}

/* Makes a device buffer hold at least @bytes bytes; its former contents are
   lost. Returns: FALSE with HASS_ERROR_NO_MEMORY if hass would hold more than
   @budget bytes on this GPU, or if the device has no more memory. */
gboolean
hass_gpu_reserve (HassGpu *gpu, HassGpuBuffer *buffer, gsize bytes,
                  guint64 budget, GError **error)
{
  if (bytes <= buffer->capacity)
    return TRUE;
  hass_gpu_release (gpu, buffer);
  return try_reserve (gpu, buffer, roomy (bytes), budget, NULL)
         || try_reserve (gpu, buffer, bytes, budget, error);
}

gboolean
hass_gpu_reserve_host (HassGpu *gpu, HassGpuBuffer *buffer, gsize bytes,
                       GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  gpointer data = NULL;
  gsize size = roomy (bytes);
  if (bytes <= buffer->capacity)
    return TRUE;
  hass_gpus_release_host (buffer);
  if (hass_gpus_take_host_spare (bytes, buffer))
    return TRUE;
  if (!hass_gpu_check (gpu, cuda->allocate_host (&data, size),
                       "allocate pinned staging", error))
    return FALSE;
  *buffer = (HassGpuBuffer){ data, size };
  return TRUE;
}

/* -- Kits --------------------------------------------------------------- */

/* Frees a kit with its streams, events and buffers. Errors are ignored, since
   the CUDA context may be broken. */
static void
kit_free (HassGpu *gpu, HassGpuKit *kit)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuBuffer *device[] = { &kit->in, &kit->out, &kit->records };
  HassGpuBuffer *host[] = { &kit->host_in, &kit->host_out, &kit->host_records,
                            &kit->ring.memory };
  gpointer events[]
      = { kit->begun, kit->copied, kit->computed, kit->done, kit->epoch };
  gpointer streams[] = { kit->stream, kit->link[0], kit->link[1] };
  for (guint i = 0; i < G_N_ELEMENTS (device); i++)
    {
      hass_gpu_give_budget_back (gpu, device[i]->capacity);
      if (device[i]->data)
        cuda->release (device[i]->data);
    }
  for (guint i = 0; i < G_N_ELEMENTS (host); i++)
    if (host[i]->data)
      cuda->release_host (host[i]->data);
  for (guint i = 0; i < HASS_GPU_SIDE_STREAMS; i++)
    {
      if (kit->joined[i])
        cuda->event_free (kit->joined[i]);
      if (kit->side[i])
        cuda->stream_free (kit->side[i]);
    }
  for (guint i = 0; i < HASS_GPU_RING_CHUNKS; i++)
    if (kit->ring.copied[i])
      cuda->event_free (kit->ring.copied[i]);
  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    if (events[i])
      cuda->event_free (events[i]);
  for (guint i = 0; i < G_N_ELEMENTS (streams); i++)
    if (streams[i])
      cuda->stream_free (streams[i]);
  cuda->last_error ();
  g_free (kit);
}

/* Returns: an idle kit (streams, events and buffers of a bundle) of the GPU,
   or a new one; NULL with an error. The GPU must be the current device of the
   calling thread. */
HassGpuKit *
hass_gpu_kit_take (HassGpu *gpu, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuKit *kit = NULL;
  pthread_mutex_lock (&gpu->lock);
  if (gpu->kits->len > 0)
    kit = g_ptr_array_steal_index_fast (gpu->kits, gpu->kits->len - 1);
  pthread_mutex_unlock (&gpu->lock);
  if (kit)
    return kit;
  kit = g_new0 (HassGpuKit, 1);
  if (hass_gpu_check (gpu, cuda->stream_new (&kit->stream), "make a stream",
                      error)
      && hass_gpu_check (gpu, cuda->event_new (&kit->begun), "make an event",
                         error)
      && hass_gpu_check (gpu, cuda->event_new (&kit->copied), "make an event",
                         error)
      && hass_gpu_check (gpu, cuda->event_new (&kit->computed), "make an event",
                         error)
      && hass_gpu_check (gpu, cuda->event_new (&kit->done), "make an event",
                         error)
      && hass_gpu_check (gpu, cuda->event_new (&kit->epoch), "make an event",
                         error))
    return kit;
  kit_free (gpu, kit);
  return NULL;
}

void
hass_gpu_kit_return (HassGpu *gpu, HassGpuKit *kit)
{
  pthread_mutex_lock (&gpu->lock);
  g_ptr_array_add (gpu->kits, kit);
  pthread_mutex_unlock (&gpu->lock);
}

/* Takes over a kit that a bundle on a lost GPU may still use: it is neither
   used again nor freed before the GPUs are forgotten. */
void
hass_gpu_kit_abandon (HassGpu *gpu, HassGpuKit *kit)
{
  pthread_mutex_lock (&gpu->lock);
  g_ptr_array_add (gpu->abandoned, kit);
  pthread_mutex_unlock (&gpu->lock);
  hass_gpu_give_bundle_up (gpu);
}

/* Makes a kit have @n side streams, at most HASS_GPU_SIDE_STREAMS, besides its
   main stream: the groups of a bundle run on them concurrently. Returns: FALSE
   with an error if one cannot be made. */
gboolean
hass_gpu_kit_side (HassGpu *gpu, HassGpuKit *kit, guint n, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  for (; kit->n_side < MIN (n, HASS_GPU_SIDE_STREAMS); kit->n_side++)
    {
      guint i = kit->n_side;
      if (!kit->side[i]
          && !hass_gpu_check (gpu, cuda->stream_new (&kit->side[i]),
                              "make a stream", error))
        return FALSE;
      if (!hass_gpu_check (gpu, cuda->event_new (&kit->joined[i]),
                           "make an event", error))
        return FALSE;
    }
  return TRUE;
}

/* Makes a kit have streams for large copies. Returns: FALSE with an error if
   one cannot be made. */
gboolean
hass_gpu_kit_links (HassGpu *gpu, HassGpuKit *kit, GError **error)
{
  for (guint i = 0; i < 2; i++)
    if (!kit->link[i]
        && !hass_gpu_check (gpu, hass_cudart ()->stream_new (&kit->link[i]),
                            "make a stream", error))
      return FALSE;
  return TRUE;
}

/* Makes a kit have a ring. Returns: FALSE with an error. */
gboolean
hass_gpu_kit_ring (HassGpu *gpu, HassGpuKit *kit, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  HassGpuRing *ring = &kit->ring;
  for (guint i = 0; i < HASS_GPU_RING_CHUNKS; i++)
    if (!ring->copied[i]
        && !hass_gpu_check (gpu, cuda->event_new (&ring->copied[i]),
                            "make an event", error))
      return FALSE;
  return hass_gpu_reserve_host (
      gpu, &ring->memory, HASS_GPU_RING_CHUNKS * HASS_GPU_CHUNK_BYTES, error);
}

/* -- Pageable input ------------------------------------------------------ */

static guint
size_of (gsize bytes)
{
  guint size = 0;
  for (bytes /= HASS_GPU_CHOICE_BYTES;
       bytes >= 4 && size < HASS_GPU_WAY_SIZES - 1; bytes /= 4)
    size++;
  return size;
}

/* So many bytes took so long by one way. */
void
hass_gpu_way_took (HassGpu *gpu, HassGpuWay way, gsize bytes, gint64 ns)
{
  pthread_mutex_lock (&gpu->lock);
  double *mean = &gpu->way_ns[way][size_of (bytes)];
  double each = (double)ns / bytes;
  *mean = *mean > 0 ? 0.75 * *mean + 0.25 * each : MAX (each, G_MINDOUBLE);
  pthread_mutex_unlock (&gpu->lock);
}

/* Returns: whether to bring so many bytes to the GPU by pinning their pages,
   not by staging. Each way is tried once with each size; then the one is taken
   that took less time, but every RETRY-th time the other. */
gboolean
hass_gpu_prefers_pinning (HassGpu *gpu, gsize bytes)
{
  guint size = size_of (bytes);
  pthread_mutex_lock (&gpu->lock);
  double staged_ns = gpu->way_ns[HASS_GPU_STAGED][size];
  double pinned_ns = gpu->way_ns[HASS_GPU_PINNED][size];
  gboolean retry = ++gpu->n_pageable % RETRY == 0;
  pthread_mutex_unlock (&gpu->lock);
  if (staged_ns <= 0 || pinned_ns <= 0)
    return staged_ns > 0;
  return (pinned_ns < staged_ns) != retry;
}

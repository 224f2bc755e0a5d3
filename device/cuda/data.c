/* SPDX-License-Identifier: MIT */
/* data.c: a GPU as a device of a dataflow, and its memory.

   DESIGN. The memory of data comes from the device's pool in the CUDA runtime,
   which keeps what is freed: so both are fast, and freeing waits for no kernel.
   It keeps it between dataflows, too: while copies and kernels run a pool takes
   20 ms for each GiB that it gets anew (H100). What it keeps is counted as free
   (gpu_start.c), since the driver gives it to a cudaMalloc() that would fail.
   Allocations are ordered by a stream of their own. Nothing else is ever
   enqueued there, and memory is freed only when no operation uses it, so memory
   is available again at once; operations wait for the latest allocation
   (data_op.c). Data count towards what hass holds on the GPU, with the buffers
   of farms.

   Thread safety: the device's proxy thread. */
#include "cuda-private.h"

#include "hass/error.h"

/* Computations in flight: enough that small kernels fill a GPU and that it does
   not idle between two looks of wait(). With more of them the choice where a
   task runs is made earlier than needed. A guess. */
#define MOST_COMPUTING 8

/* -- Opening and closing --------------------------------------------------- */

/* Makes the device ready for a dataflow, after it has been started, and gives
   the buffers of farms that have ended back: data may need the memory. Returns:
   FALSE with an error if memory is insufficient or the GPU has no pools. */
gboolean
hass_cuda_open_data (HassCudaDevice *d, GError **error)
{
  if (!hass_gpu_check (d->gpu, hass_cudart ()->pool_keep ((int)d->gpu->index),
                       "set up the memory pool", error))
    return FALSE;
  hass_gpu_strip_idle_kits (d->gpu);
  HassGpuKit *pool = hass_gpu_kit_take (d->gpu, error);
  if (!pool)
    return FALSE;
  d->data = g_new0 (HassCudaData, 1);
  d->data->pool = pool;
  d->data->memory = g_hash_table_new (NULL, NULL);
  d->data->running = g_ptr_array_new_with_free_func (g_free);
  g_queue_init (&d->data->waiting[0]);
  g_queue_init (&d->data->waiting[1]);
  return TRUE;
}

/* Operations of a lost device may still run. What they use is neither used
   again nor freed before the GPUs are forgotten. */
static void
abandon (HassCudaDevice *d)
{
  HassCudaData *s = d->data;
  GHashTableIter iter;
  gpointer memory, bytes;
  for (guint i = 0; i < s->running->len; i++)
    {
      HassCudaOp *op = s->running->pdata[i];
      if (op->kit)
        hass_gpu_kit_abandon (d->gpu, op->kit);
    }
  if (s->counted && s->running->len == 0)
    hass_gpu_bundle_ends (d->gpu);
  g_hash_table_iter_init (&iter, s->memory);
  while (g_hash_table_iter_next (&iter, &memory, &bytes))
    {
      HassGpuBuffer buffer = { memory, GPOINTER_TO_SIZE (bytes) };
      hass_gpu_release (d->gpu, &buffer);
    }
  hass_gpu_kit_abandon (d->gpu, s->pool);
}

static void free_memory (HassDevice *device, gpointer memory);

void
hass_cuda_close_data (HassCudaDevice *d)
{
  HassCudaData *s = d->data;
  if (!s)
    return;
  if (s->lost)
    abandon (d);
  else
    {
      g_autoptr (GList) left = g_hash_table_get_keys (s->memory);
      for (GList *l = left; l; l = l->next)
        free_memory (&d->device, l->data);
      hass_gpu_kit_return (d->gpu, s->pool);
    }
  g_hash_table_unref (s->memory);
  g_ptr_array_unref (s->running);
  g_queue_clear_full (&s->waiting[0], g_free);
  g_queue_clear_full (&s->waiting[1], g_free);
  g_clear_error (&s->why);
  g_clear_pointer (&d->data, g_free);
}

/* -- Memory ---------------------------------------------------------------- */

/* What the GPU's budget leaves beside the buffers of farms. */
static gsize
capacity (HassDevice *device)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  pthread_mutex_lock (&d->gpu->lock);
  guint64 others = d->gpu->held_bytes - d->data->bytes;
  pthread_mutex_unlock (&d->gpu->lock);
  return d->budget - MIN (others, d->budget);
}

static gboolean
allocate (HassDevice *device, gsize bytes, gpointer *memory, GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  HassCudaData *s = d->data;
  gpointer data = NULL;
  if (!hass_cuda_is_there (d, error)
      || !hass_gpu_take_budget (d->gpu, bytes, d->budget, error))
    return FALSE;
  if (!hass_gpu_check (
          d->gpu,
          hass_cudart ()->allocate_async (&data, bytes, s->pool->stream),
          "allocate device memory", error))
    {
      hass_gpu_give_budget_back (d->gpu, bytes);
      return FALSE;
    }
  g_hash_table_insert (s->memory, data, GSIZE_TO_POINTER (bytes));
  s->bytes += bytes;
  s->pool->n_allocs++;
  hass_cuda_note_peak (d);
  *memory = data;
  return TRUE;
}

/* Memory of a lost device is kept until it is closed. */
static void
free_memory (HassDevice *device, gpointer memory)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  HassCudaData *s = d->data;
  gsize bytes = GPOINTER_TO_SIZE (g_hash_table_lookup (s->memory, memory));
  if (s->lost || !g_hash_table_remove (s->memory, memory))
    return;
  hass_gpu_check (d->gpu,
                  hass_cudart ()->release_async (memory, s->pool->stream),
                  "free", NULL);
  s->bytes -= bytes;
  hass_gpu_give_budget_back (d->gpu, bytes);
}

static guint
most_computing (HassDevice *device)
{
  (void)device;
  return MOST_COMPUTING;
}

const HassDeviceDataOps hass_cuda_data_ops
    = { .struct_size = sizeof (HassDeviceDataOps),
        .capacity = capacity,
        .alloc = allocate,
        .free = free_memory,
        .copy = hass_cuda_copy,
        .compute = hass_cuda_compute_data,
        .most_computing = most_computing,
        .wait = hass_cuda_wait_data };

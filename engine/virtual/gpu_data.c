/* SPDX-License-Identifier: MIT */
/* gpu_data.c: a modelled GPU, as a device of dataflows (hass/device_data.h).

   DESIGN. Host memory stands in for the device's, so the results are there;
   in a dry run no byte is touched. A copy occupies the GPU's link in its
   direction, one from another GPU both links; kernels run one after another and
   fill the GPU. Operations queue in the order in which they begin. The codelet
   is called when its computation begins; nothing sees what it has written
   before that is over.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include "engine/graph/graph.h"

struct HassVirtualOp
{
  guint64 ticket;
  double ns;
  HassDataCopy copy; /* its memory is NULL: a computation */
  gboolean failed;
};

/* -- Memory -------------------------------------------------------------- */

static gsize
data_capacity (HassDevice *device)
{
  const HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  guint64 own = gpu->model->memory_bytes;
  return (gsize)MIN (own > 0 ? own : G_MAXSIZE, gpu->world->memory_limit);
}

static gboolean
data_alloc (HassDevice *device, gsize bytes, gpointer *memory, GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  gsize least = gpu->world->job->dry ? 1 : bytes;
  if (bytes > data_capacity (device) - gpu->used
      || posix_memalign (memory, 256, least) != 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "%s has no %zu bytes left", gpu->model->name, bytes);
      return FALSE;
    }
  gpu->used += bytes;
  g_hash_table_insert (gpu->memory, *memory, GSIZE_TO_POINTER (bytes));
  return TRUE;
}

static void
data_free (HassDevice *device, gpointer memory)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  gpu->used -= GPOINTER_TO_SIZE (g_hash_table_lookup (gpu->memory, memory));
  g_hash_table_remove (gpu->memory, memory);
}

/* -- Operations ---------------------------------------------------------- */

static gboolean
is_lost (const HassVirtualGpu *gpu, GError **error)
{
  if (gpu->lost)
    g_set_error_literal (error, HASS_ERROR, HASS_ERROR_DEVICE,
                         HASS_VIRTUAL_LOST);
  return gpu->lost;
}

/* Begins an operation of @ns when what it occupies is free. @a, @b: until when
   that is occupied. */
static void
begin (HassVirtualGpu *gpu, HassVirtualOp op, gint64 *a, gint64 *b)
{
  HassVirtualWorld *w = gpu->world;
  gint64 t = MAX (w->clock, MAX (*a, *b));
  *a = *b = hass_virtual_later (w, t, op.ns);
  hass_virtual_push (w, (HassVirtualDue){ .t = *a,
                                          .core = -1,
                                          .gpu = gpu,
                                          .op = g_memdup2 (&op, sizeof op) });
}

static gboolean
data_copy (HassDevice *device, guint64 ticket, const HassDataCopy *copy,
           GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  HassVirtualGpu *peer = (HassVirtualGpu *)copy->peer;
  gsize bytes = copy->rows * copy->row_bytes;
  gint64 *own = hass_virtual_gpu_link (gpu, copy->to_host);
  if (is_lost (gpu, error))
    return FALSE;
  double ns = copy->to_host ? hass_model_d2h_ns (gpu->model, bytes)
                            : hass_model_h2d_ns (gpu->model, bytes);
  if (peer)
    ns = MAX (ns, hass_model_d2h_ns (peer->model, bytes));
  begin (gpu, (HassVirtualOp){ .ticket = ticket, .ns = ns, .copy = *copy }, own,
         peer ? hass_virtual_gpu_link (peer, TRUE) : own);
  return TRUE;
}

static gboolean
data_compute (HassDevice *device, guint64 ticket, HassEnqueueFunc enqueue,
              gpointer data, GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  HassVirtualWorld *w = gpu->world;
  double cost;
  if (is_lost (gpu, error) || (!w->job->dry && !enqueue (NULL, data, error)))
    return FALSE;
  const char *codelet = hass_serving_codelet (gpu->serving, &cost);
  cost /= hass_platform_codelet_factor (
      w->platform, codelet, gpu->model->kind ? gpu->model->kind : "gpu");
  double ns = hass_model_kernel_ns (gpu->model, cost, 0)
              * hass_virtual_noise (w) * w->slower[gpu->d];
  begin (gpu, (HassVirtualOp){ .ticket = ticket, .ns = ns },
         &gpu->kernel_free_ns, &gpu->kernel_free_ns);
  return TRUE;
}

static guint
data_most_computing (HassDevice *device)
{
  return ((HassVirtualGpu *)device)->model->depth;
}

static void
make_copy (const HassDataCopy *c)
{
  for (gsize row = 0; row < c->rows; row++)
    {
      guint8 *own = (guint8 *)c->memory + row * c->row_bytes;
      guint8 *host = (guint8 *)c->host + row * c->host_pitch;
      if (c->peer)
        memcpy (own, (const guint8 *)c->peer_memory + row * c->row_bytes,
                c->row_bytes);
      else
        memcpy (c->to_host ? host : own, c->to_host ? own : host, c->row_bytes);
    }
}

/* The time of an operation is over. Takes it over. */
void
hass_virtual_gpu_op_over (HassVirtualGpu *gpu, HassVirtualOp *op)
{
  const HassVirtualGpu *peer = (HassVirtualGpu *)op->copy.peer;
  op->failed = peer && peer->lost;
  if (op->copy.memory && !gpu->world->job->dry && !gpu->lost && !op->failed)
    make_copy (&op->copy);
  g_queue_push_tail (&gpu->done, op);
}

static gboolean
data_wait (HassDevice *device, gint64 timeout_ns, HassDataDone *done,
           GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  (void)timeout_ns;
  if (is_lost (gpu, error))
    return FALSE;
  HassVirtualOp *op = g_queue_pop_head (&gpu->done);
  if (!op)
    return FALSE;
  *done = (HassDataDone){ op->ticket, op->ns, op->failed };
  if (op->failed)
    g_set_error_literal (error, HASS_ERROR, HASS_ERROR_DEVICE,
                         HASS_VIRTUAL_LOST);
  g_free (op);
  return TRUE;
}

const HassDeviceDataOps hass_virtual_data_ops
    = { .struct_size = sizeof (HassDeviceDataOps),
        .capacity = data_capacity,
        .alloc = data_alloc,
        .free = data_free,
        .copy = data_copy,
        .compute = data_compute,
        .most_computing = data_most_computing,
        .wait = data_wait };

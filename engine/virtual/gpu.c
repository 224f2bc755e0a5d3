/* SPDX-License-Identifier: MIT */
/* gpu.c: a modelled GPU, as a device: step 2, events, of the DESIGN paragraph
   in virtual-private.h.

   DESIGN. The ops are those of any device (device/device.h), on the virtual
   clock: submit computes how long each stage of a bundle will take and queues
   the bundle for the first; wait returns at once, with a bundle whose last
   stage is over, if there is one. The stages:
   GATHER: the host copies inputs together, where the platform has a rate for
   that; no other bundle of the device is submitted meanwhile, as with a proxy
   thread.
   IN, KERNEL, OUT: on the link, on the GPU, and on the link.
   HOST: the host copies outputs to their places, and spends the time that a
   HassVirtualModel adds.
   A device computes no results: the engine has the application's CPU worker
   compute them. As blocks say nothing about their true cost, the engine names
   the units to the device before submit.

   Thread safety: by the world's thread. */
#include "virtual-private.h"

enum
{
  GATHER,
  IN,
  KERNEL,
  OUT,
  HOST,
  OVER
};

/* -- How long a bundle takes -------------------------------------------- */

static gboolean
one_block_a_unit (const HassRound *round, HassExtent e)
{
  return round->farm == HASS_FARM_INDIVISIBLE
         || (round->farm == HASS_FARM_FUNCTION
             && hass_round_elements (round, e.first) <= 1);
}

/* Returns the time, in ns, of the kernel of a bundle of which each unit is one
   thread block. */
static double
blocks_ns (HassVirtualGpu *gpu, const HassBlock *blocks, gsize n)
{
  HassVirtualWorld *w = gpu->world;
  g_array_set_size (w->work, (guint)n);
  g_array_set_size (w->elements, (guint)n);
  double *work = (double *)w->work->data;
  guint64 *elements = (guint64 *)w->elements->data;
  for (gsize i = 0; i < n; i++)
    {
      HassExtent unit = { gpu->extent.first + (guint32)i, 1 };
      work[i] = hass_virtual_cost (w, &gpu->round->round, gpu->d, unit);
      elements[i] = blocks[i].count;
    }
  return hass_model_blocks_ns (gpu->model, work, elements, n);
}

/* Returns how many threads of a GPU so many elements occupy. With a
   HassVirtualModel the device's width is given in elements, so the number stays
   as it is. */
static guint64
threads (const HassVirtualWorld *w, guint64 elements)
{
  return w->model ? elements
                  : elements * MAX (w->job->farm->element_threads, 1);
}

static double
submit_ns (const HassVirtualGpu *gpu)
{
  const HassVirtualModel *m = gpu->world->model;
  return m && m->submit_ns ? m->submit_ns[gpu->d] : 0;
}

static double
host_copy_ns (const HassVirtualGpu *gpu, guint64 bytes)
{
  double rate = gpu->model->host_bytes_per_ns;
  return rate > 0 ? bytes / rate : 0;
}

/* Returns the bytes that the model has the GPU copy before its first bundle of
   a round (the entry copy): 0 for later bundles of the round. */
static double
entry_bytes (HassVirtualGpu *gpu, HassVirtualBundle *b)
{
  HassVirtualWorld *w = gpu->world;
  double entry = 0;
  b->enters = w->model && !w->entered[gpu->d];
  if (b->enters)
    entry = w->model->entry_bytes;
  w->entered[gpu->d] = TRUE;
  w->entry_bytes[gpu->d] += (guint64)entry;
  return entry;
}

static void
estimate (HassVirtualGpu *gpu, HassVirtualBundle *b, const HassBlock *blocks,
          gsize n)
{
  HassVirtualWorld *w = gpu->world;
  const HassRound *round = &gpu->round->round;
  const HassVirtualModel *m = w->model;
  guint64 in_bytes = 0, out_bytes = 0, elements = 0;
  for (gsize i = 0; i < n; i++)
    {
      elements += blocks[i].count;
      in_bytes += blocks[i].input_bytes;
      out_bytes += blocks[i].output_bytes;
    }
  gboolean flow = w->course != NULL;
  double total = flow ? 0 : hass_virtual_cost (w, round, gpu->d, gpu->extent);
  w->job->totals[gpu->d].cost += total;
  gsize entry = (gsize)entry_bytes (gpu, b);
  b->gather_ns = host_copy_ns (gpu, in_bytes);
  b->h2d_ns = hass_model_h2d_ns (gpu->model, in_bytes + entry);
  b->h2d_ns += submit_ns (gpu);
  b->d2h_ns = hass_model_d2h_ns (gpu->model, out_bytes);
  b->scatter_ns = host_copy_ns (gpu, out_bytes);
  b->host_ns = b->scatter_ns + (m && m->host_ns ? m->host_ns[gpu->d] : 0);
  b->kernel_ns
      = flow ? hass_virtual_flow_kernel_ns (gpu, n)
        : one_block_a_unit (round, gpu->extent)
            ? blocks_ns (gpu, blocks, n)
            : hass_model_kernel_ns (gpu->model, total, threads (w, elements));
  b->kernel_ns *= hass_virtual_noise (w);
  if (gpu->model->kernels > 1 && !flow
      && !one_block_a_unit (round, gpu->extent))
    b->elements = threads (w, elements);
}

/* -- Kernels side by side ----------------------------------------------- */

/* Returns the number of elements in the kernels of this GPU that run at time
   @t; @n: their number; @next_end: when the next of them ends. A kernel without
   an element count has the GPU to itself, so it counts as the GPU's width. */
static double
running (const HassVirtualGpu *gpu, gint64 t, guint *n, gint64 *next_end)
{
  double elements = 0;
  *n = 0;
  *next_end = G_MAXINT64;
  for (guint i = 0; i < gpu->feeder.depth; i++)
    {
      const HassVirtualBundle *b = &gpu->bundles[i];
      gint64 end = b->stages.end_ns[KERNEL - IN];
      if (end <= t)
        continue;
      elements += b->elements > 0 ? b->elements : gpu->model->width;
      *next_end = MIN (*next_end, end);
      (*n)++;
    }
  return elements;
}

/* Returns when a kernel begins that may run beside others: in order of arrival,
   as soon as the running kernels are fewer than the device allows and do not
   fill its width. Its time is extended since it gets only a part of the rate
   that all running kernels reach together; the others are not made slower, a
   simplification. */
static gint64
begin_beside (HassVirtualGpu *gpu, HassVirtualBundle *b)
{
  const HassGpuModel *m = gpu->model;
  gint64 t = MAX (gpu->world->clock, gpu->kernel_begin_ns), next_end;
  guint n;
  double beside = running (gpu, t, &n, &next_end);
  for (; n > 0 && (n >= m->kernels || beside >= m->width);
       beside = running (gpu, t, &n, &next_end))
    t = next_end;
  double alone = hass_model_share (m, b->elements, 0);
  double shared = hass_model_share (m, b->elements, beside);
  b->kernel_ns
      = m->launch_ns + MAX (b->kernel_ns - m->launch_ns, 0) * alone / shared;
  return t;
}

/* -- From stage to stage ------------------------------------------------ */

/* Returns the time until which the resource for the bundle's next stage is
   occupied; @ns: how long the stage will occupy it. NULL: the stage needs no
   resource. */
static gint64 *
resource (HassVirtualGpu *gpu, HassVirtualBundle *b, double *ns)
{
  switch (b->stage)
    {
    case GATHER:
      *ns = b->gather_ns;
      return &gpu->host_free_ns;
    case IN:
      *ns = b->h2d_ns;
      /* A bundle without inputs still waits until the entry copy has ended. */
      return *ns > 0 ? hass_virtual_gpu_link (gpu, FALSE) : &gpu->entry_end_ns;
    case KERNEL:
      b->kernel_ns *= gpu->world->slower[gpu->d];
      *ns = b->kernel_ns;
      return &gpu->kernel_free_ns;
    case OUT:
      *ns = b->d2h_ns;
      return *ns > 0 ? hass_virtual_gpu_link (gpu, TRUE) : NULL;
    default:
      *ns = b->host_ns;
      return &gpu->host_free_ns;
    }
}

/* Queues the bundle for its current stage: the stage begins when its resource
   is free, and an event is made for its end. */
static void
begin_stage (HassVirtualGpu *gpu, HassVirtualBundle *b)
{
  HassVirtualWorld *w = gpu->world;
  double ns;
  gint64 *free_ns = resource (gpu, b, &ns);
  gint64 begin = free_ns ? MAX (w->clock, *free_ns) : w->clock;
  if (b->stage == KERNEL)
    {
      if (b->elements > 0)
        begin = begin_beside (gpu, b);
      ns = b->kernel_ns;
      gpu->kernel_begin_ns = begin;
    }
  gint64 end = hass_virtual_later (w, begin, ns);
  if (b->stage == KERNEL)
    b->kernel_busy_ns = MAX (end - MAX (begin, gpu->kernel_free_ns), 0);
  if (free_ns)
    *free_ns = MAX (*free_ns, end);
  if (b->stage == IN && b->enters)
    gpu->entry_end_ns = end;
  if (b->stage >= IN && b->stage <= OUT)
    {
      b->stages.begin_ns[b->stage - IN] = begin;
      b->stages.end_ns[b->stage - IN] = end;
    }
  hass_virtual_push (w,
                     (HassVirtualDue){ .t = end,
                                       .core = -1,
                                       .gpu = gpu,
                                       .bundle = (guint)(b - gpu->bundles) });
}

/* Moves a bundle whose stage is over to its next stage. A bundle that has
   failed, because the device was lost meanwhile, is over. */
void
hass_virtual_gpu_stage_over (HassVirtualGpu *gpu, guint index)
{
  HassVirtualWorld *w = gpu->world;
  HassVirtualBundle *b = &gpu->bundles[index];
  gboolean host = (w->model && w->model->host_ns) || b->scatter_ns > 0;
  if (b->stage <= OUT)
    b->left_ns = w->clock;
  b->stage++;
  if (b->failed || (b->stage == HOST && !host))
    b->stage = OVER;
  if (b->stage == OVER)
    gpu->over = b;
  else
    begin_stage (gpu, b);
}

/* Makes all bundles on the device fail now: their events are moved to the
   present time. Operations of a dataflow never end. */
void
hass_virtual_gpu_lose (HassVirtualGpu *gpu)
{
  HassVirtualWorld *w = gpu->world;
  HassVirtualDue *h = (HassVirtualDue *)w->heap->data;
  gpu->lost = TRUE;
  for (guint i = 0; i < w->heap->len; i++)
    if (h[i].gpu == gpu)
      {
        h[i].t = w->clock;
        gpu->bundles[h[i].bundle].failed = TRUE;
      }
  hass_virtual_sort (w);
}

/* -- The ops ------------------------------------------------------------ */

/* Returns the number of the GPU's link to the host, from 1, if another GPU
   shares that link; else 0. */
static guint
shared_link (const HassPlatform *p, const HassGpuModel *gpu)
{
  for (guint i = 0; i < p->n_gpus; i++)
    if (&p->gpus[i] != gpu && p->gpus[i].link == gpu->link)
      return gpu->link + 1;
  return 0;
}

static void
gpu_describe (HassDevice *device, HassDeviceTraits *traits)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  const HassPlatform *p = gpu->world->platform;
  const HassGpuModel *g = gpu->model;
  *traits
      = (HassDeviceTraits){ .name = g->name,
                            .kind = HASS_DEVICE_GPU,
                            .cores = g->multiprocessors,
                            .width = g->width,
                            .latency_ns = g->launch_ns + g->link_ns,
                            .link_bytes_per_ns = g->h2d_bytes_per_ns,
                            .work_per_ns = p->calibrated ? g->work_per_ns : 0,
                            .max_in_flight = g->depth,
                            .link = shared_link (p, g),
                            .memory_bytes = g->memory_bytes,
                            .max_fused = G_MAXUINT32,
                            .part_bytes = g->part_bytes };
}

static gboolean
gpu_open (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  (void)farm, (void)error;
  gpu->bundles = g_new0 (HassVirtualBundle, gpu->feeder.depth);
  gpu->memory = g_hash_table_new_full (NULL, NULL, free, NULL);
  return TRUE;
}

static gboolean
gpu_submit (HassDevice *device, guint slot, const HassBlock *blocks, gsize n,
            GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  HassVirtualBundle *b = &gpu->bundles[slot];
  (void)error;
  *b = (HassVirtualBundle){ .stage = IN };
  estimate (gpu, b, blocks, n);
  if (b->gather_ns > 0)
    b->stage = GATHER;
  begin_stage (gpu, b);
  return TRUE;
}

static gboolean
gpu_wait (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
          GError **error)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  HassVirtualBundle *b = gpu->over;
  (void)timeout_ns;
  if (!b)
    return FALSE;
  gpu->over = NULL;
  *done
      = (HassBundleDone){ .slot = (guint)(b - gpu->bundles),
                          .failed = b->failed,
                          .lost = b->failed,
                          .h2d_ns = b->h2d_ns - submit_ns (gpu),
                          .kernel_ns = b->kernel_ns,
                          .d2h_ns = b->d2h_ns,
                          .host_ns = b->gather_ns + b->scatter_ns,
                          .kernel_busy_ns = b->elements > 0 ? b->kernel_busy_ns
                                                            : b->kernel_ns };
  if (b->failed)
    g_set_error_literal (error, HASS_ERROR, HASS_ERROR_DEVICE,
                         HASS_VIRTUAL_LOST);
  return TRUE;
}

static void
gpu_close (HassDevice *device)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  g_clear_pointer (&gpu->bundles, g_free);
  g_clear_pointer (&gpu->memory, g_hash_table_unref);
  g_queue_clear_full (&gpu->done, g_free);
}

static gint64
gpu_opening_ns (HassDevice *device)
{
  HassVirtualGpu *gpu = (HassVirtualGpu *)device;
  const HassVirtualModel *m = gpu->world->model;
  double ns = m && m->open_ns ? m->open_ns[gpu->d] : gpu->model->start_ns;
  return hass_virtual_later (gpu->world, 0, ceil (ns));
}

static const HassDeviceOps gpu_ops = { .struct_size = sizeof (HassDeviceOps),
                                       .kind = "model",
                                       .describe = gpu_describe,
                                       .open = gpu_open,
                                       .submit = gpu_submit,
                                       .wait = gpu_wait,
                                       .close = gpu_close,
                                       .opening_ns = gpu_opening_ns,
                                       .data = &hass_virtual_data_ops };

void
hass_virtual_gpu_init (HassVirtualGpu *gpu, HassVirtualWorld *w, guint g)
{
  *gpu = (HassVirtualGpu){ .parent = { &gpu->ops },
                           .ops = gpu_ops,
                           .world = w,
                           .model = &w->platform->gpus[g],
                           .d = g + hass_virtual_first_gpu (w) };
  if (gpu->model->kind)
    gpu->ops.kind = gpu->model->kind;
}

/* Names the units of the next submit, whose true costs the device looks up:
   blocks do not hold them. */
void
hass_virtual_gpu_name_units (HassVirtualGpu *gpu, HassSlot *round,
                             HassExtent extent)
{
  gpu->round = round;
  gpu->extent = extent;
}

/* SPDX-License-Identifier: MIT */
/* cuda.c: NVIDIA GPUs as devices.

   DESIGN. A device has a few slots (bundles in flight), each with a stream,
   buffers and pinned staging of its own, so that one bundle is copied in while
   another is computed and a third is copied out; large copies both ways take
   turns on two streams of the device (submit.c). Life of a bundle:

   1. submit (submit.c) finds room for the bundle (room.c), lays it out,
      enqueues its inputs (in.c), clears its records and accumulator, calls the
      farm's GPU worker, which enqueues kernels, and enqueues the copies of its
      results (out.c). In a function farm the blocks are grouped by their
      workers, and groups run concurrently on streams of their own. In a
      pipeline the workers of several stages follow one another on the stream
      (device/chain.h).
   2. wait (done.c) polls the last events of the bundles (wait.c).
   3. A bundle with more records than its buffer holds is computed again with a
      larger one; its inputs are still on the GPU.
   4. After a failure the device waits for everything that was enqueued
      (wait.c). After a sticky error, or past the bundle's deadline, the
      device is lost, and its buffers are not used again.

   A device that is opened for a dataflow has memory, copies and computations
   instead of slots: data.c, data_copy.c, data_op.c.

   Thread safety: as hass/device.h says. */
#include "cuda-private.h"

#include <sys/prctl.h>

#include "device/cpu/topology.h"
#include "device/memory_limit.h"
#include "hass/error.h"

#define LATENCY_NS 12000
#define PART_BYTES ((guint64)32 << 20)
/* An answer of the driver about free device memory is used again for this time
   in ns. A longer one would miss memory that other processes take or free; a
   shorter one would ask, which is slow, for each farm. A guess. */
#define FRESH_NS 2000000000
/* By how much the pauses between two looks of the proxy thread may be longer,
   in ns; by default Linux adds 50 us. */
#define SLACK_NS 1000

/* -- Opening and closing ------------------------------------------------ */

/* Returns: the assumed bandwidth in bytes/ns of a GPU's link before a copy has
   measured it: that of pinned memory over 16 lanes of PCI Express, version 5
   for compute capability 9 and above, 4 for 8 or if it is unknown, else 3. A
   farm whose constants go to a GPU for the first time predicts the time of
   this copy with it. */
static double
link_guess (const HassCudaProperties *p)
{
  if (p->compute_major >= 9)
    return 50;
  return p->compute_major >= 8 || p->compute_major == 0 ? 25 : 12;
}

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  HassGpu *gpu = ((HassCudaDevice *)device)->gpu;
  const HassCudaProperties *p = &gpu->properties;
  guint64 limit = G_MAXUINT64;
  hass_gpu_memory_limit (&limit, NULL);
  pthread_mutex_lock (&gpu->lock);
  double link = gpu->link_bytes_per_ns;
  pthread_mutex_unlock (&gpu->lock);
  *traits = (HassDeviceTraits){
    .name = gpu->name,
    .kind = HASS_DEVICE_GPU,
    .cores = p->multiprocessors,
    .width = (guint64)p->multiprocessors * p->threads_per_multiprocessor,
    .latency_ns = LATENCY_NS,
    .link_bytes_per_ns = link > 0 ? link : link_guess (p),
    .max_in_flight = HASS_CUDA_SLOTS,
    .link = gpu->link,
    .memory_bytes = MIN (limit, p->memory_bytes),
    .part_bytes = PART_BYTES,
    .model = p->name,
    .max_fused = G_MAXUINT32
  };
}

/* Sets d->budget, the bytes of device memory that hass may hold on this GPU in
   all: the smaller one of HASS_GPU_MEM and of what was free when the driver
   was last asked. As the driver is slow to answer, a recent answer is used
   again. */
static gboolean
set_budget (HassCudaDevice *d, GError **error)
{
  HassGpu *gpu = d->gpu;
  guint64 limit;
  pthread_mutex_lock (&gpu->lock);
  gboolean fresh
      = gpu->budget_ns > 0 && hass_clock_ns () < gpu->budget_ns + FRESH_NS;
  pthread_mutex_unlock (&gpu->lock);
  if (!hass_gpu_memory_limit (&limit, error)
      || (!fresh && !hass_gpu_ask_memory (gpu, error)))
    return FALSE;
  pthread_mutex_lock (&gpu->lock);
  d->budget = MIN (limit, gpu->budget_bytes);
  pthread_mutex_unlock (&gpu->lock);
  return TRUE;
}

/* Returns the kits (streams, events and buffers of a bundle) of all slots to
   the GPU, so that the slots of the next farm get them in the same order, with
   buffers of the size that they needed. The kit of a busy slot is abandoned
   instead: the GPU is lost and its kernels may still use the buffers. */
static void
give_kits_back (HassCudaDevice *d)
{
  for (guint i = HASS_CUDA_SLOTS; i-- > 0;)
    {
      HassCudaSlot *slot = &d->slots[i];
      if (slot->kit && slot->busy)
        hass_gpu_kit_abandon (d->gpu, g_steal_pointer (&slot->kit));
      else if (slot->kit)
        hass_gpu_kit_return (d->gpu, g_steal_pointer (&slot->kit));
      slot->busy = slot->counted = FALSE;
    }
}

static gboolean
open_slots (HassCudaDevice *d, GError **error)
{
  gboolean ok = TRUE;
  for (guint i = 0; i < HASS_CUDA_SLOTS && ok; i++)
    {
      HassCudaSlot *slot = &d->slots[i];
      slot->busy = FALSE;
      slot->kit = hass_gpu_kit_take (d->gpu, error);
      ok = slot->kit != NULL;
      slot->in_stream = slot->out_stream = ok ? slot->kit->stream : NULL;
    }
  ok = ok && hass_cuda_send_constants (d, error);
  if (!ok)
    {
      give_kits_back (d);
      hass_cuda_free_constants (d);
    }
  return ok;
}

static gboolean
open_device (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  /* Binds the thread near the GPU before anything else, so that the memory
     that it allocates below lies on the GPU's NUMA node as well. */
  hass_topology_bind_near (d->gpu->properties.pci);
  gboolean ok = hass_gpu_usable (d->gpu, error)
                && hass_gpu_start (d->gpu, farm->unwanted, error)
                && hass_gpu_check (
                    d->gpu, hass_cudart ()->set_device ((int)d->gpu->index),
                    "open the device", error)
                && set_budget (d, error);
  /* Clears the runtime's last error on this thread, which an earlier farm may
     have left. */
  hass_cudart ()->last_error ();
  d->farm = farm;
  d->lost = FALSE;
  d->n_queued = d->n_failing = 0;
  d->done_ns = d->expected_ns = 0;
  d->has_epoch = FALSE;
  memset (d->stage_end_ns, 0, sizeof d->stage_end_ns);
  d->transfers = (HassTransfers){ 0 };
  d->record_rate = farm->records_per_element;
  ok = ok
       && (farm->kind == HASS_FARM_DATAFLOW ? hass_cuda_open_data (d, error)
                                            : open_slots (d, error));
  if (ok)
    {
      d->slack_ns = prctl (PR_GET_TIMERSLACK);
      prctl (PR_SET_TIMERSLACK, SLACK_NS);
    }
  return ok;
}

static void
close_device (HassDevice *device)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  hass_cuda_close_data (d);
  give_kits_back (d);
  hass_cuda_free_constants (d);
  prctl (PR_SET_TIMERSLACK, d->slack_ns);
}

static void
transfers (HassDevice *device, HassTransfers *transfers)
{
  *transfers = ((HassCudaDevice *)device)->transfers;
}

static gint64
opening_ns (HassDevice *device)
{
  return hass_gpu_start_ns (((HassCudaDevice *)device)->gpu);
}

static void
unopened (HassDevice *device, gint64 ns)
{
  hass_gpu_unstarted (((HassCudaDevice *)device)->gpu, ns);
}

static const HassDeviceOps cuda_ops = { .struct_size = sizeof (HassDeviceOps),
                                        .kind = "cuda",
                                        .describe = describe,
                                        .open = open_device,
                                        .submit = hass_cuda_submit,
                                        .wait = hass_cuda_wait,
                                        .close = close_device,
                                        .transfers = transfers,
                                        .opening_ns = opening_ns,
                                        .unopened = unopened,
                                        .data = &hass_cuda_data_ops };

/* Returns: a new device for one farm, which drives the GPU with this index,
   less than hass_gpus_expected (); NULL if there is no such GPU any more. */
HassDevice *
hass_cuda_device_new (guint index)
{
  HassGpu *gpu = hass_gpus_get (index);
  if (!gpu)
    return NULL;
  HassCudaDevice *d = g_new0 (HassCudaDevice, 1);
  d->device.ops = &cuda_ops;
  d->gpu = gpu;
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      d->slots[i].groups = g_array_new (FALSE, FALSE, sizeof (HassCudaGroup));
      d->slots[i].sorted = g_array_new (FALSE, FALSE, sizeof (HassBlock));
      d->slots[i].rectangles
          = g_array_new (FALSE, FALSE, sizeof (HassRectangle));
      hass_chain_init (&d->slots[i].chain);
    }
  return &d->device;
}

void
hass_cuda_device_free (HassDevice *device)
{
  HassCudaDevice *d = (HassCudaDevice *)device;
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    {
      g_array_unref (d->slots[i].groups);
      g_array_unref (d->slots[i].sorted);
      g_array_unref (d->slots[i].rectangles);
      hass_chain_clear (&d->slots[i].chain);
    }
  g_free (d);
}

static guint
count (gboolean exact)
{
  return exact ? hass_gpus_count () : hass_gpus_expected ();
}

static gboolean
check (GError **error)
{
  guint64 unused;
  return hass_gpu_memory_limit (&unused, error);
}

const HassDeviceKindOps hass_cuda_kind
    = { .struct_size = sizeof (HassDeviceKindOps),
        .name = "cuda",
        .summary = "NVIDIA GPUs, through the CUDA runtime",
        .count = count,
        .create = hass_cuda_device_new,
        .destroy = hass_cuda_device_free,
        .problem = hass_gpus_problem,
        .check = check };

/* SPDX-License-Identifier: MIT */
/* cudart.c: the table of cudart-private.h over the real CUDA runtime, which
   is linked statically and finds the driver, if any, when first called.
   Thread safety: see cudart-private.h. */
#include "cudart-private.h"

static const HassCudart *in_use;

#ifdef HASS_WITH_CUDA

#  include <cuda_runtime_api.h>
#  include <stdlib.h>
#  include <sys/mman.h>

#  include "device/copy_crew.h"

#  define HUGE_BYTES ((gsize)2 << 20)
#  define PAGE_BYTES 4096
/* Huge pages that the calling thread clears alone. A guess: more, and waking
   others pays; fewer, and staging lies on other NUMA nodes. */
#  define MOST_ALONE 8

static int
device_count (int *n)
{
  return cudaGetDeviceCount (n);
}

static int
properties (int device, HassCudaProperties *p)
{
  struct cudaDeviceProp prop;
  int code = cudaGetDeviceProperties (&prop, device);
  if (code != cudaSuccess)
    return code;
  *p = (HassCudaProperties){ .multiprocessors = (guint)prop.multiProcessorCount,
                             .threads_per_multiprocessor
                             = (guint)prop.maxThreadsPerMultiProcessor,
                             .memory_bytes = prop.totalGlobalMem,
                             .compute_major = (guint)prop.major };
  g_strlcpy (p->name, prop.name, sizeof p->name);
  return cudaDeviceGetPCIBusId (p->pci, sizeof p->pci, device);
}

static int
set_device (int device)
{
  return cudaSetDevice (device);
}

static int
memory_info (gsize *free_bytes, gsize *total_bytes)
{
  return cudaMemGetInfo (free_bytes, total_bytes);
}

static int
allocate (gpointer *memory, gsize bytes)
{
  return cudaMalloc (memory, bytes);
}

static int
release (gpointer memory)
{
  return cudaFree (memory);
}

static void
touch (guint i, gpointer memory)
{
  for (gsize at = 0; at < HUGE_BYTES; at += PAGE_BYTES)
    ((volatile guint8 *)memory)[i * HUGE_BYTES + at] = 0;
}

/* Memory of the C library in huge pages, which the kernel clears on several
   cores, is pinned in a fifth of the time that cudaHostAlloc() takes (8 GiB
   beside an H100: 0.4 to 0.6 s in place of 3.2). Small memory is touched by the
   calling thread alone, so that it lies on its NUMA node. */
static int
allocate_host (gpointer *memory, gsize bytes)
{
  gsize whole = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  if (bytes < HUGE_BYTES || posix_memalign (memory, HUGE_BYTES, whole) != 0)
    return cudaHostAlloc (memory, bytes, cudaHostAllocPortable);
  guint n = (guint)(whole / HUGE_BYTES);
  madvise (*memory, whole, MADV_HUGEPAGE);
  if (n > MOST_ALONE)
    hass_copy_crew_run (n, touch, *memory);
  else
    for (guint i = 0; i < n; i++)
      touch (i, *memory);
  if (cudaHostRegister (*memory, whole, cudaHostRegisterPortable)
      == cudaSuccess)
    return cudaSuccess;
  cudaGetLastError ();
  free (*memory);
  return cudaHostAlloc (memory, bytes, cudaHostAllocPortable);
}

/* What allocate_host() has pinned itself lies on a huge page's boundary; what
   cudaHostAlloc() made seldom does. */
static int
release_host (gpointer memory)
{
  if ((guintptr)memory % HUGE_BYTES == 0)
    {
      if (cudaHostUnregister (memory) == cudaSuccess)
        {
          free (memory);
          return cudaSuccess;
        }
      cudaGetLastError ();
    }
  return cudaFreeHost (memory);
}

static int
register_host (gpointer memory, gsize bytes)
{
  return cudaHostRegister (memory, bytes, cudaHostRegisterPortable);
}

static int
unregister_host (gpointer memory)
{
  return cudaHostUnregister (memory);
}

static int
stream_new (gpointer *stream)
{
  return cudaStreamCreateWithFlags ((cudaStream_t *)stream,
                                    cudaStreamNonBlocking);
}

static int
stream_free (gpointer stream)
{
  return cudaStreamDestroy (stream);
}

static int
stream_query (gpointer stream)
{
  return cudaStreamQuery (stream);
}

static int
stream_wait (gpointer stream, gpointer event)
{
  return cudaStreamWaitEvent (stream, event, 0);
}

static int
event_new (gpointer *event)
{
  return cudaEventCreateWithFlags ((cudaEvent_t *)event, cudaEventBlockingSync);
}

static int
event_free (gpointer event)
{
  return cudaEventDestroy (event);
}

static int
event_record (gpointer event, gpointer stream)
{
  return cudaEventRecord (event, stream);
}

static int
event_query (gpointer event)
{
  return cudaEventQuery (event);
}

static int
event_wait (gpointer event)
{
  return cudaEventSynchronize (event);
}

static int
event_elapsed (float *ms, gpointer begin, gpointer end)
{
  return cudaEventElapsedTime (ms, begin, end);
}

static enum cudaMemcpyKind
kind_of (HassCudaDirection direction)
{
  return direction == HASS_CUDA_TO_DEVICE ? cudaMemcpyHostToDevice
                                          : cudaMemcpyDeviceToHost;
}

static int
copy (gpointer to, gconstpointer from, gsize bytes, HassCudaDirection direction,
      gpointer stream)
{
  return cudaMemcpyAsync (to, from, bytes, kind_of (direction), stream);
}

/* One call of the driver for all, whose copies leave no gaps on the link: of
   512 KiB each 48 GB/s beside copies in the other direction, with a call each
   37 (H200, CUDA 13). A driver that is older than the runtime may lack it. */
static int
copy_batch (gpointer *to, gpointer *from, gsize *bytes, gsize n,
            HassCudaDirection direction, gpointer stream)
{
  int code = cudaErrorNotSupported;
#  if CUDART_VERSION >= 13000
  struct cudaMemcpyAttributes how
      = { .srcAccessOrder = cudaMemcpySrcAccessOrderStream };
  gsize first = 0;
  if (n > 1)
    code = cudaMemcpyBatchAsync (to, (const void *const *)from, bytes, n, &how,
                                 &first, 1, stream);
#  endif
  if (code != cudaErrorNotSupported && code != cudaErrorCallRequiresNewerDriver)
    return code;
  cudaGetLastError ();
  code = cudaSuccess;
  for (gsize i = 0; i < n && code == cudaSuccess; i++)
    code = copy (to[i], from[i], bytes[i], direction, stream);
  return code;
}

static int
copy_rows (gpointer to, gsize to_pitch, gconstpointer from, gsize from_pitch,
           gsize row_bytes, gsize rows, HassCudaDirection direction,
           gpointer stream)
{
  return cudaMemcpy2DAsync (to, to_pitch, from, from_pitch, row_bytes, rows,
                            kind_of (direction), stream);
}

static int
clear (gpointer memory, gsize bytes, gpointer stream)
{
  return cudaMemsetAsync (memory, 0, bytes, stream);
}

static int
pool_keep (int device)
{
  cudaMemPool_t pool;
  guint64 all = G_MAXUINT64;
  int code = cudaDeviceGetDefaultMemPool (&pool, device);
  return code != cudaSuccess ? code
                             : (int)cudaMemPoolSetAttribute (
                                 pool, cudaMemPoolAttrReleaseThreshold, &all);
}

static int
pool_spare (int device, gsize *bytes)
{
  cudaMemPool_t pool;
  guint64 kept = 0, used = 0;
  int code = cudaDeviceGetDefaultMemPool (&pool, device);
  if (code == cudaSuccess)
    code = cudaMemPoolGetAttribute (pool, cudaMemPoolAttrReservedMemCurrent,
                                    &kept);
  if (code == cudaSuccess)
    code = cudaMemPoolGetAttribute (pool, cudaMemPoolAttrUsedMemCurrent, &used);
  *bytes = kept - MIN (used, kept);
  return code;
}

static int
pool_share (int device, int by)
{
  const struct cudaMemAccessDesc access
      = { { cudaMemLocationTypeDevice, by }, cudaMemAccessFlagsProtReadWrite };
  cudaMemPool_t pool;
  int can = 0;
  int code = cudaDeviceCanAccessPeer (&can, by, device);
  if (code == cudaSuccess && can)
    code = cudaDeviceGetDefaultMemPool (&pool, device);
  if (code == cudaSuccess && can)
    code = cudaMemPoolSetAccess (pool, &access, 1);
  return code;
}

static int
allocate_async (gpointer *memory, gsize bytes, gpointer stream)
{
  return cudaMallocAsync (memory, bytes, stream);
}

static int
release_async (gpointer memory, gpointer stream)
{
  return cudaFreeAsync (memory, stream);
}

static int
copy_peer (gpointer to, int to_device, gconstpointer from, int from_device,
           gsize bytes, gpointer stream)
{
  return cudaMemcpyPeerAsync (to, to_device, from, from_device, bytes, stream);
}

static int
last_error (void)
{
  return cudaGetLastError ();
}

static const char *
text (int code)
{
  return cudaGetErrorString (code);
}

static HassCudaKind
classify (int code)
{
  switch (code)
    {
    case cudaSuccess:
      return HASS_CUDA_OK;
    case cudaErrorNotReady:
      return HASS_CUDA_NOT_READY;
    case cudaErrorMemoryAllocation:
      return HASS_CUDA_NO_MEMORY;
    case cudaErrorAssert:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorExternalDevice:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
      return HASS_CUDA_STICKY;
    default:
      return HASS_CUDA_LOCAL;
    }
}

/* Expected time in ns to start a GPU, until one start is measured. Measured:
   the context of an H200 took 122 ms with the driver running; rounded up. If
   it is too large, short farms do not start a GPU that would pay; if too
   small, they start one that does not. */
#  define START_NS 200000000

/* Without batches each copy takes microseconds of the calling thread, and a
   short one leaves the link idle for some. */
#  define BATCH_BYTES ((gsize)(CUDART_VERSION >= 13000 ? 32 : 256) << 10)

static const HassCudart real
    = { device_count,  properties,      set_device,    memory_info,
        allocate,      release,         allocate_host, release_host,
        register_host, unregister_host, stream_new,    stream_free,
        stream_query,  stream_wait,     event_new,     event_free,
        event_record,  event_query,     event_wait,    event_elapsed,
        copy,          copy_batch,      copy_rows,     clear,
        pool_keep,     pool_spare,      pool_share,    allocate_async,
        release_async, copy_peer,       last_error,    text,
        classify,      CUDART_VERSION,  BATCH_BYTES,   START_NS };

#  define BUILT_IN (&real)

#else

#  define BUILT_IN NULL

#endif

const HassCudart *
hass_cudart (void)
{
  return in_use ? in_use : BUILT_IN;
}

void
hass_cudart_use (const HassCudart *cudart)
{
  in_use = cudart;
}

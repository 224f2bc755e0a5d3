/* SPDX-License-Identifier: MIT */
/* counting.c: see counting.h.
   Thread safety: see counting.h. */
#include "counting.h"

#include "device/fake_cudart.h"

_Atomic guint counting_on_cpu, counting_on_gpu;

void
counting_reset (void)
{
  atomic_store (&counting_on_cpu, 0);
  atomic_store (&counting_on_gpu, 0);
}

gboolean
counting_cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
                     GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  atomic_fetch_add (&counting_on_cpu, 1);
  return TRUE;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  atomic_fetch_add (&counting_on_gpu, (guint)bundle->n_blocks);
}

gboolean
counting_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                     gpointer data, GError **error)
{
  fake_launch (stream, kernel, bundle, data);
  return fake_check ("count", error);
}

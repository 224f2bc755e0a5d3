/* SPDX-License-Identifier: MIT */
/* devices.c: which devices run a stage, and how a device finds the stage's
   worker.
   Thread safety: any thread; constant while the pipeline runs. */
#include "stream-private.h"

#include "device/kinds.h"
#include "device/ops.h"

#define GPU_KIND "cuda"

/* Returns the worker of a stage for devices of a kind, NULL if it has none.
   @kind: NULL, or a kind that is not registered: the device runs GPU workers.
 */
HassGpuWorkerFunc
hass_stage_worker (const HassStage *stage, const char *kind)
{
  for (const HassKindWorker *w = stage->workers; w && w->kind && kind; w++)
    if (strcmp (w->kind, kind) == 0)
      return w->worker;
  gboolean gpu = !kind || strcmp (kind, GPU_KIND) == 0
                 || hass_device_kind_find (kind) < 0;
  return gpu ? stage->gpu : NULL;
}

/* Returns: TRUE if a device other than the CPU pool can run the stage. */
gboolean
hass_stage_runs_on (const HassJob *job, const HassStage *stage, guint device)
{
  const HassDevice *d = job->gpus ? job->gpus[device] : NULL;
  return hass_stage_worker (stage, d ? d->ops->kind : NULL) != NULL;
}

/* Returns (transfer full): [n_stages] the stages of a pipeline for a device of
   a kind. */
HassDeviceStage *
hass_stream_device_stages (const HassFarm *farm, const char *kind)
{
  HassDeviceStage *stages = g_new0 (HassDeviceStage, farm->n_stages);
  for (guint s = 0; s < farm->n_stages; s++)
    {
      const HassStage *stage = &farm->stages[s];
      stages[s] = (HassDeviceStage){ .name = stage->name,
                                     .worker = hass_stage_worker (stage, kind),
                                     .user_data = stage->user_data,
                                     .output_bytes = stage->output_bytes,
                                     .output_ratio = stage->output_ratio };
    }
  return stages;
}

/* Each token in flight passes at least one more stage. */
HassRest
hass_stream_rest (HassJob *job, guint device)
{
  const HassStream *stream = hass_stream_of (job);
  HassRest rest = { .more = !atomic_load_explicit (&job->generated,
                                                   memory_order_acquire) };
  double units = 0, busy_ns = 0;
  guint n = 0;
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTotals *t = &job->totals[d];
      if (!job->gpus[d] || !hass_device_alike (job->gpus[d], job->gpus[device])
          || t->lost || t->units == 0)
        continue;
      n++;
      units += (double)t->units;
      busy_ns += t->busy_ns;
    }
  rest.shown = n > 0;
  if (n > 0)
    rest.ns
        = (double)atomic_load_explicit (&stream->n_tokens, memory_order_relaxed)
          * busy_ns / units / n;
  return rest;
}

gboolean
hass_stage_has_cpu (const HassFarm *farm, guint stage)
{
  return farm->stages[stage].cpu != NULL;
}

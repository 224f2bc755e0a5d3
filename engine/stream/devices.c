/* SPDX-License-Identifier: MIT */
/* devices.c: what devices other than the CPU pool do in a pipeline.
   Thread safety: constant while the pipeline runs. */
#include "stream-private.h"

/* Returns: TRUE if the stage has a worker for a device other than the CPU pool.
 */
gboolean
hass_stage_runs_on (const HassJob *job, const HassStage *stage, guint device)
{
  (void)job;
  (void)device;
  return stage->gpu != NULL;
}

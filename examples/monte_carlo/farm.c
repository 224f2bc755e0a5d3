/* SPDX-License-Identifier: MIT */
/* farm.c: samples as a partition farm: one divisible load that has elements
   but no bytes, sums as accumulators.
   Thread safety: as hass/data_farm.h. */
#include <string.h>

#include "kernels.h"
#include "monte_carlo.h"

/* Steps of paths, and points, in a block of about 200 us on a core. */
#define BLOCK_STEPS ((guint64)1 << 16)
#define BLOCK_POINTS ((guint64)1 << 17)
#define MOST_BLOCKS ((guint64)1 << 24)

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  (void)error;
  monte_carlo_sample (monte_carlo_kernels (0), user_data, block->first,
                      block->count, hass_worker_accumulator (worker));
  return TRUE;
}

static void
merge (gpointer accumulator, gconstpointer part, gpointer user_data)
{
  (void)user_data;
  mc_sums_merge (accumulator, part);
}

/* A multiple of what a kernel computes at a time. */
static guint64
block_samples (const McJob *job)
{
  guint64 n = job->block;
  if (n > 0)
    return n;
  n = job->model.kind == MC_PI ? BLOCK_POINTS : BLOCK_STEPS / job->model.steps;
  n = MAX (n, job->samples / MOST_BLOCKS);
  return (n / MC_LANES + 1) * MC_LANES;
}

gboolean
monte_carlo_run (const McJob *job, McSums *sums, HassReport **report,
                 GError **error)
{
  McModel model = job->model;
  HassLoad load = { .size = job->samples };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  if (job->samples == 0 || job->samples > MC_MAX_SAMPLES)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%" G_GUINT64_FORMAT
                   " samples are not between 1 and %" G_GUINT64_FORMAT,
                   job->samples, MC_MAX_SAMPLES);
      return FALSE;
    }
  memset (sums, 0, sizeof *sums);
  farm.name = model.kind == MC_PI         ? "pi"
              : model.kind == MC_EUROPEAN ? "european"
                                          : "asian";
  farm.user_data = &model;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = job->no_cpu ? NULL : work;
  farm.gpu_worker = job->gpu_worker;
  farm.block_elements = block_samples (job);
  farm.element_threads = 1;
  farm.reduce = merge;
  farm.accumulator = sums;
  farm.accumulator_bytes = sizeof *sums;
  farm.run = job->run;
  return hass_data_farm_partition (&farm, report, error);
}

/* SPDX-License-Identifier: MIT */
/* test_align_gpu_tile.c: what a GPU computes of align, emulated, against cores.
   Thread safety: one thread. */
#include "hass_test.h"

#include "engine/stand_in_data.h"
#include "gpu_emulator.h"
#include "wave_trial.h"

static gboolean
run_here (const AlignGpuWave *wave, char *memory, gsize bytes, GError **error)
{
  (void)memory, (void)bytes;
  return gpu_emulator_wave (wave, NULL, error);
}

static void
kernel (const HassCall *call)
{
  gpu_emulator_wave (call->arguments, NULL, NULL);
}

/* When the turn of the operation has come. */
static gboolean
enqueue (const AlignGpuWave *wave, HassGpuStream *stream, GError **error)
{
  HassCall call = { .arguments = wave };
  (void)error;
  stand_in_data_launch (stream, kernel, &call, sizeof *wave);
  return TRUE;
}

/* On one device, or two beside a core, of which one is lost. */
static void
emulate (void (*trial) (const WaveTrial *w), gboolean beside)
{
  StandInDataPlan plans[]
      = { { .name = "gpu0", .seed = 1 },
          { .name = "gpu1", .seed = 2, .lose_at = beside ? 30 : 0 } };
  HassDevice *devices[]
      = { stand_in_data_new (&plans[0]), stand_in_data_new (&plans[1]) };
  WaveTrial w = { .gpu = enqueue,
                  .devices = devices,
                  .n_devices = beside ? 2 : 1,
                  .run = run_here,
                  .no_cpu = !beside,
                  .small = TRUE };
  trial (&w);
  for (guint i = 0; i < 2; i++)
    {
      CU_ASSERT_PTR_NULL (stand_in_data_counts (devices[i]).wrong);
      stand_in_data_free (devices[i]);
    }
}

static void
random_tables (void)
{
  emulate (wave_trial_random, FALSE);
}

static void
thin_tables (void)
{
  emulate (wave_trial_thin, FALSE);
}

static void
limits (void)
{
  emulate (wave_trial_limits, FALSE);
}

static void
largest (void)
{
  emulate (wave_trial_largest, FALSE);
}

static void
ways (void)
{
  emulate (wave_trial_ways, FALSE);
}

static void
beside_cores (void)
{
  emulate (wave_trial_random, TRUE);
  emulate (wave_trial_ways, TRUE);
}

HASS_TEST_SUITE (
    align_gpu_tile,
    { "tiles as a GPU computes them have the bits of cores", random_tables },
    { "so have tables of a few rows or columns", thin_tables },
    { "and with scores around the limits of 8 and 16 bits", limits },
    { "scores may come near the limit of 32 bits", largest },
    { "alignments are found from edges that devices computed", ways })

/* Several threads at one table, which ThreadSanitizer is to see. */
HASS_TEST_SUITE (align_gpu_shared,
                 { "devices, of which one is lost, and cores share a table",
                   beside_cores })

/* SPDX-License-Identifier: MIT */
/* test_gpu_align.c: real GPUs compute the tiles of align to the bits that cores
   give.
   Thread safety: one thread. */
#include "hass_test.h"

#include "device/cuda/cudart-private.h"
#include "examples/align/wave_trial.h"
#include "examples/align/gpu.h"
#include "tests/gpu/gpu_trial.h"

/* In memory of the first GPU. */
static gboolean
run_there (const AlignGpuWave *wave, char *memory, gsize bytes, GError **error)
{
  const HassCudart *c = hass_cudart ();
  AlignGpuWave there = *wave;
  gpointer stream = NULL, event = NULL, copy = NULL;
  CU_ASSERT_FATAL (!c->set_device (0) && !c->stream_new (&stream)
                   && !c->event_new (&event) && !c->allocate (&copy, bytes));
  CU_ASSERT (!c->copy (copy, memory, bytes, HASS_CUDA_TO_DEVICE, stream));
  for (int i = 0; i < there.n_tasks; i++)
    {
      AlignGpuTask *t = &there.tasks[i];
      t->above = (char *)copy + (t->above - memory);
      t->left = (char *)copy + (t->left - memory);
      t->below = (char *)copy + (t->below - memory);
      t->beside = (char *)copy + (t->beside - memory);
      t->a = (int8_t *)copy + ((const char *)t->a - memory);
      t->b = (int8_t *)copy + ((const char *)t->b - memory);
    }
  gboolean ok = align_gpu_wave (&there, stream, error);
  CU_ASSERT (!c->copy (memory, copy, bytes, HASS_CUDA_TO_HOST, stream));
  CU_ASSERT (!c->event_record (event, stream) && !c->event_wait (event));
  CU_ASSERT (!c->release (copy) && !c->event_free (event)
             && !c->stream_free (stream));
  return ok;
}

static void
compute (void (*trial) (const WaveTrial *w), gboolean no_cpu)
{
  WaveTrial w = { .gpu = align_gpu_wave,
                  .run = run_there,
                  .no_cpu = no_cpu,
                  .small = g_getenv ("TEST_GPU_SMALL") != NULL };
  if (!gpu_skips (align_gpu_wave != NULL))
    trial (&w);
}

static void
alone (void)
{
  compute (wave_trial_random, TRUE);
}

static void
thin_tables (void)
{
  compute (wave_trial_thin, TRUE);
}

static void
limits (void)
{
  compute (wave_trial_limits, TRUE);
}

static void
largest (void)
{
  compute (wave_trial_largest, TRUE);
}

static void
ways (void)
{
  compute (wave_trial_ways, TRUE);
}

static void
together (void)
{
  compute (wave_trial_random, FALSE);
  compute (wave_trial_ways, FALSE);
}

HASS_TEST_SUITE (gpu_align,
                 { "GPUs alone compute tiles to the bits of cores", alone },
                 { "and tables of a few rows or columns", thin_tables },
                 { "and scores around the limits of 8 and 16 bits", limits },
                 { "and scores near the limit of 32 bits", largest },
                 { "GPUs alone find the alignments that cores find", ways },
                 { "GPUs and cores together do", together })

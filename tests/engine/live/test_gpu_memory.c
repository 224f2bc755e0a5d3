/* SPDX-License-Identifier: MIT */
/* test_gpu_memory.c: whole farms on GPUs whose memory does not suffice, over
   the stand-in for the CUDA runtime: bundles are halved, a limit is kept, and
   a load that can never fit is computed elsewhere or named.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <string.h>

#include "fault_trial.h"
#include "hass_test.h"

static const HassDeviceReport *
first_gpu (const HassReport *r)
{
  for (guint d = 0; r && d < r->n_devices; d++)
    if (r->devices[d].kind == HASS_DEVICE_GPU)
      return &r->devices[d];
  return NULL;
}

/* A bundle that does not fit is submitted again in halves. */
static void
halved (void)
{
  for (guint i = 0; i < N_FAULT_CASES; i++)
    {
      FaultCase c = fault_nth_case (i);
      GError *error = NULL;
      g_autoptr (HassReport) r = NULL;
      c.gpu_only = TRUE;
      c.records = FALSE;
      c.n_gpus = 1;
      c.strategy = "rogue-deep";
      if (c.kind != HASS_FARM_PARTITION)
        {
          c.n_loads = 12;
          c.most_bytes = 50000;
        }
      else
        {
          c.most_bytes = 400000;
          c.block = 50000;
        }
      c.plan.fail_above_bytes = i % 2 ? 1 << 17 : 0;
      c.plan.memory_bytes = i % 2 ? 0 : 700 << 10;
      FakeCounts counts = fault_run_case (&c, &r, &error);
      CU_ASSERT_PTR_NULL (error);
      if (error)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_TRUE (i % 2 == 0 || counts.faults > 0);
      CU_ASSERT_FALSE (first_gpu (r)->lost);
    }
}

static void
limited (void)
{
  for (guint i = 0; i < N_FAULT_CASES; i++)
    {
      FaultCase c = fault_nth_case (i);
      GError *error = NULL;
      c.gpu_only = TRUE;
      g_setenv ("HASS_GPU_MEM", "600K", TRUE);
      FakeCounts counts = fault_run_case (&c, NULL, &error);
      g_unsetenv ("HASS_GPU_MEM");
      CU_ASSERT_PTR_NULL (error);
      if (error)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_TRUE (counts.most_bytes[0] <= 600 << 10);
    }
}

/* A load that can never fit goes to the CPU, or is named with its sizes. */
static void
never_fits (void)
{
  for (guint i = 0; i < 8; i++)
    {
      GError *error = NULL;
      g_autoptr (HassReport) r = NULL;
      FaultCase c = { .kind = i % 2 ? HASS_FARM_INDIVISIBLE : HASS_FARM_COMBINE,
                      .strategy = "rogue-deep",
                      .n_gpus = 1 + i / 4,
                      .n_loads = 8,
                      .most_bytes = 150000,
                      .gpu_only = i / 2 % 2,
                      .pinned = i / 4,
                      .on_error = HASS_ON_ERROR_CONTINUE,
                      .plan = { .fail_above_bytes = 128 << 10 } };
      FakeCounts counts = fault_run_case (&c, &r, &error);
      const HassDeviceReport *gpu = first_gpu (r);
      CU_ASSERT_FALSE (gpu->lost);
      if (!c.gpu_only)
        CU_ASSERT_PTR_NULL (error);
      if (c.gpu_only)
        {
          CU_ASSERT_TRUE (r->n_unfinished > 0 && r->units > 0);
          const char *why
              = r->n_unfinished > 0 ? r->unfinished[0].message : NULL;
          CU_ASSERT_TRUE (why && strstr (why, "needs") && strstr (why, "bytes")
                          && strstr (why, "gpu"));
          if (!why)
            g_printerr ("\n    %s", error ? error->message : "no error");
        }
      else if (counts.faults > 0 && gpu->message)
        CU_ASSERT_PTR_NOT_NULL (strstr (gpu->message, "needs"));
      g_clear_error (&error);
    }
}

HASS_TEST_SUITE (gpu_memory, { "bundles that do not fit are halved", halved },
                 { "HASS_GPU_MEM is kept to", limited },
                 { "a load that never fits goes to the CPU or is named",
                   never_fits })

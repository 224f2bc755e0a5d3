/* SPDX-License-Identifier: MIT */
/* test_gpu_survival.c: faults of real GPUs lose no result; skipped where there
   is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "gpu_trial.h"
#include "kernels.h"

static void
survives_bad_launches (void)
{
  if (gpu_absent ())
    return;
  Scattered s = scattered_new (2000, 100, 1000);
  HassDataFarm farm = scattered_farm (&s, TRUE, kernel_bad_launch);
  GError *error = NULL;
  HassReport *r = NULL;
  farm.run.strategy = "gpu-only"; /* or cores may be done before it asks */
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  scattered_check (&s);
  CU_ASSERT_TRUE (gpu_of (r)->failures > 0);
  CU_ASSERT_PTR_NOT_NULL (gpu_of (r)->message);
  hass_report_free (r);
  g_clear_error (&error);
  farm = scattered_farm (&s, FALSE, kernel_bad_launch);
  CU_ASSERT_FALSE (hass_data_farm_combine (&farm, NULL, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "no device is left"));
  g_clear_error (&error);
  /* Nothing is broken: the next farm runs. */
  farm = scattered_farm (&s, FALSE, kernel_sum);
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  scattered_check (&s);
  scattered_free (&s);
}

static void
survives_assert (void)
{
  gpu_in_child ("gpu_fault_child", "assert");
}

static void
survives_hang (void)
{
  gpu_in_child ("gpu_fault_child", "hang");
}

static void
fault_child (void)
{
  const char *fault = g_getenv ("TEST_GPU_FAULT");
  if (gpu_absent ())
    return;
  if (!fault)
    {
      hass_test_skip ("runs as a child of gpu_survival");
      return;
    }
  gboolean hang = strcmp (fault, "hang") == 0;
  Scattered s = scattered_new (3000, 100, 2000);
  /* Cores would be done before the GPU is started. */
  HassDataFarm farm = scattered_farm (&s, FALSE, kernel_sum);
  hass_report_free (must_run (hass_data_farm_combine, &farm));
  farm = scattered_farm (&s, TRUE, hang ? kernel_loop : kernel_assert);
  GError *error = NULL;
  HassReport *r = NULL;
  farm.run.bundle_deadline_ms = hang ? 300 : 0;
  gint64 begin = g_get_monotonic_time ();
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  CU_ASSERT_TRUE (g_get_monotonic_time () - begin < 3500000);
  scattered_check (&s);
  guint n_lost = 0;
  for (guint d = 0; d < r->n_devices; d++)
    {
      n_lost += r->devices[d].lost;
      fprintf (stderr, "%s: %s\n", r->devices[d].name, r->devices[d].message);
    }
  CU_ASSERT_TRUE (n_lost > 0);
  hass_report_free (r);
  /* And the next farm, without that GPU. */
  farm.gpu_worker = kernel_sum;
  farm.run.bundle_deadline_ms = 0;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  scattered_check (&s);
  hass_report_free (r);
  if (!hang)
    {
      farm = scattered_farm (&s, FALSE, kernel_sum);
      CU_ASSERT_FALSE (hass_data_farm_combine (&farm, NULL, &error));
      CU_ASSERT_TRUE (error && strstr (error->message, "no GPU"));
      if (error)
        fprintf (stderr, "(expected) %s\n", error->message);
      g_clear_error (&error);
    }
  scattered_free (&s);
}

HASS_TEST_SUITE (gpu_survival,
                 { "launch errors lose nothing", survives_bad_launches },
                 { "a failed device assert loses nothing", survives_assert },
                 { "a kernel past its deadline loses nothing", survives_hang })

HASS_TEST_SUITE (gpu_fault_child,
                 { "a fault, in a process of its own", fault_child })

/* SPDX-License-Identifier: MIT */
/* test_replay_h200.c: what was recorded on a machine with an NVIDIA H200
   (doc/results/h200.md) and is replayed here takes as long as it took there,
   within 5 %.
   Thread safety: one thread. */
#include <math.h>

#include "hass_test.h"
#include "tools/hass-sim/replay/replay.h"

static void
expect_within (const char *name, double gpu_share)
{
  g_autofree char *path
      = g_build_filename (HASS_TOP, "doc/results/records", name, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  GPtrArray *farms = record_read (path, &error);
  RecordFarm *farm = farms ? farms->pdata[0] : NULL;
  Replay *replay = farm ? replay_fit (farm, &error) : NULL;
  ReplayMachine *m = replay ? replay_machine (replay) : NULL;
  CU_ASSERT_TRUE (m && replay_run (m, NULL, 1, &report, &error));
  if (report)
    {
      const HassDeviceReport *gpu = &report->devices[report->n_devices - 1];
      double share = (double)gpu->units / report->units;
      double part = report->makespan_s * 1e9 / farm->makespan;
      CU_ASSERT_TRUE (fabs (part - 1) <= 0.05);
      CU_ASSERT_TRUE (share >= gpu_share);
    }
  if (error)
    printf ("\n    %s", error->message);
  if (m)
    replay_machine_free (m);
  if (replay)
    replay_free (replay);
  if (farms)
    g_ptr_array_unref (farms);
}

static void
pi (void)
{
  expect_within ("h200-pi.jsonl", 0.9);
}

static void
search (void)
{
  expect_within ("h200-string-search.jsonl", 0);
}

static void
search_on_gpu (void)
{
  expect_within ("h200-string-search-gpu.jsonl", 1);
}

HASS_TEST_SUITE (replay_h200,
                 { "Monte Carlo on 16 cores and an H200, cold", pi },
                 { "a string search on 16 cores and an H200, cold", search },
                 { "a string search on the H200 alone", search_on_gpu })

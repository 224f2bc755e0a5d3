/* SPDX-License-Identifier: MIT */
/* test_hung_device.c: a device that does not look at bundle_deadline_ms, and
   whose bundle never ends, is given up by the engine: its units are computed
   elsewhere.
   Thread safety: one thread, beside the engine's and the stand-ins'. */
#include <string.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

static const HassFarmKind kinds[]
    = { HASS_FARM_PARTITION, HASS_FARM_COMBINE, HASS_FARM_INDIVISIBLE,
        HASS_FARM_FUNCTION };

/* A farm on cores, unless @alone, and on two devices, of which the first hangs
   with bundle @hang_at. Alone the other must not be late on a machine that is
   busy, as the farm would fail. Returns: what the first counted. */
static StandInCounts
run (HassFarmKind kind, guint depth, guint hang_at, gboolean alone)
{
  gint64 deadline_ms = alone ? 1000 : 20;
  g_autofree char *message = g_strdup_printf (
      "gpu0: a bundle took longer than %" G_GINT64_FORMAT " ms", deadline_ms);
  Trial t = { .kind = kind,
              .strategy = alone ? "gpu-only" : "auto",
              .n_cores = 2,
              .seed = hang_at,
              .cost = HASS_COST_SIZED,
              .n_loads = 60,
              .most_elements = 20,
              .collect = TRUE,
              .gpu_only = alone,
              .bundle_deadline_ms = deadline_ms,
              .n_devices = 2 };
  t.devices[0] = stand_in_new (
      &(StandInPlan){ .name = "gpu0", .depth = depth, .hang_at = hang_at });
  t.devices[1] = stand_in_new (&(StandInPlan){ .name = "gpu1" });
  g_autoptr (HassReport) r = NULL;
  g_autofree char *wrong = trial_run (&t, &r);
  if (wrong)
    g_printerr ("\n    %s", wrong);
  CU_ASSERT_PTR_NULL (wrong);
  StandInCounts counts = stand_in_counts (t.devices[0]);
  CU_ASSERT_PTR_NULL (counts.wrong);
  CU_ASSERT_EQUAL (counts.opened, counts.closed);
  for (guint d = 0; r && d < r->n_devices; d++)
    if (strcmp (r->devices[d].name, "gpu0") == 0
        && counts.submitted > counts.finished)
      CU_ASSERT_TRUE (r->devices[d].message
                      && strstr (r->devices[d].message, message));
  for (guint d = 0; d < t.n_devices; d++)
    stand_in_free (t.devices[d]);
  return counts;
}

static void
goes_on (void)
{
  guint n_hung = 0;
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint depth = 1; depth <= 3; depth++)
      {
        StandInCounts c = run (kinds[k], depth, 1 + depth % 2, depth == 2);
        n_hung += c.submitted > c.finished;
      }
  CU_ASSERT_TRUE (n_hung > 0);
}

static void
none_left (void)
{
  Trial t = { .kind = HASS_FARM_COMBINE,
              .strategy = "gpu-only",
              .n_cores = 2,
              .seed = 1,
              .cost = HASS_COST_SIZED,
              .n_loads = 20,
              .most_elements = 20,
              .collect = TRUE,
              .gpu_only = TRUE,
              .may_fail_device = TRUE,
              .bundle_deadline_ms = 20,
              .n_devices = 1 };
  t.devices[0] = stand_in_new (&(StandInPlan){ .depth = 2, .hang_at = 1 });
  g_autoptr (HassReport) r = NULL;
  g_autofree char *wrong = trial_run (&t, &r);
  CU_ASSERT_PTR_NULL (wrong);
  CU_ASSERT_TRUE (r && r->n_unfinished > 0);
  CU_ASSERT_PTR_NULL (stand_in_counts (t.devices[0]).wrong);
  stand_in_free (t.devices[0]);
}

HASS_TEST_SUITE (
    hung_device,
    { "a device whose bundle never ends is given up after bundle_deadline_ms, "
      "and others compute its units",
      goes_on },
    { "if no other device is left the farm fails", none_left })

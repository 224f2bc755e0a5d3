/* SPDX-License-Identifier: MIT */
/* test_record.c: what a farm writes with HASS_RECORD: every unit once, on
   whatever device, also where bundles fail; farms one after another in one
   file; and no more than a bounded size.
   Thread safety: one thread, beside the engine's. */
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "tests/engine/stand_in.h"
#include "tools/hass-sim/replay/record.h"
#include "tests/engine/trial.h"

static GPtrArray *
read_back (const char *path)
{
  g_autoptr (GError) error = NULL;
  GPtrArray *farms = record_read (path, &error);
  CU_ASSERT_PTR_NOT_NULL (farms);
  if (!farms)
    printf ("\n    %s", error->message);
  return farms;
}

/* Units that rows of a list have computed; *failed: rows that did not. */
static guint64
units_in (const GArray *rows, guint *failed)
{
  guint64 n = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      n += r->ok ? r->units : 0;
      *failed += !r->ok;
    }
  return n;
}

/* Runs the trial with a record and holds the record to its farm. */
static void
expect_all_units (Trial *t, gboolean may_fail)
{
  g_autofree char *path = trial_file ("");
  g_autoptr (HassReport) report = NULL;
  guint failed = 0;
  g_setenv ("HASS_RECORD", path, TRUE);
  watchdog (60, "recording");
  g_autofree char *wrong = trial_run (t, &report);
  watchdog (0, NULL);
  g_unsetenv ("HASS_RECORD");
  CU_ASSERT_PTR_NULL (wrong);
  GPtrArray *farms = read_back (path);
  unlink (path);
  if (!farms || !report)
    return;
  const RecordFarm *f = farms->pdata[0];
  CU_ASSERT_EQUAL (farms->len, 1);
  CU_ASSERT_EQUAL (f->kind, t->kind);
  CU_ASSERT_EQUAL (f->n_devices, report->n_devices);
  CU_ASSERT_EQUAL (f->n_units, report->units);
  CU_ASSERT_EQUAL (units_in (f->pulls, &failed) + units_in (f->parts, &failed),
                   f->n_units);
  CU_ASSERT_TRUE (may_fail || failed == 0);
  /* A live farm's report has the time that writing the record took, too. */
  CU_ASSERT_TRUE (f->makespan <= report->makespan_s * 1e9 + 1);
  CU_ASSERT_TRUE (f->live || f->makespan >= report->makespan_s * 1e9 - 1);
  CU_ASSERT_EQUAL (f->live, t->platform == NULL);
  g_ptr_array_unref (farms);
}

static void
of_all_kinds (const StandInPlan *plan, gboolean may_fail)
{
  for (guint k = 0; k < 4; k++)
    {
      StandInPlan other = { .name = "gpu1", .depth = 2, .delay_us = 30 };
      Trial t = { .kind = 1 << k,
                  .strategy = "naive-greedy",
                  .seed = k,
                  .n_cores = 2,
                  .n_loads = k == 0 ? 3 : 200,
                  .most_elements = k == 0 ? 1500 : 20,
                  .block_elements = 10,
                  .round_loads = 60,
                  .collect = TRUE,
                  .spin_us = 20 };
      t.devices[t.n_devices++] = stand_in_new (plan);
      t.devices[t.n_devices++] = stand_in_new (&other);
      expect_all_units (&t, may_fail);
      for (guint d = 0; d < t.n_devices; d++)
        stand_in_free (t.devices[d]);
    }
}

static void
each_unit_is_recorded_once (void)
{
  StandInPlan plan = { .depth = 2, .delay_us = 20 };
  of_all_kinds (&plan, FALSE);
}

static void
failed_bundles_are_told (void)
{
  StandInPlan every = { .depth = 2, .fail_bundle_every = 3 };
  StandInPlan submit = { .depth = 2, .fail_submit_every = 4 };
  StandInPlan small = { .depth = 2, .staging_bytes = 24 };
  of_all_kinds (&every, TRUE);
  of_all_kinds (&submit, TRUE);
  of_all_kinds (&small, TRUE);
}

static void
lost_devices_leave_a_record (void)
{
  StandInPlan lost = { .depth = 2, .lose_at = 3 };
  StandInPlan shut = { .fail_open = TRUE };
  of_all_kinds (&lost, TRUE);
  of_all_kinds (&shut, TRUE);
}

static void
cores_alone_are_recorded (void)
{
  for (guint k = 0; k < 4; k++)
    {
      Trial t = { .kind = 1 << k,
                  .strategy = "naive-greedy",
                  .n_cores = 2,
                  .n_loads = k == 0 ? 3 : 3000,
                  .n_generated = k == 0 ? 2 : 2000,
                  .most_elements = k == 0 ? 9000 : 20,
                  .block_elements = 10,
                  .collect = TRUE,
                  .ordered = TRUE,
                  .nested_percent = k == 1 ? 10 : 0 };
      expect_all_units (&t, FALSE);
    }
}

/* -- A farm of its own -------------------------------------------------- */

static gboolean
nothing (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
run (const char *record, guint n_loads, guint round_loads, GError **error)
{
  g_autofree HassLoad *loads = g_new0 (HassLoad, n_loads);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < n_loads; i++)
    loads[i]
        = (HassLoad){ .size = 1 + i % 9, .input = "abc", .input_bytes = 3 };
  f.name = "mine";
  f.cost = HASS_COST_SIZED;
  f.loads = loads;
  f.n_loads = n_loads;
  f.round_loads = round_loads;
  f.cpu_worker = nothing;
  f.run.n_cores = 2;
  f.run.record = record;
  watchdog (60, "recording");
  gboolean ok = hass_data_farm_combine (&f, NULL, error);
  watchdog (0, NULL);
  return ok;
}

static void
farms_append (void)
{
  g_autofree char *path = trial_file ("what was there before\n");
  CU_ASSERT_TRUE (run (path, 100, 0, NULL));
  CU_ASSERT_TRUE (run (path, 200, 0, NULL));
  GPtrArray *farms = read_back (path);
  unlink (path);
  if (!farms)
    return;
  CU_ASSERT_EQUAL_FATAL (farms->len, 2);
  CU_ASSERT_EQUAL (((RecordFarm *)farms->pdata[0])->n_units, 100);
  CU_ASSERT_EQUAL (((RecordFarm *)farms->pdata[1])->n_units, 200);
  g_ptr_array_unref (farms);
}

static void
expect_small (guint n_loads, guint round_loads)
{
  g_autofree char *path = trial_file ("");
  g_autofree char *text = NULL;
  gsize bytes = 0;
  guint failed = 0;
  CU_ASSERT_TRUE (run (path, n_loads, round_loads, NULL));
  CU_ASSERT_TRUE (g_file_get_contents (path, &text, &bytes, NULL));
  CU_ASSERT_TRUE (bytes > 1000 && bytes < 1000000);
  GPtrArray *farms = read_back (path);
  unlink (path);
  if (!farms)
    return;
  const RecordFarm *f = farms->pdata[0];
  CU_ASSERT_EQUAL (f->n_units, n_loads);
  CU_ASSERT_EQUAL (units_in (f->pulls, &failed), n_loads);
  g_ptr_array_unref (farms);
}

static void
records_stay_small (void)
{
  expect_small (1000000, 0);
  expect_small (1000000, 100);
  expect_small (30000, 3);
}

static void
a_file_that_cannot_be_written (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (run ("/nowhere/record", 10, 0, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "/nowhere/record"));
  g_clear_error (&error);
  if (access ("/dev/full", W_OK) != 0)
    return;
  CU_ASSERT_FALSE (run ("/dev/full", 10, 0, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "/dev/full"));
}

HASS_TEST_SUITE (
    record, { "each unit is recorded once", each_unit_is_recorded_once },
    { "bundles that fail are told apart", failed_bundles_are_told },
    { "a device that is lost or does not open leaves a record",
      lost_devices_leave_a_record },
    { "cores alone are recorded", cores_alone_are_recorded },
    { "farms of one process append to the file that the first one emptied",
      farms_append },
    { "a record of a million units stays below 1 MB", records_stay_small },
    { "a file that cannot be written is an error that names it",
      a_file_that_cannot_be_written })

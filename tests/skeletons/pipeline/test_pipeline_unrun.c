/* SPDX-License-Identifier: MIT */
/* test_pipeline_unrun.c: a pipeline, farm or dataflow that fails before it runs
   has a report, too: an empty one, with its name and kind.
   Thread safety: one thread. */
#include <string.h>

#include "hass/dataflow.h"
#include "hass_test.h"
#include "pipe.h"

static gboolean
idle (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

static gboolean
no_block (const HassBlock *block, HassWorker *w, gpointer data, GError **error)
{
  (void)block, (void)w, (void)data, (void)error;
  return TRUE;
}

static gboolean
no_task (const HassTask *task, HassWorker *w, gpointer data, GError **error)
{
  (void)task, (void)w, (void)data, (void)error;
  return TRUE;
}

static gboolean
build (HassGraph *graph, gpointer data, GError **error)
{
  (void)graph, (void)data, (void)error;
  return TRUE;
}

/* One of each kind; its settings are those of @kind with @struct_size, or the
   right ones if it is 0. */
static gboolean
start (HassFarmKind kind, gsize struct_size, const char *platform,
       HassReport **report, GError **error)
{
  static const HassLoad load = { .size = 1 };
  static const HassTask task = { .cpu = no_task };
  const HassStage stage = HASS_STAGE (.cpu = idle);
  HassPipeline p = pipe_new (&stage, 1, 1);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  HassFunctionFarm t = HASS_FUNCTION_FARM_INIT;
  HassDataflow d = HASS_DATAFLOW_INIT;
  f.name = t.name = d.name = p.name = "unrun";
  f.run.platform = t.run.platform = d.run.platform = p.run.platform = platform;
  f.cpu_worker = no_block;
  f.loads = &load;
  f.n_loads = 1;
  t.tasks = &task;
  t.n_tasks = 1;
  d.build = build;
  if (struct_size > 0)
    f.struct_size = t.struct_size = d.struct_size = p.struct_size = struct_size;
  switch (kind)
    {
    case HASS_FARM_PARTITION:
      return hass_data_farm_partition (&f, report, error);
    case HASS_FARM_COMBINE:
      return hass_data_farm_combine (&f, report, error);
    case HASS_FARM_INDIVISIBLE:
      return hass_data_farm_indivisible (&f, report, error);
    case HASS_FARM_FUNCTION:
      return hass_function_farm (&t, report, error);
    case HASS_FARM_PIPELINE:
      return hass_pipeline (&p, report, error);
    default:
      return hass_dataflow (&d, report, error);
    }
}

static const HassFarmKind kinds[]
    = { HASS_FARM_PARTITION, HASS_FARM_COMBINE,  HASS_FARM_INDIVISIBLE,
        HASS_FARM_FUNCTION,  HASS_FARM_PIPELINE, HASS_FARM_DATAFLOW };

/* TRUE if each kind fails so and has an empty report, named @name unless that
   is NULL. */
static gboolean
all_fail (gsize struct_size, const char *platform, const char *name)
{
  gboolean right = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autoptr (HassReport) r = NULL;
      g_autoptr (GError) error = NULL;
      gboolean ok = start (kinds[i], struct_size, platform, &r, &error);
      gboolean this = !ok && error && r && r->kind == kinds[i] && r->farm
                      && (!name || strcmp (r->farm, name) == 0)
                      && r->makespan_s == 0 && r->n_devices == 0;
      if (!this)
        g_printerr ("\n    kind %d: %s, %s", kinds[i],
                    error ? error->message : "success",
                    r ? r->farm : "no report");
      right &= this;
      if (!r)
        continue;
      g_autofree char *text = hass_report_to_string (r);
      g_autofree char *json = hass_report_to_json (r);
      right &= text && !strstr (text, "null") && json && strstr (json, r->farm);
      /* Without a report and without an error the same is no crash. */
      right &= !start (kinds[i], struct_size, platform, NULL, NULL);
    }
  return right;
}

static void
unknown_platform (void)
{
  CU_ASSERT_TRUE (all_fail (0, "no-such-platform", "unrun"));
}

static void
wrong_environment (void)
{
  g_setenv ("HASS_NCPU", "0", TRUE);
  CU_ASSERT_TRUE (all_fail (0, "", "unrun"));
  g_unsetenv ("HASS_NCPU");
}

static void
wrong_settings (void)
{
  CU_ASSERT_TRUE (all_fail (3, "", NULL));
}

static void
wrong_stage (void)
{
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  const HassStage stage = HASS_STAGE (.name = "no worker");
  HassPipeline p = pipe_new (&stage, 1, 1);
  CU_ASSERT_FALSE (hass_pipeline (&p, &r, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  CU_ASSERT_EQUAL (r->kind, HASS_FARM_PIPELINE);
  CU_ASSERT_STRING_EQUAL (r->farm, "pipe");
}

static void
within_a_report_file (void)
{
  g_setenv ("HASS_REPORT", "/nowhere/at/all", TRUE);
  CU_ASSERT_TRUE (all_fail (0, "", "unrun"));
  g_unsetenv ("HASS_REPORT");
}

HASS_TEST_SUITE (pipeline_unrun,
                 { "an unknown platform: all kinds have an empty report",
                   unknown_platform },
                 { "a wrong environment: all kinds have an empty report",
                   wrong_environment },
                 { "settings of a wrong size: all kinds have an empty report",
                   wrong_settings },
                 { "a stage without a worker: an empty report", wrong_stage },
                 { "a report file that cannot be written: an empty report",
                   within_a_report_file })

/* SPDX-License-Identifier: MIT */
/* test_strategy_list.c: HASS_STRATEGY in a program with several skeletons.
   Thread safety: one thread; it sets environment variables. */
#include <string.h>

#include "hass/dataflow.h"
#include "hass/hass.h"
#include "hass/pipeline.h"
#include "hass_test.h"
#include "sched/registry.h"

static HassLoad loads[10];
static GString *warnings;

static void
keep (const char *text)
{
  g_string_append (warnings, text);
}

/* Number of times that what was printed has the text. */
static guint
warned (const char *text)
{
  guint n = 0;
  for (const char *at = warnings->str; (at = strstr (at, text)); at++)
    n++;
  return n;
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
stage (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
build (HassGraph *graph, gpointer data, GError **error)
{
  (void)graph, (void)data, (void)error;
  return TRUE;
}

/* Runs a farm, a pipeline or a dataflow. @in_code: the strategy that the
   program sets, or NULL. Returns: the name of the one that it ran under, or the
   message of its error. */
static char *
ran_under (HassFarmKind kind, const char *in_code)
{
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  const HassStage stages[] = { HASS_STAGE (.name = "s", .cpu = stage) };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  HassPipeline p = HASS_PIPELINE_INIT;
  HassDataflow d = HASS_DATAFLOW_INIT;
  f.loads = p.loads = loads;
  f.n_loads = p.n_loads = G_N_ELEMENTS (loads);
  f.cpu_worker = work;
  p.stages = stages;
  p.n_stages = 1;
  d.build = build;
  f.run.n_cores = p.run.n_cores = d.run.n_cores = 2;
  f.run.strategy = p.run.strategy = d.run.strategy = in_code;
  gboolean ok = kind == HASS_FARM_PIPELINE ? hass_pipeline (&p, &report, &error)
                : kind == HASS_FARM_DATAFLOW
                    ? hass_dataflow (&d, &report, &error)
                    : hass_data_farm_combine (&f, &report, &error);
  return g_strdup (ok ? report->strategy : error->message);
}

static void
must_run_under (HassFarmKind kind, const char *name)
{
  g_autofree char *got = ran_under (kind, NULL);
  CU_ASSERT_STRING_EQUAL (got, name);
}

static void
must_fail (HassFarmKind kind, const char *in_code, const char *text,
           const char *more)
{
  g_autofree char *got = ran_under (kind, in_code);
  CU_ASSERT_TRUE (strstr (got, text) && strstr (got, more));
}

static void
begin (const char *value)
{
  warnings = g_string_new (NULL);
  g_set_printerr_handler (keep);
  g_setenv ("HASS_STRATEGY", value, TRUE);
}

static void
end (void)
{
  g_unsetenv ("HASS_STRATEGY");
  g_set_printerr_handler (NULL);
  g_string_free (warnings, TRUE);
}

static void
one_for_each (void)
{
  begin ("hass-p,naive-greedy,pipe-fixed:s1=0,tokens=4,flow-auto");
  must_run_under (HASS_FARM_COMBINE, "naive-greedy");
  must_run_under (HASS_FARM_PIPELINE, "pipe-fixed");
  must_run_under (HASS_FARM_DATAFLOW, "flow-auto");
  g_setenv ("HASS_STRATEGY", "naive-greedy,flow-dmdas:beta=2", TRUE);
  must_run_under (HASS_FARM_DATAFLOW, "flow-dmdas");
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

static void
does_not_serve (void)
{
  begin ("naive-greedy");
  for (guint i = 0; i < 3; i++)
    {
      must_run_under (HASS_FARM_COMBINE, "naive-greedy");
      must_run_under (HASS_FARM_PIPELINE, "pipe-auto");
      must_run_under (HASS_FARM_DATAFLOW, "flow-auto");
    }
  g_setenv ("HASS_STRATEGY", "pipe-lp", TRUE);
  must_run_under (HASS_FARM_COMBINE, "auto");
  must_run_under (HASS_FARM_PIPELINE, "pipe-lp");
  CU_ASSERT_EQUAL (warned ("hass: HASS_STRATEGY=naive-greedy serves no "
                           "pipelines"),
                   1);
  CU_ASSERT_EQUAL (warned ("HASS_STRATEGY=naive-greedy serves no dataflows"),
                   1);
  CU_ASSERT_EQUAL (warned ("HASS_STRATEGY=pipe-lp serves no combine farms"), 1);
  CU_ASSERT_EQUAL (warned ("HASS_STRATEGY="), 3);
  CU_ASSERT_EQUAL (warned ("they run under pipe-auto"), 1);
  CU_ASSERT_EQUAL (warned ("pipe-auto, pipe-fixed, pipe-greedy, pipe-lp"), 1);
  end ();
}

static void
unknown (void)
{
  begin ("auto,no-such");
  must_fail (HASS_FARM_COMBINE, NULL, "\"no-such\"", "pipe-lp");
  must_fail (HASS_FARM_PIPELINE, NULL, "\"no-such\"", "pipe-lp");
  must_fail (HASS_FARM_DATAFLOW, NULL, "\"no-such\"", "flow-dmdas");
  g_setenv ("HASS_STRATEGY", "auto,,pipe-lp", TRUE);
  must_fail (HASS_FARM_COMBINE, NULL, "no strategy \"\"", "pipe-lp");
  g_setenv ("HASS_STRATEGY", "auto,pipe-fixed:s1=x", TRUE);
  must_fail (HASS_FARM_COMBINE, NULL, "pipe-fixed", "s1=x");
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

static void
in_code (void)
{
  begin ("auto,pipe-lp");
  must_fail (HASS_FARM_COMBINE, "pipe-lp", "pipe-lp", "does not serve");
  must_fail (HASS_FARM_PIPELINE, "auto", "auto", "does not serve");
  must_fail (HASS_FARM_DATAFLOW, "auto", "auto", "of kind dataflow");
  CU_ASSERT_STRING_EQUAL (warnings->str, "");
  end ();
}

static void
splits (void)
{
  g_auto (GStrv) parts = hass_strategy_split (
      "auto,static:cpu=1/4,gpu0=3/4,hass-p:drift=1,pipe-fixed:s0=0,wait=1:2,x");
  static const char *const wanted[]
      = { "auto", "static:cpu=1/4,gpu0=3/4", "hass-p:drift=1",
          "pipe-fixed:s0=0,wait=1:2", "x" };
  CU_ASSERT_EQUAL_FATAL (g_strv_length (parts), G_N_ELEMENTS (wanted));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    CU_ASSERT_STRING_EQUAL (parts[i], wanted[i]);
}

HASS_TEST_SUITE (
    strategy_list,
    { "HASS_STRATEGY names a strategy for each skeleton", one_for_each },
    { "a strategy that does not serve a skeleton leaves it its default, with "
      "one warning",
      does_not_serve },
    { "an unknown or malformed strategy of the list is an error everywhere",
      unknown },
    { "a strategy that the program sets must serve the skeleton", in_code },
    { "a comma before key=value continues the parameters", splits })

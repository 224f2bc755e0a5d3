/* SPDX-License-Identifier: MIT */
/* test_pipeline_rates.c: a live pipeline measures its stages for the next run.
   Thread safety: single-threaded. */
#include <glib/gstdio.h>
#include <stdatomic.h>
#include <string.h>

#include "hass/hass.h"
#include "hass/profile.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "sched/registry.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 32
/* As long as makes a run worth storing. */
#define LONG_US 12000

/* -- A strategy that notes what it is told ------------------------------ */

static HassProfileRate noted[2]; /* of the first stage */
static gboolean was_told;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  was_told = env->profile != NULL;
  for (guint d = 0; was_told && d < 2; d++)
    noted[d] = env->profile[d];
  return g_new0 (int, 1);
}

/* The device gets one token at a time, so cores find some, too. */
static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  (void)self, (void)force;
  serve->units = 1;
  return device == 0 || state->classes[0].ready > 0 ? HASS_TAKE : HASS_WAIT;
}

static const HassStrategyOps one_by_one = { .struct_size = sizeof one_by_one,
                                            .name = "one-by-one",
                                            .summary = "for this test",
                                            .source = "hass",
                                            .farms = HASS_FARM_PIPELINE,
                                            .create = create,
                                            .destroy = g_free,
                                            .serve = serve };

/* -- The pipeline ------------------------------------------------------- */

/* Whether the device, a core has begun a token of the first stage: each waits
   for the other in its first one. */
static _Atomic gboolean device_began, core_began;

static void
copy_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  device_began = TRUE;
  while (!core_began)
    g_usleep (100);
  g_usleep (2000);
  memcpy (bundle->output, bundle->input, sizeof (guint64));
}

STAND_IN_WORKER (on_device, copy_kernel)

static gboolean
on_core (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data, (void)error;
  core_began = TRUE;
  while (!device_began)
    g_usleep (100);
  g_usleep (LONG_US);
  memcpy (token->output, token->input, sizeof (guint64));
  return TRUE;
}

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static void
run (void)
{
  static guint64 input[N];
  HassLoad loads[N];
  for (guint i = 0; i < N; i++)
    loads[i] = (HassLoad){ .input = &input[i], .input_bytes = sizeof *input };
  const HassStage stages[]
      = { HASS_STAGE (.name = "copy", .cpu = on_core, .gpu = on_device,
                      .output_ratio = 1),
          HASS_STAGE (.name = "sink", .mode = HASS_STAGE_ORDERED,
                      .cpu = sink) };
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  HassPipeline p = HASS_PIPELINE_INIT;
  p.name = "rates";
  p.loads = loads;
  p.n_loads = N;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.run.n_cores = 2; /* with N cores the device might get no token */
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = "one-by-one";
  device_began = core_began = FALSE;
  watchdog (20, "pipeline whose rates are kept");
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  stand_in_free (device);
}

static void
second_run_knows (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-rates-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "store.txt", NULL);
  g_autofree char *lock = g_strconcat (path, ".lock", NULL);
  CU_ASSERT_TRUE (hass_strategy_register (&one_by_one, NULL));
  g_setenv ("HASS_PROFILE", path, TRUE);
  run ();
  CU_ASSERT_TRUE (was_told);
  CU_ASSERT_EQUAL (noted[0].runs, 0);
  CU_ASSERT_EQUAL (noted[1].runs, 0);
  run ();
  CU_ASSERT_EQUAL (noted[0].runs, 1);
  CU_ASSERT_EQUAL (noted[1].runs, 1);
  CU_ASSERT_TRUE (noted[0].work_per_ns > 0);
  /* No kernel took less than 2 ms. */
  CU_ASSERT_TRUE (noted[1].work_per_ns > 0 && noted[1].work_per_ns <= 1 / 2e6);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  run ();
  CU_ASSERT_FALSE (was_told);
  g_remove (path);
  g_remove (lock);
  g_rmdir (folder);
}

HASS_TEST_SUITE (pipeline_rates,
                 { "the second run of a pipeline knows the rates of the first",
                   second_run_knows })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_opening.c: what cores take while a device is being opened.
   Thread safety: single-threaded. */
#include <stdatomic.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "sched/pipe/steady.h"
#include "sched/registry.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 16   /* tokens, of which each core could have one */
#define MS 1e6 /* ns */
/* Runs until one does not stall. */
#define MOST_RUNS 100

typedef struct
{
  _Atomic guint on_gpu, on_cores;
} Run;

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Run *run = data;
  run->on_gpu += (guint)bundle->n_blocks;
}

STAND_IN_WORKER (on_gpu, kernel)

static gboolean
on_core (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  (void)token, (void)worker, (void)error;
  run->on_cores++;
  return TRUE;
}

/* -- pipe-auto with times of earlier runs ------------------------------- */

/* Of a token; one on the device takes 1 ms. 0: neither is known. */
static double core_ns;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  static HassStrategyEnv knows;
  static HassProfileRate rates[2];
  rates[0] = (HassProfileRate){ .work_per_ns = N / core_ns, .runs = 1 };
  rates[1] = (HassProfileRate){ .work_per_ns = 1 / MS, .runs = 1 };
  knows = *env;
  knows.profile = core_ns > 0 ? rates : NULL;
  return hass_strategy_find ("pipe-auto", NULL)->create (&knows, error);
}

/* It was asked with force: the device's thread got no CPU for so long that the
   pipeline stalled, and cores may take all. */
static gboolean forced;

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  forced |= force;
  return hass_strategy_find ("pipe-auto", NULL)
      ->serve (self, state, device, force, serve);
}

static void
go (Run *run, double ns, guint open_us)
{
  HassDevice *device
      = stand_in_new (&(StandInPlan){ .depth = 2, .open_us = open_us });
  HassStrategyOps ops = *hass_strategy_find ("pipe-auto", NULL);
  const HassStage stage
      = HASS_STAGE (.name = "s", .cpu = on_core, .gpu = on_gpu);
  static const HassLoad loads[N];
  HassPipeline p = HASS_PIPELINE_INIT;
  g_autoptr (GError) error = NULL;
  ops.name = "test-knows";
  ops.create = create;
  ops.serve = serve;
  forced = FALSE;
  hass_strategy_register (&ops, NULL); /* once is enough */
  *run = (Run){ .on_gpu = 0 };
  core_ns = ns;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = run;
  p.stages = &stage;
  p.n_stages = 1;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.n_cores = N;
  p.run.strategy = ops.name;
  watchdog (60, "a device that is being opened");
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (run->on_gpu + run->on_cores, N);
  stand_in_free (device);
}

/* -- Tests -------------------------------------------------------------- */

/* All tokens take the device 16 ms, one takes a core an hour. A run that
   stalled shows nothing. */
static void
waits_for_the_device (void)
{
  static const guint open_us[] = { 0, 30000 };
  for (guint i = 0; i < G_N_ELEMENTS (open_us); i++)
    {
      Run run;
      guint n_runs = 0;
      do
        go (&run, 3600e3 * MS, open_us[i]);
      while (forced && ++n_runs < MOST_RUNS);
      CU_ASSERT_FALSE (forced);
      CU_ASSERT_EQUAL (run.on_cores, 0);
    }
}

/* Nothing is known, and the device opens in a moment: but for the token by
   which the cores are measured all wait for it. */
static void
waits_for_a_moment (void)
{
  gint64 usual_ns = hass_steady_soon_ns;
  Run run;
  guint n_runs = 0;
  hass_steady_soon_ns = G_MAXINT64;
  do
    go (&run, 0, 2000);
  while (forced && ++n_runs < MOST_RUNS);
  hass_steady_soon_ns = usual_ns;
  CU_ASSERT_FALSE (forced);
  CU_ASSERT_TRUE (run.on_cores <= 1);
}

/* A core is done with its token before the device with one. */
static void
cores_begin (void)
{
  Run run;
  go (&run, 0.01 * MS, 30000);
  CU_ASSERT_TRUE (run.on_cores > 0);
}

HASS_TEST_SUITE (
    pipeline_opening,
    { "tokens that cores would hold for too long wait for a device that opens",
      waits_for_the_device },
    { "tokens of unknown time wait for one that is open in a moment",
      waits_for_a_moment },
    { "others do not", cores_begin })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_feeding.c: whether a device gets tokens while all cores are
   busy, and what the strategy is told of it.
   Thread safety: single-threaded. */
#include <stdatomic.h>
#include <string.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 4000

/* -- A pipeline whose cores wait for the device ------------------------- */

/* Tokens that the device does before the strategy lets cores take any. */
#define FIRST 50
/* Runs until one does not stall. */
#define MOST_RUNS 100

/* @lead: tokens that the device must do before a core's token is over.
   @given: the loads are given, not generated. @lost: the device will be, and
   then a token on a core waits for one on the calling thread. @on_gpu,
   @on_cores: tokens so far. @late: on the calling thread while it could have
   generated; they wait for nothing, since the device may have had all that is
   generated. */
typedef struct
{
  guint lead;
  gboolean given, lost;
  pthread_t caller;
  _Atomic guint on_gpu, on_cores, late;
  _Atomic gboolean generated;
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
  guint until = run->on_gpu + run->lead;
  gboolean late
      = pthread_equal (pthread_self (), run->caller) && !run->generated;
  (void)token, (void)worker, (void)error;
  run->late += late;
  while (run->lost && run->late == 0)
    g_thread_yield ();
  while (!run->lost && !late && run->on_gpu < until
         && !(run->generated && run->on_gpu + 8 + run->on_cores > N))
    g_thread_yield ();
  run->on_cores++;
  return TRUE;
}

static HassLoad loads[N]; /* without input */

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  gboolean ok = TRUE;
  (void)error;
  for (guint i = 0; i < N && ok; i++)
    ok = hass_emitter_emit (emitter, &loads[i]);
  run->generated = TRUE;
  return ok;
}

/* -- A strategy that has the device begin ------------------------------- */

/* It was asked with force: the device's thread got no CPU for so long that the
   pipeline stalled, and cores, the calling thread too, may take all. */
static gboolean forced;

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  gboolean gpu = env->devices[device].kind == HASS_DEVICE_GPU;
  forced |= force;
  serve->leave[0] = state->classes[0].done < FIRST ? G_MAXUINT32 : 0;
  serve->units = 1;
  serve->in_flight = 2;
  return gpu && state->classes[0].ready > 0 ? HASS_TAKE : HASS_WAIT;
}

static double h2d_ns, kernel_ns, d2h_ns;
static guint n_told;

static void
hear (gpointer self, const HassStreamState *state, const HassServed *done)
{
  const HassStrategyEnv *env = self;
  (void)state;
  if (env->devices[done->device].kind != HASS_DEVICE_GPU)
    return;
  n_told++;
  h2d_ns += done->h2d_ns;
  kernel_ns += done->kernel_ns;
  d2h_ns += done->d2h_ns;
}

static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                     .name = "test-device-first",
                                     .summary = "a test",
                                     .source = "a test",
                                     .farms = HASS_FARM_PIPELINE,
                                     .create = trial_env,
                                     .serve = serve,
                                     .served = hear };

static void
go (Run *run, const StandInPlan *plan)
{
  HassDevice *device = stand_in_new (plan);
  const HassStage stage
      = HASS_STAGE (.name = "wait", .cpu = run->lead > 0 ? on_core : NULL,
                    .gpu = on_gpu);
  g_autoptr (GError) error = NULL;
  HassPipeline p = HASS_PIPELINE_INIT;
  run->generated = run->given;
  p.generate = run->given ? NULL : generate;
  p.loads = run->given ? loads : NULL;
  p.n_loads = run->given ? N : 0;
  p.user_data = run;
  p.stages = &stage;
  p.n_stages = 1;
  p.tokens = 4;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = ops.name;
  hass_strategy_register (&ops, NULL); /* once is enough */
  run->caller = pthread_self ();
  g_setenv ("HASS_NCPU", "2", TRUE);
  watchdog (60, "cores that wait for a device");
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, &error));
  watchdog (0, NULL);
  g_unsetenv ("HASS_NCPU");
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_EQUAL (run->on_gpu + run->on_cores, N);
  stand_in_free (device);
}

/* -- Tests -------------------------------------------------------------- */

/* Without them the device has nothing from which the cores' tokens could end:
   the watchdog would bark. */
static void
device_makes_tokens (void)
{
  Run run = { .lead = 200, .given = TRUE };
  go (&run, &(StandInPlan){ .depth = 2, .delay_us = 20 });
  CU_ASSERT_TRUE (run.on_cores > 0 && run.on_gpu > N / 2);
}

/* A token on a core takes as long as 1000 on the device, and at most 8 wait. A
   run that stalled shows nothing. */
static void
generator_goes_on (void)
{
  Run run;
  guint n_runs = 0;
  do
    {
      run = (Run){ .lead = 1000 };
      forced = FALSE;
      go (&run, &(StandInPlan){ .depth = 2, .delay_us = 20 });
    }
  while (forced && ++n_runs < MOST_RUNS);
  CU_ASSERT_FALSE (forced);
  CU_ASSERT_TRUE (run.on_cores > 0);
  CU_ASSERT_EQUAL (run.late, 0);
}

/* While another core is held, the calling thread takes tokens that no device
   is left for. */
static void
generator_computes_after_a_loss (void)
{
  Run run = { .lead = 200, .lost = TRUE };
  go (&run,
      &(StandInPlan){ .depth = 2, .delay_us = 20, .lose_at = FIRST + 20 });
  CU_ASSERT_TRUE (run.late > 0);
}

/* Of a device that says what a bundle adds to its time, a strategy hears just
   that, of another one how long the bundle's stages took. */
static void
told_what_bundles_add (void)
{
  for (guint says = 0; says < 2; says++)
    {
      Run run = { 0 };
      h2d_ns = kernel_ns = d2h_ns = n_told = 0;
      go (&run, &(StandInPlan){ .depth = 2,
                                .h2d_us = 70,
                                .kernel_us = 50,
                                .busy_us = 20 * says });
      CU_ASSERT_TRUE (n_told > 0);
      double each_ns = 20000. * n_told;
      CU_ASSERT_EQUAL (kernel_ns == each_ns, says);
      CU_ASSERT_EQUAL (h2d_ns, says ? each_ns : 70100. * n_told);
      CU_ASSERT_EQUAL (d2h_ns, says ? each_ns : 100. * n_told);
      CU_ASSERT_TRUE (kernel_ns >= (says ? 20000. : 50000.) * n_told);
    }
}

/* All bundles but the first lie wholly within earlier ones. */
static void
told_that_nothing_is_added (void)
{
  Run run = { 0 };
  h2d_ns = kernel_ns = d2h_ns = n_told = 0;
  go (&run, &(StandInPlan){ .depth = 2,
                            .h2d_us = 70,
                            .kernel_us = 50,
                            .busy_us = 20,
                            .busy_bundles = 1 });
  CU_ASSERT_TRUE (n_told > 1);
  CU_ASSERT_EQUAL (kernel_ns, 20000);
  CU_ASSERT_EQUAL (h2d_ns, 20000);
  CU_ASSERT_EQUAL (d2h_ns, 20000);
}

/* -- A grant of tokens that are gone ------------------------------------ */

/* Grants of a stage where nothing is ready, as if a core had taken it since the
   strategy looked: more than there are events that have the device asked. */
#define GONE 10

static guint n_grants;

static HassAnswer
serve_late (gpointer self, const HassStreamState *state, guint device,
            gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  (void)force;
  if (env->devices[device].kind != HASS_DEVICE_GPU
      || state->classes[0].ready + state->classes[1].ready == 0)
    return HASS_WAIT;
  serve->units = serve->in_flight = 1;
  serve->class_index = n_grants++ < GONE || state->classes[1].ready > 0;
  return HASS_TAKE;
}

static const HassStrategyOps late = { .struct_size = sizeof late,
                                      .name = "test-late",
                                      .summary = "a test",
                                      .source = "a test",
                                      .farms = HASS_FARM_PIPELINE,
                                      .create = trial_env,
                                      .serve = serve_late };

static void
asked_again (void)
{
  HassDevice *device = stand_in_new (&(StandInPlan){ 0 });
  Run run = { 0 };
  const HassStage stages[] = { HASS_STAGE (.name = "first", .gpu = on_gpu),
                               HASS_STAGE (.name = "second", .gpu = on_gpu) };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = 1;
  p.user_data = &run;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = late.name;
  hass_strategy_register (&late, NULL);
  n_grants = 0;
  watchdog (60, "a device whose tokens are gone");
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (n_grants, GONE + 2);
  CU_ASSERT_EQUAL (run.on_gpu, 2);
  stand_in_free (device);
}

HASS_TEST_SUITE (
    pipeline_feeding,
    { "a device makes tokens of loads while all cores are busy",
      device_makes_tokens },
    { "the generator does not compute while devices would run out of loads",
      generator_goes_on },
    { "the generator computes when the device is lost and other cores are busy",
      generator_computes_after_a_loss },
    { "a strategy is told what bundles add to a device's time",
      told_what_bundles_add },
    { "and that a bundle adds nothing", told_that_nothing_is_added },
    { "a device whose tokens have gone to a core is asked again", asked_again })

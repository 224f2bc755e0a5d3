/* SPDX-License-Identifier: MIT */
/* test_late_gpu.c: a farm that needs no GPU any more does not wait for one
   that is still being started, and the next farm has it.

   DESIGN. The stand-in for the CUDA runtime holds the making of a context
   until the test lets it go, so what is asserted is an order of events: what
   would wait for the GPU hangs, and the watchdog says so.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/engine/counting.h"
#include "device/fake_machine.h"
#include "device/cuda/gpus-private.h"
#include "engine/core/job-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "program.h"
#include "tests/engine/trial.h"

#define N_LOADS 40
#define CHILD "LATE_GPU_CHILD"

static const HassLoad a_load = { .size = 1 };

/* -- Farms -------------------------------------------------------------- */

/* Leaves time for each GPU to begin its start: @data is their number. */
static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)block, (void)worker, (void)error;
  while (fake_cudart_counts ().opening < GPOINTER_TO_UINT (data))
    usleep (100);
  atomic_fetch_add (&counting_on_cpu, 1);
  return TRUE;
}

static gboolean
emit_all (HassEmitter *emitter)
{
  gboolean ok = TRUE;
  for (guint i = 0; i < N_LOADS && ok; i++)
    ok = hass_emitter_emit (emitter, &a_load);
  return ok;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  return emit_all (emitter);
}

static gboolean
let_open_and_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  fake_let_open ();
  return emit_all (emitter);
}

/**
 * Late: a farm beside GPUs that are being started.
 * @n_begin: GPUs whose start the CPU worker waits for to begin.
 * @cpu: there is a CPU worker.
 */
typedef struct
{
  const char *strategy;
  guint n_begin;
  gboolean cpu;
  HassGenerateFunc generator;
} Late;

static gboolean
run (const Late *late, HassReport **report, GError **error)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "late";
  farm.generate = late->generator;
  farm.cpu_worker = late->cpu ? cpu_worker : NULL;
  farm.gpu_worker = counting_gpu_worker;
  farm.user_data = GUINT_TO_POINTER (late->n_begin);
  farm.run.n_cores = late->cpu ? 2 : 0;
  farm.run.strategy = late->strategy;
  farm.run.platform = "";
  counting_reset ();
  watchdog (60, "a farm whose GPU is late");
  gboolean ok = hass_data_farm_combine (&farm, report, error);
  watchdog (0, NULL);
  return ok;
}

static void
install (guint n_gpus)
{
  fake_machine_begin (&(FakePlan){ .n_devices = n_gpus, .hold_opening = TRUE });
}

static void
clean (void)
{
  fake_let_open ();
  fake_machine_end ();
}

/* A farm of CPU and GPUs that has ended while its GPUs wait to be opened. */
static void
end_first (const char *strategy, guint n_gpus)
{
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (run (&(Late){ .strategy = strategy,
                                .n_begin = n_gpus,
                                .cpu = TRUE,
                                .generator = generate },
                       &r, &error));
  CU_ASSERT_PTR_NULL (error);
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, n_gpus);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opened, 0);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu), N_LOADS);
  CU_ASSERT_TRUE (r && r->n_devices == 1 + n_gpus);
  for (guint d = 0; r && d < r->n_devices; d++)
    {
      CU_ASSERT_FALSE (r->devices[d].lost);
      CU_ASSERT_PTR_NULL (r->devices[d].message);
      CU_ASSERT_EQUAL (r->devices[d].failures, 0);
    }
}

/* A farm that only GPUs can run, and do. */
static void
use_gpus (HassGenerateFunc generator)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (run (&(Late){ .generator = generator }, NULL, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), N_LOADS);
}

/* -- Tests -------------------------------------------------------------- */

static void
not_waited_for (void)
{
  static const char *const strategies[]
      = { NULL, "naive-greedy", "shared-queue" };
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    for (guint n_gpus = 1; n_gpus <= 2; n_gpus++)
      {
        install (n_gpus);
        end_first (strategies[s], n_gpus);
        end_first (strategies[s], n_gpus);
        fake_let_open ();
        use_gpus (generate);
        CU_ASSERT_EQUAL (fake_cudart_counts ().opening, n_gpus);
        CU_ASSERT_EQUAL (fake_cudart_counts ().opened, n_gpus);
        clean ();
      }
}

/* The second farm comes while the start that the first began is under way. */
static void
waited_for_by_the_next (void)
{
  install (1);
  end_first (NULL, 1);
  use_gpus (let_open_and_generate);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, 1);
  clean ();
}

static gboolean
cancel_and_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  gboolean ok = emit_all (emitter);
  while (fake_cudart_counts ().opening == 0)
    usleep (100);
  g_cancellable_cancel (data);
  return ok;
}

/* A farm that is stopped leaves at once, although all it has is a GPU. */
static void
stopped (void)
{
  GCancellable *cancellable = g_cancellable_new ();
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  install (1);
  farm.generate = cancel_and_generate;
  farm.gpu_worker = counting_gpu_worker;
  farm.user_data = cancellable;
  farm.run.platform = "";
  farm.run.cancellable = cancellable;
  watchdog (60, "a farm that is cancelled before its GPU opens");
  CU_ASSERT_FALSE (hass_data_farm_combine (&farm, &r, &error));
  watchdog (0, NULL);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_EQUAL (fake_cudart_counts ().opened, 0);
  CU_ASSERT_FALSE (r->devices[0].lost);
  CU_ASSERT_EQUAL (r->n_unfinished, 1);
  CU_ASSERT_EQUAL (r->unfinished[0].n_loads, N_LOADS);
  clean ();
  g_object_unref (cancellable);
}

/* A start that fails when its farm is over is nobody's failure; the next
   farm tries anew. */
static void
fails_later (void)
{
  FakePlan plan = { .hold_opening = TRUE };
  plan.fail_at[FAKE_MEMORY_INFO] = 1;
  hass_gpus_forget ();
  fake_cudart_install (&plan);
  end_first (NULL, 1);
  fake_let_open ();
  hass_gpus_end_starts ();
  CU_ASSERT_EQUAL (fake_cudart_counts ().faults, 1);
  use_gpus (generate);
  clean ();
}

/* After a sticky error there are no GPUs, as ever. */
static void
breaks_later (void)
{
  g_autoptr (HassReport) r = NULL;
  install (1);
  end_first (NULL, 1);
  fake_cudart_plan (&(FakePlan){ .sticky_at_call = 1 });
  fake_let_open ();
  hass_gpus_end_starts ();
  CU_ASSERT_TRUE (
      run (&(Late){ .cpu = TRUE, .generator = generate }, &r, NULL));
  CU_ASSERT_EQUAL (r->n_devices, 1);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu), N_LOADS);
  clean ();
}

/* -- Exit --------------------------------------------------------------- */

static void
say_and_let_open (void)
{
  printf ("exiting, opened %u\n", fake_cudart_counts ().opened);
  fflush (stdout);
  fake_let_open ();
}

static void
say_opened (void)
{
  printf ("at the end, opened %u\n", fake_cudart_counts ().opened);
  fflush (stdout);
}

/* The handlers run in the reverse order, the library's between these two. */
static void
child (void)
{
  if (!g_getenv (CHILD))
    {
      hass_test_skip ("runs as a child of late_gpu");
      return;
    }
  atexit (say_opened);
  fake_cudart_install (&(FakePlan){ .hold_opening = TRUE });
  end_first (NULL, 1);
  atexit (say_and_let_open);
  watchdog (60, "an exit whose GPU is late");
}

static void
exits (void)
{
  const char *argv[]
      = { program_self (), "--here", "--suite", "late_gpu_child", NULL };
  g_auto (GStrv) env = g_environ_setenv (g_get_environ (), CHILD, "1", TRUE);
  g_autofree char *out = NULL, *err = NULL;
  int status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, (char **)argv, env, G_SPAWN_DEFAULT, NULL,
                                NULL, &out, &err, &status, NULL));
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (
      out
      && g_str_has_suffix (out, "exiting, opened 0\nat the end, opened 1\n"));
  CU_ASSERT_STRING_EQUAL (err, "");
  if (status != 0 || (err && *err))
    g_printerr ("\n%s%s", out ? out : "", err ? err : "");
}

/* -- What strategies hear ------------------------------------------------ */

/* Of the GPU, when a core asked last while it was being opened. */
static _Atomic gint64 heard_opens_at_ns, heard_opening_ns;

static HassAnswer
listen_and_take (gpointer self, HassRound *round, guint device, gboolean force,
                 HassGrant *grant)
{
  const HassStrategyEnv *env = self;
  (void)round, (void)force;
  /* Other tests run all strategies that there are. */
  if (env->n_devices > 1 && env->devices[1].opening)
    {
      atomic_store (&heard_opens_at_ns, env->devices[1].opens_at_ns);
      atomic_store (&heard_opening_ns, env->devices[1].opening_ns);
    }
  if (device > 0)
    return HASS_WAIT;
  grant->source = HASS_FROM_FRONT;
  grant->units = 1;
  return HASS_TAKE;
}

/* Constants of 25 MB count, at the 25 GB/s that a link is taken to have. */
static void
strategies_hear_when (void)
{
  static const HassStrategyOps listener
      = { .struct_size = sizeof (HassStrategyOps),
          .name = "late-listener",
          .summary = "notes when a GPU may be open",
          .source = "tests",
          .farms = HASS_FARM_COMBINE,
          .create = trial_env,
          .grant = listen_and_take };
  static guint8 bytes[25000000];
  g_autoptr (GError) error = NULL;
  HassConstant constant = { bytes, sizeof bytes };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&listener, NULL);
  install (1);
  farm.name = "late";
  farm.generate = generate;
  farm.cpu_worker = cpu_worker;
  farm.gpu_worker = counting_gpu_worker;
  farm.user_data = GUINT_TO_POINTER (1);
  farm.constants = &constant;
  farm.n_constants = 1;
  farm.run.n_cores = 2;
  farm.run.strategy = listener.name;
  farm.run.platform = "";
  counting_reset ();
  watchdog (60, "a farm whose GPU is late");
  gint64 before = g_get_monotonic_time () * 1000;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  gint64 after = g_get_monotonic_time () * 1000;
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_TRUE (heard_opens_at_ns >= before + 1000000);
  CU_ASSERT_TRUE (heard_opens_at_ns < after + 2000000000);
  CU_ASSERT_TRUE (heard_opening_ns >= 1000000);
  CU_ASSERT_TRUE (heard_opening_ns < 2000000000);
  clean ();
}

/* Leaves all units to GPUs, also to one that is being opened. */
static HassAnswer
count_on_gpus (gpointer self, HassRound *round, guint device, gboolean force,
               HassGrant *grant)
{
  (void)self, (void)round;
  if (device == 0 && !force)
    return HASS_WAIT;
  grant->source = HASS_FROM_FRONT;
  grant->units = 1;
  return HASS_TAKE;
}

/* The GPU is never open while the farm runs. Once it is late, the cores compute
   what the strategy leaves to it. */
static void
counted_on (void)
{
  static const HassStrategyOps devoted
      = { .struct_size = sizeof (HassStrategyOps),
          .name = "late-devoted",
          .summary = "leaves all units to GPUs",
          .source = "tests",
          .farms = HASS_FARM_COMBINE,
          .create = trial_env,
          .grant = count_on_gpus };
  gint64 usual_ns = hass_late_ns;
  hass_strategy_register (&devoted, NULL);
  hass_late_ns = 0;
  for (guint n_gpus = 1; n_gpus <= 2; n_gpus++)
    {
      install (n_gpus);
      end_first (devoted.name, n_gpus);
      clean ();
    }
  hass_late_ns = usual_ns;
}

HASS_TEST_SUITE (
    late_gpu,
    { "a farm that is done does not wait for its GPU to open", not_waited_for },
    { "the next farm waits for the start that goes on",
      waited_for_by_the_next },
    { "a farm that is stopped does not wait either", stopped },
    { "a start that fails after its farm is tried anew", fails_later },
    { "a start that breaks the GPUs after its farm", breaks_later },
    { "the process's exit waits for the start", exits },
    { "strategies hear when a GPU may be open", strategies_hear_when },
    { "cores do not wait for ever for a GPU that is counted on", counted_on })

HASS_TEST_SUITE (late_gpu_child,
                 { "an exit with a late GPU, in a process of its own", child })

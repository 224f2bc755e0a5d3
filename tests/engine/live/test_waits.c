/* SPDX-License-Identifier: MIT */
/* test_waits.c: a device that waits for so long only is asked when that is
   over, though nothing has been completed.

   DESIGN. Live, the other device completes nothing before the one that waits
   has been asked again, if it waits for a time. If it does not, the other one
   completes its first half of the units, then nothing until that. So what is
   counted does not depend on how fast the machine is.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

enum
{
  UNITS = 40,
  WAIT_MS = 3,
  BUSY_MS = 60,       /* the other device, with its first half of the units */
  PATIENCE_MS = 20000 /* a device that is not asked by then never is */
};

/* -- The strategy ------------------------------------------------------- */

static struct
{
  guint waits; /* the device */
  guint n_asked;
  gint64 within_ns;
  guint64 heard;   /* completions, when it was asked for the second time */
  gint64 first_ns; /* when it had finished something, in the round */
  _Atomic guint64 n_completed;
  _Atomic gboolean again;   /* it was asked for the second time */
  _Atomic gboolean patient; /* no wait for that was in vain */
  _Atomic guint n_units;    /* that the other device has begun */
} told;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)env, (void)error;
  return &told;
}

static HassAnswer
half_waits (gpointer self, HassRound *round, guint device, gboolean force,
            HassGrant *grant)
{
  (void)self, (void)force;
  grant->units = 1;
  if (device != told.waits)
    grant->units = hass_round_waiting (round) == UNITS ? UNITS / 2 : 1;
  else if (told.n_asked++ == 0)
    {
      grant->within_ns = told.within_ns;
      return HASS_WAIT;
    }
  else if (told.n_asked == 2)
    {
      told.heard = told.n_completed;
      told.again = TRUE;
    }
  return HASS_TAKE;
}

static void
count (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self;
  told.n_completed++;
  if (done->device == told.waits && told.first_ns == 0)
    told.first_ns = done->end_ns - hass_round_begin_ns (round);
}

static const HassStrategyOps half = { .struct_size = sizeof (HassStrategyOps),
                                      .name = "test-half-waits",
                                      .summary = "one device waits for a while",
                                      .source = "tests",
                                      .farms = HASS_FARM_COMBINE,
                                      .create = create,
                                      .grant = half_waits,
                                      .observe = count };

/* -- The farm ----------------------------------------------------------- */

static void
await_again (void)
{
  for (guint ms = 0; told.patient && !told.again; ms++)
    {
      told.patient = ms < PATIENCE_MS;
      g_usleep (1000);
    }
}

/* The other device, with so many units. */
static void
compute (guint units)
{
  guint before = atomic_fetch_add (&told.n_units, units);
  if (told.within_ns > 0 || before >= UNITS / 2)
    await_again ();
  else
    g_usleep (1000 * BUSY_MS * units / (UNITS / 2));
}

static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  if (told.waits != 0)
    compute (1);
  return TRUE;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  if (told.waits == 0)
    compute ((guint)bundle->n_blocks);
}

STAND_IN_WORKER (gpu_worker, kernel)

/* All loads at once, or the round would begin with a few of them; then nothing
   until the device has been asked again. */
static gboolean
emit_and_rest (HassEmitter *emitter, gpointer data, GError **error)
{
  static const HassLoad loads[UNITS] = { { .size = 1 } };
  (void)data, (void)error;
  gboolean ok = hass_emitter_emit_array (emitter, loads, UNITS);
  await_again ();
  return ok;
}

/* Completions before the device that waits, for at most so long, was asked
   again. On the machine of @platform, or live. */
static guint64
heard (guint waits, gint64 within_ns, const char *platform, gboolean emitted)
{
  HassLoad loads[UNITS] = { { .size = 1 } };
  for (guint i = 1; i < UNITS; i++)
    loads[i] = loads[0];
  g_autoptr (GError) error = NULL;
  StandInPlan plan = { 0 };
  HassDevice *gpu = stand_in_new (&plan);
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&half, NULL);
  told.waits = waits;
  told.within_ns = within_ns;
  told.n_asked = 0;
  told.n_completed = told.heard = 0;
  told.first_ns = 0;
  told.again = FALSE;
  told.patient = TRUE;
  told.n_units = 0;
  farm.name = "waits";
  farm.loads = emitted ? NULL : loads;
  farm.n_loads = emitted ? 0 : UNITS;
  farm.generate = emitted ? emit_and_rest : NULL;
  farm.cpu_worker = cpu_worker;
  farm.gpu_worker = gpu_worker;
  farm.run.n_cores = emitted ? 2 : 1;
  farm.run.strategy = half.name;
  farm.run.platform = platform;
  farm.run.devices = &gpu;
  farm.run.n_devices = 1;
  watchdog (60, "a farm in which a device waits");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  if (error)
    printf ("\n    %s", error->message);
  CU_ASSERT_TRUE (told.n_asked > 1);
  CU_ASSERT_TRUE (told.patient);
  stand_in_free (gpu);
  return told.heard;
}

static void
asked_in_time (guint waits, const char *platform)
{
  CU_ASSERT_EQUAL (heard (waits, 1000000 * WAIT_MS, platform, FALSE), 0);
  CU_ASSERT_TRUE (told.first_ns >= 1000000 * WAIT_MS);
  if (*platform)
    CU_ASSERT_TRUE (told.first_ns < 1000000 * WAIT_MS + 100000);
  CU_ASSERT_EQUAL (heard (waits, 0, platform, FALSE), 1);
}

static void
live (void)
{
  asked_in_time (0, "");
  asked_in_time (1, "");
}

/* So short that it is over before a thread can sleep. */
static void
for_an_instant (void)
{
  for (guint waits = 0; waits < 2; waits++)
    CU_ASSERT_EQUAL (heard (waits, 1, "", FALSE), 0);
}

/* Another core asks. */
static void
while_the_caller_rests (void)
{
  CU_ASSERT_EQUAL (heard (0, 1000000 * WAIT_MS, "", TRUE), 0);
}

/* One work takes a core 1 us, or so long as half of them are to take. */
static void
in_virtual_time (void)
{
  g_autofree char *slow_gpu = trial_file (
      "[platform]\nname = slow\n[cpu]\ncores = 1\nwork_per_us = 1\n[gpu0]\n"
      "multiprocessors = 1\nwidth = 1\nwork_per_us = 1\nlaunch_us = 150000\n"
      "link_us = 1\nh2d_gbps = 1\n");
  g_autofree char *slow_cpu = trial_file (
      "[platform]\nname = slow\n[cpu]\ncores = 1\nwork_per_us = "
      "0.0001\n[gpu0]\n"
      "multiprocessors = 1\nwidth = 1\nwork_per_us = 1\nlaunch_us = 1\n"
      "link_us = 1\nh2d_gbps = 1\n");
  asked_in_time (0, slow_gpu);
  asked_in_time (1, slow_cpu);
  unlink (slow_gpu);
  unlink (slow_cpu);
}

HASS_TEST_SUITE (
    waits,
    { "a live device that waits for a time is asked again after it", live },
    { "a live device that waits for an instant is asked again",
      for_an_instant },
    { "a live device is asked again while the generator does nothing",
      while_the_caller_rests },
    { "a modelled device that waits for a time is asked again after it",
      in_virtual_time })

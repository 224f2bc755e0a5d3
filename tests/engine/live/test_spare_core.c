/* SPDX-License-Identifier: MIT */
/* test_spare_core.c: one core is left to the start of a GPU, and comes back.

   DESIGN. The stand-in for the CUDA runtime holds the making of a context until
   the test lets it go. The units of the farm count how many of them are
   computed at once, before the start, beside it and after it.

   Thread safety: the CPU worker runs on all cores. */
#include <unistd.h>

#include "device/fake_machine.h"
#include "engine/core/job.h"
#include "engine/live/live-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/counting.h"
#include "tests/engine/trial.h"

#define N_CORES 8 /* the fewest of which one is left */
/* Predicted; the start begins when the cores have been at work for 1/40 of it,
   if they will be for longer than it. */
#define START_MS 400
#define N_BESIDE 2000  /* units that are counted beside the start */
#define N_LOADS 200000 /* more than begin until it has ended */

/* LEFT: the start has a core. AFTER: it has ended. */
enum
{
  BEFORE,
  LEFT,
  AFTER
};

static _Atomic guint phase, n_inside, n_beside;
static _Atomic guint most[AFTER + 1]; /* units at once, of each phase */
static _Atomic gboolean has_watcher;

static void
note (guint now)
{
  _Atomic guint *of = &most[atomic_load (&phase)];
  guint old = atomic_load (of);
  while (now > old && !atomic_compare_exchange_weak (of, &old, now))
    ;
}

static void
wait_for_most (guint in, guint n)
{
  while (atomic_load (&most[in]) < n)
    usleep (10);
}

/* Returns: TRUE if the start has got a core. */
static gboolean
has_core (const HassWorker *worker)
{
  const HassLive *live = worker->job->driver;
  return fake_cudart_counts ().opening > 0 && !hass_spare_wanted (live->spare);
}

/* All cores begin a unit, unless the start has got one of them before. One unit
   waits until it has. */
static void
before_start (const HassWorker *worker)
{
  while (atomic_load (&most[BEFORE]) < N_CORES && !has_core (worker))
    usleep (10);
  if (atomic_exchange (&has_watcher, TRUE))
    {
      usleep (50);
      return;
    }
  while (!has_core (worker))
    usleep (10);
  atomic_store (&phase, LEFT);
}

static gboolean
cpu_worker (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)block, (void)data, (void)error;
  guint now = atomic_fetch_add (&n_inside, 1) + 1;
  note (now);
  switch (atomic_load (&phase))
    {
    case BEFORE:
      before_start (worker);
      break;
    case LEFT:
      wait_for_most (LEFT, N_CORES - 1);
      usleep (50); /* the other cores begin theirs meanwhile */
      if (atomic_fetch_add (&n_beside, 1) == N_BESIDE)
        {
          atomic_store (&phase, AFTER);
          fake_let_open ();
        }
      break;
    default:
      wait_for_most (AFTER, N_CORES);
    }
  atomic_fetch_sub (&n_inside, 1);
  return TRUE;
}

static void
one_is_left (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree HassLoad *loads = g_new0 (HassLoad, N_LOADS);
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < N_LOADS; i++)
    loads[i].size = 1;
  fake_machine_begin (&(FakePlan){
      .n_devices = 1, .start_ms = START_MS, .hold_opening = TRUE });
  farm.loads = loads;
  farm.n_loads = N_LOADS;
  farm.cpu_worker = cpu_worker;
  farm.gpu_worker = counting_gpu_worker;
  farm.run.n_cores = N_CORES;
  farm.run.strategy = "shared-queue";
  farm.run.platform = "";
  watchdog (60, "a farm that leaves a core to the start of its GPU");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (atomic_load (&phase), AFTER);
  CU_ASSERT_EQUAL (atomic_load (&most[LEFT]), N_CORES - 1);
  CU_ASSERT_EQUAL (atomic_load (&most[AFTER]), N_CORES);
  fake_machine_end ();
}

HASS_TEST_SUITE (spare_core,
                 { "one of eight cores is left to the start of a GPU",
                   one_is_left })

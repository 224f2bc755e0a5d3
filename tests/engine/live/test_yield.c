/* SPDX-License-Identifier: MIT */
/* test_yield.c: cores let the threads that stand for GPUs run between units,
   and make no such calls where there are none.

   DESIGN. The program has a sched_yield of its own, which counts the calls of
   each thread and may take long, as if another worker had been there; and a
   sched_setaffinity that counts. The one core of these farms is the thread that
   calls them.

   Thread safety: one thread, beside the engine's. */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/live/live-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"

#define N_LOADS 60
#define UNIT_US 300

static _Thread_local guint n_yields, n_bound, yield_us;

int
sched_yield (void)
{
  n_yields++;
  if (yield_us > 0)
    usleep (yield_us);
  return (int)syscall (SYS_sched_yield);
}

int
sched_setaffinity (pid_t pid, size_t size, const cpu_set_t *set)
{
  n_bound++;
  return syscall (SYS_sched_setaffinity, pid, size, set) < 0 ? -1 : 0;
}

/* Waits until the device beside the core is being opened, or is lost. */
static void
await_device (HassJob *job, gboolean lost)
{
  const HassLive *live = job->driver;
  gboolean ready = FALSE;
  while (!ready)
    {
      hass_lock_take (&job->decision);
      ready = job->totals[1].lost == lost;
      hass_lock_give (&job->decision);
      ready = ready && (atomic_load (&live->n_serving) == 0) == lost;
    }
}

/* @data: NULL, or whether to wait until the device is lost; else until it is
   being opened. */
static gboolean
compute (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)error;
  if (data)
    await_device (worker->job, *(const gboolean *)data);
  gint64 until = g_get_monotonic_time () + UNIT_US;
  while (g_get_monotonic_time () < until)
    ;
  return TRUE;
}

static gboolean
compute_nothing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
                 GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* Yields of the one core while it computes all, beside a device that is lost,
   or not, before the first unit ends. */
static guint
yields (HassDevice *device, gboolean lost)
{
  static const HassLoad loads[N_LOADS] = { { .size = 1 } };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "yields";
  farm.loads = loads;
  farm.n_loads = N_LOADS;
  farm.cpu_worker = compute;
  farm.gpu_worker = device ? compute_nothing : NULL;
  farm.user_data = device ? &lost : NULL;
  farm.run.n_cores = 1;
  farm.run.strategy = "cpu-only";
  farm.run.platform = "";
  farm.run.devices = &device;
  farm.run.n_devices = device ? 1 : 0;
  n_yields = 0;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, NULL));
  return n_yields;
}

static void
beside_a_gpu (void)
{
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  CU_ASSERT_TRUE (yields (device, FALSE) >= N_LOADS - 1);
  stand_in_free (device);
}

static void
beside_a_lost_one (void)
{
  HassDevice *device
      = stand_in_new (&(StandInPlan){ .depth = 1, .fail_open = TRUE });
  CU_ASSERT_TRUE (yields (device, TRUE) <= 1);
  stand_in_free (device);
}

static void
among_themselves (void)
{
  n_bound = 0;
  CU_ASSERT_EQUAL (yields (NULL, FALSE), 0);
  CU_ASSERT_EQUAL (n_bound, 0);
}

/* Its yields take as long as if another worker had its core: it moves, less and
   less often, and may run where it could before. */
static void
away_from_others (void)
{
  cpu_set_t before, after;
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  CU_ASSERT_EQUAL (sched_getaffinity (0, sizeof before, &before), 0);
  yield_us = 2 * UNIT_US;
  n_bound = 0;
  gint64 begin = g_get_monotonic_time ();
  yields (device, FALSE);
  gint64 took_us = g_get_monotonic_time () - begin;
  yield_us = 0;
  guint most = 1;
  for (gint64 gap_us = 1000; gap_us < took_us; gap_us *= 2)
    most++;
  /* The gap is 1 ms again after eight gaps without a yield, in which other
     processes may have the core: up to so many moves that have ended so. */
  most += (guint)(took_us / 9000);
  CU_ASSERT_EQUAL (sched_getaffinity (0, sizeof after, &after), 0);
  CU_ASSERT_TRUE (CPU_EQUAL (&before, &after));
  stand_in_free (device);
  if (CPU_COUNT (&before) < 2)
    hass_test_skip ("there is one core only");
  else
    CU_ASSERT_TRUE (n_bound >= 2 && n_bound <= 2 * most);
}

HASS_TEST_SUITE (
    yield, { "cores beside a GPU yield between units", beside_a_gpu },
    { "cores beside a GPU that is lost do not yield", beside_a_lost_one },
    { "cores without a GPU beside them do not yield", among_themselves },
    { "a worker that shares a core with another one moves", away_from_others })

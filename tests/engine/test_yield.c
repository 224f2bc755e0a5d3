/* SPDX-License-Identifier: MIT */
/* test_yield.c: cores let the threads that stand for GPUs run between units,
   and make no such calls where there are none.

   DESIGN. The program has a sched_yield of its own, which counts the calls of
   each thread: the one core of these farms is the thread that calls them.

   Thread safety: one thread, beside the engine's. */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "stand_in.h"

#define N_LOADS 20
#define UNIT_US 300

static _Thread_local guint n_yields;

int
sched_yield (void)
{
  n_yields++;
  return (int)syscall (SYS_sched_yield);
}

static gboolean
compute (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  gint64 until = g_get_monotonic_time () + UNIT_US;
  (void)block, (void)worker, (void)data, (void)error;
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

/* Yields of the one core while it computes all. */
static guint
yields (HassDevice *device)
{
  static const HassLoad loads[N_LOADS] = { { .size = 1 } };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "yields";
  farm.loads = loads;
  farm.n_loads = N_LOADS;
  farm.cpu_worker = compute;
  farm.gpu_worker = device ? compute_nothing : NULL;
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
  CU_ASSERT_TRUE (yields (device) >= N_LOADS);
  stand_in_free (device);
}

static void
among_themselves (void)
{
  CU_ASSERT_EQUAL (yields (NULL), 0);
}

HASS_TEST_SUITE (yield,
                 { "cores beside a GPU yield between units", beside_a_gpu },
                 { "cores among themselves do not", among_themselves })

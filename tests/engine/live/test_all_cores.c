/* SPDX-License-Identifier: MIT */
/* test_all_cores.c: what does not keep cores from working: a long load, which
   keeps its round from ending, and loads that are rounds of their own.
   Thread safety: one thread, beside the engine's. */
#include <stdatomic.h>

#include "hass/hass.h"
#include "hass_test.h"

/* More than the pool holds by default, and fewer than its ring. */
#define N_LOADS 24576
/* Only loads that are never computed take so long. */
#define PATIENCE_MS 120000

typedef struct
{
  _Atomic gboolean begun; /* the long load */
  _Atomic guint computed;
  guint before_its_end;
} Flow;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  HassLoad load = { .size = 1 };
  for (guint i = 0; i < N_LOADS; i++)
    if (!hass_emitter_emit (emitter, &load))
      return FALSE;
  return TRUE;
}

static void
await (const _Atomic guint *n, guint least)
{
  for (guint ms = 0; ms < PATIENCE_MS && atomic_load (n) < least; ms++)
    g_usleep (1000);
}

/* The long load is the first of another core than the generating thread's,
   which would have to emit the others. */
static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)error;
  Flow *flow = data;
  if (hass_worker_index (worker) == 0)
    for (guint ms = 0; ms < PATIENCE_MS && !flow->begun; ms++)
      g_usleep (1000);
  else if (!atomic_exchange (&flow->begun, TRUE))
    {
      await (&flow->computed, N_LOADS - 1);
      flow->before_its_end = flow->computed;
    }
  flow->computed++;
  return TRUE;
}

static void
others_go_on (void)
{
  Flow flow = { 0 };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "long";
  farm.user_data = &flow;
  farm.generate = generate;
  farm.cpu_worker = work;
  farm.run.n_cores = 2;
  farm.run.n_gpus = -1;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, NULL));
  CU_ASSERT_EQUAL (flow.before_its_end, N_LOADS - 1);
}

/* More than rounds are in flight of other farms. */
#define N_CORES 12

/* Each waits until all others are computed at the same time. */
static gboolean
meet (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)error;
  Flow *flow = data;
  flow->computed++;
  await (&flow->computed, N_CORES);
  return flow->computed == N_CORES;
}

/* A divisible load is a round, and each of these is one block. */
static void
small_divisible_loads (void)
{
  Flow flow = { 0 };
  HassLoad loads[N_CORES];
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  for (guint i = 0; i < N_CORES; i++)
    loads[i] = (HassLoad){ .size = 1 };
  farm.name = "small";
  farm.user_data = &flow;
  farm.loads = loads;
  farm.n_loads = N_CORES;
  farm.block_elements = 1;
  farm.cpu_worker = meet;
  farm.run.n_cores = N_CORES;
  farm.run.n_gpus = -1;
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, NULL, NULL));
}

HASS_TEST_SUITE (all_cores,
                 { "while a load is computed all others are", others_go_on },
                 { "as many divisible loads as cores are computed at a time",
                   small_divisible_loads })

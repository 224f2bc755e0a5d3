/* SPDX-License-Identifier: MIT */
/* test_long_load.c: one long load does not keep the others waiting, although
   it keeps its round from ending.
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

HASS_TEST_SUITE (long_load,
                 { "while a load is computed all others are", others_go_on })

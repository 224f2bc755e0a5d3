/* SPDX-License-Identifier: MIT */
/* test_grants.c: what becomes of a grant on a device: parts that are alike, and
   what the strategy hears of the time that the GPU worker itself took.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <unistd.h>

#include "counting.h"
#include "device/fake_machine.h"
#include "engine/job-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "trial.h"

#define SETUP_US 20000

static void
parts_are_alike (void)
{
  gboolean ok = TRUE;
  for (guint32 all = 1; all <= 300; all++)
    for (guint32 most = 1; most <= 70; most++)
      {
        guint32 left = all, n = 0, least = G_MAXUINT32, largest = 0;
        for (; left > 0; n++)
          {
            guint32 part = hass_part_units (left, most);
            ok &= part >= 1 && part <= MIN (left, most);
            least = MIN (least, part);
            largest = MAX (largest, part);
            left -= MIN (part, left);
          }
        ok &= n == (all + most - 1) / most && largest - least <= 1;
      }
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_EQUAL (hass_part_units (G_MAXUINT32, G_MAXUINT32), G_MAXUINT32);
}

/* -- What a worker's own calls take ------------------------------------- */

static double worker_ns[8];
static guint n_told;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

static HassAnswer
grant_one (gpointer self, HassRound *round, guint device, gboolean force,
           HassGrant *grant)
{
  (void)self, (void)round, (void)device, (void)force;
  grant->source = HASS_FROM_FRONT;
  grant->units = 1;
  grant->in_flight = 1;
  return HASS_TAKE;
}

static void
note (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  if (n_told < G_N_ELEMENTS (worker_ns))
    worker_ns[n_told++] = done->worker_ns;
}

static gboolean
slow_at_first (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
               GError **error)
{
  gboolean *made = data;
  if (!*made)
    usleep (SETUP_US);
  *made = TRUE;
  return counting_gpu_worker (bundle, stream, NULL, error);
}

static void
setup_is_told (void)
{
  static const HassStrategyOps ops = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "one-by-one-told",
                                       .summary = "notes what workers took",
                                       .source = "tests",
                                       .farms = HASS_FARM_COMBINE,
                                       .create = create,
                                       .grant = grant_one,
                                       .observe = note };
  HassLoad loads[5] = {
    { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 }
  };
  gboolean made = FALSE;
  g_autoptr (GError) error = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&ops, NULL);
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  farm.name = "told";
  farm.loads = loads;
  farm.n_loads = G_N_ELEMENTS (loads);
  farm.gpu_worker = slow_at_first;
  farm.user_data = &made;
  farm.run.strategy = ops.name;
  farm.run.platform = "";
  counting_reset ();
  watchdog (60, "a farm with a slow first bundle");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (n_told, G_N_ELEMENTS (loads));
  CU_ASSERT_TRUE (worker_ns[0] >= SETUP_US * 1e3);
  for (guint i = 1; i < n_told; i++)
    CU_ASSERT_TRUE (worker_ns[i] > 0);
  fake_machine_end ();
}

HASS_TEST_SUITE (grants, { "parts of a grant are alike", parts_are_alike },
                 { "a worker's own time is told, the first one's too",
                   setup_is_told })

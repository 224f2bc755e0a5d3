/* SPDX-License-Identifier: MIT */
/* test_every_strategy.c: what holds under every strategy: each unit is
   executed once on machines of any shape, also where devices fail, are lost or
   are missed.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "mini_checks.h"
#include "tests/trials.h"

/* -- Machines and farms of any shape ------------------------------------ */

static guint
random_devices (GRand *rand, MiniDevice *devices, gboolean failing)
{
  guint n = 0, gpus = g_rand_int_range (rand, 0, 9);
  gboolean cpu = gpus == 0 || g_rand_int_range (rand, 0, 4) > 0;
  if (cpu)
    devices[n++] = (MiniDevice)MINI_CPU (g_rand_int_range (rand, 1, 65),
                                         g_rand_double_range (rand, 1, 100));
  for (guint g = 0; g < gpus; g++)
    {
      devices[n] = (MiniDevice)MINI_GPU (g_rand_int_range (rand, 1, 133),
                                         g_rand_double_range (rand, 0.05, 50),
                                         g_rand_double_range (rand, 0, 1e5));
      if (g_rand_int_range (rand, 0, 3) == 0)
        devices[n].max_units = g_rand_int_range (rand, 1, 100);
      if (g_rand_int_range (rand, 0, 3) == 0)
        devices[n].fill_work = 500;
      if (failing)
        devices[n].fails = g_rand_double_range (rand, 0, 0.6);
      /* The last device must stay for the engine to have another. */
      if (failing && n > 0 && g_rand_int_range (rand, 0, 4) == 0)
        devices[n].lost_after = g_rand_int_range (rand, 1, 6);
      n++;
    }
  gboolean known = g_rand_int_range (rand, 0, 4) == 0;
  for (guint d = 0; d < n && known; d++)
    devices[d].known_rate = devices[d].cores / devices[d].ns_per_work;
  return n;
}

static gboolean
both_kinds (const MiniDevice *devices, guint n)
{
  /* A GPU that is never lost must be there for what only GPUs can run. */
  gboolean gpu = FALSE;
  for (guint d = 1; d < n; d++)
    gpu = gpu || devices[d].lost_after == 0;
  return devices[0].kind == HASS_DEVICE_CPU && gpu;
}

/* Runs a few rounds of one farm on random devices. */
static void
try_farm (const HassStrategyOps *ops, HassFarmKind kind, GRand *rand,
          gboolean failing)
{
  static const guint32 counts[] = { 0, 1, 2, 7, 60, 900, 3000 };
  MiniDevice devices[MINI_DEVICES];
  memset (devices, 0, sizeof devices);
  guint n = random_devices (rand, devices, failing);
  MiniFarm *farm
      = mini_farm_new (ops->name, kind, g_rand_int_range (rand, 0, 3), devices,
                       n, g_rand_int (rand));
  farm->noise = 0.2;
  for (guint r = 0; r < 4; r++)
    {
      MiniRound result;
      guint32 units = counts[g_rand_int_range (rand, 0, G_N_ELEMENTS (counts))];
      if (kind == HASS_FARM_PARTITION)
        mini_farm_run_divisible (farm, units * 64 + 3, 64, &result);
      else
        {
          HassLoad *loads
              = mini_random_loads (rand, units, kind, both_kinds (devices, n));
          mini_farm_run (farm, loads, units, &result);
          g_free (loads);
        }
      CU_ASSERT (result.once);
      CU_ASSERT (!result.hung);
      if (!failing)
        {
          CU_ASSERT_EQUAL (result.rescued, 0);
          CU_ASSERT_EQUAL (result.forced, 0);
        }
      if (!result.once || result.hung || (!failing && result.rescued))
        g_printerr ("%s kind %d, %u devices, round %u, %u units: once %d "
                    "hung %d rescued %" G_GUINT64_FORMAT "\n",
                    ops->name, kind, n, r, units, result.once, result.hung,
                    result.rescued);
    }
  mini_farm_free (farm);
}

static void
try_all (gboolean failing, guint32 seed)
{
  GRand *rand = g_rand_new_with_seed (seed);
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    for (guint k = 0; k < 4; k++)
      for (guint trial = 0; trial < TRIALS (20, 8, 20); trial++)
        if (hass_builtin_strategies[i]->farms & (1u << k))
          try_farm (hass_builtin_strategies[i], 1u << k, rand, failing);
  g_rand_free (rand);
}

static void
executes_each_unit_once (void)
{
  try_all (FALSE, 1);
}

static void
survives_failing_devices (void)
{
  try_all (TRUE, 2);
}

/* -- Devices that are lost, and found again ---------------------------- */

static void
expect (MiniFarm *farm, const HassLoad *loads, guint32 n, const char *what)
{
  MiniRound result;
  mini_farm_run (farm, loads, n, &result);
  CU_ASSERT (result.once);
  CU_ASSERT (!result.hung);
  if (!result.once || result.hung)
    g_printerr ("\n    %s, %u units: %s", what, n,
                result.hung ? "hung" : "not each unit once");
}

/* A GPU is lost before it was asked, in its first bundle, or later. */
static void
loses_devices (const char *spec)
{
  HassLoad *loads = mini_equal_loads (600);
  for (guint after = 0; after < 5; after++)
    {
      MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                               MINI_GPU (8, 9000, 30000) };
      devices[1].lost_after = after;
      MiniFarm *farm = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                      devices, 3, 1);
      farm->lost[1] = after == 0;
      for (guint r = 0; r < 8; r++)
        expect (farm, loads, 600, "a lost device");
      MiniRound last;
      mini_farm_run (farm, loads, 600, &last);
      CU_ASSERT (after < 4 ? last.devices[1].units == 0 : TRUE);
      CU_ASSERT_EQUAL (last.rescued, 0);
      /* The two that are left share the work. */
      CU_ASSERT (last.devices[0].units > 0 && last.devices[2].units > 0);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* A GPU goes between two rounds, without a bundle that says so. */
static void
misses_devices (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                           MINI_GPU (8, 9000, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 3, 1);
  MiniRound last;
  for (guint r = 0; r < 3; r++)
    expect (farm, loads, 600, "before it goes");
  farm->lost[1] = TRUE;
  expect (farm, loads, 600, "as it goes");
  for (guint r = 0; r < 2; r++)
    mini_farm_run (farm, loads, 600, &last);
  CU_ASSERT_EQUAL (last.shares[1], 0);
  CU_ASSERT_EQUAL (last.rescued, 0);
  mini_farm_free (farm);
  g_free (loads);
}

/* All bundles of a GPU fail for a round; it must have a part again. */
static void
finds_back (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 2, 1);
  MiniRound last;
  for (guint r = 0; r < 3; r++)
    expect (farm, loads, 600, "before it fails");
  farm->devices[1].fails = 1;
  expect (farm, loads, 600, "while it fails");
  farm->devices[1].fails = 0;
  for (guint r = 0; r < 4; r++)
    mini_farm_run (farm, loads, 600, &last);
  CU_ASSERT (last.devices[1].units > 100);
  mini_farm_free (farm);
  g_free (loads);
}

/* Tasks that only GPUs can run are not one GPU's alone. */
static void
shares_gpu_tasks (const char *spec)
{
  MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 30000),
                           MINI_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (600);
  MiniFarm *farm = mini_farm_new (spec, HASS_FARM_FUNCTION, HASS_COST_EQUAL,
                                  devices, 3, 1);
  for (guint i = 0; i < 600; i += 2)
    loads[i].flags = HASS_LOAD_GPU;
  for (guint r = 0; r < 4; r++)
    expect (farm, loads, 600, "tasks for GPUs only");
  for (guint i = 0; i < farm->grants->len; i++)
    CU_ASSERT (mini_units (farm, i) < 300);
  mini_farm_free (farm);
  g_free (loads);
}

/* The strategies that measure all devices before they divide a round. The
   others have tests of their own for a lost device (test_strategies.c). */
static void
each (void (*run) (const char *spec))
{
  static const char *const names[]
      = { "asym",          "asym-conv",    "asym-size", "cpu-weight",
          "profile-naive", "shared-queue", "skmd",      "skmd-linear" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    run (names[i]);
}

static void
others_run_what_lost_devices_had (void)
{
  each (loses_devices);
}

static void
missed_devices_get_no_share (void)
{
  each (misses_devices);
}

static void
healthy_again (void)
{
  each (finds_back);
}

static void
gpu_tasks_are_shared (void)
{
  each (shares_gpu_tasks);
}

HASS_TEST_SUITE (
    sched_every_strategy,
    { "every strategy executes each unit exactly once",
      executes_each_unit_once },
    { "every strategy survives devices that fail", survives_failing_devices },
    { "the other devices share the work of a GPU that is lost",
      others_run_what_lost_devices_had },
    { "a GPU that is lost between two rounds gets no share",
      missed_devices_get_no_share },
    { "a GPU whose bundles failed gets work again once they do not",
      healthy_again },
    { "tasks that only GPUs can run are shared by the GPUs",
      gpu_tasks_are_shared })

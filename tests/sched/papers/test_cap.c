/* SPDX-License-Identifier: MIT */
/* test_cap.c: the phases of CAP, of sampling and of splitting against numbers
   worked out from the paper by hand.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

/* A core does a unit in 1 us. The GPU does one in 0.25 us after 64 us, so its
   speed rises with the bundle: 1/2, 3/4, 4/5 of all for 256, ... units. */
static const MiniDevice curved[]
    = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 64000) };
static const MiniDevice straight[]
    = { MINI_CPU (1, 1000), MINI_GPU (30, 250, 0) };

static void
check_bundles (const char *spec, const MiniDevice *devices, guint32 units,
               const guint64 *bundles, guint n)
{
  HassLoad *loads = mini_equal_loads (units);
  MiniFarm *farm
      = mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 2, 1);
  /* Each round is a task of its own, so the second is as the first. */
  for (guint r = 0; r < 2; r++)
    {
      MiniRound result;
      guint64 sum = 0;
      mini_farm_run (farm, loads, units, &result);
      CU_ASSERT (result.once);
      CU_ASSERT_EQUAL (result.forced, 0);
      CU_ASSERT_EQUAL (farm->grants->len, n);
      for (guint g = 0; g < farm->grants->len && g < n; g++)
        {
          guint64 got = g_array_index (farm->grants, MiniGrant, g).units;
          CU_ASSERT_EQUAL (got, bundles[g]);
          sum += got;
        }
      CU_ASSERT_EQUAL (result.devices[0].units, units - sum);
    }
  mini_farm_free (farm);
  g_free (loads);
}

#define BUNDLES(spec, devices, units, ...)                                     \
  check_bundles (spec, devices, units, (const guint64[]){ __VA_ARGS__ },       \
                 sizeof ((const guint64[]){ __VA_ARGS__ }) / sizeof (guint64))

/* Phases of 512, 1024, 2048 and 4096 of 65536 units, as in section 2.3. Parts
   of the CPU: 1/2 given, then 0.33333, 0.25579, 0.22600, 0.21272 measured;
   variances of two measured ones: 1.5e-3, 2.2e-4, 4.4e-5. */
static void
cap_doubles_until_two_agree (void)
{
  BUNDLES ("cap", curved, 65536, 256, 683, 1524, 3170, 45549);
  BUNDLES ("cap:threshold=5e-5,first=1/128", curved, 65536, 256, 683, 1524,
           3170, 45549);
  BUNDLES ("cap:threshold=1e-3", curved, 65536, 256, 683, 1524, 47951);
  /* Never: up to where 2 * 16384 is more than half of the 33280 that are
     left. */
  BUNDLES ("cap:threshold=0", curved, 65536, 256, 683, 1524, 3170, 6449, 13004,
           26520);
}

/* A GPU without a curve: the second phase confirms the first. */
static void
cap_needs_two_measured_partitions (void)
{
  BUNDLES ("cap", straight, 65536, 256, 819, 51200);
  /* Alike: the equal split is right at once, and is still measured twice. */
  const MiniDevice alike[] = { MINI_CPU (1, 1000), MINI_GPU (30, 1000, 0) };
  BUNDLES ("cap", alike, 65536, 256, 512, 32000);
  /* Too large for a second phase: 2/4 is more than half of 3/4. */
  BUNDLES ("cap:first=1/4", straight, 1024, 128, 614);
  BUNDLES ("cap:first=1/2", straight, 1024, 256, 410);
}

static void
sampling_has_two_phases (void)
{
  /* Of the sample's 512: 256 in 256 us and in 128 us, so 2/3 of the rest. */
  BUNDLES ("sampling", curved, 65536, 256, 43349);
  /* Of 6554: 3277 at 1000 and 269.53 ns a unit. */
  BUNDLES ("sampling:first=1/10", curved, 65536, 3277, 46460);
  BUNDLES ("sampling", straight, 65536, 256, 52019);
}

/* Four pieces of 1024 units. CPU parts: 1/2; 512 units in 192 us: 0.27273;
   745 in 250.25: 0.25144; 767 in 255.75: 0.25006. */
static void
splitting_divides_by_the_last_piece (void)
{
  BUNDLES ("splitting:pieces=4", curved, 4096, 512, 745, 767, 768);
  BUNDLES ("splitting:pieces=2", straight, 4096, 1024, 1638);
}

/* Five pieces of 200 units, each cut when all of the one before is done. */
static void
phases_wait_for_each_other (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniFarm *farm = mini_farm_new ("splitting:pieces=5", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, straight, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 5);
  /* Nothing of a piece is left when the next is cut: 200 of each 1000. */
  for (guint g = 0; g < farm->grants->len; g++)
    CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).waiting,
                     800 - 200 * g);
  /* 100 units of 1 us, then 4 times 40 units of 1 us. */
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 260000, 1);
  mini_farm_free (farm);
  g_free (loads);
}

/* Work, not units, where costs are known: a ramp. */
static void
phases_divide_work (void)
{
  HassLoad *loads = mini_equal_loads (2000);
  double total = 0;
  for (guint32 i = 0; i < 2000; i++)
    total += loads[i].cost = (float)(i + 1);
  MiniFarm *farm = mini_farm_new ("cap", HASS_FARM_INDIVISIBLE, HASS_COST_SIZED,
                                  straight, 2, 1);
  MiniRound result;
  mini_farm_run (farm, loads, 2000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].work / total, 0.8, 0.01);
  CU_ASSERT (result.summary.makespan_ns
             < 1.02 * mini_bound_ns (straight, 2, total));
  mini_farm_free (farm);
  g_free (loads);
}

/* Three devices: by speed, 1 : 4 : 2; in the first phase all are alike. */
static void
phases_serve_any_number (void)
{
  const MiniDevice devices[]
      = { MINI_CPU (2, 2000), MINI_GPU (30, 250, 0), MINI_GPU (8, 500, 0) };
  HassLoad *loads = mini_equal_loads (70000);
  static const char *const specs[] = { "cap", "sampling", "splitting" };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      MiniRound result;
      MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 3, 1);
      mini_farm_run (farm, loads, 70000, &result);
      CU_ASSERT (result.once);
      CU_ASSERT_DOUBLE_EQUAL (result.shares[1], 1. * result.shares[2], 1);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units - result.shares[1],
                              2. * (result.devices[2].units - result.shares[2]),
                              30);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units - result.shares[1],
                              4. * (result.devices[0].units - result.shares[0]),
                              60);
      mini_farm_free (farm);
      /* Fewer units than devices, and as many. */
      for (guint32 few = 1; few < 6; few++)
        {
          farm = mini_farm_new (specs[i], HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                devices, 3, 1);
          mini_farm_run (farm, loads, few, &result);
          CU_ASSERT (result.once);
          CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
          if (few == 3) /* a unit of the first phase each */
            for (guint d = 0; d < 3; d++)
              CU_ASSERT_EQUAL (result.devices[d].units, 1);
          mini_farm_free (farm);
        }
    }
  g_free (loads);
}

/* -- Devices that fail -------------------------------------------------- */

/* A GPU lost in a phase, or before its first: nobody waits for it, and it has
   no part in the phases after. */
static void
phases_do_without_the_lost (void)
{
  static const char *const specs[] = { "cap", "sampling", "splitting" };
  const MiniDevice devices[] = { MINI_CPU (4, 40000), MINI_GPU (30, 2500, 3000),
                                 MINI_GPU (8, 9000, 3000) };
  HassLoad *loads = mini_equal_loads (2000);
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    for (guint early = 0; early < 2; early++)
      {
        MiniRound result;
        MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_COMBINE,
                                        HASS_COST_EQUAL, devices, 3, 1);
        farm->devices[2].lost_after = early ? 0 : 1;
        farm->lost[2] = early;
        mini_farm_run (farm, loads, 2000, &result);
        CU_ASSERT (result.once && !result.hung);
        CU_ASSERT_EQUAL (result.rescued, 0);
        CU_ASSERT_EQUAL (result.forced, early);
        CU_ASSERT (result.devices[1].units > 1000);
        mini_farm_run (farm, loads, 2000, &result);
        CU_ASSERT (result.once);
        CU_ASSERT_EQUAL (result.forced, 0);
        CU_ASSERT_EQUAL (result.shares[2], 0);
        mini_farm_free (farm);
      }
  g_free (loads);
}

/* A GPU that fails all it gets: single units, and the cores do not wait for
   it. When it works again it is tried once, then gets its part. */
static void
phases_try_again (void)
{
  static const char *const specs[] = { "cap", "sampling", "splitting" };
  HassLoad *loads = mini_equal_loads (2000);
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      MiniRound result;
      MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, curved, 2, 1);
      farm->devices[1].fails = 1;
      mini_farm_run (farm, loads, 2000, &result);
      CU_ASSERT (result.once && !result.hung);
      CU_ASSERT_EQUAL (result.devices[0].units, 2000);
      for (guint g = 1; g < farm->grants->len; g++)
        CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, g).units, 1);
      farm->devices[1].fails = 0;
      mini_farm_run (farm, loads, 2000, &result);
      mini_farm_run (farm, loads, 2000, &result);
      CU_ASSERT (result.shares[1] > 0);
      CU_ASSERT (result.devices[1].units > 200);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* The one that fails is asked first each time, until it is lost: the other
   does not wait for that. */
static void
phases_go_on_without_who_fails (void)
{
  static const char *const specs[] = { "cap", "sampling", "splitting" };
  const MiniDevice gpus[]
      = { MINI_GPU (30, 250, 64000), MINI_GPU (30, 250, 64000) };
  HassLoad *loads = mini_equal_loads (2000);
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      MiniRound result;
      guint last = 0;
      MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, gpus, 2, 1);
      farm->devices[0].fails = 1;
      farm->devices[0].lost_after = 500;
      mini_farm_run (farm, loads, 2000, &result);
      CU_ASSERT (result.once && !result.hung);
      CU_ASSERT_EQUAL (result.devices[1].units, 2000);
      for (guint g = 0; g < farm->grants->len; g++)
        if (g_array_index (farm->grants, MiniGrant, g).units > 100)
          last = g;
      CU_ASSERT (last > 0 && last < 100);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* Tasks for one kind alone are computed beside the phases, and where there
   are no others. */
static void
phases_leave_room_for_exclusive_units (void)
{
  static const char *const specs[] = { "cap", "sampling", "splitting" };
  GRand *rand = g_rand_new_with_seed (8);
  HassLoad *loads = mini_random_loads (rand, 900, HASS_FARM_FUNCTION, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      MiniRound result;
      MiniFarm *farm = mini_farm_new (specs[i], HASS_FARM_FUNCTION,
                                      HASS_COST_SIZED, straight, 2, 1);
      for (guint r = 0; r < 3; r++)
        {
          mini_farm_run (farm, loads, 900, &result);
          CU_ASSERT (result.once);
          CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
        }
      for (guint32 u = 0; u < 900; u++)
        loads[u].flags = u % 3 ? HASS_LOAD_GPU : HASS_LOAD_CPU;
      mini_farm_run (farm, loads, 900, &result);
      CU_ASSERT (result.once);
      CU_ASSERT_EQUAL (result.rescued + result.forced, 0);
      mini_farm_free (farm);
    }
  g_free (loads);
  g_rand_free (rand);
}

/* -- Parameters --------------------------------------------------------- */

static void
refuses_parameters (void)
{
  CU_ASSERT (mini_refused ("cap:first=1/0", "first=1/0"));
  CU_ASSERT (mini_refused ("cap:first=0/0", "first=0/0"));
  CU_ASSERT (mini_refused ("cap:first=1/1", "out of range"));
  CU_ASSERT (mini_refused ("cap:first=-1/128", "out of range"));
  CU_ASSERT (mini_refused ("cap:first=1e-3/1e4", "out of range"));
  CU_ASSERT (mini_refused ("cap:threshold=1", "out of range"));
  CU_ASSERT (mini_refused ("cap:growth=1/2", "out of range"));
  CU_ASSERT (mini_refused ("cap:last=1/2", "threshold [0, 0.25]"));
  CU_ASSERT (mini_refused ("sampling:first=0", "out of range"));
  CU_ASSERT (mini_refused ("splitting:pieces=1", "out of range"));
  CU_ASSERT (!mini_refused ("cap:threshold=5e-5,first=1/128", ""));
}

HASS_TEST_SUITE (
    sched_cap,
    { "cap doubles its phases until two partitions agree",
      cap_doubles_until_two_agree },
    { "cap wants two measured partitions, and half of the rest left",
      cap_needs_two_measured_partitions },
    { "sampling divides the rest by its sample", sampling_has_two_phases },
    { "splitting divides each piece by the one before",
      splitting_divides_by_the_last_piece },
    { "phases end when all devices are done", phases_wait_for_each_other },
    { "phases divide work where it is known", phases_divide_work },
    { "phases serve any number of devices and units", phases_serve_any_number },
    { "phases do without a lost GPU", phases_do_without_the_lost },
    { "phases try a GPU that failed with single units", phases_try_again },
    { "phases go on without a GPU that fails", phases_go_on_without_who_fails },
    { "phases leave room for units of one kind",
      phases_leave_room_for_exclusive_units },
    { "parameters out of range are refused", refuses_parameters })

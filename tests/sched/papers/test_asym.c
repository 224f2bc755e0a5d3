/* SPDX-License-Identifier: MIT */
/* test_asym.c: Kaleem's asymmetric profiling: theorem 2, the ratio after the
   profile, and the sample-weighted update.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"
#include "sched/papers/kaleem-private.h"

static const MiniDevice pair[]
    = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000) };

/* Theorem 2: N_c = min (t_p C_r, (1 - f_p) N), not the max of them. */
static void
lets_the_cpu_work_on (void)
{
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm
      = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  /* t_p = 105 us, so 10.5 units of the CPU: 8 finished and 4 at work. The
     ratio is 0.7407 and 1000 - 30 - 12 are left. */
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (farm->grants->len, 2);
  CU_ASSERT_EQUAL (mini_units (farm, 0), 30);
  CU_ASSERT_EQUAL (mini_units (farm, 1), 710);
  CU_ASSERT_EQUAL (result.devices[0].units, 260);
  /* No overhead: the GPU goes on at once. */
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].last_finish_ns,
                          105000 + 30000 + 710 * 2500, 1);
  mini_farm_free (farm);
  /* f_p = 3/4 of the items take the GPU 1.2 ms, in which the CPU could do
     120: it does the 10 that are left, and then the GPU alone is waited for. */
  MiniDevice slow[] = { pair[0], MINI_WIDE_GPU (30, 40000, 0) };
  farm = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, slow, 2, 1);
  mini_farm_run (farm, loads, 40, &result);
  CU_ASSERT_EQUAL (result.devices[0].units, 10);
  CU_ASSERT_EQUAL (result.devices[1].units, 30);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns, 1200000, 1);
  mini_farm_free (farm);
  g_free (loads);
}

/* Section 5.3.1. The first sample: 30 and 8 units, 0.74074. The rest of the
   round: 710 units in 1.805 ms beside 252 of the CPU, 0.79730, which counts
   962 / 1000: 0.79515. */
static void
weighs_samples (void)
{
  CU_ASSERT_DOUBLE_EQUAL (hass_kaleem_sample_weight (30, 70), 0.3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_kaleem_sample_weight (30, 0), 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_kaleem_sample_weight (0, 0), 0, 1e-12);
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm
      = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.shares[1], 795);
  CU_ASSERT_EQUAL (farm->grants->len, 1); /* no second profile */
  /* A GPU half as fast: 795 units in 4.005 ms, 0.66499, and T_n is 1000, so
     w is 1/2: 0.73. */
  farm->devices[1].ns_per_work *= 2;
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT_EQUAL (result.shares[1], 796);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.shares[1] > 740 && result.shares[1] < 760);
  mini_farm_free (farm);
  g_free (loads);
}

/* A core needs 1 ms for a unit: its counters are 0 until then, and the GPU
   runs one profile after another. */
static void
waits_for_the_counters (void)
{
  static const MiniDevice slow[]
      = { MINI_CPU (4, 1000000), MINI_WIDE_GPU (30, 2500, 30000) };
  HassLoad *loads = mini_equal_loads (1000);
  MiniRound result;
  MiniFarm *farm
      = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, slow, 2, 1);
  mini_farm_run (farm, loads, 1000, &result);
  CU_ASSERT (result.once);
  CU_ASSERT_EQUAL (farm->grants->len, 11);
  for (guint i = 0; i < 10; i++)
    CU_ASSERT_EQUAL (mini_units (farm, i), 30);
  /* At 1.05 ms 4 are done and 4 at work: 692 left, 0.9862 of them. */
  CU_ASSERT_EQUAL (mini_units (farm, 10), 682);
  mini_farm_free (farm);
  g_free (loads);
}

/* Three GPUs of different speed: sooner than with a barrier at first, and
   after four rounds within 5 % of what all together could do. */
static void
serves_several_gpus (void)
{
  static const MiniDevice four[]
      = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000),
          MINI_WIDE_GPU (8, 9000, 30000), MINI_WIDE_GPU (16, 5000, 30000) };
  HassLoad *loads = mini_equal_loads (3000);
  MiniRound result;
  double parts[4];
  MiniFarm *farm = mini_farm_new ("profile-naive", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, four, 4, 1);
  mini_farm_run (farm, loads, 3000, &result);
  double naive_ns = result.summary.makespan_ns;
  mini_farm_free (farm);
  farm = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, four, 4, 1);
  mini_farm_run (farm, loads, 3000, &result);
  CU_ASSERT (result.summary.makespan_ns < naive_ns);
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 3000, &result);
  CU_ASSERT (result.summary.makespan_ns < 1.05 * mini_bound_ns (four, 4, 3000));
  mini_ideal_parts (four, 4, 3000, parts);
  for (guint d = 0; d < 4; d++)
    CU_ASSERT_DOUBLE_EQUAL (result.shares[d] / 3000.0, parts[d], 0.01);
  mini_farm_free (farm);
  g_free (loads);
}

static void
leaves_small_rounds_to_the_cpu (void)
{
  HassLoad *loads = mini_equal_loads (30);
  MiniRound result;
  MiniFarm *farm
      = mini_farm_new ("asym", HASS_FARM_COMBINE, HASS_COST_EQUAL, pair, 2, 1);
  mini_farm_run (farm, loads, 29, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 0);
  CU_ASSERT_EQUAL (result.rescued, 0);
  mini_farm_run (farm, loads, 30, &result);
  /* The cores have taken one each before the GPU is asked. */
  CU_ASSERT_EQUAL (result.devices[1].units, 26);
  mini_farm_free (farm);
  g_free (loads);
}

static void
refuses_wrong_parameters (void)
{
  CU_ASSERT (mini_refused ("asym:profile=-1", "out of range"));
}

HASS_TEST_SUITE (sched_asym,
                 { "asym lets the CPU work on while a GPU profiles",
                   lets_the_cpu_work_on },
                 { "asym weighs later rounds into the ratio by samples",
                   weighs_samples },
                 { "asym profiles on while the CPU's counters are 0",
                   waits_for_the_counters },
                 { "asym serves several GPUs", serves_several_gpus },
                 { "asym leaves rounds without room for a profile to the CPU",
                   leaves_small_rounds_to_the_cpu },
                 { "asym refuses wrong parameters", refuses_wrong_parameters })

/* SPDX-License-Identifier: MIT */
/* test_auto_participation.c: which devices auto lets participate, and when, in
   the mini engine.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/sched/mini_engine.h"

/* A GPU 25 times as fast as all cores together, and few units: a core would
   still be at its first one when the GPU has done all. */
static void
slow_cores_stay_out (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 8e5), MINI_GPU (132, 2000, 15000) };
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 2, 1);
  MiniRound result;
  mini_farm_run_equal (farm, 200, &result);
  CU_ASSERT_TRUE (result.devices[0].units > 0); /* how else to know */
  for (guint r = 0; r < 5; r++)
    {
      mini_farm_run_equal (farm, 200, &result);
      CU_ASSERT_EQUAL (result.devices[0].units, 0);
      CU_ASSERT_TRUE (result.summary.makespan_ns < 1.05 * (15000 + 200 * 2000));
    }
  /* With ten times as many there is time for some units on each core. */
  mini_farm_run_equal (farm, 2000, &result);
  CU_ASSERT_TRUE (result.devices[0].units >= 48);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 15000 + 2000 * 2000);
  mini_farm_free (farm);
}

/* Half a round goes by while the GPU's first bundle waits for what is made
   once: the cores begin no units that would be late for it, and the GPU does
   the rest at its own rate. */
static void
warm_up_is_forgotten (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 1.6e6), MINI_GPU (132, 2000, 15000) };
  devices[1].first_ns = 4e6;
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 2, 1);
  MiniRound result;
  mini_farm_run_equal (farm, 2000, &result);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 1.1 * (4e6 + 2000 * 2000));
  mini_farm_run_equal (farm, 2000, &result);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 1.05 * (15000 + 2000 * 2000));
  mini_farm_free (farm);
}

/* One of two GPUs waits far longer for what its worker or the device makes once
   than the other needs for the rest of the round, and is not taken for slow. */
static void
setup_is_no_measure (void)
{
  MiniDevice devices[] = { MINI_CPU (32, 2.8e7), MINI_GPU (132, 18000, 15000),
                           MINI_GPU (132, 18000, 15000) };
  for (guint i = 0; i < 4; i++)
    {
      guint slow = 1 + i % 2;
      devices[slow].first_ns = 2e8;
      devices[3 - slow].first_ns = 4e7;
      devices[1].tells_first = devices[2].tells_first = i < 2;
      devices[1].tells_setup = devices[2].tells_setup = i >= 2;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 3, 1);
      MiniRound result;
      for (guint r = 0; r < 4; r++)
        mini_farm_run_equal (farm, 1024, &result);
      CU_ASSERT_TRUE (result.summary.makespan_ns < 1.1 * 512 * 18000);
      mini_farm_free (farm);
    }
}

/* A first round in which the GPU opens when the cores are in the middle of
   their first units, which are long, and then makes something once. All that
   is measured early says that cores could help; but a unit more would end when
   the GPU has long done everything. */
static void
long_units_wait_for_a_gpu (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 1.4e8), MINI_GPU (132, 4e4, 15000) };
  for (guint late = 0; late < 8; late++)
    {
      devices[1].opens_ns = late * 4e7;
      devices[1].first_ns = 7.9e7;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      mini_farm_run_equal (farm, 4096, &result);
      double alone_ns = devices[1].opens_ns + devices[1].first_ns + 15000
                        + 4096 * devices[1].ns_per_work;
      CU_ASSERT_TRUE (result.summary.makespan_ns < alone_ns / 0.98);
      mini_farm_run_equal (farm, 4096, &result);
      CU_ASSERT_TRUE (result.summary.makespan_ns < 4096 * 4e4 / 0.98);
      mini_farm_free (farm);
    }
}

/* When a GPU will be open before units end that take as long as all it needs,
   hardly any core begins one. */
static void
few_long_units_before_a_gpu_opens (void)
{
  MiniDevice devices[] = { MINI_CPU (32, 2e7), MINI_GPU (132, 18000, 15000) };
  for (guint late = 0; late < 2; late++)
    {
      devices[1].opens_ns = late ? 2e8 : 2.6e7;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      mini_farm_run_equal (farm, 1024, &result);
      guint64 units = result.devices[0].units;
      CU_ASSERT_TRUE (late ? units > 4 * 32 : units <= 8 + 4);
      CU_ASSERT_TRUE (result.summary.makespan_ns
                      < 1.1 * (devices[1].opens_ns + 1024 * 18000));
      mini_farm_free (farm);
    }
}

/* What is left of a round goes to a GPU at once where another one will not be
   started for it. */
static void
one_grant_beside_a_closed_gpu (void)
{
  for (guint will_open = 0; will_open < 2; will_open++)
    {
      MiniDevice devices[]
          = { MINI_GPU (132, 20000, 15000), MINI_GPU (132, 20000, 15000) };
      devices[1].opens_ns = INFINITY;
      devices[1].opening_ns = will_open ? 1e6 : 1e8;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      farm->traits[0].part_bytes = 64 << 20;
      mini_farm_run_equal (farm, 4096, &result);
      CU_ASSERT_TRUE (result.once && !result.hung);
      CU_ASSERT_EQUAL (result.devices[0].bundles <= 4, !will_open);
      mini_farm_free (farm);
    }
}

/* A fast GPU is lost while another one is closed: how fast it had been is no
   reason for cores to wait. */
static void
lost_beside_a_closed_gpu (void)
{
  for (guint after = 2; after < 8; after++)
    {
      MiniDevice devices[] = { MINI_CPU (32, 4e7), MINI_GPU (132, 38000, 15000),
                               MINI_GPU (132, 38000, 15000) };
      devices[1].lost_after = after;
      devices[2].opens_ns = INFINITY;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 3, 1);
      MiniRound result;
      mini_farm_run_equal (farm, 1024, &result);
      CU_ASSERT_TRUE (result.once && !result.hung);
      CU_ASSERT_TRUE (result.summary.makespan_ns <= 1.05 * 1024 / 32 * 4e7);
      mini_farm_free (farm);
    }
}

/* One of two equal GPUs opens in the middle of a round: what the first bundles
   of units cost that nobody knows, or when the last round ended, says nothing
   of whether that will be in time. */
static void
closed_for_a_while (void)
{
  MiniDevice devices[]
      = { MINI_GPU (132, 20000, 15000), MINI_GPU (132, 20000, 15000) };
  MiniRound result;
  devices[1].opens_ns = 1e8;
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_UNKNOWN,
                                  devices, 2, 1);
  g_autofree HassLoad *loads = mini_equal_loads (4096);
  for (guint i = 0; i < 3584; i++)
    loads[i].size *= 20; /* the last are given first */
  farm->traits[0].part_bytes = farm->traits[1].part_bytes = 64 << 20;
  mini_farm_run (farm, loads, 4096, &result);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 1.1 * (1e8 / 2 + 7.22e8));
  mini_farm_free (farm);
  devices[1].opens_ns = 3e8;
  farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, 2,
                        1);
  farm->traits[0].part_bytes = farm->traits[1].part_bytes = 64 << 20;
  mini_farm_run_equal (farm, 4, &result);
  farm->now_ns = 2.95e8;
  mini_farm_run_equal (farm, 8192, &result);
  CU_ASSERT_TRUE (result.summary.makespan_ns < 1.1 * (8192 * 2e4 + 5e6) / 2);
  mini_farm_free (farm);
}

/* It was said to open soon, and does long after the cores have done all; that
   costs them no more than a sixteenth, in the first round only. */
static void
cores_are_not_left_to_it_for_ever (void)
{
  for (guint known = 0; known < 2; known++)
    {
      MiniDevice devices[]
          = { MINI_CPU (16, 2.5e6), MINI_GPU (132, 1e3, 15000) };
      double ns = 4000 * 2.5e6;
      MiniRound result;
      devices[0].known_rate = known ? 16 / 2.5e6 : 0;
      devices[1].known_rate = known ? 1e-3 : 0;
      devices[1].opens_ns = 1e12;
      devices[1].said_ns = 3e8;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      for (guint round = 0; round < 3; round++)
        {
          mini_farm_run_equal (farm, 64000, &result);
          double most_ns = (round == 0 ? 17 / 16. + 0.001 : 1.001) * ns;
          CU_ASSERT_TRUE (result.once && !result.hung);
          CU_ASSERT_TRUE (result.summary.makespan_ns <= most_ns);
          if (result.summary.makespan_ns > most_ns)
            printf ("\n    known %u, round %u: %g ms", known, round,
                    result.summary.makespan_ns * 1e-6);
        }
      mini_farm_free (farm);
    }
}

/* Nor do the cores wait long for a GPU that is of no use, or never opens. */
static void
long_units_do_not_wait_in_vain (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 2e7), MINI_GPU (132, 2e8, 15000) };
  for (guint never = 0; never < 2; never++)
    {
      devices[1].opens_ns = never ? 1e12 : 8e7;
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      mini_farm_run_equal (farm, 1600, &result);
      CU_ASSERT_TRUE (result.once && !result.hung);
      CU_ASSERT_TRUE (result.summary.makespan_ns < 1.05 * 100 * 2e7);
      mini_farm_free (farm);
    }
}

/* Cores that could do 6 % are welcome, unless they hold up a GPU by more. Then
   they are left alone, but tried again now and then. */
static void
weak_cores_that_disturb_stay_out (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 5e5), MINI_GPU (132, 2000, 15000) };
  for (guint disturb = 0; disturb < 2; disturb++)
    {
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      guint n_with = 0;
      farm->quarrel = disturb * 0.1;
      for (guint r = 0; r < 40; r++)
        {
          mini_farm_run_equal (farm, 4000, &result);
          n_with += result.devices[0].units > 0;
        }
      CU_ASSERT_TRUE (disturb ? n_with <= 6 : n_with >= 38);
      mini_farm_free (farm);
    }
}

static void
slow_gpu_stays_out (void)
{
  MiniDevice devices[] = { MINI_CPU (16, 16000), MINI_GPU (8, 1000, 3e6) };
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, 2, 1);
  MiniRound result;
  for (guint r = 0; r < 5; r++)
    {
      mini_farm_run_equal (farm, 1600, &result);
      CU_ASSERT_TRUE (r < 2 || result.devices[1].units == 0);
      CU_ASSERT_TRUE (r < 2 || result.summary.makespan_ns < 1.01 * 1.6e6);
    }
  mini_farm_free (farm);
}

HASS_TEST_SUITE (
    sched_auto_participation,
    { "cores that would be late are excluded", slow_cores_stay_out },
    { "a slow first bundle is no measure of a GPU", warm_up_is_forgotten },
    { "what a worker makes once is no measure of a GPU", setup_is_no_measure },
    { "few cores begin long units before a GPU opens",
      few_long_units_before_a_gpu_opens },
    { "a GPU gets all that is left while another one is closed",
      one_grant_beside_a_closed_gpu },
    { "a GPU does not get all that is left when another one soon opens",
      closed_for_a_while },
    { "cores do not wait for a lost GPU beside a closed one",
      lost_beside_a_closed_gpu },
    { "no core waits for a GPU's start for ever",
      cores_are_not_left_to_it_for_ever },
    { "long units wait until a GPU has shown its rate",
      long_units_wait_for_a_gpu },
    { "long units do not wait for a GPU that is of no use",
      long_units_do_not_wait_in_vain },
    { "negligible cores are excluded where they slow GPUs down",
      weak_cores_that_disturb_stay_out },
    { "a GPU that would be late is excluded", slow_gpu_stays_out })

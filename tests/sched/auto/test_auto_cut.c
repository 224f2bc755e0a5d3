/* SPDX-License-Identifier: MIT */
/* test_auto_cut.c: what auto grants GPUs that cut their grants into parts, and
   tasks of a function farm.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <stdio.h>

#include "tests/sched/mini_engine.h"

enum
{
  PART_UNITS = 512,
  UNIT_BYTES = 1000,
  MOST_IN_FLIGHT = 5
};

/* copies: times as long as kernels. */
typedef struct
{
  gsize part_bytes, unit_bytes;
  double copies, noise;
  gboolean profiled;
} Cutting;

/* Two of them, and cores that need longer for a unit than they for all, if a
   profile says so; three rounds of equal loads. */
static MiniFarm *
two_that_cut (const Cutting *c)
{
  static const HassProfileRate profile[]
      = { { .work_per_ns = 1e-7, .runs = 1 },
          { .work_per_ns = 1e-3, .runs = 1 },
          { .work_per_ns = 1e-3, .runs = 1 } };
  const guint32 n = 8000;
  MiniDevice devices[] = { MINI_CPU (2, 2e7), MINI_GPU (16, 1000, 3000),
                           MINI_GPU (16, 1000, 3000) };
  guint first = c->profiled ? 0 : 1;
  MiniFarm *farm
      = mini_farm_new ("naive-greedy", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                       &devices[first], 3 - first, 1);
  g_autofree HassLoad *loads = mini_equal_loads (n);
  MiniRound result;
  for (guint d = 1 - first; d < farm->n; d++)
    {
      farm->devices[d].copy_ns_per_work = 1000 * c->copies;
      farm->traits[d].part_bytes = c->part_bytes;
      farm->traits[d].max_in_flight = MOST_IN_FLIGHT;
    }
  for (guint32 i = 0; i < n; i++)
    loads[i].output_bytes = c->unit_bytes;
  farm->env.profile = c->profiled ? profile : NULL;
  farm->noise = c->noise;
  farm->kernels = 0.5;
  farm->tells_stages = TRUE;
  mini_farm_restart (farm, "auto");
  for (guint r = 0; r < 3; r++)
    {
      mini_farm_run (farm, loads, n, &result);
      CU_ASSERT_TRUE (result.once && !result.hung);
    }
  return farm;
}

static void
grants_are_whole_parts (void)
{
  const gsize part = PART_UNITS * UNIT_BYTES;
  MiniFarm *farm = two_that_cut (&(Cutting){ part, UNIT_BYTES, 0, 0.3, FALSE });
  guint64 last = 0;
  for (guint g = 0; g < farm->grants->len; g++)
    {
      MiniGrant *grant = &g_array_index (farm->grants, MiniGrant, g);
      if (grant->waiting > 4 * PART_UNITS)
        CU_ASSERT_TRUE (grant->units >= PART_UNITS);
      CU_ASSERT_EQUAL (grant->in_flight, MOST_IN_FLIGHT);
      last = grant->units;
    }
  CU_ASSERT_TRUE (last < PART_UNITS);
  guint n = farm->grants->len;
  mini_farm_free (farm);
  /* Not where that is much of a round, or nothing is copied. */
  static const gsize others[][2]
      = { { 4000 * UNIT_BYTES, UNIT_BYTES }, { PART_UNITS * UNIT_BYTES, 0 } };
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      farm = two_that_cut (
          &(Cutting){ others[i][0], others[i][1], 0, 0.3, FALSE });
      CU_ASSERT_TRUE (farm->grants->len > n);
      mini_farm_free (farm);
    }
}

/* The kernels of the first wait for its copy. */
static void
first_copy_is_short (void)
{
  static const double copies[] = { 0, 0.3, 3 }; /* times the kernel */
  for (guint i = 0; i < G_N_ELEMENTS (copies); i++)
    {
      MiniFarm *farm = two_that_cut (&(Cutting){
          PART_UNITS * UNIT_BYTES, UNIT_BYTES, copies[i], 0.3, FALSE });
      guint64 first = g_array_index (farm->grants, MiniGrant, 0).units;
      if (i == 1)
        CU_ASSERT_TRUE (first < PART_UNITS);
      if (i != 1)
        CU_ASSERT_TRUE (first >= PART_UNITS);
      mini_farm_free (farm);
    }
}

/* Who is known to be too slow does not make the others' bundles small. */
static void
hearsay_is_enough_of_the_slow (void)
{
  MiniFarm *with
      = two_that_cut (&(Cutting){ .part_bytes = 1, .profiled = TRUE });
  MiniFarm *without = two_that_cut (&(Cutting){ .part_bytes = 1 });
  for (guint g = 0; g < with->grants->len; g++)
    CU_ASSERT_NOT_EQUAL (g_array_index (with->grants, MiniGrant, g).device, 0);
  CU_ASSERT_EQUAL (with->grants->len, without->grants->len);
  mini_farm_free (with);
  mini_farm_free (without);
}

/* -- Tasks for GPUs alone ----------------------------------------------- */

/* Tasks that only GPUs can run go one to each multiprocessor at least. */
static void
gpu_tasks_fill_multiprocessors (void)
{
  static const char *const names[] = { "auto", "hass-f" };
  MiniDevice devices[] = { MINI_CPU (4, 16000), MINI_GPU (30, 1500, 15000) };
  HassLoad *loads = mini_equal_loads (90);
  for (guint i = 0; i < 90; i++)
    loads[i].flags = HASS_LOAD_GPU;
  for (guint s = 0; s < G_N_ELEMENTS (names); s++)
    {
      MiniFarm *farm = mini_farm_new (names[s], HASS_FARM_FUNCTION,
                                      HASS_COST_EQUAL, devices, 2, 1);
      MiniRound result;
      mini_farm_run (farm, loads, 90, &result);
      CU_ASSERT_TRUE (result.once);
      CU_ASSERT_EQUAL (farm->grants->len, 3);
      for (guint i = 0; i < farm->grants->len; i++)
        CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, i).units, 30);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* And in few bundles where there are many, whatever they take: a quarter of
   what is left each time. */
static void
gpu_tasks_go_in_few_bundles (void)
{
  MiniDevice devices[] = { MINI_CPU (4, 16000), MINI_GPU (30, 1500, 15000) };
  HassLoad *loads = mini_equal_loads (1200);
  for (guint sized = 0; sized < 2; sized++)
    {
      MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_FUNCTION,
                                      sized ? HASS_COST_SIZED : HASS_COST_EQUAL,
                                      devices, 2, 1);
      MiniRound result;
      for (guint i = 0; i < 1200; i++)
        {
          loads[i].flags = HASS_LOAD_GPU;
          loads[i].size = loads[i].cost = sized ? 1 + i * 7 % 100 : 1;
        }
      mini_farm_run (farm, loads, 1200, &result);
      CU_ASSERT_TRUE (result.once);
      CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 0).units, 300);
      CU_ASSERT_TRUE (farm->grants->len <= 14);
      if (farm->grants->len > 14)
        printf ("\n    sized %u: %u bundles", sized, farm->grants->len);
      mini_farm_free (farm);
    }
  g_free (loads);
}

/* -- Parallel tasks ----------------------------------------------------- */

/* Returns n tasks of a function farm of equal costs, the first of them simple
   and the others of parallelism 64, in a farm of cores and a GPU that 1920
   threads fill, after three rounds. */
static MiniFarm *
farm_of_tasks (guint32 n, guint32 n_simple)
{
  MiniDevice devices[] = { MINI_CPU (4, 16000), MINI_GPU (30, 500, 15000) };
  devices[1].width = 1920;
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_FUNCTION, HASS_COST_SIZED,
                                  devices, 2, 1);
  g_autofree HassLoad *loads = mini_equal_loads (n);
  for (guint32 i = 0; i < n; i++)
    {
      loads[i].size = i < n_simple ? 1 : 64;
      loads[i].cost = 1;
    }
  for (guint r = 0; r < 3; r++)
    {
      MiniRound result;
      mini_farm_run (farm, loads, n, &result);
      CU_ASSERT_TRUE (result.once);
    }
  return farm;
}

/* A kernel computes many tasks at a time, so a bundle of them is worth a
   launch as is one of blocks. */
static void
parallel_tasks_share_a_launch (void)
{
  MiniFarm *farm = farm_of_tasks (8000, 0);
  guint64 units = 0;
  guint bundles = 0;
  for (guint i = 0; i < farm->grants->len; i++)
    {
      const MiniGrant *g = &g_array_index (farm->grants, MiniGrant, i);
      units += g->device == 1 ? g->units : 0;
      bundles += g->device == 1;
    }
  CU_ASSERT_TRUE (units > 6000);
  CU_ASSERT_TRUE (bundles < 40);
  mini_farm_free (farm);
}

/* Simple tasks have a multiprocessor each, parallel ones share all. */
static void
bundles_are_of_one_kind (void)
{
  MiniFarm *farm = farm_of_tasks (8000, 4000);
  guint64 simple = 0, parallel = 0;
  for (guint i = 0; i < farm->grants->len; i++)
    {
      const MiniGrant *g = &g_array_index (farm->grants, MiniGrant, i);
      if (g->device != 1)
        continue;
      CU_ASSERT_TRUE (g->parallel == 0 || g->parallel == g->units);
      parallel += g->parallel;
      simple += g->units - g->parallel;
    }
  CU_ASSERT_TRUE (parallel > 0 && simple > 0);
  mini_farm_free (farm);
}

HASS_TEST_SUITE (sched_auto_cut,
                 { "a GPU that cuts its grants gets whole parts",
                   grants_are_whole_parts },
                 { "a first bundle is short where kernels wait for its copy",
                   first_copy_is_short },
                 { "cores that are known to be slow do not make bundles small",
                   hearsay_is_enough_of_the_slow },
                 { "tasks that only GPUs can run fill all multiprocessors",
                   gpu_tasks_fill_multiprocessors },
                 { "tasks that only GPUs can run go in few bundles",
                   gpu_tasks_go_in_few_bundles },
                 { "parallel tasks of a function farm share a launch",
                   parallel_tasks_share_a_launch },
                 { "a bundle of tasks is all parallel or all simple",
                   bundles_are_of_one_kind })

/* SPDX-License-Identifier: MIT */
/* test_auto_few.c: what auto does with a few units that take a core long, in
   the mini engine's virtual time.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <stdio.h>

#include "tests/sched/mini_engine.h"

#define CORES 16
#define CORE_NS 2e8
#define GPU_NS 1e6
#define FIXED_NS 2e7
#define LAUNCH_NS 1e4
#define ELEMENTS 100000 /* of a unit */
#define MOST_UNITS 64

/* Makespan of a first round, as a part of a core's unit. @opens_ns: of the GPU;
   @said_ns: when it was said to open, INFINITY: that is unknown. The farm does
   not say how many threads of a GPU an element needs. */
static double
first_round (guint units, double opens_ns, double said_ns)
{
  MiniDevice machine[]
      = { MINI_CPU (CORES, CORE_NS), MINI_GPU (132, GPU_NS, 1e4) };
  MiniRound r;
  machine[1].opens_ns = opens_ns;
  machine[1].said_ns = said_ns;
  MiniFarm *farm = mini_farm_new_equal ("auto", machine, 2);
  farm->env.element_threads = 0;
  mini_farm_restart (farm, "auto");
  mini_farm_run_equal (farm, units, &r);
  CU_ASSERT_TRUE (r.once && !r.hung);
  mini_farm_free (farm);
  double part = r.summary.makespan_ns / CORE_NS;
  printf ("\n    %u units, open after %g ms: %.3f of a core's unit ...", units,
          opens_ns * 1e-6, part);
  return part;
}

/* Cores are all there is: none waits for what another shows. */
static void
closed (void)
{
  for (guint units = 2; units <= CORES; units += 7)
    {
      CU_ASSERT_TRUE (first_round (units, 5 * CORE_NS, 5 * CORE_NS) < 1.1);
      CU_ASSERT_TRUE (first_round (units, 5 * CORE_NS, INFINITY) < 1.1);
    }
}

/* One that is open, or opens as one does that the process has used before. */
static void
open_or_soon (void)
{
  for (guint units = 2; units <= 60; units += 29)
    for (double opens_ns = 0; opens_ns < 3e6; opens_ns += 1e6)
      CU_ASSERT_TRUE (first_round (units, opens_ns, opens_ns) < 0.4);
}

/* A core that is free waits for a GPU that soon is open, but not for long. */
static void
next_unit (void)
{
  CU_ASSERT_TRUE (first_round (64, 1.25 * CORE_NS, 1.25 * CORE_NS) < 1.6);
  CU_ASSERT_TRUE (first_round (64, 9 * CORE_NS, 1.25 * CORE_NS) < 5.1);
}

/* It was said to open soon, but does not: cores wait for a short time. */
static void
late (void)
{
  CU_ASSERT_TRUE (first_round (CORES, 50 * CORE_NS, 1e6) < 1.1);
}

/* A round of a farm whose GPU cuts its grants itself; @rates: [2], of earlier
   runs, or NULL. What a bundle takes besides its work, no trait says. */
static MiniRound
round_after (HassFarmKind kind, const MiniDevice machine[2],
             const HassProfileRate *rates, guint units)
{
  HassLoad loads[MOST_UNITS] = { { .size = 0 } };
  MiniDevice devices[] = { machine[0], machine[1] };
  MiniRound r;
  /* A device's work is elements. */
  for (guint d = 0; d < 2; d++)
    {
      devices[d].ns_per_work /= ELEMENTS;
      devices[d].fill_work *= ELEMENTS;
    }
  MiniFarm *farm = mini_farm_new ("auto", kind, HASS_COST_EQUAL, devices, 2, 1);
  farm->env.element_threads = 0;
  farm->env.profile = rates;
  farm->traits[1].part_bytes = 1 << 25;
  farm->traits[1].latency_ns = LAUNCH_NS;
  mini_farm_restart (farm, "auto");
  for (guint i = 0; i < units; i++)
    loads[i].size = ELEMENTS;
  mini_farm_run (farm, loads, units, &r);
  CU_ASSERT_TRUE (r.once && !r.hung);
  mini_farm_free (farm);
  return r;
}

/* The GPU has the rate 1 / @gpu_ns by so many earlier runs, in which no core
   was tried; 0 runs: nothing is known. */
static MiniRound
later_round (HassFarmKind kind, const MiniDevice machine[2], guint runs,
             double gpu_ns, guint units)
{
  HassProfileRate rates[]
      = { { .runs = 0 }, { .work_per_ns = 1 / gpu_ns, .runs = runs } };
  return round_after (kind, machine, runs > 0 ? rates : NULL, units);
}

/* A round of 64 units, where earlier runs have shown all of both devices. A
   bundle takes the GPU FIXED_NS and GPU_NS for each unit, both @slower times
   now. */
static MiniRound
known_round (double core_ns, double slower, gboolean knows_fixed)
{
  MiniDevice machine[] = { MINI_CPU (CORES, core_ns),
                           MINI_GPU (132, slower * GPU_NS, slower * FIXED_NS) };
  const HassProfileRate rates[]
      = { { .work_per_ns = CORES / core_ns, .runs = 9 },
          { .work_per_ns = 1 / GPU_NS,
            .latency_ns = knows_fixed ? FIXED_NS : 0,
            .runs = 9 } };
  MiniRound r = round_after (HASS_FARM_COMBINE, machine, rates, 64);
  printf ("\n    core %g ms, GPU %g times slower, fixed part %s: %.0f ms, "
          "%" G_GUINT64_FORMAT " bundles ...",
          core_ns * 1e-6, slower, knows_fixed ? "known" : "unknown",
          r.summary.makespan_ns * 1e-6, r.devices[1].bundles);
  return r;
}

/* It gets all at once where it is surely first, else after one bundle, of which
   the fixed part of its time is no slowness. */
static void
known (void)
{
  MiniRound r = known_round (2e8, 1, TRUE);
  CU_ASSERT_EQUAL (r.devices[1].bundles, 1);
  r = known_round (1e8, 1, TRUE);
  CU_ASSERT_EQUAL (r.devices[1].bundles, 2);
  CU_ASSERT_EQUAL (r.devices[1].units, 64);
  double many_ns = known_round (1e8, 1, FALSE).summary.makespan_ns;
  CU_ASSERT_TRUE (r.summary.makespan_ns < 0.8 * many_ns);
  /* One that is slower now is no worse off for what is known. */
  for (double slower = 2; slower <= 4; slower *= 2)
    {
      double known_ns = known_round (1e8, slower, TRUE).summary.makespan_ns;
      many_ns = known_round (1e8, slower, FALSE).summary.makespan_ns;
      CU_ASSERT_TRUE (known_ns <= many_ns);
    }
}

/* Where no core will help, a GPU that cuts its grants itself gets the rest in
   one, and all if its rate is known. */
static void
in_one (void)
{
  static const MiniDevice machine[]
      = { MINI_CPU (CORES, CORE_NS), MINI_GPU (132, GPU_NS, 1e4) };
  static const HassFarmKind kinds[] = { HASS_FARM_COMBINE, HASS_FARM_FUNCTION };
  for (guint i = 0; i < 4; i++)
    {
      MiniRound r = later_round (kinds[i / 2], machine, i % 2, GPU_NS, 40);
      CU_ASSERT_EQUAL (r.devices[1].units, 40);
      CU_ASSERT_EQUAL (r.devices[1].bundles, i % 2 ? 1 : 2);
    }
}

/* Cores are not tried in many runs, but once it costs little beside those. */
static void
tried_late (void)
{
  static const MiniDevice machine[]
      = { MINI_CPU (CORES, 2 * GPU_NS), MINI_GPU (132, GPU_NS, 1e4) };
  for (guint runs = 1; runs <= 100; runs *= 10)
    {
      MiniRound r
          = later_round (HASS_FARM_COMBINE, machine, runs, GPU_NS, CORES);
      CU_ASSERT_EQUAL (r.devices[0].units > 0, runs == 100);
    }
}

/* A multiprocessor may be no faster than a core, so one core is tried as soon
   as it is known what the GPU takes for the round's thread blocks. */
static void
blocks (void)
{
  static const MiniDevice machine[] = { MINI_CPU (CORES, GPU_NS),
                                        { .kind = HASS_DEVICE_GPU,
                                          .cores = 132,
                                          .ns_per_work = 10 * GPU_NS / 132,
                                          .latency_ns = 1e4,
                                          .fill_work = 132 } };
  MiniRound first = later_round (HASS_FARM_INDIVISIBLE, machine, 0, 1, CORES);
  MiniRound later = later_round (HASS_FARM_INDIVISIBLE, machine, 1,
                                 10 * GPU_NS / CORES, CORES);
  CU_ASSERT_EQUAL (first.devices[0].units, 0);
  CU_ASSERT_EQUAL (later.devices[0].units, 1);
}

HASS_TEST_SUITE (
    sched_auto_few, { "all cores begin while no GPU is open", closed },
    { "none begins before an open GPU has shown its rate", open_or_soon },
    { "a free core waits for a GPU that soon is open", next_unit },
    { "none waits for a GPU that is late", late },
    { "cores are tried when that costs little", tried_late },
    { "one core is tried beside few thread blocks", blocks },
    { "what earlier runs have shown of a GPU makes few bundles", known },
    { "a GPU that is alone gets the rest in one", in_one })

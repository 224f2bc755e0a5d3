/* SPDX-License-Identifier: MIT */
/* test_max_min.c: the maps of Max-min and of minimum completion time against
   their definitions.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "tests/sched/mini_engine.h"

#define MOST 6

/* One core and GPUs without latency: times are linear in the work, and the
   rates are known, so nothing is measured. */
static guint
linear_devices (GRand *rand, MiniDevice *devices)
{
  guint n = (guint)g_rand_int_range (rand, 2, MOST + 1);
  devices[0] = (MiniDevice)MINI_CPU (1, g_rand_double_range (rand, 100, 3000));
  for (guint d = 1; d < n; d++)
    devices[d]
        = (MiniDevice)MINI_GPU (4, g_rand_double_range (rand, 100, 3000), 0);
  for (guint d = 0; d < n; d++)
    devices[d].known_rate = 1 / devices[d].ns_per_work;
  return n;
}

/* One round of a strategy on @n devices. */
typedef struct
{
  const char *name;
  const MiniDevice *devices;
  guint n;
  const HassLoad *loads;
  guint32 units;
} Once;

/* @grants, @cpu_order: the round's are appended; NULL: not wanted. */
static void
run_once (const Once *o, MiniRound *result, GArray *grants, GArray *cpu_order)
{
  MiniFarm *farm = mini_farm_new (o->name, HASS_FARM_INDIVISIBLE,
                                  HASS_COST_SIZED, o->devices, o->n, 1);
  mini_farm_run (farm, o->loads, o->units, result);
  CU_ASSERT (result->once);
  CU_ASSERT_EQUAL (result->waits, 0);
  if (grants)
    g_array_append_vals (grants, farm->grants->data, farm->grants->len);
  if (cpu_order)
    g_array_append_vals (cpu_order, farm->cpu_order->data,
                         farm->cpu_order->len);
  mini_farm_free (farm);
}

static double
makespan (const char *name, const MiniDevice *devices, guint n,
          const float *costs, guint32 units)
{
  HassLoad *loads = mini_equal_loads (units);
  MiniRound result;
  for (guint32 i = 0; i < units; i++)
    loads[i].cost = costs[i];
  run_once (&(Once){ name, devices, n, loads, units }, &result, NULL, NULL);
  g_free (loads);
  return result.summary.makespan_ns;
}

/* -- Examples ----------------------------------------------------------- */

static void
max_min_puts_nothing_off (void)
{
  const MiniDevice alike[] = {
    { .kind = HASS_DEVICE_CPU, .cores = 1, .ns_per_work = 1, .known_rate = 1 },
    { .kind = HASS_DEVICE_GPU, .cores = 1, .ns_per_work = 1, .known_rate = 1 }
  };
  const MiniDevice twice[] = {
    { .kind = HASS_DEVICE_CPU, .cores = 1, .ns_per_work = 2, .known_rate = .5 },
    { .kind = HASS_DEVICE_GPU, .cores = 1, .ns_per_work = 1, .known_rate = 1 }
  };
  /* A large unit that comes last: 100 200 | 100 200 + 400 beside 400 | 600. */
  const float last[] = { 100, 100, 200, 200, 600 };
  CU_ASSERT_DOUBLE_EQUAL (makespan ("mct", alike, 2, last, 5), 900, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (makespan ("min-min", alike, 2, last, 5), 900, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (makespan ("max-min", alike, 2, last, 5), 600, 1e-6);
  /* One that comes first: then arrival is the right order. */
  const float first[] = { 600, 200, 200, 100, 100 };
  CU_ASSERT_DOUBLE_EQUAL (makespan ("mct", alike, 2, first, 5), 600, 1e-6);
  /* The machine twice as fast takes the first three, done at 300, then 400
     would end at 700 there and at 800 on the other. */
  const float twofold[] = { 100, 100, 100, 400 };
  CU_ASSERT_DOUBLE_EQUAL (makespan ("mct", twice, 2, twofold, 4), 600, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (makespan ("max-min", twice, 2, twofold, 4), 500,
                          1e-6);
}

/* -- Definitions -------------------------------------------------------- */

typedef struct
{
  double ready[MOST];
  guint64 units[MOST];
} Map;

/* Who completes the unit first, and when. */
static guint
earliest (const Map *map, const MiniDevice *devices, guint n, double cost,
          double *end)
{
  guint best = 0;
  for (guint d = 0; d < n; d++)
    {
      double at = map->ready[d] + cost * devices[d].ns_per_work;
      if (d == 0 || at < *end)
        {
          best = d;
          *end = at;
        }
    }
  return best;
}

/* As in figure 7 of the thesis, with the maximum for the minimum; or in order
   of arrival. */
static Map
define (gboolean max_min, const MiniDevice *devices, guint n,
        const HassLoad *loads, guint32 units)
{
  Map map = { 0 };
  gboolean *mapped = g_new0 (gboolean, units);
  for (guint32 step = 0; step < units; step++)
    {
      guint32 next = step;
      double latest = -1, end = 0;
      for (guint32 i = 0; i < units && max_min; i++)
        if (!mapped[i])
          {
            earliest (&map, devices, n, loads[i].cost, &end);
            if (end > latest)
              {
                latest = end;
                next = i;
              }
          }
      guint d = earliest (&map, devices, n, loads[next].cost, &end);
      map.ready[d] = end;
      map.units[d]++;
      mapped[next] = TRUE;
    }
  g_free (mapped);
  return map;
}

static void
maps_as_defined (void)
{
  GRand *rand = g_rand_new_with_seed (3);
  for (guint trial = 0; trial < 100; trial++)
    {
      MiniDevice devices[MOST];
      MiniRound result;
      guint n = linear_devices (rand, devices);
      guint32 units = (guint32)g_rand_int_range (rand, 1, 60);
      HassLoad *loads = mini_equal_loads (units);
      for (guint32 i = 0; i < units; i++)
        loads[i].cost = (float)g_rand_double_range (rand, 1, 1000);
      for (guint max_min = 0; max_min < 2; max_min++)
        {
          Map map = define (max_min, devices, n, loads, units);
          double end = 0;
          run_once (
              &(Once){ max_min ? "max-min" : "mct", devices, n, loads, units },
              &result, NULL, NULL);
          for (guint d = 0; d < n; d++)
            {
              CU_ASSERT_EQUAL (result.devices[d].units, map.units[d]);
              end = MAX (end, map.ready[d]);
            }
          CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns / end, 1, 1e-6);
        }
      g_free (loads);
    }
  g_rand_free (rand);
}

/* -- Order -------------------------------------------------------------- */

static void
computes_in_order (void)
{
  GRand *rand = g_rand_new_with_seed (4);
  MiniDevice devices[] = { MINI_CPU (1, 300), MINI_GPU (4, 200, 0) };
  HassLoad *loads = mini_random_loads (rand, 80, HASS_FARM_INDIVISIBLE, FALSE);
  devices[0].known_rate = 1 / 300.;
  devices[1].known_rate = 1 / 200.;
  for (guint max_min = 0; max_min < 2; max_min++)
    {
      MiniRound result;
      GArray *grants = g_array_new (FALSE, FALSE, sizeof (MiniGrant));
      GArray *cores = g_array_new (FALSE, FALSE, sizeof (double));
      run_once (&(Once){ max_min ? "max-min" : "mct", devices, 2, loads, 80 },
                &result, grants, cores);
      gboolean down = TRUE;
      guint32 at = 0;
      CU_ASSERT (grants->len > 10 && cores->len > 10);
      for (guint i = 1; i < grants->len; i++)
        {
          const MiniGrant *g = &g_array_index (grants, MiniGrant, i);
          CU_ASSERT_EQUAL (g->units, 1);
          down = down && g->most <= g[-1].most;
        }
      for (guint i = 1; i < cores->len; i++)
        down = down
               && g_array_index (cores, double, i)
                      <= g_array_index (cores, double, i - 1);
      CU_ASSERT_EQUAL ((guint)down, max_min);
      /* MCT keeps the order of arrival on each device. */
      for (guint i = 0; i < cores->len && !max_min; i++)
        {
          while (at < 80 && loads[at].cost != g_array_index (cores, double, i))
            at++;
          CU_ASSERT (at++ < 80);
        }
      g_array_unref (grants);
      g_array_unref (cores);
    }
  g_free (loads);
  g_rand_free (rand);
}

/* The pool takes a unit for each core, so that no core runs the small ones
   first while others sit on the large ones. */
static void
feeds_all_cores (void)
{
  GRand *rand = g_rand_new_with_seed (5);
  MiniDevice devices[] = { MINI_CPU (8, 1000), MINI_GPU (4, 500, 0) };
  HassLoad *loads = mini_random_loads (rand, 400, HASS_FARM_COMBINE, FALSE);
  double total = 0;
  for (guint32 i = 0; i < 400; i++)
    total += loads[i].cost;
  devices[0].known_rate = 8 / 1000.;
  devices[1].known_rate = 1 / 500.;
  MiniRound result;
  run_once (&(Once){ "max-min", devices, 2, loads, 400 }, &result, NULL, NULL);
  CU_ASSERT (result.summary.makespan_ns
             < 1.02 * mini_bound_ns (devices, 2, total));
  g_free (loads);
  g_rand_free (rand);
}

/* Rates come from one unit each, in the first round; a GPU that is lost in
   the second is done without. */
static void
measures_and_does_without (void)
{
  static const char *const names[] = { "max-min", "mct" };
  GRand *rand = g_rand_new_with_seed (6);
  MiniDevice devices[]
      = { MINI_CPU (4, 400), MINI_GPU (30, 25, 300), MINI_GPU (8, 90, 300) };
  HassLoad *loads = mini_random_loads (rand, 300, HASS_FARM_COMBINE, FALSE);
  devices[2].lost_after = 30;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MiniFarm *farm = mini_farm_new (names[i], HASS_FARM_COMBINE,
                                      HASS_COST_SIZED, devices, 3, 1);
      MiniRound result;
      mini_farm_run (farm, loads, 300, &result);
      CU_ASSERT (result.waits >= 2);
      CU_ASSERT_EQUAL (g_array_index (farm->grants, MiniGrant, 0).units, 1);
      for (guint r = 0; r < 4; r++)
        {
          mini_farm_run (farm, loads, 300, &result);
          CU_ASSERT (result.once && !result.hung);
          CU_ASSERT_EQUAL (result.rescued, 0);
        }
      CU_ASSERT (farm->lost[2]);
      CU_ASSERT (result.shares[1] > 0 && result.shares[2] == 0);
      mini_farm_free (farm);
    }
  g_free (loads);
  g_rand_free (rand);
}

HASS_TEST_SUITE (sched_max_min,
                 { "max-min and mct give the makespans worked out by hand",
                   max_min_puts_nothing_off },
                 { "both map random units as they are defined",
                   maps_as_defined },
                 { "max-min runs the largest first, mct the first that came",
                   computes_in_order },
                 { "max-min keeps all cores of a pool busy", feeds_all_cores },
                 { "both measure once, and do without a lost GPU",
                   measures_and_does_without })

/* SPDX-License-Identifier: MIT */
/* test_skmd_partition.c: SKMD's Algorithm 1 against splits known to be best.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "sched/papers/skmd-private.h"

#define MOST 4

/* latency + per_unit * (units, rounded up to multiples of step, and no less
   than fill). */
typedef struct
{
  double latency, per_unit;
  guint64 step, fill;
} Device;

typedef struct
{
  guint n;
  const Device *devices;
} Machine;

static void
times (const guint64 *partition, double *times_ns, gpointer user_data)
{
  const Machine *m = user_data;
  for (guint d = 0; d < m->n; d++)
    {
      const Device *v = &m->devices[d];
      guint64 step = MAX (v->step, 1);
      guint64 n = (partition[d] + step - 1) / step * step;
      times_ns[d]
          = partition[d] == 0 ? 0 : v->latency + v->per_unit * MAX (n, v->fill);
    }
}

static double
makespan (const Machine *m, const guint64 *partition, double merge)
{
  double t[MOST], last = 0;
  guint used = 0;
  times (partition, t, (gpointer)m);
  for (guint d = 0; d < m->n; d++)
    {
      last = MAX (last, t[d]);
      used += partition[d] > 0;
    }
  return last + (used > 1 ? merge : 0);
}

static void
divide (const Device *devices, guint n, guint64 units, guint64 steps,
        double merge, guint64 *partition)
{
  Machine m = { n, devices };
  guint64 sum = 0;
  const HassSkmdTask task = { n, units, steps, merge, times, &m };
  hass_skmd_partition (&task, partition);
  for (guint d = 0; d < n; d++)
    sum += partition[d];
  CU_ASSERT_EQUAL (sum, units);
}

static void
finds_proportional_parts (void)
{
  static const Device three[]
      = { { 0, 30, 0, 0 }, { 0, 5, 0, 0 }, { 0, 10, 0, 0 } };
  guint64 p[3];
  divide (three, 2, 700, 1024, 0, p);
  CU_ASSERT_EQUAL (p[0], 100);
  CU_ASSERT_EQUAL (p[1], 600);
  divide (three, 3, 1000, 1024, 0, p);
  CU_ASSERT_DOUBLE_EQUAL (p[0], 100, 1);
  CU_ASSERT_DOUBLE_EQUAL (p[1], 600, 1);
  CU_ASSERT_DOUBLE_EQUAL (p[2], 300, 1);
  /* In 10 steps of 100 units. */
  divide (three, 3, 1000, 10, 0, p);
  CU_ASSERT_EQUAL (p[0], 100);
  CU_ASSERT_EQUAL (p[1], 600);
  CU_ASSERT_EQUAL (p[2], 300);
}

/* One unit of the slow device takes as long as 6 of the fast one, and the
   merge as long as `merge`. Alone: 700 * 5 = 3500; shared: 3000 + merge. */
static void
weighs_the_merge (void)
{
  static const Device two[] = { { 0, 30, 0, 0 }, { 0, 5, 0, 0 } };
  guint64 p[2];
  divide (two, 2, 700, 1024, 499, p);
  CU_ASSERT_EQUAL (p[0], 100);
  divide (two, 2, 700, 1024, 501, p);
  CU_ASSERT_EQUAL (p[0], 0);
  CU_ASSERT_EQUAL (p[1], 700);
}

/* A launch that takes longer than all the rest leaves a device out, and the
   others divide without it. */
static void
leaves_devices_out (void)
{
  static const Device three[]
      = { { 0, 10, 0, 0 }, { 5000, 1, 0, 0 }, { 0, 10, 0, 0 } };
  guint64 p[3];
  divide (three, 3, 800, 1024, 0, p);
  CU_ASSERT_EQUAL (p[0], 400);
  CU_ASSERT_EQUAL (p[1], 0);
  CU_ASSERT_EQUAL (p[2], 400);
  static const Device lost[] = { { 0, 10, 0, 0 }, { INFINITY, 1, 0, 0 } };
  divide (lost, 2, 800, 1024, 0, p);
  CU_ASSERT_EQUAL (p[0], 800);
  /* None can be used: nobody has any. */
  guint64 none[] = { 7, 7 };
  static const Device dead[] = { { INFINITY, 1, 0, 0 }, { INFINITY, 1, 0, 0 } };
  Machine m = { 2, dead };
  const HassSkmdTask task = { 2, 800, 1024, 0, times, &m };
  hass_skmd_partition (&task, none);
  CU_ASSERT_EQUAL (none[0] + none[1], 0);
}

/* A base device that gets no faster before 64 units have left it: one unit
   more is no candidate, but 2^6 are (TolerateCnt). */
static void
tolerates_steps (void)
{
  static const Device two[] = { { 0, 10, 64, 0 }, { 0, 11, 0, 0 } };
  guint64 p[2];
  divide (two, 2, 640, 1024, 0, p);
  CU_ASSERT_EQUAL (p[0], 320);
  CU_ASSERT_EQUAL (p[1], 320);
  /* 600 would have to leave, and 2^9 are the most that are tried. */
  static const Device coarse[] = { { 0, 10, 1400, 0 }, { 0, 15, 0, 0 } };
  divide (coarse, 2, 2000, 2000, 0, p);
  CU_ASSERT_EQUAL (p[0], 2000);
  /* In twice as many at a time they are found. */
  divide (coarse, 2, 2000, 1000, 0, p);
  CU_ASSERT_EQUAL (p[0], 2000 - 1024);
}

/* Against all splits of 24 units. */
static void
comes_near_the_best (void)
{
  GRand *rand = g_rand_new_with_seed (9);
  double worst = 1;
  for (guint trial = 0; trial < 300; trial++)
    {
      Device devices[3];
      guint64 p[3], q[3];
      for (guint d = 0; d < 3; d++)
        devices[d] = (Device){ g_rand_double_range (rand, 0, 200),
                               g_rand_double_range (rand, 5, 50), 0, 0 };
      double merge = g_rand_boolean (rand) ? 0 : 100, best = INFINITY;
      Machine m = { 3, devices };
      divide (devices, 3, 24, 1024, merge, p);
      for (q[0] = 0; q[0] <= 24; q[0]++)
        for (q[1] = 0; q[0] + q[1] <= 24; q[1]++)
          {
            q[2] = 24 - q[0] - q[1];
            best = MIN (best, makespan (&m, q, merge));
          }
      worst = MAX (worst, makespan (&m, p, merge) / best);
    }
  CU_ASSERT (worst < 1.2);
  g_rand_free (rand);
}

HASS_TEST_SUITE (
    sched_skmd_partition,
    { "Algorithm 1 finds parts in proportion to speed",
      finds_proportional_parts },
    { "Algorithm 1 offloads only what makes up for the merge",
      weighs_the_merge },
    { "Algorithm 1 leaves out devices that only hurt", leaves_devices_out },
    { "Algorithm 1 tolerates steps of the base device", tolerates_steps },
    { "Algorithm 1 comes near the best of all splits", comes_near_the_best })

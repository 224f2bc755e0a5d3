/* SPDX-License-Identifier: MIT */
/* test_auto_blocks.c: how a GPU's time for sorted loads depends on their sizes.
   Thread safety: one thread. */
#include "hass_test.h"

#include "sched/auto/blocks-private.h"
#include "tests/sched/mini_engine.h"

#define LOADS 1000
#define MULTIPROCESSORS 10
#define LATENCY_NS 1000

typedef struct
{
  MiniFarm *farm;
  HassLoad *loads;
  HassUnits u;
  HassEstimates e;
  HassAutoBlocks b;
} Sorted;

/* Loads of work 1 to LOADS, in this order. */
static void
sort_loads (Sorted *s)
{
  const MiniDevice devices[]
      = { MINI_CPU (4, 100), MINI_GPU (MULTIPROCESSORS, 10, LATENCY_NS) };
  s->farm = mini_farm_new ("auto", HASS_FARM_INDIVISIBLE, HASS_COST_SIZED,
                           devices, 2, 1);
  s->loads = mini_equal_loads (LOADS);
  for (guint i = 0; i < LOADS; i++)
    s->loads[i].cost = (gfloat)(i + 1);
  HassSpan span = { .loads = s->loads, .mask = G_MAXUINT64, .n = LOADS };
  hass_round_begin_loads (s->farm->round, HASS_FARM_INDIVISIBLE,
                          HASS_COST_SIZED, &span);
  hass_round_open (s->farm->round);
  hass_units_init (&s->u, &s->farm->env);
  hass_estimates_init (&s->e, &s->u, 0);
  hass_units_begin (&s->u, s->farm->round);
  hass_auto_blocks_init (&s->b, &s->e);
}

static void
forget (Sorted *s)
{
  hass_auto_blocks_clear (&s->b);
  hass_estimates_clear (&s->e);
  hass_units_clear (&s->u);
  mini_farm_free (s->farm);
  g_free (s->loads);
}

/* The GPU computes a load on each multiprocessor, from position @first on, and
   each takes fixed_ns + ns_per_work * its work. */
static void
one_wave (Sorted *s, guint64 first, double fixed_ns, double ns_per_work)
{
  HassBundle b = { .first = first, .n = MULTIPROCESSORS };
  double largest = (double)(first + MULTIPROCESSORS);
  HassCompletion done
      = { .device = 1,
          .kernel_ns
          = LATENCY_NS + (gint64)(fixed_ns + ns_per_work * largest) };
  hass_auto_blocks_observe (&s->b, s->farm->round, &done, &b, 0);
}

static void
a_load_counts_for_its_work_until_sizes_differ (void)
{
  Sorted s;
  sort_loads (&s);
  for (guint i = 0; i < 20; i++)
    one_wave (&s, 500, 50000, 100);
  CU_ASSERT_FALSE (hass_auto_blocks_told (&s.b, 1));
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_load (&s.b, 1, 10), 10, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_work (&s.b, s.farm->round, 1, 0, 10),
                          100, 1e-6);
  forget (&s);
}

/* A load of mean work, 500, takes 50 us + 50 us, one of work 1 about half. */
static void
a_small_load_counts_for_more_than_its_work (void)
{
  Sorted s;
  sort_loads (&s);
  for (guint i = 0; i < 20; i++)
    one_wave (&s, i % 2 ? 0 : 900, 50000, 100);
  CU_ASSERT_TRUE (hass_auto_blocks_told (&s.b, 1));
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_load (&s.b, 1, 500), 500, 5);
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_load (&s.b, 1, 1), 250.5, 3);
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_load (&s.b, 1, 1000), 750, 8);
  CU_ASSERT_DOUBLE_EQUAL (
      hass_auto_blocks_work (&s.b, s.farm->round, 1, 490, 10), 5000, 30);
  forget (&s);
}

/* Larger loads that are slower per work are no negative fixed part. */
static void
a_load_counts_for_no_less_than_nothing (void)
{
  Sorted s;
  sort_loads (&s);
  one_wave (&s, 0, 0, 10);
  one_wave (&s, 900, 0, 100);
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_blocks_load (&s.b, 1, 1), 1, 1e-9);
  one_wave (&s, 0, 1e9, 0);
  one_wave (&s, 900, 1e5, 0);
  CU_ASSERT_TRUE (hass_auto_blocks_load (&s.b, 1, 1000) >= 500);
  forget (&s);
}

HASS_TEST_SUITE (
    sched_auto_blocks,
    { "a load counts for its work until sizes have differed",
      a_load_counts_for_its_work_until_sizes_differ },
    { "a small load counts for more than its work where part of its time is "
      "fixed",
      a_small_load_counts_for_more_than_its_work },
    { "a load's fixed time is between nothing and all",
      a_load_counts_for_no_less_than_nothing })

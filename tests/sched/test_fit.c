/* SPDX-License-Identifier: MIT */
/* test_fit.c: that a fit tells a bundle's fixed part from its slope, and that a
   fill gives each device a part.
   Thread safety: one thread. */
#include "hass_test.h"

#include "sched/fill.h"
#include "sched/fit.h"

static void
fit_tells_fixed_part_from_slope (void)
{
  HassFit fit = { 0 };
  for (guint i = 0; i < 20; i++)
    {
      double work = 100 + 100 * (i % 4);
      hass_fit_add (&fit, work, 5000 + 30 * work, 1000);
    }
  CU_ASSERT_DOUBLE_EQUAL (fit.fixed_ns, 5000, 50);
  CU_ASSERT_DOUBLE_EQUAL (fit.ns_per_work, 30, 0.3);
  CU_ASSERT_TRUE (fit.error < 0.01);
}

/* Nothing can be told from equal bundles: the latency is what is known. */
static void
fit_believes_latency_of_equal_bundles (void)
{
  HassFit fit = { 0 };
  for (guint i = 0; i < 20; i++)
    hass_fit_add (&fit, 100, 8000, 1000);
  CU_ASSERT_DOUBLE_EQUAL (fit.fixed_ns, 1000, 1);
  CU_ASSERT_DOUBLE_EQUAL (hass_fit_ns (&fit, 100), 8000, 1);
}

static void
fit_follows_drift (void)
{
  HassFit fit = { 0 };
  for (guint i = 0; i < 20; i++)
    hass_fit_add (&fit, 100 + i % 3, 1000 + 30 * (100 + i % 3), 1000);
  for (guint i = 0; i < 4; i++)
    hass_fit_add (&fit, 100, 1000 + 90 * 100, 1000);
  CU_ASSERT_TRUE (hass_fit_ns (&fit, 100) > 7500);
}

/* Bundles that are given by time are small where costs are high, so all take as
   long, whatever they hold: to a regression that is a fixed part. Neighbours
   of different sizes tell. Costs change eightfold every ten bundles. */
static void
fit_compares_neighbours (void)
{
  HassFit doubted = { 0 }, believed = { 0 };
  for (guint i = 0; i < 200; i++)
    {
      double cost = i / 10 % 2 ? 80 : 10;
      double work = 1e5 / cost * (i % 2 ? 1.5 : 1), ns = 1000 + cost * work;
      hass_fit_add (&doubted, work, ns, 1000);
      hass_fit_add (&believed, work, ns, 1000);
      hass_fit_compare (&doubted, work, ns, 1000);
    }
  CU_ASSERT_TRUE (doubted.fixed_ns < 2000);
  CU_ASSERT_TRUE (believed.fixed_ns > 10 * doubted.fixed_ns);
}

/* And where there is one it is found, though costs vary by a third. */
static void
fit_finds_fixed_part_by_neighbours (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  HassFit fit = { 0 };
  for (guint i = 0; i < 200; i++)
    {
      double cost = g_rand_double_range (rand, 20, 40);
      double work = 4000 * (i % 2 ? 1.5 : 1), ns = 5e5 + cost * work;
      hass_fit_add (&fit, work, ns, 1000);
      hass_fit_compare (&fit, work, ns, 1000);
    }
  CU_ASSERT_DOUBLE_EQUAL (fit.fixed_ns, 5e5, 0.2 * 5e5);
}

static void
fill_lets_all_finish_together (void)
{
  HassRunner r[] = { { .rate = 2, .ready_ns = 10 },
                     { .rate = 0 },
                     { .rate = 3, .ready_ns = 20 } };
  double finish_ns = hass_fill (r, 3, 500);
  CU_ASSERT_TRUE (r[0].runs && !r[1].runs && r[2].runs);
  CU_ASSERT_DOUBLE_EQUAL (2 * (finish_ns - 10) + 3 * (finish_ns - 20), 500,
                          1e-6);
}

static void
fill_leaves_out_who_is_late (void)
{
  HassRunner r[] = { { .rate = 2, .step_ns = 251 },
                     { .rate = 2, .ready_ns = 1, .step_ns = 1 } };
  CU_ASSERT_DOUBLE_EQUAL (hass_fill (r, 2, 498), 250, 1e-6);
  CU_ASSERT_TRUE (!r[0].runs && r[1].runs);
  /* Who is the only one is never late. */
  r[1].rate = 0;
  CU_ASSERT_DOUBLE_EQUAL (hass_fill (r, 2, 2), 251, 1e-6);
  CU_ASSERT_TRUE (r[0].runs);
}

HASS_TEST_SUITE (
    sched_fit,
    { "a fit tells the fixed part of a bundle's time from its slope",
      fit_tells_fixed_part_from_slope },
    { "a fit of equal bundles takes the latency for the fixed part",
      fit_believes_latency_of_equal_bundles },
    { "a fit follows a device that slows down", fit_follows_drift },
    { "a fit of unknown costs compares consecutive bundles",
      fit_compares_neighbours },
    { "a fit of unknown costs finds a large fixed part",
      fit_finds_fixed_part_by_neighbours },
    { "a fill lets all devices finish together",
      fill_lets_all_finish_together },
    { "a fill excludes a device that would be late",
      fill_leaves_out_who_is_late })

/* SPDX-License-Identifier: MIT */
/* test_skmd_model.c: equations 2 to 4 of SKMD, evaluated and fitted.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "sched/papers/skmd-private.h"

/* Equation 3: 1/2 at b, 3/4 and 1/4 at 1 / a beside it, 0 and 1 far away. */
static void
converges_from_0_to_1 (void)
{
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_g (64, 0.125, 64), 0.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_g (72, 0.125, 64), 0.75, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_g (56, 0.125, 64), 0.25, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_g (1e9, 0.125, 64), 1, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_g (-1e9, 0.125, 64), 0, 1e-6);
}

/* Equations 2 and 4: 1000 + 2 x + 8 x g (x). */
static void
evaluates_the_equation (void)
{
  HassSkmdModel m
      = { .a = 0.125, .b = 64, .constant = 1000, .linear = 2, .curved = 8 };
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 64), 1000 + 128 + 256, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 72), 1000 + 144 + 432, 1e-9);
  CU_ASSERT_EQUAL (hass_skmd_model_ns (&m, 0), 0);
}

static void
add_all (HassSkmdModel *m, double (*ns) (double))
{
  static const double works[]
      = { 4, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048 };
  for (guint i = 0; i < G_N_ELEMENTS (works); i++)
    hass_skmd_model_add (m, works[i], ns (works[i]));
  hass_skmd_model_fit (m);
}

static double
by_equation (double x)
{
  double b = sqrt (64. * 128), a = 2 / b;
  return 1000 + 2 * x + 5 * x * (atan (a * (x - b)) / G_PI + 0.5);
}

static double
by_line (double x)
{
  return 700 + 3 * x;
}

/* A GPU that 200 fill: flat, then linear, after a launch. */
static double
by_width (double x)
{
  return 300 + 20 * MAX (x, 200);
}

static void
fits_samples (void)
{
  HassSkmdModel m = { .n_samples = 0 };
  add_all (&m, by_equation);
  CU_ASSERT_DOUBLE_EQUAL (m.a, 2 / sqrt (64. * 128), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (m.b, sqrt (64. * 128), 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (m.constant, 1000, 0.1);
  CU_ASSERT_DOUBLE_EQUAL (m.linear, 2, 0.01);
  CU_ASSERT_DOUBLE_EQUAL (m.curved, 5, 0.01);
  for (double x = 3; x < 1e6; x *= 1.7)
    CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, x) / by_equation (x), 1,
                            0.002);
  m = (HassSkmdModel){ .n_samples = 0 };
  add_all (&m, by_line);
  for (double x = 3; x < 1e6; x *= 1.7)
    CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, x) / by_line (x), 1, 0.002);
  m = (HassSkmdModel){ .n_samples = 0 };
  add_all (&m, by_width);
  for (double x = 4; x < 2e4; x *= 2)
    CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, x) / by_width (x), 1, 0.12);
}

/* One sample: proportional. Two: a line. None negative, whatever comes. */
static void
fits_few_or_odd_samples (void)
{
  HassSkmdModel m = { .n_samples = 0 };
  hass_skmd_model_fit (&m);
  CU_ASSERT_EQUAL (hass_skmd_model_ns (&m, 10), 0);
  hass_skmd_model_add (&m, 10, 50);
  hass_skmd_model_fit (&m);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 30), 150, 1e-6);
  hass_skmd_model_add (&m, 100, 140);
  hass_skmd_model_fit (&m);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 1000), 1040, 1e-6);
  hass_skmd_model_add (&m, 0, 140);
  hass_skmd_model_add (&m, 10, -1);
  hass_skmd_model_add (&m, 10, NAN);
  CU_ASSERT_EQUAL (m.n_samples, 2);
  GRand *rand = g_rand_new_with_seed (3);
  for (guint trial = 0; trial < 300; trial++)
    {
      m = (HassSkmdModel){ .n_samples = 0 };
      guint n = g_rand_int_range (rand, 1, 12);
      for (guint i = 0; i < n; i++)
        hass_skmd_model_add (&m, exp (g_rand_double_range (rand, -3, 20)),
                             exp (g_rand_double_range (rand, 0, 25)));
      hass_skmd_model_fit (&m);
      CU_ASSERT (m.constant >= 0 && m.linear >= 0 && m.curved >= 0);
      CU_ASSERT (m.linear + m.curved > 0);
    }
  g_rand_free (rand);
}

/* Noise is averaged; a device that is three times slower at one size is taken
   to be so at all. */
static void
follows_a_drift (void)
{
  HassSkmdModel m = { .n_samples = 0 };
  add_all (&m, by_line);
  hass_skmd_model_add (&m, 2048, 1.1 * by_line (2048));
  hass_skmd_model_fit (&m);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 16) / by_line (16), 1, 0.02);
  hass_skmd_model_add (&m, 2048, 3 * by_line (2048));
  hass_skmd_model_fit (&m);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 2048) / by_line (2048), 3,
                          0.6);
  CU_ASSERT_DOUBLE_EQUAL (hass_skmd_model_ns (&m, 16) / by_line (16), 3, 0.6);
}

HASS_TEST_SUITE (sched_skmd_model,
                 { "g converges from 0 to 1 around b (equation 3)",
                   converges_from_0_to_1 },
                 { "a time is constant, linear and curved (equations 2 and 4)",
                   evaluates_the_equation },
                 { "the regression finds what made the samples", fits_samples },
                 { "few or odd samples never make a falling time",
                   fits_few_or_odd_samples },
                 { "a slower device is slower at all sizes", follows_a_drift })

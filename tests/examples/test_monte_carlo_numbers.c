/* SPDX-License-Identifier: MIT */
/* test_monte_carlo_numbers.c: monte_carlo's random words, functions and sums
   are right.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <string.h>

#include "monte_carlo/monte_carlo.h"
#include "monte_carlo_device.h"

#define SEED G_GUINT64_CONSTANT (0x123456789abcdef)

static const McOption option = { 100, 100, 0.05, 0.2, 1, 16 };

/* -- Random words ------------------------------------------------------- */

/* The vectors that Salmon et al. publish with Random123. */
static void
known_answers (void)
{
  static const struct
  {
    McWords counter;
    uint32_t k0, k1;
    McWords words;
  } known[] = {
    { { { 0, 0, 0, 0 } },
      0,
      0,
      { { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } } },
    { { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff } },
      0xffffffff,
      0xffffffff,
      { { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } } },
    { { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 } },
      0xa4093822,
      0x299f31d0,
      { { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } } },
  };
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      McWords host = mc_philox (known[i].counter, known[i].k0, known[i].k1);
      McWords device
          = device_philox (known[i].counter, known[i].k0, known[i].k1);
      CU_ASSERT_EQUAL (memcmp (&host, &known[i].words, sizeof host), 0);
      CU_ASSERT_EQUAL (memcmp (&device, &known[i].words, sizeof device), 0);
    }
}

/* -- Functions ---------------------------------------------------------- */

/* The difference in units of the last place of the true value. */
static double
ulps (double got, long double truth)
{
  int exponent;
  frexpl (truth, &exponent);
  return (double)(fabsl (got - truth) / ldexpl (1, exponent - DBL_MANT_DIG));
}

static void
exp_is_near (void)
{
  static const double special[]
      = { 0,         -0.0, 1,         -1,    0x1p-60, -0x1p-60,
          0x1p-1074, -708, -707.9999, 708.9, 709,     0.34657359027997264,
          0.5,       -0.5 };
  double worst = 0;
  for (guint i = 0; i < G_N_ELEMENTS (special); i++)
    worst = MAX (worst, ulps (mc_exp (special[i]), expl (special[i])));
  for (double x = -708; x < 709; x += 0.00317)
    worst = MAX (worst, ulps (mc_exp (x), expl (x)));
  for (double x = -0.7; x < 0.7; x += 0.0000071)
    worst = MAX (worst, ulps (mc_exp (x), expl (x)));
  CU_ASSERT_TRUE (worst < 1.25);
  CU_ASSERT_EQUAL (mc_exp (0), 1);
  CU_ASSERT_EQUAL (mc_exp (-0.0), 1);
  CU_ASSERT_EQUAL (mc_exp (1e300), mc_exp (709));
  CU_ASSERT_EQUAL (mc_exp (INFINITY), mc_exp (709));
  CU_ASSERT_EQUAL (mc_exp (-1e300), mc_exp (-708));
  CU_ASSERT_EQUAL (mc_exp (-INFINITY), mc_exp (-708));
}

static void
log_is_near (void)
{
  double worst = 0;
  for (int e = DBL_MIN_EXP; e < DBL_MAX_EXP; e++)
    {
      double x = ldexp (1, e - 1);
      worst = MAX (worst, ulps (mc_log (x * 1.25), logl (x * 1.25)));
      if (x != 1)
        worst = MAX (worst, ulps (mc_log (x), logl (x)));
    }
  for (double x = 0.25; x < 4; x += 0.0000173)
    worst = MAX (worst, ulps (mc_log (x), logl (x)));
  for (double d = 0x1p-52; d < 0.25; d *= 1.01)
    {
      double below = 1 - d, above = 1 + d;
      worst = MAX (worst, ulps (mc_log (below), logl (below)));
      worst = MAX (worst, ulps (mc_log (above), logl (above)));
    }
  CU_ASSERT_TRUE (worst < 1.0);
  CU_ASSERT_EQUAL (mc_log (1), 0);
}

/* From the nearest quarter on, where the true values are exact enough. */
static double
turn_ulps (uint32_t turn)
{
  double sine, cosine;
  uint32_t quarter = (turn + (1u << 29)) >> 30;
  long double x = 2 * acosl (-1) * ((int32_t)(turn - (quarter << 30)) + 0.5L)
                  / 4294967296.0L;
  long double s = quarter % 2 ? cosl (x) : sinl (x);
  long double c = quarter % 2 ? -sinl (x) : cosl (x);
  if (quarter % 4 >= 2)
    {
      s = -s;
      c = -c;
    }
  mc_sincos_turn (turn, &sine, &cosine);
  return MAX (ulps (sine, s), ulps (cosine, c));
}

static void
sincos_is_near (void)
{
  double worst = 0;
  for (guint64 turn = 0; turn < 1ull << 32; turn += 10007)
    worst = MAX (worst, turn_ulps ((uint32_t)turn));
  for (uint32_t eighth = 0; eighth < 8; eighth++)
    for (uint32_t k = 0; k < 1000; k++)
      worst = MAX (worst, turn_ulps ((eighth << 29) + k - 500));
  CU_ASSERT_TRUE (worst < 2);
}

/* The first four moments, and the ends. */
static void
normals_are_normal (void)
{
  const guint n = 1 << 20;
  double sums[5] = { 0 }, first, second;
  McModel m = monte_carlo_option_model (MC_ASIAN, &option, SEED);
  for (guint i = 0; i < n; i++)
    {
      McWords r = mc_words (&m, i, 0);
      mc_normals (r.w[0], r.w[1], &first, &second);
      for (int k = 1; k < 5; k++)
        sums[k] += pow (first, k) + pow (second, k);
    }
  CU_ASSERT_TRUE (fabs (sums[1] / (2 * n)) < 5 * sqrt (1.0 / (2 * n)));
  CU_ASSERT_TRUE (fabs (sums[2] / (2 * n) - 1) < 5 * sqrt (2.0 / (2 * n)));
  CU_ASSERT_TRUE (fabs (sums[3] / (2 * n)) < 5 * sqrt (15.0 / (2 * n)));
  CU_ASSERT_TRUE (fabs (sums[4] / (2 * n) - 3) < 5 * sqrt (96.0 / (2 * n)));
  mc_normals (0, 0, &first, &second);
  CU_ASSERT_DOUBLE_EQUAL (first, 6.764, 0.001);
  mc_normals (0xffffffff, 0x80000000, &first, &second);
  CU_ASSERT_DOUBLE_EQUAL (first, -sqrt (0x1p-32), 1e-12);
}

static void
nothing_fused (void)
{
  volatile double a = 1 + 0x1p-30, b = 1 - 0x1p-30, product = a * b;
  CU_ASSERT_NOT_EQUAL (fma (a, b, -1), product - 1);
  CU_ASSERT_EQUAL (mc_mad (a, b, -1), product - 1);
}

/* -- Sums --------------------------------------------------------------- */

static void
sums_hold (void)
{
  McSums all = { 0 }, one = { 0 };
  McModel m = monte_carlo_option_model (MC_EUROPEAN, &option, SEED);
  McPath path = { 1, 1e4 };
  uint64_t most = mc_path_payoff (&m, MC_EUROPEAN, path);
  CU_ASSERT_EQUAL (most, (uint64_t)1 << 44);
  path.sum = -1e4;
  CU_ASSERT_EQUAL (mc_path_payoff (&m, MC_EUROPEAN, path), 0);
  mc_sums_add (&one, most);
  CU_ASSERT_EQUAL (one.special, 1);
  /* 2^39 of the largest, by doubling. */
  for (all = one; all.n < MC_MAX_SAMPLES / 2;)
    {
      McSums twice = all;
      mc_sums_merge (&twice, &all);
      all = twice;
    }
  CU_ASSERT_EQUAL (all.sum_low, 0);
  CU_ASSERT_EQUAL (all.sum_high, (uint64_t)1 << (39 + 44 - 64));
  CU_ASSERT_EQUAL (all.squares_low, 0);
  CU_ASSERT_EQUAL (all.squares_high, (uint64_t)1 << (39 + 88 - 64));
  one = (McSums){ 1, 0, UINT64_MAX, 1, UINT64_MAX, 2 };
  all = one;
  mc_sums_merge (&all, &one);
  CU_ASSERT_EQUAL (all.sum_low, UINT64_MAX - 1);
  CU_ASSERT_EQUAL (all.sum_high, 3);
  CU_ASSERT_EQUAL (all.squares_high, 5);
}

HASS_TEST_SUITE (
    monte_carlo_numbers,
    { "Philox gives the published words, on a GPU too", known_answers },
    { "exp is within 1.25 units of the last place, and bounded", exp_is_near },
    { "log is within one unit of the last place", log_is_near },
    { "sine and cosine are within two", sincos_is_near },
    { "normal variates have the moments and the ends", normals_are_normal },
    { "no multiplication is fused with an addition", nothing_fused },
    { "sums carry, and hold the most that there can be", sums_hold })

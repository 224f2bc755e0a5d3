/* SPDX-License-Identifier: MIT */
/* test_dls_star.c: the parts of divisible load theory against the equations
   of its linear programme.
   Thread safety: one thread. */
#include "hass_test.h"

#include "tests/sched/mini_checks.h"

#define GPU(compute, copy)                                                     \
  {                                                                            \
    .kind = HASS_DEVICE_GPU, .cores = 30, .ns_per_work = (compute),            \
    .copy_ns_per_work = (copy)                                                 \
  }

/* A core of 1000 ns a unit and three GPUs. gpu1 has the fastest link, gpu0 the
   slowest, gpu2 computes fastest. */
static const MiniDevice star[]
    = { MINI_CPU (1, 1000), GPU (200, 300), GPU (400, 100), GPU (100, 200) };

/* By hand, with the core's part as 1000: gpu1 1000 * 1000 / 500 = 2000, gpu2
   2000 * 400 / 300 = 2666.7, gpu0 2666.7 * 100 / 500 = 533.3, 6200 in all. */
static void
gives_the_closed_form (void)
{
  static const guint64 parts[] = { 1000, 533, 2000, 2667 };
  MiniFarm *farm = mini_farm_new_equal ("dls-star", star, 4);
  MiniRound result;
  mini_run (farm, 64000, &result);
  /* Calibrated with 1000 units, 250 each; 63000 by the closed form. */
  for (guint d = 0; d < 4; d++)
    {
      CU_ASSERT_EQUAL (result.shares[d], 250);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[d].units - 250,
                              63000 * (parts[d] / 6200.), 5);
    }
  for (guint r = 0; r < 3; r++)
    {
      mini_run (farm, 6200, &result);
      CU_ASSERT_EQUAL (farm->grants->len, 3);
      for (guint d = 0; d < 4; d++)
        CU_ASSERT_DOUBLE_EQUAL (result.devices[d].units, parts[d] * 1., 1);
    }
  mini_farm_free (farm);
}

/* Units done in a time of 1 ns when GPUs are sent to in this order. */
static double
units_per_ns (const guint *order)
{
  double sum = 1 / star[0].ns_per_work, computing = 1;
  for (guint i = 0; i < 3; i++)
    {
      const MiniDevice *d = &star[order[i]];
      double units = computing / (d->copy_ns_per_work + d->ns_per_work);
      computing = units * d->ns_per_work;
      sum += units;
    }
  return sum;
}

/* The linear programme's constraints are all equal: who is sent to i-th is
   done at the sum of a_j g_j up to i, plus a_i w_i. No other order of these
   three links is as good. */
static void
finishes_together_in_the_model (void)
{
  static const guint orders[][3] = { { 2, 3, 1 }, { 2, 1, 3 }, { 1, 2, 3 },
                                     { 1, 3, 2 }, { 3, 1, 2 }, { 3, 2, 1 } };
  MiniFarm *farm = mini_farm_new_equal ("dls-star", star, 4);
  MiniRound result;
  mini_run (farm, 64000, &result);
  mini_run (farm, 620000, &result);
  double end_ns = 1000. * result.devices[0].units, sent_ns = 0;
  for (guint i = 0; i < 3; i++)
    {
      const MiniDevice *d = &star[orders[0][i]];
      double units = result.devices[orders[0][i]].units;
      sent_ns += units * d->copy_ns_per_work;
      CU_ASSERT_DOUBLE_EQUAL ((sent_ns + units * d->ns_per_work) / end_ns, 1,
                              1e-3);
    }
  for (guint o = 1; o < G_N_ELEMENTS (orders); o++)
    CU_ASSERT (units_per_ns (orders[o]) * end_ns < 0.999 * 620000);
  mini_farm_free (farm);
}

/* With a link for each GPU nobody waits, and all do finish together: parts as
   1 / (g + w). Two that share a link are served one after another. */
static void
knows_links (void)
{
  MiniFarm *farm = mini_farm_new_equal ("dls-star:one-port=0", star, 4);
  MiniRound result;
  mini_run (farm, 64000, &result);
  mini_run (farm, 64000, &result);
  double end_ns = 64000 / (1 / 1000. + 1 / 500. + 1 / 500. + 1 / 300.);
  CU_ASSERT_DOUBLE_EQUAL (result.summary.makespan_ns / end_ns, 1, 1e-3);
  for (guint d = 0; d < 4; d++)
    CU_ASSERT_DOUBLE_EQUAL (result.devices[d].last_finish_ns / end_ns, 1, 1e-3);
  mini_farm_free (farm);
  farm = mini_farm_new_equal ("dls-star:one-port=0", star, 4);
  farm->traits[1].link = farm->traits[3].link = 1;
  mini_run (farm, 64000, &result);
  mini_run (farm, 64000, &result);
  double gpu2 = result.devices[3].units;
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units / gpu2, 100 / 500., 1e-3);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[2].units / gpu2, 300 / 500., 1e-3);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[0].units / gpu2, 300 / 1000., 1e-3);
  mini_farm_free (farm);
}

/* Costs of older rounds count half as much each. */
static void
learns (void)
{
  const MiniDevice pair[] = { MINI_CPU (1, 1000), GPU (150, 100) };
  MiniFarm *farm = mini_farm_new_equal ("dls-star", pair, 2);
  MiniRound result;
  mini_run (farm, 5000, &result);
  mini_run (farm, 5000, &result);
  CU_ASSERT_EQUAL (result.devices[1].units, 4000);
  farm->devices[1].copy_ns_per_work = 850;
  for (guint r = 0; r < 12; r++)
    mini_run (farm, 5000, &result);
  CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 2500, 10);
  mini_farm_free (farm);
}

static void
does_without_a_lost_gpu (void)
{
  for (guint after = 1; after < 4; after++)
    {
      MiniFarm *farm = mini_farm_new_equal ("dls-star", star, 4);
      MiniRound result;
      farm->devices[3].lost_after = after;
      for (guint r = 0; r < 5; r++)
        {
          mini_run (farm, 3000, &result);
          CU_ASSERT_EQUAL (result.rescued, 0);
        }
      /* 1000 : 2000 and 400 / 500 of that. */
      CU_ASSERT_DOUBLE_EQUAL (result.devices[0].units, 3000 / 4.6, 1);
      CU_ASSERT_DOUBLE_EQUAL (result.devices[1].units, 3000 * 1.6 / 4.6, 1);
      CU_ASSERT_EQUAL (result.devices[3].units, 0);
      mini_farm_free (farm);
    }
}

HASS_TEST_SUITE (sched_dls_star,
                 { "dls-star gives the parts worked out by hand",
                   gives_the_closed_form },
                 { "all constraints of the linear programme are equal",
                   finishes_together_in_the_model },
                 { "one-port=0 serves one after another only on a shared link",
                   knows_links },
                 { "dls-star learns from round to round", learns },
                 { "dls-star does without a lost GPU",
                   does_without_a_lost_gpu })

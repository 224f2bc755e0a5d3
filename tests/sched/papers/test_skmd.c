/* SPDX-License-Identifier: MIT */
/* test_skmd.c: SKMD's training, estimates and divisions from round to round.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "tests/sched/mini_checks.h"
#include "sched/papers/skmd-private.h"

/* GPUs that are not full below 100 and 40 units. */
static const MiniDevice three[] = { MINI_CPU (4, 40000),
                                    { .kind = HASS_DEVICE_GPU,
                                      .cores = 30,
                                      .ns_per_work = 2500,
                                      .latency_ns = 30000,
                                      .fill_work = 100 },
                                    { .kind = HASS_DEVICE_GPU,
                                      .cores = 8,
                                      .ns_per_work = 9000,
                                      .latency_ns = 30000,
                                      .fill_work = 40 } };

/* 4 (twice, the first is the warm-up), 8, 12, 16, 32, ... at most a quarter
   of an equal part of 4000: 333. Then one part for each. */
static void
trains_in_the_first_round (void)
{
  static const guint64 wanted[] = { 4, 4, 8, 12, 16, 32, 64, 128, 256 };
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm
      = mini_farm_new ("skmd", HASS_FARM_COMBINE, HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  guint n[3] = { 0 };
  mini_farm_run (farm, loads, 4000, &result);
  CU_ASSERT (result.once);
  for (guint i = 0; i < farm->grants->len; i++)
    {
      const MiniGrant *g = &g_array_index (farm->grants, MiniGrant, i);
      if (g->source == HASS_FROM_FRONT && n[g->device] < 9 && g->device == 1)
        CU_ASSERT_EQUAL (g->asked, wanted[n[1]]);
      n[g->device]++;
    }
  CU_ASSERT (n[1] >= 9);
  mini_farm_run (farm, loads, 4000, &result);
  CU_ASSERT_EQUAL (farm->grants->len, 2); /* no more training */
  mini_farm_free (farm);
  g_free (loads);
}

static void
finds_the_best_split (void)
{
  double parts[3];
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm
      = mini_farm_new ("skmd", HASS_FARM_COMBINE, HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 4000, &result);
  mini_ideal_parts (three, 3, 4000, parts);
  for (guint d = 0; d < 3; d++)
    CU_ASSERT_DOUBLE_EQUAL (result.shares[d] / 4000., parts[d], 0.01);
  CU_ASSERT (result.summary.makespan_ns
             < 1.03 * mini_bound_ns (three, 3, 4000));
  /* In rounds that do not fill the slow GPU it has no part. */
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 80, &result);
  CU_ASSERT_EQUAL (result.shares[2], 0);
  CU_ASSERT (result.shares[1] > 0);
  mini_farm_free (farm);
  g_free (loads);
}

/* A merge that takes longer than two devices could save leaves the fastest
   alone, from the second round on. */
static void
leaves_out_for_the_merge (void)
{
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm
      = mini_farm_new ("skmd", HASS_FARM_COMBINE, HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  farm->env.merge_ns = 5e6;
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 4000, &result);
  CU_ASSERT_EQUAL (result.shares[1], 4000);
  /* All: 6.6 ms; the GPU alone: 10 ms. */
  farm->env.merge_ns = 1e6;
  mini_farm_run (farm, loads, 4000, &result);
  CU_ASSERT (result.shares[0] > 0 && result.shares[2] > 0);
  mini_farm_free (farm);
  g_free (loads);
}

/* A GPU gets slower by three: the next rounds take that in. */
static void
learns_across_rounds (void)
{
  double parts[3];
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm
      = mini_farm_new ("skmd", HASS_FARM_COMBINE, HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 4000, &result);
  farm->devices[1].ns_per_work *= 3;
  for (guint r = 0; r < 8; r++)
    mini_farm_run (farm, loads, 4000, &result);
  mini_ideal_parts (farm->devices, 3, 4000, parts);
  for (guint d = 0; d < 3; d++)
    CU_ASSERT_DOUBLE_EQUAL (result.shares[d] / 4000., parts[d], 0.03);
  mini_farm_free (farm);
  g_free (loads);
}

/* -- Estimates ---------------------------------------------------------- */

static void
nothing (HassSkmd *s, guint64 units)
{
  (void)s;
  (void)units;
}

/* 1 MB first over 10 bytes a ns: 100 us. Units copy 100 ns in and 50 out. GPUs
   0 and 1 share a link, so 1 waits for 0; GPU 2 has its own. */
static void
estimates_copies (void)
{
  HassDeviceTraits traits[] = {
    { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4 },
    { .name = "gpu0", .kind = HASS_DEVICE_GPU, .link = 1 },
    { .name = "gpu1", .kind = HASS_DEVICE_GPU, .link = 1 },
    { .name = "gpu2", .kind = HASS_DEVICE_GPU, .link = 0 },
  };
  const HassProfileRate profile[] = {
    { .work_per_ns = 0.001 },
    { .work_per_ns = 0.01, .latency_ns = 5000 },
    { .work_per_ns = 0.01, .latency_ns = 5000 },
    { .work_per_ns = 0.01, .latency_ns = 5000 },
  };
  HassStrategyEnv env = { .struct_size = sizeof env,
                          .n_devices = 4,
                          .devices = traits,
                          .profile = profile,
                          .entry_bytes = 1e6 };
  for (guint d = 1; d < 4; d++)
    traits[d].link_bytes_per_ns = 10;
  HassSkmd *s = hass_skmd_new (&env, nothing);
  guint64 partition[] = { 9, 200, 100, 100 };
  double ns[4];
  s->unit_work = 1;
  for (guint d = 1; d < 4; d++)
    {
      s->devices[d].copied_work = 10;
      s->devices[d].in_ns = 1000;
      s->devices[d].out_ns = 500;
    }
  hass_skmd_times (partition, ns, s);
  /* 9 units are 3 turns of 4 cores. */
  CU_ASSERT_DOUBLE_EQUAL (ns[0], 12000, 1e-6);
  /* Ready at 145 us, but the link is GPU 1's until 230. */
  CU_ASSERT_DOUBLE_EQUAL (ns[1], 230000 + 10000, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ns[2], 120000 + 100000 + 10000 + 15000 + 5000, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ns[3], 100000 + 10000 + 15000 + 5000, 1e-6);
  /* GPU 0 copies in until 190 us, is ready at 285, and waits for GPU 1, which
     copies in until 330. GPU 1 is ready at 375, when GPU 0 has just copied
     out. */
  partition[1] = 900;
  partition[2] = 400;
  hass_skmd_times (partition, ns, s);
  CU_ASSERT_DOUBLE_EQUAL (ns[1], 330000 + 45000, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (ns[2], 375000 + 20000, 1e-6);
  partition[2] = 100;
  partition[1] = 0;
  hass_skmd_times (partition, ns, s);
  CU_ASSERT_EQUAL (ns[1], 0);
  CU_ASSERT_DOUBLE_EQUAL (ns[2], 130000, 1e-6);
  s->crew.members[3].failed = TRUE;
  hass_skmd_times (partition, ns, s);
  CU_ASSERT (isinf (ns[3]));
  hass_skmd_destroy (s);
}

static void
takes_steps (void)
{
  HassLoad *loads = mini_equal_loads (4000);
  MiniFarm *farm = mini_farm_new ("skmd:steps=4", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, three, 3, 1);
  MiniRound result;
  for (guint r = 0; r < 3; r++)
    mini_farm_run (farm, loads, 4000, &result);
  for (guint d = 0; d < 3; d++)
    CU_ASSERT_EQUAL (result.shares[d] % 1000, 0);
  mini_farm_free (farm);
  g_free (loads);
  CU_ASSERT (mini_refused ("skmd:steps=0", "out of range"));
}

HASS_TEST_SUITE (
    sched_skmd, { "skmd trains in the first round", trains_in_the_first_round },
    { "skmd finds the best split, and whom to leave out",
      finds_the_best_split },
    { "skmd leaves devices out when the merge costs more",
      leaves_out_for_the_merge },
    { "skmd learns across rounds", learns_across_rounds },
    { "skmd counts copies, and waiting for a shared link", estimates_copies },
    { "skmd goes down the tree in the given steps", takes_steps })

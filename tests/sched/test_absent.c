/* SPDX-License-Identifier: MIT */
/* test_absent.c: strategies of the papers beside a GPU that never asks for
   work, as it was lost when it was opened.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>

#include "mini_checks.h"

#define UNITS 1000

/* Runs two rounds on cores and a GPU that is lost before it asks. In the second
   one all units must be in the share of the cores when it begins, but for one
   that a strategy may keep for the GPU. @rescued: units of the first round that
   no device would have taken if the engine had not given them away. */
static void
check (const char *spec, guint64 rescued)
{
  static const MiniDevice pair[]
      = { MINI_CPU (4, 40000), MINI_WIDE_GPU (30, 2500, 30000) };
  MiniFarm *farm = mini_farm_new_equal (spec, pair, 2);
  MiniRound first, second;
  farm->lost[1] = TRUE;
  mini_farm_run_equal (farm, UNITS, &first);
  mini_farm_run_equal (farm, UNITS, &second);
  gboolean ok = first.rescued == rescued && second.rescued == 0
                && second.shares[0] >= UNITS - 1 && first.once && second.once;
  CU_ASSERT_TRUE (ok);
  if (!ok)
    printf ("\n    %s", spec);
  mini_farm_free (farm);
}

static void
without_a_rate (void)
{
  static const char *const specs[]
      = { "min-min", "max-min", "mct", "hass", "hass-cd", "hass-ce" };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    check (specs[i], 0);
}

static void
without_a_profile (void)
{
  static const char *const specs[] = { "asym", "asym-conv", "profile-naive" };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    check (specs[i], 0);
}

static void
without_training (void)
{
  check ("skmd", 0);
}

static void
with_a_share (void)
{
  check ("cpu-weight", 800);
}

HASS_TEST_SUITE (
    sched_absent,
    { "a GPU that never asks is left out of Min-min and its kin",
      without_a_rate },
    { "a GPU that never asks for its profile is not profiled again",
      without_a_profile },
    { "a GPU that never asks for training is not trained again",
      without_training },
    { "a GPU that computes nothing of its share has none in the next round",
      with_a_share })

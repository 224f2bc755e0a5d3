/* SPDX-License-Identifier: MIT */
/* test_auto_plan.c: that estimates and forecasts serve without a strategy, and
   that a plan of auto is a value.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "tests/sched/mini_engine.h"
#include "sched/auto/plan-private.h"

#define UNITS 1000

typedef struct
{
  MiniFarm *farm;
  HassLoad *loads;
  HassAutoKnown k;
} Known;

static void
know (Known *s)
{
  const MiniDevice devices[]
      = { MINI_CPU (4, 4000), MINI_GPU (16, 500, 15000) };
  s->farm = mini_farm_new_equal ("auto", devices, 2);
  s->loads = mini_equal_loads (UNITS);
  HassSpan span = { .loads = s->loads, .mask = G_MAXUINT64, .n = UNITS };
  hass_round_begin_loads (s->farm->round, HASS_FARM_COMBINE, HASS_COST_EQUAL,
                          &span);
  hass_round_open (s->farm->round);
  hass_units_init (&s->k.u, &s->farm->env);
  hass_estimates_init (&s->k.e, &s->k.u, 0);
  hass_forecast_init (&s->k.f, &s->k.e);
  hass_auto_pipeline_init (&s->k.p, &s->k.f);
  hass_units_begin (&s->k.u, s->farm->round);
  hass_units_ordered (&s->k.u, s->farm->round);
}

static void
forget (Known *s)
{
  hass_auto_pipeline_clear (&s->k.p);
  hass_forecast_clear (&s->k.f);
  hass_estimates_clear (&s->k.e);
  hass_units_clear (&s->k.u);
  mini_farm_free (s->farm);
  g_free (s->loads);
}

/* The GPU computes so many units from position 0 in 15 us and 500 ns for each.
 */
static void
one_bundle (Known *s, guint64 n)
{
  HassAutoKnown *k = &s->k;
  HassGrant grant = { .taken = n };
  HassBundle b
      = hass_forecast_bundle (&k->f, s->farm->round, &grant, 1, (double)n, 1);
  hass_forecast_granted (&k->f, 1, &b);
  CU_ASSERT_TRUE (hass_forecast_busy (&k->f, s->farm->round, 1));
  HassCompletion done = { .device = 1,
                          .units = n,
                          .work = (double)n,
                          .grant_ns = k->f.now_ns,
                          .end_ns = k->f.now_ns + 15000 + (gint64)n * 500 };
  double ns;
  hass_forecast_clock (&k->f, s->farm->round, &done);
  CU_ASSERT_TRUE (hass_forecast_done (&k->f, &done, &b, &ns));
  ns = hass_estimates_without_wait (&k->e, &done, 0, ns);
  hass_estimates_observe (&k->e, &done, &b, 0, ns, ns);
}

static void
estimates_are_learned_without_a_strategy (void)
{
  Known s;
  know (&s);
  const HassRound *round = s.farm->round;
  CU_ASSERT_FALSE (hass_estimates_measured (&s.k.e, round, 1));
  CU_ASSERT_FALSE (hass_forecast_all_known (&s.k.f, round));
  for (guint i = 0; i < 12; i++)
    one_bundle (&s, 20 + 20 * (i % 4));
  const HassFit *fit = hass_estimates_fit (&s.k.e, round, 1, TRUE);
  CU_ASSERT_TRUE (hass_estimates_measured (&s.k.e, round, 1));
  CU_ASSERT_DOUBLE_EQUAL (1 / hass_estimates_gpu_rate (&s.k.e, 1, 0, fit), 500,
                          10);
  CU_ASSERT_DOUBLE_EQUAL (hass_estimates_fixed_ns (&s.k.e, round, 1, fit),
                          15000, 300);
  CU_ASSERT_FALSE (hass_forecast_busy (&s.k.f, round, 1));
  CU_ASSERT_FALSE (hass_forecast_all_known (&s.k.f, round)); /* the cores */
  forget (&s);
}

static void
a_plan_changes_nothing (void)
{
  Known s;
  HassRunner first[2], second[2], other[2];
  know (&s);
  s.k.e.of[0].prior_rate = 4 / 4000.;
  for (guint i = 0; i < 12; i++)
    one_bundle (&s, 20 + 20 * (i % 4));
  HassEstimate estimates[2];
  HassSeat seats[2];
  memcpy (estimates, s.k.e.of, sizeof estimates);
  memcpy (seats, s.k.f.seats, sizeof seats);
  HassPlan all = hass_auto_plan (&s.k, s.farm->round, 2, 2, first);
  HassPlan gpu = hass_auto_plan_whole (&s.k, 1, UNITS, other);
  HassPlan again = hass_auto_plan (&s.k, s.farm->round, 2, 2, second);
  CU_ASSERT_TRUE (first[0].runs && first[1].runs);
  CU_ASSERT_TRUE (!other[0].runs && other[1].runs);
  CU_ASSERT_TRUE (all.finish_ns < gpu.finish_ns);
  CU_ASSERT_DOUBLE_EQUAL (again.finish_ns, all.finish_ns, 0);
  CU_ASSERT_EQUAL (memcmp (first, second, sizeof first), 0);
  CU_ASSERT_EQUAL (memcmp (estimates, s.k.e.of, sizeof estimates), 0);
  CU_ASSERT_EQUAL (memcmp (seats, s.k.f.seats, sizeof seats), 0);
  forget (&s);
}

HASS_TEST_SUITE (sched_auto_plan,
                 { "estimates are learned without a strategy",
                   estimates_are_learned_without_a_strategy },
                 { "a plan is a value and changes nothing that is known",
                   a_plan_changes_nothing })

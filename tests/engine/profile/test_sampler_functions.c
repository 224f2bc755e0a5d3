/* SPDX-License-Identifier: MIT */
/* test_sampler_functions.c: what runs of a function farm show of each function.
   Thread safety: one thread. */
#include "engine/profile/sampler.h"
#include "hass_test.h"
#include "store_trial.h"

#define MS 1000000
#define N_FUNCTIONS 2
#define N_BUNDLES 6

static HassStrategyEnv
farm (void)
{
  HassStrategyEnv env = store_search;
  env.farm = HASS_FARM_FUNCTION;
  env.cost = HASS_COST_SIZED;
  env.n_functions = N_FUNCTIONS;
  return env;
}

/* A run of 100 ms: cores take 0.2 ms for a unit; the GPU has one unit of
   function 1 for @only_ms, which ends while bundles of function 0 are there
   that take 2 ms each. */
static void
run (double only_ms)
{
  HassStrategyEnv env = farm ();
  const gboolean lost[STORE_DEVICES] = { FALSE };
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  CU_ASSERT_PTR_NOT_NULL_FATAL (s);
  double at_ms = 0;
  for (guint i = 0; i < N_BUNDLES; i++)
    {
      gboolean only = i == 2;
      double end_ms = at_ms + (only ? only_ms : 2);
      HassCompletion done = { .device = 1,
                              .function = only,
                              .units = 1,
                              .work = 1,
                              .end_ns = (gint64)(end_ms * MS) };
      hass_samplers_observe (s, &done);
      at_ms = end_ms;
    }
  for (guint f = 0; f < N_FUNCTIONS; f++)
    hass_samplers_observe (
        s, &(HassCompletion){
               .function = f, .units = 50, .work = 50, .kernel_ns = 10. * MS });
  hass_samplers_store (s, lost, 100 * MS);
  hass_samplers_free (s);
}

/* ns for a unit, by what the next run is told; 0: nothing. */
static double
told_ns (guint function, guint device)
{
  HassStrategyEnv env = farm ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  CU_ASSERT_PTR_NOT_NULL_FATAL (env.function_profile);
  double rate
      = env.function_profile[function * STORE_DEVICES + device].work_per_ns;
  hass_samplers_free (s);
  return rate > 0 ? 1 / rate : 0;
}

static void
each_function (void)
{
  store_begin ();
  run (0.5);
  CU_ASSERT_DOUBLE_EQUAL (told_ns (0, 0), 0.2 * MS, 1);
  CU_ASSERT_DOUBLE_EQUAL (told_ns (1, 0), 0.2 * MS, 1);
  CU_ASSERT_DOUBLE_EQUAL (told_ns (0, 1), 2 * MS, 1);
  CU_ASSERT_DOUBLE_EQUAL (told_ns (1, 1), 0.5 * MS, 1);
  store_end ();
}

/* A GPU that is slower than the cores in a function is not tried in each run
   again. */
static void
slow_one (void)
{
  store_begin ();
  run (40);
  CU_ASSERT_DOUBLE_EQUAL (told_ns (1, 1), 40. * MS, 1);
  store_end ();
}

/* Simple tasks, of which bundles of a few take as long as of one for each
   multiprocessor. */
static void
unfilled (void)
{
  HassStrategyEnv env = farm ();
  const gboolean lost[STORE_DEVICES] = { FALSE };
  const double ms = 16, n = 8, cores = env.devices[1].cores;
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  for (guint f = 0; f < N_FUNCTIONS; f++)
    hass_samplers_observe (
        s, &(HassCompletion){ .device = 1,
                              .function = f,
                              .units = (guint64)n,
                              .elements = (guint64)(f == 0 ? n : 0),
                              .work = n,
                              .start_ns = (gint64)(f * ms * MS),
                              .end_ns = (gint64)((f + 1) * ms * MS) });
  hass_samplers_store (s, lost, 100 * MS);
  hass_samplers_free (s);
  s = hass_samplers_begin (&env, "auto");
  const HassProfileRate *simple = &env.function_profile[1],
                        *unknown = simple + STORE_DEVICES;
  CU_ASSERT_DOUBLE_EQUAL (simple->latency_ns, ms * MS * (1 - n / cores), 1);
  CU_ASSERT_DOUBLE_EQUAL (simple->latency_ns + n / simple->work_per_ns, ms * MS,
                          1);
  CU_ASSERT_EQUAL (unknown->latency_ns, 0);
  CU_ASSERT_DOUBLE_EQUAL (n / unknown->work_per_ns, ms * MS, 1);
  hass_samplers_free (s);
  store_end ();
}

/* A generator may call several functions; if it calls one, its rates are those
   of the farm. */
static void
only_one (void)
{
  HassStrategyEnv env = farm ();
  const gboolean lost[STORE_DEVICES] = { FALSE };
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  for (guint d = 0; d < STORE_DEVICES; d++)
    hass_samplers_observe (s, &(HassCompletion){ .device = d,
                                                 .units = 50,
                                                 .work = 50,
                                                 .kernel_ns = 10. * MS,
                                                 .end_ns = 10 * MS });
  hass_samplers_store (s, lost, 100 * MS);
  hass_samplers_free (s);
  for (guint d = 0; d < STORE_DEVICES; d++)
    CU_ASSERT_EQUAL (told_ns (0, d), 0);
  s = hass_samplers_begin (&env, "auto");
  CU_ASSERT_DOUBLE_EQUAL (1 / env.profile[0].work_per_ns, 0.2 * MS, 1);
  hass_samplers_free (s);
  store_end ();
}

HASS_TEST_SUITE (sampler_functions,
                 { "each function has its own rates", each_function },
                 { "a slow function's only bundle is kept", slow_one },
                 { "simple tasks that do not fill a GPU take as long as more",
                   unfilled },
                 { "one function has none", only_one })

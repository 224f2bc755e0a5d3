/* SPDX-License-Identifier: MIT */
/* test_sampler_setup.c: what bundles of a GPU show of its rate.
   Thread safety: one thread. */
#include "engine/profile/sampler.h"
#include "hass_test.h"
#include "store_trial.h"

#define MS 1000000
#define BUNDLES 10

/* The rate of a GPU in the store after bundles of a unit that take 2 ms each,
   of which they prepare something for @setup_ns, and copy or compute for
   @busy_ns. */
static double
rate (double setup_ns, double busy_ns)
{
  HassStrategyEnv env = store_search;
  HassSampled devices[STORE_DEVICES] = { { .work = 0 } };
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  CU_ASSERT_PTR_NOT_NULL_FATAL (s);
  for (guint i = 0; i < BUNDLES; i++)
    hass_samplers_observe (s, &(HassCompletion){ .device = 1,
                                                 .units = 1,
                                                 .work = 1,
                                                 .start_ns = i * 2 * MS,
                                                 .end_ns = (i + 1) * 2 * MS,
                                                 .kernel_busy_ns = busy_ns,
                                                 .setup_ns = setup_ns });
  devices[1].work = BUNDLES;
  hass_samplers_store (s, devices, BUNDLES * 2 * MS);
  hass_samplers_free (s);
  double known = store_known (&store_search, 1).work_per_ns;
  store_end ();
  return known;
}

static void
no_part_of_it (void)
{
  CU_ASSERT_DOUBLE_EQUAL (rate (0, 0) * MS, 1 / 2., 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (rate (1.5 * MS, 0.4 * MS) * MS, 1 / 0.5, 1e-9);
  /* What ran meanwhile was not kept waiting. */
  CU_ASSERT_DOUBLE_EQUAL (rate (1.5 * MS, 1.6 * MS) * MS, 1 / 1.6, 1e-9);
}

/* A farm of few units: after the first bundle two of a unit, then all else. */
static void
few_bundles (void)
{
  static const guint works[] = { 1, 1, 1, 50 };
  static const double took_ms[] = { 5, 10, 10, 59 };
  HassStrategyEnv env = store_search;
  HassSampled devices[STORE_DEVICES] = { { .work = 0 } };
  gint64 begin_ns = 0;
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  for (guint i = 0; i < G_N_ELEMENTS (works); i++)
    {
      gint64 end_ns = begin_ns + (gint64)(took_ms[i] * MS);
      hass_samplers_observe (s, &(HassCompletion){ .device = 1,
                                                   .units = works[i],
                                                   .work = works[i],
                                                   .start_ns = begin_ns,
                                                   .end_ns = end_ns });
      devices[1].work += works[i];
      begin_ns = end_ns;
    }
  hass_samplers_store (s, devices, begin_ns);
  hass_samplers_free (s);
  HassProfileRate known = store_known (&store_search, 1);
  CU_ASSERT_DOUBLE_EQUAL (known.work_per_ns * MS, 2502 / 2970., 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (known.latency_ns, 9 * MS, 1);
  store_end ();
}

/* A small bundle that was begun later ends before a large one. */
static void
overtaken (void)
{
  static const struct
  {
    guint work;
    double start_ms, end_ms;
  } bundles[] = { { 1, 0, 9 }, { 1, 20, 90 }, { 50, 10, 100 } };
  HassDeviceTraits traits[STORE_DEVICES]
      = { store_devices[0], store_devices[1] };
  HassStrategyEnv env = store_search;
  HassSampled devices[STORE_DEVICES] = { { .work = 0 } };
  traits[1].max_in_flight = 2;
  env.devices = traits;
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  for (guint i = 0; i < G_N_ELEMENTS (bundles); i++)
    {
      hass_samplers_observe (
          s, &(HassCompletion){ .device = 1,
                                .units = bundles[i].work,
                                .work = bundles[i].work,
                                .start_ns = (gint64)(bundles[i].start_ms * MS),
                                .end_ns = (gint64)(bundles[i].end_ms * MS) });
      devices[1].work += bundles[i].work;
    }
  hass_samplers_store (s, devices, 100 * MS);
  hass_samplers_free (s);
  double rate = store_known (&store_search, 1).work_per_ns * MS;
  CU_ASSERT_TRUE (rate > 0.5 && rate < 1.2);
  store_end ();
}

HASS_TEST_SUITE (sampler_setup,
                 { "what a device prepares once does not count",
                   no_part_of_it },
                 { "the largest of few bundles shows the rate", few_bundles },
                 { "one that was overtaken took its time", overtaken })

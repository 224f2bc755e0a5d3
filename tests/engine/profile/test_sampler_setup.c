/* SPDX-License-Identifier: MIT */
/* test_sampler_setup.c: what bundles of a GPU show of its rate.
   Thread safety: one thread. */
#include "engine/profile/sampler.h"
#include "hass_test.h"
#include "store_trial.h"

#define MS 1000000
#define BUNDLES 10

/* What the store says of a GPU after a farm of these bundles, of which
   @in_flight were there at a time. */
static HassProfileRate
rate_after (const HassCompletion *bundles, guint n, guint in_flight)
{
  HassDeviceTraits traits[STORE_DEVICES]
      = { store_devices[0], store_devices[1] };
  HassStrategyEnv env = store_search;
  const gboolean lost[STORE_DEVICES] = { FALSE };
  traits[1].max_in_flight = in_flight;
  env.devices = traits;
  store_begin ();
  HassSamplers *s = hass_samplers_begin (&env, "auto");
  CU_ASSERT_PTR_NOT_NULL_FATAL (s);
  for (guint i = 0; i < n; i++)
    hass_samplers_observe (s, &bundles[i]);
  hass_samplers_store (s, lost, bundles[n - 1].end_ns);
  hass_samplers_free (s);
  HassProfileRate known = store_known (&store_search, 1);
  store_end ();
  return known;
}

static HassCompletion
bundle (guint work, double start_ms, double end_ms)
{
  return (HassCompletion){ .device = 1,
                           .units = work,
                           .work = work,
                           .start_ns = (gint64)(start_ms * MS),
                           .end_ns = (gint64)(end_ms * MS) };
}

/* The rate of a GPU in the store after bundles of a unit that take 2 ms each,
   of which they prepare something for @setup_ns, and copy or compute for
   @busy_ns. */
static double
rate (double setup_ns, double busy_ns)
{
  HassCompletion bundles[BUNDLES];
  for (guint i = 0; i < BUNDLES; i++)
    {
      bundles[i] = bundle (1, i * 2, (i + 1) * 2);
      bundles[i].kernel_busy_ns = busy_ns;
      bundles[i].setup_ns = setup_ns;
    }
  return rate_after (bundles, BUNDLES, 1).work_per_ns;
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
  const HassCompletion bundles[] = { bundle (1, 0, 5), bundle (1, 5, 15),
                                     bundle (1, 15, 25), bundle (50, 25, 84) };
  HassProfileRate known = rate_after (bundles, G_N_ELEMENTS (bundles), 1);
  CU_ASSERT_DOUBLE_EQUAL (known.work_per_ns * MS, 2502 / 2970., 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (known.latency_ns, 9 * MS, 1);
}

/* A small bundle that was begun later ends before a large one. */
static void
overtaken (void)
{
  const HassCompletion bundles[]
      = { bundle (1, 0, 9), bundle (1, 20, 90), bundle (50, 10, 100) };
  double known = rate_after (bundles, G_N_ELEMENTS (bundles), 2).work_per_ns;
  CU_ASSERT_TRUE (known * MS > 0.5 && known * MS < 1.2);
}

HASS_TEST_SUITE (sampler_setup,
                 { "what a device prepares once does not count",
                   no_part_of_it },
                 { "the largest of few bundles shows the rate", few_bundles },
                 { "one that was overtaken took its time", overtaken })

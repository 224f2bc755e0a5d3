/* SPDX-License-Identifier: MIT */
/* test_profile_entry.c: what samples of a device come to.
   Thread safety: one thread. */
#include "engine/profile/profile-private.h"
#include "hass_test.h"

static HassProfileEntry
entry_of (const double *rates, guint n)
{
  HassProfileEntry e = { 0 };
  for (guint i = 0; i < n; i++)
    {
      HassProfileSample s = { rates[i], i % 2 ? 10 * rates[i] : 0, 1 };
      hass_profile_entry_add (&e, &s, 100 + i);
    }
  return e;
}

#define ENTRY(...)                                                             \
  entry_of ((double[]){ __VA_ARGS__ },                                         \
            sizeof ((double[]){ __VA_ARGS__ }) / sizeof (double))

static void
medians (void)
{
  HassProfileEntry odd = ENTRY (5, 4, 90, 4.5, 3);
  HassProfileEntry even = ENTRY (4, 6, 5, 7);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&odd).work_per_ns, 4.5);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&even).work_per_ns, 5.5);
  /* Of those runs that could tell. */
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&odd).latency_ns, 42.5);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&odd).runs, 5);
}

static void
oldest_go (void)
{
  HassProfileEntry e = { 0 };
  for (guint i = 0; i < 40; i++)
    {
      HassProfileSample s = { 100 + i, 0, 1 };
      hass_profile_entry_add (&e, &s, i);
    }
  CU_ASSERT_EQUAL (e.n_samples, HASS_PROFILE_SAMPLES);
  CU_ASSERT_EQUAL (e.work_per_ns[0], 125);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&e).work_per_ns, 132);
  CU_ASSERT_EQUAL (e.runs, 40);
  CU_ASSERT_EQUAL (e.updated_s, 39);
  CU_ASSERT_EQUAL (e.drifted_s, 0);
}

static void
none_starves (void)
{
  HassProfileEntry one_bad = ENTRY (10, 10, 0.001, 10);
  HassProfileEntry most_bad = ENTRY (0.01, 10, 0.01, 0.01, 10, 0.01, 0.01);
  HassProfileEntry too_good = ENTRY (10, 10, 1e9, 10, 10);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&one_bad).work_per_ns, 10);
  CU_ASSERT_TRUE (hass_profile_entry_rate (&too_good).work_per_ns == 10);
  CU_ASSERT_EQUAL (most_bad.n_samples, 7);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&most_bad).work_per_ns, 0.01);
  HassProfileEntry half_bad = ENTRY (0.01, 10, 0.01, 10, 0.01, 10, 0.01);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&half_bad).work_per_ns, 5);
}

static void
drift (void)
{
  HassProfileEntry slower = ENTRY (10, 11, 9, 10, 6, 5, 6.5);
  HassProfileEntry faster = ENTRY (10, 11, 9, 10, 14, 15, 14);
  CU_ASSERT_EQUAL (slower.n_samples, 3);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&slower).work_per_ns, 6);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&slower).latency_ns, 50);
  CU_ASSERT_EQUAL (slower.drifted_s, 106);
  CU_ASSERT_EQUAL (slower.runs, 7);
  CU_ASSERT_EQUAL (hass_profile_entry_rate (&faster).work_per_ns, 14);
}

static void
noise_is_no_drift (void)
{
  HassProfileEntry two_off = ENTRY (10, 11, 9, 10, 5, 10, 5, 5);
  HassProfileEntry to_and_fro = ENTRY (10, 11, 9, 10, 5, 15, 5);
  HassProfileEntry near = ENTRY (10, 10, 10, 10, 7.5, 7.5, 7.5);
  HassProfileEntry young = ENTRY (10, 5, 5, 5);
  CU_ASSERT_EQUAL (two_off.drifted_s, 0);
  CU_ASSERT_EQUAL (to_and_fro.drifted_s, 0);
  CU_ASSERT_EQUAL (to_and_fro.n_samples, 7);
  CU_ASSERT_EQUAL (near.drifted_s, 0);
  CU_ASSERT_EQUAL (young.drifted_s, 0);
}

HASS_TEST_SUITE (profile_entry, { "a device counts for its median", medians },
                 { "the oldest samples go first", oldest_go },
                 { "bad samples starve no device", none_starves },
                 { "three samples far off on one side replace the older ones",
                   drift },
                 { "noise is no drift", noise_is_no_drift })

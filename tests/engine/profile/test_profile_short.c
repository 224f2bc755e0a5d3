/* SPDX-License-Identifier: MIT */
/* test_profile_short.c: what a process remembers of farms that are too short
   for the profile store.
   Thread safety: one thread. */
#include "hass_test.h"
#include "store_trial.h"

static double short_work = 10;

/* A short run, which takes @told_ns per unit of work if the strategy was told
   rates, else @untold_ns. Returns whether it was. */
static gboolean
short_run (const HassStrategyEnv *farm, double untold_ns, double told_ns)
{
  HassStrategyEnv env = *farm;
  HassProfileSample samples[] = { { 0.25, 0, 3 }, { 2, 70, 5 } };
  g_autofree HassProfileRate *rates = hass_profile_find (farm, "auto");
  gboolean told = rates[0].runs > 0;
  CU_ASSERT_EQUAL (rates[0].work_per_ns, told ? 0.25 : 0);
  CU_ASSERT_EQUAL (rates[1].work_per_ns, told ? 2 : 0);
  env.profile = rates;
  hass_profile_remember (&env, "auto", samples, short_work,
                         short_work * (told ? told_ns : untold_ns));
  return told;
}

static guint
short_runs (guint n, double untold_ns, double told_ns)
{
  guint n_told = 0;
  for (guint i = 0; i < n; i++)
    n_told += short_run (&store_search, untold_ns, told_ns);
  return n_told;
}

/* Four runs without rates, the first of which is not measured, three with them,
   then whichever was faster, and once in 64 the other. */
static void
short_farms (void)
{
  store_begin ();
  CU_ASSERT_EQUAL (short_runs (4, 3, 2), 0);
  CU_ASSERT_EQUAL (short_runs (3, 3, 2), 3);
  CU_ASSERT_EQUAL (short_runs (640, 3, 2), 630);
  CU_ASSERT_TRUE (short_runs (64, 3, 4) <= 4);
  CU_ASSERT_TRUE (short_runs (640, 3, 4) <= 10);
  CU_ASSERT_TRUE (short_runs (640, 3, 2) >= 400);
  /* Twice as much is no other farm, a hundred times is. */
  short_work = 20;
  CU_ASSERT_TRUE (short_runs (8, 3, 2) >= 7);
  short_work = 2000;
  CU_ASSERT_EQUAL (short_runs (1, 3, 4), 1);
  CU_ASSERT_EQUAL (short_runs (6, 3, 4), 3);
  CU_ASSERT_TRUE (short_runs (50, 3, 4) <= 1);
  short_work = 10;
  CU_ASSERT_FALSE (store_exists (""));
  CU_ASSERT_FALSE (store_exists (".lock"));
  CU_ASSERT_STRING_EQUAL (store_warnings->str, "");
  store_end ();
}

/* A short run that is slow if the strategy is told what the process has
   remembered of the GPU, and not what the file says. */
static void
slow_if_told (const HassProfileSample *samples)
{
  HassStrategyEnv env = store_search;
  g_autofree HassProfileRate *rates = hass_profile_find (&store_search, "auto");
  env.profile = rates;
  gboolean told = rates[1].work_per_ns == samples[1].work_per_ns;
  hass_profile_remember (&env, "auto", samples, short_work,
                         short_work * (told ? 4 : 3));
}

/* Rates of the process are used while that is faster than those of the file;
   of the fixed part of a bundle's time the file need not know. */
static void
beside_a_file (void)
{
  HassProfileSample samples[] = { { 0.25, 0, 3 }, { 2, 70, 5 } };
  HassProfileSample in_file[] = { { 4, 0, 3 }, { 3, 0, 5 } };
  store_begin ();
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  CU_ASSERT_TRUE (hass_profile_add (&store_search, 1, in_file, 0));
  CU_ASSERT_EQUAL (store_known (&store_search, 0).work_per_ns, 0.25);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).work_per_ns, 2);
  for (guint i = 0; i < 20; i++)
    slow_if_told (samples);
  CU_ASSERT_EQUAL (store_known (&store_search, 0).work_per_ns, 4);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).work_per_ns, 3);
  CU_ASSERT_EQUAL (store_known (&store_search, 1).latency_ns, 70);
  store_end ();
}

/* Another farm, another strategy or an empty file begin anew. */
static void
short_farms_go_second (void)
{
  HassStrategyEnv other = store_search;
  store_begin ();
  other.farm_name = "another";
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  CU_ASSERT_FALSE (short_run (&other, 3, 2));
  CU_ASSERT_EQUAL (short_runs (1, 3, 2), 1);
  g_autofree HassProfileRate *by_cap = hass_profile_find (&store_search, "cap");
  CU_ASSERT_EQUAL (by_cap[0].runs, 0);
  CU_ASSERT_EQUAL (short_runs (1, 3, 2), 1);
  store_forget ();
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  HassProfileSample samples[] = { { 0.25, 0, 3 }, { 2, 0, 5 } };
  g_setenv ("HASS_PROFILE", "off", TRUE);
  hass_profile_remember (&store_search, "auto", samples, 1, 1);
  CU_ASSERT_PTR_NULL (hass_profile_find (&store_search, "auto"));
  store_end ();
}

/* The memory is bounded: of many names the process keeps the latest. */
static void
short_farms_are_forgotten (void)
{
  HassStrategyEnv other = store_search;
  store_begin ();
  CU_ASSERT_EQUAL (short_runs (7, 3, 2), 3);
  for (guint i = 0; i < 1000; i++)
    {
      g_autofree char *name = g_strdup_printf ("search %u", i);
      other.farm_name = name;
      CU_ASSERT_FALSE (short_run (&other, 3, 2));
      CU_ASSERT_TRUE (i > 50 || short_run (&store_search, 3, 2));
    }
  CU_ASSERT_FALSE (short_run (&store_search, 3, 2));
  store_end ();
}

/* The file says of a device that it had one run; the process had more in which
   the other device was left out, so has no rate. */
static void
all_runs_count (void)
{
  store_begin ();
  CU_ASSERT_TRUE (store_tell (&store_search, 0, 3));
  for (guint begun = 0; begun < 40; begun++)
    {
      g_autofree HassProfileRate *rates
          = hass_profile_find (&store_search, "auto");
      CU_ASSERT_EQUAL (rates[0].runs, 0);
      CU_ASSERT_EQUAL (rates[1].runs, MAX (begun, 1));
      CU_ASSERT_EQUAL (rates[1].work_per_ns, 3);
    }
  CU_ASSERT_TRUE (store_tell (&store_search, 4, 3));
  g_autofree HassProfileRate *known = hass_profile_find (&store_search, "auto");
  CU_ASSERT_EQUAL (known[0].runs, 1);
  CU_ASSERT_EQUAL (known[1].runs, 2);
  store_end ();
}

HASS_TEST_SUITE (
    profile_short,
    { "each run of the process counts while a device has no rate",
      all_runs_count },
    { "of short farms the process tells while that is faster", short_farms },
    { "without a file the process tells of its short farms",
      short_farms_go_second },
    { "beside a file, too, while that is faster", beside_a_file },
    { "the process remembers no more than a fixed number of short farms",
      short_farms_are_forgotten })

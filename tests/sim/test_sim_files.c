/* SPDX-License-Identifier: MIT */
/* test_sim_files.c: workload files, good and broken, and names.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "device/model/shipped.h"
#include "hass/error.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tools/hass-sim/sim.h"

static SimWorkload *
load (const char *text, GError **error)
{
  g_autofree char *path = trial_file (text);
  SimWorkload *w = sim_workload_load (path, error);
  unlink (path);
  return w;
}

static void
whole_file (void)
{
  g_autoptr (SimWorkload) w = load (
      "# a kernel\n[workload]\nname = k\nsource = a paper\nplatform = cap\n"
      "farm = combine\nclass = unknown\nunits = 300\nelements = 7\n"
      "input_bytes = 11\noutput_bytes = 12\nwork = 3.5\nrounds = 9\n"
      "entry_bytes = 1e6\nmerge_us = 4\ncosts = bimodal 0.25 8\nwarp = 32\n"
      "gpu_ramp = 2\nrepeat = yes\n[cpu]\nunit_us = 5\n[gpu]\nscale = 2\n"
      "[gpu Tesla]\nunit_us = 0.5\nwidth = 64\nlaunch_us = 3\ndepth = 2\n"
      "curve = saturating\n",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (w);
  CU_ASSERT_STRING_EQUAL (w->name, "k");
  CU_ASSERT_STRING_EQUAL (w->source, "a paper");
  CU_ASSERT_STRING_EQUAL (w->platform, "cap");
  CU_ASSERT_EQUAL (w->farm, HASS_FARM_COMBINE);
  CU_ASSERT_EQUAL (w->cost, HASS_COST_UNKNOWN);
  CU_ASSERT_EQUAL (w->units, 300);
  CU_ASSERT_EQUAL (w->elements, 7);
  CU_ASSERT_EQUAL (w->input_bytes, 11);
  CU_ASSERT_EQUAL (w->output_bytes, 12);
  CU_ASSERT_EQUAL (w->work, 3.5);
  CU_ASSERT_EQUAL (w->rounds, 9);
  CU_ASSERT_EQUAL (w->entry_bytes, 1e6);
  CU_ASSERT_EQUAL (w->merge_ns, 4000);
  CU_ASSERT_EQUAL (w->family, SIM_BIMODAL);
  CU_ASSERT_EQUAL (w->family_a, 0.25);
  CU_ASSERT_EQUAL (w->family_b, 8);
  CU_ASSERT_EQUAL (w->warp, 32);
  CU_ASSERT_EQUAL (w->gpu_ramp, 2);
  CU_ASSERT_TRUE (w->repeat);
  CU_ASSERT_EQUAL_FATAL (w->rates->len, 3);
  const SimRates *r = &g_array_index (w->rates, SimRates, 2);
  CU_ASSERT_STRING_EQUAL (r->which, "gpu Tesla");
  CU_ASSERT_EQUAL (r->unit_ns, 500);
  CU_ASSERT_EQUAL (r->width, 64);
  CU_ASSERT_EQUAL (r->launch_ns, 3000);
  CU_ASSERT_EQUAL (r->depth, 2);
  CU_ASSERT_EQUAL (r->curve, HASS_CURVE_SATURATING);
}

#define HEAD "[workload]\nunits = 10\n"
#define TASKS HEAD "farm = function\n"

static const struct
{
  const char *text, *line, *what;
} broken[] = {
  { "", "line 1:", "no [workload]" },
  { "[workload]\nname = x\n", "line 1:", "needs units" },
  { "[workload]\nunits = 0\n", "line 2:", "not in 1 to" },
  { "[workload]\nunits = 1.5\n", "line 2:", "not a whole number" },
  { "[workload]\nunits = 3\ngarbage\n", "line 3:", "garbage" },
  { HEAD "unit = 3\n", "line 3:", "knows no key 'unit'" },
  { HEAD "farm = pipeline\n", "line 3:", "partition, combine, indivisible" },
  { HEAD "class = large\n", "line 3:", "equal, sized, unknown" },
  { HEAD "class = unknown\ncosts = wavy 3\n", "line 4:", "known are equal" },
  { HEAD "class = unknown\ncosts = lognormal\n", "line 4:", "SIGMA" },
  { HEAD "class = unknown\ncosts = lognormal 9\n", "line 4:", "0 to 4" },
  { HEAD "class = unknown\ncosts = bimodal 0.5 3 4\n", "line 4:", "FACTOR" },
  { HEAD "costs = lognormal 1\n", "line 3:", "does not go with" },
  { HEAD "class = sized\ncosts = ramp-up 3\n", "line 3:", "partition" },
  { HEAD "elements = 3\ninput_bytes = 10\n", "line 3:", "multiples" },
  { HEAD "sizes = yes\n", "line 3:", "other than partition" },
  { HEAD "repeat = maybe\n", "line 3:", "yes or no" },
  { HEAD "[disk]\n", "line 3:", "unknown group [disk]" },
  { HEAD "[cpu]\nwidth = 3\n", "line 4:", "knows no key 'width'" },
  { HEAD "[gpu0]\nunit_us = -1\n", "line 4:", "not in" },
  { HEAD "[gpu0]\ncurve = round\n", "line 4:", "linear, saturating" },
  { HEAD "[function a]\n[function b]\n", "line 3:", "farm = function" },
  { TASKS "[function a]\n", "line 4:", "[function a] is the only" },
  { TASKS "[function a]\npart = 0\n", "line 5:", "part = 0 is not in 1e-06" },
  { TASKS "[function a]\ncpu_factor = 2e6\n", "line 5:", "1e-06 to 1000000" },
  { TASKS "[function a]\ngpu_factor = x\n", "line 5:", "not a number" },
  { TASKS "[function a]\nunit_us = 1\n", "line 5:", "no key 'unit_us'" },
  { TASKS "[function a]\n[function b]\n[function c]\n[function d]\n"
          "[function e]\n[function f]\n[function g]\n[function h]\n"
          "[function i]\n",
    "line 12:", "[function i] is function 9, at most 8" },
  { HEAD "class = sized\nfarm = function\nsizes = yes\n[function a]\n"
         "[function b]\n",
    "line 5:", "there are 2" },
  { TASKS "[function]\n", "line 4:", "[function NAME]" },
};

static void
broken_files (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      GError *error = NULL;
      SimWorkload *w = load (broken[i].text, &error);
      gboolean right
          = !w && g_error_matches (error, HASS_ERROR, HASS_ERROR_PLATFORM)
            && strstr (error->message, "workload file")
            && strstr (error->message, broken[i].line)
            && strstr (error->message, broken[i].what);
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    '%s' '%s' was due, got: %s", broken[i].line,
                    broken[i].what, error ? error->message : "success");
      g_clear_error (&error);
      g_clear_pointer (&w, sim_workload_free);
    }
}

static void
unknown_names (void)
{
  static const struct
  {
    const char *kind, *listed;
  } kinds[] = { { "platforms", "thesis" }, { "workloads", "cap-cg" } };
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_PTR_NULL (
          hass_shipped_find (kinds[i].kind, "nonsense", &error));
      CU_ASSERT_TRUE (error && strstr (error->message, "nonsense"));
      CU_ASSERT_TRUE (error && strstr (error->message, kinds[i].listed));
    }
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NULL (sim_suite ("nonsense", &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "kaleem"));
  g_clear_error (&error);
  CU_ASSERT_PTR_NULL (sim_strategies ("auto,nonsense", FALSE, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "naive-greedy"));
}

/* Each shipped workload is in a suite, and each suite's members load on
   their machines. */
static void
shipped_files (void)
{
  g_auto (GStrv) usual = sim_suite_names ();
  g_auto (GStrv) hard = sim_hard_suite_names ();
  g_autofree char *first = g_strjoinv (" ", usual);
  g_autofree char *last = g_strjoinv (" ", hard);
  g_autofree char *both = g_strconcat (first, " ", last, NULL);
  g_auto (GStrv) suites = g_strsplit (both, " ", -1);
  g_auto (GStrv) workloads = hass_shipped_names ("workloads");
  g_auto (GStrv) platforms = hass_shipped_names ("platforms");
  g_autoptr (GHashTable) used
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  CU_ASSERT_TRUE (g_strv_length (usual) >= 7 && g_strv_length (hard) >= 6);
  CU_ASSERT_TRUE (g_strv_length (workloads) >= 50);
  for (char **p = platforms; *p; p++)
    {
      g_autofree char *path = hass_shipped_find ("platforms", *p, NULL);
      g_autoptr (GError) error = NULL;
      HassPlatform *platform = hass_platform_load (path, "x", &error);
      CU_ASSERT_PTR_NOT_NULL (platform);
      if (error)
        g_printerr ("\n    %s", error->message);
      CU_ASSERT_STRING_EQUAL (platform ? platform->name : "", *p);
      g_clear_pointer (&platform, hass_platform_free);
    }
  for (char **s = suites; *s; s++)
    {
      g_auto (GStrv) members = sim_suite (*s, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (members);
      for (char **m = members; *m; m++)
        {
          g_auto (GStrv) part = g_strsplit (*m, "@", 2);
          g_autoptr (GError) error = NULL;
          g_autofree char *path
              = hass_shipped_find ("workloads", part[0], &error);
          SimWorkload *w = path ? sim_workload_load (path, &error) : NULL;
          CU_ASSERT_PTR_NOT_NULL (w);
          if (error)
            g_printerr ("\n    %s", error->message);
          if (!w)
            continue;
          CU_ASSERT_STRING_EQUAL (w->name, part[0]);
          const char *on = part[1] ? part[1] : w->platform;
          CU_ASSERT_TRUE (
              on && g_strv_contains ((const char *const *)platforms, on));
          g_hash_table_add (used, g_strdup (part[0]));
          sim_workload_free (w);
        }
    }
  for (char **w = workloads; *w; w++)
    {
      gboolean in_suite = g_hash_table_contains (used, *w);
      CU_ASSERT_TRUE (in_suite);
      if (!in_suite)
        g_printerr ("\n    %s is in no suite", *w);
    }
}

static void
strategy_lists (void)
{
  g_auto (GStrv) list = sim_strategies (
      "auto,static:cpu=0.5,gpu0=0.25,oracle,hass-ce", FALSE, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (list);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (list), 4);
  CU_ASSERT_STRING_EQUAL (list[1], "static:cpu=0.5,gpu0=0.25");
  CU_ASSERT_STRING_EQUAL (list[2], "oracle");
  for (guint oracle = 0; oracle < 2; oracle++)
    {
      g_auto (GStrv) all = sim_strategies ("all", (gboolean)oracle, NULL);
      const char *const *names = (const char *const *)all;
      CU_ASSERT_PTR_NOT_NULL_FATAL (all);
      CU_ASSERT_TRUE (g_strv_contains (names, "naive-greedy"));
      CU_ASSERT_EQUAL (g_strv_contains (names, "oracle"), oracle);
    }
}

/* Costs have the mean that the file gives, and the shape of their family. */
static void
families (void)
{
  static const char *const texts[]
      = { "lognormal 1", "bimodal 0.1 10", "ramp-up 8",
          "ramp-down 8", "sorted 1",       "clustered 8 4" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "[workload]\nunits = 1000\nwork = 5\nclass = unknown\nwarp = 16\n"
          "costs = %s\n",
          texts[i]);
      g_autoptr (SimWorkload) w = load (text, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (w);
      SimCosts a = sim_costs_new (w, 3), b = sim_costs_new (w, 3);
      CU_ASSERT_TRUE (fabs (a.cpu[1000] - 5000) < 1e-6);
      CU_ASSERT_TRUE (fabs (a.gpu[1000] - 5000) < 1e-6);
      CU_ASSERT_EQUAL (memcmp (a.cpu, b.cpu, 1001 * sizeof (double)), 0);
      double first = a.cpu[100], last = a.cpu[1000] - a.cpu[900];
      if (strstr (texts[i], "up") || strstr (texts[i], "sorted"))
        CU_ASSERT_TRUE (last > 3 * first);
      if (strstr (texts[i], "down"))
        CU_ASSERT_TRUE (first > 3 * last);
      /* Neighbours cost a GPU the same. */
      CU_ASSERT_TRUE (fabs ((a.gpu[17] - a.gpu[16]) - (a.gpu[32] - a.gpu[31]))
                      < 1e-9);
      g_free (a.cpu);
      g_free (a.gpu);
      g_free (b.cpu);
      g_free (b.gpu);
    }
}

HASS_TEST_SUITE (
    sim_files, { "every key of a workload is read in its unit", whole_file },
    { "a broken workload file is refused with line and reason", broken_files },
    { "unknown names are refused and the known ones listed", unknown_names },
    { "shipped files load, and each workload is in a suite", shipped_files },
    { "a list of strategies keeps commas of parameters", strategy_lists },
    { "costs have their family's shape, their mean and their seed", families })

/* SPDX-License-Identifier: MIT */
/* test_sim_random.c: the families of random workloads are what random.c says,
   no strategy beats the bound on them, and auto comes as near to it as it did.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "sim_test.h"
#include "tests/trials.h"

#define CASES 30

/* Virtual time is the same under a sanitizer, but takes ten times as long. */
#define ONE_OF TRIALS (1, 5, 5)

static void
expect (gboolean right, const SimCase *c, const char *what)
{
  CU_ASSERT_TRUE (right);
  if (!right)
    g_printerr ("\n    %s: %s", c->workload->name, what);
}

/* Elements that fill all GPUs, by those of the round. */
static double
widths_of (const SimCase *c)
{
  double width = 0;
  for (guint g = 0; g < c->platform->n_gpus; g++)
    width += (double)c->platform->gpus[g].width;
  return (double)c->workload->units * c->workload->elements / width;
}

/* Part of the units that cost over 20 times the median. */
static double
rare_part (const SimCase *c)
{
  guint32 n = c->workload->units, many = 0;
  double usual = c->workload->work / (0.99 + 100 * 0.01);
  for (guint32 i = 0; i < n; i++)
    many += sim_case_work (c, 0, FALSE, i, 1) > 20 * usual;
  return (double)many / n;
}

/* Returns the time of a unit's copy over that of its kernel, where it is
   longest. */
static double
copied_part (const SimCase *c)
{
  double most = 0;
  for (guint g = 0; g < c->platform->n_gpus; g++)
    {
      const HassGpuModel *gpu = &c->platform->gpus[g];
      double kernel_ns = c->workload->work / gpu->work_per_ns;
      double copy_ns = (double)c->workload->input_bytes / gpu->h2d_bytes_per_ns;
      most = MAX (most, copy_ns / kernel_ns);
    }
  return most;
}

/* A GPU is faster than a core in the first function, hardly in the second, and
   the tasks are no simple ones. */
static void
hold_to_functions (const SimCase *c)
{
  const SimWorkload *w = c->workload;
  const HassPlatform *p = c->platform;
  const HassGpuModel *gpu = p->gpus;
  g_autofree guint8 *of = sim_function_of_units (w);
  double cores = p->cores, times[HASS_MOST_FUNCTIONS] = { 0 };
  expect (p->n_gpus >= 1 && p->n_gpus <= 3, c, "GPUs");
  expect (w->n_functions >= 2 && w->n_functions <= 4, c, "functions");
  expect (w->units + 1 >= 0.25 * cores && w->units <= 100 * cores + 1, c,
          "units");
  expect (w->elements > 1 && (double)w->elements > 0.029 * (double)gpu->width
              && (double)w->elements < 3.1 * (double)gpu->width,
          c, "elements");
  for (guint32 i = 0; i < w->units; i++)
    times[of[i]] = sim_case_work (c, 0, FALSE, i, 1) / p->core_work_per_ns
                   / sim_case_work (c, 0, TRUE, i, 1) * gpu->work_per_ns;
  for (guint k = 0; k < w->n_functions && times[k] > 0; k++)
    expect (times[k] >= (k == 0 ? 1.99 : 0.199)
                && times[k] <= (k == 1 ? 2.01 : 1001),
            c, "how functions suit a GPU");
}

static void
hold_to_family (SimRandom family, const SimCase *c)
{
  const SimWorkload *w = c->workload;
  const HassPlatform *p = c->platform;
  double all = p->core_work_per_ns * p->cores;
  for (guint g = 0; g < p->n_gpus; g++)
    all += p->gpus[g].work_per_ns;
  switch (family)
    {
    case SIM_RANDOM_NARROW:
      if (p->n_gpus > 0)
        expect (widths_of (c) > 0.4 && widths_of (c) < 9, c, "widths");
      break;
    case SIM_RANDOM_RARE:
      expect (fabs (rare_part (c) - 0.01) < 0.007, c, "rare units");
      expect (w->cost != HASS_COST_EQUAL, c, "class");
      break;
    case SIM_RANDOM_UNSIZED:
      expect (w->cost == HASS_COST_SIZED && !w->sizes, c, "class");
      break;
    case SIM_RANDOM_LONG:
      expect (p->cores >= 16 && w->units * p->core_work_per_ns < 21 * all, c,
              "cores, units");
      break;
    case SIM_RANDOM_INDIVISIBLE:
      expect (w->farm == HASS_FARM_INDIVISIBLE, c, "farm");
      break;
    case SIM_RANDOM_FUNCTION:
      expect (w->farm == HASS_FARM_FUNCTION, c, "farm");
      break;
    case SIM_RANDOM_COPIED:
      if (p->n_gpus > 0)
        expect (copied_part (c) > 0.99, c, "copies");
      break;
    case SIM_RANDOM_FEW:
      expect (w->units <= 4 * (p->cores + p->n_gpus), c, "units");
      if (p->n_gpus > 0 && w->farm == HASS_FARM_COMBINE)
        expect (p->gpus[0].work_per_ns >= 2 * p->core_work_per_ns
                    && p->gpus[0].work_per_ns <= 1000 * p->core_work_per_ns,
                c, "rate of the first GPU");
      break;
    case SIM_RANDOM_FUNCTIONS:
      hold_to_functions (c);
      break;
    default:
      if (p->n_gpus > 0)
        expect (widths_of (c) >= 8, c, "widths");
    }
}

static void
families (void)
{
  for (SimRandom f = 0; f < SIM_RANDOM_FAMILIES; f++)
    for (guint i = 0; i < CASES; i++)
      {
        g_autoptr (SimCase) c = sim_random_case_of (f, 5, i, 1);
        g_autoptr (SimCase) again = sim_random_case_of (f, 5, i, 1);
        hold_to_family (f, c);
        CU_ASSERT_EQUAL (c->workload->units, again->workload->units);
        CU_ASSERT_EQUAL (c->workload->input_bytes,
                         again->workload->input_bytes);
      }
  CU_ASSERT_PTR_NULL (sim_random_name (SIM_RANDOM_FAMILIES));
}

static void
under_the_bound (void)
{
  g_auto (GStrv) all = sim_test_strategies ();
  guint n = 0;
  for (SimRandom f = SIM_RANDOM_NARROW; f < SIM_RANDOM_FAMILIES; f++)
    for (guint i = 0; i < CASES / 8; i += ONE_OF)
      {
        g_autoptr (SimCase) c = sim_random_case_of (f, 8, i, 2);
        sim_bounds (c);
        for (char **s = all; *s; s++)
          {
            HassSimResult *r
                = strcmp (*s, "oracle") == 0 ? NULL : sim_run (c, *s, NULL);
            for (guint k = 0; r && k < r->n_rounds; k++, n++)
              {
                double ns
                    = (double)(r->rounds[k].end_ns - r->rounds[k].begin_ns);
                expect (ns >= c->bound_ns[k] * (1 - 1e-5) - 20, c, *s);
              }
            if (r)
              sim_result_free (r);
          }
      }
  printf ("\n    %u rounds ...", n);
}

/* Neither a strategy nor the workloads' files break where they are hard. */
static void
hard_suites (void)
{
  g_auto (GStrv) suites = sim_hard_suite_names ();
  g_auto (GStrv) all = sim_suite_names ();
  guint n = 0;
  double logs = 0;
  for (char **s = suites; *s; s++)
    {
      g_auto (GStrv) entries = sim_suite (*s, NULL);
      CU_ASSERT_FALSE (g_strv_contains ((const char *const *)all, *s));
      for (char **e = entries; *e; e++, n++)
        {
          g_autoptr (SimCase) c = sim_test_shipped (*e, 20, 1, NULL, 0);
          HassSimResult *r = sim_run (c, "auto", NULL);
          expect (!r->refused && r->efficiency < 1.0001, c, "auto");
          logs += log (MAX (r->efficiency, 1e-9));
          sim_result_free (r);
        }
    }
  printf ("\n    %u workloads, %.1f %% of the bound ...", n,
          100 * exp (logs / MAX (n, 1)));
  CU_ASSERT_TRUE (n >= 15);
}

HASS_TEST_SUITE (sim_random, { "auto runs all hard suites", hard_suites },
                 { "families of random workloads are what they say", families },
                 { "no strategy beats the bound on them", under_the_bound })

/* SPDX-License-Identifier: MIT */
/* test_contract.c: every strategy, every farm kind it serves, in virtual time
   and live: each unit is computed once and delivered once. trial.h says what
   is checked; here is what is tried.
   Thread safety: one thread. */
#include <stdlib.h>
#include <unistd.h>

#include "hass_test.h"
#include "sched/registry.h"
#include "tests/engine/rogue.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"
#include "tests/trials.h"

/* The same trials each time; HASS_ is the library's prefix, so not ours. */
static GRand *
dice (guint32 preset)
{
  const char *seed = g_getenv ("TEST_SEED");
  return g_rand_new_with_seed (seed ? (guint32)strtoul (seed, NULL, 0)
                                    : preset);
}

static guint
tries (guint n)
{
  const char *factor = g_getenv ("TEST_TRIES");
  n = TRIALS (n, n / 4 + 1, n / 4 + 1);
  return factor ? n * (guint)strtoul (factor, NULL, 0) : n;
}

/* A machine of any shape. Returns the file; says whether it has a CPU. */
static char *
random_platform (GRand *r, gboolean *has_cpu, gboolean *noisy)
{
  static const double noises[] = { 0, 0.05, 0.5 };
  GString *s = g_string_new ("[platform]\n");
  guint n_gpus = g_rand_int_range (r, 0, 4);
  if (g_rand_int_range (r, 0, 6) == 0)
    n_gpus = 8;
  *has_cpu = n_gpus == 0 || g_rand_int_range (r, 0, 4) > 0;
  double noise = noises[g_rand_int_range (r, 0, 3)];
  *noisy = noise > 0;
  g_string_append_printf (s, "noise = %g\ncalibrated = %s\n", noise,
                          g_rand_boolean (r) ? "yes" : "no");
  if (*has_cpu)
    g_string_append_printf (s, "[cpu]\ncores = %d\nwork_per_us = %g\n",
                            g_rand_int_range (r, 1, 65),
                            g_rand_double_range (r, 0.1, 20));
  for (guint g = 0; g < n_gpus; g++)
    g_string_append_printf (
        s,
        "[gpu%u]\nmultiprocessors = %d\nwidth = %d\nwork_per_us = %g\n"
        "launch_us = %g\nlink_us = %g\nh2d_gbps = %g\nduplex = %s\n"
        "depth = %d\ncurve = %s\n%s",
        g, g_rand_int_range (r, 1, 20), g_rand_int_range (r, 1, 2000),
        g_rand_double_range (r, 0.1, 500), g_rand_double_range (r, 0, 30),
        g_rand_double_range (r, 0, 30), g_rand_double_range (r, 0.001, 50),
        g_rand_boolean (r) ? "yes" : "no", g_rand_int_range (r, 1, 4),
        g_rand_boolean (r) ? "linear" : "saturating",
        g_rand_boolean (r) ? "link = shared\n" : "");
  char *path = trial_file (s->str);
  g_string_free (s, TRUE);
  return path;
}

static void
random_trial (GRand *r, Trial *t)
{
  static const guint counts[] = { 0, 1, 2, 3, 7, 40, 150, 400 };
  t->seed = g_rand_int (r);
  t->cost = g_rand_int_range (r, 0, 3);
  t->n_loads = counts[g_rand_int_range (r, 0, G_N_ELEMENTS (counts))];
  t->most_elements = g_rand_boolean (r) ? 1 : 40;
  if (t->kind == HASS_FARM_PARTITION)
    {
      t->n_loads = MIN (t->n_loads, 7);
      t->most_elements = 1 + g_rand_int_range (r, 0, 2000);
      t->block_elements = g_rand_int_range (r, 0, 30);
      t->own_partition = g_rand_int_range (r, 0, 3) == 0;
      t->halo = g_rand_int_range (r, 0, 4);
    }
  t->n_generated = t->n_loads ? g_rand_int_range (r, 0, t->n_loads + 1) : 0;
  t->round_loads = g_rand_boolean (r) ? 0 : g_rand_int_range (r, 1, 60);
  t->pool_loads = g_rand_boolean (r) ? 0 : g_rand_int_range (r, 1, 50);
  t->nested_percent = g_rand_int_range (r, 0, 3) ? 0 : 40;
  t->collect = g_rand_boolean (r);
  t->ordered = t->collect && g_rand_boolean (r);
  t->reduce = g_rand_boolean (r);
  t->odd_tasks = g_rand_boolean (r);
}

static void
random_trouble (GRand *r, Trial *t)
{
  switch (g_rand_int_range (r, 0, 4))
    {
    case 0:
      t->fail_percent = 20;
      t->on_error = HASS_ON_ERROR_CONTINUE;
      break;
    case 1:
      t->fail_percent = g_rand_boolean (r) ? 1 : 30;
      t->on_error = HASS_ON_ERROR_STOP;
      break;
    case 2:
      t->cancel_after = 1 + g_rand_int_range (r, 0, 60);
      break;
    default:
      break;
    }
}

typedef void (*TrialFunc) (Trial *t, GRand *r);

/* For each strategy and each kind that it serves. TEST_STRATEGY in the
   environment names the only one to be tried. */
static void
each_strategy (GRand *r, guint n, TrialFunc run)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  const char *only = g_getenv ("TEST_STRATEGY");
  for (guint s = 0; list[s]; s++)
    for (HassFarmKind kind = 1; kind & HASS_FARM_ANY; kind <<= 1)
      for (guint i = 0; i < n && (list[s]->farms & kind)
                        && (only == NULL || g_str_equal (only, list[s]->name));
           i++)
        {
          Trial t = { .kind = kind, .strategy = list[s]->name };
          run (&t, r);
        }
}

static void
each_rogue (GRand *r, guint n, TrialFunc run)
{
  if (g_getenv ("TEST_STRATEGY"))
    return;
  for (const char *const *name = rogue_strategies (); *name; name++)
    for (HassFarmKind kind = 1; kind & HASS_FARM_ANY; kind <<= 1)
      for (guint i = 0; i < n; i++)
        {
          Trial t = { .kind = kind, .strategy = *name };
          run (&t, r);
        }
}

static void
on_model (Trial *t, GRand *r, gboolean trouble)
{
  gboolean has_cpu;
  g_autofree char *path = random_platform (r, &has_cpu, &t->noisy);
  random_trial (r, t);
  if (trouble)
    random_trouble (r, t);
  if (!has_cpu)
    t->odd_tasks = FALSE; /* a task for cores alone could not run */
  t->platform = path;
  trial_expect (t);
  unlink (path);
}

static void
virtual_calm (Trial *t, GRand *r)
{
  on_model (t, r, FALSE);
}

static void
virtual_troubled (Trial *t, GRand *r)
{
  on_model (t, r, TRUE);
}

static void
live_cpu (Trial *t, GRand *r)
{
  random_trial (r, t);
  random_trouble (r, t);
  t->n_cores = g_rand_int_range (r, 1, 5);
  t->spin_us = g_rand_int_range (r, 0, 3) ? 0 : 30;
  trial_expect (t);
}

static void
live_devices (Trial *t, GRand *r)
{
  static const char *const names[] = { "gpu0", "gpu1", "gpu2" };
  random_trial (r, t);
  random_trouble (r, t);
  t->n_cores = g_rand_int_range (r, 1, 4);
  t->n_devices = g_rand_int_range (r, 1, TRIAL_DEVICES + 1);
  for (guint d = 0; d < t->n_devices; d++)
    {
      StandInPlan plan = { .name = names[d],
                           .depth = g_rand_int_range (r, 1, 4),
                           .width = g_rand_int_range (r, 1, 100),
                           .delay_us = g_rand_int_range (r, 0, 100) };
      t->devices[d] = stand_in_new (&plan);
    }
  trial_expect (t);
  for (guint d = 0; d < t->n_devices; d++)
    {
      StandInCounts c = stand_in_counts (t->devices[d]);
      CU_ASSERT_PTR_NULL (c.wrong);
      CU_ASSERT_EQUAL (c.opened, c.closed);
      stand_in_free (t->devices[d]);
    }
}

/* -- Tests -------------------------------------------------------------- */

static void
in_virtual_time (void)
{
  g_autoptr (GRand) r = dice (1);
  each_strategy (r, tries (40), virtual_calm);
}

static void
in_trouble (void)
{
  g_autoptr (GRand) r = dice (2);
  each_strategy (r, tries (40), virtual_troubled);
}

static void
live_on_cores (void)
{
  g_autoptr (GRand) r = dice (3);
  each_strategy (r, tries (12), live_cpu);
}

static void
live_with_devices (void)
{
  g_autoptr (GRand) r = dice (4);
  each_strategy (r, tries (12), live_devices);
}

static void
rogues_in_virtual_time (void)
{
  g_autoptr (GRand) r = dice (5);
  each_rogue (r, tries (40), virtual_calm);
  each_rogue (r, tries (20), virtual_troubled);
}

static void
rogues_live (void)
{
  g_autoptr (GRand) r = dice (6);
  each_rogue (r, tries (12), live_cpu);
  each_rogue (r, tries (12), live_devices);
}

HASS_TEST_SUITE (
    contract,
    { "each unit is computed and delivered once on 1 to 4 cores",
      live_on_cores },
    { "each unit is computed and delivered once with 1 to 3 devices beside the "
      "cores",
      live_with_devices },
    { "no strategy can keep a live farm from its end", rogues_live })

HASS_TEST_SUITE (
    contract_virtual,
    { "each unit is computed and delivered once on any modelled machine",
      in_virtual_time },
    { "each unit is delivered at most once when units fail or the farm is "
      "cancelled",
      in_trouble },
    { "no strategy can keep a farm in virtual time from its end",
      rogues_in_virtual_time })

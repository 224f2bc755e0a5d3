/* SPDX-License-Identifier: MIT */
/* test_storm.c: farms of any kind, under any strategy, several at once, on GPUs
   that fail in any way: each of them ends, and its books are right.

   DESIGN. A seed makes a plan: one to four GPUs of the stand-in for the CUDA
   runtime, one to four faults, and one to three trials that run at the same
   time. trial.h says what is held against each. The seed is all that a plan
   depends on but for the threads' timing.

   TEST_FARMS is the number of farms, TEST_SEED the first plan's seed, the next
   plans have the next seeds: `make soak FARMS=1 SEED=n` runs plan n alone. A
   plan that hangs ends the program, with its seed.

   Thread safety: one thread, beside those of a plan's trials. */
#include <stdlib.h>
#include <string.h>

#include "device/fake_cudart.h"
#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "tests/engine/rogue.h"
#include "sched/registry.h"
#include "tests/engine/trial.h"
#include "tests/chance.h"
#include "tests/trials.h"

#define MOST_TRIALS 3
#define MOST_FAULTS 4
#define PATIENCE_S 60
#define MOST_WRONG 10 /* then it is enough */
#define TELL_EVERY 5000
#define FARMS TRIALS (1000, 300, 300)

typedef struct
{
  guint64 seed;
  FakePlan faults;
  GString *text; /* what they are */
  guint n_gpus, n_trials;
  gboolean hangs;
  Trial trials[MOST_TRIALS];
} Plan;

/* What has happened in all. */
typedef struct
{
  guint64 plans, farms, whole, failed, faults, hung, lost, units, unfinished;
  guint64 gpu_units;
} Tally;

/* -- Farms -------------------------------------------------------------- */

static const char *
strategy_for (GRand *r, HassFarmKind kind)
{
  static guint n;
  if (one_in (r, 8))
    return rogue_strategies ()[below (r, 7)];
  for (n = 0; hass_builtin_strategies[n]; n++)
    ;
  for (;;)
    {
      const HassStrategyOps *ops = hass_builtin_strategies[below (r, n)];
      if (ops->farms & kind)
        return ops->name;
    }
}

static void
plan_trouble (GRand *r, Trial *t)
{
  switch (below (r, 8))
    {
    case 0:
      t->fail_percent = 10;
      break;
    case 1:
      t->cancel_after = 1 + below (r, 40);
      break;
    case 2:
      t->deadline_ms = 1 + below (r, 10);
      break;
    default:
      break;
    }
  /* A unit that no GPU has the memory for fails as one of its worker does, and
     only a farm that stops says which. */
  if (!t->may_fail_device && one_in (r, 2))
    t->on_error = HASS_ON_ERROR_CONTINUE;
}

static void
plan_trial (GRand *r, const Plan *p, Trial *t)
{
  static const HassFarmKind kinds[]
      = { HASS_FARM_COMBINE, HASS_FARM_PARTITION, HASS_FARM_FUNCTION,
          HASS_FARM_INDIVISIBLE };
  t->kind = kinds[below (r, 4)];
  t->strategy = strategy_for (r, t->kind);
  t->unwatched = t->noisy = TRUE;
  t->seed = g_rand_int (r);
  t->n_gpus = p->n_gpus;
  t->n_cores = 1 + below (r, 3);
  t->cost = below (r, 3);
  t->n_loads = below (r, 1 << (1 + below (r, 7)));
  t->most_elements = 1 << below (r, 10);
  if (one_in (r, 10)) /* not in staging's smallest buffers */
    {
      t->n_loads = MIN (t->n_loads, 6);
      t->most_elements = 200000;
    }
  if (t->kind == HASS_FARM_PARTITION)
    {
      t->n_loads = MIN (t->n_loads, 3);
      t->block_elements = 1 + t->most_elements / (1 + below (r, 60));
      t->own_partition = t->most_elements < 2000 && one_in (r, 3);
      t->halo = below (r, 4);
    }
  t->n_generated = one_in (r, 2) ? 0 : below (r, t->n_loads + 1);
  t->round_loads = one_in (r, 2) ? 0 : 1 + below (r, 60);
  t->pool_loads = one_in (r, 2) ? 0 : 1 + below (r, 50);
  t->nested_percent = one_in (r, 3) ? 40 : 0;
  t->collect = one_in (r, 2);
  t->ordered = t->collect && one_in (r, 2);
  t->reduce = !one_in (r, 4);
  t->odd_tasks = one_in (r, 2);
  t->gpu_only = one_in (r, 4);
  t->pinned = one_in (r, 3);
  t->records = t->kind != HASS_FARM_FUNCTION && one_in (r, 3);
  t->spin_us = one_in (r, 2) ? 0 : 60;
  t->may_fail_device = t->gpu_only
                       || (t->kind == HASS_FARM_FUNCTION && t->odd_tasks)
                       || strcmp (t->strategy, "gpu-only") == 0;
  if (p->hangs || one_in (r, 4))
    t->bundle_deadline_ms = 15 + below (r, 30);
  plan_trouble (r, t);
}

static void
plan_init (Plan *p, guint64 seed)
{
  g_autoptr (GRand) r
      = g_rand_new_with_seed_array ((guint32[]){ seed, seed >> 32 }, 2);
  *p = (Plan){ .seed = seed,
               .text = g_string_new (NULL),
               .n_gpus = 1 + below (r, FAKE_DEVICES),
               .n_trials = 1 + below (r, MOST_TRIALS) };
  g_string_printf (p->text, "seed %" G_GUINT64_FORMAT ": %u gpus", seed,
                   p->n_gpus);
  for (guint i = 1 + below (r, MOST_FAULTS); i > 0; i--)
    fake_add_fault (r, p->n_gpus, &p->faults, p->text);
  p->hangs = p->faults.hang_kernel_at > 0;
  p->faults.n_devices = p->n_gpus;
  p->faults.start_ms = one_in (r, 4) ? below (r, 5) : 0;
  for (guint i = 0; i < p->n_trials; i++)
    plan_trial (r, p, &p->trials[i]);
}

/* -- Running ------------------------------------------------------------ */

typedef struct
{
  const Trial *trial;
  HassReport *report;
  char *wrong;
} Run;

static gpointer
run_trial (gpointer data)
{
  Run *run = data;
  run->wrong = trial_run (run->trial, &run->report);
  return NULL;
}

static gboolean
add_up (Tally *tally, const HassReport *r)
{
  gboolean lost = FALSE;
  for (guint d = 0; r && d < r->n_devices; d++)
    {
      tally->lost += r->devices[d].lost;
      lost |= r->devices[d].lost;
      if (r->devices[d].kind == HASS_DEVICE_GPU)
        tally->gpu_units += r->devices[d].units;
    }
  tally->farms++;
  tally->units += r ? r->units : 0;
  tally->unfinished += r ? r->n_unfinished : 0;
  tally->whole += r && r->n_unfinished == 0;
  tally->failed += !r || r->n_unfinished > 0;
  return lost;
}

/* FALSE: something was wrong, and has been told. */
static gboolean
run_plan (Plan *p, Tally *tally)
{
  Run runs[MOST_TRIALS] = { 0 };
  GThread *threads[MOST_TRIALS];
  const FakePlan calm = { .n_devices = p->n_gpus };
  gboolean ok = TRUE, lost = FALSE;
  hass_gpus_forget ();
  fake_cudart_install (&calm);
  fake_cudart_plan (&p->faults);
  watchdog (PATIENCE_S, p->text->str);
  for (guint i = 0; i < p->n_trials; i++)
    {
      runs[i].trial = &p->trials[i];
      threads[i] = g_thread_new ("trial", run_trial, &runs[i]);
    }
  for (guint i = 0; i < p->n_trials; i++)
    g_thread_join (threads[i]);
  fake_cudart_plan (&calm);
  tally->hung += fake_hanging ();
  fake_end_hang ();
  hass_gpus_forget ();
  FakeCounts counts = fake_cudart_remove ();
  watchdog (0, NULL);
  tally->plans++;
  tally->faults += counts.faults;
  for (guint i = 0; i < p->n_trials; i++)
    {
      lost |= add_up (tally, runs[i].report);
      if (runs[i].wrong)
        g_printerr ("\n    %s\n    %s", p->text->str, runs[i].wrong);
      ok &= runs[i].wrong == NULL;
      g_free (runs[i].wrong);
      hass_report_free (runs[i].report);
    }
  /* Pages that a lost GPU may be reading stay pinned. */
  gboolean leaks = counts.leaks[0]
                   && !(lost && g_str_has_suffix (counts.leaks, "registrations")
                        && !strstr (counts.leaks, "alloc"));
  if (counts.wrong[0] || leaks)
    g_printerr ("\n    %s: %s %s", p->text->str, counts.wrong,
                leaks ? counts.leaks : "");
  return ok && !counts.wrong[0] && !leaks;
}

static void
tell (const Tally *t, guint64 first, guint64 last)
{
  printf ("\n    seeds %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
          ": %" G_GUINT64_FORMAT " farms, %" G_GUINT64_FORMAT
          " whole, %" G_GUINT64_FORMAT " failed, %" G_GUINT64_FORMAT
          " units, %" G_GUINT64_FORMAT " of them by GPUs; %" G_GUINT64_FORMAT
          " faults, %" G_GUINT64_FORMAT
          " GPUs lost to a farm, %" G_GUINT64_FORMAT " hung ",
          first, last, t->farms, t->whole, t->failed, t->units, t->gpu_units,
          t->faults, t->lost, t->hung);
  fflush (stdout);
}

static guint64
from_environment (const char *name, guint64 preset)
{
  const char *text = g_getenv (name);
  return text && *text ? g_ascii_strtoull (text, NULL, 0) : preset;
}

static void
storm (void)
{
  guint64 farms = from_environment ("TEST_FARMS", FARMS);
  guint64 first = from_environment ("TEST_SEED", 1), seed = first;
  guint n_wrong = 0;
  Tally tally = { 0 };
  guint64 told = 0;
  for (; tally.farms < farms && n_wrong < MOST_WRONG; seed++)
    {
      Plan p;
      plan_init (&p, seed);
      if (!run_plan (&p, &tally))
        n_wrong++;
      g_string_free (p.text, TRUE);
      if (tally.farms / TELL_EVERY > told)
        tell (&tally, first, seed);
      told = tally.farms / TELL_EVERY;
    }
  tell (&tally, first, seed - 1);
  CU_ASSERT_EQUAL (n_wrong, 0);
  CU_ASSERT_TRUE (farms < FARMS
                  || (tally.faults > 0 && tally.lost > 0 && tally.hung > 0
                      && tally.gpu_units > 0));
}

HASS_TEST_SUITE (storm, { "farms on GPUs that fail in any way end and keep "
                          "their books",
                          storm })

/* SPDX-License-Identifier: MIT */
/* device_mix.c: see device_mix.h.
   Thread safety: see device_mix.h. */
#include "device_mix.h"

#include <stdlib.h>

#include "crowd.h"
#include "engine/graph/place.h"
#include "graph_run.h"
#include "hass_test.h"
#include "tests/engine/stand_in_data.h"
#include "tests/engine/trial.h"
#include "tests/chance.h"

#define MOST_DEVICES 3
#define PATIENCE_S 60
#define MOST_WRONG 5 /* then it is enough */

/* -- Devices ------------------------------------------------------------ */

/* @needed: what the device must have room for; 0: nothing. */
static gsize
random_memory (GRand *rand, gsize needed, gsize largest)
{
  if (needed > 0)
    return one_in (rand, 2) ? needed : needed + below (rand, 2 * needed);
  return 1 + below (rand, 2 * largest + 1);
}

/* Returns: the deadline for operations, in ms, or 0. */
static gint64
add_fault (GRand *rand, StandInDataPlan *plan)
{
  switch (below (rand, 10))
    {
    case 0:
      plan->fail_alloc_at = 1 + below (rand, 30);
      break;
    case 1:
      plan->fail_alloc_every = 1 + below (rand, 8);
      break;
    case 2:
      plan->refuse_at = 1 + below (rand, 40);
      break;
    case 3:
      plan->refuse_every = 1 + below (rand, 12);
      break;
    case 4:
      plan->fail_at = 1 + below (rand, 40);
      break;
    case 5:
      plan->fail_every = 1 + below (rand, 12);
      break;
    case 6:
      plan->lose_at = 1 + below (rand, 60);
      break;
    case 7:
      plan->lose_at_call = 1 + below (rand, 60);
      break;
    case 8:
      plan->hang_at = 1 + below (rand, 40);
      return 5 + below (rand, 10);
    default:
      plan->fail_open = one_in (rand, 2);
      plan->open_waits = !plan->fail_open;
    }
  return 0;
}

/* Returns: the deadline for operations, in ms, or 0. */
static gint64
plan_devices (const DeviceMix *mix, const GraphPlan *p, GRand *rand,
              StandInDataPlan *plans, guint n)
{
  static const char *const names[] = { "gpu0", "gpu1", "gpu2" };
  gsize alone = graph_plan_need (p, TRUE), largest = graph_plan_need (p, FALSE);
  gint64 deadline = 0;
  for (guint i = 0; i < n; i++)
    {
      StandInDataPlan *s = &plans[i];
      gboolean needed = i == n - 1 && mix->flags & PLAN_ALONE;
      *s = (StandInDataPlan){ .name = names[i],
                              .seed = g_rand_int (rand),
                              .most_computing = below (rand, 4),
                              .threads = one_in (rand, 3) ? 2 : 0,
                              .kind = one_in (rand, 4) ? names[i] : NULL };
      s->delay_us = s->threads > 0 && one_in (rand, 3) ? 30 : 0;
      if (mix->small)
        s->memory_bytes = random_memory (rand, needed ? alone : 0, largest);
      for (guint k = below (rand, 3); mix->faulty && !needed && k < 3; k++)
        {
          gint64 of_fault = add_fault (rand, s);
          deadline = MAX (deadline, of_fault);
        }
    }
  return deadline;
}

/* -- Running ------------------------------------------------------------ */

/* Adds up what a device did. Returns: what is wrong with it, or NULL. */
static const char *
add_up (const StandInDataPlan *plan, HassDevice *device, DeviceTally *tally)
{
  StandInDataCounts c = stand_in_data_counts (device);
  tally->computed += c.computed;
  tally->failed += c.failed;
  tally->no_memory += c.no_memory;
  tally->lost += c.lost;
  tally->copies += c.copies_in + c.copies_out + c.copies_peer;
  if (c.wrong)
    return c.wrong;
  if (c.bytes > 0 || c.opened != c.closed)
    return "memory, or an open device, is left";
  if (plan->memory_bytes > 0 && c.most_bytes > plan->memory_bytes)
    return "it gave more memory than it has";
  return NULL;
}

static char *
run_graph (const DeviceMix *mix, const GraphPlan *p, GRand *rand,
           DeviceTally *tally)
{
  static const gsize windows[] = { 2, 4, 16, 64, 0 };
  guint least = mix->faulty && mix->flags & PLAN_ALONE ? 2 : 1;
  guint n = least + below (rand, MOST_DEVICES + 1 - least);
  StandInDataPlan plans[MOST_DEVICES];
  HassDevice *devices[MOST_DEVICES];
  GraphSettings settings = { .window = windows[below (rand, 5)],
                             .n_cores = 1 + below (rand, 3),
                             .devices = devices,
                             .n_devices = n,
                             .strategy = mix->strategy };
  settings.bundle_deadline_ms = plan_devices (mix, p, rand, plans, n);
  gsize preset = hass_mover_least; /* data are small here */
  hass_mover_least = one_in (rand, 3) ? 1 : preset;
  for (guint i = 0; i < n; i++)
    devices[i] = stand_in_data_new (&plans[i]);
  char *wrong = mix->flags & PLAN_RECORDS ? graph_run_recorded (p, &settings)
                                          : graph_run (p, &settings);
  for (guint i = 0; i < n; i++)
    {
      const char *why = add_up (&plans[i], devices[i], tally);
      if (why && !wrong)
        wrong = g_strdup_printf ("%s: %s", plans[i].name, why);
      stand_in_data_free (devices[i]);
    }
  hass_mover_least = preset;
  tally->graphs++;
  return wrong;
}

static guint64
from_environment (const char *name, guint64 preset)
{
  const char *text = g_getenv (name);
  return text && *text ? g_ascii_strtoull (text, NULL, 0) : preset;
}

void
device_mix_run (const DeviceMix *mix, DeviceTally *tally)
{
  guint64 n = from_environment ("TEST_FARMS", CROWD_SCALE (mix->n));
  guint64 first = from_environment ("TEST_SEED", 1);
  guint n_wrong = 0;
  for (guint64 i = 0; i < n && n_wrong < MOST_WRONG; i++)
    {
      guint32 seed = (guint32)(first + i);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      guint n_tasks = 10 + below (rand, one_in (rand, 4) ? 300 : 80);
      g_autoptr (GraphPlan) p = graph_plan_new (seed, n_tasks, mix->flags);
      g_autofree char *what = g_strdup_printf (
          "%s%s%s, seed %u", mix->strategy ? mix->strategy : "",
          mix->strategy ? ", " : "", mix->name, seed);
      watchdog (PATIENCE_S, what);
      g_autofree char *wrong = run_graph (mix, p, rand, tally);
      watchdog (0, NULL);
      if (wrong)
        g_printerr ("\n    %s: %s", what, wrong);
      n_wrong += wrong != NULL;
    }
  CU_ASSERT_EQUAL (n_wrong, 0);
}

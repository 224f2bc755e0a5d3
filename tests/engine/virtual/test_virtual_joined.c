/* SPDX-License-Identifier: MIT */
/* test_virtual_joined.c: divisible loads that become one round beside a device.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "engine/virtual/virtual.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

static gboolean
nothing (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

#define N_JOINED 600

typedef struct
{
  const HassLoad *loads;
  guint elements[N_JOINED], committed[N_JOINED], dropped[N_JOINED];
} Joined;

static gboolean
count_block (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  Joined *j = data;
  (void)worker, (void)error;
  j->elements[block->seq]
      += block->load == &j->loads[block->seq]
                 && block->first + block->count <= block->load->size
             ? block->count
             : 1000000;
  return TRUE;
}

static void
count_release (const HassLoad *load, gboolean committed, gpointer data)
{
  Joined *j = data;
  (committed ? j->committed : j->dropped)[load - j->loads]++;
}

/* Divisible loads of 50 us each, every tenth of which has no size, @per_round
   at most in a round. Returns: the number of rounds. */
static guint64
rounds_of (const char *platform, gsize per_round)
{
  g_autoptr (HassReport) report = NULL;
  HassLoad loads[N_JOINED];
  Joined j = { .loads = loads };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  guint wrong = 0;
  for (guint i = 0; i < N_JOINED; i++)
    loads[i] = (HassLoad){ .size = i % 10 == 5 ? 0 : 900 + i };
  f.loads = loads;
  f.n_loads = N_JOINED;
  f.run.platform = platform;
  f.cpu_worker = count_block;
  f.release = count_release;
  f.user_data = &j;
  f.round_loads = per_round;
  f.run.on_error = HASS_ON_ERROR_CONTINUE;
  watchdog (20, "joined");
  CU_ASSERT_TRUE (hass_data_farm_partition (&f, &report, NULL));
  watchdog (0, NULL);
  for (guint i = 0; i < N_JOINED; i++)
    wrong += j.elements[i] != loads[i].size
             || j.committed[i] != (loads[i].size > 0)
             || j.dropped[i] != (loads[i].size == 0);
  CU_ASSERT_EQUAL (wrong, 0);
  CU_ASSERT_EQUAL (report->n_unfinished, N_JOINED / 10);
  return report->rounds;
}

/* Beside a device several loads are one round; the first shows how many. */
static void
loads_are_joined (void)
{
  g_autofree char *gpus = trial_two_gpus ("0");
  g_autofree char *cores = trial_file ("[platform]\nname = cores\n[cpu]\n"
                                       "cores = 4\nwork_per_us = 1\n");
  guint64 n = rounds_of (gpus, 0);
  CU_ASSERT (n >= 2 && n <= 5);
  CU_ASSERT_EQUAL (rounds_of (gpus, 1), N_JOINED * 9 / 10);
  CU_ASSERT_EQUAL (rounds_of (cores, 0), N_JOINED * 9 / 10);
  unlink (gpus);
  unlink (cores);
}

/* Where rates are known from earlier runs, the first round holds several. */
static void
known_loads_are_joined (void)
{
  g_autofree char *path = trial_two_gpus ("0");
  const HassProfileRate rates[] = { { .work_per_ns = 4e-3 },
                                    { .work_per_ns = 1e-2 },
                                    { .work_per_ns = 5e-3 } };
  HassLoad loads[100];
  for (guint i = 0; i < G_N_ELEMENTS (loads); i++)
    loads[i] = (HassLoad){ .size = 1000 };
  for (guint known = 0; known < 2; known++)
    {
      HassRunOptions options = { .dry = TRUE };
      HassFarm farm = { .name = "known",
                        .kind = HASS_FARM_PARTITION,
                        .loads = loads,
                        .n_loads = G_N_ELEMENTS (loads),
                        .cpu_worker = nothing,
                        .pool_loads = 1000,
                        .pool_bytes = G_MAXSIZE,
                        .round_loads = 1000,
                        .window = G_MAXUINT32,
                        .strategy = "auto",
                        .profile = known ? rates : NULL,
                        .run = &options };
      HassPlatform *platform = hass_platform_load (path, "known", NULL);
      g_autoptr (HassReport) report = NULL;
      watchdog (20, "known");
      CU_ASSERT_TRUE (hass_virtual_run (&farm, platform, &report, NULL));
      watchdog (0, NULL);
      CU_ASSERT_EQUAL (report->rounds, known ? 1 : 2);
      hass_platform_free (platform);
    }
  unlink (path);
}

static gboolean
emit_many (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1000 };
  (void)data, (void)error;
  for (guint i = 0; i < 100; i++)
    hass_emitter_emit (emitter, &load);
  return TRUE;
}

/* Returns: the most units of a round in a trace, but for the last round. */
static guint64
most_units (const char *path)
{
  g_autofree char *text = NULL;
  guint64 most = 0, last = 0;
  g_file_get_contents (path, &text, NULL, NULL);
  const char *at = text;
  while (at && (at = strstr (at, "\"event\":\"round\"")))
    {
      at = strstr (at, "\"units\":");
      most = MAX (most, last);
      last = at ? g_ascii_strtoull (at + 8, NULL, 10) : 0;
    }
  return most;
}

/* A round leaves half of a full pool, so that the generator has room while it
   runs and devices have loads when it has ended; but for the last, when nothing
   more comes. */
static void
half_a_pool_is_joined (void)
{
  g_autofree char *platform = trial_two_gpus ("0");
  g_autofree char *trace = trial_file ("");
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = emit_many;
  f.cpu_worker = nothing;
  f.block_elements = 1000;
  f.pool_loads = 8;
  f.run.platform = platform;
  f.run.trace = trace;
  f.run.dry = TRUE;
  watchdog (20, "half a pool");
  CU_ASSERT_TRUE (hass_data_farm_partition (&f, NULL, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (most_units (trace), 4);
  unlink (platform);
  unlink (trace);
}

HASS_TEST_SUITE (virtual_joined,
                 { "beside a device several divisible loads are a round",
                   loads_are_joined },
                 { "also the first, if their rates are known",
                   known_loads_are_joined },
                 { "of a pool that is full, half", half_a_pool_is_joined })

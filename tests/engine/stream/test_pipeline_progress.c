/* SPDX-License-Identifier: MIT */
/* test_pipeline_progress.c: how far a pipeline is, as its progress callback
   learns it.
   Thread safety: one thread. */
#include "hass/pipeline.h"
#include "hass_test.h"

#define N 100
#define PARTS 3

/* What the callback has seen. `unknown`: calls without a total before the
   generator had returned; `wrong`: calls with impossible numbers. */
typedef struct
{
  guint n, unknown, wrong;
  HassProgressInfo last;
} Seen;

static void
watch (const HassProgressInfo *info, gpointer data)
{
  Seen *seen = data;
  gboolean knows = info->loads_total > 0 && info->loads_done > 0;
  seen->n++;
  seen->unknown += info->loads_total == 0 && !info->generated;
  seen->wrong += (info->loads_total != 0 && info->loads_total != N)
                 || info->loads_done > info->loads_emitted
                 || info->loads_done < seen->last.loads_done
                 || (info->left_s >= 0) != knows
                 || (info->loads_done > 0) != (info->loads_per_s > 0);
  if (knows)
    seen->wrong
        += !(info->left_s * info->loads_per_s - (double)(N - info->loads_done)
             < 1e-6);
  seen->last = *info;
}

static gboolean
doze (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  guint parts = *(const guint *)data;
  (void)error;
  g_usleep (500);
  for (guint i = 0; i < parts; i++)
    {
      const HassLoad part = { .size = 1 };
      if (!hass_token_emit (token, worker, &part))
        break;
    }
  return TRUE;
}

static gboolean
pass (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const HassLoad load = { .size = 1 };
  (void)data, (void)error;
  for (guint i = 0; i < N; i++)
    {
      g_usleep (500);
      if (!hass_emitter_emit (emitter, &load))
        break;
    }
  return TRUE;
}

static Seen
run (gboolean array, guint64 expected, guint parts)
{
  static HassLoad loads[N];
  Seen seen = { 0 };
  const HassStage stages[] = {
    HASS_STAGE (.name = "doze", .cpu = doze, .user_data = &parts),
    HASS_STAGE (.name = "pass", .mode = HASS_STAGE_ORDERED, .cpu = pass),
  };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = array ? loads : NULL;
  p.n_loads = array ? N : 0;
  p.generate = array ? NULL : generate;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.run.n_cores = 2;
  p.run.platform = "";
  p.run.loads_expected = expected;
  p.run.progress = watch;
  p.run.progress_data = &seen;
  p.run.progress_interval_ms = 2;
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, NULL));
  CU_ASSERT_TRUE (seen.n > 4);
  CU_ASSERT_EQUAL (seen.wrong, 0);
  CU_ASSERT_TRUE (seen.last.loads_done > N / 4);
  return seen;
}

static void
array (void)
{
  Seen seen = run (TRUE, 0, 0);
  CU_ASSERT_EQUAL (seen.unknown, 0);
  CU_ASSERT_EQUAL (seen.last.loads_total, N);
  CU_ASSERT_TRUE (seen.last.left_s >= 0 && seen.last.left_s < 1);
}

static void
generator (void)
{
  CU_ASSERT_TRUE (run (FALSE, 0, 0).unknown > 0);
  CU_ASSERT_EQUAL (run (FALSE, N, 0).unknown, 0);
}

/* A load is done once, with the last of its parts. */
static void
many (void)
{
  Seen seen = run (TRUE, 0, PARTS);
  CU_ASSERT_TRUE (seen.last.units_done > N);
  CU_ASSERT_TRUE (seen.last.loads_done <= N);
}

HASS_TEST_SUITE (pipeline_progress,
                 { "an array has a total, a rate and a time left", array },
                 { "a generator has them if it says how much it will emit",
                   generator },
                 { "a load of many tokens is done once", many })

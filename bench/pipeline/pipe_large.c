/* SPDX-License-Identifier: MIT */
/* pipe_large.c: large loads, of which few may wait: the part of the cores' time
   for which they are at work. Of a short stream, whose last tokens are fewer
   than the cores: of the core that has most tokens.

   DESIGN. The work of a load is a sleep, so that the rows depend on how loads
   are handed over alone, and 16 cores can be tried on two. Nobody reads the
   loads' bytes, which are address space.

   Thread safety: one thread. */
#include <hass/hass.h>
#include <hass/pipeline.h>
#include <stdlib.h>

#include "bench.h"
#include "pipes.h"

#define CORES 16
#define MANY (30 * CORES)
#define FEW 50
#define MB ((gsize)1000000)
#define MOST_BYTES (16 * MB)

/* @us: mean of a load's work, which differs by up to half of @spread_us.
   @tokens: as in HassPipeline. */
typedef struct
{
  const char *name;
  gboolean farm;
  gsize bytes;
  guint us, spread_us, loads;
  gsize tokens;
  const guint8 *input;
} Large;

static void
work (const Large *l, guint64 seq)
{
  guint spread = (guint)(seq * 2654435761u >> 8) % (l->spread_us + 1);
  g_usleep (l->us - l->spread_us / 2 + spread);
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Large *l = data;
  gboolean ok = TRUE;
  (void)error;
  for (guint i = 0; i < l->loads && ok; i++)
    {
      const HassLoad load = { .tag = GUINT_TO_POINTER (i),
                              .input = l->input,
                              .input_bytes = l->bytes };
      ok = hass_emitter_emit (emitter, &load);
    }
  return ok;
}

static gboolean
stage (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)error;
  work (data, token->seq);
  return TRUE;
}

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

static gboolean
block (const HassBlock *b, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)error;
  work (data, GPOINTER_TO_UINT (b->load->tag));
  return TRUE;
}

static double
busy (gconstpointer arg)
{
  Large l = *(const Large *)arg;
  g_autofree guint8 *input = g_malloc (MOST_BYTES);
  const HassStage stages[]
      = { HASS_STAGE (.cpu = stage, .user_data = &l),
          HASS_STAGE (.cpu = sink, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = HASS_PIPELINE_INIT;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  /* Of the core that has most, about. */
  double work_ns = 1e3 * l.us * ((l.loads + CORES - 1) / CORES);
  l.input = input;
  p.generate = f.generate = generate;
  p.tokens = l.tokens;
  p.user_data = f.user_data = &l;
  p.run.n_cores = f.run.n_cores = CORES;
  p.run.n_gpus = f.run.n_gpus = -1;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  f.cpu_worker = block;
  gint64 begin = bench_now_ns ();
  if (!(l.farm ? hass_data_farm_indivisible (&f, NULL, &error)
               : hass_pipeline (&p, NULL, &error)))
    g_error ("large loads: %s", error->message);
  return 100 * work_ns / (double)(bench_now_ns () - begin);
}

void
pipe_run_large (void)
{
  static const Large rows[]
      = { { "pipeline", FALSE, 3 * MB, 20000, 20000, MANY, 0, NULL },
          { "pipeline", FALSE, 3 * MB, 2000, 2000, MANY, 0, NULL },
          { "pipeline", FALSE, 3 * MB, 20000, 0, FEW, 0, NULL },
          { "pipeline, tokens 64", FALSE, 3 * MB, 20000, 0, FEW, 64, NULL },
          { "farm, indivisible", TRUE, 3 * MB, 20000, 20000, MANY, 0, NULL },
          { "farm, indivisible", TRUE, 16 * MB, 20000, 20000, MANY, 0, NULL } };
  BenchGroup *group = bench_group_new (
      BENCH_MORE_IS_BETTER, "% of the cores' time at work",
      "q. large loads on %d cores, whose work is a sleep", CORES);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    bench_group_add (group, 90, busy, &rows[i], "%s, %u of %zu MB, %u ms",
                     rows[i].name, rows[i].loads, rows[i].bytes / MB,
                     rows[i].us / 1000);
  bench_group_run (group, bench_rounds (5));
}

/* SPDX-License-Identifier: MIT */
/* pipe_hass.c: hass's pipeline, as one of the peers.
   Thread safety: one run at a time. */
#include <hass/hass.h>
#include <hass/pipeline.h>
#include <stdlib.h>

#include "pipes.h"

typedef struct
{
  PipeRun *run;
  guint index;
} Stage;

static gboolean
stage (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  const Stage *s = data;
  (void)worker, (void)error;
  if (token->output)
    *(guint64 *)token->output = token->seq;
  pipe_stage (s->run, s->index, token->seq);
  return TRUE;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  PipeRun *run = data;
  HassLoad load = { .size = 1 };
  (void)error;
  for (gsize i = 0; i < run->n_tokens; i++)
    {
      pipe_source (run, i);
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static void
run_hass (PipeRun *run)
{
  HassStage stages[PIPE_STAGES];
  Stage data[PIPE_STAGES];
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  for (guint i = 0; i < run->n_stages; i++)
    {
      data[i] = (Stage){ run, i };
      stages[i] = (HassStage)HASS_STAGE (.cpu = stage, .user_data = &data[i],
                                         .mode = run->stages[i].ordered
                                                     ? HASS_STAGE_ORDERED
                                                     : HASS_STAGE_PARALLEL,
                                         .output_bytes
                                         = i == 0 ? run->output_bytes : 0);
    }
  p.name = "bench";
  p.user_data = run;
  p.generate = generate;
  p.stages = stages;
  p.n_stages = run->n_stages;
  if (hass_pipeline (&p, NULL, &error))
    return;
  g_printerr ("hass: %s\n", error->message);
  exit (1);
}

const PipePeer pipe_hass = { .name = "hass", .run = run_hass };

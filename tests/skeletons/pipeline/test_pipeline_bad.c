/* SPDX-License-Identifier: MIT */
/* test_pipeline_bad.c: pipelines that cannot be run: each gets an error that
   names the pipeline, the stage and the field.
   Thread safety: one thread beside those of the pipelines. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

static gboolean
idle (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

static gboolean
no_kernel (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
add (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)accumulator, (void)part, (void)data;
}

static gboolean
emit_nothing (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)data, (void)error;
  return TRUE;
}

/* -- Settings ----------------------------------------------------------- */

static void
no_stages (void)
{
  const HassStage stages[33] = { HASS_STAGE (.cpu = idle) };
  HassPipeline p = pipe_new (stages, 0, 1);
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_INVALID, "'pipe'", "stages", NULL));
  p.n_stages = 1;
  p.stages = NULL;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_INVALID, "'pipe'", "stages", NULL));
  p.stages = stages;
  p.n_stages = 33;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_INVALID, "'pipe'", "33", "32", NULL));
  p.n_stages = 1;
  p.loads = NULL;
  CU_ASSERT_TRUE (pipe_fails (&p, HASS_ERROR_INVALID, "'pipe'", "loads", NULL));
  p.generate = emit_nothing;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_INVALID, "'pipe'", "n_loads", NULL));
}

/* Is a pipeline refused whose second of three stages is this one? */
static gboolean
refused (HassStage stage, HassError code, const char *word)
{
  const HassStage stages[]
      = { HASS_STAGE (.cpu = idle), stage, HASS_STAGE (.cpu = idle) };
  HassPipeline p = pipe_new (stages, 3, 1);
  const char *name = stage.name ? stage.name : "stage 2";
  return pipe_fails (&p, code, "'pipe'", name, word, NULL);
}

static void
refused_stages (void)
{
  guint64 sum;
  const struct
  {
    HassStage stage;
    HassError code;
    const char *word;
  } cases[] = {
    { HASS_STAGE (.name = "idler"), HASS_ERROR_NO_DEVICE, "worker" },
    { HASS_STAGE (.gpu = no_kernel), HASS_ERROR_NO_DEVICE, "no device" },
    { HASS_STAGE (.cpu = idle, .mode = HASS_STAGE_ORDERED, .at_once = 2),
      HASS_ERROR_INVALID, "at_once" },
    { HASS_STAGE (.cpu = idle, .mode = HASS_STAGE_SERIAL, .at_once = 3),
      HASS_ERROR_INVALID, "at_once" },
    { HASS_STAGE (.cpu = idle, .mode = HASS_STAGE_CALLER, .at_once = 1),
      HASS_ERROR_INVALID, "at_once" },
    { HASS_STAGE (.name = "blend", .cpu = idle, .gpu = no_kernel,
                  .mode = HASS_STAGE_ORDERED),
      HASS_ERROR_INVALID, "PARALLEL" },
    { HASS_STAGE (.cpu = idle, .gpu = no_kernel, .mode = HASS_STAGE_SERIAL),
      HASS_ERROR_INVALID, "PARALLEL" },
    { HASS_STAGE (.cpu = idle, .gpu = no_kernel, .mode = HASS_STAGE_CALLER),
      HASS_ERROR_INVALID, "PARALLEL" },
    { HASS_STAGE (.cpu = idle, .mode = (HassStageMode)4), HASS_ERROR_INVALID,
      "mode" },
    { HASS_STAGE (.cpu = idle, .output_ratio = -0.5), HASS_ERROR_INVALID,
      "output_ratio" },
    { HASS_STAGE (.cpu = idle, .output_ratio = NAN), HASS_ERROR_INVALID,
      "output_ratio" },
    { HASS_STAGE (.cpu = idle, .output_ratio = INFINITY), HASS_ERROR_INVALID,
      "output_ratio" },
    { HASS_STAGE (.cpu = idle, .cost = (HassCostClass)9), HASS_ERROR_INVALID,
      "cost" },
    { HASS_STAGE (.cpu = idle, .bundle_wait_us = -7), HASS_ERROR_INVALID,
      "bundle_wait_us" },
    { HASS_STAGE (.cpu = idle, .mode = HASS_STAGE_ORDERED, .pure = TRUE),
      HASS_ERROR_INVALID, "pure is for PARALLEL" },
    { HASS_STAGE (.cpu = idle, .reduce = add, .accumulator = &sum,
                  .accumulator_bytes = 8, .pure = TRUE),
      HASS_ERROR_INVALID, "without reduce" },
    { HASS_STAGE (.cpu = idle, .reduce = add), HASS_ERROR_INVALID,
      "accumulator" },
    { HASS_STAGE (.cpu = idle, .accumulator = &sum, .accumulator_bytes = 8),
      HASS_ERROR_INVALID, "reduce" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    CU_ASSERT_TRUE (refused (cases[i].stage, cases[i].code, cases[i].word));
}

/* -- Structs of other versions ------------------------------------------ */

#define NEWER 64 /* bytes that a newer header appends */

static void
other_sizes (void)
{
  struct
  {
    HassPipeline pipeline;
    guint8 newer[NEWER];
  } p;
  struct
  {
    HassStage stage;
    guint8 newer[NEWER];
  } stages[2];
  memset (&p, 0, sizeof p);
  memset (stages, 0, sizeof stages);
  stages[0].stage.cpu = stages[1].stage.cpu = idle;
  stages[0].stage.struct_size = stages[1].stage.struct_size
      = sizeof (HassStage);
  p.pipeline = pipe_new (&stages[0].stage, 1, 1);
  pipe_must_run (&p.pipeline);
  p.pipeline.struct_size = sizeof p;
  pipe_must_run (&p.pipeline);
  p.newer[5] = 1;
  CU_ASSERT_TRUE (pipe_fails (&p.pipeline, HASS_ERROR_INVALID, "HassPipeline",
                              "newer version", NULL));
  p.newer[5] = 0;
  p.pipeline.struct_size = offsetof (HassPipeline, n_stages);
  CU_ASSERT_TRUE (pipe_fails (&p.pipeline, HASS_ERROR_INVALID,
                              "HassPipeline.struct_size", NULL));
  p.pipeline.struct_size = 0;
  CU_ASSERT_TRUE (pipe_fails (&p.pipeline, HASS_ERROR_INVALID,
                              "HassPipeline.struct_size is 0", NULL));
  p.pipeline.struct_size = sizeof p;
  /* The elements of an array lie struct_size apart. */
  stages[0].stage.struct_size = stages[1].stage.struct_size = sizeof stages[0];
  p.pipeline.n_stages = 2;
  pipe_must_run (&p.pipeline);
  stages[1].newer[9] = 1;
  CU_ASSERT_TRUE (pipe_fails (&p.pipeline, HASS_ERROR_INVALID, "HassStage",
                              "newer version", NULL));
  stages[1].newer[9] = 0;
  p.pipeline.n_stages = 1;
  stages[0].stage.struct_size = offsetof (HassStage, gpu) + sizeof (gpointer);
  pipe_must_run (&p.pipeline);
  stages[0].stage.struct_size = offsetof (HassStage, gpu);
  CU_ASSERT_TRUE (pipe_fails (&p.pipeline, HASS_ERROR_INVALID,
                              "HassStage.struct_size", NULL));
  CU_ASSERT_TRUE (
      pipe_fails (NULL, HASS_ERROR_INVALID, "HassPipeline is NULL", NULL));
}

HASS_TEST_SUITE (
    pipeline_bad,
    { "a pipeline without stages, with too many or without loads is refused",
      no_stages },
    { "a stage that cannot be run is refused and named", refused_stages },
    { "structs of other versions are read, or refused with both sizes",
      other_sizes })

/* SPDX-License-Identifier: MIT */
/* hass/pipeline.h: a pipeline of stages, through which a stream of tokens
   flows.

   A generator (or an array) gives loads. Each load becomes a token, which
   passes the stages one after another. Stages run concurrently on different
   tokens; the mode of a stage says whether it runs concurrently with itself.
   A core carries a token through consecutive stages, so there is no thread for
   each stage. (The pipeline of Zhang 2011, section 3.6.4, without its rounds.)

   A token has one range of bytes, its input. At the first stage that is the
   input of the load. A stage that makes an output replaces it: the output of a
   stage is the input of the next one and is never copied. A stage without
   output leaves the input to the next stage, perhaps changed in place.

   Thread safety: pipelines and farms may run on several threads at once. A call
   blocks until the pipeline has ended; its thread works as one of the cores. */
#ifndef HASS_PIPELINE_H
#define HASS_PIPELINE_H

#include <hass/callbacks.h>
#include <hass/report.h>
#include <hass/stage.h>
#include <string.h>

HASS_BEGIN_DECLS

/**
 * HassPipeline: the settings of a pipeline. Start from HASS_PIPELINE_INIT or
 * hass_pipeline_init(). Nothing that the struct points to is copied or freed.
 * @struct_size: set by the initialiser; the struct may end after @n_stages.
 * @name: in messages and reports; NULL: "pipeline".
 * @user_data: last argument of the generator, of @release and of @tag_free.
 * @generate: emits the loads with hass_emitter_emit(); or NULL. It blocks while
 *   the pipeline is full. With one core and no other device, what is emitted
 *   has passed all stages when hass_emitter_emit() returns, so a generator
 *   that waits for its input holds no load back. With more cores loads
 *   wait for a CALLER stage until the next emission if another core has
 *   computed the stages before; where these take less time than waking a core,
 *   the thread that emits computes them.
 * @loads: [@n_loads] loads known at the beginning; must stay valid. With both
 *   @loads and @generate, these come first.
 * @n_loads: number of loads.
 * @stages: [@n_stages], from first to last.
 * @n_stages: 1 to 32.
 * @tokens: most tokens in flight, that is begun and not through; 0: chosen by
 *   the library: enough to keep all devices busy.
 * @token_bytes: most bytes of tokens in flight: inputs of the loads, and the
 *   outputs that stages promise; 0: 64 MiB, or, if tokens are large, what as
 *   many as keep all devices busy need, but at most a sixteenth of the memory
 *   that the process may use (HassReport.most_bytes). What hass_token_output()
 *   makes counts when it is made, and the largest so far is reserved for a
 *   token that begins. A token larger than the bound passes alone.
 *   A quarter of the bytes is for loads that wait; 0: 16 MiB, or two loads a
 *   core, these up to a sixteenth of the memory.
 * @release: called once for each load that the library no longer uses.
 * @constants, @n_constants: as in #HassDataFarm.
 * @run: how the pipeline runs.
 * @tag_free: frees what stages have hung on tokens by HassToken.tag; NULL: the
 *   tags of tokens that end are forgotten. See #HassTagFreeFunc.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  gpointer user_data;
  HassGenerateFunc generate;
  const HassLoad *loads;
  gsize n_loads;
  const HassStage *stages;
  guint n_stages;
  gsize tokens;
  gsize token_bytes;
  HassReleaseFunc release;
  const HassConstant *constants;
  guint n_constants;
  HassRunOptions run;
  HassTagFreeFunc tag_free;
} HassPipeline;

/* Returns: a pipeline with all fields zero but struct_size. */
static inline HassPipeline
hass_pipeline_init (void)
{
  HassPipeline pipeline;
  memset (&pipeline, 0, sizeof pipeline);
  pipeline.struct_size = sizeof pipeline;
  return pipeline;
}

/* Returns: a stage with all fields zero but struct_size. */
static inline HassStage
hass_stage_init (void)
{
  HassStage stage;
  memset (&stage, 0, sizeof stage);
  stage.struct_size = sizeof stage;
  return stage;
}

/* Initialisers with all fields zero but struct_size. In C++ they are function
   calls.

   HASS_STAGE is for C only: an initialiser with the designated fields that
   follow, HASS_STAGE (.name = "read", .cpu = read). No version of C++ has it;
   there a stage begins as hass_stage_init(), and its fields are assigned. */
#ifdef __cplusplus
#  define HASS_PIPELINE_INIT hass_pipeline_init ()
#  define HASS_STAGE_INIT hass_stage_init ()
#else
#  define HASS_PIPELINE_INIT                                                   \
    {                                                                          \
      .struct_size = sizeof (HassPipeline)                                     \
    }
#  define HASS_STAGE_INIT                                                      \
    {                                                                          \
      .struct_size = sizeof (HassStage)                                        \
    }
#  define HASS_STAGE(...)                                                      \
    {                                                                          \
      .struct_size = sizeof (HassStage), __VA_ARGS__                           \
    }
#endif

/**
 * hass_pipeline:
 * @report: (out) (optional): set in every case; free with hass_report_free().
 *
 * Runs a pipeline and blocks until all tokens are through; not from a callback.
 *
 * Returns: TRUE if every token passed every stage (or was dropped), or, with
 * HASS_ON_ERROR_CONTINUE, if the pipeline came to its end. FALSE with any
 * HassError, or with the error of a callback.
 */
gboolean hass_pipeline (const HassPipeline *pipeline, HassReport **report,
                        GError **error);

HASS_END_DECLS

#endif

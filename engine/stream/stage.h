/* SPDX-License-Identifier: MIT */
/* hass/stage.h: the stages of a pipeline, its tokens, and what a stage may do
   with a token.
   Thread safety: a token function belongs to the call of the stage that got the
   token, on the thread of that call and with its worker. Any other call stops
   the pipeline with HASS_ERROR_MISUSE. Tokens are told apart by their address,
   which is used again: if a pointer from an earlier call is that of the present
   token, too, it means the present token. */
#ifndef HASS_STAGE_H
#define HASS_STAGE_H

#include <hass/callbacks.h>

HASS_BEGIN_DECLS

/**
 * HassStageMode: how many tokens a stage computes at once, and in what order.
 * @HASS_STAGE_PARALLEL: any number, in any order.
 * @HASS_STAGE_ORDERED: one at a time, in the order in which the loads were
 *   emitted (parts of a token in the order in which they were emitted).
 * @HASS_STAGE_SERIAL: one at a time, in any order.
 * @HASS_STAGE_CALLER: as ORDERED, and on the thread that called
 *   hass_pipeline(), for libraries that are bound to a thread. That thread
 *   cannot run the stage while it is blocked in the generator.
 *
 * ORDERED, SERIAL and CALLER stages have CPU workers only.
 */
typedef enum
{
  HASS_STAGE_PARALLEL,
  HASS_STAGE_ORDERED,
  HASS_STAGE_SERIAL,
  HASS_STAGE_CALLER
} HassStageMode;

/**
 * HassToken: what flows through a pipeline. A stage may write the fields marked
 * "written"; all others are read-only.
 * @seq: sequence number of the load, from 0 in order of emission.
 * @load: the library's copy of the load.
 * @input: host memory [@input_bytes]. At the first stage, and as long as no
 *   stage has made an output, that of the load, owned by the user; then a
 *   buffer of the library, valid until the next stage with an output is done.
 *   Its bytes may be written in place if the user's memory may.
 * @input_bytes: size of @input.
 * @output: host memory [@output_bytes], aligned to 64 bytes, not cleared: what
 *   HassStage.output_bytes and output_ratio promised, or what
 *   hass_token_output() returned; NULL: the stage makes no output.
 * @output_bytes: size of @output. Written: a stage may make it smaller.
 * @tag: written: a value of the user, at first that of the load, and of a part
 *   that of hass_token_emit(). HassPipeline.tag_free frees it.
 */
typedef struct
{
  guint64 seq;
  const HassLoad *load;
  guint8 *input;
  gsize input_bytes;
  guint8 *output;
  gsize output_bytes;
  gpointer tag;
} HassToken;

/**
 * HassTagFreeFunc: frees what a stage has hung on a token that has ended.
 * @tag: the token's tag at its end; neither NULL nor the tag of its load, which
 *   stays the user's.
 * @user_data: that of the pipeline.
 *
 * Each token owns its tag, and so does each part. Called exactly once for each
 * token that ends with a tag of its own: after the last stage, or when it is
 * dropped, is replaced by its parts or fails, or when the pipeline stops. A
 * token that is sent back keeps its tag. A stage that frees a tag, or passes it
 * on, sets HassToken.tag to NULL; one that writes another tag frees the one
 * before, which the library does not see.
 *
 * Runs on any thread of the pipeline, concurrently for different tokens, and
 * before the load of the token is released; should not block. It may not call
 * functions of tokens and workers.
 */
typedef void (*HassTagFreeFunc) (gpointer tag, gpointer user_data);

/**
 * HassStageFunc: computes a token at one stage on a core.
 * @token: valid during the call, as are the token functions with it.
 *
 * In a PARALLEL stage it runs on all cores concurrently. It may block, which
 * leaves a core idle; an ORDERED, SERIAL or CALLER stage that blocks makes only
 * those tokens wait that come to this stage. It may call
 * hass_worker_parallel_for() and the hass_worker functions that do not emit.
 * A token whose worker fails does not reach later stages; what it has emitted
 * is discarded. With HASS_ON_ERROR_STOP the pipeline then stops; with
 * HASS_ON_ERROR_CONTINUE the token is listed in the report with its stage, and
 * the order goes on with the next token.
 */
typedef gboolean (*HassStageFunc) (HassToken *token, HassWorker *worker,
                                   gpointer user_data, GError **error);

/**
 * HassStage: one stage. Start from HASS_STAGE_INIT; zero is the default of
 * every field.
 * @struct_size: set by the initialiser; the struct may end after @gpu.
 * @name: in messages and reports; NULL: "stage 1", "stage 2", ...
 * @mode: see #HassStageMode.
 * @cpu: computes a token on a core.
 * @gpu: computes a bundle of tokens on a CUDA device; PARALLEL stages only. The
 *   blocks of the bundle are tokens, whose outputs have the promised size
 *   exactly. Of each token a device's worker sees, in its #HassBlock: @seq, the
 *   token's; @load->tag, the token's tag as the stage before has left it (not
 *   that of its load), which the worker cannot replace; input, output and
 *   their sizes; and @stage. The rest of @load says nothing of the user's load.
 *   At least one of @cpu, @gpu and @workers.
 * @user_data: last argument of the stage's callbacks; NULL: that of the
 *   pipeline.
 * @at_once: PARALLEL: most tokens in this stage on cores at once; 0: no bound.
 * @output_bytes, @output_ratio: size of the output of a token:
 *   @output_bytes + @output_ratio * input bytes, rounded up. If both are 0, the
 *   stage makes none, or a CPU worker asks for it with hass_token_output(); a
 *   stage with a GPU worker cannot.
 * @cost: what is known about the costs of tokens at this stage.
 * @element_threads: as HassDataFarm.element_threads; an element is a token.
 * @bundle_wait_us: longest time that a token waits for others to share a bundle
 *   with, in us; 0: it does not wait if the GPU is idle.
 * @reduce, @reduce_init, @reduce_clear, @accumulator, @accumulator_bytes:
 *   accumulators of this stage, as in #HassDataFarm; CPU workers only.
 * @workers: workers for further kinds of devices, as in #HassDataFarm.
 * @pure: PARALLEL, without reduce: the workers have no effect but the token's
 *   output, so that a token may be computed twice. One that a device holds up,
 *   since it is slow or hangs, may then be begun again on another one; what is
 *   done first counts, and the other is dropped. The workers read the token's
 *   input and tag and write neither, and call neither hass_token_emit(),
 *   hass_token_drop() nor hass_token_again(), which are HASS_ERROR_MISUSE. The
 *   load is released when no device reads it any more. A token with a tag that
 *   HassPipeline.tag_free would free is not begun again, since a later stage
 *   may free the tag; what any other tag points to stays as the stage has found
 *   it until the load is released. The pipeline returns
 *   when all workers have, so one that takes long should look at
 *   hass_worker_stopping().
 */
typedef struct _HassStage
{
  gsize struct_size;
  const char *name;
  HassStageMode mode;
  HassStageFunc cpu;
  HassGpuWorkerFunc gpu;
  gpointer user_data;
  guint at_once;
  gsize output_bytes;
  double output_ratio;
  HassCostClass cost;
  gsize element_threads;
  gint64 bundle_wait_us;
  HassReduceFunc reduce;
  HassReduceInitFunc reduce_init;
  HassReduceClearFunc reduce_clear;
  gpointer accumulator;
  gsize accumulator_bytes;
  const HassKindWorker *workers;
  gboolean pure;
} HassStage;

/* What one call of a stage may do with its token. It has one fate at most: it
   is replaced by its parts, or dropped, or sent back; a second, other one stops
   the pipeline with HASS_ERROR_MISUSE, and if none is called the token goes on.

   called before        then: _output  _buffer  _emit    _drop    _again
   hass_token_output    yes, replaces  yes      yes      yes      yes, see below
   hass_token_buffer    yes            yes      yes      yes      yes
   hass_token_emit      yes            yes      yes      MISUSE   MISUSE
   hass_token_drop      yes            yes      MISUSE   yes      MISUSE
   hass_token_again     yes, see below yes      MISUSE   MISUSE   yes, replaces

   Replaces: the second call replaces the first. Of a token that is sent back
   the output is the input at the stage that it comes to; of one that emits
   parts it is memory for these; of one that is dropped it is discarded. */

/**
 * hass_token_output:
 * @bytes: size; 0 makes an empty output.
 *
 * Makes an output of the token at this stage, in place of the promised one; a
 * second call replaces the first one's.
 *
 * Returns: host memory [@bytes], aligned to 64 bytes, not cleared, owned by the
 * library; NULL if memory is insufficient, which stops the pipeline, or on
 * misuse. The bytes reach the next stage as its input.
 */
gpointer hass_token_output (HassToken *token, HassWorker *worker, gsize bytes);

/**
 * hass_token_emit:
 * @part: copied; its memory stays the user's until the token's load is
 *   released, or it lies in @token's input or output, or in a buffer of
 *   hass_token_buffer(). Of its fields input, input_bytes and tag are read, and
 *   of its flags HASS_LOAD_BUFFER: the part must then lie in the buffer that
 *   the token's load has claimed by this flag; else it is HASS_ERROR_MISUSE.
 *
 * Emits a part: a token of its own for the later stages (one to many). Parts
 * replace the token, follow each other in the order of these calls, and keep
 * the place of the token in the order of the stream. They have the token's seq
 * and @part's tag. The load is released when all its parts are through.
 *
 * If this returns TRUE, the part owns @part's tag (see #HassTagFreeFunc), also
 * if the call of the stage fails later. The token's own tag is not the part's:
 * to move it, give it to one part, then set HassToken.tag to NULL.
 *
 * Returns: TRUE; FALSE on misuse, also after hass_token_drop() or
 * hass_token_again() in the same call, if the pipeline is stopping, or if one
 * token has more parts than HassPipeline.tokens allows, which stops the
 * pipeline with HASS_ERROR_OVERFLOW.
 */
gboolean hass_token_emit (HassToken *token, HassWorker *worker,
                          const HassLoad *part);

/**
 * hass_token_buffer:
 *
 * Gets memory for a part of hass_token_emit(): [@bytes], aligned to 64 bytes,
 * not cleared, owned by the library, which recycles it when the part whose
 * input begins there no longer needs it. NULL as for hass_token_output().
 */
gpointer hass_token_buffer (HassToken *token, HassWorker *worker, gsize bytes);

/* Drops the token: it does not reach later stages, and the order goes on with
   the next token. It counts as finished. After hass_token_emit() or
   hass_token_again() in the same call: HASS_ERROR_MISUSE. */
void hass_token_drop (HassToken *token, HassWorker *worker);

/**
 * hass_token_again:
 * @stage: index of this or an earlier stage, from 0, as in
 *   HassPipeline.stages: the stage with the default name "stage 1" has index 0.
 *
 * Sends the token back: after this call of the stage it passes @stage and the
 * following ones again, with this stage's output as input. It keeps its place
 * in the order. From @stage to this one, this one excluded, no stage may be
 * ORDERED or CALLER. A second call replaces the first one's @stage. A token
 * that has been sent back 65536 times fails.
 *
 * Returns: TRUE; FALSE on misuse, also after hass_token_emit() or
 * hass_token_drop() in the same call: the pipeline then stops with
 * HASS_ERROR_MISUSE.
 */
gboolean hass_token_again (HassToken *token, HassWorker *worker, guint stage);

HASS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* pipes.h: ways to run a pipeline, measured side by side; hass is one of them.

   A peer calls pipe_source() for each token in order and then pipe_stage() for
   each stage and token. These do what the measurement wants, for all peers the
   same, and check that ordered stages get the tokens in order.

   Thread safety: one run at a time; pipe_source() is for one thread at a time,
   pipe_stage() as the stage says. */
#ifndef PIPES_H
#define PIPES_H

#include <glib.h>
#include <stdalign.h>

#include "bench.h"

G_BEGIN_DECLS

#define PIPE_STAGES 16

/**
 * PipeStage: a stage of a benchmark.
 * @ordered: one token at a time, in order; else any number at once.
 * @iterations: of fenced work; 0: none.
 * @next: ordered: number of the next token; not in the cache line of what other
 *   cores read for each token.
 */
typedef struct
{
  alignas (64) gboolean ordered;
  gsize iterations;
  alignas (64) gsize next;
} PipeStage;

/**
 * PipeRun: a pipeline and what happens at its ends.
 * @n_tokens: tokens 0, 1, ...
 * @output_bytes: of the first stage for each token; 0: none. hass alone has
 *   memory of its own for them.
 * @pace_us: the source sleeps so long before each token; 0: it does not.
 * @emitted_ns: [@n_tokens] when the source ended for each token, or NULL.
 * @latency_ns: [@n_tokens] from then to the last stage.
 * @at_source, @at_sink: called for each token in the source and in the last
 *   stage, or NULL.
 * @wrong: tokens that came out of order.
 */
typedef struct PipeRun PipeRun;
struct PipeRun
{
  PipeStage stages[PIPE_STAGES];
  guint n_stages;
  gsize n_tokens;
  gsize output_bytes;
  guint pace_us;
  gint64 *emitted_ns, *latency_ns;
  void (*at_source) (PipeRun *run, gsize token);
  void (*at_sink) (PipeRun *run, gsize token);
  guint64 wrong;
};

/* What is seldom asked for. */
void pipe_begin_token (PipeRun *run, gsize token);
void pipe_end_token (PipeRun *run, gsize token);

static inline void
pipe_source (PipeRun *run, gsize token)
{
  if (run->pace_us > 0 || run->emitted_ns || run->at_source)
    pipe_begin_token (run, token);
}

static inline void
pipe_stage (PipeRun *run, guint index, gsize token)
{
  PipeStage *stage = &run->stages[index];
  if (index + 1 == run->n_stages && (run->latency_ns || run->at_sink))
    pipe_end_token (run, token);
  if (stage->iterations > 0)
    bench_fenced_spin (stage->iterations);
  if (stage->ordered)
    {
      if (stage->next != token)
        run->wrong++;
      stage->next = token + 1;
    }
}

/**
 * PipePeer: one way to run a pipeline.
 * @most: maximum number of tokens, where a token is expensive; 0: any.
 * @begin, @end: called around each measurement, not measured; may be NULL.
 */
typedef struct
{
  const char *name;
  gsize most;
  void (*begin) (void);
  void (*end) (void);
  void (*run) (PipeRun *run);
} PipePeer;

/* Line p: hass alone can send tokens back. */
void pipe_run_again (void);
/* Line q: hass with loads of megabytes. */
void pipe_run_large (void);
/* Line r: hass with a device that sleeps. */
void pipe_run_beside (void);

extern const PipePeer pipe_hass, pipe_tbb, pipe_tbb_graph;
#ifdef BENCH_OPENMP
extern const PipePeer pipe_openmp;
#endif
#ifdef BENCH_STARPU
extern const PipePeer pipe_starpu;
#endif

G_END_DECLS

#endif

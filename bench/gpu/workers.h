/* SPDX-License-Identifier: MIT */
/* workers.h: GPU workers of hass for gpu-bench, and the steps that a farm
   takes which is bound by computing.
   Thread safety: as GPU workers; the rest, any thread. */
#ifndef GPU_BENCH_WORKERS_H
#define GPU_BENCH_WORKERS_H

#include "gpu_bench.h"

#include <hass/callbacks.h>

G_BEGIN_DECLS

#define WORKER(name)                                                           \
  gboolean name (const HassBundle *bundle, HassGpuStream *stream,              \
                 gpointer user_data, GError **error)

/* Counts matches of a HandText's needle: all into a guint64 accumulator, or,
   with outputs, those of each load into its guint64. */
WORKER (worker_search);
/* An empty kernel. */
WORKER (worker_empty);
/* A kernel of *(double *)user_data ms for each load. */
WORKER (worker_pause);
/* Steps, see below; the sum into a guint64 accumulator. */
WORKER (worker_steps);

/* TokenSteps, see below, of each token. _slow: the second of an array of
   two. */
WORKER (worker_token_steps);
WORKER (worker_token_steps_slow);
/* The same, one thread block a token. */
WORKER (worker_token_blocks);
WORKER (worker_token_blocks_slow);

/* The same kernels as worker_pause, one after another, each waited for with
   an event that lets the thread sleep; on device 0. */
void plain_pauses (double ms, guint n);

/**
 * Steps: element i of a load is x = steps_seed (i), then x = a * x + c
 * repeated; the result is the sum over the elements.
 * @gpu_repeat: number of times that a GPU repeats the steps of each element,
 *   which makes it slower; at least 1.
 * @zero: 0, unknown to the compiler.
 */
typedef struct
{
  guint32 a, c, n_steps, gpu_repeat, zero;
} Steps;

#ifdef __CUDACC__
#  define ON_BOTH __host__ __device__
#else
#  define ON_BOTH
#endif

static inline ON_BOTH guint32
steps_seed (guint64 element)
{
  return (guint32)element * 2654435761u;
}

/**
 * TokenSteps: each 32-bit word x of a token is replaced by a * x + c, @n_steps
 * times; the result is the sum of each WORDS_SUMMED adjacent words.
 * @a, @c: of a generator of period 2^32; unknown to the compiler, which could
 *   make one step of several.
 * @n_words: of a token; a multiple of 256.
 * @gpu_steps: number of steps that a GPU takes, which sets its speed and not
 *   the result: the kernel ends with @leap_a * x + @leap_c, which is @n_steps -
 *   @gpu_steps steps, modulo 2^32, at once.
 * @asks: a core asks some 500 times whether it should stop.
 */
typedef struct
{
  guint32 a, c, n_words, n_steps, gpu_steps, leap_a, leap_c;
  gboolean asks;
} TokenSteps;

#define WORDS_SUMMED 32

/* Steps of tokens of @kib KiB. */
TokenSteps token_steps (guint kib, guint n_steps, guint gpu_steps);
/* The results of @input [@n_words] on a core, step by step, into @output
   [@n_words / WORDS_SUMMED]. Returns: FALSE if @worker, which may be NULL, is
   to stop. */
gboolean token_steps_cpu (const TokenSteps *steps, HassWorker *worker,
                          gconstpointer input, gpointer output);
/* Fills @inputs with @n tokens, and @results with what they must come to,
   from leaps. */
void token_steps_fill (const TokenSteps *steps, gsize n, gpointer inputs,
                       gpointer results);
/* Sets @n_steps so that a token of @kib KiB takes @wanted_s of a core while
   the others are idle. Returns: the seconds that it does take. */
double token_steps_calibrate (guint kib, double wanted_s, guint *n_steps);

/* The sum over elements [@first, @first + @n), as fast as a core can. */
guint64 steps_cpu (const Steps *steps, guint64 first, gsize n);
/* The same, one by one. */
guint64 steps_naive (const Steps *steps, guint64 first, gsize n);

G_END_DECLS

#endif

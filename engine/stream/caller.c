/* SPDX-License-Identifier: MIT */
/* caller.c: when the generating thread computes.

   DESIGN. The generating thread computes when the load pool is full. It cannot
   generate meanwhile, so a token that takes it long costs more than it is worth
   if the other cores and devices run out of loads: few large loads fill a pool.
   Then the thread waits for room instead, and others take what waits. For other
   cores that compute it waits no longer than the token would take: they may
   wait in their stage for a token that nobody else would compute. For devices
   it waits as long as one is left and the pipeline has not stalled.

   Thread safety: the thread that called the pipeline. */
#include "stream-private.h"

/* Shorter tokens are computed, whatever waits: to sleep and to be woken costs
   as much. A guess. */
#define SHORT_NS 100000

gint64 hass_stream_patience_ns; /* in place of a token's time, by tests */

/* Returns: the time of a token on a core from a stage on, to where it waits for
   devices or its turn, in ns; 0: unknown. Later stages that none has computed,
   since all tokens were dropped, say, count as nothing. */
static double
core_ns (const HassStream *stream, guint first)
{
  double ns = 0;
  for (guint s = first; s < stream->n_stages; s++)
    {
      const HassStageState *stage = &stream->stages[s];
      if (s > first && (stage->linked || stage->ordered))
        break;
      double one = hass_stream_stage_ns (stream, stream->job->workers, s);
      if (one <= 0 && s == first)
        return 0;
      ns += one;
    }
  return ns;
}

/* Returns: tokens that devices compute at a stage in a ns. */
static double
devices_per_ns (const HassStream *stream, guint s)
{
  const HassJob *job = stream->job;
  double per_ns = 0;
  for (guint w = job->n_cores; w < job->n_workers; w++)
    {
      const HassStageCount *c = &stream->workers[w].stages[s];
      double n
          = (double)atomic_load_explicit (&c->tokens, memory_order_relaxed);
      double ns
          = (double)atomic_load_explicit (&c->busy_ns, memory_order_relaxed);
      if (ns > 0)
        per_ns += n / ns;
    }
  return per_ns;
}

/* Returns: TRUE until the caller has waited for as long as a token takes on a
   core, counted from the first time in one emission. */
static gboolean
waits (HassStream *stream, double token_ns)
{
  HassJob *job = stream->job;
  gint64 now_ns = job->engine->now (job);
  gint64 most_ns = hass_stream_patience_ns > 0 ? hass_stream_patience_ns
                                               : (gint64)token_ns;
  if (stream->declined_room_ns != job->phases.room_ns
      || stream->declined_ns == 0)
    {
      stream->declined_room_ns = job->phases.room_ns;
      stream->declined_ns = now_ns;
    }
  stream->declines_until_ns = stream->declined_ns + most_ns;
  return now_ns < stream->declines_until_ns;
}

/* Returns: TRUE if the generating thread should not take a token of a stage, of
   which @left wait: while it computes, each other core needs one, also a core
   that sleeps for want of loads. A token of unknown time it takes. On a
   modelled machine the generator is no core. */
gboolean
hass_stream_caller_declines (HassStream *stream, guint s, guint64 left)
{
  const HassJob *job = stream->job;
  if (job->n_cores == 1
      || atomic_load_explicit (&job->generated, memory_order_relaxed))
    return FALSE;
  gboolean bound
      = atomic_load_explicit (&stream->stages[s].bound, memory_order_relaxed);
  double token_ns = core_ns (stream, s);
  double per_ns = bound ? devices_per_ns (stream, s) : 0;
  double devices = token_ns * per_ns;
  if (per_ns > 0 && (token_ns <= 0 || (double)left < devices))
    return TRUE;
  return job->engine->real_time && token_ns >= SHORT_NS
         && (double)left < devices + (job->n_cores - 1)
         && waits (stream, token_ns);
}

/* SPDX-License-Identifier: MIT */
/* caller.c: when the generating thread computes.

   DESIGN. The generating thread computes when the load pool is full. It cannot
   generate meanwhile, so a token that takes it long costs more than it is worth
   if the other cores and devices run out of loads: few large loads fill a pool.
   Then the thread waits for room instead, and others take what waits. It waits
   for no longer than the token would take: others may be kept from coming, or
   wait in their stage for a token that nobody else would compute.

   Thread safety: the thread that called the pipeline. */
#include "stream-private.h"

/* Shorter tokens are computed, whatever waits: to sleep and to be woken costs
   as much. A guess. */
#define SHORT_NS 100000

/* How long the thread waits for a core that computes, in ns, before anything is
   known of the tokens, and for cores of which none computes: about as long as
   it takes to make the threads of a pool. Guesses: less, and the cores run out
   of loads in the first tokens; more, and cores that do not come, or wait for
   another token, cost more. */
#define UNKNOWN_NS 100000000
#define ABSENT_NS 5000000

gint64 hass_stream_patience_ns; /* in place of these, by tests */

/* Who computes beside the caller. @core_ns: time of a token on a core; 0:
   unknown. @per_ns: tokens that devices compute in a ns. @running: cores. */
typedef struct
{
  double core_ns, per_ns;
  guint running;
} Others;

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

static Others
others_at (const HassStream *stream, guint s)
{
  const HassJob *job = stream->job;
  Others o = { .core_ns = core_ns (stream, s) };
  for (guint w = 1; w < job->n_workers; w++)
    {
      const HassStreamWorker *sw = &stream->workers[w];
      const HassStageCount *c = &sw->stages[s];
      double n
          = (double)atomic_load_explicit (&c->tokens, memory_order_relaxed);
      double ns
          = (double)atomic_load_explicit (&c->busy_ns, memory_order_relaxed);
      if (w < job->n_cores)
        o.running
            += atomic_load_explicit (&sw->at_stage, memory_order_relaxed) > 0;
      else if (ns > 0)
        o.per_ns += n / ns;
    }
  return o;
}

/* Returns: TRUE until the caller has waited for as long as it should, counted
   from the first time in one emission. */
static gboolean
waits (HassStream *stream, const Others *o)
{
  HassJob *job = stream->job;
  gint64 now_ns = job->engine->now (job);
  gint64 most_ns = hass_stream_patience_ns > 0 ? hass_stream_patience_ns
                   : o->running == 0           ? ABSENT_NS
                   : o->core_ns <= 0           ? UNKNOWN_NS
                                               : (gint64)o->core_ns;
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
   which @left wait. On a modelled machine the generator is no core. */
gboolean
hass_stream_caller_declines (HassStream *stream, guint s, guint64 left)
{
  const HassJob *job = stream->job;
  const HassStageState *stage = &stream->stages[s];
  gboolean bound = atomic_load_explicit (&stage->bound, memory_order_relaxed);
  guint n_others = job->n_cores - 1;
  if (job->n_cores == 1
      || atomic_load_explicit (&job->generated, memory_order_relaxed))
    return FALSE;
  Others o = others_at (stream, s);
  double devices = bound ? o.core_ns * o.per_ns : 0;
  if (bound && o.per_ns > 0 && (o.core_ns <= 0 || (double)left < devices))
    return TRUE;
  if (!job->engine->real_time || (o.core_ns > 0 && o.core_ns < SHORT_NS))
    return FALSE;
  /* Each core needs a token when it has done its own. Where no strategy divides
     the stage those that have none need one before. */
  guint idle = bound && o.per_ns > 0 ? 0 : n_others - o.running;
  double needed = devices + o.running + 2 * idle;
  return (double)left < needed && waits (stream, &o);
}

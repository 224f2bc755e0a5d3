/* SPDX-License-Identifier: MIT */
/* serve.c: what the strategy of a pipeline sees and is told.
   Thread safety: all functions under the decision lock. */
#include "stream-private.h"

static guint64
sum_done (const HassStream *stream, guint s, guint64 *bytes)
{
  guint64 n = 0;
  *bytes = 0;
  for (guint w = 0; w < stream->job->n_workers; w++)
    {
      const HassStageCount *c = &stream->workers[w].stages[s];
      n += atomic_load_explicit (&c->tokens, memory_order_relaxed);
      *bytes += atomic_load_explicit (&c->bytes, memory_order_relaxed);
    }
  return n;
}

/* Returns the state of the stream, valid until the next call. */
const HassStreamState *
hass_stream_look (HassStream *stream, gint64 now_ns)
{
  HassJob *job = stream->job;
  HassStreamState *state = &stream->state;
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassBatchQueue *ready = &stream->stages[s].ready;
      HassClassState *c = &stream->class_states[s];
      c->ready = atomic_load_explicit (&ready->n_tokens, memory_order_relaxed);
      c->oldest_ns
          = atomic_load_explicit (&ready->oldest_ns, memory_order_relaxed);
      c->done = sum_done (stream, s, &c->bytes);
      c->running = 0;
      for (guint w = 0; w < job->n_cores; w++)
        if (atomic_load_explicit (&stream->workers[w].at_stage,
                                  memory_order_relaxed)
            == s + 1)
          c->running += atomic_load_explicit (&stream->workers[w].n_running,
                                              memory_order_relaxed);
    }
  for (guint d = 0; d < job->n_devices; d++)
    stream->device_states[d]
        = (HassDeviceHolds){ .units = &stream->holds[d * stream->n_stages],
                             .bundles = stream->bundles[d],
                             .lost = job->totals[d].lost };
  guint64 tokens
      = atomic_load_explicit (&stream->n_tokens, memory_order_relaxed);
  guint64 begun = atomic_load_explicit (&stream->n_begun, memory_order_relaxed);
  HassStreamState now = {
    .now_ns = now_ns,
    .n_classes = stream->n_stages,
    .classes = stream->class_states,
    .n_devices = job->n_devices,
    .devices = stream->device_states,
    .tokens = tokens,
    .waiting = hass_stream_n_waiting (stream),
    .ended = begun - MIN (begun, tokens),
    .generated = atomic_load_explicit (&job->generated, memory_order_relaxed),
  };
  hass_stream_look_at_window (stream, &now);
  *state = now;
  return state;
}

void
hass_stream_tell_served (HassStream *stream, const HassServed *served)
{
  hass_decide_served (stream->job, hass_stream_look (stream, served->end_ns),
                      served);
}

/* Tells the strategy and the profile store what the cores have done since they
   were told last. The time of tokens that other devices have computed meanwhile
   counts as time of those that cores have, whose mean it then gives if times
   are distributed exponentially; as long as there are none of these, as that of
   one. */
void
hass_stream_tell_cores (HassStream *stream, gint64 now_ns)
{
  HassJob *job = stream->job;
  if (!job->strategy->ops->served && !job->samplers)
    return;
  for (guint s = 0; s < stream->n_stages; s++)
    {
      guint64 n = 0, bytes = 0, lost = 0;
      gint64 busy_ns = 0;
      for (guint w = 0; w < job->n_cores; w++)
        {
          const HassStageCount *c = &stream->workers[w].stages[s];
          n += atomic_load_explicit (&c->tokens, memory_order_relaxed);
          bytes += atomic_load_explicit (&c->bytes, memory_order_relaxed);
          lost += atomic_load_explicit (&c->lost, memory_order_relaxed);
          busy_ns += atomic_load_explicit (&c->busy_ns, memory_order_relaxed);
        }
      HassStageTold *told = &stream->told[s];
      if (n > told->tokens || lost > told->lost)
        hass_stream_tell_served (
            stream, &(HassServed){ .device = (guint)job->cpu,
                                   .class_index = s,
                                   .units = MAX (n - told->tokens, 1),
                                   .bytes = bytes - told->bytes,
                                   .busy_ns = (double)(busy_ns - told->busy_ns),
                                   .grant_ns = stream->consulted_ns,
                                   .start_ns = stream->consulted_ns,
                                   .end_ns = now_ns });
      told->lost = lost;
      if (n > told->tokens)
        *told = (HassStageTold){ n, bytes, lost, busy_ns };
    }
}

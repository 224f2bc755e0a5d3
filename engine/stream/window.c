/* SPDX-License-Identifier: MIT */
/* window.c: how many bytes of tokens may be in flight.

   DESIGN. If the user gives no bound, it follows from the largest token so far:
   tokens of a few bytes are bounded by BYTES; of larger ones, as many may be in
   flight as keep the cores busy and fill the bundles of devices, and as many as
   the strategy asks for, up to a part of the memory that the process may use.

   Thread safety: any thread. */
#include "stream-private.h"

/* What is allowed in any case, if the memory is large enough: tokens of up to
   some hundred kB are then not bounded by their bytes. */
#define BYTES ((gsize)48 << 20)
/* Tokens for each core: one that is computed and one that waits for its turn,
   or for the core. */
#define A_CORE 2
/* Tokens for each bundle in flight on a device, before the strategy knows how
   many it wants. A guess. */
#define A_BUNDLE 8

/* Returns: the most bytes that may be in flight if the strategy wants that. */
static gsize
bytes_at_most (const HassStream *stream)
{
  return stream->given_bytes > 0 ? stream->given_bytes
                                 : hass_job_most_bytes (stream->job);
}

/* Returns: bytes of @tokens of the largest size so far, as far as they are
   allowed; at least BYTES. */
static gsize
bytes_of (const HassStream *stream, double tokens)
{
  gsize most = bytes_at_most (stream);
  double largest
      = (double)atomic_load_explicit (&stream->largest, memory_order_relaxed);
  return stream->given_bytes > 0
             ? most
             : (gsize)MIN ((double)most, MAX ((double)BYTES, tokens * largest));
}

/* Returns: tokens that keep cores and devices busy. */
static guint64
enough (const HassStream *stream)
{
  const HassJob *job = stream->job;
  guint64 n = A_CORE * (guint64)job->n_cores;
  for (guint d = 0; d < job->n_devices; d++)
    if ((gint)d != job->cpu)
      n += A_BUNDLE * (guint64)MAX (job->devices[d].max_in_flight, 1);
  return n;
}

/* Returns: how many tokens of the mean size of those in flight, or that were in
   flight last, fit into @bytes. */
static guint64
tokens_in (const HassStream *stream, gsize bytes, guint64 last)
{
  guint64 n = atomic_load_explicit (&stream->n_tokens, memory_order_relaxed);
  guint64 held = atomic_load_explicit (&stream->bytes, memory_order_relaxed);
  if (n == 0 && last > 0)
    return last;
  if (n == 0 || held == 0)
    return stream->user_tokens;
  double most = (double)bytes / (double)held * (double)n;
  return (guint64)CLAMP (most, 1, (double)stream->user_tokens);
}

/* Sets what the strategy sees of the bounds. */
void
hass_stream_look_at_window (const HassStream *stream, HassStreamState *state)
{
  const HassStreamState *last = &stream->state;
  state->most_tokens
      = tokens_in (stream, bytes_at_most (stream), last->most_tokens);
  state->ample_tokens = tokens_in (
      stream, bytes_of (stream, (double)enough (stream)), last->ample_tokens);
}

/* Sets the bound on bytes anew. If two threads do so at once, what the slower
   one has seen holds until the strategy is asked next. */
static void
resize (HassStream *stream)
{
  double wanted
      = (double)atomic_load_explicit (&stream->wanted, memory_order_seq_cst);
  atomic_store_explicit (
      &stream->most_bytes,
      bytes_of (stream, MAX (wanted, (double)enough (stream))),
      memory_order_relaxed);
}

/* Notes how many tokens the strategy wants in flight; 0: all that are allowed
   without. */
void
hass_stream_want (HassStream *stream, guint64 tokens)
{
  atomic_store_explicit (&stream->wanted, tokens, memory_order_seq_cst);
  resize (stream);
}

/* Notes what a token counts in the bound on bytes. Under admit_lock. */
void
hass_stream_note_size (HassStream *stream, gsize charge)
{
  if (G_LIKELY (charge <= atomic_load_explicit (&stream->largest,
                                                memory_order_relaxed)))
    return;
  atomic_store_explicit (&stream->largest, charge, memory_order_seq_cst);
  resize (stream);
}

void
hass_stream_window_init (HassStream *stream)
{
  stream->given_bytes = stream->job->farm->token_bytes;
  resize (stream);
}

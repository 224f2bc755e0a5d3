/* SPDX-License-Identifier: MIT */
/* split.c: see split.h.

   DESIGN. While members tell their lengths, whole members are cut out of a
   buffer, as many as decompress into RUN_BYTES together; a member that is not
   complete moves to the next buffer. From the first member that tells no length
   on, or one that is too long, tokens are bytes as they are read: where the
   next member begins is known to the stage that inflates only.

   Thread safety: see split.h. */
#include "split.h"

#include <string.h>

/* BUFFER_BYTES: the longest member that is cut out, and the most that it may
   decompress to; a member of hzip has little more than 3 MiB at most.
   RUN_BYTES: so much for one write; less costs more calls, more leaves cores
   without work in short files. PIECE_BYTES: so that reading, inflating and
   writing overlap. */
#define BUFFER_BYTES ((gsize)4 << 20)
#define RUN_BYTES ((gsize)5 << 18)
#define PIECE_BYTES ((gsize)32 << 10)

typedef struct
{
  Job *job;
  HassEmitter *emitter;
  guint8 *buffer;
  gsize start, end;
  gboolean at_end;
} Splitter;

static gboolean
emit (Splitter *s, gsize bytes, gpointer tag)
{
  HassLoad load = { .input = s->buffer + s->start,
                    .input_bytes = bytes,
                    .size = 1,
                    .tag = tag,
                    .flags = HASS_LOAD_BUFFER };
  s->start += bytes;
  return hass_emitter_emit (s->emitter, &load);
}

/* Gets a new buffer for what is not emitted yet, and more. */
static gboolean
new_buffer (Splitter *s)
{
  gsize kept = s->end - s->start;
  guint8 *buffer = hass_emitter_buffer (s->emitter, BUFFER_BYTES);
  if (!buffer)
    return FALSE;
  if (kept > 0)
    memcpy (buffer, s->buffer + s->start, kept);
  s->buffer = buffer;
  s->start = 0;
  s->end = kept;
  return TRUE;
}

/* How many bytes from @start on are whole members that may be decompressed at
   once; 0: none. @known: FALSE if the next header tells no length, or one that
   no buffer has room for. */
static gsize
run_of_members (const Splitter *s, gboolean *known)
{
  gsize run = 0, out = 0;
  *known = TRUE;
  while (s->start + run < s->end)
    {
      const guint8 *at = s->buffer + s->start + run;
      gsize n = s->end - s->start - run, bytes;
      MemberSpan span;
      SpanResult result = member_span (at, n, &span);
      if (result == SPAN_CUT && n < PEEK_BYTES * 2)
        break;
      *known = result == SPAN_KNOWN && span.member_bytes <= BUFFER_BYTES;
      if (!*known || span.member_bytes > n)
        break;
      bytes = read_u32 (at + span.member_bytes - 4);
      *known = bytes <= BUFFER_BYTES;
      if (!*known || (run > 0 && out + bytes > RUN_BYTES))
        break;
      run += span.member_bytes;
      out += bytes;
    }
  return run;
}

/* Emits the members that tell their lengths. */
static gboolean
split_members (Splitter *s, const atomic_bool *ended)
{
  gboolean known = TRUE;
  while (!atomic_load_explicit (ended, memory_order_relaxed))
    {
      gsize run = run_of_members (s, &known);
      if (run > 0)
        {
          if (!emit (s, run, TAG_MEMBERS))
            return FALSE;
          continue;
        }
      if (!known || s->at_end)
        return TRUE;
      if (s->end == BUFFER_BYTES || !s->buffer)
        if (!new_buffer (s))
          return FALSE;
      gsize got
          = job_read (s->job, s->buffer + s->end, BUFFER_BYTES - s->end, FALSE);
      s->end += got;
      s->at_end = got == 0;
    }
  return FALSE;
}

/* Emits all that remains as bytes. */
static void
split_bytes (Splitter *s, const atomic_bool *ended)
{
  while (!atomic_load_explicit (ended, memory_order_relaxed))
    {
      if (s->start == s->end)
        {
          if (s->at_end)
            return;
          if (s->end + PIECE_BYTES > BUFFER_BYTES && !new_buffer (s))
            return;
          s->end += job_read (s->job, s->buffer + s->end, PIECE_BYTES, FALSE);
          s->at_end = s->end == s->start;
        }
      else if (!emit (s, MIN (s->end - s->start, PIECE_BYTES), TAG_BYTES))
        return;
    }
}

gboolean
split_input (Job *job, const atomic_bool *ended, HassEmitter *emitter)
{
  Splitter s = { .job = job, .emitter = emitter };
  if (split_members (&s, ended))
    split_bytes (&s, ended);
  return TRUE;
}

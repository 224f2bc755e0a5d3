/* SPDX-License-Identifier: MIT */
/* decompress.c: the pipeline that decompresses: cut into tokens (split.c),
   decompress whole members (on all cores), inflate the rest as a stream, write.

   DESIGN. A token of members that decompresses without an error, each to the
   length and CRC-32 of its trailer, is written as it is. All other tokens are
   bytes of one stream (inflater.c), which is inflated in order, ahead of the
   stage that writes and no further than memory allows (ahead.c). So what is not
   valid has the answer of gzip: a member whose length was wrong, too, because
   the stream goes on after its token until it is between two members.

   Thread safety: see job.h. */
#include <libdeflate.h>

#include "ahead.h"
#include "split.h"

/* Bounds on the tokens in flight, which have bytes of the file and members, on
   their number, and on their bytes: TOKENS + TOKENS_A_CORE for each core, and
   likewise. Guesses: less, and cores wait for others that write; more, and
   memory is used in vain. What streams make has a bound of its own, in ahead.c.
 */
#define TOKENS 16
#define TOKENS_A_CORE 4
#define BYTES ((gsize)32 << 20)
#define BYTES_A_CORE ((gsize)2 << 20)

/* @ended: nothing that follows in the input matters. */
typedef struct
{
  Job *job;
  Inflater *inflater;
  Ahead *ahead;
  atomic_bool ended;
} Decompression;

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  Decompression *d = user_data;
  (void)error;
  return split_input (d->job, &d->ended, emitter);
}

/* -- Members ------------------------------------------------------------ */

static void
free_decompressor (gpointer decompressor)
{
  libdeflate_free_decompressor (decompressor);
}

static struct libdeflate_decompressor *
decompressor_of_thread (void)
{
  static GPrivate key = G_PRIVATE_INIT (free_decompressor);
  struct libdeflate_decompressor *d = g_private_get (&key);
  if (!d)
    {
      d = libdeflate_alloc_decompressor ();
      g_private_set (&key, d);
    }
  return d;
}

/* The length of what the members in @in [@n] contain, as they tell it. */
static gsize
told_bytes (const guint8 *in, gsize n)
{
  MemberSpan span;
  gsize bytes = 0;
  for (; n > 0; in += span.member_bytes, n -= span.member_bytes)
    {
      member_span (in, n, &span);
      bytes += read_u32 (in + span.member_bytes - 4);
    }
  return bytes;
}

/* Decompresses the members in @in [@n] to @out, which has room for what they
   tell. FALSE: not all are valid. */
static gboolean
decode_members (const guint8 *in, gsize n, guint8 *out)
{
  struct libdeflate_decompressor *d = decompressor_of_thread ();
  MemberSpan span;
  for (; d && n > 0; in += span.member_bytes, n -= span.member_bytes)
    {
      member_span (in, n, &span);
      const guint8 *trailer = in + span.member_bytes - TRAILER_BYTES;
      gsize body = span.member_bytes - span.header_bytes - TRAILER_BYTES;
      gsize bytes = read_u32 (trailer + 4), used;
      if (libdeflate_deflate_decompress_ex (d, in + span.header_bytes, body,
                                            out, bytes, &used, NULL)
              != LIBDEFLATE_SUCCESS
          || used != body
          || libdeflate_crc32 (0, out, bytes) != read_u32 (trailer))
        return FALSE;
      out += bytes;
    }
  return d != NULL;
}

static gboolean
decode_stage (HassToken *token, HassWorker *worker, gpointer user_data,
              GError **error)
{
  (void)user_data;
  (void)error;
  if (token->tag != TAG_MEMBERS)
    return TRUE;
  gsize bytes = told_bytes (token->input, token->input_bytes);
  guint8 *out = hass_token_output (token, worker, bytes);
  if (!out)
    return FALSE;
  if (!decode_members (token->input, token->input_bytes, out))
    {
      token->output_bytes = 0;
      token->tag = TAG_BYTES;
    }
  return TRUE;
}

/* -- The stream --------------------------------------------------------- */

/* Gives the bytes of the file that a token has, those of its load, and what the
   stage before has made of them, if that is valid, to the stream. */
static gboolean
inflate_stage (HassToken *token, HassWorker *worker, gpointer user_data,
               GError **error)
{
  Decompression *d = user_data;
  const HassLoad *load = token->load;
  gboolean valid = token->tag == TAG_MEMBERS;
  (void)worker;
  (void)error;
  ahead_add (d->ahead, load->input, load->input_bytes,
             valid ? token->input : NULL, valid ? token->input_bytes : 0);
  if (ahead_ended (d->ahead))
    atomic_store_explicit (&d->ended, TRUE, memory_order_relaxed);
  return TRUE;
}

static gboolean
write_stage (HassToken *token, HassWorker *worker, gpointer user_data,
             GError **error)
{
  Decompression *d = user_data;
  (void)token;
  (void)worker;
  return ahead_write (d->ahead, d->job, error);
}

/* -- The end of the file ------------------------------------------------ */

typedef struct
{
  Job *job;
  guint8 *part;
  GError *error;
} EndSink;

static guint8 *
get_end (gpointer user_data)
{
  return ((EndSink *)user_data)->part;
}

static void
put_end (guint8 *part, gsize bytes, gpointer user_data)
{
  EndSink *sink = user_data;
  if (!sink->error)
    job_write (sink->job, part, bytes, &sink->error);
}

/* Inflates the last @n bytes of the file, at @in. */
static gboolean
end_of_file (Decompression *d, const guint8 *in, gsize n)
{
  EndSink to = { d->job, g_malloc (INFLATER_PART), NULL };
  InflaterSink sink = { get_end, put_end, &to };
  while (inflater_feed (d->inflater, &in, &n, &sink))
    ;
  inflater_end (d->inflater, &sink);
  d->job->crc = inflater_crc (d->inflater);
  gboolean ok = !to.error || job_failed (d->job, to.error);
  g_clear_error (&to.error);
  g_free (to.part);
  return inflater_tell (d->inflater, d->job->hzip) && ok;
}

static gboolean
decompress_short (Decompression *d)
{
  Job *job = d->job;
  atomic_store (&job->bytes_in, job->n_peeked);
  return job_read_well (job) && end_of_file (d, job->peeked, job->n_peeked);
}

static gboolean
decompress_long (Decompression *d)
{
  HassStage stages[]
      = { HASS_STAGE (.name = "decompress", .cpu = decode_stage),
          HASS_STAGE (.name = "inflate", .user_data = d,
                      .mode = HASS_STAGE_ORDERED, .cpu = inflate_stage),
          HASS_STAGE (.name = "write", .user_data = d,
                      .mode = HASS_STAGE_ORDERED, .cpu = write_stage) };
  guint n = d->job->hzip->options.threads;
  if (n == 0)
    n = g_get_num_processors ();
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = NAME;
  pipeline.user_data = d;
  pipeline.generate = generate;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  pipeline.tokens = TOKENS + TOKENS_A_CORE * n;
  pipeline.token_bytes = BYTES + BYTES_A_CORE * n;
  d->ahead = ahead_new (d->inflater);
  gboolean ok = job_run (d->job, &pipeline);
  ahead_free (d->ahead);
  return ok && end_of_file (d, NULL, 0);
}

gboolean
job_decompress (Job *job)
{
  Decompression d
      = { .job = job,
          .inflater = inflater_new (&job->hzip->options, job->name) };
  gboolean ok = job->at_end ? decompress_short (&d) : decompress_long (&d);
  inflater_free (d.inflater);
  return ok;
}

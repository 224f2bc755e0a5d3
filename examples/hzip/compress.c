/* SPDX-License-Identifier: MIT */
/* compress.c: the pipeline that compresses: read blocks, compress each (on all
   cores), write them in order.

   DESIGN. The input is cut into blocks, each of which is a token. It is
   compressed into one member of hzip, or into as many blocks of BGZF as it
   needs.

   Thread safety: see job.h. */
#include <libdeflate.h>
#include <string.h>

#include "job.h"

/* What a level of hzip does. @level: of libdeflate, such that the output is not
   larger than that of zlib at this level, on text. @member_bytes: of the input
   in a member. A member cannot copy from the one before it: in larger members
   that costs less space, in smaller ones more cores share a file. Measured on
   300 MB of text: in members of 1.25 MiB it is 0.5 % larger than in one, in
   2 MiB 0.35 %, in 3 MiB 0.2 %. Level 8 of libdeflate then makes less than
   level 9 of zlib. */
typedef struct
{
  int level;
  gsize member_bytes;
} Effort;

#define SMALL ((gsize)5 << 18)
#define MEDIUM ((gsize)2 << 20)
#define LARGE ((gsize)3 << 20)

static const Effort efforts[]
    = { { 1, SMALL },  { 1, SMALL },  { 2, SMALL },  { 3, SMALL }, { 5, SMALL },
        { 6, SMALL },  { 7, MEDIUM }, { 8, MEDIUM }, { 8, LARGE }, { 8, LARGE },
        { 10, LARGE }, { 11, LARGE }, { 12, LARGE } };

/* Level 6 of libdeflate takes two thirds of the time of level 7. Beside level 6
   of zlib it makes 2 to 4 % more of text that compresses to a tenth, and 2 %
   less to 0.6 % more of text that compresses to a quarter. So -6 takes level 6
   for a member unless the sample in its middle shrinks at level 1 to less than
   this part. Measured on 300 MB of text: from 0.22 on the rate is below 1.5
   times that of pigz -6, below 0.2 the output is larger than pigz's. */
#define SAMPLE_BYTES ((gsize)64 << 10)
#define COMPRESSIBLE 0.21

/* Tokens in flight for each core, in bytes of input and output: one that is
   compressed, one that waits for its turn to be written, one that is read, and
   one more. */
#define TOKENS_EACH_CORE 4

/* What bgzip puts into a block; the block has at most 65536 bytes, also where
   its contents cannot be compressed. */
#define BGZF_INPUT 65280
#define BGZF_MOST 65536
#define BGZF_BLOCKS 20

#define MAX_LEVEL 12

typedef struct
{
  struct libdeflate_compressor *at[MAX_LEVEL + 1];
} Compressors;

static void
free_compressors (gpointer compressors)
{
  Compressors *c = compressors;
  for (guint i = 0; i < G_N_ELEMENTS (c->at); i++)
    libdeflate_free_compressor (c->at[i]);
  g_free (c);
}

/* Each thread has its compressors, for all files. NULL: memory is
   insufficient. */
static struct libdeflate_compressor *
compressor_of_thread (int level)
{
  static GPrivate key = G_PRIVATE_INIT (free_compressors);
  Compressors *c = g_private_get (&key);
  if (!c)
    {
      c = g_new0 (Compressors, 1);
      g_private_set (&key, c);
    }
  if (!c->at[level])
    c->at[level] = libdeflate_alloc_compressor (level);
  return c->at[level];
}

/* Whether level 6 of libdeflate serves for -6; @out has room for the member. */
static gboolean
compresses_little (const guint8 *in, gsize n, guint8 *out)
{
  gsize sample = MIN (n, SAMPLE_BYTES);
  struct libdeflate_compressor *c = compressor_of_thread (1);
  gsize most = (gsize)(COMPRESSIBLE * (double)sample);
  return c
         && libdeflate_deflate_compress (c, in + (n - sample) / 2, sample, out,
                                         most)
                == 0;
}

static int
level_of_member (const Options *o, const guint8 *in, gsize n, guint8 *out)
{
  int level = efforts[o->level].level;
  return o->level == 6 && !o->bgzf && compresses_little (in, n, out) ? level - 1
                                                                     : level;
}

/* Bytes of a member of hzip at most. */
static gsize
member_bound (const HeaderText *text)
{
  return hz_header_bytes (text) + TRAILER_BYTES
         + libdeflate_deflate_compress_bound (
             NULL, efforts[text->level].member_bytes);
}

/* Compresses @n bytes into a member at @out. Returns: its bytes. */
static gsize
make_member (struct libdeflate_compressor *c, const HeaderText *text,
             const guint8 *in, gsize n, guint8 *out)
{
  gsize header = hz_header_bytes (text);
  gsize room = libdeflate_deflate_compress_bound (c, n);
  gsize body = libdeflate_deflate_compress (c, in, n, out + header, room);
  gsize bytes = header + body + TRAILER_BYTES;
  hz_header_write (out, text, bytes);
  trailer_write (out + header + body, libdeflate_crc32 (0, in, n), (guint32)n);
  return bytes;
}

/* Makes a deflate stream that has the bytes as they are. */
static gsize
store (const guint8 *in, guint16 n, guint8 *out)
{
  const guint8 head[]
      = { 1, (guint8)n, (guint8)(n >> 8), (guint8)~n, (guint8)(~n >> 8) };
  memcpy (out, head, sizeof head);
  memcpy (out + sizeof head, in, n);
  return sizeof head + n;
}

/* As make_member(), in blocks of BGZF. */
static gsize
make_bgzf (struct libdeflate_compressor *c, const guint8 *in, gsize n,
           guint8 *out)
{
  guint8 *at = out;
  while (n > 0)
    {
      gsize bytes = MIN (n, BGZF_INPUT);
      guint8 *body = at + BGZF_HEADER_BYTES;
      gsize room = BGZF_MOST - BGZF_HEADER_BYTES - TRAILER_BYTES;
      gsize made = libdeflate_deflate_compress (c, in, bytes, body, room);
      if (made == 0)
        made = store (in, (guint16)bytes, body);
      bgzf_header_write (at, BGZF_HEADER_BYTES + made + TRAILER_BYTES);
      trailer_write (body + made, libdeflate_crc32 (0, in, bytes),
                     (guint32)bytes);
      at = body + made + TRAILER_BYTES;
      in += bytes;
      n -= bytes;
    }
  return (gsize)(at - out);
}

/* Compresses a block of the input into @out, which has room for it. The first
   one's member has the name and the time. Returns: bytes of @out; 0: memory is
   insufficient. */
static gsize
compress_block (const Job *job, const guint8 *in, gsize n, gboolean first,
                guint8 *out)
{
  const Options *o = &job->hzip->options;
  struct libdeflate_compressor *c
      = compressor_of_thread (level_of_member (o, in, n, out));
  HeaderText text = { .level = o->level };
  if (!c)
    return 0;
  if (o->bgzf)
    return make_bgzf (c, in, n, out);
  return make_member (c, first ? &job->text : &text, in, n, out);
}

static gboolean
out_of_memory (GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "memory exhausted");
  return FALSE;
}

static gboolean
compress_stage (HassToken *token, HassWorker *worker, gpointer user_data,
                GError **error)
{
  (void)worker;
  token->output_bytes
      = compress_block (user_data, token->input, token->input_bytes,
                        token->seq == 0, token->output);
  return token->output_bytes > 0 || out_of_memory (error);
}

static gsize
block_bytes (const Options *o)
{
  return o->bgzf ? BGZF_BLOCKS * BGZF_INPUT : efforts[o->level].member_bytes;
}

static gboolean
read_blocks (HassEmitter *emitter, gpointer user_data, GError **error)
{
  Job *job = user_data;
  gsize block = block_bytes (&job->hzip->options);
  HassLoad load = { .size = 1, .flags = HASS_LOAD_BUFFER };
  (void)error;
  do
    {
      guint8 *buffer = hass_emitter_buffer (emitter, block);
      if (!buffer)
        break;
      load.input = buffer;
      load.input_bytes = job_read (job, buffer, block, TRUE);
    }
  while (load.input_bytes > 0 && hass_emitter_emit (emitter, &load)
         && load.input_bytes == block && !job->read_error);
  return TRUE;
}

/* Compresses an input of less than a block. An empty one has a member, too, but
   no block of BGZF. */
static gboolean
compress_short (Job *job, gsize bound, GError **error)
{
  gsize n = job->n_peeked;
  g_autofree guint8 *out = g_malloc (bound);
  atomic_store (&job->bytes_in, n);
  if (n == 0 && job->hzip->options.bgzf)
    return TRUE;
  gsize bytes = compress_block (job, job->peeked, n, TRUE, out);
  if (bytes == 0)
    return out_of_memory (error);
  return job_write (job, out, bytes, error);
}

/* A BGZF file ends with an empty block. */
static gboolean
write_end (Job *job, GError **error)
{
  return !job->hzip->options.bgzf
         || job_write (job, bgzf_end, sizeof bgzf_end, error);
}

static gboolean
compress_long (Job *job, gsize block, gsize bound)
{
  const Options *o = &job->hzip->options;
  HassStage stages[]
      = { HASS_STAGE (.name = "compress", .user_data = job,
                      .cpu = compress_stage, .output_bytes = bound),
          HASS_STAGE (.name = "write", .user_data = job,
                      .mode = HASS_STAGE_ORDERED, .cpu = job_write_stage) };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = NAME;
  pipeline.user_data = job;
  pipeline.generate = read_blocks;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  pipeline.token_bytes = (o->threads ? o->threads : g_get_num_processors ())
                         * TOKENS_EACH_CORE * (block + bound);
  return job_run (job, &pipeline);
}

gboolean
job_compress (Job *job)
{
  const Options *o = &job->hzip->options;
  gsize block = block_bytes (o);
  gsize bound
      = o->bgzf ? (gsize)BGZF_BLOCKS * BGZF_MOST : member_bound (&job->text);
  g_autoptr (GError) error = NULL;
  job_peek (job, block, TRUE);
  if (!job->at_end)
    {
      if (!compress_long (job, block, bound))
        return FALSE;
    }
  else if (!job_read_well (job))
    return FALSE;
  else if (!compress_short (job, bound, &error))
    return job_failed (job, error);
  return write_end (job, &error) || job_failed (job, error);
}

/* SPDX-License-Identifier: MIT */
/* test_pipeline_bytes.c: the bytes of tokens: outputs that are promised, asked
   for and made smaller, inputs that are changed in place, buffers of the
   library, and the bounds of what is in flight.

   DESIGN. An output begins with its own address, so that the next stage sees
   whether it was copied.

   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "engine/stream/stream.h"
#include "hass_test.h"
#include "pipe.h"

#define BYTES 100 /* of a load's input */
/* Of an output of which a worker keeps few for itself. */
#define LARGE 60000

/* An array of loads with bytes of their own; tags are 0, 1, ... */
static guint8 inputs[PIPE_LOADS][BYTES];
static HassLoad loads[PIPE_LOADS];

static HassPipeline
pipe_of_bytes (const HassStage *stages, guint n_stages)
{
  HassPipeline p = pipe_new (stages, n_stages, PIPE_LOADS);
  for (gsize i = 0; i < PIPE_LOADS; i++)
    {
      memset (inputs[i], (int)i, BYTES);
      loads[i] = (HassLoad){ .input = inputs[i],
                             .input_bytes = BYTES - i % 7,
                             .tag = GSIZE_TO_POINTER (i) };
    }
  p.loads = loads;
  return p;
}

static gboolean
all_are (const guint8 *bytes, gsize from, gsize n, guint8 value)
{
  while (from < n && bytes[from] == value)
    from++;
  return from == n;
}

/* Writes an output that knows where it lies. */
static void
sign (guint8 *output, gsize bytes, guint8 value)
{
  memset (output, value, bytes);
  memcpy (output, &output, sizeof output);
}

/* Is the input such an output of the stage before? */
static gboolean
is_signed (const HassToken *t, gsize bytes, guint8 value)
{
  return t->input_bytes == bytes && (gsize)t->input % 64 == 0
         && memcmp (t->input, &t->input, sizeof t->input) == 0
         && all_are (t->input, sizeof t->input, bytes, value);
}

/* -- Outputs ------------------------------------------------------------ */

/* 16 bytes and 1.5 of an input's, rounded up. */
static gsize
promised (gsize input_bytes)
{
  return 16 + (3 * input_bytes + 1) / 2;
}

static gboolean
promise (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->input != inputs[t->seq] || t->input_bytes != BYTES - t->seq % 7
      || !all_are (t->input, 0, t->input_bytes, (guint8)t->seq))
    pipe_blame (probe, "the input is not the load's");
  if (!t->output || (gsize)t->output % 64 != 0
      || t->output_bytes != promised (t->input_bytes))
    pipe_blame (probe, "the output is not as promised");
  else
    sign (t->output, t->output_bytes, (guint8)(t->seq + 1));
  return pipe_look (t, w, probe, error);
}

static gboolean
shrink (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (!is_signed (t, promised (BYTES - t->seq % 7), (guint8)(t->seq + 1)))
    pipe_blame (probe, "the input is not the output before");
  if (t->output_bytes != 400)
    pipe_blame (probe, "the output has not 400 bytes");
  sign (t->output, t->output_bytes, (guint8)(t->seq + 2));
  t->output_bytes -= t->seq % 300;
  return pipe_look (t, w, probe, error);
}

static gboolean
keep (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->output || t->output_bytes > 0)
    pipe_blame (probe, "an output that was not promised");
  if (!is_signed (t, 400 - t->seq % 300, (guint8)(t->seq + 2)))
    pipe_blame (probe, "the input is not the smaller output");
  return pipe_look (t, w, probe, error);
}

static void
promised_outputs (void)
{
  PipeProbe probes[4] = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = promise, .user_data = &probes[0],
                      .output_bytes = 16, .output_ratio = 1.5),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = shrink,
                      .user_data = &probes[1], .output_bytes = 400),
          HASS_STAGE (.cpu = keep, .user_data = &probes[2]),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = keep,
                      .user_data = &probes[3]) };
  HassPipeline p = pipe_of_bytes (stages, 4);
  pipe_must_run (&p);
  for (guint i = 0; i < 4; i++)
    CU_ASSERT_TRUE (pipe_saw (&probes[i], PIPE_LOADS));
}

static gboolean
ask (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->output)
    pipe_blame (probe, "an output that was not promised");
  for (guint i = 0; i < 1 + t->seq % 3; i++)
    {
      gsize bytes = t->seq % 4 ? 64 + t->seq % 1000 + 100 * i : 0;
      guint8 *output = hass_token_output (t, w, bytes);
      if (!output || output != t->output || t->output_bytes != bytes
          || (gsize)output % 64 != 0)
        pipe_blame (probe, "the output is not what was asked for");
      else if (bytes > 0)
        sign (output, bytes, (guint8)(t->seq + i));
    }
  return pipe_look (t, w, probe, error);
}

static gboolean
check_asked (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  guint last = t->seq % 3;
  if (t->seq % 4 == 0 ? t->input_bytes != 0
                      : !is_signed (t, 64 + t->seq % 1000 + 100 * last,
                                    (guint8)(t->seq + last)))
    pipe_blame (probe, "the input is not the last output asked for");
  return pipe_look (t, w, probe, error);
}

static void
asked_outputs (void)
{
  PipeProbe first = { 0 }, second = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = ask, .user_data = &first),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = check_asked,
                      .user_data = &second) };
  HassPipeline p = pipe_of_bytes (stages, 2);
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&first, PIPE_LOADS));
  CU_ASSERT_TRUE (pipe_saw (&second, PIPE_LOADS));
}

/* A promised output may be replaced by one that is asked for. */
static gboolean
ask_for_more (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->seq % 2 && !hass_token_output (t, w, 500))
    pipe_blame (probe, "no output");
  sign (t->output, t->output_bytes, (guint8)t->seq);
  return pipe_look (t, w, probe, error);
}

static gboolean
check_more (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (!is_signed (t, t->seq % 2 ? 500 : 80, (guint8)t->seq))
    pipe_blame (probe, "the input is not the output that was asked for");
  return pipe_look (t, w, probe, error);
}

static void
replaced_outputs (void)
{
  PipeProbe first = { 0 }, second = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = ask_for_more, .user_data = &first,
                      .output_bytes = 80),
          HASS_STAGE (.cpu = check_more, .user_data = &second) };
  HassPipeline p = pipe_of_bytes (stages, 2);
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&first, PIPE_LOADS));
  CU_ASSERT_TRUE (pipe_saw (&second, PIPE_LOADS));
}

static gboolean
increment (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->input != inputs[t->seq])
    pipe_blame (probe, "the input has moved");
  for (gsize i = 0; i < t->input_bytes; i++)
    t->input[i]++;
  return pipe_look (t, w, probe, error);
}

static void
in_place (void)
{
  PipeProbe probes[3] = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = increment, .user_data = &probes[0]),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = increment,
                      .user_data = &probes[1]),
          HASS_STAGE (.cpu = increment, .user_data = &probes[2]) };
  HassPipeline p = pipe_of_bytes (stages, 3);
  guint n_right = 0;
  pipe_must_run (&p);
  for (gsize i = 0; i < PIPE_LOADS; i++)
    n_right += all_are (inputs[i], 0, BYTES - i % 7, (guint8)(i + 3))
               && all_are (inputs[i], BYTES - i % 7, BYTES, (guint8)i);
  CU_ASSERT_EQUAL (n_right, PIPE_LOADS);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (pipe_saw (&probes[i], PIPE_LOADS));
}

/* -- Buffers of the library --------------------------------------------- */

static gpointer _Atomic addresses[64]; /* of outputs */

/* Remembers an address; FALSE: it is the 65th. */
static gboolean
remember (gpointer address)
{
  for (guint i = 0; i < 64; i++)
    {
      gpointer empty = NULL;
      if (atomic_compare_exchange_strong (&addresses[i], &empty, address)
          || empty == address)
        return TRUE;
    }
  return FALSE;
}

static gboolean
emit_buffers (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < PIPE_LOADS; i++)
    {
      guint8 *buffer = hass_emitter_buffer (emitter, 4096);
      memset (buffer, (int)i, 4096);
      const HassLoad load = { .input = buffer + i % 100,
                              .input_bytes = 2000,
                              .tag = GSIZE_TO_POINTER (i),
                              .flags = HASS_LOAD_BUFFER };
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static gboolean
change_buffer (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->input_bytes != 2000 || !all_are (t->input, 0, 2000, (guint8)t->seq))
    pipe_blame (probe, "the buffer was used again too early");
  memset (t->input, (int)t->seq + 1, 2000);
  return pipe_look (t, w, probe, error);
}

static gboolean
make_buffer (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->input_bytes != 2000
      || !all_are (t->input, 0, 2000, (guint8)(t->seq + 1)))
    pipe_blame (probe, "the buffer was used again too early");
  if (!remember (t->output))
    pipe_blame (probe, "buffers are not used again");
  memset (t->output, (int)t->seq + 2, LARGE);
  return pipe_look (t, w, probe, error);
}

static gboolean
read_buffer (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  if (t->input_bytes != LARGE
      || !all_are (t->input, 0, LARGE, (guint8)(t->seq + 2)))
    pipe_blame (probe, "the output was used again too early");
  return pipe_look (t, w, probe, error);
}

static void
buffers_are_recycled (void)
{
  PipeProbe probes[3] = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = change_buffer, .user_data = &probes[0]),
          HASS_STAGE (.cpu = make_buffer, .user_data = &probes[1],
                      .output_bytes = LARGE),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = read_buffer,
                      .user_data = &probes[2]) };
  HassPipeline p = pipe_new (stages, 3, 0);
  memset (addresses, 0, sizeof addresses);
  p.generate = emit_buffers;
  p.tokens = 8;
  pipe_must_run (&p);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (pipe_saw (&probes[i], PIPE_LOADS));
}

/* -- Bounds ------------------------------------------------------------- */

static _Atomic guint in_flight, most_in_flight;
static _Atomic gint64 bytes_in_flight, most_bytes;

static void
begin_token (HassToken *t, gint64 bytes)
{
  guint now = atomic_fetch_add (&in_flight, 1) + 1;
  gint64 sum = atomic_fetch_add (&bytes_in_flight, bytes) + bytes;
  (void)t;
  guint most = atomic_load (&most_in_flight);
  while (now > most
         && !atomic_compare_exchange_weak (&most_in_flight, &most, now))
    ;
  gint64 largest = atomic_load (&most_bytes);
  while (sum > largest
         && !atomic_compare_exchange_weak (&most_bytes, &largest, sum))
    ;
}

static gboolean
first_stage (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  begin_token (t, (gint64)(t->input_bytes + t->output_bytes));
  g_usleep (10);
  return TRUE;
}

static gboolean
last_stage (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  pipe_look (t, w, probe, error);
  g_usleep (t->seq % 50 == 0 ? 1000 : 10);
  atomic_fetch_sub (&bytes_in_flight,
                    (gint64)(t->load->input_bytes + t->input_bytes));
  atomic_fetch_sub (&in_flight, 1);
  return TRUE;
}

static void
run_bounded (gsize tokens, gsize token_bytes)
{
  PipeProbe probe = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = first_stage, .output_bytes = 1000),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = last_stage,
                      .user_data = &probe) };
  HassPipeline p = pipe_of_bytes (stages, 2);
  p.tokens = tokens;
  p.token_bytes = token_bytes;
  p.run.n_cores = 8;
  in_flight = most_in_flight = 0;
  bytes_in_flight = most_bytes = 0;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&probe, PIPE_LOADS));
  CU_ASSERT_EQUAL (in_flight, 0);
}

static void
bounds_hold (void)
{
  run_bounded (3, 0);
  CU_ASSERT_TRUE (most_in_flight <= 3);
  run_bounded (1, 0);
  CU_ASSERT_EQUAL (most_in_flight, 1);
  run_bounded (0, 5000);
  CU_ASSERT_TRUE (most_bytes <= 5000);
  run_bounded (0, 600); /* less than a token */
  CU_ASSERT_EQUAL (most_in_flight, 1);
}

#define N_SMALL 4000
#define HELD 3000  /* the token whose last stage waits */
#define AHEAD 3200 /* until so many have been computed: some batches more */

/* One large load, and many small ones. */
static gboolean
emit_mixed (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < N_SMALL; i++)
    if (!hass_emitter_emit (emitter,
                            &(HassLoad){ .input = inputs,
                                         .input_bytes = i == 0 ? 1 << 20 : 1 }))
      return FALSE;
  return TRUE;
}

/* Not after the pipeline has stopped admitting loads, as this stage takes long
   where cores are few: it would wait for ever. */
static gboolean
wait_for_others (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  while (t->seq == HELD && ((PipeProbe *)probe)->calls < AHEAD
         && !hass_stream_backed_up (hass_stream_of (w->job)))
    g_usleep (100);
  (void)error;
  return TRUE;
}

static void
small_after_large (void)
{
  PipeProbe first = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = pipe_look, .user_data = &first),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = wait_for_others,
                      .user_data = &first) };
  HassPipeline p = pipe_new (stages, 2, 0);
  p.generate = emit_mixed;
  p.token_bytes = 8 << 20;
  p.run.n_cores = 3;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&first, N_SMALL));
}

HASS_TEST_SUITE (
    pipeline_bytes,
    { "a promised output has its size and is the next input, not copied",
      promised_outputs },
    { "a stage may ask for its output, also an empty one, and ask again",
      asked_outputs },
    { "an output that is asked for replaces the promised one",
      replaced_outputs },
    { "without an output the input goes on, changed in place", in_place },
    { "buffers of loads and outputs are used again, but not too early",
      buffers_are_recycled },
    { "tokens and bytes in flight stay within their bounds", bounds_hold },
    { "small loads after a large one count as small", small_after_large })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_flow.c: tokens that become several, that are dropped and that
   are sent back.
   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

#define PARTS 5

typedef struct
{
  PipeBooks books; /* the first member: what pipe_release gets */
  PipeProbe probe;
  gsize next; /* tag that the ordered sink expects */
  gsize (*after) (gsize tag);
  guint part_bytes;
  const char *memory; /* of the parts */
} Flow;

static HassPipeline
flow_new (Flow *flow, const HassStage *stages, guint n_stages)
{
  HassPipeline p = pipe_new (stages, n_stages, PIPE_LOADS);
  p.user_data = flow;
  p.release = pipe_release;
  flow->probe.alone = flow->probe.in_order = TRUE;
  return p;
}

static void
flow_run (const HassPipeline *p, Flow *flow, guint calls)
{
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (pipe_run (p, &report, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_TRUE (pipe_saw (&flow->probe, calls));
  CU_ASSERT_TRUE (pipe_books_right (&flow->books, PIPE_LOADS, report));
  CU_ASSERT_TRUE (report && report->n_unfinished == 0);
}

/* The ordered sink: tags come as flow->after says. */
static gboolean
take (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Flow *flow = data;
  if (GPOINTER_TO_SIZE (t->tag) != flow->next)
    pipe_blame (&flow->probe, "another token was due");
  flow->next = flow->after (flow->next);
  return pipe_look (t, w, &flow->probe, error);
}

/* -- One to many -------------------------------------------------------- */

/* How many parts a load has; with 0 the token itself goes on. */
static gsize
parts_of (gsize seq)
{
  return seq % (PARTS + 1);
}

/* A tag is seq * 1000 + part; a token without parts has part 0. */
static gsize
next_part (gsize tag)
{
  gsize seq = tag / 1000, part = tag % 1000;
  return part + 1 < parts_of (seq) ? tag + 1 : (seq + 1) * 1000;
}

static gboolean
split (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  static guint8 own[PIPE_LOADS][PARTS][10];
  Flow *flow = data;
  gsize n = parts_of (t->seq);
  gboolean ok = TRUE;
  (void)error;
  for (gsize i = 0; i < n; i++)
    {
      guint8 *bytes = own[t->seq][i];
      if (strcmp (flow->memory, "output") == 0)
        bytes = t->output + 10 * i;
      else if (strcmp (flow->memory, "buffer") == 0)
        bytes = hass_token_buffer (t, w, 10);
      HassLoad part = { .input = bytes,
                        .input_bytes = 10,
                        .tag = GSIZE_TO_POINTER (1000 * t->seq + i) };
      memset (bytes, (int)(t->seq + i), 10);
      ok &= hass_token_emit (t, w, &part);
      memset (&part, 0xA5, sizeof part);
    }
  if (n == 0)
    t->tag = GSIZE_TO_POINTER (1000 * t->seq);
  return ok;
}

static gboolean
change_part (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Flow *flow = data;
  gsize tag = GPOINTER_TO_SIZE (t->tag);
  (void)w, (void)error;
  if (flow->books.released[t->seq] > 0)
    pipe_blame (&flow->probe, "a load was released before its parts");
  if (tag / 1000 != t->seq || GPOINTER_TO_SIZE (t->load->tag) != t->seq)
    pipe_blame (&flow->probe, "a part is not its load's");
  for (gsize i = 0; parts_of (t->seq) > 0 && i < 10; i++)
    if (t->input_bytes != 10 || t->input[i]++ != (guint8)(t->seq + tag % 1000))
      pipe_blame (&flow->probe, "a part has other bytes");
  return TRUE;
}

static guint
count_parts (void)
{
  guint n = 0;
  for (gsize i = 0; i < PIPE_LOADS; i++)
    n += MAX (parts_of (i), 1);
  return n;
}

static void
parts_keep_the_order (void)
{
  static const char *const memories[] = { "own", "output", "buffer" };
  for (guint i = 0; i < 3; i++)
    {
      Flow flow = { .after = next_part, .memory = memories[i] };
      const HassStage stages[]
          = { HASS_STAGE (.cpu = split,
                          .output_bytes = i == 1 ? 10 * PARTS : 0),
              HASS_STAGE (.cpu = change_part),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = take) };
      HassPipeline p = flow_new (&flow, stages, 3);
      flow_run (&p, &flow, count_parts ());
    }
}

/* Splits into halves, which know their place in a binary number. */
static gboolean
halve (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  gsize tag = GPOINTER_TO_SIZE (t->tag);
  (void)data, (void)error;
  for (gsize i = 0; i < 2; i++)
    {
      const HassLoad half = { .tag = GSIZE_TO_POINTER (2 * tag + i) };
      if (!hass_token_emit (t, w, &half))
        return FALSE;
    }
  return TRUE;
}

static gsize
plus_one (gsize tag)
{
  return tag + 1;
}

static void
parts_have_parts (void)
{
  Flow flow = { .after = plus_one };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = halve),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = halve),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = halve),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = take) };
  HassPipeline p = flow_new (&flow, stages, 4);
  flow_run (&p, &flow, 8 * PIPE_LOADS);
}

/* -- Dropping ----------------------------------------------------------- */

static gboolean
drop_most (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (t->seq % 3)
    hass_token_drop (t, w);
  return TRUE;
}

static gboolean
drop_all (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_token_drop (t, w);
  return TRUE;
}

static gsize
plus_three (gsize tag)
{
  return tag + 3;
}

static void
dropped_tokens (void)
{
  const HassStageMode modes[] = { HASS_STAGE_PARALLEL, HASS_STAGE_ORDERED,
                                  HASS_STAGE_SERIAL, HASS_STAGE_CALLER };
  for (guint i = 0; i < 4; i++)
    {
      Flow flow = { .after = plus_three };
      const HassStage stages[]
          = { HASS_STAGE (.mode = modes[i], .cpu = drop_most),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = take),
              HASS_STAGE (.mode = modes[i], .cpu = drop_all) };
      HassPipeline p = flow_new (&flow, stages, 3);
      flow_run (&p, &flow, (PIPE_LOADS + 2) / 3);
    }
}

static gboolean
drop_odd_halves (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (GPOINTER_TO_SIZE (t->tag) % 2)
    hass_token_drop (t, w);
  return TRUE;
}

static gsize
plus_two (gsize tag)
{
  return tag + 2;
}

static void
dropped_parts (void)
{
  Flow flow = { .after = plus_two };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = halve), HASS_STAGE (.cpu = drop_odd_halves),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = take) };
  HassPipeline p = flow_new (&flow, stages, 3);
  flow_run (&p, &flow, PIPE_LOADS);
}

/* -- Sending back ------------------------------------------------------- */

static guint _Atomic n_grown, n_asked;

/* An output that is a byte longer than the input. */
static gboolean
grow (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Flow *flow = data;
  (void)error;
  n_grown++;
  guint8 *output = hass_token_output (t, w, t->input_bytes + 1);
  for (gsize i = 0; i < t->input_bytes; i++)
    {
      if (t->input[i] != (guint8)(t->seq + i))
        pipe_blame (&flow->probe, "what was sent back has other bytes");
      output[i] = t->input[i];
    }
  output[t->input_bytes] = (guint8)(t->seq + t->input_bytes);
  return TRUE;
}

static gboolean
send_back (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  n_asked++;
  if (t->input_bytes < 1 + t->seq % 5)
    return hass_token_again (t, w, 1);
  return TRUE;
}

static gboolean
take_grown (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Flow *flow = data;
  if (t->input_bytes != 1 + t->seq % 5)
    pipe_blame (&flow->probe, "not sent back as often as asked");
  return take (t, w, data, error);
}

static gboolean
pass (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

static void
sent_back (void)
{
  const HassStageMode asks[] = { HASS_STAGE_PARALLEL, HASS_STAGE_SERIAL,
                                 HASS_STAGE_ORDERED, HASS_STAGE_CALLER };
  for (guint i = 0; i < 4; i++)
    {
      Flow flow = { .after = plus_one };
      const HassStage stages[]
          = { HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = pass),
              HASS_STAGE (.cpu = grow),
              HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = pass),
              HASS_STAGE (.mode = asks[i], .cpu = send_back),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = take_grown) };
      HassPipeline p = flow_new (&flow, stages, 5);
      n_grown = n_asked = 0;
      flow_run (&p, &flow, PIPE_LOADS);
      CU_ASSERT_EQUAL (n_grown, 3 * PIPE_LOADS);
      CU_ASSERT_EQUAL (n_asked, 3 * PIPE_LOADS);
    }
}

/* A stage that sends to itself, also when it is ordered and the only one. */
static gboolean
count_down (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Flow *flow = data;
  gsize tag = GPOINTER_TO_SIZE (t->tag);
  if (tag / 1000 == 0)
    {
      t->tag = GSIZE_TO_POINTER (1000 * (1 + t->seq % 4) + t->seq);
      return hass_token_again (t, w, 0);
    }
  t->tag = GSIZE_TO_POINTER (tag - 1000);
  if (tag / 1000 > 1)
    return hass_token_again (t, w, 0);
  return pipe_look (t, w, &flow->probe, error);
}

static void
sent_to_itself (void)
{
  Flow flow = { 0 };
  const HassStage stage
      = HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = count_down);
  HassPipeline p = flow_new (&flow, &stage, 1);
  /* Tag 0 would begin anew, so none counts down to it. */
  p.loads = pipe_loads () + 1;
  p.n_loads = PIPE_LOADS - 1;
  p.release = NULL;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&flow.probe, PIPE_LOADS - 1));
}

/* Parts are sent back to stages that come after their birth. */
static gboolean
part_back (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (t->input_bytes < 1 + t->seq % 5)
    return hass_token_again (t, w, 1);
  return TRUE;
}

static void
parts_sent_back (void)
{
  Flow flow = { .after = plus_one };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = halve), HASS_STAGE (.cpu = grow),
          HASS_STAGE (.cpu = part_back),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = take_grown) };
  HassPipeline p = flow_new (&flow, stages, 4);
  flow_run (&p, &flow, 2 * PIPE_LOADS);
}

HASS_TEST_SUITE (
    pipeline_flow,
    { "parts keep the token's place, their order, bytes and tags",
      parts_keep_the_order },
    { "parts may have parts", parts_have_parts },
    { "a dropped token counts as finished, and the order goes on",
      dropped_tokens },
    { "parts may be dropped", dropped_parts },
    { "a token that is sent back keeps its place and takes its output along",
      sent_back },
    { "an ordered stage may send a token to itself", sent_to_itself },
    { "parts may be sent back", parts_sent_back })

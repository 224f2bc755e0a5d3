/* SPDX-License-Identifier: MIT */
/* test_pipeline_fates.c: which token functions one call of a stage may combine:
   a token is replaced by parts, dropped or sent back, and never two of these.
   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

#define BAD_SEQ 40 /* the token with two fates */

typedef enum
{
  EMIT,
  DROP,
  AGAIN,
  N_FATES
} Fate;

static const char *const names[N_FATES]
    = { "hass_token_emit", "hass_token_drop", "hass_token_again" };

typedef struct
{
  PipeBooks books; /* the first member: what pipe_release gets */
  Fate first, second;
  gboolean refused;  /* the first one was refused */
  gboolean accepted; /* the second one was accepted */
} Two;

/* Returns: FALSE if it was refused, which dropping cannot tell. */
static gboolean
give_fate (HassToken *t, HassWorker *w, Fate fate)
{
  const HassLoad part = { .tag = t->tag };
  if (fate == EMIT)
    return hass_token_emit (t, w, &part);
  if (fate == AGAIN)
    return hass_token_again (t, w, 0);
  hass_token_drop (t, w);
  return TRUE;
}

static gboolean
give_both (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Two *two = data;
  (void)error;
  if (t->seq != BAD_SEQ)
    return TRUE;
  two->refused |= !give_fate (t, w, two->first);
  gboolean ok = give_fate (t, w, two->second);
  two->accepted |= ok && two->second != DROP;
  return TRUE;
}

static gboolean
idle (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

/* TRUE if the pipeline ends with a message that has all that matters, and each
   load is released once. */
static gboolean
both_fail (Fate first, Fate second)
{
  Two two = { .first = first, .second = second };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  const HassStage stages[]
      = { HASS_STAGE (.cpu = idle),
          HASS_STAGE (.name = "wrong", .mode = HASS_STAGE_SERIAL,
                      .cpu = give_both),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = idle) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  p.release = pipe_release;
  p.user_data = &two;
  gboolean ok = pipe_run (&p, &report, &error);
  gboolean right = !ok && g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
                   && strstr (error->message, "pipeline 'pipe', token 40, ")
                   && strstr (error->message, "stage 'wrong'")
                   && strstr (error->message, names[first])
                   && strstr (error->message, names[second]);
  if (!right)
    g_printerr ("\n    %s, then %s: %s", names[first], names[second],
                error ? error->message : "success");
  return right && !two.refused && !two.accepted
         && pipe_books_right (&two.books, PIPE_LOADS, report);
}

static void
two_fates (void)
{
  for (Fate first = EMIT; first < N_FATES; first++)
    for (Fate second = EMIT; second < N_FATES; second++)
      if (first != second)
        CU_ASSERT_TRUE (both_fail (first, second));
}

/* -- Pure stages -------------------------------------------------------- */

typedef struct
{
  PipeBooks books; /* the first member: what pipe_release gets */
  Fate fate;       /* N_FATES: it sets the tag */
} Impure;

static gboolean
be_impure (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  const Impure *impure = data;
  (void)error;
  if (t->seq == BAD_SEQ && impure->fate < N_FATES)
    give_fate (t, w, impure->fate);
  else if (t->seq == BAD_SEQ)
    t->tag = t;
  return TRUE;
}

/* A token of a pure stage has no fate but to go on with its tag. */
static void
pure_stages (void)
{
  for (Fate fate = EMIT; fate <= N_FATES; fate++)
    {
      Impure impure = { .fate = fate };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      const HassStage stage
          = HASS_STAGE (.name = "pure", .cpu = be_impure, .pure = TRUE);
      HassPipeline p = pipe_new (&stage, 1, PIPE_LOADS);
      p.release = pipe_release;
      p.user_data = &impure;
      CU_ASSERT_FALSE (pipe_run (&p, &report, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE));
      CU_ASSERT_PTR_NOT_NULL (
          strstr (error->message, "pipeline 'pipe', token 40, stage 'pure': "));
      CU_ASSERT_PTR_NOT_NULL (
          strstr (error->message, fate < N_FATES ? names[fate] : "tag"));
      CU_ASSERT_TRUE (pipe_books_right (&impure.books, PIPE_LOADS, report));
    }
}

/* -- What may be combined ----------------------------------------------- */

typedef struct
{
  PipeProbe sink;
  _Atomic guint n_calls;
} Count;

/* Makes its input longer by one byte, then sends it back, until there are 3. */
static gboolean
grow_and_repeat (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Count *count = data;
  gsize n = t->input_bytes;
  (void)error;
  count->n_calls++;
  if (n >= 3)
    return TRUE;
  guint8 *output = hass_token_output (t, w, n + 1);
  if (n > 0)
    memcpy (output, t->input, n);
  output[n] = (guint8)(n + 1);
  return hass_token_again (t, w, 0);
}

static gboolean
look_at_bytes (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Count *count = data;
  if (t->input_bytes != 3 || memcmp (t->input, "\1\2\3", 3) != 0)
    pipe_blame (&count->sink, "what was sent back has other bytes");
  return pipe_look (t, w, &count->sink, error);
}

static void
output_with_again (void)
{
  Count count = { .sink = { .alone = TRUE, .in_order = TRUE } };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = grow_and_repeat),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = look_at_bytes) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  p.user_data = &count;
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (count.n_calls, 4 * PIPE_LOADS);
  CU_ASSERT_TRUE (pipe_saw (&count.sink, PIPE_LOADS));
}

/* Makes an output, which is for no later stage, and drops the token twice. */
static gboolean
output_and_drop (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (!hass_token_output (t, w, 10))
    return FALSE;
  hass_token_drop (t, w);
  hass_token_drop (t, w);
  return TRUE;
}

static void
output_with_drop (void)
{
  Count count = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = output_and_drop),
          HASS_STAGE (.cpu = look_at_bytes, .user_data = &count) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&count.sink, 0));
}

/* The second call replaces the first: the token comes to the second stage. */
static gboolean
repeat_twice (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (t->tag)
    return TRUE;
  t->tag = t;
  return hass_token_again (t, w, 0) && hass_token_again (t, w, 1);
}

static gboolean
count_call (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)error;
  ((Count *)data)->n_calls++;
  return TRUE;
}

static void
again_twice (void)
{
  Count counts[2] = { 0 };
  const HassLoad load = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = count_call, .user_data = &counts[0]),
          HASS_STAGE (.cpu = count_call, .user_data = &counts[1]),
          HASS_STAGE (.cpu = repeat_twice) };
  HassPipeline p = pipe_new (stages, 3, 1);
  p.loads = &load;
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (counts[0].n_calls, 1);
  CU_ASSERT_EQUAL (counts[1].n_calls, 2);
}

HASS_TEST_SUITE (
    pipeline_fates,
    { "emitting, dropping and sending back exclude each other", two_fates },
    { "a pure stage neither emits, drops, sends back nor sets the tag",
      pure_stages },
    { "what is sent back with an output has it as input", output_with_again },
    { "a dropped token may have an output", output_with_drop },
    { "of two calls that send a token back the second holds", again_twice })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_misuse.c: stages that do what they must not: each ends the
   pipeline with an error that names the stage, the token and the numbers, and
   each load is released once.
   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

static gboolean
idle (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

/* -- Stages that do what they must not ---------------------------------- */

#define BAD_SEQ 40 /* the token that does it */

typedef struct
{
  PipeBooks books; /* the first member: what pipe_release gets */
  PipeProbe sink;
  guint n_emitted;
  gboolean accepted; /* what was wrong was accepted */
  HassToken *kept;
  HassWorker *worker;
  guint n_other; /* tokens with another address than the kept one */
} Bad;

static gboolean
emit_all (HassEmitter *emitter, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  while (bad->n_emitted < PIPE_LOADS
         && hass_emitter_emit (emitter, &pipe_loads ()[bad->n_emitted]))
    bad->n_emitted++;
  return TRUE;
}

static gboolean
sink (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  return pipe_look (t, w, &((Bad *)data)->sink, error);
}

/* A pipeline whose second of three stages is this one fails so, and all loads
   are released once with the right flag. */
static gboolean
goes_wrong (HassStage stage, HassError code, const char *word,
            const char *number)
{
  Bad bad = { 0 };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  stage.name = "wrong";
  const HassStage stages[]
      = { HASS_STAGE (.cpu = idle), stage,
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = sink) };
  HassPipeline p = pipe_new (stages, 3, 0);
  p.generate = emit_all;
  p.release = pipe_release;
  p.user_data = &bad;
  p.tokens = 16;
  bad.sink.in_order = bad.sink.alone = TRUE;
  gboolean ok = pipe_run (&p, &report, &error);
  gboolean right = !ok && g_error_matches (error, HASS_ERROR, code)
                   && strstr (error->message, "'pipe'")
                   && strstr (error->message, word)
                   && (!number || strstr (error->message, number));
  if (!right)
    g_printerr ("\n    code %d, '%s' and '%s' were due, got: %d, %s", code,
                word, number ? number : "", error ? error->code : -1,
                error ? error->message : "success");
  return right && !bad.accepted && bad.sink.wrong == 0
         && pipe_books_right (&bad.books, bad.n_emitted, report);
}

static gboolean
raise_output (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  t->output_bytes += t->seq == BAD_SEQ;
  return TRUE;
}

static gboolean
raise_asked (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_token_output (t, w, 77);
  t->output_bytes += t->seq == BAD_SEQ;
  return TRUE;
}

static gboolean
raise_nothing (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  if (t->seq == BAD_SEQ)
    t->output_bytes = 9;
  return TRUE;
}

static void
larger_than_promised (void)
{
  CU_ASSERT_TRUE (goes_wrong (
      (HassStage)HASS_STAGE (.cpu = raise_output, .output_bytes = 77),
      HASS_ERROR_INVALID, "wrong", "78"));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = raise_asked),
                              HASS_ERROR_INVALID, "wrong", "78"));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = raise_nothing),
                              HASS_ERROR_INVALID, "wrong", "set to 9"));
}

static gboolean
ask_too_much (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_token_output (t, w, G_MAXSIZE / 2) != NULL;
  return TRUE;
}

static gboolean
buffer_too_much (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_token_buffer (t, w, G_MAXSIZE - 10) != NULL;
  return TRUE;
}

static void
sizes_that_overflow (void)
{
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = ask_too_much),
                              HASS_ERROR_NO_MEMORY, "memory",
                              "9223372036854775807"));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = buffer_too_much),
                              HASS_ERROR_NO_MEMORY, "memory",
                              "18446744073709551605"));
  /* 10 bytes of input times this ratio. */
  HassLoad load = { .input = "0123456789", .input_bytes = 10 };
  HassStage stage
      = HASS_STAGE (.name = "swell", .cpu = idle, .output_ratio = 1e30);
  HassPipeline p = pipe_new (&stage, 1, 1);
  p.loads = &load;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_OVERFLOW, "'pipe'", "swell", NULL));
  stage.output_bytes = G_MAXSIZE / 8;
  stage.output_ratio = 1e18;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_OVERFLOW, "'pipe'", "swell", NULL));
  stage.output_ratio = 0;
  CU_ASSERT_TRUE (
      pipe_fails (&p, HASS_ERROR_NO_MEMORY, "'pipe'", "swell", NULL));
}

/* -- Token functions in the wrong place --------------------------------- */

static gboolean
keep_first (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  const HassLoad part = { 0 };
  (void)error;
  if (t->seq == BAD_SEQ)
    {
      bad->kept = t;
      bad->worker = w;
    }
  /* A later token may lie where the kept one did; a copy never does. */
  else if (t->seq > BAD_SEQ)
    {
      HassToken copy = *t;
      bad->accepted |= hass_token_emit (&copy, w, &part);
      if (t != bad->kept)
        bad->accepted |= hass_token_emit (bad->kept, bad->worker, &part);
    }
  return TRUE;
}

/* Drops each token by the pointer that it got for the first one. */
static gboolean
drop_by_first (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (!bad->kept)
    bad->kept = t;
  if (t == bad->kept)
    hass_token_drop (bad->kept, w);
  else
    bad->n_other++;
  return TRUE;
}

static gboolean
count_all (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)error;
  ((Bad *)data)->n_emitted++;
  return TRUE;
}

/* One token in flight, so that most or all lie where the first one did. */
static void
an_address_used_again (void)
{
  Bad bad = { 0 };
  g_autoptr (GError) error = NULL;
  const HassStage stages[]
      = { HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = drop_by_first),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = count_all) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  p.user_data = &bad;
  p.tokens = 1;
  CU_ASSERT_TRUE (pipe_run (&p, NULL, &error));
  CU_ASSERT_EQUAL (bad.n_emitted, bad.n_other);
  CU_ASSERT_TRUE (bad.n_other < PIPE_LOADS);
}

static gboolean
emit_in_loop (gsize first, gsize count, HassWorker *worker, gpointer data,
              GError **error)
{
  Bad *bad = data;
  const HassLoad part = { 0 };
  (void)first, (void)count, (void)error;
  bad->accepted |= hass_token_emit (bad->kept, worker, &part);
  return TRUE;
}

static gboolean
loop_and_emit (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  bad->kept = t;
  return t->seq != BAD_SEQ
         || hass_worker_parallel_for (w, 1, 1, emit_in_loop, bad, error);
}

static gpointer
emit_in_thread (gpointer data)
{
  Bad *bad = data;
  const HassLoad part = { 0 };
  bad->accepted |= hass_token_emit (bad->kept, bad->worker, &part);
  return NULL;
}

static gboolean
lend (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq != BAD_SEQ)
    return TRUE;
  bad->kept = t;
  bad->worker = w;
  g_thread_join (g_thread_new ("thief", emit_in_thread, bad));
  return TRUE;
}

static gboolean
emit_as_farm (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_worker_emit (w, t->load);
  return TRUE;
}

static gboolean
emit_as_tasks (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  const HassTask task = { 0 };
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_worker_emit_task (w, &task);
  return TRUE;
}

static gboolean
result_as_farm (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_worker_result (w, "x", 1);
  return TRUE;
}

static void
wrong_places (void)
{
  /* One at a time, so that the token that was kept is over. */
  CU_ASSERT_TRUE (goes_wrong (
      (HassStage)HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = keep_first),
      HASS_ERROR_MISUSE, "hass_token_emit called", "outside"));
  CU_ASSERT_TRUE (goes_wrong (
      (HassStage)HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = loop_and_emit),
      HASS_ERROR_MISUSE, "hass_token_emit", NULL));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = lend),
                              HASS_ERROR_MISUSE, "hass_token_emit called",
                              "outside"));
  CU_ASSERT_TRUE (goes_wrong (
      (HassStage)HASS_STAGE (.cpu = emit_as_farm), HASS_ERROR_MISUSE,
      "hass_worker_emit called in a pipeline", "call hass_token_emit"));
  CU_ASSERT_TRUE (goes_wrong (
      (HassStage)HASS_STAGE (.cpu = emit_as_tasks), HASS_ERROR_MISUSE,
      "hass_worker_emit_task called in a pipeline", "call hass_token_emit"));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = result_as_farm),
                              HASS_ERROR_MISUSE, "hass_worker_result", NULL));
}

static gboolean
emit_too_many (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  const HassLoad part = { 0 };
  guint n = t->seq == BAD_SEQ ? 17 : 0;
  (void)error;
  for (guint i = 0; i < n; i++)
    {
      gboolean ok = hass_token_emit (t, w, &part);
      bad->accepted |= ok && i == 16;
      bad->accepted |= !ok && i < 16; /* refused too early */
    }
  return TRUE;
}

static void
too_many_parts (void)
{
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = emit_too_many),
                              HASS_ERROR_OVERFLOW, "wrong", "16"));
}

/* -- Sending back ------------------------------------------------------- */

static gboolean
to_first (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_token_again (t, w, 0);
  return TRUE;
}

static gboolean
to_later (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_token_again (t, w, 2);
  return TRUE;
}

static gboolean
to_none (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Bad *bad = data;
  (void)error;
  if (t->seq == BAD_SEQ)
    bad->accepted |= hass_token_again (t, w, G_MAXUINT);
  return TRUE;
}

static gboolean
across (HassStageMode first, HassStageMode between)
{
  Bad bad = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.name = "one", .mode = first, .cpu = idle),
          HASS_STAGE (.name = "two", .mode = between, .cpu = idle),
          HASS_STAGE (.name = "three", .cpu = to_first) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  p.user_data = &bad;
  return pipe_fails (&p, HASS_ERROR_MISUSE, "'pipe'",
                     "stage 'three': ", "to stage 'one'", "ORDERED", NULL)
         && !bad.accepted;
}

static void
back_across_the_order (void)
{
  CU_ASSERT_TRUE (across (HASS_STAGE_PARALLEL, HASS_STAGE_ORDERED));
  CU_ASSERT_TRUE (across (HASS_STAGE_ORDERED, HASS_STAGE_PARALLEL));
  CU_ASSERT_TRUE (across (HASS_STAGE_PARALLEL, HASS_STAGE_CALLER));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = to_later),
                              HASS_ERROR_MISUSE, "stage 'wrong'",
                              "to stage 'stage 3': that is a later stage"));
  CU_ASSERT_TRUE (goes_wrong ((HassStage)HASS_STAGE (.cpu = to_none),
                              HASS_ERROR_MISUSE, "stage 'wrong'",
                              "index 4294967295, but there are 3"));
}

static gboolean
for_ever (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  PipeProbe *probe = data;
  (void)error;
  if (t->seq != BAD_SEQ)
    return TRUE;
  pipe_look (t, w, probe, error);
  /* Two calls send it back once. */
  return hass_token_again (t, w, 1) && hass_token_again (t, w, 0);
}

static void
back_without_end (void)
{
  PipeProbe probe = { 0 };
  PipeBooks books = { 0 };
  g_autoptr (HassReport) report = NULL;
  const HassStage stages[]
      = { HASS_STAGE (.cpu = idle),
          HASS_STAGE (.name = "mill", .cpu = for_ever, .user_data = &probe) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  p.release = pipe_release;
  p.user_data = &books;
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
  CU_ASSERT_TRUE (pipe_saw (&probe, 65537));
  CU_ASSERT_TRUE (pipe_books_right (&books, PIPE_LOADS, report));
  CU_ASSERT_TRUE (report && report->n_unfinished == 1
                  && report->unfinished[0].seq == BAD_SEQ
                  && strstr (report->unfinished[0].message, "mill")
                  && strstr (report->unfinished[0].message, "65536"));
}

HASS_TEST_SUITE (
    pipeline_misuse,
    { "an output larger than promised ends the pipeline",
      larger_than_promised },
    { "sizes that overflow are errors that name the stage or the bytes",
      sizes_that_overflow },
    { "token functions serve only in the token's stage", wrong_places },
    { "a token at the address of an earlier one is the present token",
      an_address_used_again },
    { "a token with more parts than tokens allows ends the pipeline",
      too_many_parts },
    { "a token cannot be sent across an ordered stage, nor forward",
      back_across_the_order },
    { "a token that is sent back without end fails, alone", back_without_end })

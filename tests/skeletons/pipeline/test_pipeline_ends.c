/* SPDX-License-Identifier: MIT */
/* test_pipeline_ends.c: pipelines that fail, go on after failures, are
   cancelled or run out of time: what the report says, and that each load is
   released once.
   Thread safety: one thread beside those of the pipelines. */
#include <gio/gio.h>
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

typedef struct
{
  PipeBooks books; /* the first member: what pipe_release gets */
  PipeProbe middle, sink;
  guint fail_from, fail_step; /* seq fail_from, fail_from + fail_step, ... */
  gboolean silent;            /* fails without an error */
  guint cancel_at;
  GCancellable *cancellable;
  guint n_emitted;
  gboolean told; /* the generator was told to stop */
} End;

static gboolean
fails (const End *end, guint64 seq)
{
  return end->fail_step > 0 && seq >= end->fail_from
         && (seq - end->fail_from) % end->fail_step == 0;
}

static gboolean
middle (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  End *end = data;
  pipe_look (t, w, &end->middle, error);
  if (end->cancel_at > 0 && t->seq == end->cancel_at)
    g_cancellable_cancel (end->cancellable);
  if (!fails (end, t->seq))
    return TRUE;
  if (!end->silent)
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "no space for it");
  return FALSE;
}

static gboolean
sink (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  End *end = data;
  if (fails (end, t->seq))
    pipe_blame (&end->sink, "a token that failed has reached a later stage");
  return pipe_look (t, w, &end->sink, error);
}

static gboolean
emit_all (HassEmitter *emitter, gpointer data, GError **error)
{
  End *end = data;
  (void)error;
  while (end->n_emitted < PIPE_LOADS
         && hass_emitter_emit (emitter, &pipe_loads ()[end->n_emitted]))
    end->n_emitted++;
  return TRUE;
}

static const HassStage stages[]
    = { HASS_STAGE (.name = "think", .cpu = middle),
        HASS_STAGE (.name = "write", .mode = HASS_STAGE_ORDERED, .cpu = sink) };

static HassPipeline
end_new (End *end)
{
  HassPipeline p = pipe_new (stages, 2, 0);
  p.generate = emit_all;
  p.release = pipe_release;
  p.user_data = end;
  end->sink.alone = end->sink.in_order = TRUE;
  return p;
}

/* -- Failures ----------------------------------------------------------- */

static void
the_first_failure_ends_it (void)
{
  for (guint silent = 0; silent < 2; silent++)
    {
      End end = { .fail_from = 17, .fail_step = PIPE_LOADS, .silent = silent };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      HassPipeline p = end_new (&end);
      const char *named = NULL;
      CU_ASSERT_FALSE (pipe_run (&p, &report, &error));
      CU_ASSERT_TRUE (
          silent ? g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER)
                 : g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOSPC));
      CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "pipe"));
      CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "think"));
      CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "17"));
      CU_ASSERT_PTR_NOT_NULL_FATAL (report);
      for (guint i = 0; i < report->n_unfinished; i++)
        if (report->unfinished[i].seq == 17)
          named = report->unfinished[i].message;
      CU_ASSERT_TRUE (named && strstr (named, "think"));
      CU_ASSERT_TRUE (silent || (named && strstr (named, "no space for it")));
      CU_ASSERT_EQUAL (end.sink.wrong, 0);
      CU_ASSERT_EQUAL (report->loads, end.n_emitted);
      CU_ASSERT_TRUE (pipe_books_right (&end.books, end.n_emitted, report));
    }
}

static void
others_go_on (void)
{
  End end = { .fail_from = 3, .fail_step = 10 };
  g_autoptr (HassReport) report = NULL;
  HassPipeline p = end_new (&end);
  guint n_named = 0, n_failed = PIPE_LOADS / 10;
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
  CU_ASSERT_TRUE (pipe_saw (&end.middle, PIPE_LOADS));
  CU_ASSERT_TRUE (pipe_saw (&end.sink, PIPE_LOADS - n_failed));
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  CU_ASSERT_EQUAL_FATAL (report->n_unfinished, n_failed);
  for (guint i = 0; i < n_failed; i++)
    n_named += report->unfinished[i].seq == 3 + 10 * i
               && report->unfinished[i].n_loads == 1
               && strstr (report->unfinished[i].message, "think")
               && strstr (report->unfinished[i].message, "no space for it");
  CU_ASSERT_EQUAL (n_named, n_failed);
  CU_ASSERT_TRUE (pipe_books_right (&end.books, PIPE_LOADS, report));
}

/* Fails in the ordered stage, which others wait for. */
static void
ordered_failures (void)
{
  End end = { .fail_from = 0, .fail_step = 2 };
  g_autoptr (HassReport) report = NULL;
  const HassStage these[]
      = { HASS_STAGE (.cpu = pipe_look, .user_data = &(PipeProbe){ 0 }),
          HASS_STAGE (.name = "turn", .mode = HASS_STAGE_ORDERED,
                      .cpu = middle),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = sink) };
  HassPipeline p = end_new (&end);
  p.stages = these;
  p.n_stages = 3;
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
  CU_ASSERT_TRUE (pipe_saw (&end.sink, PIPE_LOADS / 2));
  CU_ASSERT_TRUE (report && report->n_unfinished == PIPE_LOADS / 2
                  && strstr (report->unfinished[9].message, "turn"));
  CU_ASSERT_TRUE (pipe_books_right (&end.books, PIPE_LOADS, report));
}

/* -- Failures with parts ------------------------------------------------ */

/* Emits two parts and fails for odd tokens. */
static gboolean
split_and_fail (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < 2; i++)
    {
      const HassLoad part = { .tag = GSIZE_TO_POINTER (2 * t->seq + i) };
      if (!hass_token_emit (t, w, &part))
        return FALSE;
    }
  return t->seq % 2 == 0;
}

/* Fails for the first part of every fourth load. */
static gboolean
fail_parts (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  End *end = data;
  pipe_look (t, w, &end->middle, error);
  return GPOINTER_TO_SIZE (t->tag) % 8 != 0;
}

static void
failures_and_parts (void)
{
  End end = { 0 };
  g_autoptr (HassReport) report = NULL;
  const HassStage these[]
      = { HASS_STAGE (.name = "cut", .cpu = split_and_fail),
          HASS_STAGE (.name = "mend", .cpu = fail_parts),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = sink) };
  HassPipeline p = end_new (&end);
  guint n_cut = 0, n_mend = 0;
  p.stages = these;
  p.n_stages = 3;
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
  /* The parts of tokens that failed are discarded, the sister of a part that
     failed goes on. */
  CU_ASSERT_TRUE (pipe_saw (&end.middle, PIPE_LOADS));
  CU_ASSERT_TRUE (pipe_saw (&end.sink, PIPE_LOADS - PIPE_LOADS / 4));
  for (guint i = 0; report && i < report->n_unfinished; i++)
    {
      const HassUnfinished *u = &report->unfinished[i];
      n_cut += u->seq % 2 == 1 && strstr (u->message, "cut");
      n_mend += u->seq % 4 == 0 && strstr (u->message, "mend");
    }
  CU_ASSERT_EQUAL (n_cut, PIPE_LOADS / 2);
  CU_ASSERT_EQUAL (n_mend, PIPE_LOADS / 4);
  CU_ASSERT_TRUE (pipe_books_right (&end.books, PIPE_LOADS, report));
}

static gboolean
drop_then_fail (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_token_drop (t, w);
  return FALSE;
}

static gboolean
again_then_fail (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  hass_token_again (t, w, 0);
  return FALSE;
}

/* A call that fails has failed, whatever it has asked for before. */
static void
failure_wins (void)
{
  const HassStageFunc calls[] = { drop_then_fail, again_then_fail };
  for (guint i = 0; i < 2; i++)
    {
      End end = { 0 };
      g_autoptr (HassReport) report = NULL;
      const HassStage stage = HASS_STAGE (.cpu = calls[i]);
      HassPipeline p = end_new (&end);
      p.stages = &stage;
      p.n_stages = 1;
      p.run.on_error = HASS_ON_ERROR_CONTINUE;
      CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
      CU_ASSERT_TRUE (report && report->n_unfinished == PIPE_LOADS);
      CU_ASSERT_TRUE (pipe_books_right (&end.books, PIPE_LOADS, report));
    }
}

/* -- Cancelled and late ------------------------------------------------- */

static void
cancelled (void)
{
  for (guint i = 0; i < 2; i++)
    {
      End end = { .cancel_at = 100, .cancellable = g_cancellable_new () };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      HassPipeline p = end_new (&end);
      p.tokens = 16;
      p.run.cancellable = end.cancellable;
      p.run.on_error = i ? HASS_ON_ERROR_CONTINUE : HASS_ON_ERROR_STOP;
      CU_ASSERT_FALSE (pipe_run (&p, &report, &error));
      CU_ASSERT_TRUE (
          g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
      CU_ASSERT_TRUE (end.n_emitted < PIPE_LOADS);
      CU_ASSERT_TRUE (report && report->n_unfinished > 0);
      CU_ASSERT_EQUAL (end.sink.wrong, 0);
      CU_ASSERT_TRUE (pipe_books_right (&end.books, end.n_emitted, report));
      g_object_unref (end.cancellable);
    }
}

static void
cancelled_before (void)
{
  End end = { .cancellable = g_cancellable_new () };
  HassPipeline p = end_new (&end);
  g_cancellable_cancel (end.cancellable);
  p.run.cancellable = end.cancellable;
  CU_ASSERT_TRUE (pipe_fails (&p, HASS_ERROR_CANCELLED, "pipe", NULL));
  CU_ASSERT_EQUAL (end.sink.calls, 0);
  g_object_unref (end.cancellable);
}

static gboolean
emit_for_ever (HassEmitter *emitter, gpointer data, GError **error)
{
  End *end = data;
  (void)error;
  while (hass_emitter_emit (emitter, &(HassLoad){ 0 }))
    end->n_emitted++;
  end->told = hass_emitter_stopping (emitter);
  return TRUE;
}

static void
late (void)
{
  End end = { 0 };
  HassPipeline p = end_new (&end);
  p.generate = emit_for_ever;
  p.release = NULL;
  p.run.deadline_ms = 20;
  CU_ASSERT_TRUE (pipe_fails (&p, HASS_ERROR_DEADLINE, "pipe", "20", NULL));
  CU_ASSERT_TRUE (end.told);
  CU_ASSERT_EQUAL (end.sink.wrong, 0);
}

/* -- The generator fails ------------------------------------------------ */

static gboolean
emit_and_fail (HassEmitter *emitter, gpointer data, GError **error)
{
  emit_all (emitter, data, error);
  return FALSE;
}

static void
generator_fails (void)
{
  for (guint i = 0; i < 2; i++)
    {
      End end = { 0 };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      HassPipeline p = end_new (&end);
      p.generate = emit_and_fail;
      p.run.on_error = i ? HASS_ON_ERROR_CONTINUE : HASS_ON_ERROR_STOP;
      CU_ASSERT_FALSE (pipe_run (&p, &report, &error));
      CU_ASSERT_TRUE (
          g_error_matches (error, HASS_ERROR, HASS_ERROR_GENERATOR));
      CU_ASSERT_TRUE (i == 0 || end.sink.calls == PIPE_LOADS);
      CU_ASSERT_TRUE (pipe_books_right (&end.books, end.n_emitted, report));
    }
}

HASS_TEST_SUITE (
    pipeline_ends,
    { "the first failure ends a pipeline, and names stage and load",
      the_first_failure_ends_it },
    { "with CONTINUE a token that fails is listed with its stage, others go on",
      others_go_on },
    { "the order goes on after a failure in an ordered stage",
      ordered_failures },
    { "the parts of a failed token are discarded; a failed part fails alone",
      failures_and_parts },
    { "a call that fails has failed, whatever it has asked for", failure_wins },
    { "a cancelled pipeline ends and lists what is unfinished", cancelled },
    { "a pipeline that was cancelled before fails", cancelled_before },
    { "a pipeline past its deadline ends, its generator too", late },
    { "a generator that fails ends the pipeline by its error policy",
      generator_fails })

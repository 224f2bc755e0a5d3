/* SPDX-License-Identifier: MIT */
/* test_pipeline_tags.c: what stages hang on tokens is freed exactly once,
   however the token ends.
   Thread safety: one thread beside those of the pipelines. */
#include <gio/gio.h>
#include <stddef.h>
#include <string.h>

#include "hass_test.h"
#include "tag_ledger.h"

/* -- The stages --------------------------------------------------------- */

static gboolean
take_off (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)w, (void)data, (void)error;
  ((Tag *)t->tag)->freed++;
  t->tag = NULL;
  return TRUE;
}

/* Puts the tag of the load back. */
static gboolean
put_back (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  take_off (t, w, data, error);
  t->tag = t->load->tag;
  return TRUE;
}

static gboolean
fail_some (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  const TagLedger *ledger = data;
  (void)w, (void)error;
  return t->seq % ledger->fail_step != 0;
}

static gboolean
cancel (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  const TagLedger *ledger = data;
  (void)w, (void)error;
  if (t->seq == TAG_BAD_SEQ)
    g_cancellable_cancel (ledger->cancellable);
  return TRUE;
}

static gboolean
drop_odd (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  if (t->seq & 1)
    hass_token_drop (t, w);
  return TRUE;
}

/* Hangs a tag on the token the first time, and sends it back with that. */
static gboolean
come_again (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)error;
  if (t->tag != t->load->tag)
    return TRUE;
  t->tag = tag_new (data, t->seq);
  return hass_token_again (t, w, 0);
}

/* Emits parts with tags of their own, and leaves the token its tag. */
static gboolean
emit_parts (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  TagLedger *ledger = data;
  (void)error;
  for (guint i = 0; i < ledger->parts; i++)
    {
      Tag *tag = tag_new (ledger, t->seq);
      const HassLoad part = { .tag = tag };
      if (!hass_token_emit (t, w, &part))
        tag->freed++; /* it stays this stage's */
    }
  return ledger->fail_step == 0 || t->seq % ledger->fail_step != 0;
}

/* Emits one part, to which the token's tag moves. */
static gboolean
move_to_part (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  const HassLoad part = { .tag = t->tag };
  (void)data, (void)error;
  if (hass_token_emit (t, w, &part))
    t->tag = NULL;
  return TRUE;
}

/* -- Running ------------------------------------------------------------ */

/* Runs @stages on @p, on one core and on several. @ok: whether the pipeline
   must succeed. Returns: the ledger of the last run; free with g_free(). */
static TagLedger *
run (HassPipeline p, const TagLedger *given, gboolean ok)
{
  TagLedger *ledger = NULL;
  p.release = tag_release;
  p.tag_free = tag_free;
  for (gint cores = 1; cores <= 4; cores += 3)
    {
      g_free (ledger);
      ledger = tag_ledger_new ();
      ledger->parts = given ? given->parts : 0;
      ledger->fail_step = given ? given->fail_step : 0;
      ledger->cancellable = g_cancellable_new ();
      p.run.cancellable = ledger->cancellable;
      p.run.n_cores = cores;
      p.user_data = ledger;
      CU_ASSERT_EQUAL (pipe_run (&p, NULL, NULL), ok);
      CU_ASSERT_TRUE (tag_ledger_balanced (ledger));
      CU_ASSERT_TRUE (ledger->n > 0);
      g_object_unref (ledger->cancellable);
    }
  return ledger;
}

#define RUN(given, ok, ...)                                                    \
  run (pipe_new ((const HassStage[]){ __VA_ARGS__ },                           \
                 sizeof ((const HassStage[]){ __VA_ARGS__ })                   \
                     / sizeof (HassStage),                                     \
                 PIPE_LOADS),                                                  \
       given, ok)

#define STAGE(...) (HassStage) HASS_STAGE (__VA_ARGS__)

/* -- Ends of tokens ----------------------------------------------------- */

static void
through (void)
{
  g_autofree TagLedger *ledger
      = RUN (NULL, TRUE, STAGE (.cpu = tag_hang),
             STAGE (.cpu = tag_pass, .mode = HASS_STAGE_ORDERED));
  CU_ASSERT_EQUAL (ledger->n, PIPE_LOADS);
  CU_ASSERT_EQUAL (ledger->n_called, PIPE_LOADS);
}

static void
taken_off (void)
{
  g_autofree TagLedger *none
      = RUN (NULL, TRUE, STAGE (.cpu = tag_hang),
             STAGE (.cpu = take_off, .mode = HASS_STAGE_SERIAL));
  CU_ASSERT_EQUAL (none->n_called, 0);
  g_autofree TagLedger *old
      = RUN (NULL, TRUE, STAGE (.cpu = tag_hang), STAGE (.cpu = put_back));
  CU_ASSERT_EQUAL (old->n_called, 0);
}

static void
never_hung (void)
{
  g_autofree TagLedger *ledger = tag_ledger_new ();
  const HassStage stages[]
      = { HASS_STAGE (.cpu = tag_pass), HASS_STAGE (.cpu = move_to_part),
          HASS_STAGE (.cpu = tag_pass) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  p.tag_free = tag_free;
  p.user_data = ledger;
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (ledger->n_called, 0);
}

static void
dropped (void)
{
  g_autofree TagLedger *ledger
      = RUN (NULL, TRUE, STAGE (.cpu = tag_hang), STAGE (.cpu = drop_odd),
             STAGE (.cpu = take_off, .mode = HASS_STAGE_ORDERED));
  CU_ASSERT_EQUAL (ledger->n_called, PIPE_LOADS / 2);
}

static void
sent_back (void)
{
  g_autofree TagLedger *ledger
      = RUN (NULL, TRUE, STAGE (.cpu = come_again), STAGE (.cpu = tag_pass));
  CU_ASSERT_EQUAL (ledger->n, PIPE_LOADS);
}

static void
replaced (void)
{
  const TagLedger given = { .parts = 3 };
  g_autofree TagLedger *own
      = RUN (&given, TRUE, STAGE (.cpu = tag_hang), STAGE (.cpu = emit_parts),
             STAGE (.cpu = take_off, .mode = HASS_STAGE_ORDERED));
  CU_ASSERT_EQUAL (own->n, 4 * PIPE_LOADS);
  CU_ASSERT_EQUAL (own->n_called, PIPE_LOADS);
  g_autofree TagLedger *all
      = RUN (&given, TRUE, STAGE (.cpu = tag_hang), STAGE (.cpu = emit_parts),
             STAGE (.cpu = tag_pass));
  CU_ASSERT_EQUAL (all->n_called, 4 * PIPE_LOADS);
}

static void
moved (void)
{
  g_autofree TagLedger *ledger
      = RUN (NULL, TRUE, STAGE (.cpu = tag_hang), STAGE (.cpu = move_to_part),
             STAGE (.cpu = tag_pass));
  CU_ASSERT_EQUAL (ledger->n, PIPE_LOADS);
}

/* -- Failures ----------------------------------------------------------- */

static void
failed (void)
{
  for (HassStageMode mode = HASS_STAGE_PARALLEL; mode <= HASS_STAGE_CALLER;
       mode++)
    g_free (RUN (NULL, FALSE, STAGE (.cpu = tag_hang),
                 STAGE (.cpu = tag_fail_one, .mode = mode),
                 STAGE (.cpu = tag_pass)));
}

static void
went_on (void)
{
  const TagLedger given = { .fail_step = 7 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = tag_hang), HASS_STAGE (.cpu = fail_some),
          HASS_STAGE (.cpu = take_off, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  g_autofree TagLedger *ledger = run (p, &given, TRUE);
  CU_ASSERT_EQUAL (ledger->n_called, (PIPE_LOADS + 6) / 7);
}

static void
failed_with_parts (void)
{
  const TagLedger given = { .parts = 3, .fail_step = 7 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = tag_hang), HASS_STAGE (.cpu = emit_parts),
          HASS_STAGE (.cpu = take_off) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  p.run.on_error = HASS_ON_ERROR_CONTINUE;
  g_autofree TagLedger *ledger = run (p, &given, TRUE);
  CU_ASSERT_EQUAL (ledger->n, 4 * PIPE_LOADS);
  CU_ASSERT_EQUAL (ledger->n_called, PIPE_LOADS + 3 * ((PIPE_LOADS + 6) / 7));
}

static void
stopped_with_parts (void)
{
  const TagLedger given = { .parts = 3 };
  for (guint i = 0; i < 20; i++)
    g_free (RUN (&given, FALSE, STAGE (.cpu = tag_hang),
                 STAGE (.cpu = emit_parts), STAGE (.cpu = tag_fail_one)));
}

static void
cancelled (void)
{
  const TagLedger given = { .parts = 2 };
  g_autofree TagLedger *ledger
      = RUN (&given, FALSE, STAGE (.cpu = tag_hang), STAGE (.cpu = emit_parts),
             STAGE (.cpu = cancel, .mode = HASS_STAGE_ORDERED));
  CU_ASSERT_TRUE (ledger->n_called > 0);
}

static gboolean
emit_for_ever (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  while (hass_emitter_emit (emitter, &(HassLoad){ 0 }))
    ;
  return TRUE;
}

/* Takes so long that the ledger has entries for all tokens until the deadline.
 */
static gboolean
linger (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  g_usleep (1000);
  return TRUE;
}

static void
late (void)
{
  const HassStage stages[]
      = { HASS_STAGE (.cpu = tag_hang),
          HASS_STAGE (.cpu = linger, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = pipe_new (stages, 2, 0);
  g_autofree TagLedger *ledger = tag_ledger_new ();
  p.generate = emit_for_ever;
  p.tag_free = tag_free;
  p.user_data = ledger;
  p.tokens = 64;
  p.run.deadline_ms = 50;
  CU_ASSERT_TRUE (pipe_fails (&p, HASS_ERROR_DEADLINE, "pipe", NULL));
  CU_ASSERT_TRUE (ledger->n > 0);
  CU_ASSERT_TRUE (tag_ledger_balanced (ledger));
}

/* -- The callback ------------------------------------------------------- */

/* Runs another pipeline, which must be refused. */
static void
run_inside (gpointer tag, gpointer data)
{
  TagLedger *ledger = data;
  const HassStage stage = HASS_STAGE (.cpu = tag_pass);
  HassPipeline p = pipe_new (&stage, 1, 1);
  g_autoptr (GError) error = NULL;
  gboolean ok = hass_pipeline (&p, NULL, &error);
  ledger->refused += !ok && strstr (error->message, "tag_free") != NULL;
  tag_free (tag, data);
}

static void
no_pipeline_inside (void)
{
  g_autofree TagLedger *ledger = tag_ledger_new ();
  const HassStage stage = HASS_STAGE (.cpu = tag_hang);
  HassPipeline p = pipe_new (&stage, 1, 10);
  p.tag_free = run_inside;
  p.user_data = ledger;
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (ledger->refused, 10);
}

static void
older_program (void)
{
  g_autofree TagLedger *ledger = tag_ledger_new ();
  const HassStage stage = HASS_STAGE (.cpu = tag_hang);
  HassPipeline p = pipe_new (&stage, 1, 10);
  p.user_data = ledger;
  p.tag_free = tag_free; /* behind the struct of that program */
  p.struct_size = offsetof (HassPipeline, tag_free);
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (ledger->n, 10);
  CU_ASSERT_EQUAL (ledger->n_called, 0);
}

HASS_TEST_SUITE (
    pipeline_tags,
    { "what is still on a token after the last stage is freed once", through },
    { "a tag that a stage has taken off its token is not freed", taken_off },
    { "the tag of a load stays the user's, also as that of a part",
      never_hung },
    { "what is on a token that is dropped is freed once", dropped },
    { "a token that is sent back keeps its tag, which is freed once",
      sent_back },
    { "parts own the tags that they were emitted with, the token its own",
      replaced },
    { "a tag that moves to a part is freed once", moved },
    { "a pipeline that an error stops frees all tags, whatever the mode",
      failed },
    { "with CONTINUE the tags of tokens that fail are freed", went_on },
    { "the tags of parts of a token that fails are freed", failed_with_parts },
    { "a pipeline that stops frees the tags of parts on their way",
      stopped_with_parts },
    { "a cancelled pipeline frees all tags", cancelled },
    { "a pipeline that runs out of time frees all tags", late },
    { "the function that frees tags cannot run a pipeline",
      no_pipeline_inside },
    { "a program that was built without tag_free runs as before",
      older_program })

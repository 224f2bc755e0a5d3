/* SPDX-License-Identifier: MIT */
/* test_pipeline_next.c: where a batch goes that leaves a stage, tokens that are
   sent back included, and what its core goes on with; most batches are moved by
   hand.
   Thread safety: one thread. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/stream/stream-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/skeletons/pipeline/pipe.h"

#define NOW_NS 1000000

static guint n_changed;
static gint64 waking_ns; /* what another core costs */

static void
changed (HassJob *job)
{
  (void)job;
  n_changed++;
}

static gint64
needs_waking (HassJob *job, const HassWorker *worker)
{
  (void)job, (void)worker;
  return waking_ns;
}

/* A pipeline of two stages, one worker and one batch. */
typedef struct
{
  HassEngineOps engine;
  HassRunOptions run;
  HassFarm farm;
  HassJob job;
  HassWorker worker;
  HassStream stream;
  HassStageState stages[2];
  HassStreamWorker sw;
  HassBatch *batch, *next;
} World;

static World *
world_new (HassStageMode second, guint32 n)
{
  World *w = aligned_alloc (HASS_CACHE_LINE, sizeof *w);
  memset (w, 0, sizeof *w);
  w->engine.changed = changed;
  w->engine.waking_ns = needs_waking;
  w->job.n_workers = 1;
  w->job.engine = &w->engine;
  w->job.farm = &w->farm;
  w->farm.run = &w->run;
  w->job.flow = &w->stream;
  w->stream.job = &w->job;
  w->stream.n_stages = 2;
  w->stream.stages = w->stages;
  w->stream.workers = &w->sw;
  hass_stream_memory_init (&w->stream);
  for (guint s = 0; s < 2; s++)
    {
      hass_queue_init (&w->stages[s].ready);
      hass_queue_init (&w->stages[s].waiting);
    }
  w->stages[1].public.mode = second;
  w->stages[1].ordered = second == HASS_STAGE_ORDERED;
  w->batch = hass_batch_new (&w->stream, &w->sw);
  w->batch->next = w->next = hass_batch_new (&w->stream, &w->sw);
  hass_batch_reserve (&w->stream, &w->sw, w->batch, n);
  w->batch->n = w->batch->n_alive = n;
  for (guint32 i = 0; i < n; i++)
    hass_item_begin (&w->batch->items[i], &(HassLoad){ .size = 1 }, i);
  w->worker.now_ns = NOW_NS;
  n_changed = 0;
  return w;
}

static void
world_free (World *w)
{
  hass_stream_memory_clear (&w->stream);
  for (guint s = 0; s < 2; s++)
    {
      hass_queue_clear (&w->stages[s].ready);
      hass_queue_clear (&w->stages[s].waiting);
    }
  free (w);
}

/* The batch's stage sends the tokens marked with 'b' back to @to. Returns: what
   the worker goes on with. */
static HassBatch *
send_back (World *w, const char *tokens, guint to)
{
  w->sw.n_again = 0;
  for (guint32 i = 0; i < w->batch->n; i++)
    if (tokens[i] == 'b')
      {
        w->batch->items[i].state = HASS_ITEM_AGAIN;
        w->batch->items[i].due = (guint8)to;
        w->batch->n_alive--;
        w->sw.n_again++;
      }
  return hass_stream_next (&w->stream, &w->worker, w->batch);
}

/* Returns: which tokens of the batch are computed at its stage: "1-1". */
static const char *
due (const HassBatch *batch)
{
  static char text[HASS_BATCH_TOKENS + 1];
  memset (text, 0, sizeof text);
  for (guint32 i = 0; i < batch->n; i++)
    text[i] = hass_batch_token (batch, i) ? '1' : '-';
  return text;
}

static guint64
n_ready (const World *w, guint s)
{
  return w->stages[s].ready.n_tokens;
}

/* No other batch, no ready set and no core is concerned. */
static void
goes_round (void)
{
  for (guint stage = 0; stage < 2; stage++)
    {
      World *w = world_new (HASS_STAGE_PARALLEL, 6);
      w->batch->stage = stage;
      CU_ASSERT_PTR_EQUAL (send_back (w, "bb.b.b", 0), w->batch);
      CU_ASSERT_EQUAL (w->batch->stage, 0);
      CU_ASSERT_STRING_EQUAL (due (w->batch), "11-1-1");
      w->batch->stage = stage;
      w->worker.now_ns += HASS_BATCH_NS - 1;
      CU_ASSERT_PTR_EQUAL (send_back (w, "b....b", 0), w->batch);
      CU_ASSERT_STRING_EQUAL (due (w->batch), "1----1");
      CU_ASSERT_EQUAL (w->batch->n_alive, 6);
      CU_ASSERT_PTR_EQUAL (w->batch->next, w->next);
      CU_ASSERT_EQUAL (n_changed, 0);
      CU_ASSERT_EQUAL (w->stream.n_ready, 0);
      world_free (w);
    }
}

/* What is not sent back goes on; what is sent back makes room for it. */
static void
is_divided (void)
{
  World *w = world_new (HASS_STAGE_PARALLEL, 6);
  send_back (w, "bb.b.b", 0);
  w->worker.now_ns += HASS_BATCH_NS;
  HassBatch *mine = send_back (w, "bb.b..", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (mine);
  CU_ASSERT_EQUAL (mine->stage, 1);
  CU_ASSERT_EQUAL (mine->n, 1);
  CU_ASSERT_EQUAL (mine->items[0].token.seq, 2);
  CU_ASSERT_EQUAL (n_ready (w, 0), 3);
  CU_ASSERT_EQUAL (n_ready (w, 1), 2);
  CU_ASSERT_EQUAL (n_changed, 3);
  HassBatch *first = w->batch, *third = mine->next;
  CU_ASSERT_PTR_EQUAL (first->next, mine);
  CU_ASSERT_EQUAL (first->n, 2);
  CU_ASSERT_EQUAL (third->n, 1);
  CU_ASSERT_EQUAL (third->stage, 0);
  CU_ASSERT_EQUAL (third->next->n, 2);
  CU_ASSERT_PTR_EQUAL (third->next->next, w->next);
  world_free (w);
}

/* If all tokens are sent back, other cores get half of them if that is worth
   it. */
static void
is_halved (void)
{
  for (guint is_worth = 0; is_worth < 2; is_worth++)
    {
      World *w = world_new (HASS_STAGE_PARALLEL, 4);
      atomic_store (&w->sw.stages[0].token_ns,
                    HASS_LEAST_BATCH_NS / 2.0 - !is_worth);
      CU_ASSERT_PTR_EQUAL (send_back (w, "bbbb", 0), w->batch);
      w->worker.now_ns += HASS_BATCH_NS;
      CU_ASSERT_PTR_NULL (send_back (w, "bbbb", 0));
      CU_ASSERT_EQUAL (n_ready (w, 0), 4);
      CU_ASSERT_EQUAL (w->batch->n, is_worth ? 2 : 4);
      CU_ASSERT_EQUAL (n_changed, is_worth ? 2 : 1);
      world_free (w);
    }
}

/* Of an ordered stage, the tokens that follow rest, and the turn remains the
   batch's own. */
static void
keeps_its_turn (void)
{
  for (guint late = 0; late < 2; late++)
    {
      World *w = world_new (HASS_STAGE_ORDERED, 4);
      w->batch->stage = 1;
      w->batch->turn[1] = HASS_TURN_HERE;
      CU_ASSERT_TRUE (hass_stage_enter (&w->stream, w->batch));
      w->batch->back_ns = late ? NOW_NS - HASS_BATCH_NS : 0;
      HassBatch *mine = send_back (w, ".b..", 0), *back = w->batch;
      if (late) /* the first token is through */
        {
          CU_ASSERT_PTR_NULL (mine);
          back = w->stages[0].ready.head;
        }
      CU_ASSERT_PTR_NOT_NULL_FATAL (back);
      CU_ASSERT_EQUAL (back->stage, 0);
      CU_ASSERT_STRING_EQUAL (due (back), late ? "1" : "-1--");
      CU_ASSERT_EQUAL (n_changed, late);
      CU_ASSERT_EQUAL (w->next->turn[1], HASS_TURN_NONE);
      w->sw.n_again = 0;
      CU_ASSERT_PTR_EQUAL (hass_stream_next (&w->stream, &w->worker, back),
                           back);
      CU_ASSERT_EQUAL (back->stage, 1);
      CU_ASSERT_STRING_EQUAL (due (back), late ? "1" : "-111");
      world_free (w);
    }
}

/* Tokens that are through an ordered stage do not go past it without the turn
   that their batch has there. */
static void
passes_each_turn (void)
{
  World *w = world_new (HASS_STAGE_ORDERED, 4);
  w->batch->turn[1] = HASS_TURN_HERE;
  w->batch->back_ns = NOW_NS - HASS_BATCH_NS;
  w->batch->items[0].due = w->batch->items[1].due = 2;
  CU_ASSERT_PTR_EQUAL (send_back (w, "..bb", 0), w->batch);
  CU_ASSERT_EQUAL (w->batch->stage, 1);
  CU_ASSERT_STRING_EQUAL (due (w->batch), "--");
  const HassBatch *back = w->batch->next;
  CU_ASSERT_EQUAL (back->turn[1], HASS_TURN_NONE);
  w->sw.n_again = 0;
  CU_ASSERT_PTR_NULL (hass_stream_next (&w->stream, &w->worker, w->batch));
  CU_ASSERT_EQUAL (back->turn[1], HASS_TURN_HERE);
  world_free (w);
}

/* -- What its core goes on with ----------------------------------------- */

/* A core that leaves an ordered stage may compute the batch that waits there,
   or its own. It computes both if that takes less time than to wake a core. */
static void
computes_what_is_cheap (void)
{
  for (guint is_cheap = 0; is_cheap < 2; is_cheap++)
    {
      World *w = world_new (HASS_STAGE_PARALLEL, 2);
      w->stages[0].ordered = TRUE;
      w->next->next = w->batch; /* not looked at */
      w->next->turn[0] = HASS_TURN_PARKED;
      atomic_store (&w->sw.stages[1].token_ns, 100);
      waking_ns = 200 + is_cheap; /* for two tokens */
      HassBatch *first = hass_stream_next (&w->stream, &w->worker, w->batch);
      CU_ASSERT_PTR_EQUAL (first, is_cheap ? w->batch : w->next);
      CU_ASSERT_EQUAL (first->stage, is_cheap);
      CU_ASSERT_EQUAL (n_changed, !is_cheap);
      CU_ASSERT_EQUAL (n_ready (w, 1), is_cheap ? 0 : 2);
      if (is_cheap)
        CU_ASSERT_PTR_EQUAL (hass_stream_next (&w->stream, &w->worker, first),
                             w->next);
      CU_ASSERT_PTR_NULL (w->sw.later);
      waking_ns = 0;
      world_free (w);
    }
}

static gboolean
pass (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

/* One batch that waits is work for one core. */
static void
is_work_for_one (void)
{
  World *w = world_new (HASS_STAGE_PARALLEL, 2);
  w->stages[0].public.cpu = pass;
  CU_ASSERT_FALSE (hass_stream_has_work (&w->job, FALSE, 0));
  hass_ready_push (&w->stream, w->batch);
  CU_ASSERT_TRUE (hass_stream_has_work (&w->job, FALSE, 0));
  CU_ASSERT_FALSE (hass_stream_has_work (&w->job, FALSE, 1));
  hass_ready_push (&w->stream, w->next);
  CU_ASSERT_TRUE (hass_stream_has_work (&w->job, FALSE, 1));
  world_free (w);
}

/* -- Whole pipelines ---------------------------------------------------- */

#define N 1024
#define ROUNDS 8

static guint to; /* stage that tokens are sent back to */

static gboolean
go_round (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)data, (void)error;
  gsize rounds = GPOINTER_TO_SIZE (t->tag);
  t->tag = GSIZE_TO_POINTER (rounds + 1);
  return rounds + 1 >= ROUNDS - t->seq % 3 || hass_token_again (t, w, to);
}

/* Tokens take 0.1 us in virtual time. Each is computed as often as it goes
   round, and once by the last stage. */
static void
few_batches (void)
{
  static HassLoad loads[N];
  guint64 calls = 0;
  for (guint k = 0; k < N; k++)
    calls += ROUNDS - k % 3;
  /* with or without a stage before the one that sends back */
  for (guint first = 0; first < 2; first++)
    {
      const HassStage stages[]
          = { HASS_STAGE (.cpu = pass), HASS_STAGE (.cpu = go_round),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = pass) };
      g_autofree char *path
          = trial_file ("[platform]\nname = test\n"
                        "[cpu]\ncores = 2\nwork_per_us = 10\n");
      HassPipeline p = pipe_new (&stages[!first], 2 + first, 0);
      HassReport *report = NULL;
      for (guint k = 0; k < N; k++)
        loads[k] = (HassLoad){ .size = 1, .cost = 1 };
      to = 0;
      p.loads = loads;
      p.n_loads = N;
      p.run.platform = path;
      CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
      unlink (path);
      CU_ASSERT_PTR_NOT_NULL_FATAL (report);
      CU_ASSERT (report->devices[0].bundles * 8 < report->devices[0].units);
      for (guint s = 0; s <= first; s++)
        CU_ASSERT_EQUAL (report->stages[s].tokens, calls);
      CU_ASSERT_EQUAL (report->stages[1 + first].tokens, N);
      hass_report_free (report);
    }
}

HASS_TEST_SUITE (
    pipeline_next,
    { "a batch of which tokens are sent back goes round as a whole on its core",
      goes_round },
    { "after its time it is divided into runs that are due at one stage",
      is_divided },
    { "a batch of which all tokens are sent back is halved where that is worth "
      "it",
      is_halved },
    { "at an ordered stage a token that is sent back keeps the turn",
      keeps_its_turn },
    { "tokens that are through an ordered stage do not leave its turn behind",
      passes_each_turn },
    { "a core computes what costs less than to wake another one",
      computes_what_is_cheap },
    { "one batch that waits is work for one core", is_work_for_one },
    { "tokens that are sent back cost few batches", few_batches })

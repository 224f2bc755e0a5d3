/* SPDX-License-Identifier: MIT */
/* test_supply.c: how many loads a core comes for, and when a stage that binds
   has so much waiting that none need come; batches are moved by hand.
   Thread safety: one thread. */
#include <stdlib.h>
#include <string.h>

#include "engine/stream/stream-private.h"
#include "hass_test.h"

#define N 8           /* batches */
#define TOKENS 64     /* of each */
#define TOKEN_NS 5e4  /* time of the second stage: 3.2 ms a batch */
#define FIRST_NS 1000 /* of the first one */

static guint n_changed;

static void
changed (HassJob *job)
{
  (void)job;
  n_changed++;
}

typedef struct
{
  HassEngineOps engine;
  HassJob job;
  HassStream stream;
  HassStageState stages[2];
  HassStreamWorker worker;
  HassBatch batches[N + 1]; /* the last one has not come */
} World;

static World *
world_new (gboolean is_ordered)
{
  World *w = aligned_alloc (HASS_CACHE_LINE, sizeof *w);
  memset (w, 0, sizeof *w);
  w->engine.changed = changed;
  w->job.engine = &w->engine;
  w->stream.job = &w->job;
  w->stream.n_stages = 2;
  w->stream.stages = w->stages;
  w->stages[1].ordered = is_ordered;
  w->stages[1].most = 1;
  pthread_mutex_init (&w->stages[1].waiting.lock, NULL);
  atomic_store (&w->worker.stages[0].token_ns, FIRST_NS);
  atomic_store (&w->worker.stages[1].token_ns, TOKEN_NS);
  for (guint i = 0; i < N; i++)
    {
      w->batches[i].next = &w->batches[i + 1];
      w->batches[i].n = w->batches[i].n_alive = TOKENS;
      w->batches[i].stage = 1;
    }
  w->batches[0].turn[1] = HASS_TURN_HERE;
  n_changed = 0;
  return w;
}

/* The first batch runs, all others wait; then each leaves in turn. Returns: the
   batches that waited when it was no longer backed up; -1: it never was. */
static gint
pass (World *w)
{
  gint until = -1;
  CU_ASSERT_TRUE (hass_stage_enter (&w->stream, &w->batches[0]));
  for (guint i = 1; i < N; i++)
    CU_ASSERT_FALSE (hass_stage_enter (&w->stream, &w->batches[i]));
  CU_ASSERT_FALSE (hass_stream_backed_up (&w->stream));
  for (guint i = 0; i < N; i++)
    {
      HassBatch *next
          = hass_stage_leave (&w->stream, &w->worker, &w->batches[i]);
      CU_ASSERT_PTR_EQUAL (next, i + 1 < N ? &w->batches[i + 1] : NULL);
      if (hass_stream_backed_up (&w->stream))
        until = (gint)(N - 1 - i);
    }
  CU_ASSERT_FALSE (hass_stream_backed_up (&w->stream));
  return until;
}

static void
supplied (void)
{
  for (guint is_ordered = 0; is_ordered < 2; is_ordered++)
    {
      World *w = world_new (is_ordered);
      /* seven batches are 22 ms of work, a token arrives in 91 us */
      CU_ASSERT_EQUAL (pass (w), 1);
      CU_ASSERT_EQUAL (n_changed, 1);
      free (w);
    }
}

static void
not_supplied (void)
{
  for (guint is_ordered = 0; is_ordered < 2; is_ordered++)
    for (guint i = 0; i < 4; i++)
      {
        World *w = world_new (is_ordered);
        if (i == 0) /* the batches are 0.4 ms of work */
          atomic_store (&w->worker.stages[1].token_ns, 1000);
        else if (i == 1) /* a new token takes as long as all of them */
          atomic_store (&w->worker.stages[0].token_ns, 2e7);
        else if (i == 2) /* perhaps */
          atomic_store (&w->worker.stages[0].token_ns, 0);
        else /* devices take part: their strategy says what is let in */
          w->stream.linked = TRUE;
        CU_ASSERT_EQUAL (pass (w), -1);
        CU_ASSERT_EQUAL (n_changed, 0);
        free (w);
      }
}

/* A token in the middle comes late; what waits behind it does not supply the
   stage. */
static void
late (void)
{
  World *w = world_new (TRUE);
  CU_ASSERT_TRUE (hass_stage_enter (&w->stream, &w->batches[0]));
  for (guint i = 1; i < N; i++)
    if (i != 2)
      CU_ASSERT_FALSE (hass_stage_enter (&w->stream, &w->batches[i]));
  CU_ASSERT_PTR_EQUAL (
      hass_stage_leave (&w->stream, &w->worker, &w->batches[0]),
      &w->batches[1]);
  CU_ASSERT_TRUE (hass_stream_backed_up (&w->stream));
  CU_ASSERT_PTR_NULL (
      hass_stage_leave (&w->stream, &w->worker, &w->batches[1]));
  CU_ASSERT_FALSE (hass_stream_backed_up (&w->stream));
  CU_ASSERT_EQUAL (n_changed, 1);
  CU_ASSERT_TRUE (hass_stage_enter (&w->stream, &w->batches[2]));
  free (w);
}

/* Returns: a world of so many cores, where a token takes @token_ns. */
static World *
world_on (guint n_cores, double token_ns)
{
  World *w = world_new (TRUE);
  w->job.n_cores = n_cores;
  atomic_store (&w->worker.stages[0].token_ns, token_ns);
  atomic_store (&w->worker.stages[1].token_ns, 0);
  return w;
}

/* Returns: tokens of a batch, each of @token_ns, on so many cores. */
static guint32
tokens_of_batch (guint n_cores, double token_ns)
{
  World *w = world_on (n_cores, token_ns);
  guint32 n = hass_stream_batch_size (&w->stream, &w->worker, 0);
  free (w);
  return n;
}

static void
more_cores (void)
{
  CU_ASSERT_EQUAL (tokens_of_batch (0, 1e4), 2);
  CU_ASSERT_EQUAL (tokens_of_batch (1, 1e4), 2);
  CU_ASSERT_EQUAL (tokens_of_batch (4, 1e4), 2);
  CU_ASSERT_EQUAL (tokens_of_batch (16, 1e4), 8);
  CU_ASSERT_EQUAL (tokens_of_batch (64, 1e4), 32);
  CU_ASSERT_EQUAL (tokens_of_batch (64, 1e6), 1);
  CU_ASSERT_EQUAL (tokens_of_batch (64, 1.5e3), HASS_BATCH_TOKENS);
}

/* Returns: the most tokens of a batch if no other load waits. */
static guint32
least_batch (guint n_cores, double token_ns)
{
  World *w = world_on (n_cores, token_ns);
  w->worker.last_batch = HASS_BATCH_TOKENS;
  guint32 n = hass_stream_batch_limit (&w->stream, &w->worker, 0);
  free (w);
  return n;
}

static void
few_wait (void)
{
  const guint n_cores[] = { 1, 16, 64 };
  for (guint i = 0; i < G_N_ELEMENTS (n_cores); i++)
    {
      CU_ASSERT_EQUAL (least_batch (n_cores[i], HASS_LEAST_BATCH_NS / 8.0), 8);
      CU_ASSERT_EQUAL (least_batch (n_cores[i], 2 * HASS_LEAST_BATCH_NS), 1);
    }
}

HASS_TEST_SUITE (
    supply,
    { "the more cores, the more work has a batch, whose turn they pass on one "
      "after another",
      more_cores },
    { "on any number of cores a batch of few loads has as much work",
      few_wait },
    { "while a stage that binds is supplied no core comes for loads",
      supplied },
    { "a stage is not supplied by little, by what may take long, nor beside "
      "devices",
      not_supplied },
    { "a token that comes late lets cores in", late })

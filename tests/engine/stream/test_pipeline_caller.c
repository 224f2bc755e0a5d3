/* SPDX-License-Identifier: MIT */
/* test_pipeline_caller.c: when the generating thread computes tokens.
   Thread safety: the counts are atomic. */
#include <stdatomic.h>

#include "engine/stream/stream-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define N 60
#define LONG_US 1000 /* of a token: longer than what is always computed */
#define PAUSE_US 300 /* so that other cores leave */
#define HOUR_NS G_GINT64_CONSTANT (3600000000000)

/* @by_caller: tokens that the calling thread has computed while it could have
   generated. Others are held unless @bursts, in which all loads so far are
   computed before the next three: until the caller has computed @held_until
   ones, or, if that is 0, until all @others are held, and then one at a time.
 */
typedef struct
{
  pthread_t caller;
  guint others, held_until;
  gboolean bursts;
  _Atomic guint emitted, by_caller, n_held, n_done;
} Run;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  const HassLoad load = { .size = 1, .input = run, .input_bytes = 1 };
  (void)error;
  for (guint i = 0; i < N; i++)
    {
      run->emitted++;
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
      while (run->bursts ? i % 3 == 2 && run->n_done <= i
                         : i + 1 < run->others && run->n_held <= i)
        g_thread_yield ();
      if (run->bursts && i % 3 == 2)
        g_usleep (PAUSE_US);
    }
  return TRUE;
}

/* Returns: TRUE if a token that is held may go on. */
static gboolean
let_go (Run *run)
{
  guint all = run->others;
  return run->bursts || run->emitted == N
         || (run->held_until > 0 ? run->by_caller >= run->held_until
                                 : atomic_compare_exchange_strong (
                                     &run->n_held, &all, all - 1));
}

static gboolean
compute (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  gboolean by_caller = pthread_equal (pthread_self (), run->caller);
  (void)token, (void)worker, (void)error;
  run->n_held += !by_caller;
  g_usleep (LONG_US);
  if (by_caller)
    run->by_caller += run->emitted < N;
  else
    while (!let_go (run))
      g_thread_yield ();
  run->n_done++;
  return TRUE;
}

static void
go_through (Run *run, HassPipeline *p, const HassStage *stages, guint n_stages)
{
  g_autoptr (GError) error = NULL;
  run->caller = pthread_self ();
  p->user_data = run;
  p->stages = stages;
  p->n_stages = n_stages;
  p->run.n_gpus = -1;
  watchdog (60, "a pipeline and its generating thread");
  CU_ASSERT_TRUE (hass_pipeline (p, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
}

/* @wait: bytes, that is tokens, that may wait; three times as many may be in
   flight. */
static void
go (Run *run, guint wait)
{
  const HassStage stage = HASS_STAGE (.name = "long", .cpu = compute);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.generate = generate;
  p.token_bytes = 4 * (gsize)wait;
  p.run.n_cores = 1 + run->others;
  go_through (run, &p, &stage, 1);
}

/* Two tokens wait, four or eight other cores want one each. The caller takes
   one while it does not know how long it takes. */
static void
leaves_tokens (void)
{
  Run held = { .others = 4 }, asleep = { .others = 8, .bursts = TRUE };
  hass_stream_patience_ns = HOUR_NS;
  go (&held, 2);
  go (&asleep, 2);
  hass_stream_patience_ns = 0;
  CU_ASSERT_TRUE (held.by_caller <= 1);
  CU_ASSERT_TRUE (asleep.by_caller <= 1);
}

/* The other cores wait for a second one. */
static void
not_for_ever (void)
{
  Run run = { .others = 4, .held_until = 2 };
  go (&run, 2);
  CU_ASSERT_TRUE (run.by_caller >= 2);
}

static void
computes_what_is_left (void)
{
  Run run = { .others = 1, .held_until = 2 };
  hass_stream_patience_ns = HOUR_NS;
  go (&run, N / 2);
  hass_stream_patience_ns = 0;
  CU_ASSERT_TRUE (run.by_caller >= 2);
}

/* -- A slow stream of brief tokens --------------------------------------- */

/* Each token is computed before the generator goes on. */
static gboolean
generate_slowly (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  const HassLoad load = { .size = 1 };
  (void)error;
  for (guint i = 0; i < N; i++)
    {
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
      while (run->emitted <= i)
        g_thread_yield ();
      g_usleep (PAUSE_US);
    }
  return TRUE;
}

static gboolean
drop (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  (void)error;
  hass_token_drop (token, worker);
  run->emitted++;
  return TRUE;
}

static void
drops_all (void)
{
  Run run = { 0 };
  const HassStage stages[] = { HASS_STAGE (.name = "drop", .cpu = drop),
                               HASS_STAGE (.name = "never", .cpu = compute) };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.generate = generate_slowly;
  p.run.n_cores = 2;
  go_through (&run, &p, stages, G_N_ELEMENTS (stages));
  CU_ASSERT_EQUAL (run.emitted, N);
}

HASS_TEST_SUITE (
    pipeline_caller,
    { "the generating thread leaves few long tokens to cores, at work or not",
      leaves_tokens },
    { "but does not wait for ever for cores that wait for a token",
      not_for_ever },
    { "and computes when more wait than others need", computes_what_is_left },
    { "brief tokens do not wait though a later stage has computed none",
      drops_all })

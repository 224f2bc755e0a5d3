/* SPDX-License-Identifier: MIT */
/* test_pipeline_caller.c: when the generating thread computes tokens.
   Thread safety: the counts are atomic. */
#include <stdatomic.h>

#include "device/cpu/cpu_pool.h"
#include "engine/stream/stream-private.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define N 60
#define LONG_US 1000 /* of a token: longer than what is always computed */
#define HOUR_NS G_GINT64_CONSTANT (3600000000000)

/* @by_caller: tokens that the calling thread has computed while it could have
   generated. @blocks: a token on another core waits for one of these; else it
   waits until the generator has gone on. */
typedef struct
{
  pthread_t caller;
  gboolean blocks;
  _Atomic guint emitted, by_caller;
} Run;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  const HassLoad load = { .size = 1 };
  (void)error;
  for (guint i = 0; i < N; i++)
    {
      run->emitted++;
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static gboolean
compute (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  guint until = MIN ((guint)token->seq + 2, N);
  (void)worker, (void)error;
  g_usleep (LONG_US);
  if (pthread_equal (pthread_self (), run->caller))
    run->by_caller += run->emitted < N;
  else if (run->blocks)
    while (run->by_caller == 0 && run->emitted < N)
      g_thread_yield ();
  else
    while (run->emitted < until)
      g_thread_yield ();
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

/* @tokens: at most, in flight and waiting. */
static void
go (Run *run, guint n_cores, gsize tokens)
{
  const HassStage stage = HASS_STAGE (.name = "long", .cpu = compute);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.generate = generate;
  p.tokens = tokens;
  p.run.n_cores = n_cores;
  go_through (run, &p, &stage, 1);
}

static void
leaves_tokens (void)
{
  Run run = { 0 };
  hass_stream_patience_ns = HOUR_NS;
  go (&run, 4, 2);
  hass_stream_patience_ns = 0;
  CU_ASSERT_EQUAL (run.by_caller, 0);
}

static _Atomic guint n_held, n_let_go;
static _Atomic gboolean over;

static void
hold (gpointer data)
{
  (void)data;
  n_held++;
  while (!over)
    g_usleep (1000);
  n_let_go++;
}

/* The other threads of the pool do something else. */
static void
not_for_ever (void)
{
  Run run = { 0 };
  HassCpuPool *pool = hass_cpu_pool_get (3, NULL);
  for (guint i = 0; i < 2; i++)
    hass_cpu_pool_enqueue (pool, hold, NULL);
  watchdog (60, "threads of a pool");
  while (n_held < 2)
    g_thread_yield ();
  go (&run, 3, 2);
  CU_ASSERT_TRUE (run.by_caller > 0);
  over = TRUE;
  while (n_let_go < 2)
    g_thread_yield ();
}

/* More wait than others need. */
static void
computes_what_is_left (void)
{
  Run run = { .blocks = TRUE };
  hass_stream_patience_ns = HOUR_NS;
  go (&run, 2, N / 2);
  hass_stream_patience_ns = 0;
  CU_ASSERT_TRUE (run.by_caller > 0);
}

/* -- A slow stream of brief tokens --------------------------------------- */

#define PAUSE_US 300 /* so that other cores leave */

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
    { "the generating thread leaves few long tokens to other cores",
      leaves_tokens },
    { "but does not wait for ever for cores that do not come", not_for_ever },
    { "and computes when more wait than others need", computes_what_is_left },
    { "brief tokens do not wait though a later stage has computed none",
      drops_all })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_live.c: what runs at the same time: stages beside a blocked
   one, a slow stream, nested loops, several pipelines; and farms that callbacks
   of pipelines start.

   DESIGN. Callbacks wait for each other's events, never for a time; a pipeline
   that lacks the overlap hangs, and the watchdog says so.

   Thread safety: as the tests say. */
#include <pthread.h>
#include <string.h>

#include "engine/live/live-private.h"
#include "hass_test.h"
#include "pipe.h"
#include "tests/engine/trial.h"

/* -- Overlap ------------------------------------------------------------ */

typedef struct
{
  pthread_mutex_t lock; /* ThreadSanitizer does not see a GMutex */
  pthread_cond_t changed;
  guint64 first, last; /* tokens through the first and the last stage */
} Meeting;

static void
advance (Meeting *m, guint64 *count)
{
  pthread_mutex_lock (&m->lock);
  ++*count;
  pthread_cond_broadcast (&m->changed);
  pthread_mutex_unlock (&m->lock);
}

static void
wait_until (Meeting *m, const guint64 *count, guint64 n)
{
  pthread_mutex_lock (&m->lock);
  while (*count < n)
    pthread_cond_wait (&m->changed, &m->lock);
  pthread_mutex_unlock (&m->lock);
}

static gboolean
pass_first (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Meeting *m = data;
  (void)t, (void)w, (void)error;
  advance (m, &m->first);
  return TRUE;
}

static gboolean
pass_last (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Meeting *m = data;
  (void)t, (void)w, (void)error;
  advance (m, &m->last);
  return TRUE;
}

/* The first token waits in this stage until 200 have been in the one before. */
static gboolean
wait_for_others (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Meeting *m = data;
  (void)w, (void)error;
  if (t->seq == 0)
    wait_until (m, &m->first, 200);
  return TRUE;
}

static void
blocked_stages (void)
{
  const HassStageMode modes[] = { HASS_STAGE_ORDERED, HASS_STAGE_SERIAL,
                                  HASS_STAGE_CALLER, HASS_STAGE_PARALLEL };
  for (guint i = 0; i < 4; i++)
    {
      Meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
      const HassStage stages[]
          = { HASS_STAGE (.cpu = pass_first),
              HASS_STAGE (.mode = modes[i], .cpu = wait_for_others),
              HASS_STAGE (.cpu = pass_last) };
      HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
      p.user_data = &m;
      pipe_must_run (&p);
      CU_ASSERT_EQUAL (m.last, PIPE_LOADS);
    }
}

/* Emits a load when the one before is through. */
static gboolean
emit_slowly (HassEmitter *emitter, gpointer data, GError **error)
{
  Meeting *m = data;
  (void)error;
  for (guint i = 0; i < 100; i++)
    {
      if (!hass_emitter_emit (emitter, &pipe_loads ()[i]))
        return FALSE;
      wait_until (m, &m->last, i + 1);
    }
  return TRUE;
}

static void
slow_stream (guint n_cores, HassStageMode last)
{
  Meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = pass_first),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = pass_first),
          HASS_STAGE (.mode = last, .cpu = pass_last) };
  HassPipeline p = pipe_new (stages, 3, 0);
  p.generate = emit_slowly;
  p.user_data = &m;
  p.run.n_cores = n_cores;
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (m.last, 100);
  CU_ASSERT_EQUAL (m.first, 200);
}

static void
slow_streams (void)
{
  slow_stream (2, HASS_STAGE_ORDERED);
}

/* The only core is the thread that the generator blocks. */
static void
slow_streams_on_one_core (void)
{
  slow_stream (1, HASS_STAGE_ORDERED);
  slow_stream (1, HASS_STAGE_CALLER);
}

/* -- Who computes a token of a slow stream ------------------------------ */

#define LONELY 20
#define MOST_LONELY 50000

typedef struct
{
  GThread *caller;
  guint64 emitted; /* number of the token that is being emitted */
  guint64 most;    /* tokens */
  guint at_once;   /* stages' calls within the call that emitted the token */
} Lonely;

static gboolean
look_who (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Lonely *l = data;
  (void)w, (void)error;
  if (g_thread_self () == l->caller)
    l->at_once += l->emitted == t->seq;
  return TRUE;
}

/* Emits loads with pauses in which woken cores leave, until as many calls of
   stages as LONELY were made by the call that emitted the token. */
static gboolean
emit_with_pauses (HassEmitter *emitter, gpointer data, GError **error)
{
  Lonely *l = data;
  (void)error;
  for (; l->at_once < LONELY && l->emitted < l->most; l->emitted++)
    {
      if (!hass_emitter_emit (emitter, &pipe_loads ()[0]))
        return FALSE;
      g_usleep (200);
    }
  return TRUE;
}

/* Waking a core takes longer than any token. */
static void
lonely_tokens (void)
{
  gint64 wake_ns = hass_live_wake_ns;
  hass_live_wake_ns = 60 * (gint64)1000000000;
  for (guint n = 1; n < 3; n++)
    {
      Lonely l = { .caller = g_thread_self (), .most = MOST_LONELY };
      const HassStage stages[]
          = { HASS_STAGE (.cpu = look_who),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = look_who) };
      HassPipeline p = pipe_new (stages, 2, 0);
      p.generate = emit_with_pauses;
      p.user_data = &l;
      p.tokens = 2 * MOST_LONELY;
      p.run.n_cores = n;
      pipe_must_run (&p);
      CU_ASSERT_TRUE (l.at_once >= LONELY);
    }
  hass_live_wake_ns = wake_ns;
}

static gboolean
sleep_long (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  g_usleep (10000);
  return TRUE;
}

/* A core could be woken in less time than a token takes, but not compute the
   stage that takes it. */
static void
lonely_callers (void)
{
  gint64 wake_ns = hass_live_wake_ns;
  hass_live_wake_ns = 8000000;
  Lonely l = { .caller = g_thread_self (), .most = 4 * LONELY };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = look_who),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = sleep_long) };
  HassPipeline p = pipe_new (stages, 2, 0);
  p.generate = emit_with_pauses;
  p.user_data = &l;
  p.run.n_cores = 2;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (l.at_once >= LONELY);
  hass_live_wake_ns = wake_ns;
}

/* -- Nested loops ------------------------------------------------------- */

static gboolean
add_indices (gsize first, gsize count, HassWorker *worker, gpointer data,
             GError **error)
{
  guint64 sum = 0;
  (void)worker, (void)error;
  for (gsize i = first; i < first + count; i++)
    sum += i;
  atomic_fetch_add ((_Atomic guint64 *)data, sum);
  return TRUE;
}

static gboolean
loop (HassToken *t, HassWorker *w, gpointer probe, GError **error)
{
  _Atomic guint64 sum = 0;
  pipe_enter (probe, t);
  gboolean ok
      = hass_worker_parallel_for (w, 1000, 10, add_indices, &sum, error);
  if (sum != 499500)
    pipe_blame (probe, "the loop has not run once over all");
  pipe_leave (probe);
  return ok;
}

static void
nested_loops (void)
{
  PipeProbe probes[4]
      = { { .alone = FALSE },
          { .alone = TRUE, .in_order = TRUE },
          { .alone = TRUE },
          { .alone = TRUE, .in_order = TRUE, .caller = g_thread_self () } };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = loop, .user_data = &probes[0]),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = loop,
                      .user_data = &probes[1]),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = loop,
                      .user_data = &probes[2]),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = loop,
                      .user_data = &probes[3]) };
  HassPipeline p = pipe_new (stages, 4, PIPE_LOADS / 4);
  p.run.n_cores = 4;
  pipe_must_run (&p);
  for (guint i = 0; i < 4; i++)
    CU_ASSERT_TRUE (pipe_saw (&probes[i], PIPE_LOADS / 4));
}

/* -- Several pipelines -------------------------------------------------- */

#define SEVERAL 4

static gpointer
run_one (gpointer data)
{
  PipeProbe *probes = data;
  probes[1].alone = probes[1].in_order = TRUE;
  probes[2] = probes[1];
  probes[2].caller = g_thread_self ();
  const HassStage stages[]
      = { HASS_STAGE (.cpu = pipe_look, .user_data = &probes[0]),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = pipe_look,
                      .user_data = &probes[1]),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = pipe_look,
                      .user_data = &probes[2]) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  gboolean ok = TRUE;
  for (guint i = 0; i < 20; i++)
    {
      probes[1].next = probes[2].next = 0;
      ok &= hass_pipeline (&p, NULL, NULL);
    }
  return GINT_TO_POINTER (ok);
}

static void
several_at_once (void)
{
  PipeProbe probes[SEVERAL][3] = { 0 };
  GThread *threads[SEVERAL];
  pipe_loads ();
  watchdog (60, "several pipelines");
  for (guint i = 0; i < SEVERAL; i++)
    threads[i] = g_thread_new ("pipe", run_one, probes[i]);
  for (guint i = 0; i < SEVERAL; i++)
    CU_ASSERT_TRUE (GPOINTER_TO_INT (g_thread_join (threads[i])));
  watchdog (0, NULL);
  for (guint i = 0; i < SEVERAL; i++)
    for (guint k = 0; k < 3; k++)
      CU_ASSERT_TRUE (pipe_saw (&probes[i][k], 20 * PIPE_LOADS));
}

/* -- Farms from callbacks ----------------------------------------------- */

typedef struct
{
  guint64 sum; /* the accumulator; the first member */
  const char *from;
  guint n_tried, n_refused;
} Inner;

static gboolean
idle_stage (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

static gboolean
idle_worker (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Both must be refused with a message that names the outer one. */
static void
start_inner (Inner *inner, const char *here)
{
  const HassStage stage = HASS_STAGE (.cpu = idle_stage);
  HassPipeline p = pipe_new (&stage, 1, 1);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  if (strcmp (inner->from, here) != 0)
    return;
  f.loads = pipe_loads ();
  f.n_loads = 1;
  f.cpu_worker = idle_worker;
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean ok = i ? hass_data_farm_combine (&f, NULL, &error)
                      : hass_pipeline (&p, NULL, &error);
      inner->n_tried++;
      inner->n_refused
          += !ok && g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
             && strstr (error->message, "outer");
    }
}

static gboolean
generate_in (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)error;
  start_inner (data, "generator");
  return TRUE;
}

static gboolean
stage_in (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)error;
  start_inner (data, "stage");
  return TRUE;
}

static gboolean
ordered_in (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)error;
  start_inner (data, "ordered stage");
  return TRUE;
}

static void
release_in (const HassLoad *load, gboolean committed, gpointer data)
{
  (void)load, (void)committed;
  start_inner (data, "release");
}

static void
reduce_in (gpointer accumulator, gconstpointer part, gpointer data)
{
  (void)accumulator, (void)part;
  start_inner (data, "reduce");
}

static void
reduce_init_in (gpointer accumulator, gpointer data)
{
  (void)accumulator;
  start_inner (data, "reduce_init");
}

static void
no_farm_in_callbacks (void)
{
  static const char *const from[] = { "generator", "stage",  "ordered stage",
                                      "release",   "reduce", "reduce_init" };
  for (guint i = 0; i < G_N_ELEMENTS (from); i++)
    {
      Inner inner = { .from = from[i] };
      const HassStage stages[]
          = { HASS_STAGE (.cpu = stage_in, .reduce = reduce_in,
                          .reduce_init = reduce_init_in,
                          .accumulator = &inner.sum,
                          .accumulator_bytes = sizeof inner.sum),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = ordered_in) };
      HassPipeline p = pipe_new (stages, 2, 1);
      p.name = "outer";
      p.generate = generate_in;
      p.release = release_in;
      p.user_data = &inner;
      p.run.n_cores = 1;
      pipe_must_run (&p);
      CU_ASSERT_TRUE (inner.n_tried > 0);
      CU_ASSERT_EQUAL (inner.n_refused, inner.n_tried);
    }
}

static gboolean
pipeline_in_farm (const HassBlock *block, HassWorker *worker, gpointer data,
                  GError **error)
{
  (void)block, (void)worker, (void)error;
  start_inner (data, "farm");
  return TRUE;
}

static void
no_pipeline_in_farms (void)
{
  Inner inner = { .from = "farm" };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "outer";
  f.loads = pipe_loads ();
  f.n_loads = 1;
  f.user_data = &inner;
  f.cpu_worker = pipeline_in_farm;
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, NULL, NULL));
  CU_ASSERT_EQUAL (inner.n_tried, 2);
  CU_ASSERT_EQUAL (inner.n_refused, 2);
}

HASS_TEST_SUITE (
    pipeline_live,
    { "a stage that blocks makes only its own tokens wait", blocked_stages },
    { "no token waits for company in a slow stream", slow_streams },
    { "on one core a token is through before its emitter goes on",
      slow_streams_on_one_core },
    { "brief tokens of a slow stream are computed by the thread that emits "
      "them",
      lonely_tokens },
    { "and so are tokens that only wait long in a stage of that thread",
      lonely_callers },
    { "stages of every mode may run nested loops", nested_loops },
    { "several pipelines run at once", several_at_once },
    { "no callback of a pipeline can start a farm or a pipeline",
      no_farm_in_callbacks },
    { "no callback of a farm can start a pipeline", no_pipeline_in_farms })

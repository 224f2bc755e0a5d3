/* SPDX-License-Identifier: MIT */
/* test_cores_alone.c: short pipelines that cores compute alone, as earlier runs
   have shown that they are through before a GPU could be started.

   DESIGN. The stand-in says how long a start takes. A generator that counts on
   a start waits for it: without it, it hangs, and the watchdog says so.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include "cold_trial.h"
#include "device/pinned.h"
#include "hass_test.h"
#include "tests/engine/profile/store_trial.h"

#define N_LOADS 12
#define BYTES ((gsize)64 << 10)
#define TOKEN_US 2000 /* a token takes a core at least so long */
#define AGAIN 200

/* Inputs and outputs that were pinned; whether the first input was; from which
   load on all must be, and those of these that were not. */
static _Atomic guint pinned, from, wrong;
static gboolean first_pinned;

/**
 * Run: @n_loads: are emitted. @then_start: the generator then waits until a
 * start has begun. @then_pinned: and emits until a buffer is pinned, and then
 * so many again as find all buffers and outputs in use.
 */
typedef struct
{
  guint n_loads;
  gboolean then_start, then_pinned;
} Run;

static gboolean
emit_one (HassEmitter *emitter, gboolean *is_pinned)
{
  HassLoad load = { .input = hass_emitter_buffer (emitter, BYTES),
                    .input_bytes = BYTES,
                    .size = 1,
                    .flags = HASS_LOAD_BUFFER };
  *is_pinned = hass_memory_is_pinned (load.input, BYTES);
  return load.input && hass_emitter_emit (emitter, &load);
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Run *run = data;
  gboolean is_pinned, ok = emit_one (emitter, &first_pinned);
  guint n = 1;
  (void)error;
  for (; n < run->n_loads && ok; n++)
    ok = emit_one (emitter, &is_pinned);
  if (run->then_start)
    cold_await_starts (1);
  while (ok && run->then_pinned && atomic_load (&from) == G_MAXUINT)
    {
      ok = emit_one (emitter, &is_pinned);
      n++;
      if (is_pinned)
        atomic_store (&from, n);
    }
  for (guint i = 0; i < AGAIN && ok && run->then_pinned; i++)
    {
      ok = emit_one (emitter, &is_pinned);
      atomic_fetch_add (&wrong, !is_pinned);
    }
  return ok;
}

static gboolean
count (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data, (void)error;
  g_usleep (TOKEN_US);
  gboolean is_pinned = hass_memory_is_pinned (token->output, BYTES);
  atomic_fetch_add (&pinned, is_pinned);
  atomic_fetch_add (&wrong, token->seq >= atomic_load (&from) && !is_pinned);
  atomic_fetch_add (&counting_on_cpu, 1);
  return TRUE;
}

/* Runs the pipeline in a process that has not started its GPU, whose start
   takes @start_ms. Returns: how many starts were begun. */
static guint
starts (guint start_ms, Run run, const HassStage *stages, guint n_stages)
{
  FakePlan plan = { .n_devices = 1, .start_ms = start_ms, .open_ms = 20 };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = "short";
  pipeline.generate = generate;
  pipeline.user_data = &run;
  pipeline.stages = stages;
  pipeline.n_stages = n_stages;
  pipeline.run.platform = "";
  pipeline.run.n_cores = 2;
  atomic_store (&pinned, 0);
  atomic_store (&wrong, 0);
  atomic_store (&from, G_MAXUINT);
  return cold_pipeline_starts (&plan, &pipeline);
}

static const HassStage both
    = HASS_STAGE (.name = "count", .cpu = count, .gpu = counting_gpu_worker,
                  .output_bytes = BYTES);
static const HassStage gpu_only
    = HASS_STAGE (.name = "more", .gpu = counting_gpu_worker);

/* The first run, whose generator waits for the start, leaves in the store how
   long a token takes a core, and how many loads there were. */
static void
teach (void)
{
  store_begin ();
  /* how long the start has taken is not remembered */
  g_setenv ("XDG_CACHE_HOME", "/dev/null", TRUE);
  CU_ASSERT_EQUAL (
      starts (COLD_HOUR_MS, (Run){ N_LOADS, TRUE, FALSE }, &both, 1), 1);
  CU_ASSERT_TRUE (store_exists (""));
}

static void
forget (void)
{
  store_end ();
  g_unsetenv ("XDG_CACHE_HOME");
}

static void
no_start (void)
{
  teach ();
  for (guint less = 0; less < 2; less++)
    {
      Run run = { N_LOADS - less, FALSE, FALSE };
      CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, run, &both, 1), 0);
      CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu), run.n_loads);
      CU_ASSERT_EQUAL (atomic_load (&pinned), 0);
      CU_ASSERT_FALSE (first_pinned);
    }
  forget ();
}

/* And memory is pinned again. */
static void
more_loads (void)
{
  teach ();
  Run run = { N_LOADS + 1, TRUE, TRUE };
  CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, run, &both, 1), 1);
  CU_ASSERT_EQUAL (atomic_load (&wrong), 0);
  forget ();
}

/* The generator keeps the last load back until a start has begun. */
static void
too_long (void)
{
  teach ();
  Run run = { N_LOADS - 1, TRUE, FALSE };
  CU_ASSERT_EQUAL (starts (100, run, &both, 1), 1);
  forget ();
}

/* Both cores take longer than a start and all devices: all is pinned. */
static void
start_is_short (void)
{
  teach ();
  Run run = { N_LOADS, TRUE, FALSE };
  CU_ASSERT_EQUAL (starts (TOKEN_US / 1000, run, &both, 1), 1);
  CU_ASSERT_TRUE (first_pinned);
  forget ();
}

static void
needs_a_gpu (void)
{
  const HassStage stages[] = { both, gpu_only };
  teach ();
  Run run = { N_LOADS, TRUE, FALSE };
  CU_ASSERT_EQUAL (starts (COLD_HOUR_MS, run, stages, 2), 1);
  forget ();
}

HASS_TEST_SUITE (
    cores_alone,
    { "no GPU is started for as many loads as cores were through with before",
      no_start },
    { "a GPU is started when more loads come", more_loads },
    { "a GPU is started when it has taken as long as that", too_long },
    { "a GPU is started if cores are expected to take longer", start_is_short },
    { "a GPU is started for a stage that needs one", needs_a_gpu })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_devices.c: stages of a pipeline on devices, alone, fused,
   beside cores, and when devices fail. Thread safety: single-threaded. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 3000

/* -- The pipeline: add 1, double with 8 bytes appended, check ----------- */

typedef struct
{
  guint64 bad, next;
  _Atomic guint64 seen; /* also read by the progress callback */
  _Atomic guint64 released, committed, on_cores;
  _Atomic guint now, most; /* cores in cpu_add(): at this moment, ever */
  /* calls of the progress callback; how many counted a token that was still
     before the last stage */
  _Atomic guint told, early;
} Seen;

static void
add_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      guint64 in = bundle->offsets ? bundle->offsets[i] : 0;
      guint64 out = bundle->output_offsets ? bundle->output_offsets[i] : 0;
      guint64 v;
      memcpy (&v, bundle->input + in, sizeof v);
      v++;
      memcpy (bundle->output + out, &v, sizeof v);
    }
}

STAND_IN_WORKER (gpu_add, add_kernel)

static gboolean
cpu_add (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Seen *seen = data;
  guint64 v;
  (void)worker, (void)error;
  guint now = ++seen->now, most = seen->most;
  while (now > most && !atomic_compare_exchange_weak (&seen->most, &most, now))
    ;
  g_thread_yield ();
  memcpy (&v, token->input, sizeof v);
  v++;
  memcpy (token->output, &v, sizeof v);
  seen->on_cores++;
  seen->now--;
  return TRUE;
}

static void
double_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      guint64 in = bundle->offsets ? bundle->offsets[i] : 0;
      guint64 out = bundle->output_offsets ? bundle->output_offsets[i] : 0;
      guint64 v[2];
      memcpy (v, bundle->input + in, sizeof *v);
      v[1] = v[0];
      v[0] *= 2;
      memcpy (bundle->output + out, v, sizeof v);
    }
}

STAND_IN_WORKER (gpu_double, double_kernel)

static gboolean
check (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Seen *seen = data;
  const guint64 *v = (const guint64 *)token->input;
  guint64 i = token->seq;
  (void)worker, (void)error;
  seen->bad += token->input_bytes != 16 || v[0] != 2 * (i + 1) || v[1] != i + 1
               || i < seen->next;
  seen->next = i + 1;
  seen->seen++;
  return TRUE;
}

/* The last token waits until the callback has been called twice. */
static gboolean
check_late (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Seen *seen = data;
  for (guint told = seen->told; token->seq == N - 1 && seen->told < told + 2;)
    g_usleep (500);
  return check (token, worker, data, error);
}

static void
watch (const HassProgressInfo *info, gpointer data)
{
  Seen *seen = data;
  seen->early += info->units_done > seen->seen;
  seen->told++;
}

static void
released (const HassLoad *load, gboolean committed, gpointer data)
{
  Seen *seen = data;
  (void)load;
  seen->released++;
  if (committed)
    seen->committed++;
}

typedef struct
{
  StandInPlan plans[2];
  guint n_devices;
  gboolean cpu;     /* cores can add, too */
  gboolean watched; /* the last token waits for the progress callback */
  gsize tokens, token_bytes;
  HassErrorPolicy on_error;
  const char *strategy; /* NULL: pipe-greedy, which fuses all that it can */
} Case;

static gboolean
run (const Case *c, Seen *seen, HassReport **report, GError **error)
{
  static guint64 input[N];
  HassLoad loads[N];
  HassDevice *devices[2] = { NULL };
  for (guint i = 0; i < N; i++)
    {
      input[i] = i;
      loads[i] = (HassLoad){ .input = &input[i], .input_bytes = 8 };
    }
  for (guint d = 0; d < c->n_devices; d++)
    devices[d] = stand_in_new (&c->plans[d]);
  const HassStage stages[] = {
    HASS_STAGE (.name = "add", .cpu = c->cpu ? cpu_add : NULL, .gpu = gpu_add,
                .output_ratio = 1),
    HASS_STAGE (.name = "double", .gpu = gpu_double, .output_ratio = 1,
                .output_bytes = 8),
    HASS_STAGE (.name = "check", .mode = HASS_STAGE_ORDERED,
                .cpu = c->watched ? check_late : check),
  };
  *seen = (Seen){ 0 };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = seen;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = c->tokens;
  p.token_bytes = c->token_bytes;
  p.release = released;
  p.run.devices = devices;
  p.run.n_devices = c->n_devices;
  p.run.strategy = c->strategy ? c->strategy : "pipe-greedy";
  p.run.on_error = c->on_error;
  p.run.progress = c->watched ? watch : NULL;
  p.run.progress_data = seen;
  p.run.progress_interval_ms = 1;
  watchdog (20, "pipeline on devices");
  gboolean ok = hass_pipeline (&p, report, error);
  watchdog (0, NULL);
  for (guint d = 0; d < c->n_devices; d++)
    {
      StandInCounts counts = stand_in_counts (devices[d]);
      CU_ASSERT_PTR_NULL (counts.wrong);
      stand_in_free (devices[d]);
    }
  return ok;
}

/* Runs a case in which all tokens must come through. */
static void
expect_all (const Case *c, HassReport **report)
{
  Seen seen;
  GError *error = NULL;
  HassReport *own = NULL;
  CU_ASSERT_TRUE (run (c, &seen, report ? report : &own, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  CU_ASSERT_EQUAL (seen.seen, N);
  CU_ASSERT_EQUAL (seen.bad, 0);
  CU_ASSERT_EQUAL (seen.released, N);
  CU_ASSERT_EQUAL (seen.committed, N);
  hass_report_free (own);
}

/* -- Tests -------------------------------------------------------------- */

static void
alone_and_fused (void)
{
  for (guint fused = 0; fused < 2; fused++)
    for (guint depth = 1; depth < 4; depth++)
      {
        HassReport *report = NULL;
        expect_all (
            &(Case){ .plans = { { .depth = depth, .max_fused = 3 * fused } },
                     .n_devices = 1 },
            &report);
        CU_ASSERT_EQUAL (report->n_stages, 3);
        CU_ASSERT_EQUAL (report->stages[0].tokens, N);
        CU_ASSERT_EQUAL (report->stages[1].tokens, N);
        /* what the device did in one bundle it copied once */
        CU_ASSERT_EQUAL (report->devices[1].units, fused ? N : 2 * N);
        hass_report_free (report);
      }
}

static void
progress (void)
{
  const Case c
      = { .plans = { { .depth = 2 } }, .n_devices = 1, .watched = TRUE };
  g_autoptr (HassReport) report = NULL;
  Seen seen;
  CU_ASSERT_TRUE_FATAL (run (&c, &seen, &report, NULL));
  CU_ASSERT_TRUE (seen.told >= 2);
  CU_ASSERT_EQUAL (seen.early, 0);
  CU_ASSERT_EQUAL (report->units, N);
}

static void
beside_cores (void)
{
  expect_all (&(Case){ .plans = { { .depth = 2, .delay_us = 50 } },
                       .n_devices = 1,
                       .cpu = TRUE },
              NULL);
  expect_all (&(Case){ .plans = { { .depth = 2, .max_fused = 1 },
                                  { .name = "gpu1", .delay_us = 100 } },
                       .n_devices = 2,
                       .cpu = TRUE },
              NULL);
}

static void
bounded (void)
{
  expect_all (
      &(Case){ .plans = { { .depth = 2 } }, .n_devices = 1, .tokens = 5 },
      NULL);
  expect_all (&(Case){ .plans = { { .depth = 2 } },
                       .n_devices = 1,
                       .token_bytes = 200 },
              NULL);
}

/* Takes single tokens, and allows two of the first stage on cores. */
static HassAnswer
serve_two (gpointer self, const HassStreamState *state, guint device,
           gboolean force, HassServe *serve)
{
  (void)self, (void)force;
  serve->at_once[0] = 2;
  serve->units = 1;
  while (serve->class_index < state->n_classes
         && state->classes[serve->class_index].ready == 0)
    serve->class_index++;
  return device == 0 || serve->class_index < 2 ? HASS_TAKE : HASS_WAIT;
}

static void
bounded_cores (void)
{
  static const HassStrategyOps two = { .struct_size = sizeof two,
                                       .name = "two-on-cores",
                                       .summary = "a test",
                                       .source = "a test",
                                       .farms = HASS_FARM_PIPELINE,
                                       .create = trial_env,
                                       .serve = serve_two };
  Seen seen;
  g_setenv ("HASS_NCPU", "4", TRUE);
  CU_ASSERT_TRUE (hass_strategy_register (&two, NULL));
  for (guint bound = 0; bound < 2; bound++)
    {
      Case c = { .plans = { { .depth = 1, .delay_us = 50 } },
                 .n_devices = 1,
                 .cpu = TRUE,
                 .strategy = bound ? two.name : NULL };
      g_autoptr (GError) error = NULL;
      CU_ASSERT_TRUE (run (&c, &seen, NULL, &error));
      if (error)
        g_printerr ("\n    %s", error->message);
      CU_ASSERT_EQUAL (seen.seen, N);
      CU_ASSERT_EQUAL (seen.bad, 0);
      CU_ASSERT_TRUE (seen.on_cores > 0);
      CU_ASSERT_TRUE (!bound || seen.most <= 2);
    }
  g_unsetenv ("HASS_NCPU");
}

static void
faults (void)
{
  for (guint every = 2; every < 5; every++)
    expect_all (&(Case){ .plans = { { .depth = 2,
                                      .max_fused = 1,
                                      .fail_bundle_every = every } },
                         .n_devices = 1,
                         .tokens = 64 },
                NULL);
  expect_all (&(Case){ .plans = { { .depth = 2, .fail_submit_every = 3 } },
                       .n_devices = 1,
                       .tokens = 64 },
              NULL);
  /* a lost device gives its tokens to another one */
  for (guint at = 1; at < 12; at += 3)
    expect_all (&(Case){ .plans = { { .depth = 2, .lose_at = at },
                                    { .name = "gpu1", .max_fused = 1 } },
                         .n_devices = 2,
                         .tokens = 64,
                         .cpu = at & 1 },
                NULL);
}

static void
nobody_left (void)
{
  Seen seen;
  GError *error = NULL;
  HassReport *report = NULL;
  Case c = { .plans = { { .depth = 2, .lose_at = 5 } },
             .n_devices = 1,
             .tokens = 64,
             .on_error = HASS_ON_ERROR_CONTINUE };
  CU_ASSERT_FALSE (run (&c, &seen, &report, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "no device is left"));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "stage '"));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message,
              "; gpu0 is lost, it failed first in the bundle of token "));
  CU_ASSERT_EQUAL (seen.bad, 0);
  CU_ASSERT_EQUAL (seen.released, N);
  CU_ASSERT_EQUAL (seen.committed, seen.seen);
  guint64 n = 0;
  for (guint i = 0; i < report->n_unfinished; i++)
    n += report->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (n, N - seen.seen);
  g_error_free (error);
  hass_report_free (report);
}

static void
memory (void)
{
  /* small parts */
  expect_all (&(Case){ .plans = { { .depth = 2, .memory_bytes = 100 } },
                       .n_devices = 1 },
              NULL);
  /* not one token of "add", which takes 16 bytes, nor of "double" */
  Seen seen;
  HassReport *report = NULL;
  Case c = { .plans = { { .depth = 2, .memory_bytes = 20 } },
             .n_devices = 1,
             .cpu = TRUE,
             .tokens = 200,
             .on_error = HASS_ON_ERROR_CONTINUE };
  CU_ASSERT_TRUE (run (&c, &seen, &report, NULL));
  CU_ASSERT_EQUAL (seen.seen + seen.bad, 0);
  CU_ASSERT_EQUAL (seen.released, N);
  CU_ASSERT_EQUAL (report->n_unfinished, N);
  for (guint i = 0; i < report->n_unfinished; i++)
    CU_ASSERT_PTR_NOT_NULL (
        strstr (report->unfinished[i].message, "stage 'double'"));
  hass_report_free (report);
  /* cores compute what is too large for the device */
  c.plans[0].memory_bytes = 15;
  CU_ASSERT_TRUE (run (&c, &seen, &report, NULL));
  CU_ASSERT_EQUAL (seen.on_cores, N);
  hass_report_free (report);
}

/* A token of "double" takes 24 bytes, and with the output of "add" before it
   more than 30. */
static void
too_large_when_fused (void)
{
  for (guint cpu = 0; cpu < 2; cpu++)
    {
      HassReport *report = NULL;
      expect_all (
          &(Case){ .plans
                   = { { .depth = 2, .max_fused = 1, .memory_bytes = 30 } },
                   .n_devices = 1,
                   .cpu = cpu > 0,
                   .tokens = 200 },
          &report);
      CU_ASSERT_EQUAL (report->n_unfinished, 0);
      CU_ASSERT_FALSE (report->devices[1].lost);
      hass_report_free (report);
    }
}

HASS_TEST_SUITE (
    pipeline_devices,
    { "stages run on a device one by one or fused, order and bytes hold",
      alone_and_fused },
    { "progress counts tokens that have left the pipeline", progress },
    { "devices and cores share a stage", beside_cores },
    { "the bounds on tokens and bytes let devices go on", bounded },
    { "a strategy's bound on the tokens of a stage on cores holds",
      bounded_cores },
    { "bundles that fail and devices that are lost lose no token", faults },
    { "a stage that no device is left for ends the pipeline with its name",
      nobody_left },
    { "what does not fit into a device is cut, given to cores, or fails",
      memory },
    { "what does not fit with several stages at once passes one at a time",
      too_large_when_fused })

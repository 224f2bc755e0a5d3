/* SPDX-License-Identifier: MIT */
/* test_pipeline_pure.c: tokens of pure stages that a second device begins
   again: the first result counts, the other is dropped, loads stay until both
   are done. test_pipeline_storm.c has faults and many tokens.
   Thread safety: single-threaded. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N 40
/* Longer than a token takes to leave the pipeline. */
#define TAG_MS 200

/* -- A strategy: cores first, the device begins again ------------------- */

/* A token, and whether a core computes it. */
static gint64 wanted;
static _Atomic gboolean at_wanted;

/* Cores compute what is ready; meanwhile the device begins again what they
   hold. */
static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  (void)force;
  if (env->devices[device].kind != HASS_DEVICE_GPU)
    {
      serve->at_once[env->n_classes - 2] = 1;
      return HASS_TAKE;
    }
  serve->again = at_wanted && state->held.units > 0;
  serve->within_ns = 1000000;
  return serve->again ? HASS_TAKE : HASS_WAIT;
}

static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                     .name = "test-pure",
                                     .summary = "a test",
                                     .source = "a test",
                                     .farms = HASS_FARM_PIPELINE,
                                     .create = trial_env,
                                     .serve = serve };

/* -- A pipeline: each byte of a token plus 1, on a core or on the device -- */

/* @slow: the core computes token @wanted for as long as it is needed, and the
   device at once; else the device waits until the core is through with it.
   @loops: in a loop over all cores. @fails: the core then fails. @tagged: an
   earlier stage gives each token a tag of its own, @tags[seq], and the core
   computes token @wanted for TAG_MS at most. @on_gpu, @on_core: what has
   computed it. @trace: a file, or NULL.
   @out, @released: of each token. @seen: at the end, in order. */
typedef struct
{
  gboolean slow, loops, fails, tagged;
  HassErrorPolicy on_error;
  const char *trace;
  _Atomic gboolean tags[N];
  _Atomic gboolean on_gpu, on_core, past;
  guint8 in[N], out[N];
  _Atomic guint released[N];
  guint seen;
  _Atomic gboolean early;
} Run;

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Run *run = data;
  run->on_gpu = TRUE;
  while (!run->slow && !run->past)
    g_thread_yield ();
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *b = &bundle->blocks[i];
      run->early |= run->released[b->seq] > 0;
      guint64 in = bundle->offsets ? bundle->offsets[i] : 0;
      guint64 out = bundle->output_offsets ? bundle->output_offsets[i] : 0;
      bundle->output[out] = (guint8)(bundle->input[in] + 1);
    }
}

STAND_IN_WORKER (on_gpu, kernel)

static gboolean
give_tag (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  (void)worker, (void)error;
  run->tags[token->seq] = TRUE;
  token->tag = (gpointer)&run->tags[token->seq];
  return TRUE;
}

static void
free_tag (gpointer tag, gpointer data)
{
  _Atomic gboolean *is_there = tag;
  (void)data;
  CU_ASSERT_TRUE (*is_there);
  *is_there = FALSE;
}

/* A loop's body: computes until it learns that the token is not needed. */
static gboolean
until_overtaken (gsize first, gsize count, HassWorker *worker, gpointer data,
                 GError **error)
{
  const Run *run = data;
  gint64 until = g_get_monotonic_time () + TAG_MS * 1000;
  (void)first, (void)count, (void)error;
  while (!hass_worker_stopping (worker)
         && !(run->tagged && g_get_monotonic_time () > until))
    g_thread_yield ();
  return TRUE;
}

static gboolean
on_core (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  *token->output = (guint8)(*token->input + 1);
  if ((gint64)token->seq != wanted)
    return TRUE;
  at_wanted = TRUE;
  if (run->slow && run->loops)
    hass_worker_parallel_for (worker, 2, 1, until_overtaken, run, NULL);
  else if (run->slow)
    until_overtaken (0, 1, worker, run, NULL);
  while (!run->slow && !run->on_gpu)
    g_thread_yield ();
  at_wanted = FALSE;
  run->on_core = TRUE;
  run->early |= token->tag && !*(_Atomic gboolean *)token->tag;
  if (run->slow) /* what is dropped is not seen */
    *token->output = 0;
  if (!run->fails)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "on purpose");
  return FALSE;
}

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *run = data;
  (void)worker, (void)error;
  run->out[token->seq] = *token->input;
  run->seen += token->seq >= run->seen;
  run->past |= (gint64)token->seq >= wanted;
  return TRUE;
}

static void
released (const HassLoad *load, gboolean committed, gpointer data)
{
  Run *run = data;
  guint at = (guint)((const guint8 *)load->input - run->in);
  run->past |= !committed;
  run->released[at]++;
}

/* Returns: whether the pipeline succeeded; @report gets its report. */
static gboolean
go (Run *run, HassReport **report, GError **error)
{
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  HassLoad loads[N];
  const HassStage stages[] = {
    HASS_STAGE (.name = "tag", .cpu = give_tag),
    HASS_STAGE (.name = "add", .cpu = on_core, .gpu = on_gpu, .output_bytes = 1,
                .pure = TRUE),
    HASS_STAGE (.name = "sink", .mode = HASS_STAGE_ORDERED, .cpu = sink),
  };
  for (guint i = 0; i < N; i++)
    {
      run->in[i] = (guint8)(3 * i);
      loads[i] = (HassLoad){ .input = &run->in[i], .input_bytes = 1 };
    }
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.user_data = run;
  p.stages = run->tagged ? stages : stages + 1;
  p.n_stages = run->tagged ? 3 : 2;
  p.tag_free = free_tag;
  p.release = released;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.n_cores = 2;
  p.run.strategy = ops.name;
  p.run.on_error = run->on_error;
  p.run.trace = run->trace;
  hass_strategy_register (&ops, NULL); /* once is enough */
  at_wanted = FALSE;
  watchdog (30, "a token that is begun again");
  gboolean ok = hass_pipeline (&p, report, error);
  watchdog (0, NULL);
  stand_in_free (device);
  for (guint i = 0; i < N; i++)
    CU_ASSERT_EQUAL (run->released[i], 1);
  CU_ASSERT_FALSE (run->early);
  CU_ASSERT_TRUE ((run->on_gpu || run->tagged) && run->on_core);
  return ok;
}

static void
expect_all (const Run *run, const HassReport *report)
{
  CU_ASSERT_EQUAL (run->seen, N);
  for (guint i = 0; i < N; i++)
    CU_ASSERT_EQUAL (run->out[i], (guint8)(3 * i + 1));
  CU_ASSERT_EQUAL (report->stages[0].tokens, N);
  CU_ASSERT_EQUAL (report->stages[0].bytes, N);
  CU_ASSERT_TRUE (report->stages[0].again > 0);
  CU_ASSERT_EQUAL (report->n_unfinished, 0);
}

/* -- Tests -------------------------------------------------------------- */

/* Without it the core would hold the token for ever: the watchdog would bark.
   It is the first token, one in the middle, or the last. */
static void
overtake (gboolean loops)
{
  for (guint i = 0; i < 3; i++)
    {
      Run run = { .slow = TRUE, .loops = loops };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      wanted = i * (N - 1) / 2;
      CU_ASSERT_TRUE (go (&run, &report, &error));
      expect_all (&run, report);
      CU_ASSERT_TRUE (report->stages[0].overtaken > 0);
      g_autofree char *text = hass_report_to_string (report);
      g_autofree char *line = g_strdup_printf (
          "stage 'add': %" G_GUINT64_FORMAT " tokens were begun again on "
          "another device, which was done with %" G_GUINT64_FORMAT
          " of them first",
          report->stages[0].again, report->stages[0].overtaken);
      CU_ASSERT_PTR_NOT_NULL (strstr (text, line));
    }
}

static void
device_overtakes_core (void)
{
  overtake (FALSE);
}

static void
device_overtakes_loop (void)
{
  overtake (TRUE);
}

/* The device is done when the token is past the sink: its load must have stayed
   until then. */
static void
core_is_first (void)
{
  for (guint i = 0; i < 3; i++)
    {
      Run run = { .slow = FALSE };
      g_autoptr (HassReport) report = NULL;
      g_autoptr (GError) error = NULL;
      wanted = i * (N - 1) / 2;
      CU_ASSERT_TRUE (go (&run, &report, &error));
      expect_all (&run, report);
    }
}

/* A core that fails with a token which the device has computed meanwhile has
   not failed, and none of its tokens goes on. */
static void
failure_too_late (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  Run run = { .slow = TRUE, .fails = TRUE, .trace = path };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  wanted = 7;
  CU_ASSERT_TRUE (go (&run, &report, &error));
  expect_all (&run, report);
  CU_ASSERT_TRUE (g_file_get_contents (path, &text, NULL, NULL));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "\"first\":7,\"tokens\":0}"));
  unlink (path);
}

/* A later stage may free a tag that an earlier one has hung on a token; so the
   core is left alone with a token that owns one. */
static void
own_tag (void)
{
  Run run = { .slow = TRUE, .tagged = TRUE };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  wanted = 7;
  CU_ASSERT_TRUE (go (&run, &report, &error));
  CU_ASSERT_EQUAL (run.seen, N);
  CU_ASSERT_EQUAL (report->stages[1].again, 0);
  for (guint i = 0; i < N; i++)
    CU_ASSERT_FALSE (run.tags[i]);
}

/* A core that fails first decides: the token has failed, and is listed once. */
static void
failure_first (void)
{
  Run run = { .fails = TRUE, .on_error = HASS_ON_ERROR_CONTINUE };
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  wanted = 7;
  CU_ASSERT_TRUE (go (&run, &report, &error));
  CU_ASSERT_EQUAL (run.out[7], 0);
  CU_ASSERT_EQUAL (report->n_unfinished, 1);
  CU_ASSERT_EQUAL (report->unfinished[0].seq, 7);
}

HASS_TEST_SUITE (pipeline_pure,
                 { "a device overtakes a core, which learns that it is not "
                   "needed",
                   device_overtakes_core },
                 { "so does the body of a loop over all cores",
                   device_overtakes_loop },
                 { "a core that is first has the token; its load stays for the "
                   "device",
                   core_is_first },
                 { "a failure that comes too late is none", failure_too_late },
                 { "a failure that comes first counts once", failure_first },
                 { "a token that owns a tag is not begun again", own_tag })

/* SPDX-License-Identifier: MIT */
/* test_pipeline_contract.c: random pipelines, each of them held to its plan:
   every token passes every stage once, in the promised order, with the right
   bytes; stages do not overlap themselves; bounds hold at every moment; each
   load is released once, and what is unfinished is listed.

   DESIGN. plan.h says what a plan is. TEST_FARMS is the number of plans,
   TEST_SEED the seed of the first one, the next have the next seeds. A plan
   depends on its seed alone, but for the threads' timing. A plan that hangs
   ends the program, with its seed.

   Thread safety: one thread beside those of the pipelines. */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#include "hass_test.h"
#include "plan.h"
#include "tests/engine/trial.h"
#include "tests/trials.h"

#define PATIENCE_S 60
#define MOST_WRONG 10 /* then it is enough */
#define PIPELINES TRIALS (5000, 600, 300)

/* What has happened in all. */
typedef struct
{
  guint64 whole, failed, stopped, loads, calls, parts, by_device;
} Tally;

/* -- Checks ------------------------------------------------------------- */

/* The calls of a stage that runs one at a time: all, or some of them in order
   if the pipeline was stopped. */
static void
check_order (Plan *plan, const PlanStage *stage, gboolean stopped)
{
  gboolean in_order
      = stage->mode == HASS_STAGE_ORDERED || stage->mode == HASS_STAGE_CALLER;
  guint at = 0;
  if (!in_order)
    return;
  for (guint i = 0; i < stage->seen->len; i++)
    {
      gpointer node = g_ptr_array_index (stage->seen, i);
      while (stopped && at < stage->order->len
             && g_ptr_array_index (stage->order, at) != node)
        at++;
      if (at == stage->order->len
          || g_ptr_array_index (stage->order, at) != node)
        {
          plan_blame (plan, "stage %u: call %u is out of order", stage->index,
                      i);
          return;
        }
      at++;
    }
}

static void
check_stage (Plan *plan, const PlanStage *stage, gboolean stopped)
{
  guint calls = stage->calls + stage->by_device;
  if (!stopped && calls != stage->order->len)
    plan_blame (plan, "stage %u had %u calls in place of %u", stage->index,
                calls, stage->order->len);
  if (stage->inside != 0)
    plan_blame (plan, "stage %u is still running", stage->index);
  if (stage->reduce && stage->sum != stage->good)
    plan_blame (plan, "stage %u: the sum is %u in place of %u", stage->index,
                (guint)stage->sum, stage->good);
  check_order (plan, stage, stopped);
}

/* Does the message name the error and a stage in which the load fails? */
static gboolean
names_failure (const PlanLoad *load, const char *message)
{
  gboolean named = FALSE;
  for (guint i = 0; message && i < PLAN_STAGES; i++)
    {
      char name[8];
      g_snprintf (name, sizeof name, "'s%u'", i);
      named |= (load->fails_in >> i & 1) && strstr (message, name);
    }
  return named && strstr (message, "as planned");
}

static void
check_load (Plan *plan, const PlanLoad *load, const char *message,
            gboolean listed, gboolean stopped)
{
  guint index = load->root->load;
  if (load->released != (guint)load->accepted)
    plan_blame (plan, "load %u was released %u times", index, load->released);
  if (!load->accepted)
    return;
  if (load->committed
      && (load->steps_done != load->n_steps || load->fails_in != 0))
    plan_blame (plan, "load %u was committed, but %u of %u steps are done",
                index, load->steps_done, load->n_steps);
  if (load->committed == listed)
    plan_blame (plan, "load %u is committed %d and unfinished %d", index,
                load->committed, listed);
  if (!stopped && listed != (load->fails_in != 0))
    plan_blame (plan, "load %u is unfinished %d", index, listed);
  if (!stopped && listed && !names_failure (load, message))
    plan_blame (plan, "load %u is listed without its stage and error: %s",
                index, message ? message : "NULL");
}

static void
check_loads (Plan *plan, const HassReport *report, gboolean stopped)
{
  g_autofree const char **messages = g_new0 (const char *, plan->n_loads + 1);
  g_autofree guint8 *listed = g_malloc0 (plan->n_loads + 1);
  guint n_accepted = 0;
  for (guint i = 0; i < report->n_unfinished; i++)
    for (guint64 k = 0; k < report->unfinished[i].n_loads; k++)
      {
        guint64 seq = report->unfinished[i].seq + k;
        if (seq >= plan->n_loads || listed[seq]++)
          {
            plan_blame (plan, "load %u is listed wrongly", (guint)seq);
            return;
          }
        messages[seq] = report->unfinished[i].message;
      }
  for (guint i = 0; i < plan->n_loads; i++)
    {
      n_accepted += plan->loads[i].accepted;
      check_load (plan, &plan->loads[i], messages[i], listed[i], stopped);
    }
  if (report->loads != n_accepted)
    plan_blame (plan, "%u loads were accepted, the report has %u", n_accepted,
                (guint)report->loads);
}

/* Does the pipeline end as it may? Sets @stopped if it was stopped. */
static void
check_end (Plan *plan, gboolean ok, const GError *error, gboolean *stopped)
{
  gboolean fails = FALSE;
  for (guint i = 0; i < plan->n_loads; i++)
    fails |= plan->loads[i].fails_in != 0;
  *stopped = !ok;
  if (ok != (error == NULL))
    plan_blame (plan, "an error and success");
  else if (ok && fails && plan->on_error == HASS_ON_ERROR_STOP)
    plan_blame (plan, "the pipeline should have failed");
  else if (!ok
           && !(g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED)
                && g_cancellable_is_cancelled (plan->cancellable))
           && !(g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE)
                && plan->deadline_ms > 0)
           && !(g_error_matches (error, G_IO_ERROR, G_IO_ERROR_FAILED) && fails
                && plan->on_error == HASS_ON_ERROR_STOP
                && strstr (error->message, "as planned"))
           && !(strstr (error->message, "no device is left")
                && plan_may_lack_device (plan)))
    plan_blame (plan, "failed: %s", error->message);
}

/* -- Running ------------------------------------------------------------ */

static HassPipeline
pipeline_of (Plan *plan, HassStage *stages, char names[][8], HassLoad *array)
{
  HassPipeline p = HASS_PIPELINE_INIT;
  for (guint i = 0; i < plan->n_stages; i++)
    {
      PlanStage *s = &plan->stages[i];
      g_snprintf (names[i], 8, "s%u", i);
      stages[i] = (HassStage)HASS_STAGE (.name = names[i], .mode = s->mode,
                                         .cpu = act_stage, .user_data = s,
                                         .at_once = s->at_once,
                                         .output_bytes = s->output_bytes,
                                         .output_ratio = s->output_ratio,
                                         .bundle_wait_us = s->bundle_wait_us);
      if (s->linked)
        stages[i].gpu = act_bundle;
      if (s->gpu_only)
        stages[i].cpu = NULL;
      if (s->reduce)
        {
          stages[i].reduce = act_reduce;
          stages[i].accumulator = &s->sum;
          stages[i].accumulator_bytes = sizeof s->sum;
        }
    }
  for (guint i = 0; i < plan->n_array; i++)
    {
      array[i] = act_load (plan->loads[i].root);
      plan->loads[i].accepted = TRUE;
    }
  p.name = "plan";
  p.user_data = plan;
  p.stages = stages;
  p.n_stages = plan->n_stages;
  p.loads = array;
  p.n_loads = plan->n_array;
  p.generate = act_generate;
  p.release = act_release;
  p.tokens = plan->tokens;
  p.token_bytes = plan->token_bytes;
  p.run.n_cores = plan->n_cores;
  p.run.n_gpus = -1;
  p.run.strategy = plan->strategy;
  p.run.devices = plan->devices;
  p.run.n_devices = plan->n_devices;
  p.run.on_error = plan->on_error;
  p.run.cancellable = plan->cancellable;
  p.run.deadline_ms = plan->deadline_ms;
  return p;
}

/* FALSE: something was wrong, and has been told. */
static gboolean
run_plan (guint64 seed, Tally *tally)
{
  Plan *plan = plan_new (seed);
  HassStage stages[PLAN_STAGES];
  char names[PLAN_STAGES][8];
  g_autofree HassLoad *array = g_new0 (HassLoad, plan->n_array + 1);
  HassPipeline p = pipeline_of (plan, stages, names, array);
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  gboolean stopped;
  plan->caller = g_thread_self ();
  watchdog (PATIENCE_S, plan->text);
  gboolean ok = hass_pipeline (&p, &report, &error);
  watchdog (0, NULL);
  check_end (plan, ok, error, &stopped);
  for (guint i = 0; i < plan->n_loads; i++)
    if (plan->loads[i].committed || !stopped)
      plan_finish (plan, plan->loads[i].root);
  for (guint i = 0; i < plan->n_stages; i++)
    check_stage (plan, &plan->stages[i], stopped);
  if (report)
    {
      check_loads (plan, report, stopped);
      for (guint i = 0; i < plan->n_stages && !stopped; i++)
        if (report->stages[i].tokens != plan->stages[i].order->len)
          plan_blame (plan, "stage %u: %u tokens are reported in place of %u",
                      i, (guint)report->stages[i].tokens,
                      plan->stages[i].order->len);
    }
  else
    plan_blame (plan, "there is no report");
  if (!stopped && plan->in_flight >> 40 != 0)
    plan_blame (plan, "loads are still in flight");
  tally->loads += report ? report->loads : 0;
  tally->calls += plan->n_calls;
  tally->stopped += stopped;
  tally->whole += report && report->n_unfinished == 0;
  tally->failed += !stopped && report && report->n_unfinished > 0;
  for (guint i = 0; i < plan->n_stages; i++)
    tally->by_device += plan->stages[i].by_device;
  for (guint i = 0; i < plan->n_devices; i++)
    if (stand_in_counts (plan->devices[i]).wrong)
      plan_blame (plan, "device %u: %s", i,
                  stand_in_counts (plan->devices[i]).wrong);
  tally->parts += plan->nodes->len - plan->n_loads;
  if (plan->n_wrong > 0)
    g_printerr ("\n    %s\n    %s", plan->text, plan->wrong);
  gboolean right = plan->n_wrong == 0;
  plan_free (plan);
  return right;
}

static guint64
from_environment (const char *name, guint64 preset)
{
  const char *text = g_getenv (name);
  return text && *text ? g_ascii_strtoull (text, NULL, 0) : preset;
}

static void
contract (void)
{
  guint64 n = from_environment ("TEST_FARMS", PIPELINES);
  guint64 first = from_environment ("TEST_SEED", 1);
  guint n_wrong = 0;
  Tally tally = { 0 };
  guint64 seed;
  for (seed = first; seed < first + n && n_wrong < MOST_WRONG; seed++)
    n_wrong += !run_plan (seed, &tally);
  printf ("\n    seeds %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
          ": %" G_GUINT64_FORMAT " pipelines whole, %" G_GUINT64_FORMAT
          " with failures, %" G_GUINT64_FORMAT " stopped; %" G_GUINT64_FORMAT
          " loads, %" G_GUINT64_FORMAT " parts, %" G_GUINT64_FORMAT
          " calls on cores, %" G_GUINT64_FORMAT " on devices ",
          first, seed - 1, tally.whole, tally.failed, tally.stopped,
          tally.loads, tally.parts, tally.calls, tally.by_device);
  fflush (stdout);
  CU_ASSERT_EQUAL (n_wrong, 0);
  CU_ASSERT_TRUE (n < PIPELINES
                  || (tally.whole > 0 && tally.failed > 0 && tally.stopped > 0
                      && tally.parts > 0 && tally.by_device > 0));
}

HASS_TEST_SUITE (pipeline_contract,
                 { "random pipelines keep to their plans", contract })

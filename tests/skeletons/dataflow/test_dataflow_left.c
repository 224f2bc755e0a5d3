/* SPDX-License-Identifier: MIT */
/* test_dataflow_left.c: a strategy that has every worker leave the tasks that
   wait ends the dataflow, and one that only has them leave until something
   happens does not.
   Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>
#include <string.h>

#include "device_flow.h"
#include "tests/engine/trial.h"
#include "tests/engine/virtual/virtual_flow.h"

#define N_BLOCKS 20

typedef enum
{
  TAKES,
  LEAVES,            /* every task */
  LEAVES_BOTH,       /* tasks that cores can compute */
  CORES_LEAVE,       /* every task */
  CORES_WAIT,        /* a core takes what is at home, devices as LEAVES_BOTH */
  LEAVES_TILL_URGENT /* until a task with a priority was seen */
} Mood;

static struct
{
  _Atomic Mood mood;
  _Atomic gboolean urgent;
  _Atomic guint asked; /* a mask of workers */
} moody;

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  gboolean leaves = FALSE;
  (void)self, (void)state, (void)verdict;
  if (task->priority > 0)
    moody.urgent = TRUE;
  atomic_fetch_or (&moody.asked, 1u << (worker + 1));
  switch (moody.mood)
    {
    case LEAVES:
      leaves = TRUE;
      break;
    case LEAVES_BOTH:
      leaves = task->cores;
      break;
    case CORES_LEAVE:
      leaves = worker == HASS_FLOW_CORES;
      break;
    case CORES_WAIT:
      if (worker == HASS_FLOW_CORES)
        return HASS_FLOW_IF_HOME;
      leaves = task->cores;
      break;
    case LEAVES_TILL_URGENT:
      leaves = !moody.urgent;
      break;
    default:
      break;
    }
  return leaves ? HASS_FLOW_LEAVE : HASS_FLOW_TAKE;
}

static void
set_mood (Mood mood)
{
  static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                       .name = "test-moody",
                                       .summary = "leaves tasks as it likes",
                                       .source = "test",
                                       .farms = HASS_FARM_DATAFLOW,
                                       .create = trial_env,
                                       .suits = suits };
  if (!hass_strategy_find (ops.name, NULL))
    CU_ASSERT_TRUE (hass_strategy_register (&ops, NULL));
  moody.mood = mood;
  moody.urgent = FALSE;
  moody.asked = 0;
}

/* -- Dataflows ---------------------------------------------------------- */

static Block blocks[N_BLOCKS], another;

static gboolean
slow_grow (const HassCall *call, HassWorker *worker, GError **error)
{
  g_usleep (2000);
  return grow_on_core (call, worker, error);
}

static const HassCodelet grow_slowly
    = HASS_CODELET (.name = "grow slowly", .cpu = slow_grow);

/* What is done with each block: codelets, up to the first NULL. @waits: the
   build callback waits for all. @urgent: it submits a task with a priority when
   cores and devices have been asked. */
typedef struct
{
  const HassCodelet *steps[3];
  gboolean waits, urgent;
} Course;

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  const Course *course = user_data;
  const HassTaskHints hints = { .priority = 1 };
  (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    {
      HassData *d = block_data (graph, &blocks[i]);
      for (const HassCodelet *const *c = course->steps; *c; c++)
        submit_grow (graph, *c, d);
    }
  if (course->waits)
    CU_ASSERT_FALSE (hass_graph_wait (graph, NULL));
  if (!course->urgent)
    return TRUE;
  while (moody.asked != 7)
    g_usleep (100);
  return hass_graph_task (
      graph, &grow_both,
      &(HassAccess){ block_data (graph, &another), HASS_UPDATE }, 1, &hints);
}

/* Runs it on devices, each with a thread if @threads. */
static gboolean
run (DeviceFlow *flow, const Course *course, guint threads, GError **error)
{
  guint n_cores = flow->n_cores, calls = flow->calls;
  DeviceFlow begun = device_flow_begin ("left", 2, blocks, N_BLOCKS);
  memcpy (begun.plans, flow->plans, sizeof begun.plans);
  begun.n_cores = n_cores;
  begun.calls = calls;
  begun.retries = flow->retries;
  begun.bind = flow->bind;
  begun.deadline_ms = 60000; /* a hang is not the error that is expected */
  for (guint i = 0; i < 2; i++)
    {
      begun.plans[i].threads = threads;
      begun.plans[i].delay_us = threads > 0 ? 500 : 0;
    }
  g_setenv ("HASS_STRATEGY", "test-moody", TRUE);
  gboolean ok = device_flow_run (&begun, build, (gpointer)course, error);
  g_unsetenv ("HASS_STRATEGY");
  g_clear_pointer (&begun.report, hass_report_free);
  *flow = begun;
  return ok;
}

static gboolean
all_are (guint64 version)
{
  for (guint i = 0; i < N_BLOCKS; i++)
    if (!block_is (&blocks[i], version))
      return FALSE;
  return TRUE;
}

/* Asserts that the strategy ends the dataflow after @version steps of each
   block, and that the error names what waits. */
static void
must_end (const Course *course, guint64 version)
{
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (GError) error = NULL;
      DeviceFlow flow = { .n_cores = i & 1 ? 3 : 1 };
      CU_ASSERT_FALSE (run (&flow, course, i >> 1, &error));
      g_autofree char *codelet
          = g_strdup_printf ("of codelet '%s'", course->steps[version]->name);
      gboolean ok = g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                    && strstr (error->message, "strategy \"test-moody\" ")
                    && strstr (error->message, "(20)")
                    && strstr (error->message, codelet);
      CU_ASSERT_TRUE (ok);
      if (!ok)
        g_printerr ("\n    %u: %s\n", i, error ? error->message : "ran");
      CU_ASSERT_TRUE (all_are (version));
    }
}

/* Asserts that the dataflow is computed, @steps of each block. */
static void
must_run (DeviceFlow plan, const Course *course, guint64 steps)
{
  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (GError) error = NULL;
      DeviceFlow flow = plan;
      block_init (&another, 0);
      moody.urgent = FALSE;
      moody.asked = 0;
      flow.n_cores = i & 1 ? 3 : MAX (plan.n_cores, 1);
      CU_ASSERT_TRUE (run (&flow, course, i >> 1, &error));
      if (error)
        g_printerr ("\n    %u: %s\n", i, error->message);
      CU_ASSERT_TRUE (all_are (steps));
      CU_ASSERT_TRUE (block_is (&another, course->urgent));
    }
}

/* -- Ends --------------------------------------------------------------- */

static void
at_once (void)
{
  set_mood (LEAVES);
  must_end (&(Course){ .steps = { &grow_both } }, 0);
  must_end (&(Course){ .steps = { &grow_alone } }, 0);
  must_end (&(Course){ .steps = { &grow_both }, .waits = TRUE }, 0);
}

static void
after_devices (void)
{
  set_mood (LEAVES_BOTH);
  must_end (&(Course){ .steps = { &grow_alone, &grow_both } }, 1);
}

static void
after_cores (void)
{
  set_mood (LEAVES_BOTH);
  must_end (&(Course){ .steps = { &grow_slowly, &grow_both } }, 1);
}

static void
take_now (HassRecorded *recorded, guint call, gpointer user_data)
{
  (void)recorded, (void)call, (void)user_data;
  moody.mood = TAKES;
}

static void
runs_again (void)
{
  g_autoptr (GError) error = NULL;
  const Course course = { .steps = { &grow_both } };
  DeviceFlow flow
      = { .n_cores = 2, .calls = 2, .retries = TRUE, .bind = take_now };
  set_mood (LEAVES);
  CU_ASSERT_TRUE (run (&flow, &course, 1, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY));
  CU_ASSERT_TRUE (all_are (1));
}

/* -- No ends ------------------------------------------------------------ */

static void
build_goes_on (void)
{
  set_mood (LEAVES_TILL_URGENT);
  must_run ((DeviceFlow){ .n_cores = 2 },
            &(Course){ .steps = { &grow_both }, .urgent = TRUE }, 1);
}

static void
data_come_home (void)
{
  set_mood (CORES_WAIT);
  must_run ((DeviceFlow){ .n_cores = 1 },
            &(Course){ .steps = { &grow_alone, &grow_both } }, 2);
}

static void
devices_open (void)
{
  DeviceFlow slow
      = { .plans = { { .opening_ns = 30000000 }, { .opening_ns = 60000000 } } };
  DeviceFlow failing
      = { .plans = { { .fail_open = TRUE }, { .fail_open = TRUE } } };
  set_mood (CORES_LEAVE);
  must_run (slow, &(Course){ .steps = { &grow_both, &grow_both } }, 2);
  must_run (failing, &(Course){ .steps = { &grow_both } }, 1);
}

static void
devices_are_lost (void)
{
  DeviceFlow flow = { .plans = { { .lose_at = 5 }, { .lose_at_call = 9 } } };
  set_mood (CORES_LEAVE);
  must_run (flow, &(Course){ .steps = { &grow_both, &grow_both } }, 2);
}

/* -- On a modelled machine ---------------------------------------------- */

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static const HassCodelet modelled_both
    = HASS_CODELET (.name = "both", .cpu = virtual_flow_count, .gpu = on_gpu);
static const HassCodelet modelled_alone
    = HASS_CODELET (.name = "alone", .gpu = on_gpu);

static guint8 bytes[1000];

static gboolean
submit_alone_both (HassGraph *graph, gpointer data, GError **error)
{
  HassData *d = hass_graph_data (graph, bytes, sizeof bytes, 1, 0);
  (void)data, (void)error;
  virtual_flow_submit (graph, &modelled_alone, d, HASS_UPDATE, 30);
  virtual_flow_submit (graph, &modelled_both, d, HASS_UPDATE, 30);
  return TRUE;
}

static gboolean
run_modelled (Mood mood, GError **error)
{
  VirtualFlow flow
      = { .n_cores = 2, .n_gpus = 2, .dry = TRUE, .strategy = "test-moody" };
  set_mood (mood);
  gboolean ok = virtual_flow_run (&flow, submit_alone_both, error);
  hass_report_free (flow.report);
  return ok;
}

static void
modelled (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (run_modelled (LEAVES_BOTH, &error));
  CU_ASSERT_TRUE (
      g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
      && strstr (error->message, "(1)")
      && strstr (error->message, "the first is task 1 of codelet 'both'"));
  CU_ASSERT_TRUE (run_modelled (CORES_WAIT, NULL));
  CU_ASSERT_TRUE (run_modelled (CORES_LEAVE, NULL));
}

HASS_TEST_SUITE (
    dataflow_left,
    { "a strategy by which every worker leaves each task ends the dataflow",
      at_once },
    { "so does one that leaves what waits when devices are through",
      after_devices },
    { "and one that leaves what waits when cores are through", after_cores },
    { "a recorded graph runs again after that", runs_again },
    { "but not while the build callback may submit what changes its mind",
      build_goes_on },
    { "nor while data come home for a core that waits for them",
      data_come_home },
    { "nor while a device opens that takes the tasks, or fails to",
      devices_open },
    { "nor if the devices that take them are lost: cores compute the tasks",
      devices_are_lost },
    { "a modelled machine gives the same error, which names the first task",
      modelled })

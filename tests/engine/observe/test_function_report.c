/* SPDX-License-Identifier: MIT */
/* test_function_report.c: what a function farm's report says of the functions
   that its tasks call.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "hass/hass.h"
#include "hass/strategy.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define N_TASKS 90
#define N_FUNCTIONS 3
#define BYTES 8
#define SPIN_US 50
#define H200 HASS_TOP "/doc/platforms/h200.platform"

/* -- Functions ---------------------------------------------------------- */

static atomic_uint n_calls, n_spins;

static gboolean
quick (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)task, (void)worker, (void)data, (void)error;
  atomic_fetch_add (&n_calls, 1);
  return TRUE;
}

static gboolean
spin (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  gint64 until = g_get_monotonic_time () + SPIN_US;
  while (g_get_monotonic_time () < until)
    ;
  atomic_fetch_add (&n_spins, 1);
  return quick (task, worker, data, error);
}

static gboolean
fail (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  (void)quick (task, worker, data, error);
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "as it should");
  return FALSE;
}

/* Emits a task of a function that other tasks call, too, and one of another. */
static gboolean
emit (const HassTask *task, HassWorker *worker, gpointer data, GError **error)
{
  const HassTask known = { .cpu = quick }, other = { .cpu = spin };
  return hass_worker_emit_task (worker, &known)
         && hass_worker_emit_task (worker, &other)
         && quick (task, worker, data, error);
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)bundle, (void)data;
}

STAND_IN_WORKER (gpu, kernel)

/* -- A strategy by which cores pull several units at a time --------------- */

static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *grant)
{
  (void)self, (void)round, (void)force;
  grant->chunk = 10;
  return device == 0 ? HASS_TAKE : HASS_DONE;
}

static void
destroy (gpointer self)
{
  (void)self;
}

static const HassStrategyOps ops
    = { .struct_size = sizeof ops,
        .name = "pulls-several",
        .summary = "has the cores alone pull, ten units at a time",
        .farms = HASS_FARM_ANY,
        .create = trial_env,
        .grant = grant,
        .destroy = destroy };

/* -- Farms -------------------------------------------------------------- */

static gboolean
generate (HassEmitter *emitter, gpointer tasks, GError **error)
{
  (void)error;
  for (guint i = 0; i < N_TASKS; i++)
    if (!hass_emitter_emit_task (emitter, (const HassTask *)tasks + i))
      return FALSE;
  return TRUE;
}

/* Runs tasks of these functions in turn, known at the beginning unless there is
   a generator. */
static HassReport *
run (HassFunctionFarm *f, const HassTask *functions, guint n_functions)
{
  static const guint8 input[BYTES];
  HassTask tasks[N_TASKS];
  HassReport *report = NULL;
  gboolean fails = FALSE;
  for (guint i = 0; i < N_TASKS; i++)
    {
      fails |= functions[i % n_functions].cpu == fail;
      tasks[i] = functions[i % n_functions];
      tasks[i].input = input;
      tasks[i].input_bytes = BYTES;
      tasks[i].expected_time = 1;
    }
  f->user_data = tasks;
  f->tasks = f->generate ? NULL : tasks;
  f->n_tasks = f->generate ? 0 : N_TASKS;
  f->run.n_cores = 2;
  atomic_store (&n_calls, 0);
  atomic_store (&n_spins, 0);
  watchdog (20, "a report of functions");
  gboolean ok = hass_function_farm (f, &report, NULL);
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (ok, !fails || f->run.on_error == HASS_ON_ERROR_CONTINUE);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  return report;
}

static HassReport *
run_on_cores (const HassTask *functions, guint n_functions)
{
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  f.run.platform = "";
  return run (&f, functions, n_functions);
}

/* Runs tasks of which a core pulls several at a time. As it would pull those
   that only cores can run one by one, there is a device, which gets none. */
static HassReport *
run_in_pulls (HassErrorPolicy on_error, const HassTask *functions,
              guint n_functions)
{
  StandInPlan plan = { .depth = 1 };
  HassDevice *device = stand_in_new (&plan);
  HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
  hass_strategy_register (&ops, NULL); /* or it is there already */
  f.run.platform = "";
  f.run.strategy = ops.name;
  f.run.on_error = on_error;
  f.run.devices = &device;
  f.run.n_devices = 1;
  HassReport *report = run (&f, functions, n_functions);
  stand_in_free (device);
  return report;
}

static gboolean
near (double a, double b)
{
  return fabs (a - b) <= 1e-6 * MAX (fabs (a), fabs (b)) + 1e-12;
}

/* All functions together have done what all devices have. @failed: tasks that
   the devices' units do not contain. */
static void
check_sums (const HassReport *r, guint64 failed)
{
  guint64 tokens = 0, units = 0, bytes = 0;
  double cores = 0, devices = 0, used = 0;
  for (guint i = 0; i < r->n_stages; i++)
    {
      const HassStageReport *s = &r->stages[i];
      CU_ASSERT_STRING_EQUAL (s->mode, "function");
      CU_ASSERT_TRUE (s->batches > 0 && s->batches <= s->tokens);
      tokens += s->tokens;
      bytes += s->bytes;
      cores += s->busy_s;
      devices += s->device_s;
      used += s->utilisation;
    }
  for (guint d = 0; d < r->n_devices; d++)
    {
      gboolean cpu = r->devices[d].kind == HASS_DEVICE_CPU;
      units += r->devices[d].units;
      *(cpu ? &cores : &devices)
          -= r->devices[d].busy_s * (cpu ? r->devices[d].cores : 1);
    }
  /* live makespans go on until the farm has returned */
  double busy_s = r->devices[0].busy_s;
  CU_ASSERT_TRUE (used >= 0.999999 * busy_s / r->makespan_s);
  CU_ASSERT_TRUE (!r->virtual_time || near (used, busy_s / r->makespan_s));
  CU_ASSERT_EQUAL (tokens, units + failed);
  CU_ASSERT_EQUAL (bytes, r->bytes);
  CU_ASSERT_TRUE (near (cores + r->makespan_s, r->makespan_s));
  CU_ASSERT_TRUE (near (devices + r->makespan_s, r->makespan_s));
}

/* Live beside a device, and in virtual time; live one function is for the
   device alone. */
static void
beside_a_device (void)
{
  StandInPlan plan = { .depth = 2 };
  for (guint i = 0; i < 4; i++)
    {
      guint live = i % 2;
      const HassTask functions[]
          = { { .cpu = quick },
              { .cpu = quick, .gpu = gpu, .parallelism = 100 },
              { .cpu = live ? NULL : quick, .gpu = gpu, .gpu_function = 1 } };
      HassDevice *device = live ? stand_in_new (&plan) : NULL;
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      f.generate = i < 2 ? NULL : generate;
      f.run.platform = live ? "" : H200;
      f.run.devices = device ? &device : NULL;
      f.run.n_devices = live;
      g_autoptr (HassReport) r = run (&f, functions, N_FUNCTIONS);
      CU_ASSERT_EQUAL_FATAL (r->n_stages, N_FUNCTIONS);
      for (guint k = 0; k < N_FUNCTIONS; k++)
        CU_ASSERT_EQUAL (r->stages[k].tokens, N_TASKS / N_FUNCTIONS);
      check_sums (r, 0);
      CU_ASSERT_STRING_EQUAL (r->stages[0].name, "like task 0");
      CU_ASSERT_STRING_EQUAL (r->stages[1].name, "like task 1, gpu_function 0");
      CU_ASSERT_STRING_EQUAL (r->stages[2].name, "like task 2, gpu_function 1");
      CU_ASSERT_TRUE (r->stages[0].busy_s > 0);
      CU_ASSERT_TRUE (r->stages[0].device_s == 0);
      if (live)
        CU_ASSERT_TRUE (r->stages[2].busy_s == 0 && r->stages[2].device_s > 0);
      if (device)
        stand_in_free (device);
    }
}

/* Both functions are in the same pulls; the time that one of them spins is a
   lower bound of its time by its own clock, which counts whole us. */
static void
times (void)
{
  const HassTask functions[]
      = { { .cpu = quick, .gpu = gpu }, { .cpu = spin, .gpu = gpu } };
  g_autoptr (HassReport) r = run_in_pulls (HASS_ON_ERROR_STOP, functions, 2);
  CU_ASSERT_EQUAL_FATAL (r->n_stages, 2);
  check_sums (r, 0);
  CU_ASSERT_TRUE (r->stages[0].batches + r->stages[1].batches
                  > r->devices[0].bundles);
  CU_ASSERT_TRUE (r->stages[1].busy_s >= 1e-6 * (SPIN_US - 1) * (N_TASKS / 2));
}

static void
emitted (void)
{
  const HassTask functions[] = { { .cpu = emit }, { .cpu = quick } };
  g_autoptr (HassReport) r = run_on_cores (functions, 2);
  CU_ASSERT_EQUAL_FATAL (r->n_stages, 3);
  check_sums (r, 0);
  CU_ASSERT_EQUAL (r->stages[0].tokens, N_TASKS / 2);
  CU_ASSERT_EQUAL (r->stages[1].tokens, N_TASKS);
  CU_ASSERT_EQUAL (r->stages[2].tokens, N_TASKS / 2);
  CU_ASSERT_EQUAL (atomic_load (&n_spins), N_TASKS / 2);
  CU_ASSERT_STRING_EQUAL (r->stages[2].name, "other tasks");
}

/* The farm stops in the midst of a pull: tasks that were not called are not
   counted. */
static void
stopped (void)
{
  const HassTask functions[]
      = { { .cpu = quick, .gpu = gpu }, { .cpu = fail, .gpu = gpu } };
  const HassErrorPolicy policies[]
      = { HASS_ON_ERROR_STOP, HASS_ON_ERROR_CONTINUE };
  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      g_autoptr (HassReport) r = run_in_pulls (policies[i], functions, 2);
      CU_ASSERT_EQUAL_FATAL (r->n_stages, 2);
      CU_ASSERT_EQUAL (r->stages[0].tokens + r->stages[1].tokens,
                       atomic_load (&n_calls));
      check_sums (r, r->stages[1].tokens);
    }
}

static void
texts (void)
{
  const HassTask functions[] = { { .cpu = quick }, { .cpu = spin } };
  g_autoptr (HassReport) r = run_on_cores (functions, 2);
  g_autofree char *table = hass_report_to_string (r);
  g_autofree char *json = hass_report_to_json (r);
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_PTR_NOT_NULL (strstr (table, "\nfunction "));
  CU_ASSERT_PTR_NOT_NULL (strstr (table, "\nlike task 1 "));
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, json, -1, NULL));
  JsonObject *object = json_node_get_object (json_parser_get_root (parser));
  CU_ASSERT_FALSE (json_object_has_member (object, "most_tokens"));
  CU_ASSERT_FALSE (json_object_has_member (object, "binding"));
  JsonArray *stages = json_object_get_array_member (object, "stages");
  CU_ASSERT_PTR_NOT_NULL_FATAL (stages);
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (stages), 2);
  JsonObject *one = json_array_get_object_element (stages, 1);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (one, "name"),
                          "like task 1");
  CU_ASSERT_EQUAL (json_object_get_int_member (one, "tokens"), N_TASKS / 2);
}

static void
one (void)
{
  const HassTask function = { .cpu = quick };
  g_autoptr (HassReport) r = run_on_cores (&function, 1);
  g_autofree char *table = hass_report_to_string (r);
  g_autofree char *json = hass_report_to_json (r);
  CU_ASSERT_EQUAL (r->n_stages, 0);
  CU_ASSERT_PTR_NULL (r->stages);
  CU_ASSERT_PTR_NULL (strstr (table, "function "));
  CU_ASSERT_PTR_NULL (strstr (json, "\"stages\""));
}

static void
too_many (void)
{
  HassTask functions[HASS_MOST_FUNCTIONS + 2];
  for (guint k = 0; k < G_N_ELEMENTS (functions); k++)
    functions[k] = (HassTask){ .cpu = quick, .gpu_function = k };
  g_autoptr (HassReport) r = run_on_cores (functions, G_N_ELEMENTS (functions));
  CU_ASSERT_EQUAL_FATAL (r->n_stages, HASS_MOST_FUNCTIONS + 1);
  check_sums (r, 0);
  const HassStageReport *others = &r->stages[HASS_MOST_FUNCTIONS];
  CU_ASSERT_STRING_EQUAL (others->name, "other tasks");
  CU_ASSERT_EQUAL (others->tokens, 2 * (N_TASKS / G_N_ELEMENTS (functions)));
}

HASS_TEST_SUITE (report_functions,
                 { "functions together did what all devices did, live and in "
                   "virtual time",
                   beside_a_device },
                 { "a function has the time of its own tasks", times },
                 { "emitted tasks count to their functions", emitted },
                 { "a farm that fails counts the tasks that were called",
                   stopped },
                 { "the table and the JSON show functions", texts },
                 { "one function is not shown", one },
                 { "functions that are too many are shown together", too_many })

/* SPDX-License-Identifier: MIT */
/* test_growth.c: tables and farms of programs that were built with an older or
   a newer header than the library.

   Each is the head of a larger struct, as a newer header would have it: bytes
   behind the known ones are whatever that version says.

   Thread safety: one thread. */
#include <stddef.h>
#include <string.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

#define NEWER_BYTES 64 /* that a newer header appends */

static gboolean
count (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)error;
  if (data)
    __atomic_fetch_add ((guint *)data, 1, __ATOMIC_RELAXED);
  return TRUE;
}

/* Is @error of this code, and does it say all these words? Clears it. */
static gboolean
says (GError **error, HassError code, const char *const *words)
{
  gboolean right = g_error_matches (*error, HASS_ERROR, code);
  for (; right && *words; words++)
    right = strstr ((*error)->message, *words) != NULL;
  if (!right)
    g_printerr ("\n    got: %s", *error ? (*error)->message : "success");
  g_clear_error (error);
  return right;
}

#define SAYS(error, ...)                                                       \
  says (error, HASS_ERROR_INVALID, (const char *[]){ __VA_ARGS__, NULL })

/* A size as messages have it; valid until the fourth call after. */
static const char *
number (gsize n)
{
  static char text[4][24];
  static guint turn;
  char *t = text[turn++ % 4];
  g_snprintf (t, sizeof text[0], "%zu", n);
  return t;
}

/* -- Farms -------------------------------------------------------------- */

static HassLoad loads[100];

typedef struct
{
  HassDataFarm farm;
  guint8 newer[NEWER_BYTES];
} NewerFarm;

static void
data_farm (NewerFarm *f, guint *n)
{
  memset (f, 0, sizeof *f);
  f->farm.struct_size = sizeof (HassDataFarm);
  f->farm.user_data = n;
  f->farm.loads = loads;
  f->farm.n_loads = G_N_ELEMENTS (loads);
  f->farm.cpu_worker = count;
  *n = 0;
}

static gboolean
run (const NewerFarm *f, GError **error)
{
  watchdog (20, "a farm of another version");
  gboolean ok = hass_data_farm_combine (&f->farm, NULL, error);
  watchdog (0, NULL);
  return ok;
}

static void
data_farms (void)
{
  NewerFarm f;
  guint n;
  GError *error = NULL;
  const gsize least = offsetof (HassDataFarm, gpu_worker);
  for (gsize size = least; size <= sizeof f; size += sizeof (gpointer))
    {
      data_farm (&f, &n);
      f.farm.struct_size = size;
      /* What is behind the struct is not the program's. */
      memset ((guint8 *)&f + size, 0xff, sizeof f - size);
      CU_ASSERT_TRUE (run (&f, NULL));
      CU_ASSERT_EQUAL (n, 100);
    }
  for (guint i = 0; i < NEWER_BYTES; i++)
    {
      data_farm (&f, &n);
      f.farm.struct_size = sizeof f;
      f.newer[i] = 1;
      CU_ASSERT_FALSE (run (&f, &error));
      CU_ASSERT_TRUE (SAYS (&error, "HassDataFarm", number (sizeof f),
                            number (sizeof (HassDataFarm)),
                            number (sizeof (HassDataFarm) + i)));
      CU_ASSERT_EQUAL (n, 0);
    }
  const gsize wrong[] = { 0, 1, 8, least - 8, least + 1, 4104, G_MAXSIZE };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      data_farm (&f, &n);
      f.farm.struct_size = wrong[i];
      CU_ASSERT_FALSE (run (&f, &error));
      CU_ASSERT_TRUE (SAYS (&error, "HassDataFarm.struct_size is",
                            number (wrong[i]), number (sizeof (HassDataFarm)),
                            number (least)));
    }
  CU_ASSERT_FALSE (hass_data_farm_combine (NULL, NULL, &error));
  CU_ASSERT_TRUE (SAYS (&error, "HassDataFarm is NULL"));
}

static gboolean
task_cpu (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  (void)task, (void)worker, (void)error;
  __atomic_fetch_add ((guint *)data, 1, __ATOMIC_RELAXED);
  return TRUE;
}

static void
function_farms (void)
{
  struct
  {
    HassFunctionFarm farm;
    guint8 newer[NEWER_BYTES];
  } f;
  HassTask task = { .cpu = task_cpu };
  guint n = 0;
  GError *error = NULL;
  memset (&f, 0xff, sizeof f);
  f.farm.struct_size = offsetof (HassFunctionFarm, collect);
  f.farm.name = "older";
  f.farm.user_data = &n;
  f.farm.generate = NULL;
  f.farm.tasks = &task;
  f.farm.n_tasks = 1;
  CU_ASSERT_TRUE (hass_function_farm (&f.farm, NULL, NULL));
  CU_ASSERT_EQUAL (n, 1);
  f.farm.struct_size -= sizeof (gpointer);
  CU_ASSERT_FALSE (hass_function_farm (&f.farm, NULL, &error));
  CU_ASSERT_TRUE (SAYS (&error, "HassFunctionFarm.struct_size"));
  memset (&f.farm.collect, 0, sizeof f - offsetof (HassFunctionFarm, collect));
  f.farm.struct_size = sizeof f;
  CU_ASSERT_TRUE (hass_function_farm (&f.farm, NULL, NULL));
  CU_ASSERT_EQUAL (n, 2);
  f.newer[NEWER_BYTES - 1] = 1;
  CU_ASSERT_FALSE (hass_function_farm (&f.farm, NULL, &error));
  CU_ASSERT_TRUE (
      SAYS (&error, number (sizeof f), number (sizeof (HassFunctionFarm))));
}

/* -- Strategies --------------------------------------------------------- */

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)env, (void)error;
  return NULL;
}

static HassAnswer
from_front (gpointer self, HassRound *round, guint device, gboolean force,
            HassGrant *grant)
{
  (void)self, (void)force;
  grant->source = HASS_FROM_FRONT;
  return hass_round_waiting (round) + hass_round_exclusive (round, device) > 0
             ? HASS_TAKE
             : HASS_DONE;
}

typedef struct
{
  HassStrategyOps ops;
  guint8 newer[NEWER_BYTES];
} NewerStrategy;

/* All that may be left out is no valid pointer. */
static void
strategy (NewerStrategy *s, const char *name, gsize size)
{
  memset (s, 0xff, sizeof *s);
  s->ops.struct_size = size;
  s->ops.name = name;
  s->ops.summary = s->ops.source = "test";
  s->ops.farms = HASS_FARM_ANY;
  s->ops.parameters = NULL;
  s->ops.create = create;
  s->ops.begin_round = NULL;
  s->ops.grant = from_front;
}

static gboolean
serves (const char *name)
{
  NewerFarm f;
  guint n;
  data_farm (&f, &n);
  f.farm.run.strategy = name;
  return run (&f, NULL) && n == 100;
}

static void
strategies (void)
{
  NewerStrategy s;
  GError *error = NULL;
  const gsize least = offsetof (HassStrategyOps, granted);
  strategy (&s, "growth-older", least);
  CU_ASSERT_TRUE (hass_strategy_register (&s.ops, NULL));
  memset (&s, 0xff, sizeof s); /* the library has its own copy */
  CU_ASSERT_TRUE (serves ("growth-older"));
  strategy (&s, "growth-newer", sizeof s);
  memset ((guint8 *)&s + least, 0, sizeof s - least);
  CU_ASSERT_TRUE (hass_strategy_register (&s.ops, NULL));
  CU_ASSERT_TRUE (serves ("growth-newer"));
  s.ops.name = "growth-unknown";
  s.newer[3] = 1;
  CU_ASSERT_FALSE (hass_strategy_register (&s.ops, &error));
  CU_ASSERT_TRUE (SAYS (&error, "HassStrategyOps", number (sizeof s),
                        number (sizeof (HassStrategyOps)),
                        number (sizeof (HassStrategyOps) + 3)));
  strategy (&s, "growth-short", least - sizeof (gpointer));
  CU_ASSERT_FALSE (hass_strategy_register (&s.ops, &error));
  CU_ASSERT_TRUE (SAYS (&error, "HassStrategyOps", number (least)));
  CU_ASSERT_PTR_NULL (hass_strategy_find ("growth-unknown", NULL));
  CU_ASSERT_FALSE (hass_strategy_register (NULL, &error));
  CU_ASSERT_TRUE (SAYS (&error, "HassStrategyOps is NULL"));
}

/* -- Devices ------------------------------------------------------------ */

typedef struct
{
  HassDeviceOps ops;
  guint8 newer[NEWER_BYTES];
} NewerDevice;

static void
count_blocks (const HassBundle *bundle, gpointer data)
{
  __atomic_fetch_add ((guint *)data, (guint)bundle->n_blocks, __ATOMIC_RELAXED);
}

STAND_IN_WORKER (gpu, count_blocks)

/* Runs a farm on a stand-in that has this table in place of its own. */
static gboolean
run_on (NewerDevice *table, GError **error)
{
  StandInPlan plan = { .name = "stand-in" };
  HassDevice *device = stand_in_new (&plan);
  const HassDeviceOps *own = device->ops;
  NewerFarm f;
  guint n;
  data_farm (&f, &n);
  f.farm.cpu_worker = NULL;
  f.farm.gpu_worker = gpu;
  f.farm.run.devices = &device;
  f.farm.run.n_devices = 1;
  if (table)
    device->ops = &table->ops;
  gboolean ok = run (&f, error);
  device->ops = own;
  stand_in_free (device);
  CU_ASSERT_EQUAL (n, ok ? 100 : 0);
  return ok;
}

static NewerDevice
stand_in_table (gsize size)
{
  HassDevice *device = stand_in_new (&(StandInPlan){ 0 });
  NewerDevice table = { .ops = *device->ops };
  stand_in_free (device);
  memset ((guint8 *)&table + MIN (size, sizeof table.ops), 0xff,
          sizeof table - MIN (size, sizeof table.ops));
  table.ops.struct_size = size;
  return table;
}

static void
devices (void)
{
  GError *error = NULL;
  const gsize least = offsetof (HassDeviceOps, transfers);
  for (gsize size = least; size <= sizeof (HassDeviceOps);
       size += sizeof (gpointer))
    {
      NewerDevice table = stand_in_table (size);
      CU_ASSERT_TRUE (run_on (&table, NULL));
    }
  NewerDevice table = stand_in_table (sizeof table);
  memset (table.newer, 0, sizeof table.newer);
  CU_ASSERT_TRUE (run_on (&table, NULL));
  table.newer[7] = 1;
  CU_ASSERT_FALSE (run_on (&table, &error));
  CU_ASSERT_TRUE (SAYS (&error, "device 0 of 1", "HassDeviceOps",
                        number (sizeof table), number (sizeof table.ops),
                        number (sizeof table.ops + 7)));
  table = stand_in_table (least - sizeof (gpointer));
  CU_ASSERT_FALSE (run_on (&table, &error));
  CU_ASSERT_TRUE (SAYS (&error, "device 0 of 1", number (least)));
  table = stand_in_table (sizeof (HassDeviceOps));
  table.ops.wait = NULL;
  CU_ASSERT_FALSE (run_on (&table, &error));
  CU_ASSERT_TRUE (SAYS (&error, "device 0 of 1", "no wait"));
}

HASS_TEST_SUITE (growth,
                 { "a data farm of another version runs if it asks for nothing "
                   "unknown",
                   data_farms },
                 { "a function farm likewise", function_farms },
                 { "a strategy's table likewise", strategies },
                 { "a device's table likewise", devices })

/* SPDX-License-Identifier: MIT */
/* test_kinds.c: the registry of device kinds, and workers per kind.
   Thread safety: single-threaded. */
#include <stddef.h>
#include <string.h>

#include "device/kinds.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "pool/round_engine.h"
#include "tests/device/fake_machine.h"
#include "tests/engine/stand_in.h"

/* -- The registry ------------------------------------------------------- */

static HassDevice *stand_in; /* the kind's device */

static guint
count (gboolean exact)
{
  (void)exact;
  return stand_in ? 1 : 0;
}

static HassDevice *
create (guint index)
{
  (void)index;
  return stand_in;
}

static void
destroy (HassDevice *device)
{
  CU_ASSERT_PTR_EQUAL (device, stand_in);
}

/* A newer header appends bytes. */
typedef struct
{
  HassDeviceKindOps ops;
  guint8 newer[64];
} NewerKind;

static NewerKind
kind (const char *name)
{
  return (NewerKind){ .ops = { .struct_size = sizeof (HassDeviceKindOps),
                               .name = name,
                               .summary = "test",
                               .count = count,
                               .create = create,
                               .destroy = destroy } };
}

static void
refused (const NewerKind *k, const char *why)
{
  GError *error = NULL;
  CU_ASSERT_FALSE (hass_device_kind_register (&k->ops, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (error && strstr (error->message, why));
  g_clear_error (&error);
}

static void
malformed (void)
{
  NewerKind k = kind ("CUDA");
  refused (&k, "\"CUDA\" must be [a-z0-9-]+");
  k = kind ("cpu");
  refused (&k, "\"cpu\" must be");
  k = kind ("cuda");
  refused (&k, "\"cuda\" is already registered");
  k = kind ("none");
  k.ops.destroy = NULL;
  refused (&k, "lacks count, create or destroy");
  k = kind ("newer");
  k.ops.struct_size = sizeof k;
  k.newer[7] = 1;
  refused (&k, "newer version");
  k = kind ("older");
  k.ops.struct_size = offsetof (HassDeviceKindOps, destroy);
  refused (&k, "HassDeviceKindOps.struct_size");
  CU_ASSERT_EQUAL (hass_device_kind_find ("newer"), -1);
}

/* -- Workers per kind --------------------------------------------------- */

static void
kernel (const HassBundle *bundle, gpointer data)
{
  g_atomic_int_add ((gint *)data, (gint)bundle->n_blocks);
}

STAND_IN_WORKER (worker, kernel)

static gboolean
not_this_one (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  CU_FAIL ("a worker for another kind was called");
  return FALSE;
}

/* A farm of 100 loads for devices alone; units per device in @units. */
static gboolean
run (HassDataFarm *farm, guint64 units[2], GError **error)
{
  static const HassLoad loads[100] = { { .size = 1 } };
  HassReport *report = NULL;
  farm->loads = loads;
  farm->n_loads = 100;
  gboolean ok = hass_data_farm_indivisible (farm, &report, error);
  units[0] = units[1] = 0;
  for (guint d = 0; report && d < MIN (report->n_devices, 2); d++)
    units[d] = report->devices[d].units;
  hass_report_free (report);
  return ok;
}

static void
added (void)
{
  static NewerKind k;
  static const HassKindWorker workers[]
      = { { "registered", worker }, { "stand-in", worker }, { NULL, NULL } };
  guint n = 0;
  guint64 units[2];
  GError *error = NULL;
  /* GPUs of this machine would take part. */
  fake_machine_begin (&(FakePlan){ .device_count_code = FAKE_NO_DEVICE });
  stand_in = stand_in_new (&(StandInPlan){ .name = "machine0" });
  HassDevice *given = stand_in_new (&(StandInPlan){ .name = "given0" });
  HassDeviceOps ops = *stand_in->ops;
  const HassDeviceOps *before = stand_in->ops;
  ops.kind = "registered";
  stand_in->ops = &ops;
  k = kind ("registered");
  CU_ASSERT_TRUE (hass_device_kind_register (&k.ops, NULL));
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.user_data = &n;
  farm.workers = workers;
  farm.gpu_worker = not_this_one;
  farm.run.devices = &given;
  farm.run.n_devices = 1;
  farm.run.strategy = "static:cpu=0";
  CU_ASSERT_TRUE (run (&farm, units, &error));
  g_clear_error (&error);
  CU_ASSERT_EQUAL (units[0], 50);
  CU_ASSERT_EQUAL (units[1], 50);
  farm.run.n_gpus = -1; /* only what is given */
  CU_ASSERT_TRUE (run (&farm, units, &error));
  CU_ASSERT_EQUAL (units[0], 100);
  stand_in->ops = before;
  stand_in_free (stand_in);
  stand_in_free (given);
  stand_in = NULL;
  fake_machine_end ();
}

static void
twice (void)
{
  static const HassKindWorker cuda[] = { { "cuda", worker }, { NULL, NULL } };
  static const HassKindWorker none[] = { { "own", NULL }, { NULL, NULL } };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  guint64 units[2];
  GError *error = NULL;
  farm.gpu_worker = worker;
  farm.workers = cuda;
  CU_ASSERT_FALSE (run (&farm, units, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (error
                  && strstr (error->message, "kind \"cuda\" is given twice"));
  g_clear_error (&error);
  farm.workers = none;
  CU_ASSERT_FALSE (run (&farm, units, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "kind \"own\" is NULL"));
  g_clear_error (&error);
}

/* -- Ranges by mask ----------------------------------------------------- */

/* Which tasks each of three classes can run. */
static void
masks (void)
{
  enum
  {
    CPU,
    GPU,
    OWN
  };
  const HassDeviceTraits devices[]
      = { { .kind = HASS_DEVICE_CPU, .cores = 1 },
          { .kind = HASS_DEVICE_GPU },
          { .kind = HASS_DEVICE_GPU, .load_flag = HASS_LOAD_KIND (1) } };
  const guint flags[] = { HASS_LOAD_CPU, HASS_LOAD_GPU, HASS_LOAD_KIND (1) };
  HassLoad loads[16] = { { 0 } };
  HassRound *round = g_aligned_alloc0 (1, sizeof *round, HASS_CACHE_LINE);
  for (guint i = 1; i < 8; i++)
    for (guint c = 0; c < 3; c++)
      loads[i].flags |= i >> c & 1 ? flags[c] : 0;
  hass_round_init (round, 3, devices);
  for (guint c = 0; c < 3; c++)
    {
      HassSpan span = { .loads = loads + 1, .mask = 15, .n = 7 };
      hass_round_begin_loads (round, HASS_FARM_FUNCTION, HASS_COST_SIZED,
                              &span);
      hass_round_open (round);
      CU_ASSERT_EQUAL (hass_round_waiting (round), 1); /* the common one */
      CU_ASSERT_EQUAL (hass_round_exclusive (round, c), 3);
      HassExtent e;
      guint n = 0;
      gboolean alone = TRUE;
      while ((e = hass_round_take_any (round, c, 1)).n > 0)
        {
          guint i = (guint)(hass_round_load (round, e.first) - loads);
          CU_ASSERT_TRUE (i >> c & 1);
          CU_ASSERT_TRUE (n > 0 || i == 1u << c); /* its own come first */
          CU_ASSERT_EQUAL (hass_round_is_exclusive (round, e), i != 7);
          alone &= i != 7 || n == 3;
          if (i != 7)
            {
              hass_round_give_back (round, e);
              CU_ASSERT_EQUAL (hass_round_exclusive (round, c), 3 - n);
              e = hass_round_take_any (round, c, 1);
            }
          n++;
        }
      CU_ASSERT_TRUE (alone);
      CU_ASSERT_EQUAL (n, 4);
      CU_ASSERT_EQUAL (hass_round_waiting_anywhere (round), 3);
    }
  hass_round_clear (round);
  g_aligned_free (round);
}

HASS_TEST_SUITE (
    kinds,
    { "a malformed table of a kind is refused with the reason", malformed },
    { "a farm runs on given devices and on those of registered kinds, each "
      "with "
      "the worker of its kind",
      added },
    { "two workers for one kind, or none, are refused", twice },
    { "a class of devices takes the tasks that it can run and no others",
      masks })

/* SPDX-License-Identifier: MIT */
/* test_dataflow_profile.c: what dataflows leave in the profile store, and what
   the next run begins with.
   Thread safety: one thread beside those of the dataflows. */
#include <string.h>

#include "device_flow.h"
#include "engine/graph/graph-private.h"
#include "flow.h"
#include "tests/engine/profile/store_trial.h"

#define MS 1000000
#define NAPS 15 /* more than 10 ms on one core */
#define BLOCKS 40

/* What the library knows of the codelet "nap" when its first task begins, on
   the only core. */
typedef struct
{
  const HassCodelet *codelet;
  double work;    /* of each task */
  guint mean_ns;  /* (out) */
  gboolean noted; /* (out) */
  const HassGraph *graph;
} Naps;

/* Takes a little more than a millisecond. */
static gboolean
nap (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  Naps *n = call->n_views == 0 ? call->user_data : NULL;
  if (n && !n->noted)
    {
      const HassCodeletState *codelet
          = g_ptr_array_index (n->graph->codelets, 0);
      n->mean_ns = codelet->mean_ns;
      n->noted = TRUE;
    }
  g_usleep (1000);
  grow (call);
  return TRUE;
}

static const HassCodelet naps = HASS_CODELET (.name = "nap", .cpu = nap);
static const HassCodelet naps_or_grows
    = HASS_CODELET (.name = "nap", .cpu = nap, .gpu = grow_on_gpu);

static gboolean
build_naps (HassGraph *graph, gpointer user_data, GError **error)
{
  Naps *n = user_data;
  HassTaskHints hints = { .work = n->work };
  (void)error;
  n->graph = graph;
  for (guint i = 0; i < NAPS; i++)
    hass_graph_task (graph, n->codelet, NULL, 0, &hints);
  return TRUE;
}

static HassDataflow
naps_of (const char *name, Naps *n)
{
  HassDataflow d = flow_of (build_naps, n);
  d.name = name;
  d.run.n_cores = 1;
  return d;
}

/* Returns: the mean time of a task that is known at the beginning, in ms. */
static double
known_ms (const char *name, double work)
{
  Naps n = { .codelet = &naps, .work = work };
  HassDataflow d = naps_of (name, &n);
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
  return n.mean_ns * 1.0 / MS;
}

static void
stored (void)
{
  store_begin ();
  CU_ASSERT_EQUAL (known_ms ("flow", 0), 0);
  CU_ASSERT_TRUE (known_ms ("flow", 0) >= 1);
  CU_ASSERT_EQUAL (known_ms ("river", 0), 0);
  g_autoptr (GPtrArray) entries = hass_profile_list (NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (entries);
  CU_ASSERT_EQUAL_FATAL (entries->len, 2);
  const HassProfileEntry *e = entries->pdata[0];
  CU_ASSERT_TRUE (g_str_has_suffix (e->farm, "/flow/nap"));
  CU_ASSERT_EQUAL (e->kind, HASS_FARM_DATAFLOW);
  CU_ASSERT_STRING_EQUAL (e->device, "cpu");
  CU_ASSERT_EQUAL (e->runs, 2);
  CU_ASSERT_TRUE (e->work_per_ns[0] <= 1.0 / MS);
  store_end ();
}

static void
by_work (void)
{
  store_begin ();
  CU_ASSERT_EQUAL (known_ms ("flow", 300), 0);
  double as_long = known_ms ("flow", 300), longer = known_ms ("flow", 3000);
  CU_ASSERT_TRUE (as_long >= 1);
  CU_ASSERT_TRUE (longer > 5 * as_long && longer < 20 * as_long);
  CU_ASSERT_EQUAL (known_ms ("flow", 0), 0);
  store_end ();
}

/* Two codelets of one name: a sample of each in one entry. */
static gboolean
build_namesakes (HassGraph *graph, gpointer user_data, GError **error)
{
  Naps first = { .codelet = &naps }, second = { .codelet = &naps_or_grows };
  (void)user_data;
  return build_naps (graph, &first, error)
         && build_naps (graph, &second, error);
}

static void
namesakes (void)
{
  HassDataflow d = flow_of (build_namesakes, NULL);
  store_begin ();
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, NULL));
  g_autoptr (GPtrArray) entries = hass_profile_list (NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (entries);
  CU_ASSERT_EQUAL_FATAL (entries->len, 1);
  CU_ASSERT_EQUAL (((HassProfileEntry *)entries->pdata[0])->n_samples, 2);
  store_end ();
}

static void
recorded (void)
{
  Naps n = { .codelet = &naps };
  HassDataflow d = naps_of ("flow", &n);
  store_begin ();
  HassRecorded *r = hass_dataflow_record (&d, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
  hass_recorded_free (r);
  CU_ASSERT_TRUE (known_ms ("flow", 0) >= 1);
  store_end ();
}

static void
leaves_nothing (void)
{
  store_begin ();
  known_ms ("dataflow", 0);
  CU_ASSERT_FALSE (store_exists (""));
  g_setenv ("HASS_PROFILE", "off", TRUE);
  known_ms ("flow", 0);
  CU_ASSERT_FALSE (store_exists (""));
  store_end ();
}

/* -- Devices ------------------------------------------------------------ */

/* Opens the device, then submits too few tasks for a core to try one. */
static gboolean
build_blocks (HassGraph *graph, gpointer user_data, GError **error)
{
  Block *blocks = user_data;
  (void)error;
  submit_grow (graph, &grow_alone, block_data (graph, &blocks[BLOCKS]));
  hass_graph_wait (graph, NULL);
  for (guint i = 0; i < BLOCKS; i++)
    submit_grow (graph, &naps_or_grows, block_data (graph, &blocks[i]));
  return TRUE;
}

/* Returns: tasks that cores computed beside a device that takes longer. */
static guint64
by_cores (const char *name)
{
  Block blocks[BLOCKS + 1];
  DeviceFlow f = device_flow_begin (name, 1, blocks, BLOCKS + 1);
  f.plans[0].threads = 1;
  f.plans[0].delay_us = 20000;
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE_FATAL (device_flow_run (&f, build_blocks, blocks, &error));
  guint64 n = f.report->devices[0].units;
  for (guint i = 0; i <= BLOCKS; i++)
    CU_ASSERT_TRUE (block_is (&blocks[i], 1));
  hass_report_free (f.report);
  return n;
}

static void
cores_decide (void)
{
  store_begin ();
  CU_ASSERT_EQUAL (by_cores ("unknown"), 0);
  known_ms ("flow", 0);
  CU_ASSERT_TRUE (by_cores ("known") > 0);
  g_autoptr (GPtrArray) entries = hass_profile_list (NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (entries);
  gboolean device = FALSE;
  for (guint i = 0; i < entries->len; i++)
    {
      const HassProfileEntry *e = entries->pdata[i];
      device |= g_str_has_suffix (e->farm, "/flow/nap")
                && strcmp (e->device, "gpu0") == 0;
    }
  CU_ASSERT_TRUE (device);
  store_end ();
}

HASS_TEST_SUITE (
    dataflow_profile,
    { "a dataflow begins with its codelets' times of earlier runs", stored },
    { "times are kept for the work that hints say", by_work },
    { "codelets of one name share an entry", namesakes },
    { "a recorded graph stores its times, too", recorded },
    { "without a name or a store nothing is kept", leaves_nothing },
    { "cores help devices at once with tasks of a known time", cores_decide })

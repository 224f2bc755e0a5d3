/* SPDX-License-Identifier: MIT */
/* test_gpu_dataflow.c: dataflows lose nothing when a real GPU fails; skipped
   where there is no GPU.
   Thread safety: one test at a time. */
#include "hass_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpu_trial.h"
#include "kernels.h"

#define CHAINS 24
#define LENGTH 40 /* tasks of a chain */
#define BYTES 10000

/* What goes wrong in the middle of the chains. */
typedef enum
{
  NOTHING,
  ASSERT,
  HANG
} Fault;

typedef struct
{
  guint8 data[CHAINS][BYTES];
  const HassCodelet *codelet;
} Chains;

/* Calls on GPUs before the one that goes wrong, and what does. */
static _Atomic gint n_good;
static Fault fault;

static gboolean
add_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  guint8 what = *(const guint8 *)call->arguments, *bytes = call->views[0].data;
  (void)worker, (void)error;
  for (gsize i = 0; i < BYTES; i++)
    bytes[i] = (guint8)(bytes[i] + what);
  return TRUE;
}

static gboolean
add_on_gpu (const HassCall *calls, guint n, HassGpuStream *stream,
            GError **error)
{
  (void)error;
  for (guint i = 0; i < n; i++)
    {
      gboolean now = atomic_fetch_sub (&n_good, 1) == 0;
      if (now && fault == ASSERT)
        kernel_fail (stream);
      else if (now && fault == HANG)
        kernel_spin (stream, 4000);
      kernel_add_bytes (stream, calls[i].views[0].data, BYTES,
                        *(const guint8 *)calls[i].arguments);
    }
  return TRUE;
}

static const HassCodelet add
    = HASS_CODELET (.name = "add", .cpu = add_on_core, .gpu = add_on_gpu);
static const HassCodelet add_there
    = HASS_CODELET (.name = "add there", .gpu = add_on_gpu);

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Chains *c = user_data;
  HassData *data[CHAINS];
  (void)error;
  for (guint i = 0; i < CHAINS; i++)
    data[i] = hass_graph_data (graph, c->data[i], BYTES, 1, BYTES);
  for (guint8 l = 0; l < LENGTH; l++)
    for (guint i = 0; i < CHAINS; i++)
      hass_graph_task (
          graph, c->codelet, &(HassAccess){ data[i], HASS_UPDATE }, 1,
          &(HassTaskHints){ .arguments = &l, .argument_bytes = sizeof l });
  return TRUE;
}

/* Runs the chains. Returns: how many GPUs were lost. */
static guint
run (Chains *c, const HassCodelet *codelet, Fault what)
{
  const guint8 all = (guint8)(LENGTH * (LENGTH - 1) / 2);
  g_autoptr (GError) error = NULL;
  HassReport *r = NULL;
  HassDataflow d = HASS_DATAFLOW_INIT;
  guint n_lost = 0, wrong = 0;
  d.name = "chains";
  d.build = build;
  d.user_data = c;
  d.run.bundle_deadline_ms = what == HANG ? 300 : 0;
  c->codelet = codelet;
  memset (c->data, 0, sizeof c->data);
  fault = what;
  atomic_store (&n_good, CHAINS * LENGTH / 3);
  CU_ASSERT_TRUE_FATAL (hass_dataflow (&d, &r, &error));
  for (guint i = 0; i < CHAINS; i++)
    for (guint b = 0; b < BYTES; b++)
      wrong += c->data[i][b] != all;
  CU_ASSERT_EQUAL (wrong, 0);
  for (guint i = 0; i < r->n_devices; i++)
    {
      n_lost += r->devices[i].lost;
      if (r->devices[i].lost)
        fprintf (stderr, "(expected) %s: %s\n", r->devices[i].name,
                 r->devices[i].message);
    }
  hass_report_free (r);
  return n_lost;
}

static void
fault_child (void)
{
  const char *name = g_getenv ("TEST_GPU_FAULT");
  if (gpu_absent ())
    return;
  if (!name)
    {
      hass_test_skip ("runs as a child of gpu_dataflow");
      return;
    }
  Chains *c = g_new (Chains, 1);
  /* Starts the GPUs, or cores would be done before. */
  CU_ASSERT_EQUAL (run (c, &add_there, NOTHING), 0);
  CU_ASSERT_TRUE (run (c, &add, strcmp (name, "hang") ? ASSERT : HANG) > 0);
  CU_ASSERT_TRUE (atomic_load (&n_good) < 0);
  run (c, &add, NOTHING);
  g_free (c);
}

static void
survives_assert (void)
{
  gpu_in_child ("gpu_dataflow_child", "assert");
}

static void
survives_hang (void)
{
  gpu_in_child ("gpu_dataflow_child", "hang");
}

HASS_TEST_SUITE (gpu_dataflow,
                 { "a failed device assert in a dataflow loses nothing",
                   survives_assert },
                 { "a kernel past its deadline loses no task", survives_hang })

HASS_TEST_SUITE (gpu_dataflow_child,
                 { "a fault in a dataflow, in a process of its own",
                   fault_child })

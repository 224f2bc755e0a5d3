/* SPDX-License-Identifier: MIT */
/* test_dataflow_proxies.c: for which devices a dataflow starts proxy threads.
   Thread safety: one thread beside those of the dataflows. */
#include <string.h>

#include "device_flow.h"

#define TASKS 10

/* Returns: FALSE for threads of the CUDA runtime, which pinning memory may
   start where there is a GPU. */
static gboolean
is_named (const char *thread, const char *name)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/task/%s/comm", thread);
  g_autofree char *found = NULL;
  return g_file_get_contents (path, &found, NULL, NULL)
         && strcmp (found, name) == 0;
}

static guint
threads_of_process (void)
{
  GDir *dir = g_dir_open ("/proc/self/task", 0, NULL);
  g_autofree char *own = NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL (dir);
  CU_ASSERT_TRUE_FATAL (
      g_file_get_contents ("/proc/self/comm", &own, NULL, NULL));
  guint n = 0;
  const char *thread;
  while ((thread = g_dir_read_name (dir)))
    n += is_named (thread, own);
  g_dir_close (dir);
  return n;
}

typedef struct
{
  const HassCodelet *codelet;
  Block block;
  guint n_threads; /* (out): after the last task */
} Chain;

static gboolean
build_chain (HassGraph *graph, gpointer user_data, GError **error)
{
  Chain *c = user_data;
  HassData *data = block_data (graph, &c->block);
  (void)error;
  for (guint i = 0; i < TASKS; i++)
    {
      submit_grow (graph, c->codelet, data);
      hass_graph_wait (graph, data);
      c->n_threads = threads_of_process ();
    }
  return TRUE;
}

/* Runs a chain on devices of two kinds. @opened: [2] (out) Returns: threads
   that were made for it. */
static guint
run_chain (const HassCodelet *codelet, guint *opened)
{
  Chain c = { .codelet = codelet };
  DeviceFlow f = device_flow_begin ("proxies", 2, &c.block, 1);
  f.plans[0].kind = "abacus";
  guint before = threads_of_process ();
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE_FATAL (device_flow_run (&f, build_chain, &c, &error));
  CU_ASSERT_TRUE (block_is (&c.block, TASKS));
  for (guint i = 0; i < 2; i++)
    {
      const char *why = f.report->devices[1 + i].message;
      opened[i] = f.counts[i].opened;
      CU_ASSERT_TRUE (opened[i] > 0 || (why && strstr (why, "not started")));
    }
  hass_report_free (f.report);
  return c.n_threads - before;
}

static void
none_for_cores (void)
{
  guint opened[2];
  CU_ASSERT_EQUAL (run_chain (&grow_core, opened), 0);
  CU_ASSERT_EQUAL (opened[0] + opened[1], 0);
}

static const HassKindCodelet of_abacus[] = { { "abacus", grow_on_gpu }, { 0 } };
static const HassCodelet abacus
    = HASS_CODELET (.name = "abacus", .kinds = of_abacus);

static void
one_for_its_device (void)
{
  guint opened[2];
  /* none is made where an earlier farm of the process has left one */
  CU_ASSERT_TRUE (run_chain (&abacus, opened) <= 1);
  CU_ASSERT_EQUAL (opened[0], 1);
  CU_ASSERT_EQUAL (opened[1], 0);
}

/* -- Too many devices --------------------------------------------------- */

#define MOST 32 /* bits of a mask */

static gboolean
build_blocks (HassGraph *graph, gpointer user_data, GError **error)
{
  Block *blocks = user_data;
  (void)error;
  for (guint i = 0; i < DEVICE_FLOW_DEVICES; i++)
    submit_grow (graph, &grow_alone, block_data (graph, &blocks[i]));
  return TRUE;
}

static GString *warnings;

static void
hear (const char *text)
{
  g_string_append (warnings, text);
}

static void
the_first_of_many (void)
{
  Block blocks[DEVICE_FLOW_DEVICES];
  warnings = g_string_new (NULL);
  g_set_printerr_handler (hear);
  for (guint run = 0; run < 2; run++)
    {
      DeviceFlow f = device_flow_begin ("many", DEVICE_FLOW_DEVICES, blocks,
                                        DEVICE_FLOW_DEVICES);
      CU_ASSERT_TRUE_FATAL (device_flow_run (&f, build_blocks, blocks, NULL));
      for (guint i = 0; i < DEVICE_FLOW_DEVICES; i++)
        {
          const HassDeviceReport *r = &f.report->devices[1 + i];
          CU_ASSERT_TRUE (block_is (&blocks[i], 1));
          CU_ASSERT_EQUAL (f.counts[i].opened, i < MOST);
          CU_ASSERT_EQUAL (
              r->message && strstr (r->message, "32 of 40 devices"), i >= MOST);
        }
      hass_report_free (f.report);
    }
  g_set_printerr_handler (NULL);
  const char *first = strstr (warnings->str, "32 of 40 devices");
  CU_ASSERT_PTR_NOT_NULL_FATAL (first);
  CU_ASSERT_PTR_NULL (strstr (first + 1, "32 of 40 devices"));
  g_string_free (warnings, TRUE);
}

HASS_TEST_SUITE (dataflow_proxies,
                 { "a dataflow for cores alone starts no proxy thread",
                   none_for_cores },
                 { "a proxy thread is started for a device that has a function",
                   one_for_its_device },
                 { "devices beyond the 32nd do not participate, as a warning "
                   "says once",
                   the_first_of_many })

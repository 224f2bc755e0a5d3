/* SPDX-License-Identifier: MIT */
/* test_flow_disturb.c: hass-sim --dataflow with noise, a start, devices that
   get slower or are lost. Thread safety: one thread. */
#include <string.h>

#include "flow_program.h"
#include "hass_test.h"
#include "tests/program.h"

#define RUN "cholesky:8 -p h200x2 "

static double
makespan_ns (const char *words)
{
  g_autoptr (JsonNode) root = NULL;
  return flow_number (flow_object (words, &root), "makespan_ns");
}

static double
of_device (JsonObject *run, guint d, const char *member)
{
  JsonArray *devices = json_object_get_array_member (run, "devices");
  return flow_number (json_array_get_object_element (devices, d), member);
}

static gboolean
is_lost (JsonObject *run, guint d)
{
  JsonArray *devices = json_object_get_array_member (run, "devices");
  return json_object_get_boolean_member (
      json_array_get_object_element (devices, d), "lost");
}

/* That nothing disturbs runs as if there were no such options. */
static void
unchanged (void)
{
  static const char *const options[]
      = { "--slow gpu0:1:10us",  "--slow cpu:1:50%", "--noise 0",
          "--start 0",           "--lose gpu0:10s",  "--lose gpu0:1e300s",
          "--slow gpu1:9:1e300%" };
  g_autofree char *plain = flow_prints (RUN "--csv");
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    {
      g_autofree char *words = g_strconcat (RUN "--csv ", options[i], NULL);
      g_autofree char *out = flow_prints (words);
      CU_ASSERT_STRING_EQUAL (out, plain);
    }
}

/* A disturbed machine takes the strategy as an undisturbed one does. */
static void
named (void)
{
  g_autofree char *chosen = flow_prints (RUN "--csv");
  g_autofree char *plain = flow_prints (RUN "--csv -s flow-eager");
  g_autofree char *disturbed
      = flow_prints (RUN "--csv -s flow-eager --noise 0");
  CU_ASSERT_STRING_NOT_EQUAL (plain, chosen);
  CU_ASSERT_STRING_EQUAL (disturbed, plain);
  g_setenv ("HASS_STRATEGY", "auto,flow-eager", TRUE);
  g_autofree char *by_environment = flow_prints (RUN "--csv --noise 0");
  g_unsetenv ("HASS_STRATEGY");
  CU_ASSERT_STRING_EQUAL (by_environment, plain);
}

static void
lost (void)
{
  g_autoptr (JsonNode) root = NULL, before = NULL;
  JsonObject *sound = flow_object (RUN, &before);
  JsonObject *run = flow_object (RUN "--lose gpu0:40%", &root);
  double sum = 0;
  CU_ASSERT_TRUE (is_lost (run, 1) && !is_lost (run, 0) && !is_lost (run, 2));
  for (guint d = 0; d < 3; d++)
    sum += of_device (run, d, "tasks");
  CU_ASSERT_EQUAL (sum, flow_number (run, "tasks"));
  CU_ASSERT_TRUE (of_device (run, 1, "tasks") < of_device (sound, 1, "tasks"));
  CU_ASSERT_TRUE (of_device (run, 2, "tasks") > of_device (sound, 2, "tasks"));
  CU_ASSERT_TRUE (flow_number (run, "makespan_ns")
                  > flow_number (sound, "makespan_ns"));
  g_autofree char *table = flow_prints (RUN "--lose gpu0:40%");
  CU_ASSERT_PTR_NOT_NULL (strstr (table, "copied to it; lost\n  gpu1 "));
}

/* Without GPUs the cores compute all. */
static void
all_lost (void)
{
  g_autoptr (JsonNode) root = NULL;
  JsonObject *run = flow_object (RUN "--lose gpu0:1us --lose gpu1:0%", &root);
  CU_ASSERT_TRUE (is_lost (run, 1) && is_lost (run, 2));
  CU_ASSERT_EQUAL (of_device (run, 0, "tasks"), flow_number (run, "tasks"));
}

static void
slower (void)
{
  double ns = makespan_ns (RUN);
  double both = makespan_ns (RUN "--slow gpu0:3:0% --slow gpu1:3:0%");
  double late = makespan_ns (RUN "--slow gpu0:3:50% --slow gpu1:3:50%");
  CU_ASSERT_TRUE (ns < late && late < both);
  CU_ASSERT_TRUE (both < 3.2 * ns);
}

/* A part of the run is a time of the run without events. */
static void
parts (void)
{
  double ns = makespan_ns (RUN);
  g_autofree char *words
      = g_strdup_printf (RUN "--csv --lose gpu1:%.6fus", ns / 4 / 1e3);
  g_autofree char *at = flow_prints (words);
  g_autofree char *part = flow_prints (RUN "--csv --lose gpu1:25%");
  CU_ASSERT_STRING_EQUAL (part, at);
}

static void
noisy (void)
{
  double a = makespan_ns (RUN "--noise 0.2"), b = makespan_ns (RUN);
  CU_ASSERT_NOT_EQUAL (a, b);
  CU_ASSERT_EQUAL (a, makespan_ns (RUN "--noise 0.2"));
  CU_ASSERT_NOT_EQUAL (a, makespan_ns (RUN "--noise 0.2 --seed 2"));
}

/* Cores are at work while GPUs start. */
static void
started (void)
{
  double ns = makespan_ns ("forkjoin:200 -p h200x2 --start 30");
  CU_ASSERT_TRUE (ns > makespan_ns ("forkjoin:200 -p h200x2"));
  g_autoptr (JsonNode) root = NULL;
  JsonObject *run = flow_object ("forkjoin:200 -p h200x2 --start 1000", &root);
  CU_ASSERT_EQUAL (of_device (run, 0, "tasks"), 202);
}

static void
refused (void)
{
  static const struct
  {
    const char *more, *message;
  } bad[] = {
    { "--lose gpu0:1.5", "--lose gpu0:1.5: WHEN is a part of the run without "
                         "events (50%) or a time (3ms); there are no rounds" },
    { "--slow gpu0:2:3", "there are no rounds" },
    { "--slow gpu0:2", "DEVICE:FACTOR:WHEN is needed" },
    { "--slow gpu0:0.5:1ms", "FACTOR is a number from 1 to 1e6" },
    { "--lose gpu0", "DEVICE:WHEN is needed" },
    { "--lose gpu0:nan%", "WHEN is a part" },
    { "--lose gpu0:-1ms", "WHEN is a part" },
    { "--lose gpu9:1ms", "platform h200x2 has no such device; it has gpu0, "
                         "gpu1" },
    { "--lose cpu:1ms", "the CPU pool cannot be lost, only GPUs" },
    { "--noise 2", "--noise 2: a number from 0 to 1 is needed" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *words = g_strconcat (RUN, bad[i].more, NULL);
      flow_program_refuses (words, bad[i].message);
    }
}

HASS_TEST_SUITE (
    sim_flow_disturb,
    { "what does not disturb a dataflow leaves each of its figures",
      unchanged },
    { "a disturbed dataflow runs under the strategy that is named", named },
    { "others compute what a lost GPU should have, and the output says so",
      lost },
    { "cores compute all if all GPUs are lost", all_lost },
    { "GPUs that get slower take longer from then on", slower },
    { "a part of a dataflow is that part of its time without events", parts },
    { "noise comes from the seed", noisy },
    { "cores compute while GPUs start", started },
    { "malformed disturbances are refused, and rounds", refused })

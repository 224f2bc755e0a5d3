/* SPDX-License-Identifier: MIT */
/* test_modelled_gpu.c: a modelled GPU takes grants as a real one does: in the
   same parts as the stand-in for the CUDA runtime, after its start, with the
   host's copies and kernels side by side.
   Thread safety: one thread, beside the live engine's. */
#include <string.h>
#include <unistd.h>

#include "device/fake_machine.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/counting.h"
#include "tests/engine/trial.h"

#define GRANT 37
#define UNITS 300
#define UNIT_BYTES 5000
#define MEMORY "240K"

/* -- The same parts as on the stand-in ---------------------------------- */

typedef struct
{
  guint first, n;
} Extent;

/* What happened to a farm, without times. */
typedef struct
{
  Extent grants[64], parts[256];
  HassCompletion told[64];
  guint n_grants, n_parts, n_told;
  HassDeviceTraits gpu;
} Course;

static Course *course;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  course->gpu = env->devices[0];
  return (gpointer)env;
}

static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *g)
{
  (void)self, (void)round, (void)device, (void)force;
  g->source = HASS_FROM_BACK;
  g->units = GRANT;
  g->in_flight = 1;
  return HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  if (course->n_told < G_N_ELEMENTS (course->told))
    course->told[course->n_told++] = *done;
}

/* Extents in the order of a trace's lines of an event. */
static guint
extents (const char *trace, const char *event, Extent *to, guint most)
{
  g_autofree char *word = g_strdup_printf ("\"event\":\"%s\"", event);
  guint n = 0;
  for (const char *at = trace; n < most && (at = strstr (at, word)); at++)
    {
      const char *first = strstr (at, "\"first\":");
      CU_ASSERT_PTR_NOT_NULL_FATAL (first);
      n += sscanf (first, "\"first\":%u,\"units\":%u", &to[n].first, &to[n].n)
           == 2;
    }
  return n;
}

static gint
by_first (gconstpointer a, gconstpointer b)
{
  const Extent *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* Runs a farm on the GPU alone; @platform: "" for the stand-in. */
static void
run_course (Course *c, HassFarmKind kind, const char *platform)
{
  static const HassStrategyOps ops
      = { .struct_size = sizeof (HassStrategyOps),
          .name = "same-parts",
          .summary = "grants the same again, from the back",
          .source = "tests",
          .farms = HASS_FARM_COMBINE | HASS_FARM_PARTITION,
          .create = create,
          .grant = grant,
          .observe = observe };
  g_autofree guint8 *input = g_malloc0 (UNITS * UNIT_BYTES);
  g_autofree HassLoad *loads = g_new0 (HassLoad, UNITS);
  g_autofree char *path = trial_file (""), *trace = NULL;
  g_autoptr (GError) error = NULL;
  gboolean one = kind == HASS_FARM_PARTITION;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  hass_strategy_register (&ops, NULL);
  for (guint i = 0; i < UNITS; i++) /* of several sizes */
    loads[i] = (HassLoad){ .size = 10,
                           .input = input + i * UNIT_BYTES,
                           .input_bytes = UNIT_BYTES - i % 7 * 500 };
  if (one)
    loads[0] = (HassLoad){ .size = UNITS * 10,
                           .input = input,
                           .input_bytes = UNITS * UNIT_BYTES };
  *c = (Course){ .n_told = 0 };
  course = c;
  farm.name = "parts";
  farm.loads = loads;
  farm.n_loads = one ? 1 : UNITS;
  farm.cpu_worker = *platform ? counting_cpu_worker : NULL;
  farm.gpu_worker = counting_gpu_worker;
  farm.block_elements = one ? 10 : 0;
  farm.run.strategy = ops.name;
  farm.run.platform = platform;
  farm.run.trace = path;
  counting_reset ();
  watchdog (60, "a farm in parts");
  CU_ASSERT_TRUE (one ? hass_data_farm_partition (&farm, NULL, &error)
                      : hass_data_farm_combine (&farm, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  g_file_get_contents (path, &trace, NULL, NULL);
  unlink (path);
  c->n_grants = extents (trace, "grant", c->grants, G_N_ELEMENTS (c->grants));
  c->n_parts = extents (trace, "bundle", c->parts, G_N_ELEMENTS (c->parts));
  /* On the stand-in a part may come back before another one. */
  qsort (c->parts, c->n_parts, sizeof *c->parts, by_first);
}

/* A platform with a GPU that has the limits of the stand-in's. */
static char *
platform_like (const HassDeviceTraits *gpu)
{
  CU_ASSERT_TRUE (gpu->memory_bytes > 0 && gpu->part_bytes > 0);
  g_autofree char *text = g_strdup_printf (
      "[platform]\n[gpu0]\nmultiprocessors = 4\nwidth = 64\n"
      "work_per_us = 10\nh2d_gbps = 8\ndepth = %u\nstart_us = 20\n"
      "memory_bytes = %" G_GUINT64_FORMAT "\npart_bytes = %" G_GUINT64_FORMAT
      "\n",
      gpu->max_in_flight, gpu->memory_bytes, gpu->part_bytes);
  return trial_file (text);
}

static void
expect_same (const Course *live, const Course *modelled)
{
  CU_ASSERT_EQUAL (live->n_grants, (UNITS + GRANT - 1) / GRANT);
  CU_ASSERT_TRUE (live->n_parts > 2 * live->n_grants);
  CU_ASSERT_EQUAL (live->n_grants, modelled->n_grants);
  CU_ASSERT_EQUAL (live->n_parts, modelled->n_parts);
  CU_ASSERT_EQUAL_FATAL (live->n_told, modelled->n_told);
  CU_ASSERT_EQUAL (memcmp (live->grants, modelled->grants, sizeof live->grants),
                   0);
  CU_ASSERT_EQUAL (memcmp (live->parts, modelled->parts, sizeof live->parts),
                   0);
  for (guint i = 0; i < live->n_told; i++)
    {
      const HassCompletion *a = &live->told[i], *b = &modelled->told[i];
      CU_ASSERT_EQUAL (a->units, b->units);
      CU_ASSERT_EQUAL (a->work, b->work);
      CU_ASSERT_EQUAL (a->elements, b->elements);
      CU_ASSERT_EQUAL (a->bytes, b->bytes);
      CU_ASSERT_EQUAL (a->first_of_round, b->first_of_round);
      CU_ASSERT_FALSE (a->failed || b->failed);
    }
}

static void
same_parts_as_live (void)
{
  static const HassFarmKind kinds[]
      = { HASS_FARM_COMBINE, HASS_FARM_PARTITION };
  g_setenv ("HASS_GPU_MEM", MEMORY, TRUE);
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      Course live, modelled;
      fake_machine_begin (&(FakePlan){ .n_devices = 1 });
      run_course (&live, kinds[k], "");
      fake_machine_end ();
      g_autofree char *platform = platform_like (&live.gpu);
      run_course (&modelled, kinds[k], platform);
      unlink (platform);
      expect_same (&live, &modelled);
    }
  g_unsetenv ("HASS_GPU_MEM");
}

/* -- Start and host copies ---------------------------------------------- */

#define GPU                                                                    \
  "[gpu0]\nmultiprocessors = 1\nwidth = 1\nwork_per_us = 1\nlaunch_us = 1\n"   \
  "link_us = 1\nh2d_gbps = 8\ndepth = 2\n"
#define CPU "[cpu]\ncores = 1\nwork_per_us = 0.01\npull_us = 0\n"

static void
fill (HassLoad *loads, guint n, guint8 *bytes)
{
  for (guint i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = 1,
                           .input = bytes,
                           .input_bytes = 4000,
                           .output = bytes,
                           .output_bytes = 1000 };
}

/* Runs @n loads on a machine; returns its trace, or NULL. */
static char *
trace_of (const char *machine, const char *strategy, guint n, double *makespan)
{
  guint8 bytes[4000];
  g_autofree HassLoad *loads = g_new0 (HassLoad, n);
  g_autofree char *text = g_strconcat ("[platform]\n", machine, NULL);
  g_autofree char *platform = trial_file (text);
  g_autofree char *path = trial_file ("");
  char *trace = NULL;
  HassReport *report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  fill (loads, n, bytes);
  farm.name = "modelled";
  farm.loads = loads;
  farm.n_loads = n;
  farm.cpu_worker = counting_cpu_worker;
  farm.run.dry = TRUE;
  farm.run.strategy = strategy;
  farm.run.platform = platform;
  farm.run.trace = path;
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &report, NULL));
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  *makespan = report->makespan_s;
  for (guint d = 0; d < report->n_devices; d++)
    CU_ASSERT_TRUE (report->devices[d].kernel_s
                    <= report->devices[d].busy_s * 1.0001);
  hass_report_free (report);
  g_file_get_contents (path, &trace, NULL, NULL);
  unlink (platform);
  unlink (path);
  return trace;
}

static void
waits_for_its_start (void)
{
  double with_gpu, alone, late;
  g_autofree char *trace
      = trace_of (CPU GPU "start_us = 1000\n", "naive-greedy", 40, &with_gpu);
  const char *opened = strstr (trace, "{\"t\":1000000,\"event\":\"open\"");
  const char *bundle = strstr (trace, "\"event\":\"bundle\"");
  const char *pull = strstr (trace, "\"event\":\"pull\"");
  CU_ASSERT_TRUE (opened && bundle && opened < bundle);
  CU_ASSERT_TRUE (opened && pull && pull < opened);
  CU_ASSERT_PTR_NOT_NULL (strstr (bundle, "\"in\":[1000000,"));
  G_GNUC_UNUSED g_autofree char *cores
      = trace_of (CPU, "naive-greedy", 40, &alone);
  CU_ASSERT_TRUE (with_gpu > 1e-3 && with_gpu < alone);
  g_autofree char *never
      = trace_of (CPU GPU "start_us = 5000\n", "naive-greedy", 40, &late);
  CU_ASSERT_EQUAL (late, alone);
  CU_ASSERT_PTR_NULL (strstr (never, "\"event\":\"bundle\""));
}

/* 40 loads in one bundle: 160 KB in, 40 KB out, at 2 bytes a ns. */
static void
host_copies_take_time (void)
{
  double with, without;
  G_GNUC_UNUSED g_autofree char *a
      = trace_of (GPU "host_gbps = 2\n", "gpu-only", 40, &with);
  G_GNUC_UNUSED g_autofree char *b = trace_of (GPU, "gpu-only", 40, &without);
  CU_ASSERT_DOUBLE_EQUAL (with - without, 100e-6, 1e-9);
  CU_ASSERT_PTR_NOT_NULL (strstr (a, "\"in\":[80000,"));
  CU_ASSERT_PTR_NOT_NULL (strstr (b, "\"in\":[0,"));
}

/* Two parts: the second is gathered while the first is copied and computed. */
static void
the_host_serves_one_part_at_a_time (void)
{
  double makespan;
  g_autofree char *trace = trace_of (GPU "host_gbps = 2\npart_bytes = 100000\n",
                                     "gpu-only", 40, &makespan);
  const char *first = strstr (trace, "\"in\":[40000,");
  CU_ASSERT_PTR_NOT_NULL_FATAL (first);
  CU_ASSERT_PTR_NOT_NULL (strstr (first, "\"in\":[80000,"));
}

/* Four bundles of a quarter of the GPU's width: 40 us each, and a launch. */
static void
kernels_side_by_side (void)
{
  static const char gpu[]
      = "[gpu0]\nmultiprocessors = 1\nwidth = 40\nwork_per_us = 1\n"
        "launch_us = 1\nlink_us = 0\nh2d_gbps = 1000000\ndepth = 4\n"
        "part_bytes = 50000\n";
  double one, two, four;
  g_autofree char *with_two = g_strconcat (gpu, "kernels = 2\n", NULL);
  g_autofree char *with_four = g_strconcat (gpu, "kernels = 4\n", NULL);
  G_GNUC_UNUSED g_autofree char *a = trace_of (gpu, "gpu-only", 40, &one);
  G_GNUC_UNUSED g_autofree char *b = trace_of (with_two, "gpu-only", 40, &two);
  G_GNUC_UNUSED g_autofree char *c
      = trace_of (with_four, "gpu-only", 40, &four);
  CU_ASSERT_DOUBLE_EQUAL (one, 4 * 41e-6, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (two, 2 * 41e-6, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (four, 41e-6, 1e-6);
}

/* Two bundles as wide as the GPU take turns; one that is four fifths as wide
   gets, beside such another, half of the full rate. */
static void
kernels_share_the_rate (void)
{
  static const char gpu[]
      = "[gpu0]\nmultiprocessors = 1\nwidth = %u\nwork_per_us = 1\n"
        "launch_us = 1\nlink_us = 0\nh2d_gbps = 1000000\ndepth = 2\n"
        "part_bytes = 100000\nkernels = 2\n";
  double filled, shared;
  g_autofree char *wide = g_strdup_printf (gpu, 20);
  g_autofree char *narrow = g_strdup_printf (gpu, 25);
  G_GNUC_UNUSED g_autofree char *a = trace_of (wide, "gpu-only", 40, &filled);
  G_GNUC_UNUSED g_autofree char *b = trace_of (narrow, "gpu-only", 40, &shared);
  CU_ASSERT_DOUBLE_EQUAL (filled, 2 * 21e-6, 0.5e-6);
  CU_ASSERT_DOUBLE_EQUAL (shared, 41e-6, 0.5e-6);
}

HASS_TEST_SUITE (modelled_gpu,
                 { "it gets the grants, parts and completions of a real one",
                   same_parts_as_live },
                 { "it takes its first bundle when its start is over",
                   waits_for_its_start },
                 { "the host copies inputs before and outputs after a bundle",
                   host_copies_take_time },
                 { "the host gathers one part of a device at a time",
                   the_host_serves_one_part_at_a_time },
                 { "kernels that leave room on a GPU run side by side",
                   kernels_side_by_side },
                 { "kernels that run side by side share the GPU's rate",
                   kernels_share_the_rate })

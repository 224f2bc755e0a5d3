/* SPDX-License-Identifier: MIT */
/* test_flow_graphs.c: the factorisations and the wavefront of hass-sim
   --dataflow against what is known of them in closed form.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "flow_program.h"
#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tools/hass-sim/flow/flow.h"
#include "tests/trials.h"

/* More cores than the graphs here have tasks that are ready together. */
static const char unlimited[]
    = "[platform]\nname = many\n[cpu]\ncores = 900\nwork_per_us = 7\n"
      "pull_us = 0\n";

/* Time of 512^3 operations on a core of 50 Gflop/s, and of a tile of wavefront.
 */
#define CUBE_NS (512.0 * 512 * 512 / 50)
#define WAVE_NS (2048.0 * 2048 * 10 / 50)

typedef struct
{
  const char *spec;
  guint counts[4]; /* tasks by codelet, as the graph names them */
  double path_ns, work_ns;
} Known;

#define SQUARES(t) ((t) * ((t) + 1) * (2 * (t) + 1) / 6)
#define HALF(t) ((t) * ((t)-1) / 2)
#define LU(spec, t)                                                            \
  {                                                                            \
    spec, { t, 2 * HALF (t), SQUARES (t - 1) },                                \
        ((t - 1) * 11 + 2) * CUBE_NS / 3, 2.0 / 3 * t *t *t *CUBE_NS           \
  }
/* The path is that of a flat tree: 30 T - 34 times a third of a cube. */
#define QR(spec, t)                                                            \
  {                                                                            \
    spec, { t, HALF (t), HALF (t), SQUARES (t - 1) },                          \
        (t == 1 ? 4 : 30 * t - 34) * CUBE_NS / 3, 4.0 / 3 * t *t *t *CUBE_NS   \
  }
#define WAVEFRONT(spec, t, s)                                                  \
  {                                                                            \
    spec, { t * s }, (t + s - 1) * WAVE_NS, (double)t *s *WAVE_NS              \
  }

static const Known known[] = { LU ("lu:1", 1),
                               LU ("lu:2", 2),
                               LU ("lu:13", 13),
                               QR ("qr:1", 1),
                               QR ("qr:2", 2),
                               QR ("qr:3", 3),
                               QR ("qr:13", 13),
                               WAVEFRONT ("wavefront:1", 1, 1),
                               WAVEFRONT ("wavefront:9", 9, 9),
                               WAVEFRONT ("wavefront:9:1", 9, 1),
                               WAVEFRONT ("wavefront:3:20", 3, 20) };

static HassPlatform *
machine (char **path)
{
  *path = trial_file (unlimited);
  HassPlatform *p = hass_platform_load (*path, "test", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  return p;
}

static void
counted (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      g_autoptr (SimFlow) f = sim_flow_new (known[i].spec, 1, NULL);
      guint counts[4] = { 0 };
      CU_ASSERT_PTR_NOT_NULL_FATAL (f);
      for (guint t = 0; t < f->tasks->len; t++)
        counts[g_array_index (f->tasks, SimFlowTask, t).codelet]++;
      for (guint c = 0; c < 4; c++)
        CU_ASSERT_EQUAL (counts[c], known[i].counts[c]);
    }
}

static void
bounded (void)
{
  g_autofree char *path = NULL;
  HassPlatform *p = machine (&path);
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      g_autoptr (SimFlow) f = sim_flow_new (known[i].spec, 1, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (f);
      SimFlowBound b = sim_flow_bound (f, p);
      CU_ASSERT_DOUBLE_EQUAL (b.path_ns, known[i].path_ns, 1);
      CU_ASSERT_TRUE (b.area_ns * p->cores >= known[i].work_ns - 1);
      CU_ASSERT_TRUE (b.area_ns <= known[i].path_ns + 1);
    }
  hass_platform_free (p);
  unlink (path);
}

/* The engine finds no other dependences than the formula. */
static void
as_long_as_paths (void)
{
  g_autofree char *path = NULL;
  HassPlatform *p = machine (&path);
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      g_autoptr (SimFlow) f = sim_flow_new (known[i].spec, 1, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (f);
      g_autoptr (HassReport) r = sim_flow_run (f, p, 1, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (r);
      CU_ASSERT_EQUAL (r->loads, f->tasks->len);
      CU_ASSERT_DOUBLE_EQUAL (r->makespan_s * 1e9 / known[i].path_ns, 1, 1e-5);
    }
  hass_platform_free (p);
  unlink (path);
}

/* Runs it on @options. The tasks that devices computed, as far as their results
   were not lost, are all, each once. */
static void
all_once (const char *spec, const char *strategy, const char *options)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *words
      = g_strdup_printf ("%s -p h200x2 -s %s %s", spec, strategy, options);
  JsonObject *run = flow_object (words, &root);
  JsonArray *devices = json_object_get_array_member (run, "devices");
  double sum = 0, ns = flow_number (run, "makespan_ns");
  for (guint d = 0; d < json_array_get_length (devices); d++)
    sum += flow_number (json_array_get_object_element (devices, d), "tasks");
  CU_ASSERT_EQUAL (sum, flow_number (run, "tasks")
                            * (strstr (options, "--times") ? 3 : 1));
  CU_ASSERT_TRUE (ns >= flow_number (run, "path_ns") * 0.999999);
  CU_ASSERT_TRUE (ns >= flow_number (run, "area_ns") * 0.999999);
}

static void
under_strategies (void)
{
  static const char *const specs[] = { "lu:7", "qr:7", "wavefront:9:12" };
  static const char *const options[]
      = { "", "--times 3", "--slow gpu0:9:20%", "--lose gpu0:30%" };
  g_auto (GStrv) all = sim_flow_strategies ("all", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (all);
  for (guint s = 0; all[s]; s++)
    for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
      for (guint o = TRIALS (0, (s + i) % 4, 0); o < G_N_ELEMENTS (options);
           o += TRIALS (1, 4, 1))
        all_once (specs[i], all[s], options[o]);
}

static void
refused (void)
{
  static const char *const cases[][2]
      = { { "lu:0", "dataflow 'lu:0': lu:T is needed, T from 1 to 181" },
          { "lu:182", "lu:T is needed, T from 1 to 181" },
          { "lu:2:2", "lu:T is needed" },
          { "qr", "dataflow 'qr': qr:T is needed, T from 1 to 181" },
          { "qr:x", "dataflow 'qr:x': qr:T is needed" },
          { "wavefront:2:3:4", "wavefront:T[:S] is needed" },
          { "wavefront:0:5", "wavefront:T[:S] is needed, T from 1 to 2000000" },
          { "stencil:1:0", "stencil:T:S is needed, S from 1 to 2000000" },
          { "stencil:1001:9", "stencil:T:S is needed, T from 1 to 1000" },
          { "wavefront:5:x", "wavefront:T[:S] is needed, S from 1 to 2000000" },
          { "wavefront:1415", "dataflow 'wavefront:1415': 2002225 tasks, more "
                              "than 2000000" },
          { "stencil:900:9", "7290000 tasks, more than 2000000" },
          { "svd:9", "dataflow 'svd:9': cholesky:T, lu:T, qr:T, " } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    flow_program_refuses (cases[i][0], cases[i][1]);
  g_autoptr (SimFlow) f = sim_flow_new ("qr:181", 1, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f);
  CU_ASSERT_EQUAL (f->tasks->len, SQUARES (181));
}

/* What a picture of a chain shows of them: the last task has predecessors back
   to one that needed none. */
static void
explained (void)
{
  static const char *const cases[][2]
      = { { "lu:5", "getrf" }, { "qr:5", "geqrt" }, { "wavefront:5", "tile" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *words
          = g_strconcat (cases[i][0], " --gantt /dev/null --task last", NULL);
      g_autofree char *out = flow_prints (words);
      CU_ASSERT_PTR_NOT_NULL (strstr (out, cases[i][1]));
    }
}

HASS_TEST_SUITE (
    sim_flow_graphs,
    { "lu, qr and wavefront have as many tasks of a codelet as the formulas",
      counted },
    { "the bounds of lu, qr and wavefront are those of the formulas", bounded },
    { "on unlimited cores lu, qr and wavefront take their critical paths",
      as_long_as_paths },
    { "each strategy computes each task of lu, qr and wavefront once, also "
      "with "
      "a slow and a lost GPU, and recorded",
      under_strategies },
    { "a graph with wrong numbers is refused by name and numbers", refused },
    { "the chain of the last task of lu, qr and wavefront is shown",
      explained })

/* SPDX-License-Identifier: MIT */
/* test_auto_guard.c: that auto is not slower than its best device alone, what
   it makes of what is known before, and that it explains itself.
   Thread safety: one thread. */
#include "hass_test.h"

#include <hass/hass.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sched/mini_engine.h"
#include "tests/engine/trial.h"

#define H200 HASS_TOP "/doc/platforms/h200.platform"
#define TRIALS 1000

static const MiniDevice pair[]
    = { MINI_CPU (16, 16000), MINI_GPU (132, 1500, 15000) };

/* -- Never much slower than one alone ------------------------------------ */

/* The time of the best device alone: one bundle, or all cores. */
static double
best_alone_ns (const MiniDevice *devices, guint n, guint32 units)
{
  double best_ns = INFINITY;
  for (guint d = 0; d < n; d++)
    {
      const MiniDevice *v = &devices[d];
      double ns = v->latency_ns + units * v->ns_per_work;
      if (v->kind == HASS_DEVICE_CPU)
        ns = ceil (units / (double)v->cores) * v->ns_per_work;
      best_ns = MIN (best_ns, ns);
    }
  return best_ns;
}

/* A machine and a round of any proportion. */
static MiniFarm *
random_machine (GRand *rand, guint seed, double quarrel, double kernels,
                guint *units)
{
  MiniDevice devices[4];
  guint n = g_rand_int_range (rand, 2, 5);
  double speed = exp (g_rand_double_range (rand, 3, 13));
  devices[0] = (MiniDevice)MINI_CPU (g_rand_int_range (rand, 1, 33), speed);
  for (guint d = 1; d < n; d++)
    devices[d] = (MiniDevice)MINI_GPU (
        16, speed * exp (g_rand_double_range (rand, -8, 3)),
        g_rand_double_range (rand, 0, 1e5));
  *units = (guint)exp (g_rand_double_range (rand, 0, 9));
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_COMBINE, HASS_COST_EQUAL,
                                  devices, n, seed);
  farm->quarrel = quarrel * g_rand_double (rand);
  farm->kernels = kernels > 0 ? kernels * g_rand_double (rand) : 0;
  return farm;
}

/* How many of so many random machines take more than 1 / 0.95 of the time of
   their best device alone, once each has been seen; rounds in which all are
   tried again are left out. */
static guint
machines_behind (guint32 seed, double quarrel, double kernels, double *worst)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  guint behind = 0, forced = 0;
  *worst = 0;
  for (guint trial = 0; trial < TRIALS; trial++)
    {
      guint units;
      MiniFarm *farm = random_machine (rand, trial, quarrel, kernels, &units);
      MiniRound result;
      double last_ns = 0;
      double best_ns = best_alone_ns (farm->devices, farm->n, units);
      for (guint r = 0; r < farm->n + 6; r++)
        {
          mini_farm_run_equal (farm, units, &result);
          CU_ASSERT_EQUAL (result.rescued, 0);
          forced += result.forced;
          if (r >= farm->n + 3) /* tiny rounds show one device each */
            last_ns = MAX (last_ns, result.summary.makespan_ns);
        }
      behind += !(last_ns < best_ns / 0.95);
      *worst = MAX (*worst, last_ns / best_ns);
      mini_farm_free (farm);
    }
  CU_ASSERT_TRUE (forced <= TRIALS / 100);
  return behind;
}

static void
hardly_ever_behind_the_best_alone (void)
{
  static const guint32 seeds[] = { 1234, 1235, 1236, 1237 };
  for (guint i = 0; i < G_N_ELEMENTS (seeds); i++)
    {
      double worst;
      guint behind = machines_behind (seeds[i], 0, 0, &worst);
      printf ("\n    %u of %u, worst %.3f ...", behind, TRIALS, worst);
      CU_ASSERT_TRUE (behind <= TRIALS / 200 && worst < 1.2);
    }
}

/* Its first bundles are so small that they take as long as a launch: only
   larger ones show that it is the fastest; after rounds, too, that were so
   short that the cores alone were. */
static void
latency_does_not_hide_the_fastest (void)
{
  MiniDevice devices[] = { MINI_CPU (30, 588.7), MINI_GPU (16, 0.4, 15734) };
  for (guint short_rounds = 0; short_rounds <= 6; short_rounds += 6)
    {
      MiniFarm *farm = mini_farm_new_equal ("auto", devices, 2);
      MiniRound result;
      for (guint r = 0; r < short_rounds; r++)
        mini_farm_run_equal (farm, 600, &result);
      for (guint r = 0; r < 7; r++)
        mini_farm_run_equal (farm, 1465, &result);
      CU_ASSERT_TRUE (result.summary.makespan_ns < 1.02 * (15734 + 0.4 * 1465));
      mini_farm_free (farm);
    }
}

/* Each takes up to three times longer while others are at work, GPUs but for
   what they spend in kernels. */
static void
hardly_ever_behind_where_devices_quarrel (void)
{
  static const double kernels[] = { 0, 1 };
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      double worst;
      guint behind = machines_behind (4321, 2, kernels[i], &worst);
      printf ("\n    %u of %u, worst %.3f ...", behind, TRIALS, worst);
      CU_ASSERT_TRUE (behind <= TRIALS / 50 && worst < 2);
    }
}

/* -- What is known before ----------------------------------------------- */

/* Time of the first round, by what a profile says of the CPU over what is true;
   0: there is none. */
static double
first_round_ns (double said, double gpu_ns)
{
  MiniDevice devices[] = { pair[0], MINI_GPU (132, gpu_ns, 15000) };
  HassProfileRate profile[]
      = { { .work_per_ns = said * 16 / 16000., .runs = 1 },
          { .work_per_ns = 1 / gpu_ns, .runs = 1 } };
  MiniFarm *farm = mini_farm_new ("naive-greedy", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, devices, 2, 1);
  farm->env.profile = said > 0 ? profile : NULL;
  mini_farm_restart (farm, "auto");
  MiniRound result;
  mini_farm_run_equal (farm, 600, &result);
  CU_ASSERT_TRUE (result.once);
  mini_farm_free (farm);
  return result.summary.makespan_ns;
}

static void
profile_is_a_first_guess (void)
{
  double without_ns = first_round_ns (0, 1500);
  CU_ASSERT_TRUE (first_round_ns (1, 1500) < 0.985 * without_ns);
  /* A wrong one does not cost much. */
  CU_ASSERT_TRUE (first_round_ns (4, 1500) < 1.02 * without_ns);
  CU_ASSERT_TRUE (first_round_ns (0.25, 1500) < 1.02 * without_ns);
  /* Who is known to be slow need not be tried: 600 us on the cores alone. */
  CU_ASSERT_TRUE (first_round_ns (0, 3e6) > 2e6);
  CU_ASSERT_TRUE (first_round_ns (1, 3e6) < 1.02 * 608000);
}

/* A farm on a pair where the GPU copies or the host merges first. */
static guint64
cpu_units_of_last_round (double entry_bytes, double merge_ns, guint64 *gpu)
{
  MiniFarm *farm = mini_farm_new ("naive-greedy", HASS_FARM_COMBINE,
                                  HASS_COST_EQUAL, pair, 2, 1);
  MiniRound result;
  farm->traits[1].link_bytes_per_ns = 1;
  farm->env.entry_bytes = entry_bytes;
  farm->env.merge_ns = merge_ns;
  mini_farm_restart (farm, "auto");
  for (guint r = 0; r < 4; r++)
    mini_farm_run_equal (farm, 3000, &result);
  *gpu = result.devices[1].units;
  mini_farm_free (farm);
  return result.devices[0].units;
}

/* All in 3 ms on the cores, 4.5 on the GPU, 1.8 on both. */
static void
entry_and_merge_decide_who_takes_part (void)
{
  guint64 gpu;
  CU_ASSERT_TRUE (cpu_units_of_last_round (0, 0, &gpu) > 0 && gpu > 0);
  CU_ASSERT_EQUAL (cpu_units_of_last_round (0, 2e6, &gpu), 3000);
  CU_ASSERT_EQUAL (gpu, 0);
  CU_ASSERT_EQUAL (cpu_units_of_last_round (3.2e6, 0, &gpu), 3000);
  CU_ASSERT_EQUAL (gpu, 0);
  CU_ASSERT_TRUE (cpu_units_of_last_round (1e5, 1e5, &gpu) > 0 && gpu > 0);
}

/* -- Explanations ------------------------------------------------------- */

/* Three rounds of 4000 such loads under auto, that calls no worker. */
static gboolean
explain (HassLoad load, const char *platform, const char *file, GError **error)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  g_autofree HassLoad *loads = g_new0 (HassLoad, 12000);
  for (guint i = 0; i < 12000; i++)
    loads[i] = load;
  farm.name = "clear\nas day";
  farm.loads = loads;
  farm.n_loads = 12000;
  farm.round_loads = 4000;
  farm.cpu_worker = (HassCpuWorkerFunc)abort;
  farm.run.platform = platform;
  farm.run.strategy = "auto";
  farm.run.dry = TRUE;
  farm.run.explain = file;
  return hass_data_farm_combine (&farm, NULL, error);
}

/* What it wrote of them. */
static char *
explained (HassLoad load, const char *platform)
{
  g_autofree char *file = trial_file ("");
  char *text = NULL;
  CU_ASSERT_TRUE (explain (load, platform, file, NULL));
  CU_ASSERT_TRUE (g_file_get_contents (file, &text, NULL, NULL));
  unlink (file);
  return text;
}

/* On a machine with a GPU as fast as so many of its cores. */
static char *
explained_on_toy (guint cores, guint gpu_cores, HassLoad load)
{
  g_autofree char *toy = g_strdup_printf (
      "[platform]\nname = toy\n[cpu]\ncores = %u\nwork_per_us = 1\n"
      "[gpu0]\nmultiprocessors = 10\nwidth = 100\nwork_per_us = %u\n"
      "launch_us = 10\nh2d_gbps = 100\n",
      cores, gpu_cores);
  g_autofree char *platform = trial_file (toy);
  char *text = explained (load, platform);
  unlink (platform);
  return text;
}

/* An explanation is a line, whatever the farm's name. */
static void
one_line_each (void)
{
  HassLoad load = { .size = 10 };
  g_autofree char *text = explained_on_toy (4, 6, load);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);
  CU_ASSERT_TRUE (n > 3);
  for (guint i = 0; i + 1 < n; i++)
    CU_ASSERT_TRUE (g_str_has_prefix (lines[i], "clear as day "));
}

/* The others wait meanwhile. A GPU whose kernels alone would take longer than
   all devices together need not be; nor who does little. */
static void
who_cannot_win_is_not_measured_alone (void)
{
  static const struct
  {
    guint gpu_cores;
    gsize bytes;
    gboolean cpu, gpu;
  } cases[] = { { 1, 0, TRUE, FALSE },       { 3, 0, TRUE, FALSE },
                { 6, 0, TRUE, FALSE },       { 40, 0, FALSE, FALSE },
                { 1, 1000000, TRUE, FALSE }, { 40, 160000, TRUE, TRUE },
                { 40, 40000, FALSE, TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassLoad load = { .size = 10, .input_bytes = cases[i].bytes };
      g_autofree char *text = explained_on_toy (4, cases[i].gpu_cores, load);
      CU_ASSERT_EQUAL (strstr (text, "cpu alone would do") != NULL,
                       cases[i].cpu);
      CU_ASSERT_EQUAL (strstr (text, "gpu0 alone would do") != NULL,
                       cases[i].gpu);
      CU_ASSERT_EQUAL (strstr (text, "gpu0 alone would need") != NULL,
                       cases[i].bytes == 0 && cases[i].gpu_cores > 1);
    }
}

/* Units that cores got before any had finished one, and in how many grants. */
static guint
first_units (const char *explained, guint *n_grants)
{
  g_auto (GStrv) lines = g_strsplit (explained, "\n", -1);
  guint sum = 0, units = 0;
  *n_grants = 0;
  for (char **line = lines; *line; line++)
    {
      const char *cpu = strstr (*line, "cpu: ");
      if (!cpu || !strstr (cpu, ": first units of cores")
          || sscanf (cpu, "cpu: %u units", &units) != 1)
        continue;
      sum += units;
      ++*n_grants;
    }
  return sum;
}

/* One core begins a long round; the others when the GPU has shown that it is
   not so fast that they would be late, or at once where its link is not. */
static void
all_cores_begin_beside_a_slow_gpu (void)
{
  static const struct
  {
    guint gpu_cores;
    gsize bytes;
    guint begin;
  } cases[] = { { 200, 0, 16 },
                { 20000, 0, 1 },
                { 20000, 63 << 10, 1 },
                { 20000, 64 << 10, 16 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassLoad load = { .size = 1000, .input_bytes = cases[i].bytes };
      g_autofree char *text = explained_on_toy (16, cases[i].gpu_cores, load);
      guint n_grants;
      CU_ASSERT_EQUAL (first_units (text, &n_grants), cases[i].begin);
      CU_ASSERT_TRUE (n_grants <= 2); /* one core, then the others at once */
    }
}

static void
explains_itself (void)
{
  HassLoad load = { .size = 65536, .input_bytes = 65536 };
  g_autofree char *text = explained (load, H200);
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "clear as day 0.000 ms: round 0: all"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "gpu0: "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "to be measured"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "cpu: "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "  gpu0 would take "));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "round 2 took "));
  CU_ASSERT_PTR_NULL (strstr (text, "in 0 ms"));
  CU_ASSERT_FALSE (explain (load, H200, "/nowhere/explained", &error));
  CU_ASSERT_TRUE (error && error->code == HASS_ERROR_IO
                  && strstr (error->message, "/nowhere/explained"));
}

static void
add_note (gpointer data, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_string_append_vprintf (data, format, arguments);
  g_string_append_c (data, '\n');
  va_end (arguments);
}

/* The engine cuts what a GPU is given where there is no other device. */
static void
one_gpu_is_given_all (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  MiniRound result;
  MiniFarm *farm = mini_farm_new_equal ("auto", &pair[1], 1);
  farm->traits[0].part_bytes = 1 << 20;
  farm->env.note = add_note;
  farm->env.note_data = text;
  mini_farm_run_equal (farm, 100, &result);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text->str, "100 units from 0: all, it is the only device"));
  mini_farm_free (farm);
}

/* -- Which rounds are measures ------------------------------------------- */

/* Whether that line was written. */
static gboolean
says (const GString *text, const char *format, guint round)
{
  g_autofree char *line = g_strdup_printf (format, round);
  return strstr (text->str, line) != NULL;
}

/* What auto says of so many rounds on the cores and such a GPU. */
static GString *
said_of_rounds (guint n_rounds, double gpu_ns, double quarrel)
{
  GString *text = g_string_new (NULL);
  MiniDevice devices[] = { pair[0], MINI_GPU (132, gpu_ns, 15000) };
  MiniRound result;
  MiniFarm *farm = mini_farm_new ("naive-greedy", HASS_FARM_COMBINE,
                                  HASS_COST_SIZED, devices, 2, 1);
  farm->quarrel = quarrel;
  farm->kernels = quarrel > 0 ? 0 : 1;
  farm->env.note = add_note;
  farm->env.note_data = text;
  mini_farm_restart (farm, "auto");
  for (guint r = 0; r < n_rounds; r++)
    mini_farm_run_equal (farm, 3000, &result);
  mini_farm_free (farm);
  return text;
}

static void
first_round_is_no_measure (void)
{
  g_autoptr (GString) text = said_of_rounds (3, 300, 0);
  CU_ASSERT_TRUE (says (text, "round %u: all", 1));
  CU_ASSERT_FALSE (says (text, "round %u took", 1));
  CU_ASSERT_TRUE (says (text, "round %u took", 2));
  CU_ASSERT_PTR_NULL (strstr (text->str, "to be measured alone"));
  /* 3000 units of 300 ns. */
  static const char need[] = "d1 alone would need ";
  const char *said = strstr (text->str, need);
  double ms = said ? g_ascii_strtod (said + strlen (need), NULL) : 0;
  CU_ASSERT_DOUBLE_EQUAL (ms, 0.9, 0.02);
}

/* They quarrel, so that the cores do all of it; from time to time both are
   tried again, and nothing else at the same time. */
static void
another_try_is_a_measure (void)
{
  g_autoptr (GString) text = said_of_rounds (130, 1500, 2);
  guint tries = 0;
  for (guint r = 2; r < 130; r++)
    {
      gboolean all = says (text, "round %u: all", r);
      CU_ASSERT_TRUE (!all || says (text, "round %u took", r));
      tries += all;
    }
  CU_ASSERT_EQUAL (tries, 3);
  CU_ASSERT_PTR_NULL (strstr (text->str, "GPUs take from"));
}

HASS_TEST_SUITE (
    sched_auto_guard,
    { "a launch does not hide which device is the fastest",
      latency_does_not_hide_the_fastest },
    { "a device that cannot win is not measured alone",
      who_cannot_win_is_not_measured_alone },
    { "all cores begin a long round beside a GPU that is not far faster",
      all_cores_begin_beside_a_slow_gpu },
    { "a profile of earlier runs is a first estimate",
      profile_is_a_first_guess },
    { "entry copies and merges decide which devices participate",
      entry_and_merge_decide_who_takes_part },
    { "decisions are explained", explains_itself },
    { "an explanation is one line", one_line_each },
    { "the first round of all devices is no measure of them",
      first_round_is_no_measure },
    { "a round in which all devices are tried again is a measure",
      another_try_is_a_measure },
    { "a single GPU gets the whole round, and the explanation says why",
      one_gpu_is_given_all })

/* How good auto is, which is the same under a sanitizer. */
HASS_TEST_SUITE (
    sched_auto_machines,
    { "auto is hardly ever 5 % slower than the best device alone",
      hardly_ever_behind_the_best_alone },
    { "auto is hardly ever slower than the best device where they interfere",
      hardly_ever_behind_where_devices_quarrel })

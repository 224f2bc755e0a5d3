/* SPDX-License-Identifier: MIT */
/* test_sim_program.c: hass-sim as users and programs run it.
   Thread safety: one thread. */
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"
#include "tests/program.h"
#include "tests/trials.h"

/* Runs hass-sim with these words; returns its exit status. */
static int
run (char **out, char **err, const char *words)
{
  return program_run_words (out, err, "hass-sim", words);
}

static void
table (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (
      run (&out, &err, "-w cap-cg -s auto,oracle,hass-i,cpu-first -n 3"), 2);
  program_says (err, "cpu-first");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (run (&out, &err, "-w cap-cg -s auto,oracle,hass-i -n 3"), 0);
  program_says (out, "cap-cg on cap: partition, equal, 16384 units");
  program_says (out, "best static:cpu=");
  program_says (out, "\n  auto ");
  program_says (out, "\n  oracle ");
  /* What does not serve the farm's kind is left out. */
  CU_ASSERT_PTR_NULL (out ? strstr (out, "hass-i") : NULL);
}

static void
refused_parameter (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "-w cap-cg -s static:cpu=7 -n 1"), 1);
  program_says (out, "cpu");
}

static void
lists (void)
{
  static const char *const wanted[] = { "strategies:", "hass-ce",    "3.4",
                                        "oracle",      "platforms:", "h200x8",
                                        "Zhang 20",    "workloads:", "cap-cg",
                                        "suites:",     "irregular " };
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "--list"), 0);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    program_says (out, wanted[i]);
}

static void
suites (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "--suite cap -n 2 --summary"), 0);
  program_says (out, "cap: geometric means");
  program_says (out, "\n  auto                     4 ");
  g_autofree char *one = NULL, *none = NULL;
  CU_ASSERT_EQUAL (run (&one, NULL, "-w cap-cg -s auto,hass-p -n 2 --summary"),
                   0);
  program_says (one, "cap-cg: geometric means");
  program_says (one, "\n  auto                     1 ");
  CU_ASSERT_EQUAL (run (&none, NULL, "-w cap-cg -s pipe-auto -n 1 --summary"),
                   1);
  program_says (none, "pipe-auto does not serve");
}

static void
json (void)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  CU_ASSERT_EQUAL (
      run (&out, &err, "-w thesis-equal -s auto,naive-greedy -n 2 --json"), 0);
  CU_ASSERT_TRUE_FATAL (json_parser_load_from_data (parser, out, -1, NULL));
  JsonArray *cases = json_node_get_array (json_parser_get_root (parser));
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (cases), 1);
  JsonObject *c = json_array_get_object_element (cases, 0);
  JsonArray *results = json_object_get_array_member (c, "results");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (results), 2);
  JsonObject *r = json_array_get_object_element (results, 1);
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (r, "strategy"),
                          "naive-greedy");
  JsonArray *rounds = json_object_get_array_member (r, "rounds");
  CU_ASSERT_EQUAL_FATAL (json_array_get_length (rounds), 2);
  JsonObject *round = json_array_get_object_element (rounds, 0);
  JsonArray *devices = json_object_get_array_member (round, "devices");
  double units = 0;
  for (guint d = 0; d < json_array_get_length (devices); d++)
    units += json_object_get_double_member (
        json_array_get_object_element (devices, d), "units");
  CU_ASSERT_EQUAL (units, 500);
}

static void
csv (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "--random 3 --seed 5 -n 2 --csv -s auto"),
                   0);
  g_auto (GStrv) lines = g_strsplit (out ? out : "", "\n", -1);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (lines), 5);
  for (guint i = 0; i < 4; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], ",", -1);
      CU_ASSERT_EQUAL (g_strv_length (fields), 17);
    }
}

static void
same_output (void)
{
  const char *words
      = TRIALS ("--random 4 --seed 7 -n 2 -s all --noise 0.1",
                "--random 1 --seed 7 -n 1 -s all --noise 0.1", "");
  g_autofree char *a = NULL, *b = NULL, *err = NULL, *err2 = NULL;
  CU_ASSERT_EQUAL (run (&a, &err, words), 0);
  CU_ASSERT_EQUAL (run (&b, &err2, words), 0);
  CU_ASSERT_TRUE (a && strlen (a) > 500);
  CU_ASSERT_STRING_EQUAL (a, b);
}

static void
traced (void)
{
  g_autofree char *path = trial_file (""), *text = NULL;
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *words = g_strdup_printf (
      "-w thesis-equal -n 2 --lose gpu1:1.5 --trace %s", path);
  CU_ASSERT_EQUAL (run (&out, &err, words), 0);
  CU_ASSERT_TRUE (g_file_get_contents (path, &text, NULL, NULL));
  program_says (text, "\"event\":\"round\"");
  program_says (text, "\"failed\":true");
  unlink (path);
}

static const struct
{
  const char *words, *what;
} wrong[] = {
  { "", "--workload, --suite, --random, --replay, --pipeline, --dataflow or "
        "--list" },
  { "-w cap-cg --suite cap", "--workload and --suite exclude each other" },
  { "-w nonsense", "known are cap-cg" },
  { "-w cap-cg -p nonsense", "known are" },
  { "--suite nonsense", "known are all, " },
  { "-w cap-cg -s nonsense", "naive-greedy" },
  { "-w cap-cg -s ,", "no strategy" },
  { "-w cap-cg --rounds -3", "--rounds" },
  { "-w cap-cg --rounds 0x10", "--rounds 0x10: a whole number from" },
  { "-w cap-cg --rounds 3000000000", "to 2147483647 is needed" },
  { "-w cap-cg --seed 1e3", "--seed 1e3: a whole number from" },
  { "-w cap-cg --noise 7", "--noise 7" },
  { "-w cap-cg --loops=-1", "--loops -1: a number from 0 to 1" },
  { "-w cap-cg --loops 1", "--pure and --loops belong to --pipeline" },
  { "--workload=", "known are cap-cg" },
  { "-w cap-cg --start -5", "--start -5: a number from 0" },
  { "-w cap-cg --parts -1", "--parts -1" },
  { "-w cap-cg --kernels -1", "--kernels -1" },
  { "--random -3", "--random -3" },
  { "--random 2 --family odd", "--family odd: known are usual, narrow" },
  { "-w cap-cg --family rare", "--family belongs to --random" },
  { "-w cap-cg --slow gpu0", "DEVICE:FACTOR:WHEN" },
  { "-w cap-cg --slow gpu7:3:50%", "it has cpu, gpu0" },
  { "-w cap-cg --slow gpu0:0.5:50%", "FACTOR" },
  { "-w cap-cg --slow gpu0:2:late", "WHEN" },
  { "-w cap-cg --lose cpu:3", "only GPUs" },
  { "-w cap-cg extra", "extra" },
  { "--pipeline ferret -s auto", "auto does not serve pipelines" },
  { "--random 1 --slow gpu0:2:50%", "--slow does not go with --random" },
  { "--random 1 -p cap", "--platform does not go with --random N: each has" },
  { "--random 1 --csv --json", "--json and --csv exclude each other" },
  { "-w cap-cg --csv --json", "--json and --csv exclude each other" },
  { "--pipeline ferret --csv --json", "--json and --csv exclude each other" },
  { "-w /nowhere/x.workload", "/nowhere/x.workload" },
};

static void
decimal_numbers (void)
{
  g_autofree char *ten = NULL, *zeros = NULL;
  CU_ASSERT_EQUAL (run (&ten, NULL, "-w cap-cg -s cpu-only -n 10 --json"), 0);
  CU_ASSERT_EQUAL (run (&zeros, NULL, "-w cap-cg -s cpu-only -n 010 --json"),
                   0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (zeros);
  CU_ASSERT_STRING_EQUAL (zeros, ten);
}

/* Each word of --help that begins with -- is in the manual. */
static void
help (void)
{
  g_autofree char *out = NULL, *err = NULL, *text = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "--help"), 0);
  CU_ASSERT_TRUE_FATAL (
      g_file_get_contents (HASS_TOP "/doc/man/hass-sim.1", &text, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (text, "\\-", -1);
  g_autofree char *manual = g_strjoinv ("-", parts);
  g_auto (GStrv) words = g_strsplit_set (out, " =,;:\n", -1);
  for (char **word = words; *word; word++)
    if (g_str_has_prefix (*word, "--") && (*word)[2])
      program_says (manual, *word);
}

static void
unfit_strategies (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "-w thesis-equal -n 1 -s pipe-auto,hass-p"),
                   1);
  program_says (out, "pipe-auto");
  program_says (out, "hass-p does not serve");
}

/* What a message says of a parameter does not make its strategy unfit. */
static void
misleading_parameter (void)
{
  g_autofree char *farm = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&farm, NULL, "hass-sim", "-w", "cap-cg", "-n",
                                "1", "--no-static", "-s",
                                "cpu-only,static:does not serve=1", NULL),
                   1);
  CU_ASSERT_EQUAL (program_run (NULL, &err, "hass-sim", "--pipeline", "ferret",
                                "-s", "pipe-auto,pipe-auto:does not serve=1",
                                NULL),
                   1);
  program_says (farm, "does not serve=1");
  program_says (err, "does not serve=1");
}

static void
wrong_words (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      int status = run (&out, &err, wrong[i].words);
      CU_ASSERT_EQUAL (status, 2);
      if (status != 2)
        g_printerr ("\n    '%s': status %d", wrong[i].words, status);
      program_says (err, "hass-sim: ");
      program_says (err, wrong[i].what);
    }
}

static void
too_many_gpus (void)
{
  g_autoptr (GString) text = g_string_new ("[platform]\n");
  for (guint g = 0; g < 65; g++)
    g_string_append_printf (text,
                            "[gpu%u]\nmultiprocessors = 1\nwidth = 1\n"
                            "work_per_us = 1\nh2d_gbps = 1\n",
                            g);
  g_autofree char *path = trial_file (text->str);
  g_autofree char *words = g_strdup_printf ("-w cap-cg -p %s", path);
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, words), 2);
  program_says (err, "has 65 GPUs");
  unlink (path);
}

static void
other_folder (void)
{
  g_autofree char *dir = g_dir_make_tmp ("hass-sim-XXXXXX", NULL);
  g_autofree char *sub = g_build_filename (dir, "workloads", NULL);
  g_autofree char *file = g_build_filename (sub, "mine.workload", NULL);
  g_autofree char *out = NULL, *err = NULL;
  g_mkdir_with_parents (sub, 0700);
  g_file_set_contents (file, "[workload]\nunits = 10\n", -1, NULL);
  g_setenv ("HASS_DATADIR", dir, TRUE);
  CU_ASSERT_EQUAL (run (&out, &err,
                        "-w mine -n 1 -p " HASS_TOP
                        "/doc/platforms/cap.platform"),
                   0);
  program_says (out, "mine.workload on cap");
  g_clear_pointer (&out, g_free);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (run (&out, &err, "-w mine -n 1 -p cap"), 2);
  program_says (err, "HASS_DATADIR");
  program_says (err, "platforms");
  g_unsetenv ("HASS_DATADIR");
  unlink (file);
  rmdir (sub);
  rmdir (dir);
}

/* A comma and quotes in the name of a workload, a machine and a pipeline. */
static void
csv_quotes (void)
{
  g_autofree char *machine
      = trial_file ("[platform]\nname = m \"2\", old\n[cpu]\ncores = 2\n"
                    "work_per_us = 1\n");
  g_autofree char *workload
      = trial_file ("[workload]\nname = w, \"1\"\nunits = 10\n");
  g_autofree char *pipeline = trial_file (
      "[pipeline]\nname = p, \"1\"\ntokens = 5\n[stage a]\ncpu_us = 5\n");
  g_autofree char *of_workload
      = g_strdup_printf ("-w %s -p %s -n 1 --csv", workload, machine);
  g_autofree char *of_pipeline
      = g_strdup_printf ("--pipeline %s -p %s --csv", pipeline, machine);
  g_autofree char *a = NULL, *b = NULL;
  CU_ASSERT_EQUAL (run (&a, NULL, of_workload), 0);
  program_says (a, "\n\"w, \"\"1\"\"\",\"m \"\"2\"\", old\",partition,");
  CU_ASSERT_EQUAL (run (&b, NULL, of_pipeline), 0);
  program_says (b, "\n\"p, \"\"1\"\"\",\"m \"\"2\"\", old\",\"pipe-auto\",");
  unlink (machine);
  unlink (workload);
  unlink (pipeline);
}

static void
unwritable (void)
{
  static const char *const options[]
      = { "--gantt /dev/full", "--gantt /nowhere/x", "--explain /nowhere/x",
          "--trace /nowhere/x" };
  for (guint i = 0; i < 2 * G_N_ELEMENTS (options); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      g_autofree char *words = g_strdup_printf (
          "%s %s", i % 2 ? "-w thesis-equal -n 1" : "--dataflow cholesky:3",
          options[i / 2]);
      CU_ASSERT_EQUAL (run (&out, &err, words), 1);
    }
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (&out, &err, "-w thesis-equal -n 1 --plot /nowhere/x"),
                   1);
  program_says (err, "/nowhere/x");
}

/* Without the best static split, what it is compared with is unknown. */
static void
no_static (void)
{
  static const struct
  {
    const char *words, *says;
  } cases[] = { { "", "   96.1       -    0.7 " },
                { "--csv", ",,0.00" },
                { "--json", "\"against_static\" : null" },
                { "--summary", "      -  97.16 " } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = NULL;
      g_autofree char *words = g_strdup_printf (
          "-w thesis-equal -n 2 --no-static %s", cases[i].words);
      CU_ASSERT_EQUAL (run (&out, NULL, words), 0);
      program_says (out, cases[i].says);
    }
}

/* A first round in which cores would take a hundred times as long as GPUs. */
static void
stoppable (void)
{
  g_autofree char *firm = NULL, *out = NULL;
  const char *words = "--random 8 --family few --seed 501 --no-static --csv";
  g_autofree char *more = g_strdup_printf ("%s --stoppable", words);
  CU_ASSERT_EQUAL (run (&firm, NULL, words), 0);
  CU_ASSERT_EQUAL (run (&out, NULL, more), 0);
  CU_ASSERT_STRING_NOT_EQUAL (firm, out);
}

/* Replays a farm that hass-sim itself records. */
static void
replays (void)
{
  static const char *const others[]
      = { "rounds 3",      "parts 1",   "kernels 2", "start 1",
          "slow nonsense", "lose x",    "noise 0",   "trace /dev/null",
          "summary",       "no-static", "stoppable" };
  g_autofree char *path = trial_file (""), *table = NULL;
  g_setenv ("HASS_RECORD", path, TRUE);
  CU_ASSERT_EQUAL (run (&table, NULL, "-w thesis-equal -n 2 --no-static"), 0);
  g_unsetenv ("HASS_RECORD");
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *err = NULL;
      g_autofree char *words
          = g_strdup_printf ("--replay %s --%s", path, others[i]);
      g_autofree char *says
          = g_strdup_printf ("--%.*s does not go with --replay %s",
                             (int)strcspn (others[i], " "), others[i], path);
      CU_ASSERT_EQUAL (run (NULL, &err, words), 2);
      program_says (err, says);
    }
  g_autofree char *all = NULL, *none = NULL;
  g_autofree char *of_all = g_strdup_printf ("-r %s -s all", path);
  g_autofree char *of_none = g_strdup_printf ("-r %s -s pipe-auto", path);
  CU_ASSERT_EQUAL (run (&all, NULL, of_all), 0);
  program_says (all, "\nhass-ce ");
  CU_ASSERT_PTR_NULL (all ? strstr (all, "does not serve") : NULL);
  CU_ASSERT_EQUAL (run (&none, NULL, of_none), 1);
  program_says (none, "pipe-auto does not serve");
  unlink (path);
}

HASS_TEST_SUITE (
    sim_program, { "a workload under several strategies", table },
    { "a refused parameter is named, with status 1", refused_parameter },
    { "where no strategy serves the farm each says so, with status 1",
      unfit_strategies },
    { "the manual has all options", help },
    { "--list names strategies with sections, and all files", lists },
    { "a suite ends with geometric means, and a workload has them, too",
      suites },
    { "--json has rounds and devices", json },
    { "--csv has a line for each result", csv },
    { "CSV quotes names that have commas and quotes", csv_quotes },
    { "a file that cannot be written is status 1", unwritable },
    { "with --no-static the comparison with it is shown as unknown",
      no_static },
    { "units are taken from cores whose workers ask", stoppable },
    { "the same words print the same", same_output },
    { "--trace writes lines, a lost GPU's among them", traced },
    { "a replay refuses options that have no meaning there, and leaves out "
      "strategies that do not serve the farm",
      replays },
    { "wrong words are refused with status 2 and a reason", wrong_words },
    { "numbers that begin with 0 are decimal", decimal_numbers },
    { "a strategy with a wrong parameter is not left out, whatever its name",
      misleading_parameter },
    { "more GPUs than it can take are refused", too_many_gpus },
    { "HASS_DATADIR names another folder", other_folder })

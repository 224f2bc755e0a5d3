/* SPDX-License-Identifier: MIT */
/* test_bakeoff.c: hass-bakeoff as users run it, on an example in virtual time
   and on shell scripts that report times of their own.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/program.h"
#include "tools/hass-bakeoff/bakeoff.h"

/* A program whose farm reports what the shell's `t` is under a strategy. */
static char *
script (const char *times)
{
  return g_strdup_printf (
      "%s; echo '{\"farm\":\"f\",\"strategy\":\"'${HASS_STRATEGY%%%%:*}'\","
      "\"makespan_s\":'$t',\"error\":null,\"devices\":[{\"name\":\"cpu\","
      "\"work\":3},{\"name\":\"gpu0\",\"work\":1}]}' >>$HASS_REPORT",
      times);
}

static JsonObject *
object_of (JsonNode *node)
{
  CU_ASSERT_FATAL (node && JSON_NODE_HOLDS_OBJECT (node));
  return json_node_get_object (node);
}

static JsonObject *
strategy_of (JsonObject *all, const char *name)
{
  JsonArray *list = json_object_get_array_member (all, "strategies");
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *o = json_array_get_object_element (list, i);
      if (!strcmp (json_object_get_string_member (o, "strategy"), name))
        return o;
    }
  CU_FAIL_FATAL ("a strategy is missing");
  return NULL;
}

static double
number (JsonObject *o, const char *name)
{
  return json_object_get_double_member_with_default (o, name, NAN);
}

static void
example (void)
{
  g_autofree char *out = NULL, *err = NULL, *program = program_path ("collatz");
  g_setenv ("HASS_PLATFORM", HASS_TOP "/doc/platforms/thesis.platform", TRUE);
  int status = program_run (
      &out, &err, "hass-bakeoff", "--json", "-n", "2", "-w", "1", "-s",
      "naive-greedy,static:cpu=0.9,hass-p,no-such", "--", program, NULL);
  g_unsetenv ("HASS_PLATFORM");
  CU_ASSERT_EQUAL (status, 0);
  g_autoptr (JsonNode) node = json_from_string (out, NULL);
  JsonObject *all = object_of (node);
  JsonObject *greedy = strategy_of (all, "naive-greedy");
  JsonObject *fixed = strategy_of (all, "static:cpu=0.9");
  CU_ASSERT_STRING_EQUAL (json_object_get_string_member (all, "times_of"),
                          "farm");
  CU_ASSERT_EQUAL (
      json_array_get_length (json_object_get_array_member (greedy, "farm_s")),
      2);
  /* Virtual time, which has no noise. */
  CU_ASSERT_TRUE (number (greedy, "median_s") > 0);
  CU_ASSERT_DOUBLE_EQUAL (number (greedy, "low_quartile_s"),
                          number (greedy, "high_quartile_s"), 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (
      number (json_object_get_object_member (fixed, "shares"), "cpu"), 0.9,
      0.01);
  program_says (
      json_object_get_string_member (strategy_of (all, "hass-p"), "problem"),
      "hass-p does not serve");
  program_says (
      json_object_get_string_member (strategy_of (all, "no-such"), "problem"),
      "naive-greedy");
}

/* "b" takes 10 % longer in each round, though rounds differ by more. */
static void
clear_winner (void)
{
  g_autofree char *out = NULL, *err = NULL, *json = NULL, *more = NULL;
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *text = g_strdup_printf (
      "d=%s; echo >>$d/$HASS_STRATEGY; n=$(wc -l <$d/$HASS_STRATEGY);"
      "case $HASS_STRATEGY in a) t=${n}.0;; *) t=$((n+n/10)).$((n%%10));; esac",
      folder);
  g_autofree char *sh = script (text);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b", "-n",
                                "12", "sh", "-c", sh, NULL),
                   0);
  program_says (out, "a is best: b, the next, takes 10.0 % longer");
  program_says (out, "95 % interval 10.0 to 10.0 %");
  program_says (out, "cpu 75 %, gpu0 25 %");
  program_says (out, "times in s, of the 1 farm of a run");
  CU_ASSERT_EQUAL (program_run (&json, &more, "hass-bakeoff", "--json", "-s",
                                "b,a", "-n", "3", "sh", "-c", sh, NULL),
                   0);
  g_autoptr (JsonNode) node = json_from_string (json, NULL);
  JsonObject *all = object_of (node);
  CU_ASSERT_FALSE (json_object_get_boolean_member (all, "clear"));
  CU_ASSERT_DOUBLE_EQUAL (number (strategy_of (all, "b"), "ratio"), 1.1, 1e-9);
  CU_ASSERT_TRUE (
      json_object_get_null_member (strategy_of (all, "b"), "ratio_low"));
  g_autofree char *clean = g_strdup_printf ("rm -r %s", folder);
  CU_ASSERT_TRUE (g_spawn_command_line_sync (clean, NULL, NULL, NULL, NULL));
}

/* The machine is slower in some rounds than in others: "b" has the lower
   median, 1.5 to 2, and yet takes 20 % longer in two of three rounds. */
static void
round_by_round (void)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *text = g_strdup_printf (
      "d=%s; echo >>$d/$HASS_STRATEGY; n=$(wc -l <$d/$HASS_STRATEGY);"
      "case $HASS_STRATEGY$((n%%3)) in a0) t=1.0;; b0) t=1.2;; a1) t=2.0;; "
      "b1) t=1.5;; a2) t=3.0;; *) t=3.6;; esac",
      folder);
  g_autofree char *sh = script (text);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b", "-n",
                                "12", "sh", "-c", sh, NULL),
                   0);
  program_says (out, "a is the fastest round by round, but within the noise");
  program_says (out, "b (+20.0 %)");
  g_autofree char *clean = g_strdup_printf ("rm -r %s", folder);
  CU_ASSERT_TRUE (g_spawn_command_line_sync (clean, NULL, NULL, NULL, NULL));
}

/* "b" is by turns faster and slower. */
static void
noise (void)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *text = g_strdup_printf (
      "d=%s; echo >>$d/$HASS_STRATEGY; n=$(wc -l <$d/$HASS_STRATEGY);"
      "case $HASS_STRATEGY in a) t=1.0;; *) t=$((n%%2)).98;; esac; "
      "case $t in 0.98) t=0.9;; 1.98) t=1.3;; esac",
      folder);
  g_autofree char *sh = script (text);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b", "-n",
                                "12", "sh", "-c", sh, NULL),
                   0);
  program_says (
      out,
      "a is the fastest round by round, but within the noise (*) lie b (+10.0");
  CU_ASSERT_PTR_NULL (strstr (out, "too few"));
  g_autofree char *clean = g_strdup_printf ("rm -r %s", folder);
  CU_ASSERT_TRUE (g_spawn_command_line_sync (clean, NULL, NULL, NULL, NULL));
}

static void
too_few (void)
{
  g_autofree char *out = NULL, *err = NULL, *sh = script ("t=1");
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b,c", "-n",
                                "6", "sh", "-c", sh, NULL),
                   0);
  program_says (out,
                "6 rounds are too few to tell 3 strategies apart: at least 7");
  program_says (out, "unknown *");
}

static void
failures (void)
{
  g_autofree char *out = NULL, *err = NULL, *folder = NULL;
  folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *text = g_strdup_printf (
      "t=1; case $HASS_STRATEGY in a) echo x >&2; echo because >&2; exit 3;; "
      "b) kill -9 $$;; d) [ -e %s/2 ] && exit 4; [ -e %s/1 ] && mkdir %s/2; "
      "mkdir -p %s/1;; e) HASS_STRATEGY=auto; esac",
      folder, folder, folder, folder);
  g_autofree char *sh = script (text);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b,c,d,e",
                                "-n", "3", "sh", "-c", sh, NULL),
                   0);
  program_says (out, "a: the program ended with status 3: because\n");
  program_says (out, "b: the program ended by signal 9");
  program_says (out, "d (in round 2): the program ended with status 4\n");
  program_says (out, "e: its farms ran under 'auto': the program chooses");
  program_says (out, "c has nothing to be compared with");
  g_autofree char *clean = g_strdup_printf ("rm -r %s", folder);
  CU_ASSERT_TRUE (g_spawn_command_line_sync (clean, NULL, NULL, NULL, NULL));
}

/* The processes whose numbers are in the file; not there within a minute: none.
 */
static GArray *
processes_in (const char *path, guint n)
{
  GArray *pids = g_array_new (FALSE, FALSE, sizeof (GPid));
  for (guint i = 0; i < 6000 && pids->len < n; i++, usleep (10000))
    {
      g_autofree char *text = NULL;
      g_array_set_size (pids, 0);
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      /* What follows the last newline is not written yet. */
      for (char **line = lines; *line && line[1]; line++)
        {
          GPid pid = (GPid)g_ascii_strtoll (*line, NULL, 10);
          g_array_append_val (pids, pid);
        }
    }
  CU_ASSERT_EQUAL (pids->len, n);
  return pids;
}

/* It has ended, though perhaps nobody has asked how; waits a minute for that.
 */
static gboolean
is_gone (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int)pid);
  for (guint i = 0; i < 6000; i++, usleep (10000))
    {
      g_autofree char *text = NULL;
      if (!g_file_get_contents (path, &text, NULL, NULL))
        return TRUE;
      char *state = strrchr (text, ')');
      if (state && strchr ("ZX", state[2]))
        return TRUE;
    }
  return FALSE;
}

static void
all_gone (const char *path, guint n)
{
  g_autoptr (GArray) pids = processes_in (path, n);
  for (guint i = 0; i < pids->len; i++)
    CU_ASSERT_TRUE (is_gone (g_array_index (pids, GPid, i)));
  unlink (path);
}

/* A limit, in s, of ten times what two runs of the script take that end of
   themselves, 1.5 to 50 s; free with g_free(). */
static char *
limit_for (const char *sh)
{
  g_autofree char *out = NULL, *err = NULL;
  gint64 begin = g_get_monotonic_time ();
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "f", "-n",
                                "2", "-w", "0", "sh", "-c", sh, NULL),
                   0);
  gint64 s = (g_get_monotonic_time () - begin) / (G_USEC_PER_SEC / 10);
  return s < 2 ? g_strdup ("1.5") : g_strdup_printf ("%d", (int)MIN (s, 50));
}

static void
says_limited (const char *out, const char *which, const char *limit,
              const char *how)
{
  g_autofree char *text
      = g_strdup_printf ("\n%s: not over within the limit of %s s: ended by %s",
                         which, limit, how);
  program_says (out, text);
}

/* "a" has a child that takes long; "b" does not heed SIGTERM; "c" closes its
   standard error; "d" ends, but leaves a child that keeps it open; "e" exceeds
   it only later. */
static void
limited (void)
{
  g_autofree char *out = NULL, *err = NULL, *path = NULL, *later = NULL;
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  path = g_build_filename (folder, "pids", NULL);
  later = g_build_filename (folder, "later", NULL);
  g_autofree char *text = g_strdup_printf (
      "t=1; p=%s; l=%s; case $HASS_STRATEGY in "
      "a) echo because >&2; sleep 60 & echo $! >>$p; echo $$ >>$p; wait;; "
      "b) trap '' TERM; echo $$ >>$p; for i in $(seq 600); do sleep 0.1; "
      "done;; "
      "c) exec 2>&-; echo $$ >>$p; sleep 60;; "
      "d) sleep 60 & echo $! >>$p; exit 0;; "
      "e) [ -e $l ] && sleep 60; echo >$l;; esac",
      path, later);
  g_autofree char *sh = script (text), *limit = limit_for (sh);
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b,c,d,e,f",
                                "-n", "2", "-w", "0", "--limit", limit, "sh",
                                "-c", sh, NULL),
                   0);
  says_limited (out, "a", limit, "SIGTERM: because");
  says_limited (out, "b", limit, "SIGKILL, as SIGTERM did not end it\n");
  says_limited (out, "c", limit, "SIGTERM\n");
  says_limited (out, "d", limit, "SIGTERM\n");
  says_limited (out, "e (in round 2)", limit, "SIGTERM\n");
  program_says (out, "f has nothing to be compared with");
  all_gone (path, 5);
  unlink (later);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
}

static void
within_limit (void)
{
  g_autofree char *json = NULL, *err = NULL, *sh = script ("t=2");
  CU_ASSERT_EQUAL (program_run (&json, &err, "hass-bakeoff", "--json", "-s",
                                "a", "-n", "2", "--limit", "60", "sh", "-c", sh,
                                NULL),
                   0);
  g_autoptr (JsonNode) node = json_from_string (json, NULL);
  JsonObject *all = object_of (node), *a = strategy_of (all, "a");
  CU_ASSERT_DOUBLE_EQUAL (number (all, "limit_s"), 60, 0);
  CU_ASSERT_DOUBLE_EQUAL (number (a, "median_s"), 2, 1e-12);
  CU_ASSERT_TRUE (json_object_get_null_member (a, "problem"));
}

/* What ends hass-bakeoff ends the program too, and is what ended it. */
static void
interrupted (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "pids", NULL);
  g_autofree char *program = program_path ("hass-bakeoff");
  g_autofree char *sh = g_strdup_printf (
      "sleep 20 & echo $! >>%s; echo $$ >>%s; wait", path, path);
  const char *argv[] = { program, "-s", "a", "sh", "-c", sh, NULL };
  GPid pid;
  int status = 0;
  CU_ASSERT_TRUE_FATAL (
      g_spawn_async (NULL, (char **)argv, NULL,
                     G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                     NULL, NULL, &pid, NULL));
  g_array_unref (processes_in (path, 2));
  kill (pid, SIGTERM);
  CU_ASSERT_EQUAL (waitpid (pid, &status, 0), pid);
  CU_ASSERT_TRUE (WIFSIGNALED (status) && WTERMSIG (status) == SIGTERM);
  all_gone (path, 2);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
}

static void
without_farms (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "-s", "a,b", "-n",
                                "1", "true", NULL),
                   0);
  program_says (out, "of the whole program: no farm reported one");
}

static void
refuses (const char *wanted, int wanted_status, const char *a, const char *b,
         const char *c)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", a, b, c, NULL),
                   wanted_status);
  CU_ASSERT_STRING_EQUAL (out, "");
  program_says (err, "hass-bakeoff: ");
  program_says (err, wanted);
}

static void
wrong_options (void)
{
  refuses ("no program to run", 2, "--json", NULL, NULL);
  refuses ("--rounds is 0, must be from 1", 2, "--rounds=0", "true", NULL);
  refuses ("--limit is 0, must be from 0.001", 2, "--limit=0", "true", NULL);
  refuses ("--limit is 1000000.5, must be from 0.001 to 1000000 seconds", 2,
           "--limit=1000000.5", "true", NULL);
  refuses ("--limit is -1, must be", 2, "--limit=-1", "true", NULL);
  refuses ("--limit is nan, must be", 2, "--limit=nan", "true", NULL);
  refuses ("for --limit", 2, "--limit=x", "true", NULL);
  refuses ("--seed is -1", 2, "--seed=-1", "true", NULL);
  refuses ("'' in the list of strategies", 2, "-s", "a,,b", "true");
  refuses ("'' in the list of strategies", 2, "-s", "", "true");
  refuses ("strategy 'a:x=1,y=2' is there twice", 2, "-s",
           "a:x=1,y=2,b,a:x=1,y=2", "true");
  refuses ("--no-such", 2, "--no-such", "true", NULL);
  refuses ("/nowhere/program", 1, "-n", "1", "/nowhere/program");
}

static void
help (void)
{
  static const char *const options[] = { "--strategies", "--rounds",
                                         "--warm-up",    "--seed",
                                         "--limit",      "--json" };
  g_autofree char *out = NULL, *err = NULL, *source = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "hass-bakeoff", "--help", NULL), 0);
  CU_ASSERT_FATAL (g_file_get_contents (HASS_TOP "/doc/man/hass-bakeoff.1",
                                        &source, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (source, "\\-", -1);
  g_autofree char *manual = g_strjoinv ("-", parts);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    {
      program_says (out, options[i]);
      program_says (manual, options[i]);
    }
}

static void
statistics (void)
{
  static const double a[] = { 3, 1, 2, 4 };
  double x[12], ones[12];
  for (guint i = 0; i < 12; i++)
    {
      x[i] = (i * 5 % 12) + 1;
      ones[i] = 1;
    }
  CU_ASSERT_DOUBLE_EQUAL (bakeoff_quantile (a, 4, 0.5), 2.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (bakeoff_quantile (a, 4, 0.25), 1.75, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (bakeoff_quantile (a, 1, 1), 3, 1e-12);
  /* Two heads or fewer in 12 throws: 79 of 4096, twice that below 5 %. */
  BakeoffRatio r = bakeoff_ratio (x, ones, 12, 0.05);
  CU_ASSERT_TRUE (r.known);
  CU_ASSERT_DOUBLE_EQUAL (r.median, 6.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r.low, 3, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL (r.high, 10, 1e-12);
  CU_ASSERT_EQUAL (bakeoff_rounds_needed (0.05), 6);
  CU_ASSERT_FALSE (bakeoff_ratio (x, ones, 5, 0.05).known);
  CU_ASSERT_TRUE (bakeoff_ratio (x, ones, 6, 0.05).known);
}

HASS_TEST_SUITE (
    bakeoff,
    { "an example is measured by its farms, misfits are named", example },
    { "a difference in every round is clear", clear_winner },
    { "a difference that comes and goes is noise", noise },
    { "strategies are ranked by the ratios of rounds, not by medians",
      round_by_round },
    { "too few rounds are said to be too few", too_few },
    { "a strategy that fails is named and the others are measured", failures },
    { "a run over the limit is ended with all that it started, and "
      "stops nobody else",
      limited },
    { "a run within the limit counts", within_limit },
    { "what ends hass-bakeoff ends the program too", interrupted },
    { "without farms the program's time counts", without_farms },
    { "wrong options are refused", wrong_options },
    { "help and the manual have all options", help },
    { "intervals are those of the sign test", statistics })

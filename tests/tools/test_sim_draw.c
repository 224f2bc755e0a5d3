/* SPDX-License-Identifier: MIT */
/* test_sim_draw.c: the pictures of hass-sim, and hass-gantt on the trace of
   an example.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "tests/program.h"
#include "tests/draw/svg_parts.h"

static char *folder;

/* Runs a program of bin/ with a line of arguments, in which %s is the test's
   folder. */
static int
run (const char *program, const char *arguments, char **err)
{
  g_auto (GStrv) parts = g_strsplit (arguments, "@", -1);
  g_autofree char *there = g_strjoinv (folder, parts), *out = NULL;
  return program_run_words (&out, err, program, there);
}

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static SvgParts
picture (const char *name)
{
  g_autofree char *path = path_of (name), *svg = NULL;
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &svg, NULL, NULL));
  g_unlink (path);
  return svg_parts (svg);
}

static void
begin (void)
{
  folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (folder);
}

static void
end (void)
{
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
  g_clear_pointer (&folder, g_free);
}

static void
both (void)
{
  g_autofree char *err = NULL;
  begin ();
  CU_ASSERT_EQUAL (run ("hass-sim",
                        "-w skmd-black-scholes -n 4 --no-static "
                        "-s hass-i,static:cpu=0.3,naive-greedy "
                        "--gantt @/g.svg --plot @/p.svg",
                        &err),
                   0);
  SvgParts g = picture ("g.svg"), p = picture ("p.svg");
  CU_ASSERT_EQUAL (g.lanes, 8 + 2 * 3);
  CU_ASSERT_TRUE (g.bars > 0);
  CU_ASSERT_TRUE (g.highest <= g.right + 0.01);
  CU_ASSERT_TRUE (svg_says (&g, "skmd-black-scholes on skmd, strategy "
                                "static:cpu=0.3: "));
  CU_ASSERT_TRUE (svg_says (&g, "in 4 rounds"));
  CU_ASSERT_EQUAL (p.lines, 2); /* hass-i does not serve this farm */
  CU_ASSERT_EQUAL (p.areas, 3);
  CU_ASSERT_TRUE (svg_says (&p, "shares under static:cpu=0.3"));
  svg_parts_clear (&g);
  svg_parts_clear (&p);
  end ();
}

static void
lost (void)
{
  g_autofree char *err = NULL, *path = NULL, *svg = NULL;
  begin ();
  CU_ASSERT_EQUAL (run ("hass-sim",
                        "-w thesis-equal -n 3 --no-static -s skmd "
                        "--lose gpu0:50% --gantt @/g.svg",
                        &err),
                   0);
  path = path_of ("g.svg");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &svg, NULL, NULL));
  SvgParts g = picture ("g.svg");
  CU_ASSERT_TRUE (svg_says (&g, "; 1 bundle failed"));
  CU_ASSERT_PTR_NOT_NULL (strstr (svg, "<title>gpu0, a bundle failed\nat "));
  CU_ASSERT_PTR_NOT_NULL (strstr (svg, " units were given back, "));
  svg_parts_clear (&g);
  end ();
}

static void
refuses (const char *arguments, const char *wanted)
{
  g_autofree char *err = NULL;
  CU_ASSERT_EQUAL (run ("hass-sim", arguments, &err), 2);
  gboolean there = err && strstr (err, wanted);
  CU_ASSERT_TRUE (there);
  if (!there)
    printf ("\n    '%s' is not in: %s", wanted, err ? err : "nothing");
}

static void
not_drawn (void)
{
  begin ();
  refuses ("--suite cap --gantt @/g.svg", "--workload or --dataflow is needed");
  refuses ("-w cap-mm -n 2 --no-static -s hass-i --gantt @/g.svg",
           "no strategy ran");
  g_autofree char *err = NULL;
  CU_ASSERT_EQUAL (
      run ("hass-sim", "-w cap-mm -n 1 --no-static --plot @/no/p.svg", &err),
      1);
  CU_ASSERT_TRUE (err && strstr (err, "p.svg"));
  refuses ("-w cap-mm -n 2001 --no-static -s static --plot @/p.svg",
           "at most 2000 rounds, these are 2001");
  end ();
}

/* What is wrong is said before a file is replaced. */
static void
one_file (void)
{
  g_autofree char *err = NULL, *trace = NULL, *text = NULL;
  begin ();
  refuses ("-w cap-mm -n 1 --gantt @/g.svg --plot @/./g.svg",
           "/./g.svg would replace the file of --gantt");
  refuses ("-w cap-mm -n 1 --gantt @/t --trace @/t",
           "/t would replace the file of --trace");
  trace = path_of ("t");
  CU_ASSERT_TRUE (g_file_set_contents (trace, "{}", -1, NULL));
  refuses ("--replay @/t --explain @/t",
           "/t would replace the file of --replay");
  CU_ASSERT_EQUAL (run ("hass-gantt", "@/t @/./t", &err), 2);
  CU_ASSERT_TRUE (err && strstr (err, "the chart would replace the trace"));
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (run ("hass-gantt", "--farm 0 @/t @/g.svg", &err), 2);
  CU_ASSERT_TRUE (err && strstr (err, "--farm is 0, must be from 1"));
  refuses ("--replay @/t --replay-farm 0", "farms are counted from 1");
  CU_ASSERT_TRUE (g_file_get_contents (trace, &text, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (text ? text : "", "{}");
  g_unlink (trace);
  end ();
}

static void
own_application (void)
{
  g_autofree char *err = NULL, *trace = NULL;
  begin ();
  trace = path_of ("t.jsonl");
  g_setenv ("HASS_TRACE", trace, TRUE);
  g_setenv ("HASS_NGPU", "0", TRUE);
  CU_ASSERT_EQUAL (run ("quicksort", "", &err), 0);
  g_unsetenv ("HASS_TRACE");
  g_unsetenv ("HASS_NGPU");
  g_free (err);
  err = NULL;
  CU_ASSERT_EQUAL (
      run ("hass-gantt", "--title Sorting @/t.jsonl @/g.svg", &err), 0);
  CU_ASSERT_STRING_EQUAL (err ? err : "it did not run", "");
  SvgParts g = picture ("g.svg");
  CU_ASSERT_TRUE (g.lanes > 0 && g.bars + g.areas > 0);
  CU_ASSERT_TRUE (svg_says (&g, "Sorting on this machine, strategy"));
  svg_parts_clear (&g);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (run ("hass-gantt", "@/t.jsonl", &err), 2);
  g_unlink (trace);
  g_clear_pointer (&err, g_free);
  CU_ASSERT_EQUAL (run ("hass-gantt", "@/t.jsonl @/g.svg", &err), 1);
  CU_ASSERT_PTR_NOT_NULL (strstr (err, "t.jsonl"));
  end ();
}

HASS_TEST_SUITE (sim_draw,
                 { "hass-sim draws a chart and plots of what ran", both },
                 { "bundles of a GPU that is lost are drawn as failed", lost },
                 { "hass-sim says what it cannot draw", not_drawn },
                 { "no output is written over an input or another output",
                   one_file },
                 { "hass-gantt draws a live application", own_application })

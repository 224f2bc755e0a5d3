/* SPDX-License-Identifier: MIT */
/* test_flow_draw.c: hass-sim --dataflow with --trace and --gantt.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"
#include "flow_program.h"
#include "hass_test.h"
#include "tests/draw/svg_parts.h"
#include "tests/program.h"
#include "tests/count.h"

/* Runs hass-sim with a file of a new folder in place of %s. Returns: what is in
   the file then; free with g_free(). */
static char *
written (const char *format)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  g_auto (GStrv) parts = g_strsplit (format, "@", 2);
  g_autofree char *words = g_strjoinv (path, parts);
  g_autofree char *out = flow_prints (words);
  char *text = NULL;
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  g_unlink (path);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
  program_says (out, "virtual time");
  return text;
}

static void
small (void)
{
  /* 20 tasks on 4 cores and 2 GPUs, which take all of them */
  g_autofree char *svg = written ("cholesky:4 -p thesis --gantt @");
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_EQUAL (parts.lanes, 4 + 2);
  CU_ASSERT_EQUAL (parts.bars, 20);
  CU_ASSERT_TRUE (svg_says (&parts, "gpu0"));
  CU_ASSERT_TRUE (svg_says (&parts, "kernel"));
  CU_ASSERT_FALSE (svg_says (&parts, "copy in"));
  CU_ASSERT_TRUE (svg_says (&parts, "cholesky:4 on thesis, strategy "));
  CU_ASSERT_TRUE (svg_says (&parts, "20 tasks of 4 codelets"));
  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *tip = g_strdup_printf ("\ntask %u</title>", i);
      CU_ASSERT_EQUAL (count (svg, tip), 1);
    }
  svg_parts_clear (&parts);
}

static void
of_strategy (void)
{
  g_autofree char *svg
      = written ("cholesky:4 -p thesis -s flow-eager --gantt @");
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_TRUE (
      svg_says (&parts, "cholesky:4 on thesis, strategy flow-eager"));
  svg_parts_clear (&parts);
}

static void
on_cores (void)
{
  g_autofree char *machine
      = g_build_filename (g_get_tmp_dir (), "XXXXXX", NULL);
  static const char four[] = "[platform]\nname = four\n[cpu]\ncores = 4\n"
                             "work_per_us = 1\npull_us = 0\n";
  int fd = g_mkstemp (machine);
  CU_ASSERT_TRUE_FATAL (fd >= 0 && g_close (fd, NULL));
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (machine, four, -1, NULL));
  g_autofree char *words
      = g_strdup_printf ("forkjoin:8 -p %s --gantt @", machine);
  g_autofree char *svg = written (words);
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_EQUAL (parts.lanes, 4);
  CU_ASSERT_EQUAL (parts.bars, 10);
  svg_parts_clear (&parts);
  g_unlink (machine);
}

static void
many (void)
{
  g_autofree char *svg = written ("cholesky:40 -p h200x2 --gantt @");
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_TRUE (strlen (svg) < 1000000);
  CU_ASSERT_TRUE (svg_says (&parts, "11480 tasks of 4 codelets"));
  CU_ASSERT_EQUAL (parts.lanes, 1 + 2); /* 32 cores are one area */
  CU_ASSERT_TRUE (parts.areas > 0);
  CU_ASSERT_TRUE (parts.bars <= 4000);
  svg_parts_clear (&parts);
}

/* The same trace as that of HASS_TRACE, which --trace does not need. */
static void
traced (void)
{
  g_autofree char *trace = written ("cholesky:5 -p thesis --trace @");
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "t.jsonl", NULL);
  g_autofree char *text = NULL;
  g_setenv ("HASS_TRACE", path, TRUE);
  g_autofree char *out = flow_prints ("cholesky:5 -p thesis");
  g_unsetenv ("HASS_TRACE");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (trace, text);
  CU_ASSERT_EQUAL (count (trace, "\"event\":\"task\""), 35);
  g_unlink (path);
  g_rmdir (folder);
}

static void
lost (void)
{
  g_autofree char *svg
      = written ("cholesky:8 -p thesis --lose gpu0:30% --gantt @");
  g_autofree char *whole = written ("cholesky:8 -p thesis --gantt @");
  SvgParts parts = svg_parts (svg), sound = svg_parts (whole);
  CU_ASSERT_TRUE (svg_says (&parts, "lost"));
  CU_ASSERT_FALSE (svg_says (&sound, "lost"));
  svg_parts_clear (&parts);
  svg_parts_clear (&sound);
}

/* -- Chains -------------------------------------------------------------- */

#define MOST_TASKS 64

/* A run: begins and ends in ns, and @after, by a reference: the predecessor
   that ended last, -1: none. */
typedef struct
{
  guint n;
  gint64 begin[MOST_TASKS], end[MOST_TASKS];
  gint after[MOST_TASKS], told[MOST_TASKS];
} Flow;

static void
read_line (Flow *flow, const char *line)
{
  gint64 end, begin;
  guint task;
  const char *at = strstr (line, "\"begin\":");
  const char *after = strstr (line, "\"after\":");
  if (!strstr (line, "\"event\":\"task\""))
    return;
  CU_ASSERT_EQUAL_FATAL (sscanf (line,
                                 "{\"t\":%" G_GINT64_FORMAT
                                 ",\"event\":\"task\",\"task\":%u",
                                 &end, &task),
                         2);
  CU_ASSERT_TRUE_FATAL (at && after && task < MOST_TASKS);
  begin = g_ascii_strtoll (at + strlen ("\"begin\":"), NULL, 10);
  after += strlen ("\"after\":");
  flow->begin[task] = begin;
  flow->end[task] = end;
  flow->told[task] = g_str_has_prefix (after, "null") ? -1 : atoi (after);
  flow->n++;
}

/* Takes the edges from HASS_DOT, which has them by the accesses in the order of
   submission. */
static void
read_edge (Flow *flow, const char *line)
{
  guint from, to;
  if (sscanf (line, " t%u -> t%u", &from, &to) != 2)
    return;
  CU_ASSERT_TRUE_FATAL (from < flow->n && to < flow->n);
  if (flow->after[to] < 0
      || flow->end[from] > flow->end[(guint)flow->after[to]])
    flow->after[to] = (gint)from;
}

static void
read_lines (Flow *flow, const char *path, void (*read) (Flow *, const char *))
{
  g_autofree char *text = NULL;
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    read (flow, lines[i]);
  g_unlink (path);
}

/* Returns: the line that a table begins with for a task. */
static char *
caption_of (const Flow *flow, guint task, const char *codelet)
{
  gint64 computing = 0, waiting = 0, begin = 0;
  guint n = 0;
  for (gint t = (gint)task, next = -1; t >= 0; next = t, t = flow->after[t])
    {
      n++;
      computing += flow->end[t] - flow->begin[t];
      waiting += next >= 0 ? flow->begin[next] - flow->end[t] : 0;
      begin = flow->begin[t];
    }
  g_autofree char *c = draw_duration ((double)computing);
  g_autofree char *w = draw_duration ((double)waiting);
  g_autofree char *from = draw_duration ((double)begin);
  return g_strdup_printf ("task %u %s: chain of %u tasks, %s computing, %s "
                          "waiting%s%s%s\n",
                          task, codelet, n, c, w, begin > 0 ? ", from " : "",
                          begin > 0 ? from : "", begin > 0 ? " on" : "");
}

/* A Cholesky factorisation of 6 x 6 tiles on a machine. */
static void
factorise (const char *machine)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "platform", NULL);
  g_autofree char *dot = g_build_filename (folder, "dot", NULL);
  g_autofree char *trace = g_build_filename (folder, "trace", NULL);
  g_autofree char *svg = g_build_filename (folder, "svg", NULL);
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (file, machine, -1, NULL));
  g_setenv ("HASS_DOT", dot, TRUE);
  g_autofree char *words
      = g_strdup_printf ("cholesky:6 -p %s --trace %s", file, trace);
  g_autofree char *out = flow_prints (words);
  g_unsetenv ("HASS_DOT");
  Flow flow = { .n = 0 };
  for (guint t = 0; t < MOST_TASKS; t++)
    flow.after[t] = -1;
  read_lines (&flow, trace, read_line);
  read_lines (&flow, dot, read_edge);
  CU_ASSERT_EQUAL_FATAL (flow.n, 56);
  for (guint t = 0; t < flow.n; t++)
    CU_ASSERT_EQUAL (flow.told[t], flow.after[t]);
  g_autofree char *last = caption_of (&flow, 55, "potrf");
  static const char *const tasks[] = { "last", "55" };
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *drawn = g_strdup_printf (
          "cholesky:6 -p %s --gantt %s --task %s", file, svg, tasks[i]);
      g_autofree char *told = flow_prints (drawn);
      program_says (told, last);
    }
  g_unlink (svg);
  g_unlink (file);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
}

static void
on_one_core (void)
{
  factorise ("[platform]\nname = one\n[cpu]\ncores = 1\nwork_per_us = 1\n"
             "pull_us = 0\n");
}

static void
on_one_gpu (void)
{
  factorise ("[platform]\nname = one\n[cpu]\ncores = 1\nwork_per_us = 1\n"
             "pull_us = 0\n[gpu0]\nmultiprocessors = 4\nwidth = 64\n"
             "work_per_us = 1000\nlaunch_us = 2\nlink_us = 5\nh2d_gbps = 1\n");
}

/* hass-gantt draws the chain of a trace as hass-sim does, and prints it. */
static void
by_gantt (void)
{
  g_autofree char *trace = written ("cholesky:5 -p thesis --trace @");
  g_autofree char *folder = g_dir_make_tmp ("hass-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "t.jsonl", NULL);
  g_autofree char *svg = g_build_filename (folder, "t.svg", NULL);
  g_autofree char *text = NULL, *sim = NULL;
  sim = written ("cholesky:5 -p thesis --gantt @ --task 34");
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (file, trace, -1, NULL));
  static const struct
  {
    const char *task;
    int status;
    const char *says;
  } runs[]
      = { { "last", 0, "task 34 potrf: chain of " },
          { "3", 0, "task 3 trsm: chain of 2 tasks, " },
          { "35", 1,
            "task 35 is not in the trace of 'cholesky', which "
            "has tasks from 0 to 34" },
          { "first", 2, "--task is 'first', must be the number of a task" },
          { "-3", 2, "--task is '-3', must be the number of a task" } };
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autofree char *task = g_strdup_printf ("--task=%s", runs[i].task);
      g_autofree char *out = NULL, *err = NULL;
      CU_ASSERT_EQUAL (
          program_run (&out, &err, "hass-gantt", task, file, svg, NULL),
          runs[i].status);
      program_says (runs[i].status == 0 ? out : err, runs[i].says);
      CU_ASSERT_STRING_EQUAL (runs[i].status == 0 ? err : out, "");
      if (i > 0)
        continue;
      CU_ASSERT_TRUE_FATAL (g_file_get_contents (svg, &text, NULL, NULL));
      CU_ASSERT_EQUAL (count (text, "class=\"link\""),
                       count (sim, "class=\"link\""));
      CU_ASSERT_TRUE (count (text, "class=\"link\"") > 5);
    }
  g_unlink (file);
  g_unlink (svg);
  g_rmdir (folder);
}

static void
refused (void)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (
      program_run_words (&out, &err, "hass-sim",
                         "--dataflow cholesky:4 --gantt /no/g.svg"),
      1);
  program_says (err, "/no/g.svg");
  flow_program_refuses ("cholesky:4 --gantt", "Missing argument for --gantt");
  flow_program_refuses ("cholesky:4 --task last",
                        "--task belongs to --dataflow with --gantt");
  flow_program_refuses ("cholesky:4 --gantt /dev/null --task x",
                        "--task is 'x', must be");
  flow_program_refuses ("cholesky:4 --gantt /dev/null --task 20",
                        "has tasks from 0 to 19");
}

HASS_TEST_SUITE (
    sim_flow_draw,
    { "the chart of a small graph has a bar for each task", small },
    { "it is drawn under the strategy that is named", of_strategy },
    { "it has a row for each core", on_cores },
    { "that of 11,480 tasks stays small and has areas", many },
    { "--trace writes the trace that HASS_TRACE writes", traced },
    { "the chart says that a GPU was lost", lost },
    { "on one core a factorisation's chain is that of its graph", on_one_core },
    { "likewise on one GPU", on_one_gpu },
    { "hass-gantt shows the chain that hass-sim shows, and prints "
      "it",
      by_gantt },
    { "a chart that cannot be written, and a wrong task, fail", refused })

/* SPDX-License-Identifier: MIT */
/* test_flow_draw.c: hass-sim --dataflow with --trace and --gantt.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <string.h>

#include "flow_program.h"
#include "hass_test.h"
#include "tests/draw/svg_parts.h"
#include "tests/program.h"

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

static guint
count (const char *text, const char *what)
{
  guint n = 0;
  for (; (text = strstr (text, what)); text += strlen (what))
    n++;
  return n;
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

static void
refused (void)
{
  flow_program_refuses ("cholesky:4 --gantt /no/g.svg", "/no/g.svg");
  flow_program_refuses ("cholesky:4 --gantt", "Missing argument for --gantt");
}

HASS_TEST_SUITE (sim_flow_draw,
                 { "the chart of a small graph has a bar for each task",
                   small },
                 { "it has a row for each core", on_cores },
                 { "that of 11,480 tasks stays small and has areas", many },
                 { "--trace writes the trace that HASS_TRACE writes", traced },
                 { "the chart says that a GPU was lost", lost },
                 { "a chart that cannot be written fails", refused })

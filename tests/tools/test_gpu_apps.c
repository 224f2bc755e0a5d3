/* SPDX-License-Identifier: MIT */
/* test_gpu_apps.c: gpu-apps runs from its options to its tables, on the CPU
   alone and on a modelled machine. A suite of its own, as programs cannot run
   under ThreadSanitizer: oneTBB's own threads are excused in the test program
   only.
   Thread safety: one thread. */
#include "hass_test.h"
#include "program.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* With the source of its GPU worker. */
static const struct
{
  const char *name, *kernel;
} programs[] = {
  { "string_search", "examples/string_search/gpu.cu" },
#ifndef WITHOUT_matrix_multiply
  { "matrix_multiply", "examples/matrix_multiply/cublas.cu" },
#endif
  { "monte_carlo pi", "examples/monte_carlo/gpu.cu" },
  { "monte_carlo asian", "examples/monte_carlo/gpu.cu" },
  { "person_query", "examples/person_query/kernel.cu" },
};

/* KERNELS: what of CUDA make compiles, with a space behind each. */
static gboolean
has_gpu_worker (guint program)
{
  g_autofree char *file = g_strconcat (programs[program].kernel, " ", NULL);
  return strstr (KERNELS, file) != NULL;
}

/* What it said, and left behind. */
typedef struct
{
  int status;
  char *out, *err, *markdown, *folder, *temporary;
} Outcome;

static Outcome
run (const char *arguments, const char *n_gpus)
{
  Outcome o = { .status = -1 };
  int status;
  g_autofree char *program = program_in_build ("bench", "gpu-apps");
  o.folder = g_dir_make_tmp ("hass-test-XXXXXX", NULL);
  o.temporary = g_build_filename (o.folder, "tmp", NULL);
  CU_ASSERT_EQUAL_FATAL (g_mkdir (o.temporary, 0700), 0);
  g_autofree char *path = g_build_filename (o.folder, "apps.md", NULL);
  g_autofree char *line
      = g_strdup_printf ("env TMPDIR=%s %s%s %s --out %s %s", o.temporary,
                         n_gpus ? "HASS_NGPU=" : "", n_gpus ? n_gpus : "",
                         program, o.folder, arguments);
  CU_ASSERT_TRUE_FATAL (
      g_spawn_command_line_sync (line, &o.out, &o.err, &status, NULL));
  o.status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  g_file_get_contents (path, &o.markdown, NULL, NULL);
  g_unlink (path);
  return o;
}

/* Its store of rates is gone: the temporary folder is empty. */
static void
clear (Outcome *o)
{
  CU_ASSERT_EQUAL (g_rmdir (o->temporary), 0);
  CU_ASSERT_EQUAL (g_rmdir (o->folder), 0);
  g_free (o->out);
  g_free (o->err);
  g_free (o->markdown);
  g_free (o->folder);
  g_free (o->temporary);
}

/* The rest of the markdown from the section on; NULL: there is none. */
static const char *
section (const Outcome *o, const char *program, const char *devices)
{
  g_autofree char *title = g_strdup_printf ("## %s, %s\n", program, devices);
  const char *at = o->markdown ? strstr (o->markdown, title) : NULL;
  CU_ASSERT_PTR_NOT_NULL (at);
  if (!at)
    printf ("\n    no section %s%s", title, o->err);
  return at;
}

/* A cell of the first row that begins so, the name's being 0. */
static double
cell (const char *text, const char *row, guint column)
{
  g_autofree char *begin = g_strdup_printf ("| %s", row);
  const char *at = text ? strstr (text, begin) : NULL;
  for (guint i = 0; at && i < column; i++)
    at = strchr (at + 1, '|');
  CU_ASSERT_PTR_NOT_NULL (at);
  if (!at)
    printf ("\n    no row %s", row);
  return at ? g_ascii_strtod (at + 1, NULL) : -1;
}

static void
on_the_cpu (void)
{
  Outcome o = run ("--cpu-only --quick --strategies=auto,hass-p,hass-i", NULL);
  CU_ASSERT_EQUAL (o.status, 0);
  CU_ASSERT_STRING_EQUAL (o.err, "");
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      const char *text = section (&o, programs[i].name, "CPU only");
      CU_ASSERT_TRUE (cell (text, "auto |", 1) > 0);
      CU_ASSERT_TRUE (cell (text, "static, 100.0 % CPU |", 1) > 0);
      CU_ASSERT_EQUAL (cell (text, "static, 100.0 % CPU |", 3), 100);
      CU_ASSERT_EQUAL (cell (text, "auto |", 5), 0);
      CU_ASSERT_TRUE (text && strstr (text, "- hass-i: does not serve"));
      const char *warm = text ? strstr (text, "\nWarm: ") : NULL;
      CU_ASSERT_TRUE (cell (warm, "auto |", 1) > 0);
      g_autofree char *target = g_strdup_printf (
          "%s, CPU only, warm: speed of auto / best static", programs[i].name);
      CU_ASSERT_TRUE (cell (o.markdown, target, 2) > 0);
    }
  const char *asian = section (&o, "monte_carlo asian", "CPU only");
  const char *warm = asian ? strstr (asian, "Warm: ") : NULL;
  CU_ASSERT_TRUE (warm && g_str_has_prefix (warm, "Warm: 1 device"));
  clear (&o);
}

/* The model is exact: a link of 55 GB/s and 16 cores of 5.5 are best used
   with 1 - 55 / 143 of the text on the CPU, and a little more for the copy's
   latency. */
static void
on_a_model (void)
{
  Outcome o = run ("--platform " HASS_TOP "/doc/platforms/h200.platform "
                   "--quick",
                   NULL);
  CU_ASSERT_EQUAL (o.status, 0);
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      if (has_gpu_worker (i))
        {
          const char *text = section (&o, programs[i].name, "CPU and 1 GPU");
          CU_ASSERT_TRUE (cell (text, "auto |", 1) > 0);
          continue;
        }
      g_autofree char *without = g_strdup_printf (
          "## %s\n\nBuilt without its GPU worker.", programs[i].name);
      CU_ASSERT_TRUE (o.markdown && strstr (o.markdown, without));
    }
  if (!has_gpu_worker (0))
    {
      clear (&o);
      return;
    }
  const char *search = section (&o, "string_search", "CPU and 1 GPU");
  double part = cell (search, "static, ", 5);
  CU_ASSERT_TRUE (part > 100 * 55 / 143.0 - 6 && part < 100 * 55 / 143.0 + 1);
  CU_ASSERT_EQUAL (cell (search, "static, ", 3), 100);
  CU_ASSERT_TRUE (cell (search, "auto |", 5) > 0);
  CU_ASSERT_TRUE (cell (search, "auto |", 3) <= 101);
  const char *pi = section (&o, "monte_carlo pi", "CPU and 1 GPU");
  CU_ASSERT_TRUE (pi && strstr (pi, "the best's: dropped."));
  clear (&o);
}

static void
without_gpu (void)
{
  Outcome o = run ("", "0");
  CU_ASSERT_EQUAL (o.status, 0);
  CU_ASSERT_PTR_NOT_NULL (strstr (o.out, "no GPU: nothing measured"));
  CU_ASSERT_PTR_NULL (o.markdown);
  clear (&o);
}

static void
refuses (void)
{
  static const char *const wrong[][2]
      = { { "--strategies=auto,no-such", "known are" },
          { "--app=no-such", "known are string_search, " },
          { "--repeat=0", "--repeat must be" },
          { "--time-limit=-1", "--time-limit must be" },
          { "--cpu-only --gpus=1", "--cpu-only goes with" },
          { "more", "unknown argument more" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      Outcome o = run (wrong[i][0], NULL);
      CU_ASSERT_EQUAL (o.status, 2);
      CU_ASSERT_PTR_NOT_NULL (strstr (o.err, wrong[i][1]));
      clear (&o);
    }
  Outcome o = run ("--platform /no/such/file", NULL);
  CU_ASSERT_EQUAL (o.status, 1);
  CU_ASSERT_PTR_NOT_NULL (strstr (o.err, "/no/such/file"));
  clear (&o);
}

HASS_TEST_SUITE (gpu_apps, { "all applications run on the CPU", on_the_cpu },
                 { "a model's best static division is found", on_a_model },
                 { "without a GPU it says so and succeeds", without_gpu },
                 { "what is wrong is refused", refuses })

/* SPDX-License-Identifier: MIT */
/* test_heat.c: heat against a plain loop, and as users run it.
   Thread safety: one thread. */
#include "hass_test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "heat/heat.h"
#include "tests/program.h"

static const double border[] = { 100, -3, 20.25, 7 };

typedef struct
{
  gsize rows, columns, side, steps, check;
  guint cores;
} Case;

static void
check_case (const Case *c, gboolean built)
{
  g_autoptr (HeatPlate) plate
      = heat_plate_new (c->rows, c->columns, c->side, border);
  HeatJob job = { plate, c->steps, c->check, -1, { .n_cores = c->cores } };
  g_autoptr (GError) error = NULL;
  g_autoptr (HeatGraph) graph = NULL;
  HeatResult result;
  job.run.n_gpus = -1;
  if (built)
    CU_ASSERT_TRUE_FATAL (heat_built (&job, &result, NULL, &error));
  if (!built)
    {
      graph = heat_record (&job, &error);
      CU_ASSERT_PTR_NOT_NULL_FATAL (graph);
      CU_ASSERT_TRUE_FATAL (heat_run (graph, &result, NULL, &error));
    }
  g_autofree double *wanted = heat_plain (plate, c->steps);
  g_autofree double *before = heat_plain (plate, c->steps - 1);
  double change = 0;
  for (gsize i = 0; i < c->rows * c->columns; i++)
    change = fmax (change, fabs (wanted[i] - before[i]));
  CU_ASSERT_EQUAL (result.steps, c->steps);
  CU_ASSERT_EQUAL (result.change, change);
  CU_ASSERT_EQUAL (
      memcmp (plate->cells, wanted, c->rows * c->columns * sizeof *wanted), 0);
}

static void
plain_loop (void)
{
  static const Case cases[]
      = { { 1, 1, 1, 2, 2, 1 },       { 1, 9, 4, 6, 2, 2 },
          { 9, 1, 4, 12, 4, 2 },      { 30, 50, 64, 20, 10, 1 },
          { 64, 64, 16, 1000, 2, 2 }, { 65, 47, 16, 100, 10, 2 },
          { 40, 33, 1, 8, 4, 2 },     { 300, 1100, 1024, 4, 2, 2 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int built = 0; built < 2; built++)
      check_case (&cases[i], built);
}

/* The plate of the same steps is computed again from a graph. */
static void
runs_again (void)
{
  g_autoptr (HeatPlate) plate = heat_plate_new (40, 40, 16, border);
  HeatJob job = { plate, 20, 10, -1, { .n_cores = 2, .n_gpus = -1 } };
  g_autoptr (HeatGraph) graph = heat_record (&job, NULL);
  HeatResult result;
  CU_ASSERT_PTR_NOT_NULL_FATAL (graph);
  g_autofree double *wanted = heat_plain (plate, 20);
  for (int i = 0; i < 3; i++)
    {
      heat_plate_reset (plate);
      CU_ASSERT_TRUE (heat_run (graph, &result, NULL, NULL));
      CU_ASSERT_EQUAL (memcmp (plate->cells, wanted, 1600 * sizeof *wanted), 0);
    }
}

/* By then the change has become less than a millionth, not ten steps before. */
static void
ends_in_time (void)
{
  for (int built = 0; built < 2; built++)
    {
      g_autoptr (HeatPlate) plate = heat_plate_new (20, 20, 8, border);
      HeatJob job = { plate, 100000, 10, 1e-6, { .n_gpus = -1 } };
      g_autoptr (HeatGraph) graph = heat_record (&job, NULL);
      HeatResult result = { 0 }, less = { 0 };
      CU_ASSERT_TRUE (built ? heat_built (&job, &result, NULL, NULL)
                            : heat_run (graph, &result, NULL, NULL));
      CU_ASSERT_TRUE (result.change <= 1e-6 && result.steps % 10 == 0
                      && result.steps > 100 && result.steps < 100000);
      g_autofree double *wanted = heat_plain (plate, result.steps);
      CU_ASSERT_EQUAL (memcmp (plate->cells, wanted, 400 * sizeof *wanted), 0);
      heat_plate_reset (plate);
      job.steps = result.steps - 10;
      CU_ASSERT_TRUE (heat_built (&job, &less, NULL, NULL));
      CU_ASSERT_TRUE (less.steps == result.steps - 10 && less.change > 1e-6);
    }
}

static void
program (void)
{
  g_autofree char *out = NULL, *err = NULL, *path = NULL, *picture = NULL;
  g_autofree char *option = NULL, *compared = NULL;
  gsize n;
  int fd = g_file_open_tmp ("hass-heat-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  option = g_strconcat ("--picture=", path, NULL);
  CU_ASSERT_EQUAL (program_run (&out, &err, "heat", "--rows=30", "--columns=40",
                                "--block=16", "--verify", "--report",
                                "--steps=100", option, NULL),
                   0);
  program_says (out, "30 x 40 cells: after 100 steps");
  program_says (out, "equal to a plain loop\n");
  program_says (err, "heat");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &picture, &n, NULL));
  const char *header = "P5\n40 30\n255\n";
  gsize skip = strlen (header);
  CU_ASSERT_EQUAL_FATAL (n, skip + 1200);
  CU_ASSERT_EQUAL (memcmp (picture, header, skip), 0);
  CU_ASSERT_TRUE ((guint8)picture[skip + 20] > 200 && picture[n - 20] == 0);
  g_unlink (path);
  CU_ASSERT_EQUAL (program_run (&compared, NULL, "heat", "--rows=30",
                                "--columns=40", "--compare", "--steps=20",
                                "--block=16", NULL),
                   0);
  program_says (compared, "ns beside its work");
}

static void
wrong_options (void)
{
  static const char *const all[][2]
      = { { "--rows=0", "--rows=0 is not from 1 to 100000" },
          { "--block=1025", "--block=1025 is not from 1 to 1024" },
          { "--check=3", "--check=3 is odd" },
          { "--steps=15", "--steps=15 is no multiple of --check=10" },
          { "--tolerance=-1", "--tolerance=-1 is not 0 or above" },
          { "--cores=-1", "--cores=-1 is negative" },
          { "--north=nan", "a temperature is not finite" },
          { "--nonsense", "Unknown option --nonsense" },
          { "plate", "unexpected argument: plate" } };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      CU_ASSERT_EQUAL (program_run (&out, &err, "heat", all[i][0], NULL), 2);
      CU_ASSERT_STRING_EQUAL (out, "");
      program_says (err, all[i][1]);
    }
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (program_run (&out, &err, "heat", "--rows=4", "--steps=10",
                                "--picture=/no/such/file", NULL),
                   1);
  program_says (err, "/no/such/file: No such file");
}

HASS_TEST_SUITE (heat,
                 { "all steps of all plates equal a plain loop", plain_loop },
                 { "a recorded graph computes a plate again", runs_again },
                 { "the iteration ends by its tolerance", ends_in_time },
                 { "the program verifies and writes a picture", program },
                 { "wrong options are refused with a sentence", wrong_options })

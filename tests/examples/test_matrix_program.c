/* SPDX-License-Identifier: MIT */
/* test_matrix_program.c: the program matrix_multiply as users run it.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_matrix_multiply

#  include "tests/program.h"

#  include <stdio.h>
#  include <string.h>

#  include "matrix_multiply/options.h"

/* Its exit status, and what it wrote. */
static int
program (const char *arguments, char **out, char **err)
{
  return program_run_words (out, err, "matrix_multiply", arguments);
}

static void
program_runs (void)
{
  static const struct
  {
    const char *arguments, *out;
    int status;
    const char *err;
  } cases[] = {
    { "-n 300 --verify --rounds 2", "round 2:", 0, "" },
    { "-n 300 --m 65 --k 33 --type float --tile 16x40 -v", "verified: ", 0,
      "" },
    { "-n 65 --k 33 --tile 16 --cpu-only --report", "farm matrix_double", 0,
      "" },
    { "-n 80 -v --platform " HASS_TOP "/doc/platforms/thesis.platform",
      "s of virtual time", 0, "" },
    { "-n 80 --json", "\"farm\" : \"matrix_double\"", 0, "total: " },
    { "--help", "--tile=ROWSxCOLS", 0, "" },
    { "--tile 4y5", "", 2, "--tile needs ROWSxCOLS or one number, not '4y5'" },
    { "--tile 0", "", 2, "not '0'" },
    { "--type half", "", 2, "--type is float or double, not 'half'" },
    { "-n 0", "", 2, "--n needs a number from 1 to 1048576, not 0" },
    { "--m -3", "", 2, "--m needs a number" },
    { "--rounds 0", "", 2, "--rounds needs" },
    { "8192", "", 2, "'8192' is not an option" },
    { "--cpu-only --gpu-only", "", 2, "leaves no device for --gpu-only" },
    { "-n 80 --strategy no-such", "", 2, "no-such" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      int status = program (cases[i].arguments, &out, &err);
      if (status == cases[i].status && out && strstr (out, cases[i].out) && err
          && strstr (err, cases[i].err))
        continue;
      printf ("\n    %s: %d, %s%s", cases[i].arguments, status, out, err);
      CU_FAIL ("the program said or did something else");
    }
}

/* As on a processor that is newer than OpenBLAS. */
static void
program_advises (void)
{
#  ifdef __x86_64__
  g_autofree char *out = NULL, *err = NULL, *again = NULL, *quiet = NULL;
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx2"))
    {
      g_setenv ("OPENBLAS_CORETYPE", "Prescott", TRUE);
      CU_ASSERT_EQUAL (program ("-n 65 --cpu-only -v", &out, &err), 0);
      program_says (err, "with OPENBLAS_CORETYPE=");
      g_setenv ("OPENBLAS_CORETYPE", "Haswell", TRUE);
      CU_ASSERT_EQUAL (program ("-n 65 --cpu-only -v", &again, &quiet), 0);
      CU_ASSERT_STRING_EQUAL (quiet, "");
      g_unsetenv ("OPENBLAS_CORETYPE");
      return;
    }
#  endif
  hass_test_skip ("no AVX2");
}

static void
limits_gpus (void)
{
  static const struct
  {
    const char *option;
    gint n_gpus;
  } cases[] = { { "--gpus=0", -1 }, { "--gpus=2", 2 }, { "--report", 0 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char *argv[] = { "matrix_multiply", (char *)cases[i].option, NULL };
      MatrixOptions o;
      CU_ASSERT_TRUE (matrix_options_parse (&o, 2, argv, NULL));
      CU_ASSERT_EQUAL (o.gpus, cases[i].n_gpus);
      CU_ASSERT_EQUAL (o.cpu_only, cases[i].n_gpus < 0);
      matrix_options_clear (&o);
    }
}

HASS_TEST_SUITE (
    examples_matrix_multiply,
    { "matrix_multiply verifies, reports and says what is wrong",
      program_runs },
    { "--gpus=0 means no GPU, as --cpu-only", limits_gpus },
    { "matrix_multiply says when OpenBLAS does not know the processor",
      program_advises })

#endif

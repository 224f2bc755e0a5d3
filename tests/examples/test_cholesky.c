/* SPDX-License-Identifier: MIT */
/* test_cholesky.c: the program cholesky as users run it, and its check.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_cholesky

#  include <math.h>
#  include <stdio.h>
#  include <string.h>
#  include <unistd.h>

#  include <glib/gstdio.h>

#  include "cholesky/cholesky.h"
#  include "cholesky/options.h"
#  include "tests/program.h"

#  define ALWAYS_FULL 1e12
#  define NEVER_FULL 0

static void
program_runs (void)
{
  static const struct
  {
    const char *arguments, *out;
    int status;
    const char *err;
  } cases[] = {
    { "-n 300 --rounds 2", "round 2:", 0, "" },
    { "-n 300 -r 1", "times its rate", 0, "" },
    { "-n 300 --cpu-only --strategy no-such", "", 2, "no-such" },
    { "--cpu-only --gpus 1", "", 2, "--cpu-only leaves no device for --gpus" },
    { "-n 3 some.mtx", "", 2, "--n is of a random matrix, not of a file" },
    { "-n 0 -r 1", "verified: ", 0, "" },
    { "-n 165 -u --type float --tile 16x40 -a", "verified: ", 0, "" },
    { "-n 165 --tile 70x35 --cores 3 --report", "trsm", 0, "" },
    { "-n 1000 -a -r 1", "(times a random vector)", 0, "" },
    { "-n 80 --json", "\"stages\"", 0, "verified: " },
    { "--help", "--tile=ROWSxCOLS", 0, "" },
    { "--tile 4y5", "", 2, "--tile needs ROWSxCOLS or one number, not '4y5'" },
    { "--tile 0", "", 2, "not '0'" },
    { "--type half", "", 2, "--type is float or double, not 'half'" },
    { "-n -1", "", 2, "--n needs a number from 0 to 1048576, not -1" },
    { "-n 1048576", "", 1, "the matrix needs 8192.0 GiB, the machine has" },
    { "--rounds 0", "", 2, "--rounds needs" },
    { "a b", "", 2, "one file at a time, not also 'b'" },
    { "/no/such/file", "", 1, "/no/such/file: No such file" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      int status
          = program_run_words (&out, &err, "cholesky", cases[i].arguments);
      if (status == cases[i].status && out && strstr (out, cases[i].out) && err
          && strstr (err, cases[i].err))
        continue;
      printf ("\n    %s: %d, %s%s", cases[i].arguments, status, out, err);
      CU_FAIL ("the program said or did something else");
    }
}

static void
limits_gpus (void)
{
  static const struct
  {
    const char *option;
    gint n_gpus;
  } cases[] = { { "--gpus=0", -1 },
                { "--gpus=2", 2 },
                { "--cpu-only", -1 },
                { "--report", 0 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char *argv[] = { "cholesky", (char *)cases[i].option, NULL };
      CholeskyOptions o;
      CU_ASSERT_TRUE (cholesky_options_parse (&o, 2, argv, NULL));
      CU_ASSERT_EQUAL (o.gpus, cases[i].n_gpus);
      cholesky_options_clear (&o);
    }
}

/* Runs it on a file of these numbers. */
static int
on_file (const char *numbers, char **out, char **err)
{
  g_autofree char *path = NULL, *text = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX.mtx", &path, NULL);
  CU_ASSERT_TRUE_FATAL (fd >= 0);
  close (fd);
  text = g_strconcat ("%%MatrixMarket matrix coordinate real symmetric\n",
                      numbers, NULL);
  CU_ASSERT_TRUE_FATAL (g_file_set_contents (path, text, -1, NULL));
  int status = program_run (out, err, "cholesky", path, NULL);
  g_unlink (path);
  return status;
}

static void
program_reads (void)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autofree char *none = NULL, *why = NULL;
  CU_ASSERT_EQUAL (on_file ("2 2 3\n1 1 4\n2 1 2\n2 2 9\n", &out, &err), 0);
  program_says (out, "verified: ");
  CU_ASSERT_EQUAL (on_file ("2 2 3\n1 1 4\n2 1 6\n2 2 9\n", &none, &why), 1);
  program_says (why, "leading minor of order 2 is not positive");
}

/* A small problem and its factor. */
static CholeskyProblem
factorised (int how, gsize n)
{
  CholeskyProblem p = { .type = how & 1, .triangle = how >> 1 & 1, .n = n };
  HassLaPotrf s = HASS_LA_POTRF_INIT;
  CU_ASSERT_TRUE_FATAL (cholesky_allocate (&p, NULL));
  CU_ASSERT_TRUE (cholesky_fill (&p, 1, 2, NULL));
  cholesky_keep_diagonal (&p);
  s.type = p.type;
  s.triangle = p.triangle;
  s.n = n;
  s.a = p.a;
  CU_ASSERT_TRUE (hass_la_potrf (&s, NULL, NULL, NULL));
  return p;
}

/* Each type and triangle, in full and times a vector. */
static void
wrong_factors (void)
{
  for (int how = 0; how < 8; how++)
    {
      CholeskyProblem p = factorised (how, 100);
      double limit = how & 4 ? ALWAYS_FULL : NEVER_FULL;
      gboolean upper = p.triangle == HASS_LA_UPPER;
      gsize row = upper ? 50 : 60, col = upper ? 60 : 50;
      double old = cholesky_get (&p, row, col);
      CU_ASSERT_TRUE (cholesky_check (&p, 1, limit).right);
      cholesky_set (&p, row, col, old + 0.001);
      CU_ASSERT_FALSE (cholesky_check (&p, 1, limit).right);
      cholesky_set (&p, row, col, NAN);
      CU_ASSERT_FALSE (cholesky_check (&p, 1, limit).right);
      cholesky_set (&p, row, col, old);
      cholesky_set (&p, col, row, 0.001 + cholesky_get (&p, col, row));
      CU_ASSERT_FALSE (cholesky_check (&p, 1, limit).right);
      cholesky_clear (&p);
    }
}

static void
restores (void)
{
  for (int how = 0; how < 4; how++)
    for (gsize n = 0; n < 70; n += 23)
      {
        CholeskyProblem p = factorised (how, n), other = p;
        CU_ASSERT_TRUE (cholesky_restore (&p, 2, NULL));
        other.a = other.diagonal = NULL;
        CU_ASSERT_TRUE_FATAL (cholesky_allocate (&other, NULL));
        CU_ASSERT_TRUE (cholesky_fill (&other, 1, 1, NULL));
        CU_ASSERT_EQUAL (
            memcmp (p.a, other.a, n * n * cholesky_number_bytes (&p)), 0);
        cholesky_clear (&p);
        cholesky_clear (&other);
      }
}

HASS_TEST_SUITE (
    examples_cholesky,
    { "cholesky verifies, reports and says what is wrong", program_runs },
    { "--gpus=0 means no GPU, as --cpu-only", limits_gpus },
    { "cholesky factorises a file, or names the minor", program_reads },
    { "a wrong factor does not pass the check", wrong_factors },
    { "a factorised matrix comes back from its other triangle", restores })

#endif

/* SPDX-License-Identifier: MIT */
/* test_monte_carlo_program.c: monte_carlo's command line. A suite of its own,
   as programs cannot run under ThreadSanitizer: oneTBB's own threads are
   excused in the test program only.
   Thread safety: one thread. */
#include "hass_test.h"
#include "tests/program.h"

#include <glib.h>
#include <string.h>

#include "monte_carlo/options.h"

static int
run (const char *arguments, char **out, char **err)
{
  return program_run_words (out, err, "monte_carlo", arguments);
}

static void
program_verifies (void)
{
  static const char *const arguments[]
      = { "--verify --samples=300001",
          "--verify --option=european --samples=20001 --steps=5",
          "--verify --option=asian --samples=20001 --steps=5" };
  for (guint i = 0; i < G_N_ELEMENTS (arguments); i++)
    {
      g_autofree char *out = NULL, *err = NULL, *other = NULL, *rest = NULL;
      g_autofree char *one = g_strconcat (arguments[i],
                                          " --cores=1 --cpu-only --block=999 "
                                          "--strategy=naive-greedy",
                                          NULL);
      CU_ASSERT_EQUAL (run (arguments[i], &out, &err), 0);
      CU_ASSERT_EQUAL (run (one, &other, &rest), 0);
      CU_ASSERT_PTR_NOT_NULL (strstr (out, "ok, the same bits"));
      CU_ASSERT_STRING_EQUAL (out, other);
      CU_ASSERT_STRING_EQUAL (err, "");
    }
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
      char *words[] = { "monte_carlo", (char *)cases[i].option, NULL };
      char **argv = words;
      int argc = 2;
      McOptions o;
      CU_ASSERT_TRUE (monte_carlo_options_parse (&o, &argc, &argv, NULL));
      CU_ASSERT_EQUAL (o.job.run.n_gpus, cases[i].n_gpus);
      monte_carlo_options_clear (&o);
    }
}

static void
program_refuses (void)
{
  static const char *const wrong[][2]
      = { { "--option=barrier", "--option=barrier is neither" },
          { "--samples=-1", "--samples=-1 is not a number from 1 to" },
          { "--option=asian --steps=0",
            "--steps=0 is not a number from 1 to 65536" },
          { "--option=asian --volatility=-1", "--volatility=-1 is not" },
          { "--option=asian --strike=nan", "--strike=nan is not" },
          { "--cores=-1", "--cores=-1 is not" },
          { "--cpu-only --gpu-only", "exclude each other" },
          { "--pi --option=asian", "exclude each other" },
          { "--nonsense", "Unknown option" },
          { "more", "no arguments" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *out = NULL, *err = NULL;
      CU_ASSERT_EQUAL (run (wrong[i][0], &out, &err), 2);
      CU_ASSERT_PTR_NOT_NULL (strstr (err, wrong[i][1]));
    }
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run ("--strategy=no-such", &out, &err), 2);
  CU_ASSERT_PTR_NOT_NULL (strstr (err, "known are"));
}

HASS_TEST_SUITE (monte_carlo_program,
                 { "monte_carlo verifies itself and prints the same each time",
                   program_verifies },
                 { "monte_carlo says what is wrong", program_refuses },
                 { "--gpus=0 means no GPU, as --cpu-only", limits_gpus })

/* SPDX-License-Identifier: MIT */
/* test_align_program.c: align as users run it, and its FASTA reader.
   Thread safety: one thread. */
#include "hass_test.h"

#include <glib/gstdio.h>
#include <string.h>

#include "program.h"

/* Two files. */
typedef struct
{
  char *dir, *names[2];
} Files;

static Files
make_files (const char *a, const char *b)
{
  Files f;
  f.dir = g_dir_make_tmp ("hass-align-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (f.dir);
  for (int i = 0; i < 2; i++)
    {
      f.names[i] = g_build_filename (f.dir, i ? "b.fa" : "a.fa", NULL);
      CU_ASSERT_TRUE_FATAL (
          g_file_set_contents (f.names[i], i ? b : a, -1, NULL));
    }
  return f;
}

static void
remove_files (Files *f)
{
  for (int i = 0; i < 2; i++)
    {
      g_unlink (f->names[i]);
      g_free (f->names[i]);
    }
  g_rmdir (f->dir);
  g_free (f->dir);
}

/* Runs align with @option on files of these contents. */
static void
expect (const char *option, const char *a, const char *b, int status,
        const char *wanted_out, const char *wanted_err)
{
  Files f = make_files (a, b);
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (
      program_run (&out, &err, "align", option, f.names[0], f.names[1], NULL),
      status);
  if (wanted_out && g_strcmp0 (out, wanted_out) != 0)
    program_says (out, wanted_out);
  CU_ASSERT_TRUE (!wanted_out || g_strcmp0 (out, wanted_out) == 0);
  if (wanted_err)
    program_says (err, wanted_err);
  else
    CU_ASSERT_STRING_EQUAL (err, "");
  remove_files (&f);
}

static void
prints (void)
{
  const char *a = ">one first\nACGTTTGACCA\nGGACTTNNACG\n";
  const char *b = ">two\nTTACGTTTGACAGGACTAANACG\n";
  expect ("--score-only", a, b, 0, "23\n", NULL);
  expect ("--cigar", a, b, 0, "one\t1\t16\ttwo\t3\t17\t23\t8=1I7=\n", NULL);
  expect ("--cores=1", a, b, 0,
          "one\t1-16 of 22\ntwo\t3-17 of 23\n"
          "score 23, 16 columns, 93.8 % equal, 6.2 % gaps\n\n"
          "         1  ACGTTTGACCAGGACT  16\n"
          "            |||||||| |||||||\n"
          "         3  ACGTTTGA-CAGGACT  17\n",
          NULL);
  expect ("--report", a, b, 0, NULL, "vectors");
}

static void
proteins (void)
{
  const char *a = ">a\nMKWVTFISLLFLFSSAYSRGVFRR\n";
  const char *b = ">b\nMKWVTFLSLLFLFSSAYSRGVF*\n";
  expect ("--cigar", a, b, 0, "a\t1\t22\tb\t1\t22\t110\t6=1X15=\n", NULL);
  expect ("--match=1", a, b, 0, NULL, NULL);
  expect ("--cigar", ">a\nACGT\n", ">b\nWWWW\n", 0, "a\t0\t0\tb\t0\t0\t0\t*\n",
          NULL);
}

static void
files (void)
{
  expect ("--cigar", "; a comment\r\nacgt\r\nACGT\r\n", ">b\nACG TAC\tGT", 0,
          "*\t1\t8\tb\t1\t8\t16\t8=\n", NULL);
  expect ("--cigar", "", ">b\nACGT\n", 0, "*\t0\t0\tb\t0\t0\t0\t*\n", NULL);
  expect ("--cigar", ">a\n>b\nACGT\n", ">c\nACGT\n>d\nAA\n", 0,
          "a\t0\t0\tc\t0\t0\t0\t*\n", "only the first sequence");
  expect ("--cigar", ">a\nACGT\n", ">b\nACGT\nAC-GT\n", 1, "",
          "line 3 has other characters");
}

static void
wrong_options (void)
{
  static const char *const all[][2] = {
    { "--match=0", "--match=0 is not from 1 to 50" },
    { "--mismatch=1", "--mismatch=1 is not from -100 to 0" },
    { "--gap-open=-1", "--gap-open=-1 is not from 0 to 1000" },
    { "--gap-extend=-1", "--gap-extend=-1 is not from 0 to 50" },
    { "--tile=0", "--tile=0 is not from 256 to 2048" },
    { "--match=51", "--match=51 is not from 1 to 50" },
    { "--mismatch=2", "--mismatch=2 is not from -100 to 0" },
    { "--gap-open=1001", "--gap-open=1001 is not from 0 to 1000" },
    { "--gap-extend=51", "--gap-extend=51 is not from 0 to 50" },
    { "--tile=300", "--tile=300 is no multiple of 256" },
    { "--cores=-1", "--cores=-1 is negative" },
    { "--global", "Unknown option --global" },
    { "-", "there are 3 arguments" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    expect (all[i][0], ">a\nA\n", ">b\nA\n", 2, "", all[i][1]);
  expect ("--gap-open=0", ">a\nA\n", ">b\nA\n", 2, "",
          "costs 0, which is below 2");
  expect ("--gap-open=1", ">a\nA\n", ">b\nA\n", 2, "",
          "costs 1, which is below 2");
  g_autofree char *err = NULL;
  CU_ASSERT_EQUAL (program_run (NULL, &err, "align", "-", "-", NULL), 2);
  program_says (err, "standard input has one sequence only");
  g_autofree char *missing = NULL;
  CU_ASSERT_EQUAL (
      program_run (NULL, &missing, "align", "/no/such", "/no/such", NULL), 1);
  program_says (missing, "/no/such");
}

HASS_TEST_SUITE (align_program,
                 { "a score, a line or all columns are printed", prints },
                 { "proteins are aligned by BLOSUM62", proteins },
                 { "FASTA files of all kinds are read", files },
                 { "wrong options are refused with a sentence", wrong_options })

/* SPDX-License-Identifier: MIT */
/* test_y4m_program.c: y4m_denoise's command line. A suite of its own, as
   programs cannot run under ThreadSanitizer.
   Thread safety: one thread. */
#include "hass_test.h"
#include "tests/program.h"

#include <glib/gstdio.h>
#include <string.h>

#include "y4m_denoise/options.h"
#include "y4m_trial.h"

/* A folder with the files in.y4m and out.y4m. */
typedef struct
{
  char *folder, *in, *out;
} Place;

static Place
make_place (const GString *stream)
{
  Place p = { .folder = g_dir_make_tmp ("y4m-XXXXXX", NULL) };
  CU_ASSERT_PTR_NOT_NULL_FATAL (p.folder);
  p.in = g_build_filename (p.folder, "in.y4m", NULL);
  p.out = g_build_filename (p.folder, "out.y4m", NULL);
  CU_ASSERT_TRUE_FATAL (
      g_file_set_contents (p.in, stream->str, (gssize)stream->len, NULL));
  return p;
}

static void
remove_place (Place *p)
{
  g_unlink (p->in);
  g_unlink (p->out);
  g_rmdir (p->folder);
  g_free (p->folder);
  g_free (p->in);
  g_free (p->out);
}

/* Runs the program from file to file with these options. */
static void
writes (const Place *p, const char *options, GBytes *wanted)
{
  g_autofree char *err = NULL, *got = NULL;
  g_autofree char *words = g_strjoin (" ", options, p->in, p->out, NULL);
  gsize size = 0;
  CU_ASSERT_EQUAL (program_run_words (NULL, &err, "y4m_denoise", words), 0);
  CU_ASSERT_STRING_EQUAL (err, "");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (p->out, &got, &size, NULL));
  g_autoptr (GBytes) bytes = g_bytes_new_static (got, size);
  if (!g_bytes_equal (bytes, wanted))
    printf ("\n    differs: %s", options);
  CU_ASSERT_TRUE (g_bytes_equal (bytes, wanted));
}

static void
same_bytes (void)
{
  static const char *const options[]
      = { "",
          "--cores=1",
          "--cores=2",
          "--frames=1",
          "--strategy=pipe-greedy",
          "--platform=thesis",
          "--platform=thesis --strategy=pipe-fixed:s1=2,units=4",
          "--cpu-only" };
  g_autoptr (GString) stream
      = y4m_trial_stream ("YUV4MPEG2 W301 H75 F30:1 C420mpeg2", 9, 40, 7);
  Y4mJob job = { .nlm = nlm_params (3, 7, 15), .temporal = 8 };
  Place p = make_place (stream);
  g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    writes (&p, options[i], wanted);
  job.nlm = nlm_params (6.5, 3, 9);
  job.temporal = 0;
  g_autoptr (GBytes) others = y4m_trial_expected (stream, &job);
  writes (&p, "-s 6.5 -p 3 -r 9 -t 0", others);
  remove_place (&p);
}

/* Also in a program built without CUDA. */
static void
modelled_gpu (void)
{
  g_autoptr (GString) stream
      = y4m_trial_stream ("YUV4MPEG2 W301 H75", 9, 40, 7);
  Place p = make_place (stream);
  g_autofree char *err = NULL;
  g_autofree char *words
      = g_strdup_printf ("--platform=thesis --strategy=pipe-fixed:s1=1 "
                         "--report %s /dev/null",
                         p.in);
  CU_ASSERT_EQUAL (program_run_words (NULL, &err, "y4m_denoise", words), 0);
  program_says (err, "virtual time on thesis");
  CU_ASSERT_TRUE (g_regex_match_simple ("\ngpu0 +[1-9]", err, 0, 0));
  remove_place (&p);
}

/* The program at the end of a pipe and at the beginning of one. */
static void
pipes (void)
{
  g_autoptr (GString) stream
      = y4m_trial_stream ("YUV4MPEG2 W500 H300 C422", 5, 40, 8);
  Y4mJob job = { .nlm = nlm_params (5, 3, 3), .temporal = 8 };
  Place p = make_place (stream);
  g_autofree char *program = program_path ("y4m_denoise"), *got = NULL;
  g_autofree char *line = g_strdup_printf (
      "cat %s | %s -s 5 -p 3 -r 3 | cat >%s", p.in, program, p.out);
  const char *const argv[] = { "/bin/sh", "-c", line, NULL };
  gsize size = 0;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT,
                                NULL, NULL, NULL, NULL, NULL, NULL));
  g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (p.out, &got, &size, NULL));
  g_autoptr (GBytes) bytes = g_bytes_new_static (got, size);
  CU_ASSERT_TRUE (g_bytes_equal (bytes, wanted));
  remove_place (&p);
}

static void
refuses (void)
{
  static const char *const wrong[][2]
      = { { "--strength=0", "--strength=0 is not from 0.1 to 30" },
          { "--strength=nan", "--strength=nan is not" },
          { "--patch=4", "--patch=4 is not an odd number from 1 to 99" },
          { "--search=101", "--search=101 is not an odd" },
          { "--temporal=256", "--temporal=256 is not from 0 to 255" },
          { "--cores=-1", "--cores=-1 is negative" },
          { "--gpus=-2", "--gpus=-2 is negative" },
          { "--frames=-1", "--frames=-1 is negative" },
          { "--cpu-only --gpu-only", "exclude each other" },
          { "a b c", "there are 3 arguments" },
          { "--nonsense", "Unknown option" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *err = NULL;
      CU_ASSERT_EQUAL (
          program_run_words (NULL, &err, "y4m_denoise", wrong[i][0]), 2);
      program_says (err, wrong[i][1]);
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
      char *words[] = { "y4m_denoise", (char *)cases[i].option, NULL };
      char **argv = words;
      int argc = 2;
      Y4mOptions o;
      CU_ASSERT_TRUE (y4m_options_parse (&o, &argc, &argv, NULL));
      CU_ASSERT_EQUAL (o.job.run.n_gpus, cases[i].n_gpus);
      CU_ASSERT_EQUAL (o.job.gpu, cases[i].n_gpus >= 0);
      y4m_options_clear (&o);
    }
}

static void
fails (void)
{
  g_autoptr (GString) stream = y4m_trial_stream ("YUV4MPEG2 W40 H30", 3, 9, 9);
  Place p = make_place (stream);
  const char *const wrong[][3]
      = { { p.in, p.in, "is both input and output" },
          { "/dev/null", p.out, "does not begin with YUV4MPEG2" },
          { p.out, "/dev/null", "No such file" },
          { p.in, p.folder, "Is a directory" },
          { p.in, "/dev/full", "No space left on device" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *err = NULL;
      CU_ASSERT_EQUAL (program_run (NULL, &err, "y4m_denoise", wrong[i][0],
                                    wrong[i][1], NULL),
                       1);
      program_says (err, wrong[i][2]);
      CU_ASSERT_TRUE (g_str_has_prefix (err, "y4m_denoise: "));
    }
  g_autofree char *why = NULL, *left = NULL;
  CU_ASSERT_EQUAL (program_run (NULL, &why, "y4m_denoise", p.in, "/dev/null",
                                "--platform=no-such", NULL),
                   2);
  program_says (why, "no platform is called 'no-such'");
  CU_ASSERT_TRUE (g_file_get_contents (p.in, &left, NULL, NULL));
  CU_ASSERT_EQUAL (memcmp (left, stream->str, stream->len), 0);
  remove_place (&p);
}

/* What is in the output stays there until a frame is done. */
static void
keeps_output (void)
{
  static const char older[] = "of another run, and longer than a frame is ";
  g_autoptr (GString) stream = y4m_trial_stream ("YUV4MPEG2 W4 H4", 1, 9, 9);
  g_autofree char *err = NULL, *kept = NULL, *written = NULL;
  gsize n;
  Place p = make_place (stream);
  CU_ASSERT_TRUE (g_file_set_contents (p.out, older, -1, NULL));
  CU_ASSERT_EQUAL (program_run (NULL, &err, "y4m_denoise", p.in, p.out,
                                "--strategy=no-such", NULL),
                   2);
  program_says (err, "no-such");
  CU_ASSERT_TRUE (g_file_get_contents (p.out, &kept, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (kept, older);
  CU_ASSERT_EQUAL (
      program_run (NULL, NULL, "y4m_denoise", p.in, p.out, "--cpu-only", NULL),
      0);
  CU_ASSERT_TRUE (g_file_get_contents (p.out, &written, &n, NULL));
  CU_ASSERT_EQUAL (n, stream->len);
  remove_place (&p);
}

HASS_TEST_SUITE (y4m_program,
                 { "any number of cores, strategy and modelled machine writes "
                   "the same bytes",
                   same_bytes },
                 { "a modelled GPU denoises", modelled_gpu },
                 { "y4m_denoise stands between two pipes", pipes },
                 { "y4m_denoise says which option is wrong", refuses },
                 { "--gpus=0 means no GPU, as --cpu-only", limits_gpus },
                 { "y4m_denoise says which file, or which strategy, is wrong",
                   fails },
                 { "what the output held is lost with the first frame, not "
                   "with an error before",
                   keeps_output })

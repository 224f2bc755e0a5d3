/* SPDX-License-Identifier: MIT */
/* test_y4m_pipeline.c: the pipeline of y4m_denoise against one loop.
   Thread safety: one thread. */
#include "hass_test.h"
#include "tests/program.h"

#include <stdio.h>
#include <string.h>

#include "y4m_trial.h"
#include "tests/trials.h"

/* Sides of a patch and a window: ThreadSanitizer watches whose memory threads
   use, and the numbers are those of the suite y4m_nlm. */
#define PATCH(side) TRIALS (side, side, 3)
#define WINDOW(side) TRIALS (side, side, 3)

static void
writes (GBytes *wanted, const GString *stream, const Y4mJob *job)
{
  gboolean ok;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) got = y4m_trial_run (stream, *job, &ok, &error);
  if (!ok)
    printf ("\n    %s", error->message);
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_TRUE (g_bytes_equal (got, wanted));
}

static void
writes_expected (const GString *stream, const Y4mJob *job)
{
  g_autoptr (GBytes) wanted = y4m_trial_expected (stream, job);
  writes (wanted, stream, job);
}

static void
formats (void)
{
  static const char *const headers[]
      = { "YUV4MPEG2 W70 H37 C420jpeg F25:1", "YUV4MPEG2 W600 H130 C422 A1:1",
          "YUV4MPEG2 W33 H70 C444 Ip", "YUV4MPEG2 W1 H1",
          "YUV4MPEG2 W5 H9 Cmono" };
  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_autoptr (GString) stream = y4m_trial_stream (headers[i], 4, 30, i + 1);
      Y4mJob job = { .nlm = nlm_params (5, PATCH (5), WINDOW (7)),
                     .temporal = 9 * (i % 2),
                     .run.n_gpus = -1 };
      g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
      for (job.run.n_cores = 1; job.run.n_cores <= 2; job.run.n_cores++)
        writes (wanted, stream, &job);
    }
}

static void
strategies (void)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  g_autoptr (GString) stream
      = y4m_trial_stream ("YUV4MPEG2 W90 H64 C422", 20, 30, 2);
  Y4mJob job = { .nlm = nlm_params (4, PATCH (7), WINDOW (5)),
                 .temporal = 12,
                 .run.n_gpus = -1 };
  g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
  guint n = 0;
  for (guint i = 0; all[i]; i++)
    if (all[i]->farms & HASS_FARM_PIPELINE)
      for (job.run.n_cores = 1; job.run.n_cores <= 2; job.run.n_cores++, n++)
        {
          job.run.strategy = all[i]->name;
          writes (wanted, stream, &job);
        }
  CU_ASSERT_TRUE (n > 0);
}

static void
no_frames (void)
{
  g_autoptr (GString) stream = y4m_trial_stream ("YUV4MPEG2 W4 H4", 0, 1, 1);
  Y4mJob job = { .nlm = nlm_params (5, 5, 7), .run.n_gpus = -1 };
  writes_expected (stream, &job);
}

static void
many_frames (void)
{
  g_autoptr (GString) stream = y4m_trial_stream (
      "YUV4MPEG2 W16 H16 C444", TRIALS (1000, 1000, 300), 60, 5);
  Y4mJob job
      = { .nlm = nlm_params (9, 3, 3), .temporal = 30, .run.n_gpus = -1 };
  writes_expected (stream, &job);
}

/* Frames before the one that is wrong are written. */
static void
truncated (void)
{
  static const struct
  {
    const char *end, *message;
  } cases[] = { { "FRAME\n12345", "frame 4 is incomplete" },
                { "FRA", "line of frame 4 is incomplete" },
                { "RUBBISH\n", "frame 4 does not begin with FRAME" } };
  Y4mJob job = { .nlm = nlm_params (5, 3, 5), .temporal = 8, .run.n_gpus = -1 };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) stream
          = y4m_trial_stream ("YUV4MPEG2 W20 H10", 4, 50, 6);
      g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
      g_autoptr (GError) error = NULL;
      gboolean ok;
      g_string_append (stream, cases[i].end);
      g_autoptr (GBytes) got = y4m_trial_run (stream, job, &ok, &error);
      CU_ASSERT_FALSE (ok);
      CU_ASSERT_PTR_NOT_NULL_FATAL (error);
      program_says (error->message, cases[i].message);
      CU_ASSERT_TRUE (g_bytes_equal (got, wanted));
    }
}

HASS_TEST_SUITE (
    y4m_pipeline, { "the pipeline writes what one loop computes", formats },
    { "so it does under every strategy that serves pipelines", strategies },
    { "a stream without frames keeps its header", no_frames },
    { "a long stream of small frames keeps its order", many_frames },
    { "frames before a malformed one are written", truncated })

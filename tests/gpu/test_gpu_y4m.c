/* SPDX-License-Identifier: MIT */
/* test_gpu_y4m.c: real GPUs denoise to the bytes that a core gives.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>

#include "examples/y4m/y4m_trial.h"
#include "tests/gpu/gpu_trial.h"

static void
agrees (const char *header, guint n_frames, NlmParams nlm, gboolean no_cpu)
{
  g_autoptr (GString) stream = y4m_trial_stream (header, n_frames, 60, 10);
  g_autoptr (GError) error = NULL;
  gboolean ok;
  Y4mJob job = { .nlm = nlm, .temporal = 8, .no_cpu = no_cpu, .gpu = TRUE };
  g_autoptr (GBytes) got = y4m_trial_run (stream, job, &ok, &error);
  g_autoptr (GBytes) wanted = y4m_trial_expected (stream, &job);
  if (!ok)
    printf ("\n    %s", error->message);
  else if (!g_bytes_equal (got, wanted))
    printf ("\n    differs: %s, patch %d, search %d", header, 2 * nlm.patch + 1,
            2 * nlm.search + 1);
  CU_ASSERT_TRUE (ok && g_bytes_equal (got, wanted));
}

static void
alone (void)
{
  static const struct
  {
    const char *header;
    int patch, search;
    double strength;
  } cases[] = { { "YUV4MPEG2 W321 H75", 7, 15, 3 },
                { "YUV4MPEG2 W65 H33 C444", 1, 5, 5 },
                { "YUV4MPEG2 W64 H32 C422", 3, 9, 9 },
                { "YUV4MPEG2 W53 H31", 5, 3, 30 },
                { "YUV4MPEG2 W1 H1", 7, 15, 3 },
                { "YUV4MPEG2 W3 H200 Cmono", 9, 21, 12 },
                { "YUV4MPEG2 W40 H40", 11, 7, 8 },
                { "YUV4MPEG2 W5 H3", 99, 99, 30 } };
  if (gpu_skips (y4m_gpu_worker != NULL))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    agrees (cases[i].header, 3,
            nlm_params (cases[i].strength, cases[i].patch, cases[i].search),
            TRUE);
}

static void
together (void)
{
  if (gpu_skips (y4m_gpu_worker != NULL))
    return;
  guint n_frames = g_getenv ("TEST_GPU_SMALL") ? 5 : 60;
  agrees ("YUV4MPEG2 W640 H360 F25:1", n_frames, nlm_params (3, 7, 9), FALSE);
}

HASS_TEST_SUITE (gpu_y4m,
                 { "GPUs alone denoise to the bytes that a core gives", alone },
                 { "GPUs and cores together do", together })

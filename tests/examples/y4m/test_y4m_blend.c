/* SPDX-License-Identifier: MIT */
/* test_y4m_blend.c: the blend with the frame before.
   Thread safety: one thread. */
#include "hass_test.h"

#include <glib.h>
#include <stdlib.h>

#include "y4m_denoise/blend.h"

/* All pairs of samples. */
#define PAIRS 65536

static void
all_pairs (void)
{
  g_autofree guint8 *frame = g_malloc (PAIRS), *before = g_malloc (PAIRS);
  for (int strength = 1; strength <= BLEND_MAX_STRENGTH; strength++)
    {
      guint n_wrong = 0;
      for (guint i = 0; i < PAIRS; i++)
        {
          frame[i] = (guint8)i;
          before[i] = (guint8)(i >> 8);
        }
      y4m_blend (frame, before, PAIRS, (guint)strength);
      for (int i = 0; i < PAIRS; i++)
        {
          int a = i & 255, b = i >> 8, near = MAX (strength - abs (a - b), 0);
          int k = near * (192 * 256 / strength) / 256;
          int mixed = (a * (256 - k) + b * k + 128) / 256;
          n_wrong += frame[i] != mixed || before[i] != mixed;
          n_wrong += mixed < MIN (a, b) || mixed > MAX (a, b);
          n_wrong += near == 0 && mixed != a;
        }
      CU_ASSERT_EQUAL (n_wrong, 0);
    }
}

/* A still scene whose samples have noise of 6 comes to rest near its mean. */
static void
still_scene (void)
{
  enum
  {
    N = 1000
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  guint8 frame[N], before[N];
  double noise = 0;
  for (guint round = 0; round < 50; round++)
    {
      for (guint i = 0; i < N; i++)
        frame[i] = (guint8)g_rand_int_range (random, 97, 104);
      if (round == 0)
        for (guint i = 0; i < N; i++)
          before[i] = frame[i];
      else
        y4m_blend (frame, before, N, 20);
    }
  for (guint i = 0; i < N; i++)
    noise += (frame[i] - 100.0) * (frame[i] - 100.0) / N;
  /* That of the samples is 4. */
  CU_ASSERT_TRUE (noise < 1.5);
}

HASS_TEST_SUITE (y4m_blend,
                 { "near samples are mixed, far ones are kept", all_pairs },
                 { "a still scene loses noise from frame to frame",
                   still_scene })

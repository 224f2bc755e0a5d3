/* SPDX-License-Identifier: MIT */
/* test_virtual_noise.c: the random factor of durations.
   Thread safety: one thread. */
#include <math.h>

#include "engine/virtual/virtual-private.h"
#include "hass_test.h"

#define DRAWS 1000000

/* Of that many draws the mean is off by 0.1 % and, with a noise of 1, the
   deviation by 0.3 %, as standard errors. */
static void
moments (void)
{
  static const double noises[] = { 0.02, 0.1, 0.5, 1 };
  for (guint i = 0; i < G_N_ELEMENTS (noises); i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      HassPlatform platform = { .noise = noises[i] };
      HassVirtualWorld w = { .platform = &platform, .rand = rand };
      double sum = 0, squares = 0;
      for (guint k = 0; k < DRAWS; k++)
        {
          double factor = hass_virtual_noise (&w);
          sum += factor;
          squares += factor * factor;
        }
      double mean = sum / DRAWS;
      double deviation = sqrt (squares / DRAWS - mean * mean);
      CU_ASSERT_DOUBLE_EQUAL (mean, 1, 0.005);
      CU_ASSERT_DOUBLE_EQUAL (deviation / mean, noises[i], 0.02 * noises[i]);
    }
}

HASS_TEST_SUITE (
    virtual_noise,
    { "noise has mean 1 and the platform's relative standard deviation",
      moments })

/* SPDX-License-Identifier: MIT */
/* test_model.c: times of a modelled GPU.
   Thread safety: one thread. */
#include <math.h>

#include "device/model/model.h"
#include "hass_test.h"

static const HassGpuModel gpu = { .multiprocessors = 4,
                                  .width = 100,
                                  .work_per_ns = 2,
                                  .launch_ns = 50,
                                  .link_ns = 30,
                                  .h2d_bytes_per_ns = 4,
                                  .d2h_bytes_per_ns = 2 };

static int
near (double a, double b)
{
  return fabs (a - b) < 1e-6 * (1 + fabs (b));
}

static void
linear (void)
{
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&gpu, 1000, 100), 50 + 500));
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&gpu, 1000, 1000), 50 + 500));
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&gpu, 1000, 25), 50 + 2000));
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&gpu, 1000, 0), 50 + 500));
}

static void
saturating (void)
{
  HassGpuModel g = gpu;
  g.curve = HASS_CURVE_SATURATING;
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&g, 1000, 100), 50 + 1000));
  CU_ASSERT_TRUE (near (hass_model_kernel_ns (&g, 1000, 300), 50 + 2000 / 3.));
}

/* Four multiprocessors of 0.5 work a ns and 25 elements each; blocks go to
   the first that is idle. */
static void
blocks (void)
{
  double even[] = { 100, 100, 100, 100 }, list[] = { 400, 100, 100, 100, 100 };
  double five[] = { 100, 100, 100, 100, 100 };
  guint64 wide[] = { 25, 25, 25, 25, 25 }, narrow[] = { 5, 25, 25, 25, 25 };
  CU_ASSERT_TRUE (near (hass_model_blocks_ns (&gpu, even, wide, 4), 50 + 200));
  CU_ASSERT_TRUE (near (hass_model_blocks_ns (&gpu, five, wide, 5), 50 + 400));
  CU_ASSERT_TRUE (near (hass_model_blocks_ns (&gpu, list, wide, 5), 50 + 800));
  CU_ASSERT_TRUE (
      near (hass_model_blocks_ns (&gpu, five, narrow, 5), 50 + 1000));
  CU_ASSERT_TRUE (near (hass_model_blocks_ns (&gpu, even, wide, 1), 50 + 200));
}

static void
copies (void)
{
  CU_ASSERT_TRUE (near (hass_model_h2d_ns (&gpu, 400), 30 + 100));
  CU_ASSERT_TRUE (near (hass_model_d2h_ns (&gpu, 400), 30 + 200));
  CU_ASSERT_EQUAL (hass_model_h2d_ns (&gpu, 0), 0);
  CU_ASSERT_EQUAL (hass_model_d2h_ns (&gpu, 0), 0);
}

HASS_TEST_SUITE (device_model,
                 { "a GPU reaches its rate when its width is filled", linear },
                 { "a saturating GPU reaches half of it there", saturating },
                 { "thread blocks go to the first idle multiprocessor",
                   blocks },
                 { "a copy takes latency plus bytes over bandwidth", copies })

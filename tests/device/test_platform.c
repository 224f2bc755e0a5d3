/* SPDX-License-Identifier: MIT */
/* test_platform.c: platform files, good and broken.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "device/model/model.h"
#include "hass/error.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define CPU "[platform]\n[cpu]\ncores = 2\nwork_per_us = 3\n"
#define GPU(n)                                                                 \
  "[gpu" n "]\nmultiprocessors = 4\nwidth = 128\nwork_per_us = 10\n"           \
  "h2d_gbps = 8\n"

static HassPlatform *
load (const char *text, const char *farm, GError **error)
{
  g_autofree char *path = trial_file (text);
  HassPlatform *p = hass_platform_load (path, farm, error);
  unlink (path);
  return p;
}

static void
whole_file (void)
{
  HassPlatform *p
      = load ("# a machine\n[platform]\nname = box\nnoise = 0.25\n"
              "calibrated = yes\nsource = a paper\n\n"
              "[cpu]\nlabel = some CPU\ncores = 24\n"
              "work_per_us = 1.5\npull_us = 0.5\n"
              "[gpu0]\nlabel = some GPU\nmultiprocessors = 30\n"
              "width = 240\nwork_per_us = 20\nlaunch_us = 7\n"
              "link_us = 11\nh2d_gbps = 5\nd2h_gbps = 4\n"
              "link = a\nduplex = no\ndepth = 3\n"
              "part_bytes = 1048576\nmemory_bytes = 8000000\n"
              "start_us = 300\nhost_gbps = 20\nkernels = 4\n"
              "curve = saturating\n" GPU ("1") GPU ("2") "link = a\n",
              "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_STRING_EQUAL (p->name, "box");
  CU_ASSERT_EQUAL (p->noise, 0.25);
  CU_ASSERT_TRUE (p->calibrated && p->has_cpu);
  CU_ASSERT_EQUAL (p->cores, 24);
  CU_ASSERT_TRUE (fabs (p->core_work_per_ns - 1.5e-3) < 1e-12);
  CU_ASSERT_TRUE (fabs (p->pull_ns - 500) < 1e-9);
  CU_ASSERT_EQUAL (p->n_gpus, 3);
  CU_ASSERT_EQUAL (p->n_links, 2);
  CU_ASSERT_STRING_EQUAL (p->gpus[0].name, "gpu0");
  CU_ASSERT_STRING_EQUAL (p->gpus[0].label, "some GPU");
  CU_ASSERT_EQUAL (p->gpus[0].launch_ns, 7000);
  CU_ASSERT_EQUAL (p->gpus[0].link_ns, 11000);
  CU_ASSERT_EQUAL (p->gpus[0].h2d_bytes_per_ns, 5);
  CU_ASSERT_EQUAL (p->gpus[0].d2h_bytes_per_ns, 4);
  CU_ASSERT_FALSE (p->gpus[0].duplex);
  CU_ASSERT_EQUAL (p->gpus[0].depth, 3);
  CU_ASSERT_EQUAL (p->gpus[0].curve, HASS_CURVE_SATURATING);
  CU_ASSERT_EQUAL (p->gpus[0].part_bytes, 1 << 20);
  CU_ASSERT_EQUAL (p->gpus[0].memory_bytes, 8000000);
  CU_ASSERT_EQUAL (p->gpus[0].start_ns, 300000);
  CU_ASSERT_EQUAL (p->gpus[0].kernels, 4);
  CU_ASSERT_EQUAL (p->gpus[0].host_bytes_per_ns, 20);
  CU_ASSERT_EQUAL (p->gpus[0].link, p->gpus[2].link);
  hass_platform_free (p);
}

static void
defaults (void)
{
  HassPlatform *p = load (CPU GPU ("0") GPU ("1"), "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_PTR_NOT_NULL (strstr (p->name, "hass-test-"));
  CU_ASSERT_EQUAL (p->noise, 0);
  CU_ASSERT_FALSE (p->calibrated);
  CU_ASSERT_EQUAL (p->gpus[0].d2h_bytes_per_ns, 8);
  CU_ASSERT_EQUAL (p->gpus[0].part_bytes, 0);
  CU_ASSERT_EQUAL (p->gpus[0].memory_bytes, 0);
  CU_ASSERT_EQUAL (p->gpus[0].start_ns, 0);
  CU_ASSERT_EQUAL (p->gpus[0].kernels, 1);
  CU_ASSERT_EQUAL (p->gpus[0].host_bytes_per_ns, 0);
  CU_ASSERT_TRUE (p->gpus[0].duplex);
  CU_ASSERT_EQUAL (p->gpus[0].curve, HASS_CURVE_LINEAR);
  hass_platform_free (p);
}

/* GPUs that name no link must not share one by that. */
static void
own_links (void)
{
  HassPlatform *p = load (CPU GPU ("0") GPU ("1"), "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_NOT_EQUAL (p->gpus[0].link, p->gpus[1].link);
  hass_platform_free (p);
}

static void
rates_of_a_farm (void)
{
  static const char text[] = CPU GPU ("0") "[farm search]\n"
                                           "cpu_work_per_us = 30\n"
                                           "gpu0_work_per_us = 100\n";
  HassPlatform *p = load (text, "search", NULL), *q = load (text, "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_PTR_NOT_NULL_FATAL (q);
  CU_ASSERT_TRUE (fabs (p->core_work_per_ns - 0.030) < 1e-12);
  CU_ASSERT_TRUE (fabs (p->gpus[0].work_per_ns - 0.1) < 1e-12);
  CU_ASSERT_TRUE (fabs (q->core_work_per_ns - 0.003) < 1e-12);
  CU_ASSERT_TRUE (fabs (q->gpus[0].work_per_ns - 0.01) < 1e-12);
  hass_platform_free (p);
  hass_platform_free (q);
}

static void
rates_of_a_stage (void)
{
  HassPlatform *p = load (CPU GPU ("0") "[stage blur]\ngpu0_work_per_us = 100\n"
                                        "[stage write]\ncpu_work_per_us = 30\n",
                          "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  double blur = hass_platform_stage_rate (p, "blur", "gpu0");
  double write = hass_platform_stage_rate (p, "write", NULL);
  CU_ASSERT_TRUE (fabs (blur - 0.1) < 1e-12);
  CU_ASSERT_TRUE (fabs (write - 0.03) < 1e-12);
  CU_ASSERT_EQUAL (hass_platform_stage_rate (p, "blur", NULL), 0);
  CU_ASSERT_EQUAL (hass_platform_stage_rate (p, "read", "gpu0"), 0);
  CU_ASSERT_TRUE (fabs (p->core_work_per_ns - 0.003) < 1e-12);
  hass_platform_free (p);
}

static const struct
{
  const char *text, *line, *what;
} broken[] = {
  { "", "line 1:", "no [platform]" },
  { "[platform]\n", "line 1:", "needs [cpu] or [gpu0]" },
  { "[platform]\nnoise = 0\ngarbage\n", "line 3:", "garbage" },
  { "cores = 3\n[platform]\n", "line 1:", "before the first [group]" },
  { "[platform\n", "line 1:", "closing ]" },
  { "[platform]\n\n[cpu]\nwork_per_us = 3\n", "line 3:", "needs cores" },
  { "[platform]\n[cpu]\ncores = 2\n", "line 2:", "needs work_per_us" },
  { CPU "core = 4\n", "line 5:", "knows no key 'core'" },
  { "[platform]\n[cpu]\ncores = many\nwork_per_us = 3\n",
    "line 3:", "'many' is not a number" },
  { "[platform]\n[cpu]\ncores = 2x\nwork_per_us = 3\n",
    "line 3:", "is not a number" },
  { "[platform]\n[cpu]\ncores = nan\nwork_per_us = 3\n",
    "line 3:", "is not a number" },
  { "[platform]\n[cpu]\ncores = 1.5\nwork_per_us = 3\n",
    "line 3:", "not a whole number" },
  { "[platform]\n[cpu]\ncores = 0\nwork_per_us = 3\n",
    "line 3:", "not in 1 to 4096" },
  { "[platform]\n[cpu]\ncores = 2\nwork_per_us = -3\n", "line 4:", "not in" },
  { "[platform]\nnoise = 2\n" GPU ("0"), "line 2:", "not in 0 to 1" },
  { "[platform]\ncalibrated = maybe\n" GPU ("0"), "line 2:", "yes or no" },
  { CPU GPU ("1"), "line 5:", "[gpu1] where [gpu0] was due" },
  { CPU GPU ("0") GPU ("2"), "line 10:", "[gpu2] where [gpu1] was due" },
  { CPU GPU ("0") "link_us = 3\nlink = a\nduplex = 1\n",
    "line 12:", "yes or no" },
  { CPU GPU ("0") "link_us = 3\nlink_us2 = 4\n", "line 11:", "link_us2" },
  { CPU GPU ("0") "curve = wavy\n", "line 10:", "linear or saturating" },
  { CPU GPU ("0") "depth = 65\n", "line 10:", "not in 1 to 64" },
  { CPU GPU ("0") "depth = 64.0000001\n",
    "line 10:", "depth = 64.0000001 is not in 1 to 64" },
  { CPU "cores = 2\n", "line 5:", "'cores = 2': the group has this key" },
  { CPU "[farm x]\ncpu_work_per_us = 1\n[farm x]\ncpu_work_per_us=2\n",
    "line 8:", "the group has this key already" },
  { CPU "[gpus]\n", "line 5:", "[gpus]" },
  { CPU "[disk]\n", "line 5:", "unknown group [disk]" },
  { CPU "[farm x]\ngpu0_work_per_us = 1\n", "line 6:", "gpu0_work_per_us" },
  { CPU "[stage x]\ngpu0_work_per_us = 1\n", "line 6:", "gpu0_work_per_us" },
  { CPU "[codelet x]\nfpga = 1\n", "line 6:", "fpga" },
  { CPU "[codelet x]\ngpu = 0\n", "line 6:", "gpu = 0" },
  { CPU "[farm x]\ncpu_work_per_us = 0\n", "line 6:", "not in" },
};

static void
broken_files (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      GError *error = NULL;
      HassPlatform *p = load (broken[i].text, "x", &error);
      gboolean right
          = !p && g_error_matches (error, HASS_ERROR, HASS_ERROR_PLATFORM)
            && strstr (error->message, broken[i].line)
            && strstr (error->message, broken[i].what);
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    '%s' '%s' was due, got: %s", broken[i].line,
                    broken[i].what, error ? error->message : "success");
      g_clear_error (&error);
      g_clear_pointer (&p, hass_platform_free);
    }
}

static void
factors_of_a_codelet (void)
{
  HassPlatform *p = load (CPU GPU ("0") "[npu]\nkind = npu\nwidth = 1\n"
                                        "multiprocessors = 1\nh2d_gbps = 1\n"
                                        "work_per_us = 1\n"
                                        "[codelet gemm]\ncpu = 1.5\nnpu = 9\n",
                          "x", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_EQUAL (hass_platform_codelet_factor (p, "gemm", "cpu"), 1.5);
  CU_ASSERT_EQUAL (hass_platform_codelet_factor (p, "gemm", "gpu"), 1);
  CU_ASSERT_EQUAL (hass_platform_codelet_factor (p, "gemm", "npu"), 9);
  CU_ASSERT_EQUAL (hass_platform_codelet_factor (p, "trsm", "npu"), 1);
  hass_platform_free (p);
}

static void
no_file (void)
{
  GError *error = NULL;
  CU_ASSERT_PTR_NULL (hass_platform_load ("/nowhere/p", "x", &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  CU_ASSERT_TRUE (error && strstr (error->message, "/nowhere/p"));
  g_clear_error (&error);
}

HASS_TEST_SUITE (
    platform, { "every key is read in its unit", whole_file },
    { "what is left out has a sensible default", defaults },
    { "GPUs that name no link have one each", own_links },
    { "a farm's own rates replace the general ones", rates_of_a_farm },
    { "a stage of a pipeline may have rates of its own", rates_of_a_stage },
    { "the rates may have factors for a codelet", factors_of_a_codelet },
    { "a broken file is refused with line and reason", broken_files },
    { "a missing file is named", no_file })

/* SPDX-License-Identifier: MIT */
/* test_gpu_search_choice.c: string_search uses GPUs for the patterns and texts
   for which they pay, and its report names them.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>
#include <sys/mman.h>

#include "../../examples/string_search/offload.h"
#include "naive_search.h"

static void
left_to_the_cpu (void)
{
  g_autoptr (GString) alike = g_string_new (NULL);
  g_autoptr (Matcher) empty = new_matcher ("a\n", FALSE, FALSE, NULL);
  g_autoptr (Matcher) none = matcher_new (NULL, 0, FALSE, FALSE, NULL, NULL);
  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (alike, "%sthe same beginning %u", i ? "\n" : "", i);
  g_autoptr (Matcher) many = new_matcher (alike->str, FALSE, FALSE, NULL);
  CU_ASSERT_PTR_NULL (gpu_filter_new (empty, 0));
  CU_ASSERT_PTR_NULL (gpu_filter_new (none, 0));
  CU_ASSERT_PTR_NULL (gpu_filter_new (many, 0));
}

/* Of words alike at the start a later window is taken. */
static void
alike_at_the_start (void)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (lines, "%szq-zq-%07u", i ? "\n" : "", i * 7919);
  g_autoptr (Matcher) matcher = new_matcher (lines->str, FALSE, FALSE, NULL);
  GpuFilter *filter = gpu_filter_new (matcher, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (filter);
  CU_ASSERT (filter->head->offset > 0);
  gpu_filter_free (filter);
}

static GpuFilter *
choose (Search *search, const guint8 *text, gsize size)
{
  const GpuFilter *filter;
  CU_ASSERT_TRUE (offload_choose (search, text, size, &filter, NULL));
  return (GpuFilter *)filter;
}

static void
where_it_pays (void)
{
  gsize size = (gsize)256 << 20;
  guint8 *text = mmap (NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CU_ASSERT_FATAL (text != MAP_FAILED);
  g_autoptr (Matcher) matcher = new_matcher ("needle", FALSE, FALSE, NULL);
  Options options = { .gpu = GPU_AUTO };
  Search search = { .options = &options, .matcher = matcher };
  gboolean linked = string_search_gpu_worker != NULL;
  CU_ASSERT_EQUAL (choose (&search, text, size) != NULL, linked);
  CU_ASSERT_PTR_NULL (choose (&search, text, size - 1));
  options.gpu = GPU_NEVER;
  CU_ASSERT_PTR_NULL (choose (&search, text, size));
  /* A needle in every KiB of every eighth MiB: the samples see them. */
  for (gsize at = 0; at < size; at += 8 << 20)
    for (gsize i = 0; i < 1 << 20; i += 1024)
      memcpy (text + at + i, "needle\n", 7);
  options.gpu = GPU_AUTO;
  CU_ASSERT_PTR_NULL (choose (&search, text, size));
  /* Where a core is slow, a GPU pays sooner. */
  MatcherTuning tuning = MATCHER_TUNING_INIT;
  tuning.strategy = MATCHER_STRATEGY_AHO_CORASICK;
  g_autoptr (Matcher) slow = new_matcher ("needle", FALSE, FALSE, &tuning);
  search.matcher = slow;
  CU_ASSERT_EQUAL (choose (&search, text, size) != NULL, linked);
  search.matcher = matcher;
  options.gpu = GPU_ALWAYS;
  CU_ASSERT_EQUAL (choose (&search, text, 1000) != NULL, linked);
  munmap (text, size);
  gpu_filter_free (search.filter);
}

/* The empty pattern is not for a GPU: --gpu leaves it to the CPU, --gpu-only
   is an error. */
static void
not_for_a_gpu (void)
{
  Options options = { .gpu = GPU_ALWAYS };
  const GpuFilter *filter;
  g_autoptr (GError) error = NULL;
  g_autoptr (Matcher) empty = new_matcher ("", FALSE, FALSE, NULL);
  Search other = { .options = &options, .matcher = empty };
  CU_ASSERT_PTR_NULL (choose (&other, (const guint8 *)"", 0));
  options.gpu = GPU_ONLY;
  CU_ASSERT_FALSE (
      offload_choose (&other, (const guint8 *)"", 0, &filter, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE));
}

static HassReport *
report_of (const char *device, guint64 bytes)
{
  HassReport *report = g_new0 (HassReport, 1);
  gboolean both = strcmp (device, "cpu") != 0;
  report->strategy = g_strdup ("s");
  report->n_devices = 1 + both;
  report->devices = g_new0 (HassDeviceReport, report->n_devices);
  report->devices[0].name = g_strdup ("cpu");
  report->devices[0].bytes = bytes;
  report->devices[both].name
      = both ? g_strdup (device) : report->devices[both].name;
  report->devices[both].bytes = bytes;
  return report;
}

/* The first farm, of small files, has no GPU. */
static void
reports_name_gpus (void)
{
  Search search = { 0 };
  search_add_report (&search, report_of ("cpu", 1));
  search_add_report (&search, report_of ("gpu1", 10));
  search_add_report (&search, report_of ("gpu0", 100));
  search_add_report (&search, report_of ("gpu1", 1000));
  CU_ASSERT_EQUAL_FATAL (search.total->n_devices, 3);
  CU_ASSERT_EQUAL (search.total->devices[0].bytes, 1111);
  CU_ASSERT_STRING_EQUAL (search.total->devices[1].name, "gpu1");
  CU_ASSERT_EQUAL (search.total->devices[1].bytes, 1010);
  CU_ASSERT_EQUAL (search.total->devices[2].bytes, 100);
  hass_report_free (search.total);
}

HASS_TEST_SUITE (
    gpu_search_choice, { "patterns that a GPU is not for", left_to_the_cpu },
    { "a window where patterns differ", alike_at_the_start },
    { "GPUs are used where they pay, or as told", where_it_pays },
    { "the empty pattern is left to the CPU, or refused", not_for_a_gpu },
    { "a report of several farms names every GPU", reports_name_gpus })

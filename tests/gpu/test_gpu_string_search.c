/* SPDX-License-Identifier: MIT */
/* string_search on the real GPUs of the machine; skipped where there is none.
   Thread safety: one test at a time; a farm's GPU results come on several
   threads. */
#include "hass_test.h"
#include "program.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/gpu_reference.h"
#include "examples/naive_search.h"

#include "../../examples/string_search/offload.h"
#include "tests/gpu/gpu_trial.h"

/* -- The kernel ----------------------------------------------------------- */

typedef struct
{
  const GpuFilter *filter;
  _Atomic guint n_blocks, n_wrong;
} Trial;

static int
compare_records (const void *a, const void *b)
{
  guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;
  return x < y ? -1 : x > y;
}

static gboolean
check_records (const HassBlock *block, gconstpointer records, gsize n_records,
               HassWorker *worker, gpointer user_data, GError **error)
{
  Trial *t = user_data;
  gsize bytes = block->halo_before + block->count + block->halo_after;
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree guint64 *found = g_memdup2 (records, n_records * sizeof (guint64));
  guint8 *base = g_aligned_alloc (bytes, 1, GPU_FILTER_CHUNK);
  GpuText text = { .base = base,
                   .bytes = bytes,
                   .start = block->halo_before,
                   .count = block->count,
                   .end = bytes };
  (void)worker;
  (void)error;
  memcpy (base, block->input - block->halo_before, bytes);
  gpu_reference_block (t->filter, &text, wanted);
  g_aligned_free (base);
  if (n_records > 0)
    qsort (found, n_records, sizeof *found, compare_records);
  g_array_sort (wanted, compare_records);
  t->n_blocks++;
  t->n_wrong
      += n_records != wanted->len
         || (n_records > 0
             && memcmp (found, wanted->data, n_records * sizeof *found) != 0);
  return TRUE;
}

/* A text of `alphabet` with a few NULs and the first pattern behind each, in
   blocks of a size that fits nothing. */
static void
compare_kernel (const char *patterns, gboolean ignore_case,
                const char *alphabet, const char *strategy)
{
  gsize size = (gsize)(g_getenv ("TEST_GPU_SMALL") ? 1 : 24) << 20;
  g_autoptr (Matcher) matcher
      = new_matcher (patterns, ignore_case, FALSE, NULL);
  GpuFilter *filter
      = gpu_filter_new (matcher, GPU_FILTER_NEWLINES | GPU_FILTER_NULS);
  Trial t = { .filter = filter };
  g_autofree guint8 *text = g_malloc (size);
  GRand *rand = g_rand_new_with_seed (21);
  HassLoad load = { .input = text, .input_bytes = size, .size = size };
  HassConstant constant = { filter->head, filter->bytes };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  HassReport *report = NULL;
  g_autoptr (GError) error = NULL;
  fill_random (rand, text, size, alphabet);
  for (gsize at = 0; at + 1000 < size;
       at += (gsize)g_rand_int_range (rand, 1, 99999))
    {
      text[at] = '\0';
      memcpy (text + at + 1, patterns, strcspn (patterns, "\n"));
    }
  g_rand_free (rand);
  farm.name = "kernel";
  farm.user_data = &t;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.gpu_worker = string_search_gpu_worker;
  farm.gpu_result = check_records;
  farm.gpu_record_bytes = sizeof (guint64);
  farm.gpu_records_per_element = GPU_FILTER_RECORDS_PER_BYTE;
  farm.block_elements = 54321;
  farm.halo_elements = GPU_FILTER_REACH;
  farm.constants = &constant;
  farm.n_constants = 1;
  farm.run.strategy = strategy;
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, &report, &error));
  if (error)
    fprintf (stderr, "%s\n", error->message);
  CU_ASSERT (t.n_blocks > 0);
  CU_ASSERT_EQUAL (t.n_wrong, 0);
  hass_report_free (report);
  gpu_filter_free (filter);
}

static void
kernel (void)
{
  if (gpu_skips (string_search_gpu_worker != NULL))
    return;
  compare_kernel ("needle", FALSE, "nedl\n", NULL);
  compare_kernel ("q", FALSE, "abcdefghijklmnopqrstuvwxyz\n", NULL);
  compare_kernel ("Needle\nabc\nde\nlll", TRUE, "nedlNEDL abcABC\n", NULL);
  compare_kernel ("the same text again and again, longer than what is looked "
                  "at by far, the same text",
                  FALSE, "the sam", "hass-p");
}

/* -- The program ---------------------------------------------------------- */

static void
write_text (const char *path)
{
  g_autoptr (GString) text = g_string_new (NULL);
  GRand *rand = g_rand_new_with_seed (9);
  while (text->len < 24 << 20)
    {
      guint32 x = g_rand_int (rand);
      g_string_append_printf (text, "%08x some text %s%s", x * 2654435761u,
                              x % 5000 == 0   ? "Needle "
                              : x % 5001 == 0 ? "\xe2\x84\xaa"
                                                "elvin "
                              : x % 5002 == 0 ? "needless kelvin"
                                              : "",
                              x % 7 ? "\n" : "\r\n");
      if (x % 100000 == 0)
        g_string_append_len (text, "\0needle", 7);
    }
  CU_ASSERT_TRUE (
      g_file_set_contents (path, text->str, (gssize)text->len, NULL));
  g_rand_free (rand);
}

/* What the program prints, with its exit status at the end. */
static char *
search_output (const char *switches, const char *gpu, const char *path)
{
  g_autofree char *search = program_path ("string_search");
  g_autofree char *command
      = g_strdup_printf ("LC_ALL=C.UTF-8 '%s' %s %s '%s' 2>&1 | md5sum; echo "
                         "${PIPESTATUS[0]}",
                         search, gpu, switches, path);
  char *argv[] = { "/bin/bash", "-c", command, NULL };
  char *out = NULL;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                                &out, NULL, NULL, NULL));
  return out;
}

static void
program (void)
{
  static const char *const switches[]
      = { "needle",          "-n needle",
          "-c needle",       "-i -n needle",
          "-o -b -i kelvin", "-c -e needle -e kelvin -e '\r'",
          "-n absent",       "-i -n -e kelvin -e s" };
  if (gpu_skips (string_search_gpu_worker != NULL))
    return;
  if (g_getenv ("TEST_GPU_SMALL"))
    {
      hass_test_skip ("not under a sanitizer");
      return;
    }
  g_autofree char *directory = g_dir_make_tmp ("hass-gpu-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (directory);
  g_autofree char *path = g_build_filename (directory, "text", NULL);
  write_text (path);
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    {
      g_autofree char *wanted = search_output (switches[i], "--no-gpu", path);
      g_autofree char *only = search_output (switches[i], "--gpu-only", path);
      g_autofree char *both = search_output (switches[i], "--gpu", path);
      CU_ASSERT_STRING_EQUAL (only, wanted);
      CU_ASSERT_STRING_EQUAL (both, wanted);
    }
  remove (path);
  remove (directory);
}

HASS_TEST_SUITE (gpu_string_search,
                 { "the kernel's records are the reference's", kernel },
                 { "a GPU finds what the CPU finds", program })

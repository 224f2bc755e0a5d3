/* SPDX-License-Identifier: MIT */
/* Tests the line scan of the string_search example.
   Thread safety: single-threaded.  */

#include "hass_test.h"

#include "../../examples/string_search/binary.h"
#include "../../examples/string_search/line_scan.h"
#include "naive_search.h"

#include <math.h>
#include <time.h>

/* What a serial search by lines gives, as text.  */
static void
naive_lines (const Naive *naive, gboolean all, const guint8 *text, gsize size,
             GString *out)
{
  gsize start = 0;
  guint64 newlines = 0;

  while (start < size)
    {
      gsize end = start;
      gsize length;
      gboolean matched;
      const guint8 *p;

      while (end < size && text[end] != '\n' && text[end] != '\0')
        end++;
      p = naive_find (naive, text + start, text + end, &length);
      matched = all || p != NULL;
      if (matched)
        g_string_append_printf (out, "%d+%d#%d", (int)start, (int)(end - start),
                                (int)newlines);
      for (; p != NULL; p = naive_find (naive, p + length, text + end, &length))
        g_string_append_printf (out, " %d+%d", (int)(p - text), (int)length);
      if (matched)
        g_string_append_c (out, ';');
      newlines += end < size && text[end] == '\n';
      start = end + 1;
    }
}

/* The same from blocks of `count` bytes; also checks the counts.  */
static void
block_lines (const Matcher *matcher, const guint8 *text, gsize size,
             gsize count, GString *out)
{
  const LineScan all
      = { matcher, text, size,
          LINE_SCAN_NUMBERS | LINE_SCAN_MATCHES | LINE_SCAN_NUL };
  const LineScan count_only = { matcher, text, size, LINE_SCAN_COUNT };
  LineBuffer buffer = { 0 };
  guint64 newlines = 0;
  gsize at = 0;

  for (gsize first = 0; first < size; first += count)
    {
      LineBuffer counted = { 0 };
      gsize n = MIN (count, size - first);

      line_scan (&all, first, n, &buffer);
      line_scan (&count_only, first, n, &counted);
      CU_ASSERT_EQUAL (
          ((const LineBlock *)(gpointer)counted.bytes)->n_lines,
          ((const LineBlock *)(gpointer)(buffer.bytes + at))->n_lines);
      CU_ASSERT_EQUAL (counted.length, sizeof (LineBlock));
      at = buffer.length;
      line_buffer_clear (&counted);
    }
  for (at = 0; at < buffer.length;)
    {
      const LineBlock *block = (const LineBlock *)(gpointer)(buffer.bytes + at);
      guint64 n_records = 0;
      gsize nul = binary_first_nul (text, block->first, block->count);

      for (const LineRecord *r = line_block_next (block, NULL); r != NULL;
           r = line_block_next (block, r))
        {
          g_string_append_printf (out, "%d+%d#%d", (int)r->start,
                                  (int)r->length,
                                  (int)(newlines + r->line_index));
          for (guint64 i = 0; i < r->n_matches; i++)
            g_string_append_printf (out, " %d+%d",
                                    (int)line_record_matches (r)[i].start,
                                    (int)line_record_matches (r)[i].length);
          g_string_append_c (out, ';');
          n_records++;
        }
      CU_ASSERT_EQUAL (block->n_lines, n_records);
      CU_ASSERT_EQUAL (block->n_records, n_records);
      CU_ASSERT_EQUAL (block->first_nul,
                       nul == BINARY_NEVER ? LINE_NO_NUL : nul);
      newlines += block->n_newlines;
      at += block->n_bytes;
    }
  CU_ASSERT_EQUAL (newlines, count_byte (text, text + size, '\n'));
  line_buffer_clear (&buffer);
}

/* In `alphabet`, 0 stands for a NUL byte.  */
static void
compare_lines (const char *alphabet, gsize longest_text, guint n_rounds)
{
  GRand *rand = g_rand_new_with_seed (77);
  guint n_wrong = 0;

  for (guint round = 0; round < n_rounds; round++)
    {
      Pattern patterns[4];
      guint8 storage[4 * 8];
      gsize n = (gsize)g_rand_int_range (rand, 1, 5);
      gboolean all = round % 7 == 0;
      Naive naive = { patterns, n, FALSE };
      MatcherTuning tuning = MATCHER_TUNING_INIT;
      gsize size = (gsize)g_rand_int_range (rand, 0, (gint32)longest_text);
      g_autoptr (GString) wanted = g_string_new (NULL);
      g_autoptr (Matcher) matcher = NULL;
      Fence fence;
      guint8 *text = fence_new (&fence, size);

      make_patterns (rand, patterns, n, 1 + round % 8, "ab", storage);
      if (all)
        patterns[n - 1].length = 0;
      fill_random (rand, text, size, alphabet);
      for (gsize i = 0; i < size; i++)
        if (text[i] == '0')
          text[i] = '\0';
      if (round % 3 == 0)
        tuning.strategy = MATCHER_STRATEGY_AHO_CORASICK;
      matcher = matcher_new (patterns, n, FALSE, FALSE, &tuning, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
      naive_lines (&naive, all, text, size, wanted);
      for (gsize count = 1; count <= size + 1; count += 1 + count / 8)
        {
          g_autoptr (GString) found = g_string_new (NULL);

          block_lines (matcher, text, size, count, found);
          n_wrong += !g_string_equal (found, wanted);
        }
      fence_free (&fence);
    }
  CU_ASSERT_EQUAL (n_wrong, 0);
  g_rand_free (rand);
}

static void
block_borders (void)
{
  compare_lines ("ab\n", 60, 300);
  compare_lines ("abababab\n", 200, 100);
}

static void
nul_ends_lines (void)
{
  compare_lines ("abab\n0", 60, 50);
  compare_lines ("aabbxyab\n00", 150, 100);
}

/* CPU seconds of this thread to scan one line of so many bytes in blocks of
   4 KiB. */
static double
seconds_of_line (gsize size)
{
  g_autofree guint8 *text = g_malloc (size);
  g_autoptr (Matcher) matcher = new_matcher ("needle", FALSE, FALSE, NULL);
  const LineScan scan = { matcher, text, size, LINE_SCAN_NUMBERS };
  LineBuffer buffer = { 0 };
  guint64 n_lines = 0;
  struct timespec begin, end;

  memset (text, 'x', size);
  for (gsize at = 1000; at + 6 < size; at += 4096)
    memcpy (text + at, "needle", 6);
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &begin);
  for (gsize first = 0; first < size; first += 4096)
    {
      buffer.length = 0;
      line_scan (&scan, first, 4096, &buffer);
      n_lines += ((const LineBlock *)(gpointer)buffer.bytes)->n_lines;
    }
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &end);
  CU_ASSERT_EQUAL (n_lines, 1);
  line_buffer_clear (&buffer);
  return (double)(end.tv_sec - begin.tv_sec)
         + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* A cost that grew with the square of the line would be 256 times as much. */
static void
long_line (void)
{
  double least = INFINITY;

  for (guint i = 0; i < 3; i++)
    least = fmin (least, seconds_of_line (8u << 20));
  CU_ASSERT (least < 64 * seconds_of_line (512u << 10) + 0.01);
}

static void
counts_bytes (void)
{
  guint8 text[300];
  GRand *rand = g_rand_new_with_seed (5);

  fill_random (rand, text, sizeof text, "ab\n\x8a");
  for (gsize first = 0; first < 70; first++)
    for (gsize last = first; last <= sizeof text; last += 13)
      {
        gsize n = 0;

        for (gsize i = first; i < last; i++)
          n += text[i] == '\n';
        CU_ASSERT_EQUAL (count_byte (text + first, text + last, '\n'), n);
      }
  g_rand_free (rand);
}

HASS_TEST_SUITE (line_scan,
                 { "any block size gives the lines of a serial search",
                   block_borders },
                 { "a NUL ends a line and no line start is missed",
                   nul_ends_lines },
                 { "a line longer than its block is searched once", long_line },
                 { "newlines are counted at any alignment", counts_bytes })

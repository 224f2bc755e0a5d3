/* SPDX-License-Identifier: MIT */
/* test_gpu_search.c: what a GPU reports of a text leads to the lines that the
   CPU finds. Real GPUs are asked in tests/gpu/test_gpu_string_search.c.
   Thread safety: single-threaded.

   DESIGN. Blocks are cut out of random texts and laid into inputs of bundles
   as the library lays them, between bytes of other blocks, the input's end
   at the end of readable memory. gpu_reference.h stands in for the GPU. Its
   segments are compared with the matches that there are, and the lines found
   by them with those that line_scan() finds in the whole block. */
#include "hass_test.h"

#include <locale.h>

#include "../../examples/string_search/offload.h"
#include "gpu_reference.h"
#include "naive_search.h"

#define ALL_FLAGS (LINE_SCAN_NUMBERS | LINE_SCAN_MATCHES | LINE_SCAN_NUL)

typedef struct
{
  GRand *rand;
  const Matcher *matcher;
  const GpuFilter *filter;
  const guint8 *text;
  gsize size;
  guint n_wrong;
  guint64 n_lines, n_segments;
} Trial;

static gboolean
match_starts_at (const Trial *t, gsize at)
{
  gsize length, left = MIN (t->size - at, matcher_max_length (t->matcher));
  const guint8 *p = t->text + at;
  return matcher_find (t->matcher, p, p + left, &length) == p;
}

/* The block as part of a bundle; fence_free() the fence. */
static GpuText
lay_out (Trial *t, gsize first, gsize count, Fence *fence)
{
  gsize before = MIN (first, GPU_FILTER_REACH);
  gsize after = MIN (t->size - first - count, GPU_FILTER_REACH);
  gsize others = (gsize)g_rand_int_range (t->rand, 0, 100);
  gsize behind = g_rand_boolean (t->rand)
                     ? 0
                     : (gsize)g_rand_int_range (t->rand, 1, 100);
  others += -(others + before + count + after + behind) % GPU_FILTER_CHUNK;
  gsize bytes = others + before + count + after + behind;
  guint8 *base = fence_new (fence, bytes);
  /* Other blocks' bytes would make matches if they were taken for text. */
  for (gsize i = 0; i < bytes; i++)
    base[i] = t->text[g_rand_int_range (t->rand, 0, (gint32)t->size)];
  memcpy (base + others, t->text + first - before, before + count + after);
  return (GpuText){ .base = base,
                    .bytes = bytes,
                    .start = others + before,
                    .count = count,
                    .end = others + before + count + after };
}

static GpuFindings
findings (const Trial *t, gsize first, gsize count, const GArray *records)
{
  return (GpuFindings){ t->filter, first, count,
                        (const guint64 *)(gpointer)records->data,
                        records->len };
}

static void
compare_segments (Trial *t, const GpuFindings *found)
{
  LineGuide guide;
  g_autofree guint32 *wanted = NULL;
  CU_ASSERT_TRUE (line_guide_init (&guide, found, NULL));
  wanted = g_new0 (guint32, guide.n_words);
  for (gsize i = 0; i < found->count; i++)
    if (match_starts_at (t, found->first + i))
      {
        gsize segment = (i + guide.offset) / GPU_FILTER_SEGMENT;
        wanted[segment / 32] |= 1u << (segment % 32);
      }
  t->n_wrong
      += memcmp (wanted, guide.words, guide.n_words * sizeof *wanted) != 0;
  for (gsize i = 0; i < guide.n_words; i++)
    t->n_segments += (guint64)__builtin_popcount (wanted[i]);
  line_guide_clear (&guide);
}

static void
compare_lines (Trial *t, const GpuFindings *gpu, LineScanFlags flags)
{
  const LineScan scan = { t->matcher, t->text, t->size, flags };
  LineBuffer wanted = { 0 }, found = { 0 };
  g_autoptr (GError) error = NULL;
  line_scan (&scan, gpu->first, gpu->count, &wanted);
  CU_ASSERT_TRUE (offload_resolve (&scan, gpu, &found, &error));
  t->n_wrong += wanted.length != found.length
                || memcmp (wanted.bytes, found.bytes, wanted.length) != 0;
  t->n_lines += ((const LineBlock *)(gpointer)wanted.bytes)->n_lines;
  line_buffer_clear (&wanted);
  line_buffer_clear (&found);
}

static void
shuffle (GRand *rand, GArray *records)
{
  for (guint i = records->len; i > 1; i--)
    {
      guint j = (guint)g_rand_int_range (rand, 0, (gint32)i);
      guint64 other = g_array_index (records, guint64, j);
      g_array_index (records, guint64, j)
          = g_array_index (records, guint64, i - 1);
      g_array_index (records, guint64, i - 1) = other;
    }
}

static void
try_block (Trial *t, gsize first, gsize count)
{
  g_autoptr (GArray) records = g_array_new (FALSE, FALSE, sizeof (guint64));
  Fence fence;
  GpuText text = lay_out (t, first, count, &fence);
  gpu_reference_block (t->filter, &text, records);
  fence_free (&fence);
  CU_ASSERT (records->len
             <= (count / GPU_FILTER_TILE + 2) * (GPU_FILTER_TILE_WORDS + 2));
  shuffle (t->rand, records);
  const GpuFindings found = findings (t, first, count, records);
  compare_segments (t, &found);
  compare_lines (t, &found, ALL_FLAGS);
  compare_lines (t, &found, 0);
  compare_lines (t, &found, LINE_SCAN_COUNT);
}

/* All blocks of `count` bytes. */
static void
try_blocks (Trial *t, gsize count)
{
  for (gsize first = 0; first < t->size; first += count)
    try_block (t, first, MIN (count, t->size - first));
}

/* Texts of `alphabet`, where 0 stands for a NUL, with some of the patterns,
   which are of `letters`, put into them. */
typedef struct
{
  const char *alphabet, *letters;
  gsize n_patterns, longest, largest_text;
  guint n_rounds;
  gboolean ignore_case, utf8;
} Random;

static void
fill_text (Trial *t, const Random *r, const Pattern *patterns, guint8 *text)
{
  fill_random (t->rand, text, t->size, r->alphabet);
  for (gsize i = 0; i < t->size; i++)
    if (text[i] == '0')
      text[i] = '\0';
  for (gsize i = 0; i < t->size / 200 + 1; i++)
    {
      const Pattern *p
          = &patterns[g_rand_int_range (t->rand, 0, (gint32)r->n_patterns)];
      if (p->length <= t->size)
        memcpy (text
                    + g_rand_int_range (t->rand, 0,
                                        (gint32)(t->size - p->length + 1)),
                p->bytes, p->length);
    }
}

static void
compare_random (const Random *r)
{
  Trial t = { .rand = g_rand_new_with_seed (11) };
  g_autofree Pattern *patterns = g_new (Pattern, r->n_patterns);
  g_autofree guint8 *storage = g_malloc (r->n_patterns * r->longest);
  for (guint round = 0; round < r->n_rounds; round++)
    {
      gsize largest = round % 8 == 0 ? r->largest_text : 500;
      Fence fence;
      t.size = (gsize)g_rand_int_range (t.rand, 1, (gint32)largest);
      make_patterns (t.rand, patterns, r->n_patterns, 1 + round % r->longest,
                     r->letters, storage);
      if (r->utf8)
        for (gsize i = 0; i < r->n_patterns; i++)
          patterns[i].length = 1 + round % 2;
      g_autoptr (GError) error = NULL;
      g_autoptr (Matcher) matcher = matcher_new (
          patterns, r->n_patterns, r->ignore_case, r->utf8, NULL, &error);
      CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
      GpuFilter *filter
          = gpu_filter_new (matcher, GPU_FILTER_NEWLINES | GPU_FILTER_NULS);
      CU_ASSERT_PTR_NOT_NULL_FATAL (filter);
      guint8 *text = fence_new (&fence, t.size);
      fill_text (&t, r, patterns, text);
      t.text = text;
      t.matcher = matcher;
      t.filter = filter;
      try_blocks (&t, t.size);
      try_blocks (&t, (gsize)g_rand_int_range (t.rand, 1, (gint32)t.size + 1));
      if (t.size < 500)
        for (gsize count = 1; count < 40; count += 1 + count / 4)
          try_blocks (&t, count);
      fence_free (&fence);
      gpu_filter_free (filter);
    }
  CU_ASSERT_EQUAL (t.n_wrong, 0);
  CU_ASSERT (t.n_lines > r->n_rounds);
  CU_ASSERT (t.n_segments > r->n_rounds);
  g_rand_free (t.rand);
}

static void
one_pattern (void)
{
  compare_random (&(Random){ "abc\n", "ab", 1, 8, 50000, 100, FALSE, FALSE });
  compare_random (&(Random){ "etaoin zq\r\n", "etaoinzq", 1, 60, 50000, 100,
                             FALSE, FALSE });
}

static void
many_patterns (void)
{
  compare_random (
      &(Random){ "etaoinz \n", "etaoinz", 3, 10, 50000, 60, FALSE, FALSE });
  compare_random (
      &(Random){ "etaoinz \n", "etaoinz", 300, 30, 40000, 40, FALSE, FALSE });
}

static void
ignoring_case (void)
{
  compare_random (
      &(Random){ "abAB@`[{ \n", "abAB@[", 2, 12, 50000, 60, TRUE, FALSE });
  compare_random (
      &(Random){ "kitKITsS\n", "kitKITsS", 20, 9, 40000, 40, TRUE, FALSE });
}

static void
long_lines_and_nuls (void)
{
  compare_random (&(Random){ "abx0", "ab", 2, 6, 50000, 60, FALSE, FALSE });
  compare_random (&(Random){ "xyabcde", "ab", 2, 12, 60000, 60, FALSE, FALSE });
}

/* In UTF-8 k, s and i have forms of two and three bytes: patterns, and the
   pieces of the texts. */
static const char *const texts[]
    = { "kelvin",
        "Ks",
        "miss",
        "s",
        "straSSe",
        "\xc3\x89t\xc3\xa9",
        "sssssssssssssssssssssssssskkkkkkkkkkkkkkkkkkkkkkkkkkkkk" };
static const char *const pieces[] = { "\xe2\x84\xaa",
                                      "k",
                                      "K",
                                      "e",
                                      "lvin",
                                      "\xc5\xbf",
                                      "s",
                                      "S",
                                      "mi",
                                      "\n",
                                      "x",
                                      "\xc4\xb1",
                                      "tra",
                                      "\xc5",
                                      "\xe2",
                                      "\xc3\xa9",
                                      "t",
                                      "\xc3\x89",
                                      "sssssssssssssssssssssssssskkkkkk" };

static void
folding_characters (void)
{
  g_autofree char *before = g_strdup (setlocale (LC_ALL, NULL));
  if (!setlocale (LC_ALL, "C.UTF-8"))
    {
      hass_test_skip ("no locale C.UTF-8");
      return;
    }
  Trial t = { .rand = g_rand_new_with_seed (3) };
  for (guint round = 0; round < 120; round++)
    {
      g_autoptr (GString) lines = g_string_new (NULL);
      g_autoptr (GString) text = g_string_new (NULL);
      gsize wanted = round % 10 == 0 ? 30000 : 400;
      for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
        if (i == round % G_N_ELEMENTS (texts) || (round & 1 && i % 2))
          g_string_append_printf (lines, "%s%s", lines->len ? "\n" : "",
                                  texts[i]);
      while (text->len < wanted)
        g_string_append (
            text, pieces[g_rand_int_range (t.rand, 0, G_N_ELEMENTS (pieces))]);
      g_autoptr (Matcher) matcher = new_matcher (lines->str, TRUE, TRUE, NULL);
      GpuFilter *filter
          = gpu_filter_new (matcher, GPU_FILTER_NEWLINES | GPU_FILTER_NULS);
      CU_ASSERT_PTR_NOT_NULL_FATAL (filter);
      t.text = (const guint8 *)text->str;
      t.size = text->len;
      t.matcher = matcher;
      t.filter = filter;
      try_blocks (&t, t.size);
      try_blocks (&t, (gsize)g_rand_int_range (t.rand, 50, 1000));
      gpu_filter_free (filter);
    }
  CU_ASSERT_EQUAL (t.n_wrong, 0);
  CU_ASSERT (t.n_segments > 1000);
  g_rand_free (t.rand);
  setlocale (LC_ALL, before);
}

/* Of a pattern longer than GPU_FILTER_REACH the rest is the host's. */
static void
long_patterns (void)
{
  g_autofree char *pattern = g_strnfill (1000, 'a');
  pattern[900] = 'b';
  for (guint round = 0; round < 3; round++)
    {
      g_autoptr (Matcher) matcher
          = new_matcher (pattern, round & 1, FALSE, NULL);
      GpuFilter *filter = gpu_filter_new (matcher, GPU_FILTER_NEWLINES);
      Trial t = { .rand = g_rand_new_with_seed (round),
                  .matcher = matcher,
                  .filter = filter,
                  .size = 40000 };
      g_autofree guint8 *text = g_malloc (t.size);
      memset (text, 'a', t.size);
      for (gsize at = 1999; at < t.size; at += 2000)
        text[at] = '\n';
      for (gsize at = 950; at < t.size; at += 4000)
        text[at] = 'b';
      t.text = text;
      for (gsize first = 0; first < t.size; first += 777)
        {
          g_autoptr (GArray) records
              = g_array_new (FALSE, FALSE, sizeof (guint64));
          gsize count = MIN (t.size - first, 777);
          Fence fence;
          GpuText input = lay_out (&t, first, count, &fence);
          gpu_reference_block (filter, &input, records);
          fence_free (&fence);
          const GpuFindings found = findings (&t, first, count, records);
          compare_lines (&t, &found, LINE_SCAN_NUMBERS | LINE_SCAN_MATCHES);
        }
      CU_ASSERT_EQUAL (t.n_wrong, 0);
      CU_ASSERT_EQUAL (t.n_lines, 10);
      gpu_filter_free (filter);
      g_rand_free (t.rand);
    }
}

static void
foreign_records (void)
{
  g_autoptr (Matcher) matcher = new_matcher ("needle", FALSE, FALSE, NULL);
  GpuFilter *filter = gpu_filter_new (matcher, GPU_FILTER_NEWLINES);
  const guint64 wrong[] = { gpu_record (GPU_RECORD_SEGMENTS, 1, 1),
                            gpu_record (GPU_RECORD_NEWLINES, 1, 1),
                            gpu_record (GPU_RECORD_NUL, 0, 1000),
                            gpu_record ((GpuRecordKind)3, 0, 0) };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      LineBuffer lines = { 0 };
      guint8 text[1000] = { 0 };
      g_autoptr (GError) error = NULL;
      const LineScan scan = { matcher, text, 1000, 0 };
      const GpuFindings found = { filter, 0, 1000, &wrong[i], 1 };
      CU_ASSERT_FALSE (offload_resolve (&scan, &found, &lines, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      line_buffer_clear (&lines);
    }
  gpu_filter_free (filter);
}

HASS_TEST_SUITE (
    gpu_search,
    { "one pattern: all its segments, no other, and their lines", one_pattern },
    { "many patterns: all their segments, no other, and their lines",
      many_patterns },
    { "patterns are found whatever the case", ignoring_case },
    { "characters with case forms of several lengths", folding_characters },
    { "lines longer than blocks, and NULs", long_lines_and_nuls },
    { "patterns longer than a GPU looks", long_patterns },
    { "a record of another block is an error", foreign_records })

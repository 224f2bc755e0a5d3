/* SPDX-License-Identifier: MIT */
/* Tests the matcher of the string_search example.
   Thread safety: single-threaded.

   DESIGN.  Every claim is checked against a reference that tries each
   pattern at each position, one character at a time.  Texts are random over
   small alphabets, so that matches, near matches and overlaps are many; all
   kernels and strategies are forced in turn.  */

#include "hass_test.h"

#include <locale.h>
#include <string.h>

#include "naive_search.h"

#define N_KERNELS (MATCHER_KERNEL_NEON + 1)
#define N_STRATEGIES (MATCHER_STRATEGY_AHO_CORASICK + 1)

/* Compares all matches, one after the other and overlapping; returns whether
   they are the same.  */
static gboolean
same_matches (const Matcher *matcher, const Naive *naive, const guint8 *p,
              const guint8 *end)
{
  for (;;)
    {
      gsize length = 0;
      gsize wanted_length = 0;
      const guint8 *found = matcher_find (matcher, p, end, &length);
      const guint8 *wanted = naive_find (naive, p, end, &wanted_length);

      if (found != wanted || (found != NULL && length != wanted_length))
        return FALSE;
      if (found == NULL)
        return TRUE;
      p = found + 1;
    }
}

/* Runs `n_rounds` random comparisons of one strategy and kernel; returns the
   number of matchers compared.  */
static guint
compare_random (MatcherStrategy strategy, MatcherKernel kernel, guint n_rounds)
{
  static const char *const alphabets[]
      = { "ab", "abcAB", "etaoinETAOIN zq", "xyzXYZ\xc3\xa9\xff" };
  GRand *rand = g_rand_new_with_seed (1000 + strategy * 10 + kernel);
  guint n_compared = 0;
  guint n_wrong = 0;

  for (guint round = 0; round < n_rounds; round++)
    {
      MatcherTuning tuning = MATCHER_TUNING_INIT;
      const char *alphabet = alphabets[round % G_N_ELEMENTS (alphabets)];
      gsize n_patterns = strategy == MATCHER_STRATEGY_PAIR ? 1
                         : round % 3 == 0                  ? 70
                                                           : 1 + round % 9;
      gsize text_bytes = (gsize)g_rand_int_range (rand, 0, 700);
      Pattern patterns[70];
      guint8 storage[70 * 24];
      Naive naive = { patterns, n_patterns, round % 2 != 0 };
      g_autoptr (GError) error = NULL;
      g_autoptr (Matcher) matcher = NULL;
      Fence fence;
      guint8 *text = fence_new (&fence, text_bytes);

      make_patterns (rand, patterns, n_patterns,
                     (gsize)g_rand_int_range (rand, 1, 24), alphabet, storage);
      fill_random (rand, text, text_bytes, alphabet);
      /* Long patterns do not occur by chance.  */
      for (guint i = 0; i < 6; i++)
        {
          const Pattern *plant
              = &patterns[g_rand_int_range (rand, 0, (gint32)n_patterns)];

          if (plant->length < text_bytes)
            memcpy (text
                        + g_rand_int_range (
                            rand, 0, (gint32)(text_bytes - plant->length + 1)),
                    plant->bytes, plant->length);
        }

      tuning.strategy = strategy;
      tuning.kernel = kernel;
      tuning.dense_bytes = round % 4 == 0 ? 1 : round % 4 == 1 ? 400 : 0;
      matcher = matcher_new (patterns, n_patterns, naive.ignore_case, FALSE,
                             &tuning, &error);
      if (matcher != NULL)
        {
          n_compared++;
          n_wrong += !same_matches (matcher, &naive, text, text + text_bytes);
        }
      fence_free (&fence);
    }
  CU_ASSERT_EQUAL (n_wrong, 0);
  g_rand_free (rand);
  return n_compared;
}

static void
compare_kernel (MatcherKernel kernel)
{
  if (!matcher_kernel_available (kernel))
    {
      hass_test_skip ("this machine lacks the instructions");
      return;
    }
  for (guint s = 0; s < N_STRATEGIES; s++)
    CU_ASSERT_EQUAL (compare_random ((MatcherStrategy)s, kernel, 400), 400);
}

static void
scalar_kernel (void)
{
  compare_kernel (MATCHER_KERNEL_SCALAR);
}

static void
sse_kernel (void)
{
  compare_kernel (MATCHER_KERNEL_SSE);
}

static void
avx2_kernel (void)
{
  compare_kernel (MATCHER_KERNEL_AVX2);
}

static void
avx512_kernel (void)
{
  compare_kernel (MATCHER_KERNEL_AVX512);
}

static void
neon_kernel (void)
{
  compare_kernel (MATCHER_KERNEL_NEON);
}

/* Not the plain one, which is several times slower.  */
static void
best_is_chosen (void)
{
  g_autoptr (Matcher) matcher = new_matcher ("needle", FALSE, FALSE, NULL);
  MatcherKernel wanted = MATCHER_KERNEL_SCALAR;

  for (guint k = 0; k < N_KERNELS; k++)
    if (matcher_kernel_available ((MatcherKernel)k))
      wanted = (MatcherKernel)k;
  CU_ASSERT_EQUAL (matcher_kernel (matcher), wanted);
#if defined(__aarch64__)
  CU_ASSERT_EQUAL (wanted, MATCHER_KERNEL_NEON);
#elif defined(__x86_64__)
  CU_ASSERT_NOT_EQUAL (wanted, MATCHER_KERNEL_NEON);
#endif
}

/* Writes the matches of `text` as "at+length " each.  */
static char *
matches_as_text (const Matcher *matcher, const char *text)
{
  GString *out = g_string_new (NULL);
  const guint8 *p = (const guint8 *)text;
  const guint8 *end = p + strlen (text);
  const guint8 *base = p;
  gsize length;

  while ((p = matcher_find (matcher, p, end, &length)) != NULL)
    {
      g_string_append_printf (out, "%d+%d ", (int)(p - base), (int)length);
      p += length;
    }
  return g_string_free (out, FALSE);
}

/* Checks the matches with every strategy and kernel there is.  */
static void
check_matches (const char *lines, gboolean ignore_case, gboolean utf8,
               const char *text, const char *wanted)
{
  for (guint s = 0; s < N_STRATEGIES; s++)
    for (guint k = 0; k < N_KERNELS; k++)
      {
        MatcherTuning tuning = MATCHER_TUNING_INIT;
        g_autoptr (Matcher) matcher = NULL;
        g_autofree char *found = NULL;

        if (!matcher_kernel_available ((MatcherKernel)k)
            || (s == MATCHER_STRATEGY_PAIR && strchr (lines, '\n') != NULL))
          continue;
        tuning.strategy = (MatcherStrategy)s;
        tuning.kernel = (MatcherKernel)k;
        matcher = new_matcher (lines, ignore_case, utf8, &tuning);
        found = matches_as_text (matcher, text);
        if (strcmp (found, wanted))
          fprintf (stderr, "%s: %s != %s\n", lines, found, wanted);
        CU_ASSERT_STRING_EQUAL (found, wanted);
      }
}

static void
overlaps (void)
{
  check_matches ("aa", FALSE, FALSE, "aaaaa", "0+2 2+2 ");
  check_matches ("aba", FALSE, FALSE, "ababababa", "0+3 4+3 ");
}

static void
leftmost_longest (void)
{
  check_matches ("b\nabcd\nabc\nbcde", FALSE, FALSE, "xabcde b", "1+4 7+1 ");
  check_matches ("abcdx\nbc\ncd", FALSE, FALSE, "abcd abcdx", "1+2 5+5 ");
  check_matches ("a\nab\nabc", FALSE, FALSE, "abcaba", "0+3 3+2 5+1 ");
}

static void
folds_ascii (void)
{
  check_matches ("KiSs", TRUE, FALSE, "kiss KISS [iss", "0+4 5+4 ");
  /* '[' and '{' differ in the bit that upper and lower case letters do.  */
  check_matches ("[a]", TRUE, FALSE, "[A] {a} [a]", "0+3 8+3 ");
}

/* The C.UTF-8 locale for a test, and back.  */
static char *
enter_utf8 (void)
{
  char *before = g_strdup (setlocale (LC_CTYPE, NULL));

  if (setlocale (LC_CTYPE, "C.UTF-8") == NULL)
    g_clear_pointer (&before, g_free);
  return before;
}

static void
leave_utf8 (char *before)
{
  setlocale (LC_CTYPE, before);
  g_free (before);
}

#define DOTS                                                                   \
  "................................................................"           \
  "................"

static void
folds_utf8 (void)
{
  char *before = enter_utf8 ();

  if (before == NULL)
    {
      hass_test_skip ("there is no locale C.UTF-8");
      return;
    }
  /* LONG S is 2 bytes and folds with s.  KELVIN SIGN does not fold with k in
     grep: it is its own capital.  */
  check_matches ("kiss", TRUE, TRUE, "Ki\305\277S kisS \342\204\252iss",
                 "0+5 6+4 ");
  check_matches ("\342\204\252", TRUE, TRUE, "k K \342\204\252", "4+3 ");
  check_matches ("\303\211t\303\251", TRUE, TRUE,
                 "\303\251T\303\211 \303\251t\303 ", "0+5 ");
  /* Long enough for the vector loops: candidates in the middle of the
     match, and a start that the text does not have room for.  */
  check_matches ("Sherlock", TRUE, TRUE,
                 "herlock" DOTS "\305\277HERLOCK" DOTS "sherlocksherlocK"
                 "\305herlock \277herlock\305\277herloc" DOTS,
                 "87+9 176+8 184+8 ");
  /* Final and medial sigma, and a two-form letter beside them.  */
  check_matches ("\317\203x\n\317\202", TRUE, TRUE,
                 "\316\243X \317\202x \317\203", "0+3 4+3 8+2 ");
  leave_utf8 (before);
}

static void
refuses_unfoldable (void)
{
  char *before = enter_utf8 ();
  const Pattern bad[] = { { (const guint8 *)"a\377", 2 },
                          { (const guint8 *)"\341\262\200", 3 } }; /* U+1C80 */

  if (before == NULL)
    {
      hass_test_skip ("there is no locale C.UTF-8");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      CU_ASSERT_PTR_NULL (matcher_new (&bad[i], 1, TRUE, TRUE, NULL, &error));
      CU_ASSERT (g_error_matches (error, MATCHER_ERROR, MATCHER_ERROR_PATTERN));
      CU_ASSERT (error != NULL && strstr (error->message, "\\3") != NULL);
    }
  leave_utf8 (before);
}

static void
splits_patterns (void)
{
  static const struct
  {
    gboolean file;
    const char *text;
    gsize length;
    gsize n_patterns;
    gboolean has_empty;
  } cases[]
      = { { FALSE, "", 0, 1, TRUE },    { FALSE, "a\nb", 3, 2, FALSE },
          { FALSE, "a\n", 2, 2, TRUE }, { TRUE, "", 0, 0, FALSE },
          { TRUE, "a\n", 2, 1, FALSE }, { TRUE, "a\n\n", 3, 2, TRUE },
          { TRUE, "\n", 1, 1, TRUE },   { TRUE, "a\0b\nc", 5, 1, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (PatternList) list = pattern_list_new ();
      g_autoptr (Matcher) matcher = NULL;
      const Pattern *patterns;
      gsize n;

      if (cases[i].file)
        pattern_list_add_file (list, (const guint8 *)cases[i].text,
                               cases[i].length);
      else
        pattern_list_add_text (list, (const guint8 *)cases[i].text,
                               cases[i].length);
      patterns = pattern_list_get (list, &n);
      CU_ASSERT_EQUAL (n, cases[i].n_patterns);
      matcher = matcher_new (patterns, n, FALSE, FALSE, NULL, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
      CU_ASSERT_EQUAL (matcher_has_empty (matcher), cases[i].has_empty);
    }
}

HASS_TEST_SUITE (
    matcher, { "the scalar kernels agree with a naive search", scalar_kernel },
    { "the SSE kernels agree with a naive search", sse_kernel },
    { "the AVX2 kernels agree with a naive search", avx2_kernel },
    { "the AVX-512 kernels agree with a naive search", avx512_kernel },
    { "the NEON kernels agree with a naive search", neon_kernel },
    { "the fastest kernels of the machine are chosen", best_is_chosen },
    { "matches do not overlap", overlaps },
    { "the leftmost match wins, then the longest", leftmost_longest },
    { "-i in the C locale folds ASCII letters only", folds_ascii },
    { "-i in UTF-8 folds characters of any length", folds_utf8 },
    { "-i in UTF-8 refuses what it cannot fold, by name", refuses_unfoldable },
    { "patterns are split at newlines as grep does", splits_patterns })

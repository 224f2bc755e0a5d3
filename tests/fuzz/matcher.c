/* SPDX-License-Identifier: MIT */
/* matcher.c: patterns of string_search in a text, beside a naive search. -i in
   UTF-8 has no naive one: there the way to search is held to the simplest.

   The first byte of an input chooses: bit 0 is -i, bits 0 to 2 together are
   UTF-8, the others how much memory the automaton has. The second byte chooses
   strategy and kernel. Then come patterns as lines, a zero byte, and the text.

   Thread safety: see fuzz.h. */
#include "fuzz.h"
#include "hass_test.h"

#include <locale.h>
#include <string.h>

#include "tests/examples/naive_search.h"

#define MOST_PATTERNS 100
#define MOST_TEXT 1000
#define IGNORE_CASE 1
#define UTF8 7
#define N_KERNELS (MATCHER_KERNEL_AVX512 + 1)
#define N_WAYS (N_KERNELS * (MATCHER_STRATEGY_AHO_CORASICK + 1))

typedef struct
{
  const Matcher *simple; /* NULL: ask the naive one */
  Naive naive;
} Reference;

static const guint8 *
wanted (const Reference *r, const guint8 *p, const guint8 *end, gsize *length)
{
  return r->simple ? matcher_find (r->simple, p, end, length)
                   : naive_find (&r->naive, p, end, length);
}

static gboolean
same_matches (const Matcher *m, const Reference *r, const guint8 *p,
              const guint8 *end)
{
  for (;;)
    {
      gsize length = 0, right = 0;
      const guint8 *found = matcher_find (m, p, end, &length);
      if (found != wanted (r, p, end, &right) || (found && length != right))
        return FALSE;
      if (!found)
        return TRUE;
      p = found + 1;
    }
}

static void
compare_way (const Reference *r, guint how, guint way, const guint8 *text,
             gsize size)
{
  MatcherTuning tuning = MATCHER_TUNING_INIT;
  g_autoptr (GError) error = NULL;
  tuning.strategy = (MatcherStrategy)(way / N_KERNELS);
  tuning.kernel = (MatcherKernel)(way % N_KERNELS);
  tuning.dense_bytes = how >> 3 << 6;
  if (!matcher_kernel_available (tuning.kernel))
    return;
  g_autoptr (Matcher) m
      = matcher_new (r->naive.patterns, r->naive.n_patterns,
                     r->naive.ignore_case, r->simple != NULL, &tuning, &error);
  FUZZ_CHECK ((m == NULL) == (error != NULL));
  FUZZ_CHECK (m || way > 0);
  FUZZ_CHECK (!m || same_matches (m, r, text, text + size));
}

static int
matcher (const guint8 *data, size_t size)
{
  const guint8 *zero = size > 2 ? memchr (data + 2, 0, size - 2) : NULL;
  gsize n;
  if (!zero)
    return 0;
  /* Each in memory of just its size, so that reads beyond it are seen. */
  gsize text_size = MIN ((gsize)(data + size - zero - 1), MOST_TEXT);
  g_autofree guint8 *text = g_malloc (MAX (text_size, 1));
  memcpy (text, zero + 1, text_size);
  g_autoptr (PatternList) list = pattern_list_new ();
  pattern_list_add_file (list, data + 2, (gsize)(zero - data - 2));
  const Pattern *patterns = pattern_list_get (list, &n);
  guint how = data[0];
  gboolean utf8 = (how & UTF8) == UTF8;
  Reference r
      = { .naive = { patterns, MIN (n, MOST_PATTERNS), how & IGNORE_CASE } };
  g_autofree char *before = g_strdup (setlocale (LC_CTYPE, NULL));
  g_autoptr (Matcher) simple = NULL;
  if (utf8 && setlocale (LC_CTYPE, "C.UTF-8"))
    {
      MatcherTuning tuning = MATCHER_TUNING_INIT;
      tuning.strategy = MATCHER_STRATEGY_AHO_CORASICK;
      tuning.kernel = MATCHER_KERNEL_SCALAR;
      simple = matcher_new (patterns, r.naive.n_patterns, TRUE, TRUE, &tuning,
                            NULL);
      r.simple = simple;
    }
  if (simple || !utf8)
    compare_way (&r, how, data[1] % N_WAYS, text, text_size);
  setlocale (LC_CTYPE, before);
  return 0;
}

FUZZ_TARGET (matcher, matcher)

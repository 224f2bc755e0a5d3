/* SPDX-License-Identifier: MIT */
/* matcher.c: patterns of string_search in a text, beside a naive search. -i in
   UTF-8 has no naive one: there every way to search is held to the simplest.

   The first byte of an input chooses: bit 0 is -i, bit 1 UTF-8, the others how
   much memory the automaton has. Then come patterns as lines, a zero byte, and
   the text.

   Thread safety: see fuzz.h. */
#include "fuzz.h"
#include "hass_test.h"

#include <locale.h>
#include <string.h>

#include "tests/examples/naive_search.h"

#define MOST_PATTERNS 100
#define MOST_TEXT 4000

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
compare (const Reference *r, guint how, const guint8 *text, gsize size)
{
  gboolean utf8 = (how & 2) != 0;
  for (guint s = 0; s <= MATCHER_STRATEGY_AHO_CORASICK; s++)
    for (guint k = 0; k <= MATCHER_KERNEL_AVX512; k++)
      {
        MatcherTuning tuning = MATCHER_TUNING_INIT;
        g_autoptr (GError) error = NULL;
        tuning.strategy = (MatcherStrategy)s;
        tuning.kernel = (MatcherKernel)k;
        tuning.dense_bytes = how >> 2;
        if (!matcher_kernel_available (tuning.kernel))
          continue;
        g_autoptr (Matcher) m
            = matcher_new (r->naive.patterns, r->naive.n_patterns,
                           r->naive.ignore_case, utf8, &tuning, &error);
        FUZZ_CHECK (m || error);
        FUZZ_CHECK (m || utf8 || s != MATCHER_STRATEGY_AUTO || k > 0);
        FUZZ_CHECK (!m || same_matches (m, r, text, text + size));
      }
}

static int
matcher (const guint8 *data, size_t size)
{
  const guint8 *zero = size > 1 ? memchr (data + 1, 0, size - 1) : NULL;
  gsize n;
  if (!zero)
    return 0;
  /* Each in memory of just its size, so that reads beyond it are seen. */
  gsize text_size = MIN ((gsize)(data + size - zero - 1), MOST_TEXT);
  g_autofree guint8 *text = g_memdup2 (zero + 1, text_size);
  g_autoptr (PatternList) list = pattern_list_new ();
  pattern_list_add_file (list, data + 1, (gsize)(zero - data - 1));
  const Pattern *patterns = pattern_list_get (list, &n);
  Reference r = { .naive = { patterns, MIN (n, MOST_PATTERNS), data[0] & 1 } };
  g_autofree char *before = g_strdup (setlocale (LC_CTYPE, NULL));
  g_autoptr (Matcher) simple = NULL;
  if ((data[0] & 3) == 3 && setlocale (LC_CTYPE, "C.UTF-8"))
    {
      MatcherTuning tuning = MATCHER_TUNING_INIT;
      tuning.strategy = MATCHER_STRATEGY_AHO_CORASICK;
      tuning.kernel = MATCHER_KERNEL_SCALAR;
      simple = matcher_new (patterns, r.naive.n_patterns, TRUE, TRUE, &tuning,
                            NULL);
      r.simple = simple;
    }
  if ((data[0] & 3) != 3 || simple)
    compare (&r, data[0], text, text_size);
  setlocale (LC_CTYPE, before);
  return 0;
}

FUZZ_TARGET (matcher, matcher)

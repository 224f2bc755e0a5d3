/* SPDX-License-Identifier: MIT */
/* A naive search, and texts at the edge of readable memory, for the tests of
   string_search.
   Thread safety: no state.  */

#ifndef NAIVE_SEARCH_H
#define NAIVE_SEARCH_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "examples/string_search/matcher/matcher.h"

typedef struct
{
  const Pattern *patterns;
  gsize n_patterns;
  gboolean ignore_case;
} Naive;

static inline gsize
naive_longest_at (const Naive *naive, const guint8 *p, const guint8 *end)
{
  gsize longest = 0;

  for (gsize i = 0; i < naive->n_patterns; i++)
    {
      const Pattern *pattern = &naive->patterns[i];
      gsize j = 0;

      if ((gsize)(end - p) < pattern->length)
        continue;
      while (j < pattern->length
             && (naive->ignore_case
                     ? g_ascii_tolower ((gchar)p[j])
                           == g_ascii_tolower ((gchar)pattern->bytes[j])
                     : p[j] == pattern->bytes[j]))
        j++;
      if (j == pattern->length)
        longest = MAX (longest, j);
    }
  return longest;
}

static inline const guint8 *
naive_find (const Naive *naive, const guint8 *p, const guint8 *end,
            gsize *length)
{
  for (; p < end; p++)
    if ((*length = naive_longest_at (naive, p, end)) > 0)
      return p;
  return NULL;
}

/* Text that ends where readable memory ends.  */
typedef struct
{
  guint8 *map;
  gsize n_bytes;
} Fence;

static inline guint8 *
fence_new (Fence *fence, gsize n_bytes)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE);

  fence->n_bytes = (n_bytes + page - 1) / page * page + page;
  fence->map = mmap (NULL, fence->n_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_FATAL (fence->map != MAP_FAILED);
  mprotect (fence->map + fence->n_bytes - page, page, PROT_NONE);
  return fence->map + fence->n_bytes - page - n_bytes;
}

static inline void
fence_free (Fence *fence)
{
  munmap (fence->map, fence->n_bytes);
}

static inline void
fill_random (GRand *rand, guint8 *bytes, gsize n, const char *alphabet)
{
  gint32 n_letters = (gint32)strlen (alphabet);

  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)alphabet[g_rand_int_range (rand, 0, n_letters)];
}

/* Random patterns, all in one array.  */
static inline void
make_patterns (GRand *rand, Pattern *patterns, gsize n, gsize longest,
               const char *alphabet, guint8 *storage)
{
  for (gsize i = 0; i < n; i++)
    {
      patterns[i].length
          = (gsize)g_rand_int_range (rand, 1, (gint32)longest + 1);
      patterns[i].bytes = storage;
      fill_random (rand, storage, patterns[i].length, alphabet);
      storage += patterns[i].length;
    }
}

static inline Matcher *
new_matcher (const char *lines, gboolean ignore_case, gboolean utf8,
             const MatcherTuning *tuning)
{
  g_autoptr (PatternList) list = pattern_list_new ();
  g_autoptr (GError) error = NULL;
  const Pattern *patterns;
  gsize n;
  Matcher *matcher;

  pattern_list_add_text (list, (const guint8 *)lines, strlen (lines));
  patterns = pattern_list_get (list, &n);
  matcher = matcher_new (patterns, n, ignore_case, utf8, tuning, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
  return matcher;
}

#endif

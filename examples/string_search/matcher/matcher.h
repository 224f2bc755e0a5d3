/* SPDX-License-Identifier: MIT */
/* Compiles a set of fixed patterns and finds their leftmost-longest match.
   A Matcher is immutable once made; any number of threads may search with
   it at once.  */

#ifndef STRING_SEARCH_MATCHER_H
#define STRING_SEARCH_MATCHER_H

#include <glib.h>

#include "patterns.h"

G_BEGIN_DECLS

/* The vector instructions a search uses; AUTO takes the widest there is.  */
typedef enum
{
  MATCHER_KERNEL_AUTO,
  MATCHER_KERNEL_SCALAR,
  MATCHER_KERNEL_SSE, /* SSE2 for one literal, SSSE3 for several */
  MATCHER_KERNEL_AVX2,
  MATCHER_KERNEL_AVX512, /* AVX-512BW */
  MATCHER_KERNEL_NEON    /* of aarch64 */
} MatcherKernel;

typedef enum
{
  MATCHER_STRATEGY_AUTO,
  MATCHER_STRATEGY_PAIR,  /* one pattern: two rare bytes at fixed offsets */
  MATCHER_STRATEGY_TEDDY, /* nibble masks on up to four bytes */
  MATCHER_STRATEGY_AHO_CORASICK
} MatcherStrategy;

/* Choices that tests and benchmarks force; zero is the sensible default.  */
typedef struct
{
  gsize struct_size;
  MatcherKernel kernel;
  MatcherStrategy strategy;
  gsize dense_bytes; /* table budget of Aho-Corasick; 0: 16 MiB */
} MatcherTuning;

#define MATCHER_TUNING_INIT                                                    \
  {                                                                            \
    .struct_size = sizeof (MatcherTuning)                                      \
  }

typedef struct _Matcher Matcher;

/* Compiles `patterns` [n_patterns], which are copied and may be empty.

   With `ignore_case` and not `utf8` the ASCII letters fold; with both, the
   characters fold as in GNU grep -i under the current LC_CTYPE locale.
   MATCHER_ERROR_PATTERN is set for a pattern that is then not valid UTF-8 or
   holds one of U+1C80..U+1C88.  `tuning` may be NULL.  Free the result with
   matcher_free().  */
Matcher *matcher_new (const Pattern *patterns, gsize n_patterns,
                      gboolean ignore_case, gboolean utf8,
                      const MatcherTuning *tuning, GError **error);
void matcher_free (Matcher *matcher);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Matcher, matcher_free)

/* Finds the leftmost match of a non-empty pattern that lies inside
   [begin, end), the longest of those that start there; returns NULL if there
   is none, else stores its length.  Reads nothing outside [begin, end).
   The empty pattern is excluded: ask matcher_has_empty().  */
const guint8 *matcher_find (const Matcher *matcher, const guint8 *begin,
                            const guint8 *end, gsize *match_length);

/* Whether the empty pattern, which matches every line, is in the set.  */
gboolean matcher_has_empty (const Matcher *matcher);

/* The length in bytes of the longest text that can match; 0 if none can.  */
gsize matcher_max_length (const Matcher *matcher);

/* What AUTO chose.  */
MatcherKernel matcher_kernel (const Matcher *matcher);
MatcherStrategy matcher_strategy (const Matcher *matcher);

/* Whether this machine can run `kernel`.  */
gboolean matcher_kernel_available (MatcherKernel kernel);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* A fixed pattern, the errors of sets of them, and the list of the patterns
   that -e and -f give, split as grep splits it.
   Thread safety: a list is built by one thread at start-up and only read
   afterwards.  */

#ifndef STRING_SEARCH_PATTERNS_H
#define STRING_SEARCH_PATTERNS_H

#include <glib.h>

G_BEGIN_DECLS

/* Why a set of patterns cannot be compiled by matcher_new().  */
#define MATCHER_ERROR (matcher_error_quark ())
GQuark matcher_error_quark (void);

typedef enum
{
  MATCHER_ERROR_PATTERN, /* a pattern that -i cannot serve in UTF-8 */
  MATCHER_ERROR_TUNING,  /* the machine or the set lacks what tuning asks */
  MATCHER_ERROR_TOO_BIG  /* the patterns are longer than 2^29 bytes together */
} MatcherError;

/* One pattern: `length` bytes, which the pattern does not own.  */
typedef struct
{
  const guint8 *bytes;
  gsize length;
} Pattern;

typedef struct _PatternList PatternList;

PatternList *pattern_list_new (void);
void pattern_list_free (PatternList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PatternList, pattern_list_free)

/* Adds the patterns of one -e option: `text` is copied and split at every
   newline, so "a\nb" gives two patterns, "a\n" gives "a" and the empty
   pattern, and "" gives the empty pattern.  */
void pattern_list_add_text (PatternList *list, const guint8 *text,
                            gsize length);

/* Adds the patterns of one -f file given its content: as above, but a final
   newline ends the last pattern instead of starting an empty one, and an
   empty file gives no pattern at all.  */
void pattern_list_add_file (PatternList *list, const guint8 *text,
                            gsize length);

/* The patterns, valid until the next add or free; stores how many.  */
const Pattern *pattern_list_get (const PatternList *list, gsize *n_patterns);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* Splits the operands of -e and -f into patterns; the error domain of pattern
   sets, which every file of the matcher reports by.
   Thread safety: see patterns.h.  */

#include "patterns.h"

#include <string.h>

/* Not by G_DEFINE_QUARK (), in whose argument clang-format puts spaces. */
GQuark
matcher_error_quark (void)
{
  return g_quark_from_static_string ("string-search-matcher-error-quark");
}

struct _PatternList
{
  GArray *patterns; /* of Pattern */
  GPtrArray *texts; /* the copies that the patterns point into */
};

PatternList *
pattern_list_new (void)
{
  PatternList *list = g_new (PatternList, 1);

  list->patterns = g_array_new (FALSE, FALSE, sizeof (Pattern));
  list->texts = g_ptr_array_new_with_free_func (g_free);
  return list;
}

void
pattern_list_free (PatternList *list)
{
  if (list == NULL)
    return;
  g_array_unref (list->patterns);
  g_ptr_array_unref (list->texts);
  g_free (list);
}

/* A pattern with a NUL byte is dropped: grep turns every NUL of a binary
   file into a line end before it searches, so such a pattern never
   matches.  */
static void
add_one (PatternList *list, const guint8 *bytes, gsize length)
{
  Pattern pattern = { bytes, length };

  if (length == 0 || memchr (bytes, '\0', length) == NULL)
    g_array_append_val (list->patterns, pattern);
}

void
pattern_list_add_text (PatternList *list, const guint8 *text, gsize length)
{
  guint8 *copy = g_malloc (length + 1);
  const guint8 *at = copy;
  const guint8 *end = copy + length;
  const guint8 *newline;

  if (length > 0)
    memcpy (copy, text, length);
  g_ptr_array_add (list->texts, copy);

  while ((newline = memchr (at, '\n', (gsize)(end - at))) != NULL)
    {
      add_one (list, at, (gsize)(newline - at));
      at = newline + 1;
    }
  add_one (list, at, (gsize)(end - at));
}

void
pattern_list_add_file (PatternList *list, const guint8 *text, gsize length)
{
  if (length == 0)
    return;
  if (text[length - 1] == '\n')
    length--;
  pattern_list_add_text (list, text, length);
}

const Pattern *
pattern_list_get (const PatternList *list, gsize *n_patterns)
{
  *n_patterns = list->patterns->len;
  return (const Pattern *)(gpointer)list->patterns->data;
}

/* SPDX-License-Identifier: MIT */
/* Case folding with the results of GNU grep 3.8 -i, from the C library's own
   case rules.
   Thread safety: immutable after fold_table_new().

   DESIGN.  GNU grep folds a pattern character c to every character d with
   towupper (d) == towupper (c).  That was checked by running grep -iF for
   each of the 2879 cased characters of C.UTF-8 against all of them; the only
   difference found is U+1C80..U+1C88, which grep's table of lone lower case
   letters does not know: they fold when they are in the pattern, never when
   they are in the text.  Here they fold to themselves only, and a pattern
   with one of them is refused.  */

#include "fold.h"

#include <stdlib.h>
#include <string.h>
#include <wctype.h>

/* The last cased character of Unicode 15 is U+1E943.  */
#define LAST_CASED 0x1ffff

typedef struct
{
  gunichar upper;
  gunichar c;
} Cased;

struct _FoldTable
{
  Cased *cased; /* [n_cased], sorted by upper, then c */
  gsize n_cased;
  gunichar *canonical; /* [LAST_CASED + 1] */
};

static gboolean
one_way (gunichar c)
{
  return c >= 0x1c80 && c <= 0x1c88;
}

static gunichar
upper_of (gunichar c)
{
  return one_way (c) ? c : (gunichar)towupper ((wint_t)c);
}

static int
compare_cased (const void *a, const void *b)
{
  const Cased *x = a;
  const Cased *y = b;

  if (x->upper != y->upper)
    return x->upper < y->upper ? -1 : 1;
  return x->c < y->c ? -1 : x->c > y->c;
}

FoldTable *
fold_table_new (void)
{
  FoldTable *table = g_new0 (FoldTable, 1);
  GArray *cased = g_array_new (FALSE, FALSE, sizeof (Cased));
  gsize i;

  for (gunichar c = 1; c <= LAST_CASED; c++)
    {
      Cased entry = { upper_of (c), c };

      if (entry.upper != c)
        {
          Cased self = { entry.upper, entry.upper };

          g_array_append_val (cased, entry);
          g_array_append_val (cased, self);
        }
    }
  if (cased->len > 0)
    qsort (cased->data, cased->len, sizeof (Cased), compare_cased);

  /* Several lower case letters may have added the same capital.  */
  for (i = 0; i < cased->len; i++)
    {
      Cased *all = (Cased *)(gpointer)cased->data;

      if (table->n_cased == 0
          || compare_cased (&all[table->n_cased - 1], &all[i]) != 0)
        all[table->n_cased++] = all[i];
    }
  table->cased = (Cased *)(gpointer)g_array_free (cased, FALSE);

  table->canonical = g_new (gunichar, LAST_CASED + 1);
  for (gunichar c = 0; c <= LAST_CASED; c++)
    table->canonical[c] = c;
  for (i = 0; i < table->n_cased; i++)
    {
      gunichar first = table->cased[i].c;

      /* The smallest character stands for the rest, but ASCII letters are
         represented by lower case, as byte-wise folding does.  */
      if (i > 0 && table->cased[i - 1].upper == table->cased[i].upper)
        first = table->canonical[table->cased[i - 1].c];
      else if (first >= 'A' && first <= 'Z'
               && upper_of (first + 0x20) == table->cased[i].upper)
        first += 0x20;
      if (table->cased[i].c <= LAST_CASED)
        table->canonical[table->cased[i].c] = first;
    }
  return table;
}

void
fold_table_free (FoldTable *table)
{
  if (table == NULL)
    return;
  g_free (table->cased);
  g_free (table->canonical);
  g_free (table);
}

static void
add_form (FoldAtom *atom, gunichar c)
{
  guint f = atom->n_forms++;

  atom->length[f] = (guint8)fold_encode (c, atom->bytes[f]);
}

gboolean
fold_table_atom (const FoldTable *table, gunichar c, FoldAtom *atom)
{
  gunichar upper = upper_of (c);
  gsize low = 0;
  gsize high = table->n_cased;

  memset (atom, 0, sizeof *atom);
  if (one_way (c))
    return FALSE;
  while (low < high)
    {
      gsize middle = low + (high - low) / 2;

      if (table->cased[middle].upper < upper)
        low = middle + 1;
      else
        high = middle;
    }
  for (; low < table->n_cased && table->cased[low].upper == upper; low++)
    {
      if (atom->n_forms == FOLD_MAX_FORMS)
        return FALSE;
      add_form (atom, table->cased[low].c);
    }
  if (atom->n_forms == 0)
    add_form (atom, c);
  return TRUE;
}

gunichar
fold_table_canonical (const FoldTable *table, gunichar c)
{
  return c <= LAST_CASED ? table->canonical[c] : c;
}

guint
fold_decode (const guint8 *p, const guint8 *end, gunichar *c)
{
  static const gunichar smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
  guint length = p[0] < 0x80   ? 1
                 : p[0] < 0xc2 ? 0
                 : p[0] < 0xe0 ? 2
                 : p[0] < 0xf0 ? 3
                 : p[0] < 0xf5 ? 4
                               : 0;
  gunichar value;

  if (length == 0 || (gsize)(end - p) < length)
    return 0;
  value = length == 1 ? p[0] : p[0] & (0x7fu >> length);
  for (guint i = 1; i < length; i++)
    {
      if ((p[i] & 0xc0) != 0x80)
        return 0;
      value = value << 6 | (p[i] & 0x3f);
    }
  if (value < smallest[length] || (value >= 0xd800 && value <= 0xdfff))
    return 0;
  *c = value;
  return length;
}

guint
fold_encode (gunichar c, guint8 bytes[FOLD_MAX_BYTES])
{
  char buffer[6];
  guint length = (guint)g_unichar_to_utf8 (c, buffer);

  g_assert (length <= FOLD_MAX_BYTES);
  memcpy (bytes, buffer, length);
  return length;
}

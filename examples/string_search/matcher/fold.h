/* SPDX-License-Identifier: MIT */
/* Which characters -i takes for one another, in the C locale and in UTF-8.
   A FoldTable is immutable once made and may be shared by threads.  */

#ifndef STRING_SEARCH_FOLD_H
#define STRING_SEARCH_FOLD_H

#include <glib.h>

G_BEGIN_DECLS

#define FOLD_MAX_FORMS 8
#define FOLD_MAX_BYTES 4

/* The byte strings that match one character of a pattern.  They may differ in
   length, as s (1 byte) and U+017F LONG S (2 bytes) do.  */
typedef struct
{
  guint8 n_forms;
  guint8 length[FOLD_MAX_FORMS];
  guint8 bytes[FOLD_MAX_FORMS][FOLD_MAX_BYTES];
} FoldAtom;

typedef struct _FoldTable FoldTable;

/* Reads the case rules of the current LC_CTYPE locale (call setlocale()
   first); free with fold_table_free().  */
FoldTable *fold_table_new (void);
void fold_table_free (FoldTable *table);

/* Stores every form that GNU grep 3.8 -i matches for pattern character `c`.
   Returns FALSE if that relation is not symmetric (U+1C80..U+1C88) or has
   more than FOLD_MAX_FORMS forms.  */
gboolean fold_table_atom (const FoldTable *table, gunichar c, FoldAtom *atom);

/* The one character that stands for all forms of `c`.  */
gunichar fold_table_canonical (const FoldTable *table, gunichar c);

/* Decodes the UTF-8 character at `p`; returns its length, or 0 if the bytes
   are not one.  */
guint fold_decode (const guint8 *p, const guint8 *end, gunichar *c);

/* Encodes `c`; returns the number of bytes stored, at most
   FOLD_MAX_BYTES.  */
guint fold_encode (gunichar c, guint8 bytes[FOLD_MAX_BYTES]);

G_END_DECLS

#endif

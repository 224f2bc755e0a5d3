/* SPDX-License-Identifier: MIT */
/* One pattern in the form that is compared with the text.
   Thread safety: a needle is immutable after needle_init().

   DESIGN.  Most patterns are plain bytes, some of which ignore bit 0x20
   (ASCII letters under -i); those are compared eight bytes at a time.  Under
   -i in UTF-8 a character may have forms of several lengths (i and s have
   forms outside ASCII), and such a pattern is kept as a sequence of atoms.
   UTF-8 is prefix-free, so at most one form of an atom matches at a
   position, and no backtracking is needed.  */

#include "matcher-private.h"

static gboolean
is_simple (const FoldAtom *atom)
{
  return atom->n_forms == 1
         || (atom->n_forms == 2 && atom->length[0] == 1 && atom->length[1] == 1
             && (atom->bytes[0][0] ^ atom->bytes[1][0]) == 0x20);
}

static void
set_error (GError **error, const Pattern *pattern, const char *what)
{
  g_autofree char *text
      = g_strndup ((const char *)pattern->bytes, pattern->length);
  g_autofree char *escaped = g_strescape (text, NULL);

  g_set_error (error, MATCHER_ERROR, MATCHER_ERROR_PATTERN,
               "pattern \"%s\": -i cannot be used with %s", escaped, what);
}

/* Splits `pattern` into atoms; returns whether every atom is one byte string
   or an ASCII letter, in *all_simple.  */
static gboolean
make_atoms (Needle *needle, const Pattern *pattern, const FoldTable *folds,
            gboolean *all_simple, GError **error)
{
  const guint8 *p = pattern->bytes;
  const guint8 *end = p + pattern->length;

  needle->atoms = g_new (FoldAtom, pattern->length);
  needle->length = needle->max_length = 0;
  *all_simple = TRUE;
  while (p < end)
    {
      FoldAtom *atom = &needle->atoms[needle->n_atoms];
      gunichar c = 0;
      guint step = fold_decode (p, end, &c);
      guint8 low = FOLD_MAX_BYTES;
      guint8 high = 0;

      if (step == 0)
        {
          set_error (error, pattern, "bytes that are not UTF-8");
          return FALSE;
        }
      if (!fold_table_atom (folds, c, atom))
        {
          g_autofree char *what = g_strdup_printf ("the character U+%04X", c);

          set_error (error, pattern, what);
          return FALSE;
        }
      for (guint f = 0; f < atom->n_forms; f++)
        {
          low = MIN (low, atom->length[f]);
          high = MAX (high, atom->length[f]);
        }
      if (!is_simple (atom))
        *all_simple = FALSE;
      needle->length += low;
      needle->max_length += high;
      needle->n_atoms++;
      p += step;
    }
  return TRUE;
}

gboolean
needle_init (Needle *needle, const Pattern *pattern, gboolean ignore_case,
             const FoldTable *folds, GError **error)
{
  guint8 head[3][8] = { { 0 }, { 0 }, { 0 } };
  gboolean simple = TRUE;

  memset (needle, 0, sizeof *needle);
  if (folds != NULL)
    {
      if (!make_atoms (needle, pattern, folds, &simple, error))
        {
          needle_clear (needle);
          return FALSE;
        }
      if (!simple)
        return TRUE;
      g_clear_pointer (&needle->atoms, g_free);
    }
  needle->length = needle->max_length = pattern->length;
  needle->value = g_memdup2 (pattern->bytes, pattern->length);
  needle->fold = g_malloc0 (pattern->length);
  for (gsize i = 0; ignore_case && i < pattern->length; i++)
    if (g_ascii_isalpha (pattern->bytes[i]))
      {
        needle->fold[i] = 0x20;
        needle->value[i] |= 0x20;
      }
  for (gsize i = 0; i < MIN (pattern->length, 8); i++)
    {
      head[0][i] = needle->value[i];
      head[1][i] = needle->fold[i];
      head[2][i] = 0xff;
    }
  needle->head_value = load_u64 (head[0]);
  needle->head_fold = load_u64 (head[1]);
  needle->head_mask = load_u64 (head[2]);
  return TRUE;
}

void
needle_clear (Needle *needle)
{
  g_free (needle->value);
  g_free (needle->fold);
  g_free (needle->atoms);
}

/* Compares a match of more than 8 bytes whose first 8 are known to match and
   which lies inside the text.  */
gsize
needle_match_long (const Needle *needle, const guint8 *p)
{
  gsize last = needle->length - 8;
  gsize i = 8;

  for (;;)
    {
      /* The last step overlaps the one before it.  */
      if (i > last)
        i = last;
      if ((load_u64 (p + i) | load_u64 (needle->fold + i))
          != load_u64 (needle->value + i))
        return 0;
      if (i == last)
        return needle->length;
      i += 8;
    }
}

static guint
match_atom (const FoldAtom *atom, const guint8 *p, const guint8 *end)
{
  for (guint f = 0; f < atom->n_forms; f++)
    {
      guint length = atom->length[f];

      if ((gsize)(end - p) >= length && memcmp (p, atom->bytes[f], length) == 0)
        return length;
    }
  return 0;
}

/* The length of the form of `atom` that ends at `p`, or 0.  No form is the
   end of another one either.  */
static guint
match_atom_before (const FoldAtom *atom, const guint8 *begin, const guint8 *p)
{
  for (guint f = 0; f < atom->n_forms; f++)
    {
      guint length = atom->length[f];

      if ((gsize)(p - begin) >= length
          && memcmp (p - length, atom->bytes[f], length) == 0)
        return length;
    }
  return 0;
}

/* Matches the atoms from `first` on; returns the end, or NULL.  */
static const guint8 *
match_atoms (const Needle *needle, gsize first, const guint8 *p,
             const guint8 *end)
{
  for (gsize i = first; i < needle->n_atoms; i++)
    {
      guint length = match_atom (&needle->atoms[i], p, end);

      if (length == 0)
        return NULL;
      p += length;
    }
  return p;
}

gsize
needle_match_atoms (const Needle *needle, const guint8 *p, const guint8 *end)
{
  const guint8 *match_end = match_atoms (needle, 0, p, end);

  return match_end != NULL ? (gsize)(match_end - p) : 0;
}

gsize
needle_match_around (const Needle *needle, gsize anchor, const guint8 *begin,
                     const guint8 **p, const guint8 *end)
{
  const guint8 *match_end = match_atoms (needle, anchor, *p, end);
  const guint8 *start = *p;

  if (match_end == NULL)
    return 0;
  while (anchor-- > 0)
    {
      guint length = match_atom_before (&needle->atoms[anchor], begin, start);

      if (length == 0)
        return 0;
      start -= length;
    }
  *p = start;
  return (gsize)(match_end - start);
}

static void
add_byte (ByteSet *set, guint8 byte)
{
  set->bits[byte >> 6] |= G_GUINT64_CONSTANT (1) << (byte & 63);
}

void
needle_byte_sets (const Needle *needle, ByteSet *sets, gsize n_sets)
{
  g_autofree gboolean *starts = NULL;

  if (needle->atoms == NULL)
    {
      for (gsize i = 0; i < MIN (n_sets, needle->length); i++)
        {
          add_byte (&sets[i], needle->value[i]);
          add_byte (&sets[i], needle->value[i] & (guint8)~needle->fold[i]);
        }
      return;
    }

  /* starts[i]: the current atom may begin at offset i.  Offsets rise, so one
     array serves if it is walked downwards.  */
  starts = g_new0 (gboolean, n_sets + FOLD_MAX_BYTES + 1);
  starts[0] = TRUE;
  for (gsize a = 0; a < needle->n_atoms; a++)
    {
      const FoldAtom *atom = &needle->atoms[a];

      for (gsize i = n_sets; i-- > 0;)
        {
          if (!starts[i])
            continue;
          starts[i] = FALSE;
          for (guint f = 0; f < atom->n_forms; f++)
            {
              for (guint j = 0; j < atom->length[f]; j++)
                if (i + j < n_sets)
                  add_byte (&sets[i + j], atom->bytes[f][j]);
              starts[i + atom->length[f]] = TRUE;
            }
        }
    }
}

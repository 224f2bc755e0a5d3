/* SPDX-License-Identifier: MIT */
/* Aho-Corasick search, leftmost-longest, for large sets of patterns.
   Thread safety: an Aho is immutable after aho_new().

   DESIGN.
   1. The patterns form a trie over byte classes (bytes that no pattern tells
      apart share a class).  Its states are numbered breadth first.
   2. The first states in that order, as many as the table budget holds, are
      rows of a complete automaton: one load a byte.  The others keep their
      few edges sorted, and a failure link; links lead to smaller numbers, so
      a walk down them ends in a row.  A state in the table is named by the
      offset of its row, one outside by its number past the table's end.
   3. Leftmost-longest: after a match is known, the search goes on only while
      the current state began at or before it.
   4. Under -i in UTF-8 the text is read as characters, each replaced by the
      one that stands for its case forms.  States then count characters, and
      a start is found by stepping back over that many.

   Alfred V. Aho and Margaret J. Corasick, "Efficient string matching: an aid
   to bibliographic search", Communications of the ACM 18(6), 1975.  */

#include "matcher-private.h"

#include <stdlib.h>

#define DEFAULT_DENSE_BYTES (16u << 20)
#define ENDS_HERE 0x80000000u /* flag on a state name: a pattern ends here */
#define NONE 0u               /* the root is no state's child */

struct _Aho
{
  gboolean utf8;
  const FoldTable *folds;
  guint8 class_of[256];
  guint n_classes;
  guint32 n_states;
  guint32 n_dense;
  guint32 limit;  /* n_dense * n_classes: the first name outside the table */
  guint32 *rows;  /* [limit] of names */
  guint32 *fail;  /* [n_states - n_dense] of names */
  guint32 *first; /* [n_states - n_dense + 1] into edges */
  guint8 *edge_class;
  guint32 *edge_to; /* of names */
  guint32 *depth;   /* [n_states], in units: bytes, or characters */
  guint32 *out;     /* [n_states]: units of the longest pattern ending here */
};

/* ---- step 1: the trie ---- */

typedef struct
{
  guint32 child;
  guint32 sibling;
  guint32 out;
  guint32 depth;
  guint8 symbol; /* the class of the edge that leads here */
} Node;

static guint32
child_of (const GArray *nodes, guint32 parent, guint8 symbol)
{
  const Node *all = (const Node *)(const void *)nodes->data;
  guint32 child = all[parent].child;

  while (child != NONE && all[child].symbol != symbol)
    child = all[child].sibling;
  return child;
}

static void
insert (GArray *nodes, const guint8 *symbols, const gboolean *begins_unit,
        gsize length)
{
  guint32 at = 0;

  for (gsize i = 0; i < length; i++)
    {
      guint32 next = child_of (nodes, at, symbols[i]);

      if (next == NONE)
        {
          Node *parent = &g_array_index (nodes, Node, at);
          Node node = { .sibling = parent->child,
                        .symbol = symbols[i],
                        .depth = parent->depth + (begins_unit[i] ? 1 : 0) };

          next = nodes->len;
          parent->child = next;
          g_array_append_val (nodes, node);
        }
      at = next;
    }
  g_array_index (nodes, Node, at).out = g_array_index (nodes, Node, at).depth;
}

/* Rewrites `pattern` as the bytes fed to the automaton; returns how many.
   `bytes` and `begins_unit` have room for twice the pattern.  */
static gsize
canonical_bytes (const Aho *aho, const Pattern *pattern, gboolean fold_ascii,
                 guint8 *bytes, gboolean *begins_unit)
{
  const guint8 *p = pattern->bytes;
  const guint8 *end = p + pattern->length;
  gsize n = 0;

  while (p < end)
    {
      gunichar c;
      guint step = aho->utf8 ? fold_decode (p, end, &c) : 0;

      begins_unit[n] = TRUE;
      if (step == 0)
        {
          bytes[n++] = fold_ascii ? (guint8)g_ascii_tolower ((gchar)*p) : *p;
          p++;
          continue;
        }
      p += step;
      step = fold_encode (fold_table_canonical (aho->folds, c), bytes + n);
      for (guint i = 1; i < step; i++)
        begins_unit[n + i] = FALSE;
      n += step;
    }
  return n;
}

/* ---- step 2: from trie to automaton ---- */

static guint32
name_of (const Aho *aho, guint32 state)
{
  return (state < aho->n_dense ? state * aho->n_classes
                               : aho->limit + (state - aho->n_dense))
         | (aho->out[state] > 0 ? ENDS_HERE : 0);
}

static guint32
state_of (const Aho *aho, guint32 name)
{
  name &= ~ENDS_HERE;
  return name < aho->limit ? name / aho->n_classes
                           : name - aho->limit + aho->n_dense;
}

/* The name of the state that follows the one named `name` on `symbol`.  */
static inline guint32
follow (const Aho *aho, guint32 name, guint8 symbol)
{
  name &= ~ENDS_HERE;
  while (name >= aho->limit)
    {
      guint32 state = name - aho->limit;
      guint32 last = aho->first[state + 1];

      for (guint32 e = aho->first[state]; e < last; e++)
        if (aho->edge_class[e] == symbol)
          return aho->edge_to[e];
      name = aho->fail[state] & ~ENDS_HERE;
    }
  return aho->rows[name + symbol];
}

static void
link_states (Aho *aho, const GArray *nodes)
{
  const Node *all = (const Node *)(const void *)nodes->data;
  guint32 n = aho->n_states;
  g_autofree guint32 *order = g_new (guint32, n);  /* node of a state */
  g_autofree guint32 *fail = g_new0 (guint32, n);  /* state */
  g_autofree guint32 *below = g_new0 (guint32, n); /* first child state */
  guint32 n_edges = 0;
  guint32 tail = 1;

  order[0] = 0;
  for (guint32 s = 0; s < n; s++)
    {
      below[s] = tail;
      for (guint32 c = all[order[s]].child; c != NONE; c = all[c].sibling)
        order[tail++] = c;
      aho->depth[s] = all[order[s]].depth;
      aho->out[s] = all[order[s]].out;
    }

  /* A link is known before its state is reached, and `out` of the linked
     state is final by then: it is nearer to the root.  A child's link is its
     parent's link followed by its symbol.  The names used here are final
     only if `out` is, so edges are stored once all links are known.  */
  for (guint32 s = 0; s < n; s++)
    {
      guint32 end = s + 1 < n ? below[s + 1] : n;

      if (aho->out[s] == 0)
        aho->out[s] = aho->out[fail[s]];
      for (guint32 c = below[s]; c < end && s > 0; c++)
        {
          guint8 symbol = all[order[c]].symbol;
          guint32 f = s;

          do
            {
              f = fail[f];
              for (guint32 t = below[f]; t < below[f + 1]; t++)
                if (all[order[t]].symbol == symbol)
                  {
                    fail[c] = t;
                    break;
                  }
            }
          while (fail[c] == 0 && f != 0);
        }
    }

  for (guint32 s = 0; s < n; s++)
    {
      guint32 end = s + 1 < n ? below[s + 1] : n;

      if (s < aho->n_dense)
        {
          guint32 *row = aho->rows + (gsize)s * aho->n_classes;

          if (s > 0)
            memcpy (row, aho->rows + (gsize)fail[s] * aho->n_classes,
                    aho->n_classes * sizeof *row);
          for (guint32 c = below[s]; c < end; c++)
            row[all[order[c]].symbol] = name_of (aho, c);
          continue;
        }
      aho->fail[s - aho->n_dense] = name_of (aho, fail[s]);
      aho->first[s - aho->n_dense] = n_edges;
      for (guint32 c = below[s]; c < end; c++, n_edges++)
        {
          aho->edge_class[n_edges] = all[order[c]].symbol;
          aho->edge_to[n_edges] = name_of (aho, c);
        }
    }
  aho->first[n - aho->n_dense] = n_edges;
}

Aho *
aho_new (const Pattern *patterns, gsize n_patterns, const FoldTable *folds,
         gboolean fold_ascii, gsize dense_bytes, GError **error)
{
  Aho *aho = g_new0 (Aho, 1);
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  Node root = { 0 };
  gsize longest = 1;
  gsize total = 0;
  g_autofree guint8 *bytes = NULL;
  g_autofree gboolean *begins_unit = NULL;
  gboolean used[256] = { FALSE };

  aho->folds = folds;
  aho->utf8 = folds != NULL;
  for (gsize i = 0; i < n_patterns; i++)
    {
      longest = MAX (longest, patterns[i].length);
      total += patterns[i].length;
    }
  if (total > (1u << 29))
    {
      g_set_error (error, MATCHER_ERROR, MATCHER_ERROR_TOO_BIG,
                   "%" G_GSIZE_FORMAT " patterns of %" G_GSIZE_FORMAT
                   " bytes together are more than the %u bytes that one "
                   "search can take",
                   n_patterns, total, 1u << 29);
      g_free (aho);
      return NULL;
    }
  bytes = g_malloc (2 * longest + FOLD_MAX_BYTES);
  begins_unit = g_new (gboolean, 2 * longest + FOLD_MAX_BYTES);

  for (gsize i = 0; i < n_patterns; i++)
    {
      gsize n
          = canonical_bytes (aho, &patterns[i], fold_ascii, bytes, begins_unit);

      for (gsize j = 0; j < n; j++)
        used[bytes[j]] = TRUE;
    }
  aho->n_classes = 1; /* class 0: bytes in no pattern */
  for (guint x = 0; x < 256; x++)
    if (used[x] && aho->n_classes < 256)
      aho->class_of[x] = (guint8)aho->n_classes++;
  for (guint x = 0; x < 256; x++)
    if (folds != NULL && x < 0x80)
      aho->class_of[x] = aho->class_of[fold_table_canonical (folds, x)];
    else if (fold_ascii && folds == NULL && g_ascii_isupper ((gchar)x))
      aho->class_of[x] = aho->class_of[x + 0x20];

  g_array_append_val (nodes, root);
  for (gsize i = 0; i < n_patterns; i++)
    {
      gsize n
          = canonical_bytes (aho, &patterns[i], fold_ascii, bytes, begins_unit);

      for (gsize j = 0; j < n; j++)
        bytes[j] = aho->class_of[bytes[j]];
      insert (nodes, bytes, begins_unit, n);
    }

  aho->n_states = nodes->len;
  if (dense_bytes == 0)
    dense_bytes = DEFAULT_DENSE_BYTES;
  aho->n_dense = (guint32)CLAMP (
      dense_bytes / (aho->n_classes * sizeof *aho->rows), 1, aho->n_states);
  aho->limit = aho->n_dense * aho->n_classes;
  aho->rows = g_new0 (guint32, aho->limit);
  aho->fail = g_new (guint32, aho->n_states - aho->n_dense);
  aho->first = g_new (guint32, aho->n_states - aho->n_dense + 1);
  aho->edge_class = g_malloc (aho->n_states);
  aho->edge_to = g_new (guint32, aho->n_states);
  aho->depth = g_new (guint32, aho->n_states);
  aho->out = g_new (guint32, aho->n_states);
  link_states (aho, nodes);
  return aho;
}

void
aho_free (Aho *aho)
{
  if (aho == NULL)
    return;
  g_free (aho->rows);
  g_free (aho->fail);
  g_free (aho->first);
  g_free (aho->edge_class);
  g_free (aho->edge_to);
  g_free (aho->depth);
  g_free (aho->out);
  g_free (aho);
}

/* ---- steps 3 and 4: the search ---- */

/* The address `units` before `p`; the text between is what was matched.  */
static const guint8 *
step_back (const Aho *aho, const guint8 *p, guint32 units)
{
  if (!aho->utf8)
    return p - units;
  for (; units > 0; units--)
    do
      p--;
    while ((*p & 0xc0) == 0x80);
  return p;
}

/* Feeds the character at `p` and returns the address after it.  */
static const guint8 *
follow_character (const Aho *aho, const guint8 *p, const guint8 *end,
                  guint32 *name)
{
  guint8 bytes[FOLD_MAX_BYTES];
  gunichar c;
  guint length = fold_decode (p, end, &c);
  guint n;

  if (length == 0)
    {
      /* No pattern holds a byte that is not part of a character.  */
      *name = 0;
      return p + 1;
    }
  n = fold_encode (fold_table_canonical (aho->folds, c), bytes);
  for (guint i = 0; i < n; i++)
    *name = follow (aho, *name, aho->class_of[bytes[i]]);
  return p + length;
}

const guint8 *
aho_find (const Matcher *matcher, const guint8 *begin, const guint8 *end,
          gsize *match_length)
{
  const Aho *aho = matcher->aho;
  const guint32 limit = aho->limit;
  const guint32 *rows = aho->rows;
  const guint8 *best = NULL;
  const guint8 *p = begin;
  guint32 name = 0;

  while (p < end)
    {
      if (aho->utf8 && *p >= 0x80)
        p = follow_character (aho, p, end, &name);
      else
        {
          guint8 symbol = aho->class_of[*p++];

          if (G_LIKELY ((name & ~ENDS_HERE) < limit))
            name = rows[(name & ~ENDS_HERE) + symbol];
          else
            name = follow (aho, name, symbol);
        }
      if (G_UNLIKELY ((name & ENDS_HERE) != 0))
        {
          const guint8 *start
              = step_back (aho, p, aho->out[state_of (aho, name)]);

          if (best == NULL || start <= best)
            {
              best = start;
              *match_length = (gsize)(p - start);
            }
        }
      if (best != NULL
          && step_back (aho, p, aho->depth[state_of (aho, name)]) > best)
        break;
    }
  return best;
}

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
/* Of all patterns together.  Case forms double them at most, which leaves the
   numbers of states and the flag ENDS_HERE 32 bits.  */
#define MAX_PATTERN_BYTES (1u << 29)
#define ENDS_HERE 0x80000000u /* flag on a state name: a pattern ends here */
#define NONE 0u               /* the root is the child of no state */

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

/* The trie while it becomes the automaton.  States are the trie's nodes in
   breadth-first order: the children of state s are the states from below[s]
   up to below[s + 1].  */
typedef struct
{
  const Node *nodes;
  guint32 n_states;
  guint32 *node_of; /* [n_states] */
  guint32 *below;   /* [n_states + 1]: the first child */
  guint32 *fail;    /* [n_states]: the state that the failure link leads to */
} Links;

static guint8
symbol_of (const Links *links, guint32 state)
{
  return links->nodes[links->node_of[state]].symbol;
}

static void
number_states (Aho *aho, Links *links)
{
  guint32 tail = 1;

  links->node_of[0] = 0;
  for (guint32 s = 0; s < links->n_states; s++)
    {
      const Node *node = &links->nodes[links->node_of[s]];

      links->below[s] = tail;
      for (guint32 c = node->child; c != NONE; c = links->nodes[c].sibling)
        links->node_of[tail++] = c;
      aho->depth[s] = node->depth;
      aho->out[s] = node->out;
    }
  links->below[links->n_states] = tail;
}

/* The state that the link of a child of `parent` leads to: the nearest state
   along the parent's links that has a child by `symbol`, and that child; the
   root if there is none.  */
static guint32
link_by_symbol (const Links *links, guint32 parent, guint8 symbol)
{
  guint32 f = parent;

  do
    {
      f = links->fail[f];
      for (guint32 t = links->below[f]; t < links->below[f + 1]; t++)
        if (symbol_of (links, t) == symbol)
          return t;
    }
  while (f != 0);
  return 0;
}

/* A link is known before its state is reached, and `out` of the linked state
   is final by then, because that state is nearer to the root.  */
static void
find_links (Aho *aho, Links *links)
{
  for (guint32 s = 0; s < links->n_states; s++)
    {
      if (aho->out[s] == 0)
        aho->out[s] = aho->out[links->fail[s]];
      for (guint32 c = links->below[s]; c < links->below[s + 1] && s > 0; c++)
        links->fail[c] = link_by_symbol (links, s, symbol_of (links, c));
    }
}

/* The row of a state in the table: that of its link, over which its own
   edges go.  */
static void
fill_row (Aho *aho, const Links *links, guint32 s)
{
  guint32 *row = aho->rows + (gsize)s * aho->n_classes;

  if (s > 0)
    memcpy (row, aho->rows + (gsize)links->fail[s] * aho->n_classes,
            aho->n_classes * sizeof *row);
  for (guint32 c = links->below[s]; c < links->below[s + 1]; c++)
    row[symbol_of (links, c)] = name_of (aho, c);
}

/* Names are final only if `out` is, so edges are stored after all links are
   known.  */
static void
store_edges (Aho *aho, const Links *links)
{
  guint32 n_edges = 0;

  for (guint32 s = 0; s < aho->n_dense; s++)
    fill_row (aho, links, s);
  for (guint32 s = aho->n_dense; s < links->n_states; s++)
    {
      aho->fail[s - aho->n_dense] = name_of (aho, links->fail[s]);
      aho->first[s - aho->n_dense] = n_edges;
      for (guint32 c = links->below[s]; c < links->below[s + 1]; c++, n_edges++)
        {
          aho->edge_class[n_edges] = symbol_of (links, c);
          aho->edge_to[n_edges] = name_of (aho, c);
        }
    }
  aho->first[links->n_states - aho->n_dense] = n_edges;
}

static void
link_states (Aho *aho, const GArray *nodes)
{
  guint32 n = aho->n_states;
  g_autofree guint32 *node_of = g_new (guint32, n);
  g_autofree guint32 *below = g_new (guint32, n + 1);
  g_autofree guint32 *fail = g_new0 (guint32, n);
  Links links
      = { (const Node *)(const void *)nodes->data, n, node_of, below, fail };

  number_states (aho, &links);
  find_links (aho, &links);
  store_edges (aho, &links);
}

/* ---- steps 1 and 2 together ---- */

/* The length of the longest pattern; 0 with MATCHER_ERROR_TOO_BIG if the
   names of the states might not fit into 31 bits.  */
static gsize
longest_pattern (const Pattern *patterns, gsize n_patterns, GError **error)
{
  gsize longest = 1;
  gsize total = 0;

  for (gsize i = 0; i < n_patterns; i++)
    {
      longest = MAX (longest, patterns[i].length);
      total += patterns[i].length;
    }
  if (total <= MAX_PATTERN_BYTES)
    return longest;
  g_set_error (error, MATCHER_ERROR, MATCHER_ERROR_TOO_BIG,
               "%" G_GSIZE_FORMAT " patterns of %" G_GSIZE_FORMAT
               " bytes together are more than the %u bytes that one "
               "search can take",
               n_patterns, total, MAX_PATTERN_BYTES);
  return 0;
}

/* Gives each byte that the patterns use a class of its own, 255 at most, and
   bytes that fold to one another the same class.  */
static void
set_classes (Aho *aho, const gboolean *used, gboolean fold_ascii)
{
  aho->n_classes = 1; /* class 0: bytes in no pattern */
  for (guint x = 0; x < 256; x++)
    if (used[x] && aho->n_classes < 256)
      aho->class_of[x] = (guint8)aho->n_classes++;
  for (guint x = 0; x < 256; x++)
    if (aho->utf8 && x < 0x80)
      aho->class_of[x] = aho->class_of[fold_table_canonical (aho->folds, x)];
    else if (fold_ascii && !aho->utf8 && g_ascii_isupper ((gchar)x))
      aho->class_of[x] = aho->class_of[x + 0x20];
}

/* Sets the classes and returns the trie; `longest` is the length of the
   longest pattern.  */
static GArray *
build_trie (Aho *aho, const Pattern *patterns, gsize n_patterns, gsize longest,
            gboolean fold_ascii)
{
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  Node root = { 0 };
  gboolean used[256] = { FALSE };
  g_autofree guint8 *bytes = g_malloc (2 * longest + FOLD_MAX_BYTES);
  g_autofree gboolean *begins_unit
      = g_new (gboolean, 2 * longest + FOLD_MAX_BYTES);

  for (gsize i = 0; i < n_patterns; i++)
    {
      gsize n
          = canonical_bytes (aho, &patterns[i], fold_ascii, bytes, begins_unit);

      for (gsize j = 0; j < n; j++)
        used[bytes[j]] = TRUE;
    }
  set_classes (aho, used, fold_ascii);

  g_array_append_val (nodes, root);
  for (gsize i = 0; i < n_patterns; i++)
    {
      gsize n
          = canonical_bytes (aho, &patterns[i], fold_ascii, bytes, begins_unit);

      for (gsize j = 0; j < n; j++)
        bytes[j] = aho->class_of[bytes[j]];
      insert (nodes, bytes, begins_unit, n);
    }
  return nodes;
}

/* Makes room for `n_states`, as many as `dense_bytes` hold in the table.  */
static void
allocate_states (Aho *aho, guint32 n_states, gsize dense_bytes)
{
  aho->n_states = n_states;
  aho->n_dense = (guint32)CLAMP (
      dense_bytes / (aho->n_classes * sizeof *aho->rows), 1, n_states);
  aho->limit = aho->n_dense * aho->n_classes;
  aho->rows = g_new0 (guint32, aho->limit);
  aho->fail = g_new (guint32, n_states - aho->n_dense);
  aho->first = g_new (guint32, n_states - aho->n_dense + 1);
  aho->edge_class = g_malloc (n_states);
  aho->edge_to = g_new (guint32, n_states);
  aho->depth = g_new (guint32, n_states);
  aho->out = g_new (guint32, n_states);
}

Aho *
aho_new (const Pattern *patterns, gsize n_patterns, const FoldTable *folds,
         gboolean fold_ascii, gsize dense_bytes, GError **error)
{
  gsize longest = longest_pattern (patterns, n_patterns, error);
  g_autoptr (GArray) nodes = NULL;
  Aho *aho;

  if (longest == 0)
    return NULL;
  aho = g_new0 (Aho, 1);
  aho->folds = folds;
  aho->utf8 = folds != NULL;
  nodes = build_trie (aho, patterns, n_patterns, longest, fold_ascii);
  allocate_states (aho, nodes->len,
                   dense_bytes != 0 ? dense_bytes : DEFAULT_DENSE_BYTES);
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

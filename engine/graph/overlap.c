/* SPDX-License-Identifier: MIT */
/* overlap.c: finds the datum that a new one overlaps.

   DESIGN. A balanced tree (AVL) of data by address. Every node knows of its
   subtree the address after the last byte and, if one pitch fits all its data,
   the columns that these lie in: the column of a byte is its address modulo the
   pitch. The search leaves a subtree alone that ends before the new datum
   begins, begins after it ends, or lies in other columns.

   Tiles of a matrix whose spans intersect are those of one row of tiles. Their
   order by address is that of their columns, so all but O(log n) of their
   subtrees are left alone. In other arrangements the search looks at most at
   all data whose spans intersect that of the new one.

   Thread safety: one thread at a time. */
#include "overlap.h"

/* More than the height of any AVL tree that memory can hold. */
#define MOST_HEIGHT 96

/* A range of columns, on a circle of @pitch columns: @first < @pitch, and
   @last < 2 * @pitch is the first column after it. @pitch: 0: unknown. */
typedef struct
{
  guint32 pitch, first, last;
} HassColumns;

/* As small as a cache line, as the tree may be larger than the cache. */
struct HassOccupied
{
  HassData *data;
  guintptr begin; /* address of its first byte */
  /* the data with lower and with higher addresses */
  HassOccupied *child[2];
  /* of this datum and those below: the address after them, and where they lie
   */
  guintptr end;
  HassColumns columns;
  guint32 pitch;    /* by which columns of @data are counted; 0: none */
  guint32 span;     /* of @data, or G_MAXUINT32 if it is longer */
  guint8 height[2]; /* of the children */
};

G_STATIC_ASSERT (sizeof (HassOccupied) <= HASS_CACHE_LINE);

/* A datum that is looked for. */
typedef struct
{
  const HassDataView *view;
  guintptr begin, end;
  HassColumns columns;
} HassSought;

/* -- Bytes -------------------------------------------------------------- */

static gsize
span_of (const HassDataView *v)
{
  return (v->rows - 1) * v->pitch + v->row_bytes;
}

/* @b begins not before @a. */
static gboolean
share_bytes (const HassDataView *a, const HassDataView *b)
{
  gsize offset = (guintptr)b->data - (guintptr)a->data;
  if (offset >= span_of (a))
    return FALSE;
  if (b->rows > 1 && a->pitch != b->pitch)
    return TRUE;
  /* Column at which b's rows begin in rows of a, behind the last of which none
     begins; they may run into the next. */
  gsize column = offset % a->pitch;
  return column < a->row_bytes || column + b->row_bytes > a->pitch;
}

/* -- Columns ------------------------------------------------------------ */

/* Columns are not counted by pitches of 2 GiB and more: sums of two columns
   have 32 bits. */
static HassColumns
columns_of (const HassDataView *v, gsize pitch)
{
  HassColumns c = { 0 };
  if (pitch == 0 || pitch > G_MAXUINT32 / 2)
    return c;
  c.pitch = (guint32)pitch;
  c.first = (guint32)((guintptr)v->data % pitch);
  c.last = c.first + (guint32)MIN (v->row_bytes, pitch);
  return c;
}

/* Returns: TRUE if @sought has no byte in the columns @a. A single row is
   looked at in columns of any pitch. */
static gboolean
apart (const HassColumns *a, HassSought *sought)
{
  const HassColumns *b = &sought->columns;
  guint32 pitch = a->pitch;
  if (pitch == 0)
    return FALSE;
  if (pitch != b->pitch)
    {
      if (sought->view->rows > 1)
        return FALSE;
      sought->columns = columns_of (sought->view, pitch);
    }
  return (a->first >= b->last || b->first >= a->last)
         && a->first + pitch >= b->last && b->first + pitch >= a->last;
}

/* -- The tree ----------------------------------------------------------- */

static guint8
height_of (const HassOccupied *node)
{
  return node ? (guint8)(MAX (node->height[0], node->height[1]) + 1) : 0;
}

/* Adds what a tree covers to what its new parent does. */
static void
cover (HassOccupied *node, const HassOccupied *child)
{
  HassColumns *a = &node->columns;
  const HassColumns *b = &child->columns;
  node->end = MAX (node->end, child->end);
  if (a->pitch != b->pitch)
    a->pitch = 0;
  a->first = MIN (a->first, b->first);
  a->last = MAX (a->last, b->last);
}

/* Finds out anew what a node covers. */
static void
sum_up (HassOccupied *node)
{
  const HassDataView *v = &node->data->view;
  node->end = node->begin + span_of (v);
  node->columns = columns_of (v, node->pitch);
  for (guint side = 0; side < 2; side++)
    if (node->child[side])
      cover (node, node->child[side]);
}

/* Puts a child in the place of its parent. */
static HassOccupied *
rotate (HassOccupied *node, guint side)
{
  HassOccupied *top = node->child[side];
  node->child[side] = top->child[!side];
  node->height[side] = top->height[!side];
  top->end = node->end;
  top->columns = node->columns;
  sum_up (node);
  top->child[!side] = node;
  top->height[!side] = height_of (node);
  return top;
}

/* A child has become higher or lower by one. Returns: the root of the tree. */
static HassOccupied *
balance (HassOccupied *node, guint side)
{
  node->height[side] = height_of (node->child[side]);
  guint high = node->height[1] > node->height[0];
  if (node->height[high] <= node->height[!high] + 1)
    return node;
  HassOccupied *child = node->child[high];
  if (child->height[!high] > child->height[high])
    node->child[high] = rotate (child, !high);
  return rotate (node, high);
}

static void
insert (HassOccupied **tree, HassOccupied *leaf)
{
  HassOccupied **path[MOST_HEIGHT], **place = tree;
  guint n = 0;
  while (*place)
    {
      HassOccupied *node = *place;
      g_assert (n < MOST_HEIGHT);
      path[n++] = place;
      cover (node, leaf);
      place = &node->child[leaf->begin > node->begin];
    }
  *place = leaf;
  /* Above a tree that has kept its height nothing changes. */
  for (gboolean higher = TRUE; higher && n > 0;)
    {
      HassOccupied *node = *path[--n];
      guint8 height = height_of (node);
      *path[n] = balance (node, leaf->begin > node->begin);
      higher = height_of (*path[n]) > height;
    }
}

/* A datum has left the tree at @side. Returns: the root. */
static HassOccupied *
shrink (HassOccupied *node, guint side)
{
  sum_up (node);
  return balance (node, side);
}

/* Takes the node with the lowest address away. Returns: the rest. */
static HassOccupied *
take_first (HassOccupied *node, HassOccupied **first)
{
  if (!node->child[0])
    {
      *first = node;
      return node->child[1];
    }
  node->child[0] = take_first (node->child[0], first);
  return shrink (node, 0);
}

/* Takes the root away. Returns: the rest. */
static HassOccupied *
take_root (HassOccupied *root)
{
  HassOccupied *next;
  if (!root->child[1])
    return root->child[0];
  HassOccupied *higher = take_first (root->child[1], &next);
  next->child[0] = root->child[0];
  next->height[0] = root->height[0];
  next->child[1] = higher;
  return shrink (next, 1);
}

static HassOccupied *
take (HassOccupied *node, guintptr begin, HassOccupied **taken)
{
  if (node->begin == begin)
    {
      *taken = node;
      return take_root (node);
    }
  guint side = begin > node->begin;
  node->child[side] = take (node->child[side], begin, taken);
  return shrink (node, side);
}

/* Returns: TRUE if a datum of a tree may overlap @sought. */
static gboolean
may_overlap (const HassOccupied *root, HassSought *sought)
{
  return root && root->end > sought->begin && !apart (&root->columns, sought);
}

static gboolean
overlaps (const HassOccupied *node, const HassSought *sought)
{
  if (sought->begin > node->begin && sought->begin - node->begin >= node->span
      && node->span < G_MAXUINT32)
    return FALSE;
  const HassDataView *a = &node->data->view, *b = sought->view;
  return node->begin <= sought->begin ? share_bytes (a, b) : share_bytes (b, a);
}

/* Returns: the datum with the lowest address that @sought overlaps, or NULL. */
static HassData *
find (const HassOccupied *root, HassSought *sought)
{
  for (const HassOccupied *node = root; may_overlap (node, sought);
       node = node->child[1])
    {
      HassData *found = NULL;
      if (may_overlap (node->child[0], sought))
        found = find (node->child[0], sought);
      if (found || node->begin >= sought->end)
        return found;
      if (overlaps (node, sought))
        return node->data;
    }
  return NULL;
}

HassData *
hass_occupied_add (HassOccupied **tree, HassData *data)
{
  const HassDataView *v = &data->view;
  guintptr begin = (guintptr)v->data;
  HassSought sought = { v, begin, begin + span_of (v),
                        columns_of (v, v->rows > 1 ? v->pitch : 0) };
  HassData *other = find (*tree, &sought);
  if (other)
    return other;
  HassOccupied *leaf = g_slice_new0 (HassOccupied);
  leaf->data = data;
  leaf->begin = begin;
  leaf->span = (guint32)MIN (span_of (v), G_MAXUINT32);
  /* A single row takes the pitch of data near it. */
  leaf->pitch = sought.columns.pitch;
  sum_up (leaf);
  insert (tree, leaf);
  return NULL;
}

void
hass_occupied_remove (HassOccupied **tree, const HassData *data)
{
  HassOccupied *taken;
  *tree = take (*tree, (guintptr)data->view.data, &taken);
  g_slice_free (HassOccupied, taken);
}

void
hass_occupied_clear (HassOccupied **tree)
{
  if (!*tree)
    return;
  hass_occupied_clear (&(*tree)->child[0]);
  hass_occupied_clear (&(*tree)->child[1]);
  g_slice_free (HassOccupied, *tree);
  *tree = NULL;
}

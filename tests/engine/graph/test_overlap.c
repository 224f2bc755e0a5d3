/* SPDX-License-Identifier: MIT */
/* test_overlap.c: data that overlap others are found among many.
   Thread safety: single-threaded. */
#include <string.h>

#include "engine/graph/overlap.h"
#include "hass_test.h"

#define BYTES 4096
#define MOST 400

static guint8 memory[BYTES];

/* Data in @memory, and what they use of it by the plain rule. */
typedef struct
{
  GRand *rand;
  HassData data[MOST];
  gboolean living[MOST];
  guint owners[BYTES]; /* 1 + index of the datum that has the byte */
  HassOccupied *tree;
  guint n_added, n_refused, n_removed;
  gboolean wrong; /* an answer was */
} Trial;

static gsize
at_of (const HassData *d)
{
  return (gsize)((guint8 *)d->view.data - memory);
}

static gsize
end_of (const HassData *d)
{
  return at_of (d) + (d->view.rows - 1) * d->view.pitch + d->view.row_bytes;
}

static void
set_owner (Trial *t, guint i, guint owner)
{
  const HassData *d = &t->data[i];
  for (gsize r = 0; r < d->view.rows; r++)
    for (gsize b = 0; b < d->view.row_bytes; b++)
      t->owners[at_of (d) + r * d->view.pitch + b] = owner;
}

/* Returns: TRUE if their pitches differ and one begins within the other. */
static gboolean
pitches_clash (const HassData *a, const HassData *b)
{
  return a->view.rows > 1 && b->view.rows > 1 && a->view.pitch != b->view.pitch
         && at_of (a) < end_of (b) && at_of (b) < end_of (a);
}

/* Returns: the datum with the lowest address that the @i-th overlaps. */
static HassData *
lowest (Trial *t, guint i)
{
  const HassData *d = &t->data[i];
  HassData *found = NULL;
  gboolean overlaps[MOST + 1] = { FALSE };
  for (gsize r = 0; r < d->view.rows; r++)
    for (gsize b = 0; b < d->view.row_bytes; b++)
      overlaps[t->owners[at_of (d) + r * d->view.pitch + b]] = TRUE;
  for (guint j = 0; j < MOST; j++)
    if (t->living[j] && (overlaps[j + 1] || pitches_clash (d, &t->data[j]))
        && (!found || t->data[j].view.data < found->view.data))
      found = &t->data[j];
  return found;
}

static gsize
number (Trial *t, gsize least, gsize most)
{
  return (gsize)g_rand_int_range (t->rand, (gint)least, (gint)most + 1);
}

/* A half are tiles, or single rows of tiles, of a matrix whose rows are @pitch
   apart. Of the others some have another pitch, and single rows may be longer
   than the pitch. */
static HassDataView
random_view (Trial *t, gsize pitch)
{
  gsize at = number (t, 0, BYTES - 1);
  HassDataView v = { .row_bytes = MIN (pitch, 8), .rows = 4, .pitch = pitch };
  if (number (t, 0, 1) == 0)
    {
      at = at / (4 * pitch) * 4 * pitch + number (t, 0, pitch / 8) * 8;
      at = MIN (at, BYTES - 1);
    }
  else
    {
      v.pitch = number (t, 0, 2) == 0 ? number (t, 1, 80) : pitch;
      v.rows = number (t, 1, 6);
      v.row_bytes
          = number (t, 1, number (t, 0, 7) == 0 ? v.pitch : v.pitch / 4 + 1);
    }
  if (number (t, 0, 2) == 0)
    v.rows = 1;
  while (v.rows > 1 && at + (v.rows - 1) * v.pitch + v.row_bytes > BYTES)
    v.rows--;
  if (v.rows == 1 && number (t, 0, 7) == 0)
    v.row_bytes *= 8;
  v.row_bytes = MIN (v.row_bytes, BYTES - at);
  if (v.rows == 1 && number (t, 0, 1) == 0)
    v.pitch = number (t, 0, 1) == 0 ? v.row_bytes : G_MAXSIZE;
  v.pitch = MAX (v.pitch, v.row_bytes);
  v.data = memory + at;
  return v;
}

static void
add (Trial *t, guint i, gsize pitch)
{
  HassData *d = &t->data[i];
  d->view = random_view (t, pitch);
  HassData *expected = lowest (t, i);
  HassData *found = hass_occupied_add (&t->tree, d);
  CU_ASSERT_PTR_EQUAL (found, expected);
  t->wrong = found != expected;
  if (expected)
    t->n_refused++;
  else
    {
      t->n_added++;
      t->living[i] = TRUE;
      set_owner (t, i, i + 1);
    }
}

static void
remove_one (Trial *t, guint i)
{
  hass_occupied_remove (&t->tree, &t->data[i]);
  set_owner (t, i, 0);
  t->living[i] = FALSE;
  t->n_removed++;
}

/* First most data stay, then about as many go as come. */
static void
run_trial (Trial *t, guint32 seed)
{
  memset (t, 0, sizeof *t);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  t->rand = rand;
  gsize pitch = number (t, 8, 200);
  for (guint step = 0; step < 2000 && !t->wrong; step++)
    {
      guint i = (guint)number (t, 0, MOST - 1);
      if (!t->living[i])
        add (t, i, pitch);
      else if (step > 1000 || number (t, 0, 9) == 0)
        remove_one (t, i);
    }
  for (guint i = 0; i < MOST; i++)
    if (seed % 2 == 0 && t->living[i] && !t->wrong)
      remove_one (t, i);
  CU_ASSERT (t->wrong || (t->tree == NULL) == (seed % 2 == 0));
  hass_occupied_clear (&t->tree);
  CU_ASSERT_PTR_NULL (t->tree);
}

static void
as_a_byte_map (void)
{
  guint n_added = 0, n_refused = 0, n_removed = 0;
  Trial *t = g_aligned_alloc0 (1, sizeof *t, HASS_CACHE_LINE);
  for (guint32 seed = 0; seed < 40; seed++)
    {
      run_trial (t, seed);
      n_added += t->n_added;
      n_refused += t->n_refused;
      n_removed += t->n_removed;
    }
  g_aligned_free (t);
  CU_ASSERT (n_added > 4000 && n_refused > 4000 && n_removed > 2000);
}

/* Two rows, and a row that begins between them and ends after the second, at
   addresses that may have no memory, for only the views are read. */
static void
far_apart (gsize pitch, gsize begin, gsize bytes)
{
  HassOccupied *tree = NULL;
  HassData d[3] = { 0 };
  d[0].view = (HassDataView){ GSIZE_TO_POINTER (16), 16, 2, pitch };
  d[1].view = (HassDataView){ GSIZE_TO_POINTER (begin), bytes, 1, bytes };
  d[2].view = (HassDataView){ GSIZE_TO_POINTER (32), begin - 32, 1, pitch };
  CU_ASSERT_PTR_NULL (hass_occupied_add (&tree, &d[0]));
  CU_ASSERT_PTR_EQUAL (hass_occupied_add (&tree, &d[1]), &d[0]);
  CU_ASSERT_PTR_NULL (hass_occupied_add (&tree, &d[2]));
  CU_ASSERT_PTR_EQUAL (hass_occupied_add (&tree, &d[1]), &d[0]);
  hass_occupied_clear (&tree);
}

static void
gigabytes (void)
{
  far_apart (0x0c0000000, 0x0b0000000, 0x60000000);
  far_apart (0x140000000, 0x130000000, 0x60000000);
  far_apart (G_MAXSIZE / 2 + 100, G_MAXSIZE / 2, 1000);
  far_apart (64, 40, 0x100000008);
}

#define ORDERED 4096

/* An order in which all data are added and removed: [ORDERED] */
static void
in_order (HassData *data, const guint16 *order)
{
  HassOccupied *tree = NULL;
  for (guint i = 0; i < ORDERED; i++)
    {
      HassData *d = &data[order[i]];
      d->view.data = GSIZE_TO_POINTER (64 + order[i] * 8);
      d->view.row_bytes = d->view.pitch = 8;
      d->view.rows = 1;
      CU_ASSERT_PTR_NULL (hass_occupied_add (&tree, d));
      if (i % 64 == 63)
        hass_occupied_remove (&tree, &data[order[i - 32]]);
    }
  for (guint i = 0; i < ORDERED; i++)
    if (i % 64 != 31)
      hass_occupied_remove (&tree, &data[order[i]]);
  CU_ASSERT_PTR_NULL (tree);
}

/* An unbalanced tree would be higher than it may. */
static void
orders (void)
{
  HassData *data = g_aligned_alloc0 (ORDERED, sizeof *data, HASS_CACHE_LINE);
  guint16 up[ORDERED], down[ORDERED], inwards[ORDERED];
  for (guint i = 0; i < ORDERED; i++)
    {
      up[i] = (guint16)i;
      down[i] = (guint16)(ORDERED - 1 - i);
      inwards[i] = i % 2 == 0 ? (guint16)(i / 2) : down[i / 2];
    }
  in_order (data, up);
  in_order (data, down);
  in_order (data, inwards);
  g_aligned_free (data);
}

HASS_TEST_SUITE (dataflow_occupied,
                 { "an overlap is found among any data as in a map of bytes",
                   as_a_byte_map },
                 { "an overlap is found where rows are long or far apart",
                   gigabytes },
                 { "the tree of data stays low in any order of data", orders })

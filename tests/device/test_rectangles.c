/* SPDX-License-Identifier: MIT */
/* test_rectangles.c: which tiles of a bundle are one array.
   Thread safety: one thread. */
#include "hass_test.h"

#include "device/rectangles.h"

static guint8 host[4096];

typedef struct
{
  gsize at, wide, high, pitch; /* wide 0: no tile, of so many bytes in high */
} Place;

static HassBlock
tile (const Place *p)
{
  return (HassBlock){ .output = host + p->at,
                      .output_bytes = p->wide ? p->wide * p->high : p->high,
                      .output_row_bytes = p->wide,
                      .output_pitch = p->pitch };
}

/* Finds the rectangles of places and compares them; places end where high is
   0. Every byte of the outputs must have a place of its own. */
static void
expect (const Place *places, gboolean join, const HassRectangle *wanted,
        guint n_wanted)
{
  HassBlock b[16];
  guint64 offsets[17], pitches[16];
  guint8 seen[4096] = { 0 };
  gsize n = 0, total = 0;
  gboolean ok = TRUE;
  for (; places[n].high > 0; n++)
    b[n] = tile (&places[n]);
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (HassRectangle));
  hass_rectangles_find (found, b, n, join);
  const HassRectangle *r = (HassRectangle *)(gpointer)found->data;
  CU_ASSERT_EQUAL_FATAL (found->len, n_wanted);
  for (guint i = 0; i < n_wanted; i++)
    ok &= r[i].first_block == wanted[i].first_block
          && r[i].n_blocks == wanted[i].n_blocks
          && r[i].across == wanted[i].across
          && r[i].row_bytes == wanted[i].row_bytes
          && r[i].rows == wanted[i].rows;
  CU_ASSERT_TRUE (ok);
  hass_rectangles_places (r, found->len, b, offsets, pitches);
  for (gsize i = 0; i < n; i++)
    {
      gsize wide = places[i].wide ? places[i].wide : places[i].high;
      gsize high = places[i].wide ? places[i].high : 1;
      total += wide * high;
      for (gsize row = 0; row < high; row++)
        for (gsize k = 0; k < wide; k++)
          ok &= seen[offsets[i] + row * pitches[i] + k]++ == 0;
    }
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_EQUAL (offsets[n], total);
  for (gsize k = 0; k < total; k++)
    ok &= seen[k] == 1;
  CU_ASSERT_TRUE (ok);
}

static void
below_each_other (void)
{
  static const Place column[]
      = { { 0, 8, 3, 64 }, { 192, 8, 3, 64 }, { 384, 8, 1, 64 }, { 0 } };
  static const Place apart[] = { { 0, 8, 3, 64 }, { 256, 8, 3, 64 }, { 0 } };
  static const Place other[] = { { 0, 8, 3, 64 }, { 192, 8, 3, 32 }, { 0 } };
  static const Place wider[] = { { 0, 8, 3, 64 }, { 192, 9, 3, 64 }, { 0 } };
  for (gboolean join = FALSE; join <= TRUE; join++)
    {
      expect (column, join, &(HassRectangle){ 0, 3, 1, 0, 8, 7 }, 1);
      for (guint i = 0; i < 3; i++)
        expect (i == 0   ? apart
                : i == 1 ? other
                         : wider,
                join,
                (HassRectangle[]){ { 0, 1, 1, 0, 8, 3 },
                                   { 1, 1, 1, 0, i == 2 ? 9 : 8, 3 } },
                2);
    }
}

static void
side_by_side (void)
{
  static const Place row[]
      = { { 0, 8, 3, 64 }, { 8, 8, 3, 64 }, { 16, 5, 3, 64 }, { 0 } };
  static const Place grid[]
      = { { 16, 8, 3, 24 },  { 72, 8, 3, 24 },  { 80, 8, 3, 24 },
          { 88, 8, 3, 24 },  { 144, 8, 2, 24 }, { 152, 8, 2, 24 },
          { 160, 8, 2, 24 }, { 192, 8, 2, 24 }, { 0 } };
  static const Place widths[]
      = { { 0, 8, 3, 64 }, { 8, 8, 3, 64 }, { 192, 16, 3, 64 }, { 0 } };
  expect (row, TRUE, &(HassRectangle){ 0, 3, 3, 0, 21, 3 }, 1);
  expect (widths, TRUE,
          (HassRectangle[]){ { 0, 2, 2, 0, 16, 3 }, { 2, 1, 1, 0, 16, 3 } }, 2);
  expect (row, FALSE,
          (HassRectangle[]){ { 0, 1, 1, 0, 8, 3 },
                             { 1, 1, 1, 0, 8, 3 },
                             { 2, 1, 1, 0, 5, 3 } },
          3);
  expect (grid, TRUE,
          (HassRectangle[]){ { 0, 1, 1, 0, 8, 3 },
                             { 1, 6, 3, 0, 24, 5 },
                             { 7, 1, 1, 0, 8, 2 } },
          3);
}

/* Of one row each: the array's next row begins where the last tile ends. */
static void
not_around_the_edge (void)
{
  static const Place rows[]
      = { { 8, 8, 1, 16 }, { 16, 8, 1, 16 }, { 24, 8, 1, 16 }, { 0 } };
  expect (rows, TRUE,
          (HassRectangle[]){ { 0, 2, 2, 0, 16, 1 }, { 2, 1, 1, 0, 8, 1 } }, 2);
}

static void
no_tiles (void)
{
  static const Place mixed[]
      = { { 0, 8, 3, 64 }, { 300, 0, 40, 0 }, { 340, 0, 7, 0 }, { 0 } };
  expect (mixed, TRUE,
          (HassRectangle[]){ { 0, 1, 1, 0, 8, 3 },
                             { 1, 1, 1, 0, 40, 1 },
                             { 2, 1, 1, 0, 7, 1 } },
          3);
}

HASS_TEST_SUITE (rectangles,
                 { "tiles below each other are one array", below_each_other },
                 { "tiles side by side that are joined are one array",
                   side_by_side },
                 { "no row is longer than the array's", not_around_the_edge },
                 { "a stretch that is no tile is copied alone", no_tiles })

/* SPDX-License-Identifier: MIT */
/* test_cuda_tiles.c: tiles of arrays on a GPU, over the stand-in for the CUDA
   runtime.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

/* Tiles of 8 rows of 5 bytes from and to matrices of 64 bytes a row. */
static void
tiles (void)
{
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint pinned = 0; pinned < 2; pinned++)
    {
      guint8 *in = pinned ? hass_memory_alloc (4096, NULL) : g_malloc (4096);
      guint8 *out = pinned ? hass_memory_alloc (4096, NULL) : g_malloc (4096);
      HassBlock b[3];
      rig_fill (in, 4096, 11);
      memset (out, 0, 4096);
      for (guint i = 0; i < 3; i++)
        {
          gsize at = 64 * 8 * i + 7 * i;
          b[i] = rig_block (in + at, out + at, 40);
          b[i].input_row_bytes = b[i].output_row_bytes = 5;
          b[i].input_pitch = b[i].output_pitch = 64;
        }
      for (guint alone = 0; alone < 2; alone++)
        {
          gboolean ok = TRUE;
          memset (out, 0, 4096);
          rig_run (&r, b, alone ? 1 : 3);
          for (gsize at = 0; at < 4096; at++)
            {
              gsize row = at / 64, i = row / 8, column = at % 64;
              gboolean inside = i < (alone ? 1 : 3) && column >= 7 * i
                                && column < 7 * i + 5;
              ok &= out[at] == (inside ? (guint8)(in[at] + 1) : 0);
            }
          CU_ASSERT_TRUE (ok);
        }
      if (pinned)
        {
          hass_memory_free (in);
          hass_memory_free (out);
        }
      else
        {
          g_free (in);
          g_free (out);
        }
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS], 4);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
}

/* An array of 10 x 30 bytes, its rows 32 apart, in tiles of 3 x 8: 4 in each of
   4 rows, the last 6 wide, those below 1 high. */
enum
{
  ARRAY_ROWS = 10,
  ARRAY_BYTES = 30,
  ARRAY_PITCH = 32,
  ARRAY_ACROSS = 4
};

static HassBlock
array_tile (guint8 *array, gsize index)
{
  gsize row = index / ARRAY_ACROSS * 3, at = index % ARRAY_ACROSS * 8;
  gsize wide = MIN (8, ARRAY_BYTES - at), high = MIN (3, ARRAY_ROWS - row);
  return (HassBlock){ .load = &rig_load,
                      .first = index,
                      .count = 1,
                      .output = array + row * ARRAY_PITCH + at,
                      .output_bytes = wide * high,
                      .output_row_bytes = wide,
                      .output_pitch = ARRAY_PITCH };
}

/* Each byte of a tile is its number and one; kernels cannot see the host's
   descriptors, so they get them as data. */
static void
number_kernel (const HassBundle *b, gpointer data)
{
  const HassBlock *blocks = data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      gsize wide = blocks[i].output_row_bytes;
      gsize pitch = b->output_pitches ? b->output_pitches[i] : wide;
      for (gsize row = 0; row < blocks[i].output_bytes / wide; row++)
        memset (fake_output (b, i) + row * pitch, (int)blocks[i].first + 1,
                wide);
    }
}

static gboolean
number (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  static HassBlock blocks[16];
  (void)data;
  memcpy (blocks, bundle->blocks, bundle->n_blocks * sizeof *blocks);
  fake_launch (stream, number_kernel, bundle, blocks);
  return fake_check ("number", error);
}

/* Runs tiles from the first on; all others must stay as they are. */
static void
run_array (Rig *r, guint8 *array, gsize first, gsize n)
{
  HassBlock b[16];
  gboolean ok = TRUE;
  memset (array, 0, ARRAY_ROWS * ARRAY_PITCH);
  for (gsize i = 0; i < n; i++)
    b[i] = array_tile (array, first + i);
  rig_run (r, b, n);
  for (gsize at = 0; at < ARRAY_ROWS * ARRAY_PITCH; at++)
    {
      gsize row = at / ARRAY_PITCH, column = at % ARRAY_PITCH;
      gsize tile = row / 3 * ARRAY_ACROSS + column / 8;
      gboolean inside
          = column < ARRAY_BYTES && tile >= first && tile < first + n;
      ok &= array[at] == (inside ? tile + 1 : 0);
    }
  CU_ASSERT_TRUE (ok);
}

/* Straight, through staging, and with a deadline; joined or not. Copies are
   counted: one for each rectangle that goes straight. */
static void
joined_tiles (void)
{
  static const struct
  {
    gsize first, n;
    guint copies[2]; /* of rows: not joined, joined; one row is none */
  } cases[] = { { 0, 16, { 12, 1 } },
                { 1, 6, { 6, 2 } },
                { 3, 6, { 6, 3 } },
                { 5, 1, { 1, 1 } },
                { 12, 4, { 0, 0 } } };
  for (guint join = 0; join < 2; join++)
    for (guint way = 0; way < 3; way++)
      for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
        {
          HassDeviceFarm farm
              = { .name = "farm", .gpu_worker = number, .join_tiles = join };
          Rig r;
          if (way == 2)
            farm.bundle_deadline_ns = (gint64)60e9;
          rig_init (&r, &(FakePlan){ 0 }, &farm);
          gsize bytes = ARRAY_ROWS * ARRAY_PITCH;
          guint8 *array
              = way == 1 ? g_malloc (bytes) : hass_memory_alloc (bytes, NULL);
          run_array (&r, array, cases[i].first, cases[i].n);
          if (way == 1)
            g_free (array);
          else
            hass_memory_free (array);
          rig_clear (&r);
          CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS],
                           way == 0 ? cases[i].copies[join] : 0);
          CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
        }
}

/* Tiles as wide as their array lie one after another there as well. */
static void
whole_rows (void)
{
  HassDeviceFarm farm
      = { .name = "farm", .gpu_worker = number, .join_tiles = TRUE };
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  guint8 *array = hass_memory_alloc (6 * 16, NULL);
  HassBlock b[6];
  for (guint i = 0; i < 6; i++)
    b[i] = (HassBlock){ .load = &rig_load,
                        .first = i,
                        .count = 1,
                        .output = array + i / 2 * 32 + i % 2 * 8,
                        .output_bytes = 16,
                        .output_row_bytes = 8,
                        .output_pitch = 16 };
  rig_run (&r, b, 6);
  for (guint at = 0; at < 6 * 16; at++)
    CU_ASSERT_EQUAL (array[at], at / 32 * 2 + at % 16 / 8 + 1);
  hass_memory_free (array);
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS], 0);
}

HASS_TEST_SUITE (cuda_tiles, { "tiles go there and back", tiles },
                 { "neighbouring tiles are joined and copied at once",
                   joined_tiles },
                 { "tiles as wide as their array are one stretch", whole_rows })

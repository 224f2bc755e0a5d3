/* SPDX-License-Identifier: MIT */
/* test_partition.c: how divisible loads are cut.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

/* -- Divisible loads ---------------------------------------------------- */

static void
wrong_sizes (void)
{
  static guint8 bytes[10];
  _Atomic guint64 n = 0;
  const struct
  {
    HassLoad load;
    HassError code;
    const char *text;
  } wrong[] = { { { .size = 0 }, HASS_ERROR_INVALID, "must know its size" },
                { { .size = 3, .input = bytes, .input_bytes = 10 },
                  HASS_ERROR_INVALID,
                  "10 input and 0 output bytes are not multiples of 3" },
                { { .size = 3, .output = bytes, .output_bytes = 10 },
                  HASS_ERROR_INVALID,
                  "0 input and 10 output bytes are not multiples of 3" },
                { { .size = (gsize)1 << 40 },
                  HASS_ERROR_OVERFLOW,
                  "1099511627776 elements in blocks of 1" } };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = &wrong[i].load;
      f.n_loads = 1;
      f.cpu_worker = count_elements;
      f.user_data = &n;
      f.block_elements = 1;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_partition, &f, wrong[i].code,
                                  wrong[i].text));
    }
  CU_ASSERT_EQUAL (n, 0);
}

/* Elements need no bytes: an index range may be as long as a number. */
static void
longest_load (void)
{
  for (guint block = 0; block < 3; block++)
    {
      static const gsize blocks[] = { 0, G_MAXSIZE / 3, G_MAXSIZE };
      _Atomic guint64 n = 0;
      HassLoad load = { .size = G_MAXSIZE };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = count_elements;
      f.user_data = &n;
      f.block_elements = blocks[block];
      CU_ASSERT_TRUE (guarded (hass_data_farm_partition, &f, NULL, NULL));
      CU_ASSERT_EQUAL (n, G_MAXSIZE);
    }
}

static gboolean
bad_partition (const HassLoad *load, gsize first, gsize count, HassBlock *block,
               gpointer data, GError **error)
{
  const char *how = data;
  (void)count, (void)error;
  switch (first > 0 ? *how : 0)
    {
    case 'o': /* overlaps */
      block->first--;
      return TRUE;
    case 'g': /* leaves a gap */
      block->first++;
      return TRUE;
    case 'e':
      block->count = 0;
      return TRUE;
    case 'p':
      block->count = load->size;
      return TRUE;
    case 'f':
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "torn");
      return FALSE;
    case 's':
      return FALSE;
    default:
      return TRUE;
    }
}

static void
bad_partitions (void)
{
  static const struct
  {
    const char *how;
    HassError code;
    const char *text;
  } bad[] = {
    { "overlap", HASS_ERROR_PARTITION, "block at element 9 where 10 was due" },
    { "gap", HASS_ERROR_PARTITION, "block at element 11 where 10 was due" },
    { "empty", HASS_ERROR_PARTITION, "empty block at element 10 of 100" },
    { "past", HASS_ERROR_PARTITION, "past the load's end at 100" },
    { "fail", HASS_ERROR_IO, "partitioner failed at element 10: torn" },
    { "silent", HASS_ERROR_PARTITION,
      "element 10: it failed without saying why" },
  };
  HassLoad load = { .size = 100 };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.name = bad[i].how;
      f.loads = &load;
      f.n_loads = 1;
      f.block_elements = 10;
      f.cpu_worker = count_elements;
      f.partition = bad_partition;
      f.user_data = (gpointer)bad[i].how;
      CU_ASSERT_TRUE (
          fails_with (hass_data_farm_partition, &f, bad[i].code, bad[i].text));
    }
}

/* Cuts a text at the ends of its lines. */
static gboolean
whole_lines (const HassLoad *load, gsize first, gsize count, HassBlock *block,
             gpointer data, GError **error)
{
  const char *text = load->input;
  gsize end = first + count;
  (void)data, (void)error;
  while (end < load->size && text[end - 1] != '\n')
    end++;
  block->count = end - first;
  return TRUE;
}

typedef struct
{
  _Atomic guint lines, wrong;
  const char *text;
  gsize size, halo;
} Lines;

static gboolean
see_lines (const HassBlock *b, HassWorker *worker, gpointer data,
           GError **error)
{
  Lines *l = data;
  (void)worker, (void)error;
  if (b->input_bytes != b->count || (const char *)b->input != l->text + b->first
      || b->halo_before != MIN (l->halo, b->first)
      || b->halo_after != MIN (l->halo, l->size - b->first - b->count)
      || b->input[b->input_bytes - 1] != '\n')
    l->wrong++;
  for (gsize i = 0; i < b->input_bytes; i++)
    l->lines += b->input[i] == '\n';
  return TRUE;
}

static void
blocks_at_boundaries (void)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < 500; i++)
    g_string_append_printf (text, "%*u\n", 1 + i % 37, i);
  Lines l = { .text = text->str, .size = text->len, .halo = 5 };
  HassLoad load
      = { .input = text->str, .input_bytes = text->len, .size = text->len };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = &load;
  f.n_loads = 1;
  f.block_elements = 100;
  f.halo_elements = 5;
  f.partition = whole_lines;
  f.cpu_worker = see_lines;
  f.user_data = &l;
  CU_ASSERT_TRUE (guarded (hass_data_farm_partition, &f, NULL, NULL));
  CU_ASSERT_EQUAL (l.lines, 500);
  CU_ASSERT_EQUAL (l.wrong, 0);
  g_string_free (text, TRUE);
}

HASS_TEST_SUITE (
    partition, { "a divisible load's sizes must fit", wrong_sizes },
    { "a load may have as many elements as a number holds", longest_load },
    { "blocks that do not tile their load are refused", bad_partitions },
    { "a partitioner may move the ends of blocks", blocks_at_boundaries })

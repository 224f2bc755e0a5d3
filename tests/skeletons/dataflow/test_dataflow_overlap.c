/* SPDX-License-Identifier: MIT */
/* test_dataflow_overlap.c: data that share bytes are refused.
   Thread safety: one thread beside those of the dataflows. */
#include "flow.h"

static guint8 memory[4096];

typedef struct
{
  gpointer host;
  gsize row_bytes, rows, pitch;
} Place;

/* Two data in 40 bytes at @memory. */
typedef struct
{
  Place places[2];
  gboolean accepted;
} Pair;

static gboolean
make_pair (HassGraph *graph, gpointer user_data, GError **error)
{
  Pair *pair = user_data;
  const Place *a = &pair->places[0], *b = &pair->places[1];
  (void)error;
  CU_ASSERT_PTR_NOT_NULL (
      hass_graph_data (graph, a->host, a->row_bytes, a->rows, a->pitch));
  pair->accepted
      = hass_graph_data (graph, b->host, b->row_bytes, b->rows, b->pitch)
        != NULL;
  return TRUE;
}

static gboolean
share_bytes (const Place *a, const Place *b)
{
  guint8 used[64] = { 0 };
  for (gsize r = 0; r < a->rows; r++)
    for (gsize i = 0; i < a->row_bytes; i++)
      used[(guint8 *)a->host - memory + r * a->pitch + i] = 1;
  for (gsize r = 0; r < b->rows; r++)
    for (gsize i = 0; i < b->row_bytes; i++)
      if (used[(guint8 *)b->host - memory + r * b->pitch + i])
        return TRUE;
  return FALSE;
}

static Place
random_place (GRand *rand, gsize pitch)
{
  Place p = { .pitch = pitch };
  p.row_bytes = (gsize)g_rand_int_range (rand, 1, (gint)pitch + 1);
  p.rows = (gsize)g_rand_int_range (rand, 1, 4);
  p.host = memory + g_rand_int_range (rand, 0, 20);
  return p;
}

static void
overlaps (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint n_accepted = 0;
  for (guint i = 0; i < 4000; i++)
    {
      gsize pitch = (gsize)g_rand_int_range (rand, 1, 10);
      Pair pair = { .places = { random_place (rand, pitch),
                                random_place (rand, pitch) } };
      HassDataflow d = flow_of (make_pair, &pair);
      g_autoptr (GError) error = NULL;
      if (i % 4 == 0)
        {
          /* The pitch of a single row means nothing. */
          pair.places[i / 4 % 2].rows = 1;
          pair.places[i / 4 % 2].pitch = pair.places[i / 4 % 2].row_bytes;
        }
      HassRecorded *recorded = hass_dataflow_record (&d, &error);
      hass_recorded_free (recorded);
      n_accepted += pair.accepted;
      CU_ASSERT_EQUAL (pair.accepted,
                       !share_bytes (&pair.places[0], &pair.places[1]));
      if (!pair.accepted)
        CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_INVALID, "datum 2",
                                   "datum 1", "overlap", NULL));
    }
  CU_ASSERT (n_accepted > 400 && n_accepted < 3600);
}

static gboolean
many_data (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  for (guint i = 0; i < 400; i++)
    CU_ASSERT_PTR_NOT_NULL (
        hass_graph_data (graph, memory + (i * 263 % 400) * 8, 8, 1, 0));
  CU_ASSERT_PTR_NULL (hass_graph_data (graph, memory + 1999, 2, 1, 0));
  return TRUE;
}

static void
overlap_among_many (void)
{
  FLOW_REFUSED (many_data, NULL, HASS_ERROR_INVALID, "'flow'", "2 bytes",
                "datum 401", "overlap");
}

/* Every second row beside rows of the half pitch. */
static gboolean
two_pitches (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  CU_ASSERT_PTR_NOT_NULL (hass_graph_data (graph, memory, 64, 4, 256));
  CU_ASSERT_PTR_NULL (hass_graph_data (graph, memory + 64, 64, 2, 512));
  return TRUE;
}

static void
overlap_of_pitches (void)
{
  FLOW_REFUSED (two_pitches, NULL, HASS_ERROR_INVALID, "pitch 512", "pitch 256",
                "share no byte");
}

HASS_TEST_SUITE (
    dataflow_overlap,
    { "data that share a byte are refused, and no others", overlaps },
    { "one overlap among many data is found", overlap_among_many },
    { "that data may not overlap though they share no byte is said",
      overlap_of_pitches })

/* SPDX-License-Identifier: MIT */
/* edit_distance.c: edit distances of random strings to one pattern. An
   indivisible farm: each table of distances has inner dependencies, so a load
   is computed by one core, or on a GPU by one thread block. Results come in
   sequence order.
   Usage: edit_distance [PAIRS]   (default 20000) */
#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN "the quick brown fox jumps over the lazy dog"
#define LONGEST 400

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  gsize pairs = *(gsize *)user_data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  (void)error;
  for (gsize i = 0; i < pairs; i++)
    {
      gsize length = g_rand_int_range (rand, 1, LONGEST);
      char *text = hass_emitter_buffer (emitter, LONGEST);
      for (gsize k = 0; k < length; k++)
        text[k] = "abcdefghijklmnopqrstuvwxyz "[g_rand_int_range (rand, 0, 27)];
      HassLoad load = { .input = text,
                        .input_bytes = length,
                        .size = length,
                        .flags = HASS_LOAD_BUFFER };
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static guint32
distance (const char *a, gsize n, const char *b, gsize m)
{
  guint32 row[sizeof PATTERN];
  for (gsize j = 0; j <= m; j++)
    row[j] = (guint32)j;
  for (gsize i = 1; i <= n; i++)
    {
      guint32 diagonal = row[0];
      row[0] = (guint32)i;
      for (gsize j = 1; j <= m; j++)
        {
          guint32 change = diagonal + (a[i - 1] != b[j - 1]);
          diagonal = row[j];
          row[j] = MIN (change, MIN (row[j], row[j - 1]) + 1);
        }
    }
  return row[m];
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  gsize length = strlen (hass_worker_constant (worker, 0));
  guint32 d = distance ((const char *)block->input, block->input_bytes,
                        hass_worker_constant (worker, 0), length);
  (void)user_data;
  (void)error;
  return hass_worker_result (worker, &d, sizeof d);
}

static gboolean
collect (const HassResult *result, gpointer user_data, GError **error)
{
  guint32 d = *(const guint32 *)result->data;
  (void)user_data;
  (void)error;
  if (result->seq < 5)
    printf ("pair %" G_GUINT64_FORMAT ": distance %u\n", result->seq, d);
  return TRUE;
}

int
main (int argc, char **argv)
{
  guint64 pairs = 20000;
  if (argc > 2
      || (argc == 2
          && !g_ascii_string_to_unsigned (argv[1], 10, 0, G_MAXINT64, &pairs,
                                          NULL)))
    {
      fprintf (stderr, "usage: edit_distance [PAIRS]\n");
      return 2;
    }
  HassConstant pattern = { PATTERN, sizeof PATTERN };
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "edit_distance";
  farm.user_data = &pairs;
  farm.generate = generate;
  farm.cpu_worker = work;
  farm.cost = HASS_COST_SIZED;
  farm.constants = &pattern;
  farm.n_constants = 1;
  farm.collect = collect;
  farm.order = HASS_RESULTS_ORDERED;
  if (!hass_data_farm_indivisible (&farm, &report, &error))
    {
      fprintf (stderr, "edit_distance: %s\n", error->message);
      return 1;
    }
  g_autofree char *table = hass_report_to_string (report);
  fputs (table, stdout);
  if (ferror (stdout) || fclose (stdout) != 0)
    {
      perror ("edit_distance: standard output");
      return 1;
    }
  return 0;
}

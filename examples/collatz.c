/* SPDX-License-Identifier: MIT */
/* collatz.c: which number below N takes the most Collatz steps? The smallest
   complete farm: small loads of unknown cost, results reduced.
   Usage: collatz [N]   (default 3000000) */
#include <hass/hass.h>
#include <stdio.h>

#define NUMBERS_PER_LOAD 1000

typedef struct
{
  guint64 number, steps;
} Best;

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  gsize limit = *(gsize *)user_data;
  (void)error;
  for (gsize first = 1; first < limit; first += NUMBERS_PER_LOAD)
    {
      HassLoad load = { .tag = GSIZE_TO_POINTER (first),
                        .size = MIN (NUMBERS_PER_LOAD, limit - first) };
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static void
keep_better (gpointer accumulator, gconstpointer part, gpointer user_data)
{
  Best *a = accumulator;
  const Best *b = part;
  (void)user_data;
  if (b->steps > a->steps || (b->steps == a->steps && b->number < a->number))
    *a = *b;
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  guint64 first = GPOINTER_TO_SIZE (block->load->tag);
  Best best = { 0 };
  (void)error;
  for (guint64 i = first; i < first + block->count; i++)
    {
      Best one = { .number = i };
      for (guint64 n = i; n != 1; one.steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
      keep_better (&best, &one, user_data);
    }
  keep_better (hass_worker_accumulator (worker), &best, user_data);
  return TRUE;
}

int
main (int argc, char **argv)
{
  guint64 limit = 3000000;
  if (argc > 2
      || (argc == 2
          && !g_ascii_string_to_unsigned (argv[1], 10, 0, G_MAXINT64, &limit,
                                          NULL)))
    {
      fprintf (stderr, "usage: collatz [N]\n");
      return 2;
    }
  Best best = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "collatz";
  farm.user_data = &limit;
  farm.generate = generate;
  farm.cpu_worker = work;
  farm.cost = HASS_COST_UNKNOWN;
  farm.reduce = keep_better;
  farm.accumulator = &best;
  farm.accumulator_bytes = sizeof best;
  if (!hass_data_farm_combine (&farm, &report, &error))
    {
      fprintf (stderr, "collatz: %s\n", error->message);
      return 1;
    }
  g_autofree char *table = hass_report_to_string (report);
  printf ("%" G_GUINT64_FORMAT " takes %" G_GUINT64_FORMAT " steps\n%s",
          best.number, best.steps, table);
  if (fclose (stdout) != 0)
    {
      perror ("collatz: standard output");
      return 1;
    }
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* byte_histogram.c: how often each byte occurs in a file. A partition farm:
   one large divisible load, cut into blocks, results reduced.
   Usage: byte_histogram FILE */
#include <hass/hass.h>
#include <stdio.h>

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  guint64 *counts = hass_worker_accumulator (worker);
  (void)user_data;
  (void)error;
  for (gsize i = 0; i < block->input_bytes; i++)
    counts[block->input[i]]++;
  return TRUE;
}

static void
add (gpointer accumulator, gconstpointer part, gpointer user_data)
{
  guint64 *a = accumulator;
  const guint64 *b = part;
  (void)user_data;
  for (int i = 0; i < 256; i++)
    a[i] += b[i];
}

int
main (int argc, char **argv)
{
  guint64 counts[256] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GMappedFile) file = NULL;
  if (argc != 2)
    {
      fprintf (stderr, "usage: byte_histogram FILE\n");
      return 2;
    }
  if (!(file = g_mapped_file_new (argv[1], FALSE, &error)))
    {
      fprintf (stderr, "byte_histogram: %s\n", error->message);
      return 1;
    }
  HassLoad load = { .input = g_mapped_file_get_contents (file),
                    .input_bytes = g_mapped_file_get_length (file),
                    .size = g_mapped_file_get_length (file) };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "byte_histogram";
  farm.loads = &load;
  farm.n_loads = load.size > 0;
  farm.cpu_worker = work;
  farm.block_elements = 65536;
  farm.reduce = add;
  farm.accumulator = counts;
  farm.accumulator_bytes = sizeof counts;
  if (!hass_data_farm_partition (&farm, &report, &error))
    {
      fprintf (stderr, "byte_histogram: %s\n", error->message);
      return 1;
    }
  for (int i = 0; i < 256; i++)
    if (counts[i] > 0)
      printf ("%3d %c %" G_GUINT64_FORMAT "\n", i,
              g_ascii_isgraph (i) ? i : ' ', counts[i]);
  g_autofree char *table = hass_report_to_string (report);
  fputs (table, stderr);
  if (fclose (stdout) != 0)
    {
      perror ("byte_histogram: standard output");
      return 1;
    }
  return 0;
}

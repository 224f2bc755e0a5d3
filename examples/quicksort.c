/* SPDX-License-Identifier: MIT */
/* quicksort.c: sorts random numbers. A function farm whose tasks make new
   tasks: each splits its part and emits the halves until they are small.
   Usage: quicksort [NUMBERS]   (default 5000000) */
#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALL 20000

static int
by_value (const void *a, const void *b)
{
  guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
  return (x > y) - (x < y);
}

static gboolean sort (const HassTask *task, HassWorker *worker,
                      gpointer user_data, GError **error);

/* The library copies tasks. A part needs no more than where it is. */
static HassTask
part (guint32 *from, gsize n)
{
  return (HassTask){ .cpu = sort,
                     .output = from,
                     .output_bytes = n * sizeof *from,
                     .expected_time = n };
}

/* Numbers below the pivot first; returns how many. */
static gsize
split (guint32 *v, gsize n, guint32 pivot)
{
  gsize below = 0;
  for (gsize i = 0; i < n; i++)
    if (v[i] < pivot)
      {
        guint32 swap = v[below];
        v[below++] = v[i];
        v[i] = swap;
      }
  return below;
}

static gboolean
sort (const HassTask *task, HassWorker *worker, gpointer user_data,
      GError **error)
{
  guint32 *v = task->output;
  gsize n = task->output_bytes / sizeof *v;
  (void)user_data;
  (void)error;
  guint32 a = v[0], b = v[n / 2], c = v[n - 1];
  guint32 pivot = MAX (MIN (a, b), MIN (MAX (a, b), c));
  gsize below = n <= SMALL ? 0 : split (v, n, pivot);
  if (below == 0) /* small, or the pivot is the least */
    {
      qsort (v, n, sizeof *v, by_value);
      return TRUE;
    }
  HassTask low = part (v, below), high = part (v + below, n - below);
  return hass_worker_emit_task (worker, &low)
         && hass_worker_emit_task (worker, &high);
}

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  GArray *numbers = user_data;
  (void)error;
  HassTask all = part ((guint32 *)numbers->data, numbers->len);
  return hass_emitter_emit_task (emitter, &all);
}

int
main (int argc, char **argv)
{
  guint64 n = 5000000;
  if (argc > 2
      || (argc == 2
          && !g_ascii_string_to_unsigned (argv[1], 10, 0, G_MAXINT32, &n,
                                          NULL)))
    {
      fprintf (stderr, "usage: quicksort [NUMBERS]\n");
      return 2;
    }
  g_autoptr (GArray) numbers = g_array_sized_new (FALSE, FALSE, 4, n);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  for (guint i = 0; i < n; i++)
    {
      guint32 v = g_rand_int (rand);
      g_array_append_val (numbers, v);
    }
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  farm.name = "quicksort";
  farm.user_data = numbers;
  farm.generate = generate;
  if (n > 0 && !hass_function_farm (&farm, &report, &error))
    {
      fprintf (stderr, "quicksort: %s\n", error->message);
      return 1;
    }
  for (guint i = 1; i < n; i++)
    if (g_array_index (numbers, guint32, i - 1)
        > g_array_index (numbers, guint32, i))
      {
        fprintf (stderr, "quicksort: not sorted at %u\n", i);
        return 1;
      }
  g_autofree char *table = report ? hass_report_to_string (report) : NULL;
  printf ("%" G_GUINT64_FORMAT " numbers sorted\n%s", n, table ? table : "");
  if (fclose (stdout) != 0)
    {
      perror ("quicksort: standard output");
      return 1;
    }
  return 0;
}

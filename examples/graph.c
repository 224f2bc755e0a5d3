/* SPDX-License-Identifier: MIT */
/* graph.c: which two of 1024 places are farthest apart by road (algorithm of
   Floyd and Warshall). A dataflow: sequential code submits tasks, each with the
   data that it accesses; a task waits only for those that concern its data.
   Usage: graph FILE, where each line is a road: FROM TO LENGTH */
#include <errno.h>
#include <hass/hass.h>
#include <math.h>
#include <stdio.h>

#define PLACES 1024
#define STRIP 32 /* rows of the table of distances that make a datum */

/* Allows the ways of the first view to pass by the places of the last one,
   which begin with @via. */
static gboolean
shorten (const HassCall *call, HassWorker *worker, GError **error)
{
  float (*ways)[PLACES] = call->views[0].data;
  float (*rest)[PLACES] = call->views[call->n_views - 1].data;
  const guint *via = call->arguments;
  (void)worker, (void)error;
  for (guint k = 0; k < STRIP; k++)
    for (guint from = 0; from < STRIP; from++)
      {
        float first = ways[from][*via + k];
        for (guint to = 0; to < PLACES; to++)
          ways[from][to] = MIN (ways[from][to], first + rest[k][to]);
      }
  return TRUE;
}

/* Nothing says when a task begins: the accesses do. */
static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet codelet
      = HASS_CODELET (.name = "shorten", .cpu = shorten);
  float (*table)[PLACES] = user_data;
  HassData *strip[PLACES];
  (void)error;
  for (guint i = 0; i < PLACES; i += STRIP)
    strip[i] = hass_graph_data (graph, table[i], STRIP * sizeof *table, 1, 0);
  for (guint via = 0; via < PLACES; via += STRIP)
    {
      HassTaskHints hints = { .arguments = &via, .argument_bytes = sizeof via };
      HassAccess own = { strip[via], HASS_UPDATE };
      hass_graph_task (graph, &codelet, &own, 1, &hints);
      for (guint i = 0; i < PLACES; i += STRIP)
        {
          HassAccess accesses[]
              = { { strip[i], HASS_UPDATE }, { strip[via], HASS_READ } };
          if (i != via)
            hass_graph_task (graph, &codelet, accesses, 2, &hints);
        }
    }
  return TRUE; /* what a call refused stops the dataflow */
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  g_autofree float *ways = g_new (float, PLACES *PLACES);
  FILE *file = argc == 2 ? fopen (argv[1], "r") : NULL;
  guint from, to, n, most = 0;
  float length;
  for (guint i = 0; i < PLACES * PLACES; i++)
    ways[i] = i % (PLACES + 1) == 0 ? 0 : INFINITY;
  while (file && (n = fscanf (file, "%u %u %f", &from, &to, &length)) == 3
         && from < PLACES && to < PLACES && length >= 0)
    ways[from * PLACES + to] = length;
  if (argc != 2)
    return fprintf (stderr, "usage: graph FILE\n"), 2;
  if (!file)
    return fprintf (stderr, "graph: %s: %s\n", argv[1], g_strerror (errno)), 2;
  if (n != (guint)EOF || ferror (file) || fclose (file) != 0)
    return fprintf (stderr, "graph: %s: each line needs FROM TO LENGTH\n",
                    argv[1]),
           2;
  HassDataflow flow = HASS_DATAFLOW_INIT;
  flow.name = "distances";
  flow.user_data = ways;
  flow.build = build;
  gboolean ok = hass_dataflow (&flow, &report, &error);
  for (guint i = 0; i < PLACES * PLACES; i++)
    if (ways[i] < INFINITY && ways[i] > ways[most])
      most = i;
  if (ok)
    printf ("it is %g from %u to %u\n", ways[most], most / PLACES,
            most % PLACES);
  g_autofree char *table = hass_report_to_string (report);
  fprintf (stderr, "%s\n", error ? error->message : table);
  return ok && fclose (stdout) == 0 ? 0 : 1;
}

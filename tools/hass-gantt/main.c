/* SPDX-License-Identifier: MIT */
/* hass-gantt: draws a trace of HASS_TRACE as a Gantt chart. Exit status: 0; 1
   if a file cannot be read or written; 2 if the options are invalid.
   Thread safety: one thread. */
#include <locale.h>
#include <stdio.h>

#include "draw/gantt.h"
#include "tools/output.h"

static char *title;
static gint farm;

static const GOptionEntry entries[]
    = { { "farm", 0, 0, G_OPTION_ARG_INT, &farm,
          "Which one of the trace, from 1 (the longest)", "N" },
        { "title", 0, 0, G_OPTION_ARG_STRING, &title,
          "What ran, instead of the farm's name", "TEXT" },
        { NULL, 0, 0, 0, NULL, NULL, NULL } };

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context
      = g_option_context_new ("TRACE.jsonl OUT.svg");
  output_watch ();
  setlocale (LC_ALL, "");
  g_option_context_set_summary (
      context, "Draws the Gantt chart of a run, from the trace that any "
               "program with hass writes\nwhen HASS_TRACE=TRACE.jsonl is set.");
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "hass-gantt: %s\n", error->message);
      return 2;
    }
  if (farm < 0)
    {
      fprintf (stderr, "hass-gantt: --farm is %d, must be from 1\n", farm);
      return 2;
    }
  if (argc != 3)
    {
      fprintf (stderr, "hass-gantt: needs the trace and the SVG file to "
                       "write; see --help\n");
      return 2;
    }
  if (draw_gantt_file (argv[1], (guint)farm, argv[2], title, &error))
    return 0;
  fprintf (stderr, "hass-gantt: %s\n", error->message);
  return 1;
}

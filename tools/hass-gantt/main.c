/* SPDX-License-Identifier: MIT */
/* hass-gantt: draws a trace of HASS_TRACE as a Gantt chart. Exit status: 0; 1
   if a file cannot be read or written; 2 if the options are invalid.
   Thread safety: one thread. */
#include <stdio.h>

#include "draw/gantt.h"
#include "examples/decimal_options.h"
#include "tools/output.h"
#include "tools/same_file.h"

#define LONGEST G_MININT /* the value of --farm before it is given */

static char *title, *task;
static gint farm = LONGEST;

static const GOptionEntry entries[]
    = { { "task", 0, 0, G_OPTION_ARG_STRING, &task,
          "Of a dataflow: show and print what this task, or the last one, "
          "waited for, back to the begin",
          "N|last" },
        { "farm", 0, 0, G_OPTION_ARG_INT, &farm,
          "Which one of the trace, from 1 (the longest)", "N" },
        { "title", 0, 0, G_OPTION_ARG_STRING, &title,
          "What ran, instead of the farm's name", "TEXT" },
        { NULL, 0, 0, 0, NULL, NULL, NULL } };

/* Draws the chart, and prints the chain if one is asked for. Returns: the exit
   status. */
static int
draw (const char *trace_path, const char *svg_path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DrawTrace) trace = NULL;
  g_autoptr (DrawChain) chain = NULL;
  guint64 number = 0;
  int status = 1;
  if (task && !draw_chain_parse (task, &number, &error))
    status = 2;
  else if ((trace = draw_trace_load (trace_path, (guint)MAX (farm, 0), &error))
           && (!task || (chain = draw_chain_new (trace, number, &error)))
           && draw_gantt_file (trace, chain, svg_path, title, &error))
    status = 0;
  if (error)
    fprintf (stderr, "hass-gantt: %s\n", error->message);
  else if (chain)
    {
      g_autofree char *table = draw_chain_table (chain);
      fputs (table, stdout);
    }
  return status;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context
      = g_option_context_new ("TRACE.jsonl OUT.svg");
  output_begin ();
  g_option_context_set_summary (
      context, "Draws the Gantt chart of a run, from the trace that any "
               "program with hass writes\nwhen HASS_TRACE=TRACE.jsonl is set.");
  if (!decimal_options_parse (context, entries, &argc, &argv, &error))
    {
      fprintf (stderr, "hass-gantt: %s\n", error->message);
      return 2;
    }
  if (farm != LONGEST && farm < 1)
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
  if (same_file (argv[1], argv[2]))
    {
      fprintf (stderr, "hass-gantt: %s: the chart would replace the trace\n",
               argv[2]);
      return 2;
    }
  return draw (argv[1], argv[2]);
}

/* SPDX-License-Identifier: MIT */
/* options.c: parses heat's command line.
   Thread safety: as options.h. */
#include "options.h"

#include <math.h>

#include "../decimal_options.h"

/* Most rows and columns of a plate. */
#define MOST_CELLS 100000

static const char summary[] = "Computes the temperatures of a plate whose four "
                              "sides are kept at given\n"
                              "ones, by Jacobi's iteration on all cores, until "
                              "no cell changes by more\n"
                              "than a tolerance in a step.";

static gboolean G_GNUC_PRINTF (2, 3)
    wrong (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
  return FALSE;
}

static gboolean
in_range (const char *option, int value, int most, GError **error)
{
  if (value < 1 || value > most)
    return wrong (error, "--%s=%d is not from 1 to %d", option, value, most);
  return TRUE;
}

static gboolean
check_temperatures (const HeatOptions *o, GError **error)
{
  for (int s = 0; s < HEAT_SIDES; s++)
    if (!isfinite (o->border[s]))
      return wrong (error, "a temperature is not finite");
  if (!(o->tolerance >= 0))
    return wrong (error, "--tolerance=%g is not 0 or above", o->tolerance);
  return TRUE;
}

static gboolean
check (const HeatOptions *o, int cores, GError **error)
{
  if (!in_range ("rows", o->rows, MOST_CELLS, error)
      || !in_range ("columns", o->columns, MOST_CELLS, error)
      || !in_range ("block", o->side, HEAT_MAX_SIDE, error)
      || !in_range ("steps", o->steps, G_MAXINT, error)
      || !in_range ("check", o->check, 10000, error)
      || !check_temperatures (o, error))
    return FALSE;
  if (o->check % 2 != 0)
    return wrong (error, "--check=%d is odd", o->check);
  if (o->steps % o->check != 0)
    return wrong (error, "--steps=%d is no multiple of --check=%d", o->steps,
                  o->check);
  if (cores < 0)
    return wrong (error, "--cores=%d is negative", cores);
  return TRUE;
}

static gboolean
parse (GOptionContext *context, HeatOptions *o, int *argc, char ***argv,
       GError **error)
{
  int cores = 0;
  const GOptionEntry entries[] = {
    { "rows", 0, 0, G_OPTION_ARG_INT, &o->rows, "Rows of cells (1024)", "N" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Columns (1024)", "N" },
    { "north", 0, 0, G_OPTION_ARG_DOUBLE, &o->border[HEAT_NORTH],
      "Temperature above the first row (100)", "X" },
    { "south", 0, 0, G_OPTION_ARG_DOUBLE, &o->border[HEAT_SOUTH],
      "Below the last row (0)", "X" },
    { "west", 0, 0, G_OPTION_ARG_DOUBLE, &o->border[HEAT_WEST],
      "Left of the first column (0)", "X" },
    { "east", 0, 0, G_OPTION_ARG_DOUBLE, &o->border[HEAT_EAST],
      "Right of the last column (0)", "X" },
    { "tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &o->tolerance,
      "End when no cell changes by more (0.001)", "X" },
    { "steps", 0, 0, G_OPTION_ARG_INT, &o->steps,
      "Compute at most N steps (10000)", "N" },
    { "check", 0, 0, G_OPTION_ARG_INT, &o->check,
      "Look at the change after every N steps, even (10)", "N" },
    { "block", 0, 0, G_OPTION_ARG_INT, &o->side,
      "Compute N x N cells in a task, up to 1024 (128)", "N" },
    { "build", 0, 0, G_OPTION_ARG_NONE, &o->built,
      "Submit all tasks rather than run a recorded graph", NULL },
    { "picture", 0, 0, G_OPTION_ARG_FILENAME, &o->picture,
      "Write the plate as a PGM picture", "FILE" },
    { "verify", 0, 0, G_OPTION_ARG_NONE, &o->verify,
      "Compare each bit with a plain loop", NULL },
    { "compare", 0, 0, G_OPTION_ARG_NONE, &o->compare,
      "Print the time of a task beside that of the same block in a loop",
      NULL },
    { "cores", 0, 0, G_OPTION_ARG_INT, &cores, "Use at most N cores", "N" },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went, to stderr", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  if (!decimal_options_parse (context, entries, argc, argv, error)
      || !check (o, cores, error))
    return FALSE;
  o->run.n_cores = (guint)cores;
  if (*argc > 1)
    return wrong (error, "unexpected argument: %s", (*argv)[1]);
  return TRUE;
}

gboolean
heat_options_parse (HeatOptions *o, int *argc, char ***argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  *o = (HeatOptions){ .rows = 1024,
                      .columns = 1024,
                      .side = 128,
                      .steps = 10000,
                      .check = 10,
                      .tolerance = 0.001,
                      .border = { [HEAT_NORTH] = 100 } };
  g_option_context_set_summary (context, summary);
  return parse (context, o, argc, argv, error);
}

void
heat_options_clear (HeatOptions *o)
{
  g_free (o->picture);
}

/* SPDX-License-Identifier: MIT */
/* draw.c: draws a case: a Gantt chart, and plots by round.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "draw/gantt.h"
#include "draw/plot.h"
#include "draw/svg.h"
#include "hass/error.h"
#include "sim.h"

#define MOST_ROUNDS 2000 /* maximum in a plot */

static HassSimResult *
first_that_ran (GPtrArray *results, GError **error)
{
  for (guint i = 0; i < results->len; i++)
    {
      HassSimResult *r = results->pdata[i];
      if (!r->refused && r->n_rounds > 0)
        return r;
    }
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "there is nothing to draw: no strategy ran");
  return NULL;
}

/* Runs the strategy again with a trace; the result is the same. */
gboolean
sim_draw_gantt (GPtrArray *results, const char *path, GError **error)
{
  g_autofree char *file = NULL;
  const HassSimResult *r = first_that_ran (results, error);
  int fd = r ? g_file_open_tmp ("hass-sim-XXXXXX", &file, error) : -1;
  if (fd < 0)
    return FALSE;
  close (fd);
  HassSimResult *again = sim_run (r->of, r->strategy, file);
  g_autoptr (DrawTrace) trace = draw_trace_load (file, 0, error);
  g_unlink (file);
  sim_result_free (again);
  if (!trace)
    return FALSE;
  g_free (trace->strategy);
  trace->strategy = g_strdup (r->strategy); /* with its parameters */
  g_autofree char *svg = draw_gantt (trace, NULL);
  return g_file_set_contents_full (path, svg, -1, G_FILE_SET_CONTENTS_NONE,
                                   0666, error);
}

/* -- Plots -------------------------------------------------------------- */

static double *
efficiencies (const HassSimResult *r)
{
  double *values = g_new (double, r->of->rounds);
  for (guint i = 0; i < r->of->rounds; i++)
    {
      const SimRound *round = &r->rounds[i];
      double ns = (double)(round->end_ns - round->begin_ns);
      values[i]
          = i < r->n_rounds && ns > 0 ? r->of->bound_ns[i] / ns : (double)NAN;
    }
  return values;
}

static double *
shares (const HassSimResult *r, guint device)
{
  double *values = g_new0 (double, r->n_rounds);
  for (guint i = 0; i < r->n_rounds; i++)
    {
      double all = 0;
      for (guint d = 0; d < r->of->n_devices; d++)
        all += r->rounds[i].devices[d].work;
      if (all > 0)
        values[i] = r->rounds[i].devices[device].work / all;
    }
  return values;
}

static DrawPlot
efficiency_plot (GPtrArray *results, GArray *series)
{
  double low = 1, top = 1; /* with noise a round may exceed its bound */
  for (guint i = 0; i < results->len; i++)
    {
      const HassSimResult *r = results->pdata[i];
      if (r->refused || r->n_rounds == 0)
        continue;
      DrawSeries s = { .name = r->strategy, .values = efficiencies (r) };
      g_array_append_val (series, s);
      low = MIN (low, r->worst_efficiency);
      for (guint k = 0; k < r->n_rounds; k++)
        top = MAX (top, s.values[k]);
    }
  return (DrawPlot){ .kind = DRAW_LINES,
                     .subtitle = "the bound of each round / its time",
                     .y_title = "efficiency",
                     .series = (DrawSeries *)series->data,
                     .n_series = series->len,
                     .low = low < 0.4 ? 0 : floor (low * 10) / 10,
                     .top = ceil (top * 10 - 1e-6) / 10,
                     .percent = TRUE };
}

static DrawPlot
share_plot (const HassSimResult *r, GArray *series)
{
  for (guint d = 0; d < r->of->n_devices; d++)
    {
      DrawSeries s
          = { .name = r->of->device_names[d], .values = shares (r, d) };
      g_array_append_val (series, s);
    }
  return (DrawPlot){ .kind = DRAW_AREAS,
                     .subtitle = "part of the round's work that each device "
                                 "did",
                     .y_title = "part of the work",
                     .series = (DrawSeries *)series->data,
                     .n_series = series->len,
                     .n_points = r->n_rounds,
                     .top = 1,
                     .percent = TRUE };
}

static void
clear_series (gpointer data)
{
  g_free ((gpointer)((DrawSeries *)data)->values);
}

gboolean
sim_draw_plot (GPtrArray *results, const char *path, GError **error)
{
  const HassSimResult *r = first_that_ran (results, error);
  if (!r)
    return FALSE;
  if (r->of->rounds > MOST_ROUNDS)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "--plot shows at most %d rounds, these are %u", MOST_ROUNDS,
                   r->of->rounds);
      return FALSE;
    }
  g_autoptr (GArray) lines = g_array_new (FALSE, FALSE, sizeof (DrawSeries));
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (DrawSeries));
  g_array_set_clear_func (lines, clear_series);
  g_array_set_clear_func (parts, clear_series);
  DrawPlot plots[]
      = { efficiency_plot (results, lines), share_plot (r, parts) };
  const char *name = r->of->workload->name, *on = r->of->platform->name;
  g_autofree char *first = g_strdup_printf ("%s on %s: efficiency", name, on);
  g_autofree char *second
      = g_strdup_printf ("%s on %s: shares under %s", name, on, r->strategy);
  plots[0].title = first;
  plots[0].n_points = r->of->rounds;
  plots[1].title = second;
  g_autofree char *svg = draw_plots (plots, G_N_ELEMENTS (plots));
  return g_file_set_contents_full (path, svg, -1, G_FILE_SET_CONTENTS_NONE,
                                   0666, error);
}

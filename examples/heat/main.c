/* SPDX-License-Identifier: MIT */
/* main.c: heat, the temperatures of a plate.
   Thread safety: single-threaded; the dataflow is not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../standard_output.h"
#include "compare.h"
#include "options.h"

static gboolean
fail (GError **error, int code, const char *name, const char *why)
{
  g_set_error (error, HASS_ERROR, code, "%s: %s", name, why);
  return FALSE;
}

/* White is the highest temperature of a side, black the lowest. */
static gboolean
write_picture (const HeatPlate *p, const HeatOptions *o, GError **error)
{
  double low = o->border[0], high = o->border[0];
  FILE *file = fopen (o->picture, "wb");
  if (!file)
    return fail (error, HASS_ERROR_IO, o->picture, g_strerror (errno));
  for (int s = 1; s < HEAT_SIDES; s++)
    {
      low = MIN (low, o->border[s]);
      high = MAX (high, o->border[s]);
    }
  double scale = high > low ? 255 / (high - low) : 0;
  fprintf (file, "P5\n%zu %zu\n255\n", p->columns, p->rows);
  for (gsize i = 0; i < p->rows * p->columns; i++)
    putc ((int)CLAMP ((p->cells[i] - low) * scale, 0, 255), file);
  int wrong = ferror (file);
  if (fclose (file) != 0 || wrong)
    return fail (error, HASS_ERROR_IO, o->picture, g_strerror (errno));
  return TRUE;
}

static gboolean
verify (const HeatPlate *p, gsize steps, GError **error)
{
  g_autofree double *wanted = heat_plain (p, steps);
  if (!wanted)
    return fail (error, HASS_ERROR_NO_MEMORY, "--verify", "no memory");
  for (gsize i = 0; i < p->rows * p->columns; i++)
    if (memcmp (&p->cells[i], &wanted[i], sizeof *wanted) != 0)
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
                     "row %zu, column %zu has %.17g, in a plain loop %.17g",
                     i / p->columns, i % p->columns, p->cells[i], wanted[i]);
        return FALSE;
      }
  puts ("equal to a plain loop");
  return TRUE;
}

static gboolean
compute (const HeatJob *job, const HeatOptions *o, GError **error)
{
  const HeatPlate *p = job->plate;
  g_autoptr (HassReport) report = NULL;
  HeatResult result;
  g_autoptr (HeatGraph) graph = NULL;
  gboolean ok = o->built ? heat_built (job, &result, &report, error)
                         : (graph = heat_record (job, error))
                               && heat_run (graph, &result, &report, error);
  if (!ok)
    return FALSE;
  printf ("%zu x %zu cells: after %zu steps a cell changes by at most %.6g; "
          "%.6g in the middle\n",
          p->rows, p->columns, result.steps, result.change,
          p->cells[p->rows / 2 * p->columns + p->columns / 2]);
  if (o->report)
    {
      g_autofree char *table = hass_report_to_string (report);
      fputs (table, stderr);
    }
  return (!o->verify || verify (p, result.steps, error))
         && (!o->picture || write_picture (p, o, error));
}

static gboolean
run (const HeatOptions *o, GError **error)
{
  g_autoptr (HeatPlate) plate = heat_plate_new (
      (gsize)o->rows, (gsize)o->columns, (gsize)o->side, o->border);
  HeatJob job
      = { plate, (gsize)o->steps, (gsize)o->check, o->tolerance, o->run };
  if (!plate)
    return fail (error, HASS_ERROR_NO_MEMORY, "the plate", "no memory");
  return o->compare ? heat_compare (&job, error) : compute (&job, o, error);
}

int
main (int argc, char **argv)
{
  HeatOptions options;
  g_autoptr (GError) error = NULL;
  int status = 0;
  output_check ();
  if (!heat_options_parse (&options, &argc, &argv, &error))
    status = 2;
  else if (!run (&options, &error))
    status = 1;
  if (error)
    fprintf (stderr, "heat: %s\n", error->message);
  heat_options_clear (&options);
  return status;
}

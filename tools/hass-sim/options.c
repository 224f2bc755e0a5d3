/* SPDX-License-Identifier: MIT */
/* options.c: see options.h.
   Thread safety: see options.h. */
#include "options.h"

/* Of rounds and of random cases: what a run of minutes can still do. */
#define MOST_COUNTED 1000000

static gboolean
wrong (GError **error, const char *option, const char *text, const char *usage)
{
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s %s: %s is needed", option, text, usage);
  return FALSE;
}

gboolean
sim_refuse (GError **error, const char *why)
{
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, why);
  return FALSE;
}

gboolean
sim_check_counts (const SimCount *counts, guint n, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = g_strdup_printf ("%d", counts[i].n);
      if (counts[i].n != SIM_NOT_GIVEN
          && (counts[i].n < 0 || counts[i].n > MOST_COUNTED))
        return wrong (error, counts[i].option, text,
                      "a number from 0 to " G_STRINGIFY (MOST_COUNTED));
    }
  return TRUE;
}

void
sim_adjust (const SimAdjust *a, HassPlatform *p)
{
  if (a->noise >= 0)
    p->noise = a->noise;
  for (guint i = 0; i < p->n_gpus; i++)
    {
      if (a->part_mib >= 0)
        p->gpus[i].part_bytes = (guint64)a->part_mib << 20;
      if (a->kernels >= 0)
        p->gpus[i].kernels = (guint)a->kernels;
      if (a->start_ms >= 0)
        p->gpus[i].start_ns = a->start_ms * 1e6;
    }
}

gboolean
sim_parse_part (const char *option, const char *text, double *part,
                GError **error)
{
  char *end;
  *part = -1;
  if (!text)
    return TRUE;
  *part = g_ascii_strtod (text, &end);
  return (end != text && !*end && *part >= 0 && *part <= 1)
         || wrong (error, option, text, "a number from 0 to 1");
}

gboolean
sim_need_one (const gboolean given[6], GError **error)
{
  static const char *const modes[]
      = { "--workload", "--suite",    "--random",
          "--replay",   "--pipeline", "--dataflow" };
  const char *one = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      if (given[i] && one)
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "%s and %s exclude each other", one, modes[i]);
          return FALSE;
        }
      if (given[i])
        one = modes[i];
    }
  return one
         || sim_refuse (error, "one of --workload, --suite, --random, "
                               "--replay, --pipeline, --dataflow or --list is "
                               "needed");
}

gboolean
sim_refuse_given (const SimGiven *options, const char *mode, const char *what,
                  GError **error)
{
  for (; options->name; options++)
    if (options->given)
      {
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                     "--%s does not go with --%s %s%s%s", options->name, mode,
                     what, options->why ? ": " : "",
                     options->why ? options->why : "");
        return FALSE;
      }
  return TRUE;
}

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

/* In the order of SimMode. */
static const char *const modes[SIM_MODES]
    = { "workload", "suite", "random", "replay", "pipeline", "dataflow" };

/* Returns: the index of the only mode that is given; -1: with an error. */
static int
only_mode (const char *const what[SIM_MODES], GError **error)
{
  int one = -1;
  for (int i = 0; i < SIM_MODES; i++)
    {
      if (what[i] && one >= 0)
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "--%s and --%s exclude each other", modes[one],
                       modes[i]);
          return -1;
        }
      if (what[i])
        one = i;
    }
  if (one < 0)
    sim_refuse (error, "one of --workload, --suite, --random, --replay, "
                       "--pipeline, --dataflow or --list is needed");
  return one;
}

gboolean
sim_check_mode (const char *const what[SIM_MODES], const SimGiven *options,
                GError **error)
{
  int mode = only_mode (what, error);
  if (mode < 0)
    return FALSE;
  for (; options->name; options++)
    if (options->given && (options->modes & 1u << mode))
      {
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                     "--%s does not go with --%s %s%s%s", options->name,
                     modes[mode], what[mode], options->why ? ": " : "",
                     options->why ? options->why : "");
        return FALSE;
      }
  return TRUE;
}

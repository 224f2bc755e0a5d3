/* SPDX-License-Identifier: MIT */
/* targets.c: what was to be shown, and what was measured.
   Thread safety: one thread. */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>

static GString *lines; /* of the table */

static const char *
shown (char text[48], const char *sign, double value, const char *unit)
{
  int digits = fabs (value) >= 100 ? 0 : fabs (value) >= 10 ? 1 : 2;
  g_snprintf (text, 48, "%s%.*f %s", sign, digits, value, unit);
  return text;
}

void
target_add (TargetKind kind, double target, double measured, const char *unit,
            const char *what, ...)
{
  char goal[48] = "", found[48];
  gboolean met
      = kind == TARGET_AT_LEAST ? measured >= target : measured <= target;
  va_list args;
  if (!lines)
    lines = g_string_new (NULL);
  va_start (args, what);
  g_string_append (lines, "| ");
  g_string_append_vprintf (lines, what, args);
  va_end (args);
  if (kind != TARGET_NONE)
    shown (goal, kind == TARGET_AT_LEAST ? ">= " : "<= ", target, unit);
  g_string_append_printf (lines, " | %s | %s | %s |\n", goal,
                          shown (found, "", measured, unit),
                          kind == TARGET_NONE ? ""
                          : isnan (measured)  ? "not measured"
                          : met               ? "met"
                                              : "missed");
}

void
targets_print (const char *path)
{
  if (!lines)
    return;
  printf ("\nTargets\n\n" TARGETS_HEAD "%s", lines->str);
  fflush (stdout);
  FILE *file = path ? fopen (path, "a") : NULL;
  if (file)
    {
      fputs (lines->str, file);
      fclose (file);
    }
  g_string_free (lines, TRUE);
  lines = NULL;
}

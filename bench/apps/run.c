/* SPDX-License-Identifier: MIT */
/* run.c: runs an application once and checks the result.
   Thread safety: one thread. */
#include "apps.h"

#include <stdio.h>
#include <stdlib.h>

void
apps_fail (const char *format, ...)
{
  va_list args;
  fflush (stdout);
  fputs ("gpu-apps: ", stderr);
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
  exit (1);
}

gboolean
apps_wrong (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_WORKER, what);
  return FALSE;
}

/* Returns: NULL if all devices were present to the end, else what failed. */
static const char *
trouble (const AppsMachine *machine, const HassReport *report)
{
  for (guint d = 0; d < report->n_devices; d++)
    if (report->devices[d].lost || report->devices[d].failures > 0)
      return report->devices[d].message ? report->devices[d].message
                                        : "a device has failed";
  if (report->n_devices != 1 + machine->n_gpus)
    return "other devices took part than asked for";
  return NULL;
}

static double
gpu_part (const HassReport *report)
{
  double gpus = 0, all = 0;
  for (guint d = 0; d < report->n_devices; d++)
    {
      const HassDeviceReport *r = &report->devices[d];
      all += r->work;
      gpus += r->kind == HASS_DEVICE_GPU ? r->work : 0;
    }
  return all > 0 ? gpus / all : 0;
}

gboolean
apps_run (const AppsSubject *s, const char *strategy, AppsRun *run, char **why)
{
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  const char *name = s->program->name;
  if (!s->program->run (s->self, s->machine, strategy, &report, &error))
    {
      if (!g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY))
        apps_fail ("%s under %s: %s", name, strategy, error->message);
      *why = g_strdup (error->message);
      return FALSE;
    }
  const char *wrong = trouble (s->machine, report);
  if (wrong)
    apps_fail ("%s under %s: %s", name, strategy, wrong);
  if (!s->machine->platform && !s->program->check (s->self, &error))
    apps_fail ("%s under %s: wrong results: %s", name, strategy,
               error->message);
  run->ms = report->makespan_s * 1e3;
  run->gpu_part = gpu_part (report);
  return TRUE;
}

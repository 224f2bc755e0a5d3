/* SPDX-License-Identifier: MIT */
/* explain.c: writes what strategies say of their decisions.
   Thread safety: open and close by the thread that called the farm; lines
   under the decision lock, and each is written at once, so that farms that
   run at the same time can share a file. */
#include "engine/core/job-private.h"

#include <errno.h>
#include <string.h>

#include "hass/error.h"

static void note (gpointer data, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
note (gpointer data, const char *format, ...)
{
  HassJob *job = data;
  g_autoptr (GString) line = g_string_new (NULL);
  /* While the strategy is made, the farm has not begun. */
  gint64 ns = job->strategy ? job->engine->now (job) - job->begin_ns : 0;
  double ms = (double)ns * 1e-6;
  g_string_printf (line, "%s %.3f ms: ", job->farm->name, ms);
  va_list args;
  va_start (args, format);
  g_string_append_vprintf (line, format, args);
  va_end (args);
  g_string_append_c (line, '\n');
  /* Line-buffered: this is where writing fails, if it does. */
  if (fwrite (line->str, 1, line->len, job->explanation) != line->len
      && job->explanation_failure == 0)
    job->explanation_failure = errno;
}

static const char *
path_of (const HassJob *job)
{
  const char *path = job->farm->run->explain;
  return path ? path : g_getenv ("HASS_EXPLAIN");
}

/* Where somebody wants explanations, the strategy's environment gets a way to
   give them. */
gboolean
hass_explain_open (HassJob *job, GError **error)
{
  const char *path = path_of (job);
  if (!path || !*path)
    return TRUE;
  job->explanation = strcmp (path, "-") == 0 ? stderr : fopen (path, "a");
  if (!job->explanation)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "explanation file '%s' cannot be written: %s", path,
                   g_strerror (errno));
      return FALSE;
    }
  if (job->explanation != stderr)
    setvbuf (job->explanation, NULL, _IOLBF, 0);
  job->env.note = note;
  job->env.note_data = job;
  return TRUE;
}

void
hass_explain_close (HassJob *job, GError **error)
{
  FILE *file = g_steal_pointer (&job->explanation);
  job->env.note = NULL;
  if (!file)
    return;
  int failure = job->explanation_failure;
  if (file != stderr && fclose (file) != 0 && failure == 0)
    failure = errno;
  if (failure != 0)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                 "explanation file '%s' could not be written whole: %s",
                 path_of (job), g_strerror (failure));
}

/* SPDX-License-Identifier: MIT */
/* trace.c: collects trace lines and writes them in large pieces.
   Thread safety: see trace-private.h. */
#include "trace-private.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "hass/error.h"

/* Bytes of trace text that are collected before they are written to the file. A
   guess: smaller, and threads often wait for the file; larger, and more memory
   is used. */
#define PIECE (1 << 20)

struct HassTrace
{
  char *path;
  FILE *file;
  pthread_mutex_t lock; /* for the fields below */
  GString *text;
  int failure; /* errno of the first write that failed, or 0 */
};

HassTrace *
hass_trace_open (const char *path, gboolean append, GError **error)
{
  FILE *file = fopen (path, append ? "a" : "w");
  if (!file)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "trace file '%s' cannot be written: %s", path,
                   g_strerror (errno));
      return NULL;
    }
  HassTrace *trace = g_new0 (HassTrace, 1);
  trace->path = g_strdup (path);
  trace->file = file;
  trace->text = g_string_sized_new (4096);
  pthread_mutex_init (&trace->lock, NULL);
  return trace;
}

static void
write_out (HassTrace *trace)
{
  if (fwrite (trace->text->str, 1, trace->text->len, trace->file)
          != trace->text->len
      && trace->failure == 0)
    trace->failure = errno;
  g_string_truncate (trace->text, 0);
}

/* Writes what is left and closes the file. Returns: FALSE with an error if the
   file is not complete. Frees the trace in any case. */
gboolean
hass_trace_close (HassTrace *trace, GError **error)
{
  write_out (trace);
  if (fclose (trace->file) != 0 && trace->failure == 0)
    trace->failure = errno;
  gboolean ok = trace->failure == 0;
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                 "trace file '%s' could not be written whole: %s", trace->path,
                 g_strerror (trace->failure));
  pthread_mutex_destroy (&trace->lock);
  g_string_free (trace->text, TRUE);
  g_free (trace->path);
  g_free (trace);
  return ok;
}

/* Adds one line, given without its newline, to the trace. */
void
hass_trace_line (HassTrace *trace, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  pthread_mutex_lock (&trace->lock);
  g_string_append_vprintf (trace->text, format, args);
  g_string_append_c (trace->text, '\n');
  if (trace->text->len > PIECE)
    write_out (trace);
  pthread_mutex_unlock (&trace->lock);
  va_end (args);
}

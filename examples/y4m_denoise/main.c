/* SPDX-License-Identifier: MIT */
/* main.c: y4m_denoise, a denoiser of video that stands between two programs.
   Thread safety: single-threaded; the pipeline is not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../exit_status.h"
#include "../standard_output.h"
#include "options.h"

/* What ffmpeg and others write at a time fills a pipe of this size. */
#define PIPE_BYTES (1 << 20)

static FILE *
open_file (const char *name, const char *mode, GError **error)
{
  FILE *file = fopen (name, mode);
  if (!file)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", name,
                 g_strerror (errno));
  return file;
}

/* A stream of its own, since stdout is closed when the program exits. */
static FILE *
open_stdout (GError **error)
{
  int fd = dup (STDOUT_FILENO);
  FILE *file = fd >= 0 ? fdopen (fd, "wb") : NULL;
  if (!file)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "standard output: %s",
                 g_strerror (errno));
  return file;
}

/* Opening the output would empty an input that is the same file. */
static gboolean
check_files (FILE *in, const char *output, GError **error)
{
  struct stat a, b;
  if (output && fstat (fileno (in), &a) == 0 && stat (output, &b) == 0
      && S_ISREG (a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "%s is both input and output", output);
      return FALSE;
    }
  if (!output && isatty (STDOUT_FILENO))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "standard output is a terminal; see --help");
      return FALSE;
    }
  return TRUE;
}

static gboolean
denoise (Y4mOptions *o, GError **error)
{
  g_autoptr (HassReport) report = NULL;
  gboolean ok = y4m_denoise_run (&o->job, &report, error);
  if (report && o->report)
    {
      g_autofree char *table = hass_report_to_string (report);
      fputs (table, stderr);
    }
  return ok;
}

static gboolean
run (Y4mOptions *o, GError **error)
{
  Y4mFormat format = { NULL };
  FILE *in = o->input ? open_file (o->input, "rb", error) : stdin, *out = NULL;
  gboolean ok = in && check_files (in, o->output, error)
                && y4m_read_format (in, &format, error);
  if (ok)
    {
      out = o->output ? open_file (o->output, "ab", error)
                      : open_stdout (error);
      ok = out != NULL;
    }
  if (ok)
    {
      (void)fcntl (fileno (in), F_SETPIPE_SZ, PIPE_BYTES);
      (void)fcntl (fileno (out), F_SETPIPE_SZ, PIPE_BYTES);
      o->job.in = in;
      o->job.out = out;
      o->job.replaces = o->output != NULL;
      o->job.format = &format;
      ok = denoise (o, error);
    }
  if (out && fclose (out) != 0 && ok)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s",
                   o->output ? o->output : "standard output",
                   g_strerror (errno));
      ok = FALSE;
    }
  if (in)
    fclose (in);
  y4m_format_clear (&format);
  return ok;
}

int
main (int argc, char **argv)
{
  Y4mOptions options;
  g_autoptr (GError) error = NULL;
  int status = 0;
  output_check ();
  if (!y4m_options_parse (&options, &argc, &argv, &error))
    status = 2;
  else if (!run (&options, &error))
    status = exit_status_of (error);
  if (error)
    fprintf (stderr, "y4m_denoise: %s\n", error->message);
  y4m_options_clear (&options);
  return status;
}

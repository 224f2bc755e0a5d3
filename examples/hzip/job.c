/* SPDX-License-Identifier: MIT */
/* job.c: reading, writing, progress and errors of a pipeline.
   Thread safety: see job.h. */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

gsize
job_read (Job *job, guint8 *at, gsize bytes, gboolean fill)
{
  gsize n = MIN (bytes, job->n_peeked - job->peek_taken);
  if (n > 0)
    memcpy (at, job->peeked + job->peek_taken, n);
  job->peek_taken += n;
  while (n < bytes && (fill || n == 0))
    {
      gssize got = read (job->in, at + n, bytes - n);
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        job->read_error = errno;
      if (got <= 0)
        break;
      n += (gsize)got;
    }
  atomic_fetch_add_explicit (&job->bytes_in, n, memory_order_relaxed);
  return n;
}

void
job_peek (Job *job, gsize bytes, gboolean fill)
{
  guint8 *peeked = g_malloc (bytes);
  gsize n = job_read (job, peeked, bytes, fill);
  job->at_end = fill && n < bytes;
  job->peeked = peeked;
  job->n_peeked = n;
  atomic_store_explicit (&job->bytes_in, 0, memory_order_relaxed);
}

gboolean
job_write (Job *job, const guint8 *at, gsize bytes, GError **error)
{
  job->bytes_out += bytes;
  while (job->out >= 0 && bytes > 0)
    {
      gssize n = write (job->out, at, bytes);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          job->write_error = errno;
          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s",
                       job->out_name, g_strerror (errno));
          return FALSE;
        }
      at += n;
      bytes -= (gsize)n;
    }
  return TRUE;
}

gboolean
job_write_stage (HassToken *token, HassWorker *worker, gpointer user_data,
                 GError **error)
{
  (void)worker;
  return job_write (user_data, token->input, token->input_bytes, error);
}

static void
show_progress (const HassProgressInfo *info, gpointer user_data)
{
  Job *job = user_data;
  double mb
      = (double)atomic_load_explicit (&job->bytes_in, memory_order_relaxed)
        / 1e6;
  fprintf (stderr, "\r%s:\t", job->name);
  if (job->size > 0)
    fprintf (stderr, "%5.1f%% of ", 1e8 * mb / (double)job->size);
  else
    fprintf (stderr, "%.1f MB, ", mb);
  if (job->size > 0)
    fprintf (stderr, "%.1f MB, ", (double)job->size / 1e6);
  fprintf (stderr, "%.0f MB/s ", mb / info->elapsed_s);
}

gboolean
job_failed (Job *job, const GError *error)
{
  if (job->write_error == EPIPE)
    cleanup_broken_pipe ();
  if (job->write_error)
    complain (job->hzip, "%s: %s", job->out_name,
              g_strerror (job->write_error));
  else
    complain (job->hzip, "%s: %s", job->name,
              error ? error->message : "failed");
  job->hzip->aborted = TRUE;
  return FALSE;
}

gboolean
job_read_well (Job *job)
{
  if (job->read_error == 0)
    return TRUE;
  complain (job->hzip, "%s: %s", job->name, g_strerror (job->read_error));
  job->hzip->aborted = TRUE;
  return FALSE;
}

gboolean
job_run (Job *job, HassPipeline *pipeline)
{
  const Options *o = &job->hzip->options;
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  gboolean shows = o->verbose && !o->quiet && isatty (STDERR_FILENO);
  pipeline->run.n_cores = o->threads;
  pipeline->run.n_gpus = -1;
  pipeline->run.progress = shows ? show_progress : NULL;
  pipeline->run.progress_data = job;
  gboolean ok = hass_pipeline (pipeline, &report, &error);
  if (shows)
    fputs ("\r\033[K", stderr);
  if (o->report && report)
    {
      g_autofree char *table = hass_report_to_string (report);
      fputs (table, stderr);
    }
  return ok ? job_read_well (job) : job_failed (job, error);
}

/* SPDX-License-Identifier: MIT */
/* job.h: one input on its way to one output, and the pipelines that take it
   there.
   Thread safety: each field says which thread writes it; the others read it
   when the pipeline has ended. */
#ifndef HZIP_JOB_H
#define HZIP_JOB_H

#include <hass/hass.h>
#include <stdatomic.h>

#include "header.h"
#include "hzip.h"

/* Bytes of a file that are read before its output is opened. */
#define PEEK_BYTES ((gsize)64 << 10)

/* @name, @size: of the input, in messages and for the progress; size 0:
   unknown.
   @in: its file descriptor; @peeked [@n_peeked]: what was read already, of
   which
   @peek_taken bytes were taken; @at_end: nothing follows it.
   @out: file descriptor of the output; -1: it is discarded.
   @out_name: in messages.
   @text: for the header of the output.
   @bytes_in: read so far; by the generator, on the calling thread.
   @bytes_out: written so far; by the last stage, which is ordered.
   @read_error, @write_error: errno, or 0; by the generator and the last stage.
   @crc: of the last member that was decompressed. */
typedef struct
{
  Hzip *hzip;
  const char *name;
  guint64 size;
  int in;
  guint8 *peeked;
  gsize n_peeked, peek_taken;
  gboolean at_end;
  int out;
  const char *out_name;
  HeaderText text;
  _Atomic guint64 bytes_in;
  guint64 bytes_out;
  int read_error, write_error;
  guint32 crc;
} Job;

/* Each reads the input to its end and returns TRUE if the output is complete;
   otherwise a message has been printed and the exit status set. */
gboolean job_compress (Job *job);
gboolean job_decompress (Job *job);

/* -- Shared by both (job.c) --------------------------------------------- */

/* Reads the first @bytes, before any pipeline, which would take longer to start
   than it takes to compute a short input here. They are read again by
   job_read(). With @fill all @bytes, if there are so many; else what comes
   first. */
void job_peek (Job *job, gsize bytes, gboolean fill);

/* Reads up to @bytes; fewer only at the end of the input, or, without @fill,
   where it has no more for now. Returns: bytes read; a failure sets
   @read_error. */
gsize job_read (Job *job, guint8 *at, gsize bytes, gboolean fill);

/* Writes all of it. FALSE: @write_error and @error are set. */
gboolean job_write (Job *job, const guint8 *at, gsize bytes, GError **error);

/* The last stage of both: an ordered one, whose user_data is the job. */
gboolean job_write_stage (HassToken *token, HassWorker *worker,
                          gpointer user_data, GError **error);

/* Prints the message of a failed write, or else of @error, and sets the exit
   status. Returns: FALSE. */
gboolean job_failed (Job *job, const GError *error);

/* Returns: FALSE if reading has failed; the message is printed. */
gboolean job_read_well (Job *job);

/* Runs the pipeline, which has its stages and its generator, with the options
   of the command line. Returns: FALSE if it failed; the message is printed. */
gboolean job_run (Job *job, HassPipeline *pipeline);

#endif

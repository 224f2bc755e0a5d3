/* SPDX-License-Identifier: MIT */
/* hzip.h: what the files of hzip share: the options, the exit status and the
   messages.
   Thread safety: one thread, the calling one; the stages of the pipelines do
   not complain but leave their faults in a Job. */
#ifndef HZIP_H
#define HZIP_H

#include <glib.h>

#define NAME "hzip"

/* Exit status, as gzip's. */
#define STATUS_ERROR 1
#define STATUS_WARNING 2

typedef enum
{
  MODE_COMPRESS,
  MODE_DECOMPRESS,
  MODE_TEST,
  MODE_LIST
} Mode;

/* The command line.
   @to_stdout: -c.
   @save_name: -N 1, -n 0, neither -1.
   @level: 1 to 12.
   @suffix: -S, else ".gz".
   @threads: -p; 0: all cores.
   @paths: [up to NULL], "-" is standard input. */
typedef struct
{
  Mode mode;
  gboolean to_stdout, force, keep, quiet, recursive, bgzf, synchronous, report;
  guint verbose;
  int save_name;
  guint level;
  const char *suffix;
  guint threads;
  char **paths;
} Options;

/* @status: exit status so far.
   @aborted: as gzip, no further file is begun after this error.
   @n_listed, @listed_in, @listed_out: what -l has listed; bytes. */
typedef struct
{
  Options options;
  int status;
  gboolean aborted;
  guint n_listed;
  guint64 listed_in, listed_out;
} Hzip;

typedef enum
{
  OPTIONS_RUN,
  OPTIONS_SHOWN,
  OPTIONS_WRONG
} OptionsResult;

OptionsResult hzip_options_parse (Options *options, int argc, char **argv);

/* Prints a line to stderr, with the name of the program before it, and sets
   the exit status to 1. */
void complain (Hzip *hzip, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Likewise, but the exit status becomes 2 if it was 0; -q prints nothing. */
void warn (Hzip *hzip, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Compresses, decompresses, tests or lists a file or a directory. */
void process_path (Hzip *hzip, const char *path);

/* Likewise standard input to standard output. */
void process_stdin (Hzip *hzip);

#endif

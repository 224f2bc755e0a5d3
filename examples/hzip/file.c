/* SPDX-License-Identifier: MIT */
/* file.c: one file, from its name to its replacement.

   DESIGN. 1. The input is opened and examined. 2. The header of a compressed
   file is read, since it may have a name. 3. The output is opened. 4. A
   pipeline runs. 5. The output gets the input's mode and times and is closed.
   6. Then only the input is removed.

   Thread safety: one thread; the pipelines have their own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "list.h"
#include "names.h"
#include "output.h"

/* @path: as it was found, with a suffix that was not given, perhaps; owned.
   @target: path of the output, or NULL; owned.
   @stat: of the input. @stored: the name in its header, or NULL; owned.
   @stored_mtime: the time there, or 0. @overhead: bytes of the header and
   trailer of the compressed file. @valid: its header is, as far as it was
   read. @is_stdin: the input is standard input. */
typedef struct
{
  Hzip *hzip;
  const char *path;
  char *target;
  struct stat stat;
  char *stored;
  guint32 stored_mtime;
  guint64 overhead;
  gboolean valid, is_stdin;
  Job job;
} File;

static gboolean
is_compressing (const Options *o)
{
  return o->mode == MODE_COMPRESS;
}

/* The output replaces the input. */
static gboolean
replaces (const Options *o)
{
  return !o->to_stdout && o->mode <= MODE_DECOMPRESS;
}

/* -- 1. The input ------------------------------------------------------- */

/* Opens @path, or the compressed file that has this name but for a suffix.
   @found: (out): its path; free with g_free(). */
static int
open_input (Hzip *hzip, const char *path, char **found)
{
  const Options *o = &hzip->options;
  const char *const ends[] = { "", o->suffix, ".gz", ".z", "-z" };
  int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC | (replaces (o) ? O_NONBLOCK : 0)
              | (replaces (o) && !o->force ? O_NOFOLLOW : 0);
  gsize n_ends = is_compressing (o) || name_suffix (path, o->suffix)
                     ? 1
                     : G_N_ELEMENTS (ends);
  for (gsize k = 0; k < n_ends; k++)
    {
      *found = g_strconcat (path, ends[k], NULL);
      int fd = open (*found, flags);
      if (fd >= 0 || errno != ENOENT)
        {
          if (fd < 0)
            complain (hzip, "%s: %s", *found, g_strerror (errno));
          return fd;
        }
      g_free (*found);
    }
  *found = g_strconcat (path, n_ends > 1 ? o->suffix : "", NULL);
  complain (hzip, "%s: %s", *found, g_strerror (ENOENT));
  return -1;
}

/* FALSE: the input is none that may be replaced; the message is printed. */
static gboolean
may_replace_input (Hzip *hzip, const char *path, const struct stat *s)
{
  const Options *o = &hzip->options;
  if (!S_ISREG (s->st_mode))
    warn (hzip, "%s is not a directory or a regular file - ignored", path);
  else if (o->force)
    return TRUE;
  else if (s->st_mode & S_ISUID)
    warn (hzip, "%s is set-user-ID on execution - ignored", path);
  else if (s->st_mode & S_ISGID)
    warn (hzip, "%s is set-group-ID on execution - ignored", path);
  else if (s->st_mode & S_ISVTX)
    warn (hzip, "%s has the sticky bit set - file ignored", path);
  else if (s->st_nlink > 1)
    warn (hzip, "%s has %lu other link%s -- file ignored", path,
          (gulong)s->st_nlink - 1, s->st_nlink > 2 ? "s" : "");
  else
    return TRUE;
  return FALSE;
}

/* Finds the suffix that the name must have, or must not. FALSE: the file is
   left alone. */
static gboolean
check_suffix (Hzip *hzip, const char *path, const char **suffix)
{
  const Options *o = &hzip->options;
  gboolean says = o->verbose || (!o->recursive && !o->quiet);
  *suffix = name_suffix (path, o->suffix);
  if (o->to_stdout && o->mode <= MODE_DECOMPRESS)
    return TRUE;
  if (is_compressing (o))
    {
      if (!*suffix || o->force)
        return TRUE;
      /* As in gzip no warning, for a second run over the same files. */
      if (says)
        fprintf (stderr, NAME ": %s already has %s suffix -- unchanged\n", path,
                 *suffix);
      return FALSE;
    }
  if (*suffix || (o->mode >= MODE_TEST && !o->recursive))
    return TRUE;
  if (says)
    warn (hzip, "%s: unknown suffix -- ignored", path);
  return FALSE;
}

/* -- 2. The header ------------------------------------------------------ */

/* Reads the first bytes of a compressed file, and the header in them. */
static void
peek (File *f)
{
  HeaderParser parser = { 0 };
  HeaderResult result = HEADER_MORE;
  Job *job = &f->job;
  job_peek (job, PEEK_BYTES, S_ISREG (f->stat.st_mode));
  const guint8 *bytes = job->peeked;
  gsize n = job->n_peeked, k = 2;
  if (n < 2 || bytes[0] != 0x1f || (bytes[1] != 0x8b && bytes[1] != 0x9e))
    return;
  header_parser_start (&parser, bytes);
  while (result == HEADER_MORE && k < n)
    result = header_parser_feed (&parser, bytes[k++]);
  f->valid
      = result == HEADER_DONE || (result == HEADER_MORE && n == PEEK_BYTES);
  f->overhead = parser.bytes + TRAILER_BYTES;
  f->stored_mtime = parser.mtime;
  if (result == HEADER_DONE && parser.name)
    f->stored = g_strdup (parser.name->str);
  header_parser_clear (&parser);
}

/* -- 3. The output ------------------------------------------------------ */

/* Names the output, for the messages also where none is written. */
static void
name_output (File *f, const char *suffix)
{
  const Options *o = &f->hzip->options;
  if (o->to_stdout && o->mode <= MODE_DECOMPRESS)
    f->target = g_strdup ("stdout");
  else if (is_compressing (o))
    f->target = g_strconcat (f->path, o->suffix, NULL);
  else
    f->target = name_without_suffix (f->path, suffix);
  if (!is_compressing (o) && o->save_name == 1 && f->stored && replaces (o))
    {
      char *restored = name_restored (f->target, f->stored);
      g_free (f->target);
      f->target = restored;
    }
}

/* Opens what the job writes to. FALSE: the message is printed. */
static gboolean
open_output (File *f)
{
  const Options *o = &f->hzip->options;
  f->job.out_name = f->target;
  f->job.out = -1;
  if (o->mode >= MODE_TEST)
    return TRUE;
  if (o->to_stdout)
    f->job.out = STDOUT_FILENO;
  /* What has no header gets its message, and no output. */
  else if (is_compressing (o) || f->valid)
    f->job.out = output_create (f->hzip, f->target);
  else
    return TRUE;
  return f->job.out >= 0;
}

/* -- 4. The pipeline ---------------------------------------------------- */

/* The header of what is compressed: as in gzip, the time is missing, with a
   warning, if it has no room in 32 bits, where 0 means none. */
static void
set_header_text (File *f)
{
  const Options *o = &f->hzip->options;
  HeaderText *text = &f->job.text;
  const char *slash = strrchr (f->path, '/');
  gint64 mtime = f->stat.st_mtim.tv_sec;
  text->level = o->level;
  if (o->save_name == 0)
    return;
  if (S_ISREG (f->stat.st_mode) && mtime > 0 && mtime <= G_MAXUINT32)
    text->mtime = (guint32)mtime;
  else if (S_ISREG (f->stat.st_mode))
    warn (f->hzip, "%s: warning: file timestamp out of range for gzip format",
          f->path);
  if (!f->is_stdin)
    text->name = slash ? slash + 1 : f->path;
}

static gboolean
run (File *f)
{
  Job *job = &f->job;
  if (!is_compressing (&f->hzip->options))
    return job_decompress (job);
  set_header_text (f);
  f->overhead = hz_header_bytes (&job->text) + TRAILER_BYTES;
  return job_compress (job);
}

/* What -l and -v print of a file that went well. */
static void
describe (const File *f)
{
  const Options *o = &f->hzip->options;
  const Job *job = &f->job;
  gboolean compressing = is_compressing (o);
  guint64 in = atomic_load (&job->bytes_in);
  guint64 stored = compressing ? job->bytes_out : in;
  guint64 bytes = compressing ? in : job->bytes_out;
  gint64 mtime = o->save_name == 1 && f->stored_mtime ? f->stored_mtime
                                                      : f->stat.st_mtim.tv_sec;
  Listed listed
      = { .name = o->save_name == 1 && f->stored ? f->stored : f->target,
          .in = in,
          .out = bytes,
          .overhead = f->overhead,
          .crc = job->crc,
          .mtime = mtime };
  if (o->mode == MODE_LIST)
    list_file (f->hzip, &listed);
  else if (o->verbose && !o->quiet
           && !(f->is_stdin && o->mode == MODE_DECOMPRESS))
    {
      if (!f->is_stdin)
        fprintf (stderr, "%s:\t", f->path);
      if (o->mode == MODE_TEST)
        fputs (" OK\n", stderr);
      else
        {
          fprintf (stderr, "%5.1f%%",
                   saved_percent (bytes, stored - MIN (stored, f->overhead)));
          if (!f->is_stdin)
            fprintf (stderr, " -- %s %s",
                     o->keep && !o->to_stdout ? "created" : "replaced with",
                     f->target);
          fputc ('\n', stderr);
        }
    }
}

/* Steps 4 and 5 with an output in a file. Returns: FALSE if it failed. */
static gboolean
run_into_file (File *f)
{
  const Options *o = &f->hzip->options;
  guint32 mtime
      = !is_compressing (o) && o->save_name == 1 ? f->stored_mtime : 0;
  if (run (f))
    return output_finish (f->hzip, f->job.out, f->target, &f->stat, mtime);
  output_remove (f->job.out);
  return FALSE;
}

/* Steps 2 to 6 for a file that is open; @path NULL: standard input. */
static void
process_file (Hzip *hzip, const char *path, int in, const struct stat *s)
{
  const Options *o = &hzip->options;
  const char *suffix = NULL;
  File f = { .hzip = hzip, .path = path, .stat = *s, .is_stdin = !path };
  if (f.is_stdin)
    path = f.path = "stdin";
  f.job = (Job){ .hzip = hzip, .name = path, .in = in };
  f.job.size = S_ISREG (s->st_mode) ? (guint64)s->st_size : 0;
  if (!f.is_stdin
      && ((replaces (o) && !may_replace_input (hzip, path, s))
          || !check_suffix (hzip, path, &suffix)))
    return;
  if (!is_compressing (o))
    peek (&f);
  name_output (&f, suffix);
  if (f.job.read_error)
    complain (hzip, "%s: %s", path, g_strerror (f.job.read_error));
  else if (open_output (&f))
    {
      gboolean into_file = replaces (o) && f.job.out >= 0;
      if (into_file ? run_into_file (&f) : run (&f))
        {
          describe (&f);
          if (into_file && !o->keep && unlink (path) != 0)
            warn (hzip, "%s: %s", path, g_strerror (errno));
        }
    }
  g_free (f.job.peeked);
  g_free (f.target);
  g_free (f.stored);
}

/* -- What is named ------------------------------------------------------ */

static void
process_folder (Hzip *hzip, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = g_dir_open (path, 0, &error);
  const char *name;
  if (!dir)
    {
      complain (hzip, "%s: %s", path, error->message);
      return;
    }
  while ((name = g_dir_read_name (dir)))
    g_ptr_array_add (names, g_build_filename (path, name, NULL));
  g_dir_close (dir);
  for (guint k = 0; k < names->len && !hzip->aborted; k++)
    process_path (hzip, names->pdata[k]);
}

void
process_path (Hzip *hzip, const char *path)
{
  g_autofree char *found = NULL;
  struct stat s;
  if (strcmp (path, "-") == 0)
    {
      process_stdin (hzip);
      return;
    }
  int in = open_input (hzip, path, &found);
  if (in < 0)
    return;
  if (fstat (in, &s) != 0)
    complain (hzip, "%s: %s", found, g_strerror (errno));
  else if (!S_ISDIR (s.st_mode))
    process_file (hzip, found, in, &s);
  else if (hzip->options.recursive)
    process_folder (hzip, found);
  else
    warn (hzip, "%s is a directory -- ignored", found);
  close (in);
}

void
process_stdin (Hzip *hzip)
{
  const Options *o = &hzip->options;
  struct stat s = { 0 };
  gboolean compressing = is_compressing (o);
  Hzip as_filter = *hzip;
  if (!o->force && o->mode != MODE_LIST
      && isatty (compressing ? STDOUT_FILENO : STDIN_FILENO))
    {
      complain (hzip,
                "compressed data not %s a terminal. Use -f to force "
                "%scompression.\nFor help, type: " NAME " -h",
                compressing ? "written to" : "read from",
                compressing ? "" : "de");
      hzip->aborted = TRUE;
      return;
    }
  fstat (STDIN_FILENO, &s);
  as_filter.options.to_stdout = TRUE;
  process_file (&as_filter, NULL, STDIN_FILENO, &s);
  as_filter.options.to_stdout = o->to_stdout;
  *hzip = as_filter;
}

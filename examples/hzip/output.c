/* SPDX-License-Identifier: MIT */
/* output.c: see output.h.
   Thread safety: see output.h. */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cleanup.h"

/* Asks whether a file that exists may be replaced. */
static gboolean
may_replace (Hzip *hzip, const char *path)
{
  int first = 'n', c;
  if (hzip->options.force)
    return TRUE;
  fprintf (stderr, NAME ": %s already exists;", path);
  if (isatty (STDIN_FILENO))
    {
      fputs (" do you wish to overwrite (y or n)? ", stderr);
      c = first = getchar ();
      while (c != '\n' && c != EOF)
        c = getchar ();
    }
  if (first == 'y' || first == 'Y')
    return TRUE;
  fputs ("\tnot overwritten\n", stderr);
  if (hzip->status == 0)
    hzip->status = STATUS_WARNING;
  return FALSE;
}

int
output_create (Hzip *hzip, const char *path)
{
  int fd = cleanup_create (path);
  if (fd < 0 && errno == EEXIST)
    {
      if (!may_replace (hzip, path))
        return -1;
      unlink (path);
      fd = cleanup_create (path);
    }
  if (fd < 0)
    complain (hzip, "%s: %s", path, g_strerror (errno));
  return fd;
}

gboolean
output_finish (Hzip *hzip, int fd, const char *path,
               const struct stat *original, guint32 mtime)
{
  struct timespec times[] = { original->st_atim, original->st_mtim };
  if (mtime != 0)
    times[1] = (struct timespec){ .tv_sec = mtime };
  if (futimens (fd, times) != 0)
    warn (hzip, "%s: %s", path, g_strerror (errno));
  /* Only root may give a file away. */
  if (fchown (fd, original->st_uid, original->st_gid) != 0)
    errno = 0;
  if (fchmod (fd, original->st_mode & 0777) != 0)
    warn (hzip, "%s: %s", path, g_strerror (errno));
  gboolean ok = !hzip->options.synchronous || fsync (fd) == 0;
  int failure = ok ? 0 : errno;
  if (close (fd) != 0 && failure == 0)
    failure = errno;
  if (failure == 0)
    {
      cleanup_keep ();
      return TRUE;
    }
  complain (hzip, "%s: %s", path, g_strerror (failure));
  cleanup_remove ();
  return FALSE;
}

void
output_remove (int fd)
{
  close (fd);
  cleanup_remove ();
}

/* SPDX-License-Identifier: MIT */
/* file.c: the file of the profile store.

   DESIGN. The first line names the format and its version, then comes a line
   for each entry, the last written one first, and the last line is their
   number, so that a part of a file is never taken for the whole. The file is
   replaced as a whole: a new one is written beside it and renamed, under a lock
   that is a file of its own because the store's own file changes with each
   rename. A file that does not begin with the header of this format and version
   is not a store of ours and is never replaced.

   Thread safety: see profile-private.h. */
#include "profile-private.h"

#include "hass/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "hass-profile "
#define HEADER FORMAT "1\n"
/* Largest file, in bytes, and number of entries that is written. Guesses: they
   bound the time for reading the file; smaller, and farms are forgotten sooner.
 */
#define MAX_BYTES (1 << 20)
#define MAX_ENTRIES 256
/* Most tries to get the lock of the file, 1 ms apart. A guess: fewer, and
   samples are lost while other processes write; more, and a farm ends late. */
#define LOCK_TRIES 200

static gboolean
refuse (GError **error, const char *path, const char *why)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s %s", path, why);
  return FALSE;
}

static gboolean
refuse_by_errno (GError **error, const char *path)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", path,
               g_strerror (errno));
  return FALSE;
}

/* -- Reading ------------------------------------------------------------ */

/* Returns the file's text; "" if there is no file; NULL with an error if it
   cannot be read. Does not block if the path is no regular file. */
static char *
load (const char *path, GError **error)
{
  struct stat s;
  char *text = NULL;
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return g_strdup ("");
  if (fd < 0 || fstat (fd, &s) != 0)
    refuse_by_errno (error, path);
  else if (!S_ISREG (s.st_mode))
    refuse (error, path, "is not a regular file");
  else if (s.st_size > MAX_BYTES)
    refuse (error, path, "is too big for a profile store");
  else
    {
      text = g_malloc0 (s.st_size + 1);
      if (read (fd, text, s.st_size) < 0)
        {
          refuse_by_errno (error, path);
          g_clear_pointer (&text, g_free);
        }
    }
  if (fd >= 0)
    close (fd);
  return text;
}

/* Returns the lines between the header and the last line; NULL if the last
   line, which holds their number, is missing or differs. */
static GPtrArray *
split (const char *text)
{
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  const char *end;
  for (; (end = strchr (text, '\n')); text = end + 1)
    {
      if (g_str_has_prefix (text, "end "))
        {
          g_autofree char *last = g_strdup_printf ("end %u\n", lines->len);
          return strcmp (text, last) == 0 ? g_steal_pointer (&lines) : NULL;
        }
      g_ptr_array_add (lines, g_strndup (text, end - text));
    }
  return NULL;
}

/* Reads the lines of all entries; none if there is no file. @ours: set to TRUE
   if the file is a profile store of this version, or empty or cut off, and may
   be replaced. Returns: NULL with an error if it cannot be read. */
GPtrArray *
hass_profile_file_read (const char *path, gboolean *ours, GError **error)
{
  g_autofree char *text = load (path, error);
  *ours = FALSE;
  if (!text)
    return NULL;
  *ours = !*text || g_str_has_prefix (text, HEADER)
          || g_str_has_prefix (HEADER, text);
  if (!*text)
    return g_ptr_array_new_with_free_func (g_free);
  if (!*ours)
    {
      refuse (error, path,
              g_str_has_prefix (text, FORMAT)
                  ? "is a profile store of another version"
                  : "is not a profile store");
      return NULL;
    }
  GPtrArray *lines = split (text + MIN (strlen (HEADER), strlen (text)));
  if (!lines)
    refuse (error, path, "is cut off");
  return lines;
}

/* -- Writing ------------------------------------------------------------ */

static GString *
join (const GPtrArray *lines)
{
  GString *text = g_string_new (HEADER);
  guint n = MIN (lines->len, MAX_ENTRIES);
  for (guint i = 0; i < n; i++)
    {
      g_string_append (text, lines->pdata[i]);
      g_string_append_c (text, '\n');
    }
  g_string_append_printf (text, "end %u\n", n);
  return text;
}

/* Where files have a greatest size (RLIMIT_FSIZE), the kernel sends SIGXFSZ
   to a thread that writes beyond it, which ends the process. The user has not
   asked for this file, so the signal is blocked, and taken before it is not any
   more. */
static gboolean
write_all (int fd, const char *text, gsize length)
{
  sigset_t limit, before;
  gssize n = 0;
  sigemptyset (&limit);
  sigaddset (&limit, SIGXFSZ);
  pthread_sigmask (SIG_BLOCK, &limit, &before);
  while (length > 0 && (n >= 0 || errno == EINTR))
    {
      n = write (fd, text, length);
      text += MAX (n, 0);
      length -= MAX (n, 0);
    }
  int why = errno;
  if (length > 0 && !sigismember (&before, SIGXFSZ))
    sigtimedwait (&limit, NULL, &(struct timespec){ 0 });
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  errno = why;
  return length == 0;
}

/* Replaces the file by one with these lines; lines beyond MAX_ENTRIES are
   dropped. The caller holds the lock of hass_profile_file_lock(). Returns:
   FALSE with an error if that failed; the old file is then unchanged. */
gboolean
hass_profile_file_write (const char *path, const GPtrArray *lines,
                         GError **error)
{
  g_autofree char *beside = g_strconcat (path, ".new", NULL);
  unlink (beside); /* a process that died while writing may have left it */
  int fd = open (beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return refuse_by_errno (error, beside);
  GString *text = join (lines);
  gboolean ok = write_all (fd, text->str, text->len);
  g_string_free (text, TRUE);
  ok = close (fd) == 0 && ok;
  if (ok && rename (beside, path) == 0)
    return TRUE;
  refuse_by_errno (error, beside);
  unlink (beside);
  return FALSE;
}

/* Takes the lock of the store's file. Returns: a descriptor, closing which
   releases the lock; -1 with an error; -1 without an error if other processes
   held the lock for too long. The folder of the user's cache is made if it is
   missing; the folder of a file that HASS_PROFILE names is not, as the name may
   be misspelt. */
int
hass_profile_file_lock (const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *lock = g_strconcat (path, ".lock", NULL);
  if (g_str_has_prefix (folder, g_get_user_cache_dir ()))
    g_mkdir_with_parents (folder, 0700);
  int fd = open (lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    {
      refuse_by_errno (error, lock);
      return -1;
    }
  for (int i = 0; i < LOCK_TRIES; i++)
    {
      if (flock (fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
      if (errno != EWOULDBLOCK && errno != EINTR)
        {
          refuse_by_errno (error, lock);
          break;
        }
      g_usleep (1000);
    }
  close (fd);
  return -1;
}

/* SPDX-License-Identifier: MIT */
/* test_mapped_file.c: files that are truncated while they are mapped.
   Thread safety: one thread. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "examples/mapped_file.h"
#include "examples/person_query/table.h"
#include "hass_test.h"
#include "tests/program.h"

/* A new file of so many letters; -1: there is no room for it. */
static int
make_file (char **path, gsize bytes)
{
  g_autofree char *text = g_malloc (bytes);
  memset (text, 'a', bytes);
  for (gsize i = 79; i < bytes; i += 80)
    text[i] = '\n';
  int fd = g_file_open_tmp ("hass-mapped-XXXXXX", path, NULL);
  if (fd >= 0 && write (fd, text, bytes) == (gssize)bytes)
    return fd;
  hass_test_skip ("there is no room for a file");
  return -1;
}

static void
zeros_instead (void)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE);
  g_autofree char *path = NULL;
  int fd = make_file (&path, 4 * page);
  if (fd < 0)
    return;
  guint8 *base = mmap (NULL, 4 * page, PROT_READ, MAP_PRIVATE, fd, 0);
  mapped_file_guard (base, 4 * page);
  CU_ASSERT_EQUAL (base[4 * page - 1], 'a');
  CU_ASSERT_FALSE (mapped_file_shrank ());
  CU_ASSERT_EQUAL (ftruncate (fd, (off_t)page), 0);
  CU_ASSERT_EQUAL (((volatile guint8 *)base)[2 * page], 0);
  CU_ASSERT_TRUE (mapped_file_shrank ());
  CU_ASSERT_EQUAL (((volatile guint8 *)base)[4 * page - 1], 0);
  CU_ASSERT_EQUAL (((volatile guint8 *)base)[0], 'a');
  mapped_file_leave ();
  munmap (base, 4 * page);
  close (fd);
  g_unlink (path);
}

/* The handler leaves to the kernel what is none of its file's. */
static void
others_still_end (void)
{
  gsize page = (gsize)sysconf (_SC_PAGESIZE);
  g_autofree char *path = NULL;
  int status = 0, fd = make_file (&path, 2 * page);
  if (fd < 0)
    return;
  guint8 *base = mmap (NULL, 2 * page, PROT_READ, MAP_PRIVATE, fd, 0);
  CU_ASSERT_EQUAL (ftruncate (fd, 0), 0);
  pid_t child = fork ();
  if (child == 0)
    {
      signal (SIGBUS, SIG_DFL); /* not a sanitizer's */
      mapped_file_guard (base, page);
      _exit (((volatile guint8 *)base)[page] == 'a' ? 1 : 2);
    }
  CU_ASSERT_EQUAL (waitpid (child, &status, 0), child);
  CU_ASSERT_TRUE (WIFSIGNALED (status) && WTERMSIG (status) == SIGBUS);
  munmap (base, 2 * page);
  close (fd);
  g_unlink (path);
}

typedef struct
{
  int fd;
  gulong after_us;
} Cut;

static gpointer
cut (gpointer data)
{
  Cut *c = data;
  g_usleep (c->after_us);
  return GINT_TO_POINTER (ftruncate (c->fd, 4096) == 0);
}

/* Whenever the file is cut, before, while or after it is searched. */
static void
searched (void)
{
  enum
  {
    BYTES = 96 << 20,
    TRIALS = 30,
    STEP_US = 500
  };
  guint ended = 0, cuts = 0;
  for (guint i = 0; i < TRIALS; i++)
    {
      g_autofree char *path = NULL, *out = NULL, *err = NULL;
      int fd = make_file (&path, BYTES);
      if (fd < 0)
        return;
      Cut c = { fd, i * STEP_US };
      GThread *thread = g_thread_new ("cut", cut, &c);
      int status = program_run (&out, &err, "string_search", "-c",
                                "--no-progress", "b", path, NULL);
      CU_ASSERT_TRUE (GPOINTER_TO_INT (g_thread_join (thread)));
      ended += status < 0;
      cuts += status == 2;
      if (status == 2)
        {
          program_says (err, "truncated, or not readable, while");
          CU_ASSERT_STRING_EQUAL (out, ""); /* a count would be wrong */
        }
      close (fd);
      g_unlink (path);
    }
  CU_ASSERT_EQUAL (ended, 0);
  printf (" (%u of %d searches were cut) ", cuts, TRIALS);
}

static void
persons (void)
{
  g_autofree char *path = NULL;
  g_autoptr (GError) error = NULL;
  int fd = g_file_open_tmp ("hass-persons-XXXXXX", &path, NULL);
  CU_ASSERT_TRUE_FATAL (fd >= 0 && person_table_write (path, 10000, 1, NULL));
  {
    g_autoptr (PersonTable) table = person_table_open (path, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL (table);
    CU_ASSERT_TRUE (person_table_whole (table, path, NULL));
    CU_ASSERT_EQUAL (ftruncate (fd, 4096), 0);
    CU_ASSERT_EQUAL (person_table_department_end (table, 9000), 10000);
    CU_ASSERT_FALSE (person_table_whole (table, path, &error));
    program_says (error->message, "truncated, or not readable, while");
  }
  close (fd);
  g_unlink (path);
}

HASS_TEST_SUITE (
    mapped_file,
    { "pages that a file has lost read as zeros, and that is known",
      zeros_instead },
    { "an access outside the guarded file still ends the process",
      others_still_end },
    { "a search of a file that is truncated meanwhile ends by itself, and "
      "prints no count of a part",
      searched },
    { "a table that is truncated meanwhile is an error", persons });

/* SPDX-License-Identifier: MIT */
/* test_large_search.c: what the search of one large file asks the file system
   for, and what it prints of the file.
   Thread safety: single-threaded; the farms are not.

   DESIGN. lseek() is this file's own in the whole test program: it counts the
   holes that are asked for, and passes every call on. */
#include "hass_test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../examples/string_search/search.h"

/* Each fourth line matches: every block has lines to print. */
#define LINE "0123456789 0123456789 0123456789 012345678 needle\n"
#define OTHER "0123456789 0123456789 0123456789 012345678 thread\n"
#define LINE_BYTES (sizeof LINE - 1)
#define EVERY 4
/* Sixteen blocks, and several of them further apart than grep reads ahead. */
#define FILE_BYTES ((gsize)4 << 20)

G_STATIC_ASSERT (sizeof LINE == sizeof OTHER);

static atomic_uint n_asked_holes;

off_t
lseek (int fd, off_t offset, int whence)
{
  if (whence == SEEK_HOLE)
    atomic_fetch_add_explicit (&n_asked_holes, 1, memory_order_relaxed);
  return (off_t)syscall (SYS_lseek, fd, offset, whence);
}

typedef struct
{
  char *printed;
  gsize n_printed;
  guint64 n_lines;
  guint n_asked;
} Outcome;

static char *
make_file (void)
{
  char *path = NULL;
  int fd = g_file_open_tmp ("hass-large-XXXXXX", &path, NULL);
  GString *text = g_string_sized_new (FILE_BYTES + LINE_BYTES);
  CU_ASSERT_FATAL (fd >= 0);
  for (guint i = 0; text->len < FILE_BYTES; i++)
    g_string_append (text, i % EVERY == 0 ? LINE : OTHER);
  CU_ASSERT_EQUAL (write (fd, text->str, text->len), (gssize)text->len);
  close (fd);
  g_string_free (text, TRUE);
  return path;
}

/* Searches such a file for @word as the program does. */
static Outcome
search (const char *word, gboolean count)
{
  Outcome o = { 0 };
  g_autofree char *path = make_file ();
  Options options = { .count = count, .gpu = GPU_NEVER, .no_progress = TRUE };
  Pattern pattern = { (const guint8 *)word, strlen (word) };
  FileItem item = { .path = path, .size = FILE_BYTES, .is_regular = TRUE };
  g_autoptr (Matcher) matcher
      = matcher_new (&pattern, 1, FALSE, FALSE, NULL, NULL);
  Search s = { .options = &options,
               .matcher = matcher,
               .terminal = terminal_new (FALSE),
               .output = open_memstream (&o.printed, &o.n_printed) };
  CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
  CU_ASSERT_PTR_NOT_NULL_FATAL (s.output);
  guint before = atomic_load (&n_asked_holes);
  CU_ASSERT_TRUE (search_large_file (&s, &item, FALSE, NULL) && !s.failed);
  o.n_asked = atomic_load (&n_asked_holes) - before;
  o.n_lines = s.n_lines;
  fclose (s.output);
  terminal_free (s.terminal);
  hass_report_free (s.total);
  unlink (path);
  return o;
}

/* A file system in memory goes through all pages of the file to answer. */
static void
asks_once (void)
{
  Outcome o = search ("needle", FALSE);
  CU_ASSERT_EQUAL (o.n_lines, FILE_BYTES / LINE_BYTES / EVERY + 1);
  CU_ASSERT_EQUAL (o.n_printed, o.n_lines * LINE_BYTES);
  for (gsize at = 0; at < o.n_printed; at += LINE_BYTES)
    if (memcmp (o.printed + at, LINE, LINE_BYTES) != 0)
      {
        CU_FAIL ("a line that does not match is printed");
        break;
      }
  CU_ASSERT_EQUAL (o.n_asked, 1);
  free (o.printed);
}

static void
asks_nothing_to_count (void)
{
  Outcome o = search ("needle", TRUE);
  CU_ASSERT_EQUAL (o.n_lines, FILE_BYTES / LINE_BYTES / EVERY + 1);
  CU_ASSERT_EQUAL (o.n_asked, 0);
  free (o.printed);
}

/* No line depends on the answer. */
static void
asks_nothing_without_a_match (void)
{
  Outcome o = search ("absent", FALSE);
  CU_ASSERT_EQUAL (o.n_printed, 0);
  CU_ASSERT_EQUAL (o.n_asked, 0);
  free (o.printed);
}

HASS_TEST_SUITE (large_search,
                 { "a file's holes are asked for once, however many blocks "
                   "match",
                   asks_once },
                 { "nobody asks for holes to count lines",
                   asks_nothing_to_count },
                 { "nobody asks for holes where nothing matches",
                   asks_nothing_without_a_match })

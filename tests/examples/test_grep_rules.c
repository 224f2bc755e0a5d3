/* SPDX-License-Identifier: MIT */
/* Tests string_search's rules for binary files and its output format.
   Thread safety: single-threaded.

   The expected values are what GNU grep 3.8 was seen to do.  */

#include "hass_test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/string_search/binary.h"
#include "../../examples/string_search/format.h"

#define FIRST_READ 98304

/* Lines of 99 bytes and a newline.  */
static guint8 *
make_lines (gsize size)
{
  guint8 *text = g_malloc (size);

  memset (text, 'x', size);
  for (gsize i = 99; i < size; i += 100)
    text[i] = '\n';
  return text;
}

/* What grep was seen to do, it did with pages of 4 KiB.  */
static gboolean
has_other_pages (void)
{
  if (sysconf (_SC_PAGESIZE) == 4096)
    return FALSE;
  hass_test_skip ("pages of this machine are not of 4 KiB");
  return TRUE;
}

static void
early_nul (void)
{
  gsize size = 3 * FIRST_READ;
  g_autofree guint8 *text = make_lines (size);
  BinaryHoles holes = { .fd = -1 };

  if (has_other_pages ())
    return;
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), BINARY_NEVER);
  text[FIRST_READ - 1] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), 0);
  CU_ASSERT_EQUAL (
      binary_output_limit (&holes, text, size, FIRST_READ - 1, size), 0);
}

/* A NUL in the second read spares the lines that the first one completed.  */
static void
late_nul (void)
{
  gsize size = 3 * FIRST_READ;
  g_autofree guint8 *text = make_lines (size);
  BinaryHoles holes = { .fd = -1 };

  if (has_other_pages ())
    return;
  text[FIRST_READ] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), 98300);
  text[FIRST_READ] = 'x';
  text[2 * FIRST_READ - 1] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), 98300);
  text[2 * FIRST_READ - 1] = 'x';
  text[2 * FIRST_READ] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), 196600);
  CU_ASSERT_EQUAL (
      binary_output_limit (&holes, text, size, 2 * FIRST_READ, size), 196600);
}

/* A line kept from the read before takes its room from the next one.  */
static void
long_kept_line (void)
{
  gsize size = 3 * FIRST_READ;
  g_autofree guint8 *text = make_lines (size);

  if (has_other_pages ())
    return;
  memset (text + 60000, 'x', FIRST_READ - 60000 + 100);
  text[59999] = '\n';
  /* 38304 bytes kept: the second read brings 96 KiB less 9 pages.  */
  text[FIRST_READ + FIRST_READ - 9 * 4096 - 1] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, size), 60000);
  text[FIRST_READ + FIRST_READ - 9 * 4096 - 1] = 'x';
  text[FIRST_READ + FIRST_READ - 9 * 4096] = '\0';
  CU_ASSERT (binary_find_limit (-1, text, size, size) > FIRST_READ);
}

static void
nul_behind_last_match (void)
{
  gsize size = 8 * FIRST_READ;
  g_autofree guint8 *text = make_lines (size);

  text[size - 1] = '\0';
  CU_ASSERT_EQUAL (binary_find_limit (-1, text, size, 1000), BINARY_NEVER);
  CU_ASSERT (binary_find_limit (-1, text, size, size) < BINARY_NEVER);
}

static void
hole (void)
{
  char name[] = "/tmp/hass-hole-XXXXXX";
  gsize size = 4u << 20;
  int fd = mkstemp (name);
  g_autofree guint8 *text = make_lines (size);
  off_t found;

  CU_ASSERT_FATAL (fd >= 0);
  unlink (name);
  CU_ASSERT_EQUAL (pwrite (fd, text, FIRST_READ + 4096, 0), FIRST_READ + 4096);
  CU_ASSERT_EQUAL (ftruncate (fd, (off_t)size), 0);
  found = lseek (fd, FIRST_READ, SEEK_HOLE);
  if (found >= 0 && found < (off_t)size)
    {
      BinaryHoles holes = { .fd = fd };

      CU_ASSERT_EQUAL (binary_find_limit (fd, text, size, size), 0);
      for (guint i = 0; i < 2; i++)
        CU_ASSERT_EQUAL (
            binary_output_limit (&holes, text, size, BINARY_NEVER, size), 0);
    }
  close (fd);
}

static char *
formatted (const FormatOptions *options, const char *text, const char *pattern,
           gsize limit, gboolean *left_out)
{
  Pattern patterns[1] = { { (const guint8 *)pattern, strlen (pattern) } };
  g_autoptr (Matcher) matcher
      = matcher_new (patterns, 1, FALSE, FALSE, NULL, NULL);
  const guint8 *bytes = (const guint8 *)text;
  GString *out = g_string_new (NULL);
  LineBuffer buffer = { 0 };

  CU_ASSERT_PTR_NOT_NULL_FATAL (matcher);
  const LineScan scan = { matcher, bytes, strlen (text),
                          LINE_SCAN_NUMBERS | LINE_SCAN_MATCHES };
  const FormatText file = { "f", bytes, 10, limit };

  line_scan (&scan, 0, scan.size, &buffer);
  *left_out = format_block (options, &file,
                            (const LineBlock *)(gpointer)buffer.bytes, out);
  line_buffer_clear (&buffer);
  return g_string_free (out, FALSE);
}

static void
formats (void)
{
  static const struct
  {
    FormatOptions options;
    const char *wanted;
  } cases[] = {
    { { FALSE, FALSE, FALSE, FALSE }, "f:a foo foo\nf:foo\n" },
    { { TRUE, FALSE, FALSE, FALSE }, "f:12:a foo foo\nf:13:foo\n" },
    { { TRUE, TRUE, FALSE, FALSE }, "f:12:2:a foo foo\nf:13:12:foo\n" },
    { { FALSE, TRUE, TRUE, FALSE }, "f:4:foo\nf:8:foo\nf:12:foo\n" },
    { { TRUE, FALSE, TRUE, FALSE }, "f:12:foo\nf:12:foo\nf:13:foo\n" },
  };
  gboolean left_out;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *found
          = formatted (&cases[i].options, "b\na foo foo\nfoo", "foo",
                       BINARY_NEVER, &left_out);

      CU_ASSERT_STRING_EQUAL (found, cases[i].wanted);
      CU_ASSERT_FALSE (left_out);
    }
}

static void
stops_at_limit (void)
{
  FormatOptions options = { FALSE, FALSE, FALSE, FALSE };
  gboolean left_out;
  g_autofree char *found
      = formatted (&options, "foo\nfoo\n", "foo", 4, &left_out);

  CU_ASSERT_STRING_EQUAL (found, "f:foo\n");
  CU_ASSERT_TRUE (left_out);
}

static void
encoding_errors (void)
{
  FormatOptions options = { FALSE, FALSE, FALSE, TRUE };
  g_autofree char *before = g_strdup (setlocale (LC_CTYPE, NULL));
  static const char text[] = "foo \377\nfoo \303\251\nfoo \355\240\200\nfoo\n";
  gboolean left_out;

  if (setlocale (LC_CTYPE, "C.UTF-8") == NULL)
    {
      hass_test_skip ("there is no locale C.UTF-8");
      return;
    }
  {
    g_autofree char *found
        = formatted (&options, text, "foo", BINARY_NEVER, &left_out);

    CU_ASSERT_STRING_EQUAL (found, "f:foo \303\251\nf:foo\n");
    CU_ASSERT_TRUE (left_out);
  }
  options.only_matching = TRUE;
  {
    g_autofree char *found
        = formatted (&options, text, "foo", BINARY_NEVER, &left_out);

    CU_ASSERT_STRING_EQUAL (found, "f:foo\nf:foo\nf:foo\nf:foo\n");
    CU_ASSERT_FALSE (left_out);
  }
  setlocale (LC_CTYPE, before);
}

HASS_TEST_SUITE (grep_rules,
                 { "a NUL in the first 96 KiB suppresses all", early_nul },
                 { "a late NUL suppresses from its read on", late_nul },
                 { "a kept line shortens the next read", long_kept_line },
                 { "a NUL far behind the last match is not looked for",
                   nul_behind_last_match },
                 { "a hole makes a file binary from its start", hole },
                 { "lines and matches are printed as grep prints them",
                   formats },
                 { "output stops at the limit", stops_at_limit },
                 { "lines that are not UTF-8 are left out, others printed",
                   encoding_errors })

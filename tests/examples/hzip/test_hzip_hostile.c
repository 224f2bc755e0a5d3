/* SPDX-License-Identifier: MIT */
/* test_hzip_hostile.c: what hzip answers to files that are not valid is what
   the installed gzip answers.
   Thread safety: one thread; both programs are other processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hass_test.h"
#include "hzip_trial.h"
#include "tests/trials.h"

#ifdef WITHOUT_hzip

static void
left_out (void)
{
  hass_test_skip ("hzip is left out: no libdeflate");
}

HASS_TEST_SUITE (hzip_hostile,
                 { "hzip answers to files that are not valid", left_out })

#else

/* A symbol of deflate stands for so many bytes at most. gzip reads ahead of it,
   so that where a file ends too early it may not have the last symbol. */
#  define SYMBOL 258
/* What deflate refers back to, which gzip writes at once. */
#  define WINDOW 32768

/* Starting two programs is most of a file's time, and hzip starts slowly under
   a sanitizer: every fourth file there, of the same thousand. */
#  define ONE_OF TRIALS (1, 4, 4)

/* Valid files of several sizes, contents and makers. */
static GPtrArray *
make_valid (void)
{
  static const gsize sizes[] = { 0, 1, 30, 700, 6000, 70000, 300000 };
  static const char *const makers[][2] = {
    { "gzip", "-6" }, { "gzip", "-1n" }, { "hzip", "-3" }, { "hzip", "--bgzf" }
  };
  GPtrArray *valid
      = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    for (guint m = 0; m < G_N_ELEMENTS (makers); m++)
      {
        g_autoptr (GBytes) text = zip_text (sizes[k], k);
        g_autoptr (GBytes) noise = zip_noise (sizes[k] / 8, k);
        g_auto (Outcome) a = zip_run (makers[m][0], makers[m][1], text, NULL);
        g_auto (Outcome) b = zip_run (makers[m][0], makers[m][1], noise, NULL);
        g_ptr_array_add (valid, g_steal_pointer (&a.out));
        g_ptr_array_add (valid, g_steal_pointer (&b.out));
      }
  return valid;
}

static GByteArray *
any_of (GPtrArray *valid, GRand *rand)
{
  GBytes *one = valid->pdata[g_rand_int_range (rand, 0, (gint32)valid->len)];
  GByteArray *copy = g_byte_array_new ();
  gsize n;
  const guint8 *data = g_bytes_get_data (one, &n);
  return g_byte_array_append (copy, data, (guint)n);
}

static void
append_any (GByteArray *file, GRand *rand, gboolean zeros)
{
  gint32 n = g_rand_int_range (rand, 1, zeros ? 700 : 40);
  while (n-- > 0)
    {
      guint8 byte = zeros ? 0 : (guint8)g_rand_int (rand);
      g_byte_array_append (file, &byte, 1);
    }
}

static void
damage (GByteArray *file, GRand *rand)
{
  gint32 n = (gint32)file->len;
  switch (g_rand_int_range (rand, 0, 7))
    {
    case 0:
      g_byte_array_set_size (file, (guint)g_rand_int_range (rand, 0, n + 1));
      break;
    case 1:
      for (gint32 k = g_rand_int_range (rand, 1, 5); k > 0; k--)
        file->data[g_rand_int_range (rand, 0, n)]
            ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      break;
    case 2:
      append_any (file, rand, TRUE);
      break;
    case 3:
      append_any (file, rand, FALSE);
      break;
    case 4:
      /* The third byte on: not the magic number of another format of gzip. */
      file->data[g_rand_int_range (rand, 2, 24)] = (guint8)g_rand_int (rand);
      break;
    case 5:
      file->data[n - 1 - g_rand_int_range (rand, 0, 12)]
          ^= (guint8)(1 << g_rand_int_range (rand, 0, 8));
      break;
    default:
      append_any (file, rand, TRUE);
      append_any (file, rand, FALSE);
      break;
    }
}

/* One file, or two of which one is damaged, or an empty one. */
static GBytes *
make_hostile (GPtrArray *valid, GRand *rand)
{
  GByteArray *file = any_of (valid, rand);
  gint32 kind = g_rand_int_range (rand, 0, 20);
  if (kind >= 8)
    damage (file, rand);
  if (kind < 8)
    {
      GByteArray *second = any_of (valid, rand);
      if (kind & 1)
        damage (file, rand);
      if (kind & 2)
        damage (second, rand);
      g_byte_array_append (file, second->data, second->len);
      g_byte_array_unref (second);
    }
  if (kind == 19)
    g_byte_array_set_size (file, 0);
  return g_byte_array_free_to_bytes (file);
}

/* Returns: @own starts with @gnu and has at most @more bytes more. */
static gboolean
has_more (GBytes *own, GBytes *gnu, gsize more)
{
  gsize a, b;
  const guint8 *x = g_bytes_get_data (own, &a), *y = g_bytes_get_data (gnu, &b);
  return a >= b && a - b <= more && (b == 0 || memcmp (x, y, b) == 0);
}

/* Returns: @own answers as gzip, which said @want. At an unexpected end of the
   file gzip may lack the last symbols. Code lengths that make no code it
   refuses when it has read them, zlib when it uses them: where the file ends
   between the two, hzip finds that it ends, and writes what it has of its
   window. */
static gboolean
answers_as (const Outcome *own, const Outcome *gnu, const char *want)
{
  static const char ends[] = "unexpected end of file";
  g_autoptr (GString) violated = g_string_new (own->err);
  g_string_replace (violated, ends, "invalid compressed data--format violated",
                    1);
  if (own->status != gnu->status)
    return FALSE;
  if (strcmp (own->err, want) == 0)
    return strstr (want, ends) ? has_more (own->out, gnu->out, 4 * SYMBOL)
                               : zip_same (own->out, gnu->out);
  return strcmp (violated->str, want) == 0
         && has_more (own->out, gnu->out, WINDOW);
}

static void
same_answer (GBytes *file, const char *arguments, guint number)
{
  /* From a pipe every file, not only a long one, passes a pipeline. */
  g_autofree char *script
      = g_strdup_printf ("%s\"$Z\" %s", number % 2 ? "cat | " : "", arguments);
  g_auto (Outcome) own = zip_script ("hzip", script, file, NULL);
  g_auto (Outcome) gnu = zip_run ("gzip", arguments, file, NULL);
  g_autofree char *want = zip_messages (gnu.err);
  gboolean same = answers_as (&own, &gnu, want);
  CU_ASSERT_TRUE (same);
  if (!same)
    printf ("\n    file %u, %zu bytes, %s: hzip %d, %zu bytes, '%s'"
            "\n    gzip %d, %zu bytes, '%s'",
            number, g_bytes_get_size (file), arguments, own.status,
            g_bytes_get_size (own.out), own.err, gnu.status,
            g_bytes_get_size (gnu.out), want);
}

static void
thousand (void)
{
  static const char *const arguments[]
      = { "-d", "-d", "-t", "-dv", "-dq", "-dcf" };
  const char *seed = g_getenv ("TEST_SEED");
  g_autoptr (GRand) rand
      = g_rand_new_with_seed (seed ? (guint32)atoi (seed) : 20);
  g_autoptr (GPtrArray) valid = make_valid ();
  for (guint k = 0; k < 1000; k++)
    {
      g_autoptr (GBytes) file = make_hostile (valid, rand);
      /* Not by k, as every argument must come. */
      if (k / G_N_ELEMENTS (arguments) % ONE_OF == 0)
        same_answer (file, arguments[k % G_N_ELEMENTS (arguments)], k);
    }
}

/* In files: the same status, and neither leaves an output that is not valid. */
static void
in_files (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GPtrArray) valid = make_valid ();
  for (guint k = 0; k < 60; k++)
    {
      char *own = zip_folder (), *gnu = zip_folder ();
      g_autoptr (GBytes) file = make_hostile (valid, rand);
      zip_put (own, "f.gz", file);
      zip_put (gnu, "f.gz", file);
      g_auto (Outcome) a = zip_run ("hzip", "-d f.gz", NULL, own);
      g_auto (Outcome) b = zip_run ("gzip", "-d f.gz", NULL, gnu);
      g_autofree char *want = zip_messages (b.err);
      g_autoptr (GBytes) x = zip_get (own, "f"), y = zip_get (gnu, "f");
      g_autoptr (GBytes) p = zip_get (own, "f.gz");
      g_autoptr (GBytes) q = zip_get (gnu, "f.gz");
      CU_ASSERT_EQUAL (a.status, b.status);
      CU_ASSERT_STRING_EQUAL (a.err, want);
      CU_ASSERT_EQUAL (!x, !y);
      CU_ASSERT_EQUAL (!p, !q);
      CU_ASSERT_TRUE (!x || zip_same (x, y));
      zip_remove (own);
      zip_remove (gnu);
    }
}

/* An extra field may tell any length; gzip does not read it. */
static void
lying_fields (void)
{
  g_autoptr (GBytes) text = zip_text (200000, 3);
  g_auto (Outcome) packed = zip_run ("hzip", "-c", text, NULL);
  gsize n;
  const guint8 *data = g_bytes_get_data (packed.out, &n);
  /* The last one tells that the second member is a part of the first. */
  const guint32 lengths[] = { 0,
                              1,
                              27,
                              28,
                              29,
                              100,
                              70000,
                              1 << 21,
                              0x7fffffff,
                              0xffffffff,
                              (guint32)n - 1,
                              (guint32)n + 1,
                              (guint32)(2 * n) };
  for (guint k = 0; k < 2 * G_N_ELEMENTS (lengths); k++)
    {
      g_autoptr (GByteArray) file = g_byte_array_new ();
      g_byte_array_append (file, data, (guint)n);
      g_byte_array_append (file, data, (guint)n);
      for (guint b = 0; b < 4; b++)
        file->data[(k % 2 ? n : 0) + 16 + b]
            = (guint8)(lengths[k / 2] >> 8 * b);
      g_autoptr (GBytes) bytes
          = g_byte_array_free_to_bytes (g_steal_pointer (&file));
      same_answer (bytes, "-d", k);
    }
}

HASS_TEST_SUITE (
    hzip_hostile,
    { "hzip answers to 1000 hostile inputs as gzip: status, bytes, messages",
      thousand },
    { "and to 60 hostile files, of which neither leaves half an output",
      in_files },
    { "an extra field with a wrong length changes nothing", lying_fields })

#endif

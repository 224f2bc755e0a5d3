/* SPDX-License-Identifier: MIT */
/* test_hzip_round_trip.c: what hzip compresses, hzip and gzip decompress.
   Thread safety: one thread; hzip is another process. */
#include <stdio.h>
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

HASS_TEST_SUITE (hzip_round_trip,
                 { "hzip compresses and decompresses", left_out })

#else

#  include "../../../examples/hzip/header.h"

/* Up to level 5, at levels 6 and 7, and from 8 on. */
#  define MEMBER ((gsize)5 << 18)
#  define MEDIUM ((gsize)2 << 20)
#  define LARGE ((gsize)3 << 20)
#  define BLOCK 65280

/* TRUE: both programs make @bytes of @packed. */
static gboolean
both_unpack (GBytes *packed, GBytes *bytes)
{
  g_auto (Outcome) own = zip_run ("hzip", "-d", packed, NULL);
  g_auto (Outcome) gnu = zip_run ("gzip", "-d", packed, NULL);
  return own.status == 0 && *own.err == '\0' && zip_same (own.out, bytes)
         && gnu.status == 0 && *gnu.err == '\0' && zip_same (gnu.out, bytes);
}

/* Compresses @bytes with these arguments, and frees them. Returns: what came
   out, after both programs made @bytes of it. */
static GBytes *
round_trip (const char *arguments, GBytes *bytes)
{
  g_auto (Outcome) o = zip_run ("hzip", arguments, bytes, NULL);
  gboolean same = o.status == 0 && *o.err == '\0' && both_unpack (o.out, bytes);
  if (!same)
    printf ("\n    hzip %s, %zu bytes: status %d, %s", arguments,
            g_bytes_get_size (bytes), o.status, o.err);
  CU_ASSERT_TRUE (same);
  g_bytes_unref (bytes);
  return g_steal_pointer (&o.out);
}

/* Goes from member to member by their extra fields alone. */
static guint
count_members (GBytes *packed, gsize *bytes)
{
  gsize n;
  const guint8 *at = g_bytes_get_data (packed, &n);
  guint n_members = 0;
  MemberSpan span;
  *bytes = 0;
  while (n > 0 && member_span (at, n, &span) == SPAN_KNOWN
         && span.member_bytes <= n)
    {
      n_members++;
      *bytes += read_u32 (at + span.member_bytes - 4);
      at += span.member_bytes;
      n -= span.member_bytes;
    }
  return n == 0 ? n_members : 0;
}

static void
sizes (void)
{
  static const gsize members[]
      = { 0, 1, 2, 100, 65535, MEMBER - 1, MEMBER, MEMBER + 1, 4 * MEMBER + 7 };
  static const gsize blocks[]
      = { 0,     1,         BLOCK - 1,  BLOCK,         BLOCK + 1,
          65536, 3 * BLOCK, 20 * BLOCK, 41 * BLOCK + 5 };
  for (guint k = 0; k < G_N_ELEMENTS (members); k++)
    {
      g_bytes_unref (round_trip ("-1", zip_text (members[k], k)));
      g_bytes_unref (round_trip ("-p 1 -3", zip_noise (members[k], k)));
      g_bytes_unref (round_trip ("--bgzf", zip_text (blocks[k], k)));
      g_bytes_unref (round_trip ("--bgzf -1", zip_noise (blocks[k], k)));
    }
}

static void
large_members (void)
{
  static const struct
  {
    const char *level;
    gsize member;
  } larger[] = {
    { "-6", MEDIUM }, { "-7", MEDIUM }, { "-8", LARGE }, { "-9", LARGE }
  };
  gsize bytes;
  for (guint i = 0; i < G_N_ELEMENTS (larger); i += TRIALS (1, 2, 1))
    for (gsize n = larger[i].member - 1; n <= larger[i].member + 1; n++)
      {
        g_autoptr (GBytes) text = round_trip (larger[i].level, zip_text (n, 1));
        g_autoptr (GBytes) noise
            = round_trip (larger[i].level, zip_noise (n, 1));
        guint members = n > larger[i].member ? 2 : 1;
        CU_ASSERT_EQUAL (count_members (text, &bytes), members);
        CU_ASSERT_EQUAL (count_members (noise, &bytes), members);
      }
}

/* Text in which pieces of 120 bytes come again and again. */
static GBytes *
repetitive_text (gsize bytes)
{
  g_autoptr (GBytes) words = zip_text (120 * 200, 4);
  const char *pieces = g_bytes_get_data (words, NULL);
  GByteArray *text = g_byte_array_new ();
  for (guint32 x = 1; text->len < bytes; x = x * 1664525 + 1013904223)
    g_byte_array_append (
        text, (const guint8 *)pieces + 120 * ((gsize)(x >> 16) % 200), 120);
  return g_byte_array_free_to_bytes (text);
}

/* A member of -5 is as one of -6, but of level 6 of libdeflate in any case. */
static void
default_level (void)
{
  g_autoptr (GBytes) five = round_trip ("-n -5", zip_text (MEMBER, 2));
  g_autoptr (GBytes) six = round_trip ("-n -6", zip_text (MEMBER, 2));
  CU_ASSERT_TRUE (zip_same (five, six));
  g_autoptr (GBytes) low = round_trip ("-n -5", repetitive_text (MEMBER / 2));
  g_autoptr (GBytes) high = round_trip ("-n -6", repetitive_text (MEMBER / 2));
  CU_ASSERT_TRUE (g_bytes_get_size (high) < g_bytes_get_size (low));
}

static void
levels (void)
{
  gsize before = G_MAXSIZE;
  for (guint level = 1; level <= 12; level++)
    {
      char arguments[8];
      snprintf (arguments, sizeof arguments, "-%u", level);
      g_autoptr (GBytes) packed = round_trip (arguments, zip_text (300000, 1));
      if (level == 1 || level == 6 || level == 12)
        {
          CU_ASSERT_TRUE (g_bytes_get_size (packed) < before);
          before = g_bytes_get_size (packed);
        }
    }
  /* -n: the header would tell the time of the input file, which is new in each
     call. */
  g_autoptr (GBytes) fast = round_trip ("-n --fast", zip_text (300000, 1));
  g_autoptr (GBytes) one = round_trip ("-n -1", zip_text (300000, 1));
  g_autoptr (GBytes) best = round_trip ("-n --best", zip_text (300000, 1));
  CU_ASSERT_TRUE (zip_same (fast, one));
  CU_ASSERT_FALSE (zip_same (best, one));
}

static void
fields (void)
{
  gsize bytes;
  g_autoptr (GBytes) own = round_trip ("", zip_text (4 * MEDIUM + 1, 3));
  g_autoptr (GBytes) bgzf = round_trip ("--bgzf", zip_text (5 * BLOCK + 1, 3));
  const guint8 *start = g_bytes_get_data (own, NULL);
  CU_ASSERT_EQUAL (count_members (own, &bytes), 5);
  CU_ASSERT_EQUAL (bytes, 4 * MEDIUM + 1);
  /* 12 header bytes, then the subfield as doc/hzip.md describes it. */
  CU_ASSERT_EQUAL (memcmp (start + 12, "HZ\4\0", 4), 0);
  CU_ASSERT_EQUAL (count_members (bgzf, &bytes), 7);
  CU_ASSERT_EQUAL (bytes, 5 * BLOCK + 1);
  start = g_bytes_get_data (bgzf, &bytes);
  CU_ASSERT_EQUAL (memcmp (start + bytes - 28, bgzf_end, 28), 0);
}

static void
bgzip (void)
{
  if (!zip_has ("bgzip"))
    {
      hass_test_skip ("bgzip is not installed");
      return;
    }
  g_autoptr (GBytes) text = zip_text (3000000, 5);
  g_auto (Outcome) ours = zip_run ("hzip", "--bgzf", text, NULL);
  g_auto (Outcome) read = zip_run ("bgzip", "-dc", ours.out, NULL);
  g_auto (Outcome) theirs = zip_run ("bgzip", "-c", text, NULL);
  g_auto (Outcome) back = zip_run ("hzip", "-d", theirs.out, NULL);
  CU_ASSERT_TRUE (read.status == 0 && zip_same (read.out, text));
  CU_ASSERT_TRUE (back.status == 0 && zip_same (back.out, text));
}

/* Members of hzip, BGZF and gzip one after another, whole and by streams. */
static void
concatenated (void)
{
  g_autoptr (GBytes) text = zip_text (2 * MEMBER, 9);
  g_autoptr (GByteArray) packed = g_byte_array_new ();
  g_autoptr (GByteArray) plain = g_byte_array_new ();
  static const char *const makers[][2] = { { "hzip", "-1" },
                                           { "hzip", "--bgzf" },
                                           { "gzip", "-1" },
                                           { "hzip", "-1" },
                                           { "gzip", "-1" } };
  for (guint k = 0; k < G_N_ELEMENTS (makers); k++)
    {
      g_auto (Outcome) o = zip_run (makers[k][0], makers[k][1], text, NULL);
      g_byte_array_append (packed, g_bytes_get_data (o.out, NULL),
                           (guint)g_bytes_get_size (o.out));
      g_byte_array_append (plain, g_bytes_get_data (text, NULL),
                           (guint)g_bytes_get_size (text));
    }
  g_autoptr (GBytes) all
      = g_byte_array_free_to_bytes (g_steal_pointer (&packed));
  g_autoptr (GBytes) want
      = g_byte_array_free_to_bytes (g_steal_pointer (&plain));
  CU_ASSERT_TRUE (both_unpack (all, want));
}

/* 200 MB of zeros in 200 KB: each piece of the file becomes thousands of times
   as long. */
static void
bomb (void)
{
  guint8 *zeros = g_malloc0 (200 << 20);
  g_autoptr (GBytes) bytes = g_bytes_new_take (zeros, 200 << 20);
  g_auto (Outcome) packed = zip_run ("gzip", "-9", bytes, NULL);
  g_auto (Outcome) plain = zip_run ("hzip", "-d", packed.out, NULL);
  CU_ASSERT_TRUE (plain.status == 0 && zip_same (plain.out, bytes));
}

HASS_TEST_SUITE (
    hzip_round_trip,
    { "hzip and gzip read what hzip makes of 0 bytes to 5 members and 42 "
      "blocks",
      sizes },
    { "they read the larger members of the higher levels", large_members },
    { "they read what every level makes, and higher ones make less", levels },
    { "-6 takes longer for text that compresses well", default_level },
    { "each member tells its length, and a BGZF file ends with an empty one",
      fields },
    { "hzip and bgzip read what the other one makes", bgzip },
    { "hzip reads members of all kinds one after another", concatenated },
    { "hzip inflates bytes to a thousand times as many", bomb })

#endif

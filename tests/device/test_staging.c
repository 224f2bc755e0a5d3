/* SPDX-License-Identifier: MIT */
/* test_staging.c: gathering bundles and scattering results.
   Thread safety: one thread. */
#include <string.h>

#include "hass/device.h"
#include "hass/error.h"
#include "hass_test.h"

static guint8 data[64 + HASS_STAGING_GUARD];
static guint64 offsets[8];

static HassStaging
fresh (gsize capacity)
{
  memset (data, 0, sizeof data);
  memset (offsets, 0xff, sizeof offsets);
  return (HassStaging){ data, capacity, offsets };
}

static HassBlock
block (const char *input, gsize n, char *output)
{
  return (HassBlock){ .input = (const guint8 *)input,
                      .input_bytes = n,
                      .output = (guint8 *)output,
                      .output_bytes = output ? n : 0 };
}

static void
in_a_row (void)
{
  HassBlock b[] = { block ("abc", 3, NULL), block (NULL, 0, NULL),
                    block ("defg", 4, NULL) };
  HassStaging s = fresh (7);
  CU_ASSERT_TRUE (hass_staging_gather (b, 3, &s, NULL, NULL, NULL));
  CU_ASSERT_EQUAL (memcmp (data, "abcdefg", 8), 0);
  CU_ASSERT_EQUAL (offsets[0], 0);
  CU_ASSERT_EQUAL (offsets[1], 3);
  CU_ASSERT_EQUAL (offsets[2], 3);
  CU_ASSERT_EQUAL (offsets[3], 7);
}

static void
too_small (void)
{
  HassBlock b[] = { block ("abc", 3, NULL), block ("defg", 4, NULL) };
  HassStaging s = fresh (6);
  GError *error = NULL;
  CU_ASSERT_FALSE (hass_staging_gather (b, 2, &s, NULL, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_BUNDLE));
  CU_ASSERT_PTR_NOT_NULL (
      strstr (error->message, "block 1 of 2 needs 4 bytes, the staging buffer "
                              "has 3 left of 6"));
  CU_ASSERT_EQUAL (data[6], 0);
  g_clear_error (&error);
}

static gboolean
spoil (const HassBlock *blocks, gsize n, HassStaging *s, gpointer how,
       GError **error)
{
  (void)blocks, (void)error;
  for (gsize i = 0; i <= n; i++)
    s->offsets[i] = 2 * i;
  switch (*(const char *)how)
    {
    case 'd':
      s->offsets[1] = 5;
      return TRUE;
    case 'p':
      s->offsets[n] = s->capacity + 1;
      return TRUE;
    case 'w':
      s->data[s->capacity + HASS_STAGING_GUARD - 1] ^= 1;
      return TRUE;
    default:
      return TRUE;
    }
}

static void
bundlers_checked (void)
{
  static const struct
  {
    const char *how, *text;
  } bad[]
      = { { "d", "offset 4 after 5" },
          { "p", "filled 41 bytes, the staging buffer holds 40" },
          { "w", "wrote past the staging buffer of 40 bytes (at byte 103)" },
          { "ok", NULL } };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      HassBlock b[] = { block ("ab", 2, NULL), block ("cd", 2, NULL) };
      HassStaging s = fresh (40);
      GError *error = NULL;
      gboolean ok
          = hass_staging_gather (b, 2, &s, spoil, (gpointer)bad[i].how, &error);
      CU_ASSERT_EQUAL (ok, bad[i].text == NULL);
      if (bad[i].text)
        {
          CU_ASSERT_TRUE (
              g_error_matches (error, HASS_ERROR, HASS_ERROR_BUNDLE));
          CU_ASSERT_TRUE (error && strstr (error->message, bad[i].text));
        }
      g_clear_error (&error);
    }
}

static void
scattered (void)
{
  char x[4] = "", y[4] = "";
  HassBlock b[]
      = { block ("abc", 3, x), block ("z", 1, NULL), block ("def", 3, y) };
  HassStaging s = fresh (8);
  memcpy (data, "123-456", 7);
  offsets[0] = 0;
  offsets[1] = 3;
  offsets[2] = 4;
  CU_ASSERT_TRUE (hass_staging_scatter (b, 3, &s, NULL, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (x, "123");
  CU_ASSERT_STRING_EQUAL (y, "456");
}

/* Two bytes an element: "..aabb" has two before "cc", "ee" has one after. */
static void
halos (void)
{
  HassBlock b[] = { block (&"..aabbccdd.."[6], 4, NULL),
                    block ("ee..", 2, NULL), block ("ff", 2, NULL) };
  b[0].count = 2;
  b[0].halo_before = 2;
  b[1].count = 1;
  b[1].halo_after = 1;
  b[2].count = 1;
  HassStaging s = fresh (14);
  CU_ASSERT_TRUE (hass_staging_gather (b, 3, &s, NULL, NULL, NULL));
  CU_ASSERT_EQUAL (memcmp (data, "aabbccddee..ff", 15), 0);
  CU_ASSERT_EQUAL (offsets[0], 0);
  CU_ASSERT_EQUAL (offsets[1], 8);
  CU_ASSERT_EQUAL (offsets[2], 12);
  CU_ASSERT_EQUAL (offsets[3], 14);
  GError *error = NULL;
  s = fresh (13);
  CU_ASSERT_FALSE (hass_staging_gather (b, 3, &s, NULL, NULL, &error));
  CU_ASSERT_TRUE (error
                  && strstr (error->message, "block 2 of 3 needs 2 bytes"));
  g_clear_error (&error);
}

/* A tile of 2 x 3 bytes in a matrix of rows of 5, then a plain block. */
static void
tiles_gathered (void)
{
  HassBlock b[] = { block (&".abc..def."[1], 6, NULL), block ("gh", 2, NULL) };
  b[0].count = 1;
  b[0].input_row_bytes = 3;
  b[0].input_pitch = 5;
  b[0].halo_before = 1; /* not of a tile */
  HassStaging s = fresh (8);
  CU_ASSERT_TRUE (hass_staging_gather (b, 2, &s, NULL, NULL, NULL));
  CU_ASSERT_EQUAL (memcmp (data, "abcdefgh", 9), 0);
  CU_ASSERT_EQUAL (offsets[1], 6);
  CU_ASSERT_EQUAL (offsets[2], 8);
}

static void
tiles_scattered (void)
{
  char matrix[] = ".....\n.....\n.....\n", x[3] = "";
  HassBlock b[] = { block (NULL, 2, x), block (NULL, 6, matrix + 7) };
  b[1].output_row_bytes = 3;
  b[1].output_pitch = 6;
  HassStaging s = fresh (8);
  memcpy (data, "12abcdef", 8);
  offsets[0] = 0;
  offsets[1] = 2;
  CU_ASSERT_TRUE (hass_staging_scatter (b, 2, &s, NULL, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (x, "12");
  CU_ASSERT_STRING_EQUAL (matrix, ".....\n.abc.\n.def.\n");
}

HASS_TEST_SUITE (staging,
                 { "inputs are gathered in a row with their offsets",
                   in_a_row },
                 { "what does not fit is refused with the numbers", too_small },
                 { "what a bundler did is checked", bundlers_checked },
                 { "outputs are scattered to their places", scattered },
                 { "blocks are gathered with their halos", halos },
                 { "the rows of a tile are gathered", tiles_gathered },
                 { "the rows of a tile are scattered", tiles_scattered })

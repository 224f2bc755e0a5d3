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
          CU_ASSERT_PTR_NOT_NULL (error
                                  && strstr (error->message, bad[i].text));
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

HASS_TEST_SUITE (staging,
                 { "inputs are gathered in a row with their offsets",
                   in_a_row },
                 { "what does not fit is refused with the numbers", too_small },
                 { "what a bundler did is checked", bundlers_checked },
                 { "outputs are scattered to their places", scattered })

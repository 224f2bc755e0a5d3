/* SPDX-License-Identifier: MIT */
/* staging.c: gathers the blocks of a bundle into one buffer and scatters
   results from one.
   Thread safety: any thread; a staging buffer belongs to one at a time. */
#include "hass/device.h"
#include "hass/error.h"

#include <string.h>

#define GUARD_BYTE 0xA5

static gboolean
gather (const HassBlock *blocks, gsize n, HassStaging *staging, GError **error)
{
  guint64 at = 0;
  for (gsize i = 0; i < n; i++)
    {
      const HassBlock *b = &blocks[i];
      if (b->input_bytes > staging->capacity - at)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_BUNDLE,
                       "block %zu of %zu needs %zu bytes, the staging buffer "
                       "has %zu left of %zu",
                       i, n, b->input_bytes, (gsize)(staging->capacity - at),
                       staging->capacity);
          return FALSE;
        }
      staging->offsets[i] = at;
      if (b->input_bytes > 0)
        memcpy (staging->data + at, b->input, b->input_bytes);
      at += b->input_bytes;
    }
  staging->offsets[n] = at;
  return TRUE;
}

static gboolean
check (const HassStaging *staging, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (staging->offsets[i] > staging->offsets[i + 1])
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_BUNDLE,
                     "bundler returned offset %" G_GUINT64_FORMAT
                     " after %" G_GUINT64_FORMAT " at block %zu of %zu",
                     staging->offsets[i + 1], staging->offsets[i], i + 1, n);
        return FALSE;
      }
  if (staging->offsets[n] > staging->capacity)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_BUNDLE,
                   "bundler filled %" G_GUINT64_FORMAT
                   " bytes, the staging buffer holds %zu",
                   staging->offsets[n], staging->capacity);
      return FALSE;
    }
  for (gsize i = 0; i < HASS_STAGING_GUARD; i++)
    if (staging->data[staging->capacity + i] != GUARD_BYTE)
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_BUNDLE,
                     "bundler wrote past the staging buffer of %zu bytes "
                     "(at byte %zu)",
                     staging->capacity, staging->capacity + i);
        return FALSE;
      }
  return TRUE;
}

gboolean
hass_staging_gather (const HassBlock *blocks, gsize n, HassStaging *staging,
                     HassBundleFunc bundle, gpointer user_data, GError **error)
{
  if (!bundle)
    return gather (blocks, n, staging, error);
  memset (staging->data + staging->capacity, GUARD_BYTE, HASS_STAGING_GUARD);
  staging->offsets[0] = 0;
  return bundle (blocks, n, staging, user_data, error)
         && check (staging, n, error);
}

gboolean
hass_staging_scatter (const HassBlock *blocks, gsize n,
                      const HassStaging *staging, HassUnbundleFunc unbundle,
                      gpointer user_data, GError **error)
{
  if (unbundle)
    return unbundle (blocks, n, staging, user_data, error);
  for (gsize i = 0; i < n; i++)
    if (blocks[i].output && blocks[i].output_bytes > 0)
      memcpy (blocks[i].output, staging->data + staging->offsets[i],
              blocks[i].output_bytes);
  return TRUE;
}

/* SPDX-License-Identifier: MIT */
/* staging.c: gathers the inputs of a bundle's blocks into one buffer and
   scatters outputs from one; calls GPU workers. A block is gathered with its
   halos; of a tile, which has no halos, only the rows are copied, without
   gaps.
   Thread safety: any thread; a staging buffer belongs to one at a time. */
#include "hass/device.h"
#include "pool/callback_error.h"

#include <string.h>

#define GUARD_BYTE 0xA5

/* Returns: the bytes of @elements elements of the block's input; 0 for a tile,
   which has no halos. */
static gsize
halo_bytes (const HassBlock *b, gsize elements)
{
  if (b->input_row_bytes || elements == 0 || b->count == 0)
    return 0;
  return elements * (b->input_bytes / b->count);
}

/* Copies @bytes bytes in rows of @row_bytes. A pitch is the distance in bytes
   from one row to the next; 0 means that rows are adjacent. */
static void
copy_rows (guint8 *to, gsize to_pitch, const guint8 *from, gsize from_pitch,
           gsize row_bytes, gsize bytes)
{
  for (gsize at = 0; at < bytes; at += row_bytes)
    {
      memcpy (to, from, MIN (row_bytes, bytes - at));
      to += to_pitch ? to_pitch : row_bytes;
      from += from_pitch ? from_pitch : row_bytes;
    }
}

static gboolean
gather (const HassBlock *blocks, gsize n, HassStaging *staging, GError **error)
{
  guint64 at = 0;
  for (gsize i = 0; i < n; i++)
    {
      const HassBlock *b = &blocks[i];
      gsize before = halo_bytes (b, b->halo_before);
      gsize bytes = before + b->input_bytes + halo_bytes (b, b->halo_after);
      if (bytes > staging->capacity - at)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_BUNDLE,
                       "block %zu of %zu needs %zu bytes, the staging buffer "
                       "has %zu left of %zu",
                       i, n, bytes, (gsize)(staging->capacity - at),
                       staging->capacity);
          return FALSE;
        }
      staging->offsets[i] = at;
      if (b->input_row_bytes)
        copy_rows (staging->data + at, 0, b->input, b->input_pitch,
                   b->input_row_bytes, bytes);
      else if (bytes > 0)
        memcpy (staging->data + at, b->input - before, bytes);
      at += bytes;
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
  GError *inner = NULL;
  gboolean ok = bundle (blocks, n, staging, user_data, &inner);
  if (hass_callback_ok (ok, &inner, HASS_ERROR_BUNDLE))
    return check (staging, n, error);
  g_propagate_prefixed_error (error, inner, "bundler: ");
  return FALSE;
}

gboolean
hass_staging_scatter (const HassBlock *blocks, gsize n,
                      const HassStaging *staging, HassUnbundleFunc unbundle,
                      gpointer user_data, GError **error)
{
  if (unbundle)
    {
      GError *inner = NULL;
      gboolean ok = unbundle (blocks, n, staging, user_data, &inner);
      if (hass_callback_ok (ok, &inner, HASS_ERROR_BUNDLE))
        return TRUE;
      g_propagate_prefixed_error (error, inner, "unbundler: ");
      return FALSE;
    }
  for (gsize i = 0; i < n; i++)
    {
      const HassBlock *b = &blocks[i];
      const guint8 *from = staging->data + staging->offsets[i];
      if (b->output && b->output_row_bytes)
        copy_rows (b->output, b->output_pitch, from, 0, b->output_row_bytes,
                   b->output_bytes);
      else if (b->output && b->output_bytes > 0)
        memcpy (b->output, from, b->output_bytes);
    }
  return TRUE;
}

HassGpuWorkerFunc
hass_device_worker (const HassDeviceFarm *farm, const HassBlock *block)
{
  if (farm->worker_of && farm->device_kind)
    return farm->worker_of (block->load, farm->device_kind);
  return farm->gpu_worker_of ? farm->gpu_worker_of (block->load)
                             : farm->gpu_worker;
}

gboolean
hass_gpu_worker_call (HassGpuWorkerFunc worker, const HassBundle *bundle,
                      HassGpuStream *stream, gpointer user_data, GError **error)
{
  GError *inner = NULL;
  gboolean ok = worker (bundle, stream, user_data, &inner);
  if (hass_callback_ok (ok, &inner, HASS_ERROR_WORKER))
    return TRUE;
  g_propagate_prefixed_error (error, inner, "GPU worker: ");
  return FALSE;
}

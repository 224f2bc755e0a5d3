/* SPDX-License-Identifier: MIT */
/* offload.c: what GPUs do of a large file's search, and when.

   Crowds of small files stay on the CPU. A core took 11 us to open, read and
   close a file of 15 KiB (the mean in /usr/include, all in the page cache),
   and 0.3 us to search it for one pattern, 1.4 for 8, 4 for 50: all that a
   GPU could take over, for a copy of the file more. Only a set of a thousand
   patterns took longer, 48 us.

   Thread safety: see offload.h. */
#include "offload.h"

#define LARGE_BYTES ((gsize)256 << 20)
#define SAMPLES 32
#define SAMPLE_BYTES (64 << 10)
/* Resolving a matching line took 0.4 us, in which a core searches this
   much, with vectors or by Aho-Corasick. */
#define DENSE_BYTES 4096
#define DENSE_BYTES_AHO 256

/* Samples are texts of their own: no line is followed beyond. */
static gboolean
is_dense (const Matcher *matcher, const guint8 *base, gsize size)
{
  gboolean slow = matcher_strategy (matcher) == MATCHER_STRATEGY_AHO_CORASICK;
  guint64 n_lines = 0, n_bytes = 0;
  LineBuffer lines = { 0 };
  for (gsize i = 0; i < SAMPLES; i++)
    {
      gsize at = size / SAMPLES * i;
      gsize n = MIN (size - at, SAMPLE_BYTES);
      lines.length = 0;
      line_scan (matcher, base + at, n, 0, n, LINE_SCAN_COUNT, &lines);
      n_lines += ((const LineBlock *)(gpointer)lines.bytes)->n_lines;
      n_bytes += n;
    }
  line_buffer_clear (&lines);
  return n_lines * (slow ? DENSE_BYTES_AHO : DENSE_BYTES) > n_bytes;
}

static const GpuFilter *
search_filter (Search *search)
{
  LineScanFlags flags = scan_flags (search);
  if (!search->filter_tried)
    search->filter = gpu_filter_new (
        search->matcher, (flags & LINE_SCAN_NUMBERS ? GPU_FILTER_NEWLINES : 0)
                             | (flags & LINE_SCAN_COUNT ? 0 : GPU_FILTER_NULS));
  search->filter_tried = TRUE;
  return search->filter;
}

static gboolean
cannot (GError **error, const char *why)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE, "--gpu-only: %s", why);
  return FALSE;
}

gboolean
offload_choose (Search *search, const guint8 *base, gsize size,
                const GpuFilter **filter, GError **error)
{
  GpuUse use = search->options->gpu;
  *filter = NULL;
  if (use == GPU_NEVER || (use == GPU_AUTO && size < LARGE_BYTES))
    return TRUE;
  if (!string_search_gpu_worker)
    return use != GPU_ONLY
           || cannot (error, "this program was built without CUDA");
  if (!search_filter (search))
    return use != GPU_ONLY
           || cannot (error, "a GPU cannot search for these patterns: the "
                             "empty one, too many, or too many alike");
  if (use != GPU_AUTO || !is_dense (search->matcher, base, size))
    *filter = search->filter;
  return TRUE;
}

gboolean
offload_resolve (const GpuFilter *filter, const Matcher *matcher,
                 const guint8 *base, gsize size, gsize first, gsize count,
                 LineScanFlags flags, const guint64 *records, gsize n_records,
                 LineBuffer *out, GError **error)
{
  LineGuide guide;
  gboolean ok = line_guide_init (&guide, filter, first, count, records,
                                 n_records, error);
  if (ok)
    line_scan_guided (matcher, base, size, &guide, flags, out);
  line_guide_clear (&guide);
  return ok;
}

/* SPDX-License-Identifier: MIT */
/* offload.c: chooses the files that GPUs help with, and finds the lines of
   what GPUs report.

   DESIGN. Small files stay on the CPU. A core opens, reads and closes a file
   of 15 KiB (the mean of /usr/include, in the page cache) in 11 us and
   searches it in 0.3 us for one pattern, 1.4 us for 8, 4 us for 50, 48 us
   for 1000. A GPU would save the search alone, and cost a copy of the file.

   Thread safety: see offload.h. */
#include "offload.h"

#define LARGE_BYTES ((gsize)256 << 20)
#define SAMPLES 32
#define SAMPLE_BYTES (64 << 10)
/* What a core searches in the 0.4 us that resolving a matching line takes,
   with vectors or by Aho-Corasick. Too small: GPUs are used where their
   matching lines keep one core busier than the search would. */
#define DENSE_BYTES 4096
#define DENSE_BYTES_AHO 256

/* Each sample is a text of its own: no line is followed past its end. */
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
      const LineScan sample = { matcher, base + at, n, LINE_SCAN_COUNT };
      line_scan (&sample, 0, n, &lines);
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
offload_resolve (const LineScan *scan, const GpuFindings *found,
                 LineBuffer *out, GError **error)
{
  LineGuide guide;
  gboolean ok = line_guide_init (&guide, found, error);
  if (ok)
    line_scan_guided (scan, &guide, out);
  line_guide_clear (&guide);
  return ok;
}

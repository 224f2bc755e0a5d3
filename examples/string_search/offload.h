/* SPDX-License-Identifier: MIT */
/* offload.h: what GPUs do of a large file's search, and when.
   Thread safety: see each. */
#ifndef STRING_SEARCH_OFFLOAD_H
#define STRING_SEARCH_OFFLOAD_H

#include <hass/hass.h>

#include "search.h"

/* gpu.cu; NULL where the program was built without CUDA. */
gboolean string_search_gpu_worker (const HassBundle *bundle,
                                   HassGpuStream *stream, gpointer user_data,
                                   GError **error) __attribute__ ((weak));

/**
 * offload_choose:
 * @filter: (out): of the search, if GPUs shall help; else NULL.
 *
 * Decides for the text @base [@size]. They help, where the program was built
 * with CUDA and the user has said nothing, if
 * - a GPU can search for the patterns, see gpu_filter_new();
 * - the file is large enough to be worth opening a GPU, 256 MiB;
 * - samples of it have at most one matching line in 4 KiB, or, for sets so
 *   large that Aho-Corasick searches for them, in 256 bytes: the lines around
 *   matches are found by one core for each GPU.
 * --gpu leaves the last two out, --gpu-only too, and is an error if GPUs
 * cannot help. The main thread.
 */
gboolean offload_choose (Search *search, const guint8 *base, gsize size,
                         const GpuFilter **filter, GError **error);

/**
 * offload_resolve:
 * @records: [@n_records] of the block [@first, @first + @count).
 *
 * Appends the LineBlock of line_scan() for a block that a GPU has been over.
 * Any thread.
 */
gboolean offload_resolve (const GpuFilter *filter, const Matcher *matcher,
                          const guint8 *base, gsize size, gsize first,
                          gsize count, LineScanFlags flags,
                          const guint64 *records, gsize n_records,
                          LineBuffer *out, GError **error);

#endif

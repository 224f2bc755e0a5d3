/* SPDX-License-Identifier: MIT */
/* offload.h: the GPUs' part in the search of a large file.
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
 * @scan: the text, and what is wanted of it.
 * @found: in a block of the text.
 *
 * Appends the LineBlock that line_scan() of the block would give, with the
 * matches looked for only where the GPU found segments. FALSE with
 * HASS_ERROR_DEVICE if a record is not of the block. Any thread.
 */
gboolean offload_resolve (const LineScan *scan, const GpuFindings *found,
                          LineBuffer *out, GError **error);

#endif

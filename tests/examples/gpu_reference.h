/* SPDX-License-Identifier: MIT */
/* gpu_reference.h: what the kernel of string_search's gpu.cu appends for one
   block of a bundle, computed here, thread after thread.
   Thread safety: no state. */
#ifndef GPU_REFERENCE_H
#define GPU_REFERENCE_H

#include "../../examples/string_search/gpu_filter.h"

static inline void
gpu_reference_append (GArray *records, GpuRecordKind kind, guint64 index,
                      guint32 value)
{
  guint64 record = gpu_record (kind, index, value);
  g_array_append_val (records, record);
}

static inline void
gpu_reference_tile (const GpuFilterView *filter, const GpuText *text,
                    guint64 index, GArray *records)
{
  guint32 segments[GPU_FILTER_TILE_WORDS] = { 0 };
  guint32 newlines = 0, first_nul = GPU_FILTER_NO_NUL;
  guint64 first = text->start + index * GPU_FILTER_TILE;
  guint64 last = MIN (first + GPU_FILTER_TILE,
                      text->start + gpu_text_positions (filter, text));
  for (guint64 at = first & ~(guint64)(GPU_FILTER_CHUNK - 1); at < last;
       at += GPU_FILTER_CHUNK)
    {
      GpuChunk found = gpu_chunk_search (filter, text, at, first, last);
      for (guint i = 0; i < GPU_FILTER_CHUNK; i++)
        {
          guint32 offset = (guint32)(at + i - first);
          newlines += found.newlines >> i & 1;
          if (found.nuls >> i & 1)
            first_nul = MIN (first_nul, offset);
          if (found.hits >> i & 1)
            segments[offset / GPU_FILTER_WORD]
                |= 1u << (offset / GPU_FILTER_SEGMENT % 32);
        }
    }
  for (guint i = 0; i < GPU_FILTER_TILE_WORDS; i++)
    if (segments[i])
      gpu_reference_append (records, GPU_RECORD_SEGMENTS,
                            index * GPU_FILTER_TILE_WORDS + i, segments[i]);
  if (newlines)
    gpu_reference_append (records, GPU_RECORD_NEWLINES, index, newlines);
  if (first_nul != GPU_FILTER_NO_NUL)
    gpu_reference_append (records, GPU_RECORD_NUL, index, first_nul);
}

static inline void
gpu_reference_block (const GpuFilter *filter, const GpuText *text,
                     GArray *records)
{
  GpuFilterView view = gpu_filter_view (filter->head);
  for (guint64 i = 0; i < gpu_text_tiles (&view, text); i++)
    gpu_reference_tile (&view, text, i, records);
}

#endif

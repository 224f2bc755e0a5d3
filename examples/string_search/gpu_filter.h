/* SPDX-License-Identifier: MIT */
/* gpu_filter.h: where matches may start, found 16 bytes at a time: what the
   GPU kernel, gpu.cu, is made of, in C and in CUDA.

   DESIGN. The host knows lines, the GPU only bytes; it tells the host where
   to look.
   1. A position is tried by a window of up to four bytes, at an offset from
      the match's start that all patterns share and where they are rare. The
      window's hash asks a bitmap, which fits into shared memory; under -i
      window and pattern are compared with bit 0x20 set.
   2. Where the bitmap says yes, the patterns whose windows have this hash
      are compared with the text, GPU_FILTER_REACH bytes of them at most.
      What is left are matches, but for longer patterns.
   3. The positions of windows are cut into tiles. A tile gives a bit for
      each segment of 64 positions that a match's window lies in, 32 bits in
      one record, and, where lines are numbered, its newlines, where it
      matters whether a file is binary, its first NUL. So the records of a
      block are few however many matches it has.
   All that the kernel reads of the patterns is one piece of memory without
   pointers, a farm constant: a GpuFilterHead and what its offsets name.

   Thread safety: a filter is immutable once made. */
#ifndef STRING_SEARCH_GPU_FILTER_H
#define STRING_SEARCH_GPU_FILTER_H

#include <string.h>

#include "matcher/fold.h"
#include "matcher/matcher.h"

G_BEGIN_DECLS

#define GPU_FILTER_REACH                                                       \
  64 /* bytes from a match's start that are looked at                          \
      */
#define GPU_FILTER_CHUNK 16
#define GPU_FILTER_SEGMENT 64
#define GPU_FILTER_WORD (32 * GPU_FILTER_SEGMENT) /* positions of a record */
#define GPU_FILTER_TILE (16 << 10)
#define GPU_FILTER_TILE_WORDS (GPU_FILTER_TILE / GPU_FILTER_WORD)
#define GPU_FILTER_BITMAP_BITS 16
#define GPU_FILTER_BITMAP_WORDS ((1 << GPU_FILTER_BITMAP_BITS) / 32)
#define GPU_FILTER_NO_NUL G_MAXUINT32
/* A tile has GPU_FILTER_TILE_WORDS + 2 records at most. */
#define GPU_FILTER_RECORDS_PER_BYTE (1 / 1024.0)

typedef enum
{
  GPU_FILTER_NEWLINES = 1 << 0, /* count newlines */
  GPU_FILTER_NULS = 1 << 1      /* find the first NUL */
} GpuFilterFlags;

/* Offsets are in bytes from the head.  */
typedef struct
{
  guint32 flags;
  guint32 offset; /* of the window from the match's start */
  guint32 mask;   /* of the window's bytes, the first one lowest */
  guint32 fold;   /* bits set in window and pattern before they are hashed */
  guint32 hash_bits;
  guint32 bitmap;  /* guint32 [GPU_FILTER_BITMAP_WORDS], by the hash's top */
  guint32 buckets; /* guint32 [2^hash_bits + 1] into entries */
  guint32 entries; /* guint32 [] of needles */
  guint32 needles; /* GpuFilterNeedle [] */
  guint32 padding[3];
} GpuFilterHead;

/* At offset `text`: value [length], fold [length] as in Needle; or, where
   there are atoms, these [n_atoms].  No more than GPU_FILTER_REACH of
   each.  */
typedef struct
{
  guint32 text;
  guint32 length;
  guint32 n_atoms;
} GpuFilterNeedle;

typedef struct
{
  const GpuFilterHead *head; /* the constant [bytes] */
  gsize bytes;
} GpuFilter;

/* Compiles the patterns of `matcher`; NULL if a GPU cannot search for them: the
   empty pattern or none at all, too many (64 MiB compiled), or too many with
   the same window.  Free with gpu_filter_free().  */
GpuFilter *gpu_filter_new (const Matcher *matcher, GpuFilterFlags flags);
void gpu_filter_free (GpuFilter *filter);

/* ---- records ---- */

/* Bits of the segments of word `index` of the block's positions; newlines in
   tile `index`; offset of the first NUL in tile `index`.  */
typedef enum
{
  GPU_RECORD_SEGMENTS,
  GPU_RECORD_NEWLINES,
  GPU_RECORD_NUL
} GpuRecordKind;

#ifdef __CUDACC__
#  define GPU_FILTER_FUNC __host__ __device__ static inline
#else
#  define GPU_FILTER_FUNC static inline
#endif

GPU_FILTER_FUNC guint64
gpu_record (GpuRecordKind kind, guint64 index, guint32 value)
{
  return (guint64)kind << 62 | index << 32 | value;
}

GPU_FILTER_FUNC GpuRecordKind
gpu_record_kind (guint64 record)
{
  return (GpuRecordKind)(record >> 62);
}

GPU_FILTER_FUNC guint64
gpu_record_index (guint64 record)
{
  return record >> 32 & 0x3fffffff;
}

/* ---- step 2: patterns ---- */

/* A filter in use: its head, that kernels keep in registers, the constant
   that it heads, and the bitmap, that kernels keep in shared memory.  */
typedef struct
{
  GpuFilterHead head;
  const guint8 *constant;
  const guint32 *bitmap;
} GpuFilterView;

/* With the bitmap where it lies.  */
GPU_FILTER_FUNC GpuFilterView
gpu_filter_view (const void *constant)
{
  GpuFilterView v;
  v.head = *(const GpuFilterHead *)constant;
  v.constant = (const guint8 *)constant;
  v.bitmap = (const guint32 *)(const void *)(v.constant + v.head.bitmap);
  return v;
}

/* The hash of a window: hash_bits bits.  */
GPU_FILTER_FUNC guint32
gpu_filter_hash (const GpuFilterView *v, guint32 window)
{
  return ((window | v->head.fold) & v->head.mask) * 0x9e3779b1u
         >> (32 - v->head.hash_bits);
}

GPU_FILTER_FUNC guint
gpu_filter_match_atom (const FoldAtom *atom, const guint8 *p, const guint8 *end)
{
  for (guint f = 0; f < atom->n_forms; f++)
    {
      guint length = atom->length[f], i = 0;
      if ((gsize)(end - p) < length)
        continue;
      while (i < length && p[i] == atom->bytes[f][i])
        i++;
      if (i == length)
        return length;
    }
  return 0;
}

/* Whether the needle, as far as it is kept, matches at `p`.  */
GPU_FILTER_FUNC gboolean
gpu_filter_match_needle (const GpuFilterView *v, const GpuFilterNeedle *needle,
                         const guint8 *p, const guint8 *end)
{
  const guint8 *value = v->constant + needle->text;
  if (needle->n_atoms > 0)
    {
      const FoldAtom *atom = (const FoldAtom *)value;
      const guint8 *reach = p + GPU_FILTER_REACH - FOLD_MAX_BYTES;
      for (guint32 i = 0; i < needle->n_atoms && p <= reach; i++)
        {
          guint length = gpu_filter_match_atom (&atom[i], p, end);
          if (length == 0)
            return FALSE;
          p += length;
        }
      return TRUE;
    }
  if ((gsize)(end - p) < needle->length)
    return FALSE;
  for (guint32 i = 0; i < needle->length; i++)
    if ((p[i] | value[needle->length + i]) != value[i])
      return FALSE;
  return TRUE;
}

/* Whether a pattern whose window has this hash matches at `p`; reads nothing
   from `end` on.  */
GPU_FILTER_FUNC gboolean
gpu_filter_match (const GpuFilterView *v, guint32 hash, const guint8 *p,
                  const guint8 *end)
{
  const guint32 *buckets
      = (const guint32 *)(const void *)(v->constant + v->head.buckets);
  const guint32 *entries
      = (const guint32 *)(const void *)(v->constant + v->head.entries);
  const GpuFilterNeedle *needles
      = (const GpuFilterNeedle *)(const void *)(v->constant + v->head.needles);
  guint32 last = buckets[hash + 1];
  for (guint32 e = buckets[hash]; e < last; e++)
    if (gpu_filter_match_needle (v, &needles[entries[e]], p, end))
      return TRUE;
  return FALSE;
}

/* ---- steps 1 and 3: a chunk of text ---- */

/* A block in a bundle's input.  Its positions are those of windows: from 0,
   its first byte, to gpu_text_positions().  */
typedef struct
{
  const guint8 *base; /* [bytes], aligned to 16 */
  guint64 bytes;
  guint64 start; /* the block's first byte, as all offsets from base */
  guint64 count; /* its bytes */
  guint64 end;   /* of its halo: no other block's bytes are text */
} GpuText;

/* Windows may lie behind the block, but not behind the text.  */
GPU_FILTER_FUNC guint64
gpu_text_positions (const GpuFilterView *v, const GpuText *text)
{
  guint64 most = text->end - text->start;
  guint64 n = text->count + v->head.offset;
  return n < most ? n : most;
}

GPU_FILTER_FUNC guint64
gpu_text_tiles (const GpuFilterView *v, const GpuText *text)
{
  return (gpu_text_positions (v, text) + GPU_FILTER_TILE - 1) / GPU_FILTER_TILE;
}

/* What a chunk gave; bit i stands for its byte i.  */
typedef struct
{
  guint32 hits; /* windows of matches */
  guint32 newlines;
  guint32 nuls;
} GpuChunk;

/* The 16 bytes at `at`, a multiple of 16, and the 4 behind them; zeros where
   the input ends.  */
GPU_FILTER_FUNC void
gpu_chunk_load (const GpuText *text, guint64 at, guint32 words[5])
{
  const guint8 *p = text->base + at;
  if (at + 20 <= text->bytes)
    {
#ifdef __CUDA_ARCH__
      uint4 four = *(const uint4 *)p;
      words[0] = four.x;
      words[1] = four.y;
      words[2] = four.z;
      words[3] = four.w;
      words[4] = *(const guint32 *)(p + 16);
#else
      memcpy (words, p, 20);
#endif
      return;
    }
  for (guint j = 0; j < 5; j++)
    {
      words[j] = 0;
      for (guint k = 0; k < 4; k++)
        if (at + 4 * j + k < text->bytes)
          words[j] |= (guint32)p[4 * j + k] << (8 * k);
    }
}

/* The bits of the bytes that equal `byte`.  */
GPU_FILTER_FUNC guint32
gpu_chunk_equal (const guint32 words[5], guint8 byte)
{
  guint32 bits = 0;
  for (guint j = 0; j < 4; j++)
    {
      /* The high bit of each byte of x: it is not `byte`.  */
      guint32 x = words[j] ^ byte * 0x01010101u;
      x = (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) >> 7 & 0x01010101u;
      bits |= ((x ^ 0x01010101u) * 0x10204080u >> 28) << (4 * j);
    }
  return bits;
}

/* The bits of the windows that the bitmap knows.  */
GPU_FILTER_FUNC guint32
gpu_chunk_windows (const GpuFilterView *v, const guint32 words[5])
{
  guint shift = v->head.hash_bits - GPU_FILTER_BITMAP_BITS;
  guint32 bits = 0;
  for (guint j = 0; j < 4; j++)
    for (guint k = 0; k < 4; k++)
      {
        guint64 two = (guint64)words[j + 1] << 32 | words[j];
        guint32 h = gpu_filter_hash (v, (guint32)(two >> (8 * k))) >> shift;
        bits |= (v->bitmap[h / 32] >> (h % 32) & 1) << (4 * j + k);
      }
  return bits;
}

/* Bits of the bytes of the chunk at `at` that are in [first, last), which it
   overlaps.  */
GPU_FILTER_FUNC guint32
gpu_chunk_part (guint64 at, guint64 first, guint64 last)
{
  guint32 bits = 0xffff;
  if (at < first)
    bits &= 0xffffu << (first - at);
  if (at + GPU_FILTER_CHUNK > last)
    bits &= 0xffffu >> (at + GPU_FILTER_CHUNK - last);
  return bits;
}

/* Tries the windows of [first, last) that the chunk at `at`, a multiple of
   16, holds of the block.  */
GPU_FILTER_FUNC GpuChunk
gpu_chunk_search (const GpuFilterView *v, const GpuText *text, guint64 at,
                  guint64 first, guint64 last)
{
  guint32 words[5];
  guint64 block_end = text->start + text->count;
  guint32 inside = gpu_chunk_part (at, first, last);
  GpuChunk found = { 0, 0, 0 };
  gpu_chunk_load (text, at, words);
  if (at < block_end)
    {
      guint32 own = inside & gpu_chunk_part (at, first, block_end);
      if (v->head.flags & GPU_FILTER_NEWLINES)
        found.newlines = gpu_chunk_equal (words, '\n') & own;
      if (v->head.flags & GPU_FILTER_NULS)
        found.nuls = gpu_chunk_equal (words, '\0') & own;
    }
  /* Matches that start before the block are the block's before it.  */
  if (at < text->start + v->head.offset)
    {
      if (at + GPU_FILTER_CHUNK <= text->start + v->head.offset)
        return found;
      inside &= 0xffffu << (text->start + v->head.offset - at);
    }
  inside &= gpu_chunk_windows (v, words);
  for (guint i = 0; inside >> i != 0; i++)
    {
      guint64 q = at + i;
      guint32 window = 0;
      if (!(inside >> i & 1))
        continue;
      for (guint k = 0; k < 4; k++)
        if (q + k < text->bytes)
          window |= (guint32)text->base[q + k] << (8 * k);
      if (gpu_filter_match (v, gpu_filter_hash (v, window),
                            text->base + q - v->head.offset,
                            text->base + text->end))
        found.hits |= 1u << i;
    }
  return found;
}

G_END_DECLS

#endif

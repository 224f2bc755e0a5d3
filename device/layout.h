/* SPDX-License-Identifier: MIT */
/* layout.h: how the blocks of a bundle lie in device memory.

   DESIGN. The inputs of the blocks lie one after another, halos included,
   behind the tables with which kernels find them; so one copy brings a
   gathered bundle to the device. A bundle of one block needs no tables.

   Thread safety: a layout belongs to one thread; copies from any. */
#ifndef HASS_LAYOUT_H
#define HASS_LAYOUT_H

#include "rectangles.h"

#define HASS_LAYOUT_ALIGN 256

typedef struct
{
  gsize n;
  const HassBlock *blocks;
  gsize input_bytes, output_bytes; /* sums over the blocks, without gaps */
  guint64 n_elements;
  gboolean has_halos, has_tiles;
  gboolean adjacent;     /* the inputs are contiguous in host memory */
  gboolean adjacent_out; /* the outputs are contiguous in host memory */
  /* Offset in bytes of each table from the first one; G_MAXSIZE: the bundle
     has no such table. */
  gsize offsets_at, output_offsets_at, output_pitches_at, elements_at, halos_at;
  gsize functions_at;
  gsize table_bytes; /* bytes of all tables, aligned */
  /* Rectangles that outputs form if they are tiles: n_rectangles elements of
     `rectangles`, from first_rectangle on. The array is not owned. */
  GArray *rectangles; /* HassRectangle */
  guint first_rectangle, n_rectangles;
} HassLayout;

/* Describes how the @n blocks of a bundle lie in host memory and on the
   device. @functions: there is a table of task functions. @rectangles: the
   rectangles of outputs that are tiles are appended to it. @join: as in
   hass_rectangles_find(). */
void hass_layout_init (HassLayout *layout, const HassBlock *blocks, gsize n,
                       gboolean functions, GArray *rectangles, gboolean join);
void hass_layout_fill (const HassLayout *layout,
                       guint32 (*function_of) (const HassLoad *load),
                       guint8 *tables);
void hass_layout_copy_in (const HassBlock *block, guint8 *to);
void hass_layout_copy_out (const HassBlock *block, const guint8 *from,
                           gsize from_pitch);
void hass_layout_places (const HassLayout *layout, guint64 *offsets,
                         guint64 *pitches);

/* Returns: where a block's bytes lie in host memory; NULL: in several
   pieces. */
typedef gconstpointer (*HassBlockPlaceFunc) (const HassBlock *block);
typedef gsize (*HassBlockBytesFunc) (const HassBlock *block);

/* Returns: whether the blocks' inputs or outputs, of @bytes bytes in total, can
   be copied without staging: they lie in pinned memory, and are contiguous
   (@adjacent) or of at least @least bytes a block on average. @place,
   @bytes_of: where those of a block lie, and how many they are. */
gboolean hass_layout_is_pinned (const HassLayout *layout, gboolean adjacent,
                                gsize bytes, gsize least,
                                HassBlockPlaceFunc place,
                                HassBlockBytesFunc bytes_of);

/* Returns: @bytes, rounded up to the alignment of regions on a device. */
static inline gsize
hass_layout_aligned (gsize bytes)
{
  return (bytes + HASS_LAYOUT_ALIGN - 1) & ~(gsize)(HASS_LAYOUT_ALIGN - 1);
}

/* Returns: the layout's rectangles [n_rectangles]; NULL if outputs are not
   tiles. */
static inline const HassRectangle *
hass_layout_rectangles (const HassLayout *l)
{
  return l->n_rectangles > 0
             ? &g_array_index (l->rectangles, HassRectangle, l->first_rectangle)
             : NULL;
}

/* Returns: the bytes of @halo elements of the block's input. */
static inline gsize
hass_layout_halo_bytes (const HassBlock *block, gsize halo)
{
  return halo > 0 && block->count > 0
             ? halo * (block->input_bytes / block->count)
             : 0;
}

/* Returns: the address of the block's input in host memory, at its halo if it
   has one. */
static inline const guint8 *
hass_layout_input (const HassBlock *block)
{
  gsize halo = hass_layout_halo_bytes (block, block->halo_before);
  return block->input && !block->input_row_bytes ? block->input - halo
                                                 : block->input;
}

/* Returns: the bytes of the block's input with its halos; a tile has no
   halos. */
static inline gsize
hass_layout_input_bytes (const HassBlock *block)
{
  gsize halo = block->halo_before + block->halo_after;
  if (!block->input || block->input_row_bytes)
    return block->input_bytes;
  return block->input_bytes + hass_layout_halo_bytes (block, halo);
}

#endif

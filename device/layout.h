/* SPDX-License-Identifier: MIT */
/* layout.h: how the blocks of a bundle lie in device memory.

   DESIGN. Inputs lie one after another, halos included, after the tables
   that kernels need to find them; so one copy carries a gathered bundle.
   A bundle of one block needs no tables.

   Thread safety: a layout belongs to one thread; copies from any. */
#ifndef HASS_LAYOUT_H
#define HASS_LAYOUT_H

#include "rectangles.h"

#define HASS_LAYOUT_ALIGN 256

typedef struct
{
  gsize n;
  const HassBlock *blocks;
  gsize input_bytes, output_bytes; /* packed */
  guint64 n_elements;
  gboolean has_halos, has_tiles;
  gboolean adjacent;     /* inputs are one stretch of host memory */
  gboolean adjacent_out; /* so are outputs */
  /* Offsets of the tables from their begin; G_MAXSIZE: none. */
  gsize offsets_at, output_offsets_at, output_pitches_at, elements_at, halos_at;
  gsize functions_at;
  gsize table_bytes; /* aligned */
  /* Of outputs that are tiles; the array is not the layout's. */
  GArray *rectangles; /* HassRectangle */
  guint first_rectangle, n_rectangles;
} HassLayout;

/* @rectangles: takes those of the outputs, if they are tiles; @join: as
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

/* NULL where outputs are no tiles. */
static inline const HassRectangle *
hass_layout_rectangles (const HassLayout *l)
{
  return l->n_rectangles > 0
             ? &g_array_index (l->rectangles, HassRectangle, l->first_rectangle)
             : NULL;
}

/* Bytes of so many elements of halo. */
static inline gsize
hass_layout_halo_bytes (const HassBlock *block, gsize halo)
{
  return halo > 0 && block->count > 0
             ? halo * (block->input_bytes / block->count)
             : 0;
}

/* Where the block's input begins in host memory, halo included. */
static inline const guint8 *
hass_layout_input (const HassBlock *block)
{
  gsize halo = hass_layout_halo_bytes (block, block->halo_before);
  return block->input && !block->input_row_bytes ? block->input - halo
                                                 : block->input;
}

/* Bytes of the block's input, halos included; a tile has none. */
static inline gsize
hass_layout_input_bytes (const HassBlock *block)
{
  gsize halo = block->halo_before + block->halo_after;
  if (!block->input || block->input_row_bytes)
    return block->input_bytes;
  return block->input_bytes + hass_layout_halo_bytes (block, halo);
}

#endif

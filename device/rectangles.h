/* SPDX-License-Identifier: MIT */
/* rectangles.h: finds the tiles of a bundle that form one array.

   DESIGN. A tile is a block of a matrix. A copy of short rows reaches only a
   part of a link's rate (measured: tiles with rows of 4 KiB at 16 of 55 GB/s
   on an H200 whose kernels ran), and each copy is a call. So tiles below each
   other, which are adjacent on the device anyway, are copied as one rectangle.
   If the farm asks for it, tiles side by side lie on the device as in host
   memory, which makes their rows longer, up to those of the whole array.

   Rectangles are found from the first block on: as many tiles as follow each
   other side by side form a row of tiles, and as many such rows as lie below
   each other and are equally wide form a rectangle.

   Thread safety: plain values. */
#ifndef HASS_RECTANGLES_H
#define HASS_RECTANGLES_H

#include "hass/device.h"

/* Appends the rectangles (HassRectangle) that the outputs of @n blocks form to
   @rectangles: tiles that lie one below the other form one and, with @join,
   tiles side by side as well. A block that is not a tile is a rectangle of one
   row. */
void hass_rectangles_find (GArray *rectangles, const HassBlock *blocks, gsize n,
                           gboolean join);
/* Sets @offsets [n + 1] to the bytes at which each block's output begins,
   counted from the first block's, and @pitches [n], unless NULL, to the bytes
   from one row of the block's output to the next. */
void hass_rectangles_places (const HassRectangle *rectangles,
                             gsize n_rectangles, const HassBlock *blocks,
                             guint64 *offsets, guint64 *pitches);
/* Returns: the bytes that a rectangle spans in host memory, from its first
   byte to its last. */
gsize hass_rectangle_span (const HassRectangle *r, const HassBlock *blocks);

#endif

/* SPDX-License-Identifier: MIT */
/* rectangles.h: tiles of a bundle that are one array.

   DESIGN. A copy of short rows reaches a part of a link's rate (tiles with rows
   of 4 KiB came back at 16 of 55 GB/s on an H200 whose kernels ran), and each
   copy is a call.
   So tiles below each other, which lie one after another on the device
   anyway, are copied as one; and where the farm asks for it tiles side by
   side lie on the device as in host memory, which makes their rows longer,
   up to those of the whole array.

   Rows of tiles are found from the first block on: as many as follow each
   other side by side, then as many such rows as lie below each other and are
   equally wide.

   Thread safety: plain values. */
#ifndef HASS_RECTANGLES_H
#define HASS_RECTANGLES_H

#include "hass/device.h"

/* Appends the rectangles [HassRectangle] of blocks' outputs, @join: also side
   by side. Blocks that are no tiles are one each, of one row. */
void hass_rectangles_find (GArray *rectangles, const HassBlock *blocks, gsize n,
                           gboolean join);
/* Where each block's output begins behind the first [n + 1], and how far its
   rows lie apart [n]; @pitches may be NULL. */
void hass_rectangles_places (const HassRectangle *rectangles,
                             gsize n_rectangles, const HassBlock *blocks,
                             guint64 *offsets, guint64 *pitches);
/* Bytes in host memory, from the first byte to the last. */
gsize hass_rectangle_span (const HassRectangle *r, const HassBlock *blocks);

#endif

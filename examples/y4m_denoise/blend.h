/* SPDX-License-Identifier: MIT */
/* blend.h: mixes a frame with the one before it where little moves.
   Thread safety: pure functions. */
#ifndef Y4M_BLEND_H
#define Y4M_BLEND_H

#include <glib.h>

#define BLEND_MAX_STRENGTH 255

/**
 * y4m_blend:
 * @frame: [@n] samples, which become the blended ones.
 * @before: [@n] blended samples of the frame before, which become those of this
 *   frame.
 * @strength: 1 to BLEND_MAX_STRENGTH.
 *
 * A sample that differs by d from that of the frame before becomes
 * (1 - k) sample + k before, k = 3/4 (1 - d / @strength), 0 where d exceeds
 * @strength, in integers.
 */
void y4m_blend (guint8 *frame, guint8 *before, gsize n, guint strength);

#endif

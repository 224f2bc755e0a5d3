/* SPDX-License-Identifier: MIT */
/* blend.c: see blend.h.
   Thread safety: as blend.h. */
#include "blend.h"

/* 3/4 in units of 1/256: a recursive mean over some four frames. */
#define MOST 192

void
y4m_blend (guint8 *restrict frame, guint8 *restrict before, gsize n,
           guint strength)
{
  /* All values fit 16 bits without a sign, so vectors have many lanes. */
  guint16 slope = (guint16)(MOST * 256 / strength);
  guint16 limit = (guint16)strength;
  for (gsize i = 0; i < n; i++)
    {
      guint16 a = frame[i], b = before[i];
      guint16 d = MAX (a, b) - MIN (a, b);
      guint16 near = limit > d ? limit - d : 0;
      guint16 k = (guint16)(near * slope) >> 8;
      guint16 mixed = (guint16)(a * (256 - k) + b * k + 128) >> 8;
      frame[i] = before[i] = (guint8)mixed;
    }
}

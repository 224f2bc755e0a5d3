/* SPDX-License-Identifier: MIT */
/* potrf_case.h: matrices to be factorised, and whether they were.
   Thread safety: one thread. */
#ifndef POTRF_CASE_H
#define POTRF_CASE_H

#include <hass/la.h>

/* What a factorisation must not touch. */
#define UNTOUCHED (-77)

typedef struct
{
  HassLaPotrf settings;
  gsize bytes; /* of the matrix */
} Case;

/* A positive definite matrix, with @gap numbers between its columns; all but
   its triangle is UNTOUCHED. */
Case case_new (HassLaType type, HassLaTriangle triangle, gsize n, gsize gap);
void case_clear (Case *c);

/* Row @i, column @j of L, in the triangle that it is in. */
void case_set (const Case *c, gsize i, gsize j, double value);

/* |A - L * L'| <= 4 * sqrt (n) * eps * |L| * |L'|, number by number. */
gboolean case_is_factor (const Case *c);
gboolean case_is_untouched (const Case *c);

#endif

/* SPDX-License-Identifier: MIT */
/* mini_checks.h: what tests of single strategies ask of the mini engine.
   Thread safety: one thread. */
#ifndef MINI_CHECKS_H
#define MINI_CHECKS_H

#include "mini_engine.h"

/* Whether the specification is refused with a message that has this word, on
   four cores and one GPU, or on the first @n_devices of these and another GPU
   (1 to 3). */
gboolean mini_refused (const char *spec, const char *word);
gboolean mini_refused_with (const char *spec, guint n_devices,
                            const char *word);
/* Runs a round of equal loads, in which each must be computed once and no
   device be forced. */
void mini_run (MiniFarm *farm, guint32 units, MiniRound *result);
/* Units of the last round's grant; 0: there was none. */
guint64 mini_units (const MiniFarm *farm, guint grant);

#endif

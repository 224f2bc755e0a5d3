/* SPDX-License-Identifier: MIT */
/* coping.h: what every strategy must survive, on the mini engine.
   Thread safety: one thread. */
#ifndef COPING_H
#define COPING_H

#include "mini_engine.h"

void coping_expect (const char *spec);
gboolean coping_refused (const char *spec, const char *word);
/* A round of equal loads, in which each is computed once and nobody has to be
   forced. */
void coping_run (MiniFarm *farm, guint32 units, MiniRound *result);
guint64 coping_units (const MiniFarm *farm, guint grant);

#endif

/* SPDX-License-Identifier: MIT */
/* rogue.h: strategies that misbehave; a farm must end in spite of them.
   Thread safety: any thread. */
#ifndef ROGUE_H
#define ROGUE_H

#include <glib.h>

/* Registers them once; their names, NULL-terminated, all "rogue-...". */
const char *const *rogue_strategies (void);

#endif

/* SPDX-License-Identifier: MIT */
/* memory.h: how much memory this process may use.
   Thread safety: any thread. */
#ifndef HASS_MEMORY_H
#define HASS_MEMORY_H

#include <glib.h>

guint64 hass_memory_bytes (void);

#endif

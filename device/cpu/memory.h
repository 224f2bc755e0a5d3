/* SPDX-License-Identifier: MIT */
/* memory.h: how much memory this process may use.
   Thread safety: any thread. */
#ifndef HASS_MEMORY_H
#define HASS_MEMORY_H

#include <glib.h>

guint64 hass_memory_bytes (void);

/* For tests: what the process's control groups allow, by what would be
   /proc/self/cgroup and the folder at which they are mounted. Returns: bytes;
   G_MAXUINT64: no bound. */
guint64 hass_memory_cgroup_bytes (const char *own, const char *mount);

#endif

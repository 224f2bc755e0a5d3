/* SPDX-License-Identifier: MIT */
/* limits.h: what kernel and cgroups let the process use.
   Thread safety: any thread. */
#ifndef HASS_CPU_LIMITS_H
#define HASS_CPU_LIMITS_H

#include <glib.h>

G_BEGIN_DECLS

/* Returns: the lowest limit in CPUs of the process's cgroup and all cgroups
   above it; 0: no limit. @root: "", or for tests a folder with the files that
   are read, of which /proc/self/cgroup is read once. */
double hass_limits_cpus (const char *root);

/* Returns: the lowest limit in bytes of memory that they set; INFINITY: no
   limit. */
double hass_limits_memory (const char *root);

/* Returns: the limit of the process, RLIMIT_...; INFINITY: no limit, or the
   kernel knows no such one. */
double hass_limits_of (int resource);

/* Returns: TRUE if all limits are far: each allows at least twice the threads
   that there are and @n more. So with 200 threads and 15 more a limit of 430 is
   far and one of 429 is not. FALSE: a limit is near or unknown. */
gboolean hass_limits_allow_threads (const char *root, guint n);

G_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/* failing_memory.h: makes the n-th allocation fail, of those that do not end
   the program: g_try_malloc_n(), g_try_realloc_n() and posix_memalign(), which
   the test program is linked to wrap, and what the stand-in for the CUDA
   runtime is asked for, memory on device and host, pinned pages, streams and
   events. Thread safety: any thread; set while nothing allocates. */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <glib.h>

/* From now on the n-th allocation fails; 0: none does. */
void failing_memory_at (guint n);

/* Whether it has. */
gboolean failing_memory_has_failed (void);

/* Counts an allocation. TRUE: it shall fail. */
gboolean failing_memory_count (void);

#endif

/* SPDX-License-Identifier: MIT */
/* failing_memory.c: see failing_memory.h.
   Thread safety: see failing_memory.h. */
#include "failing_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic guint fails_at, n_seen;

/* The linker's names: --wrap. */
int __real_posix_memalign (void **memory, size_t alignment, size_t bytes);
int __wrap_posix_memalign (void **memory, size_t alignment, size_t bytes);
gpointer __real_g_try_malloc_n (gsize n, gsize bytes);
gpointer __wrap_g_try_malloc_n (gsize n, gsize bytes);
gpointer __real_g_try_realloc_n (gpointer memory, gsize n, gsize bytes);
gpointer __wrap_g_try_realloc_n (gpointer memory, gsize n, gsize bytes);

void
failing_memory_at (guint n)
{
  atomic_store (&n_seen, 0);
  atomic_store (&fails_at, n);
}

gboolean
failing_memory_has_failed (void)
{
  return atomic_load (&fails_at) > 0
         && atomic_load (&n_seen) >= atomic_load (&fails_at);
}

gboolean
failing_memory_count (void)
{
  guint n = atomic_load (&fails_at);
  return n > 0 && atomic_fetch_add (&n_seen, 1) + 1 == n;
}

int
__wrap_posix_memalign (void **memory, size_t alignment, size_t bytes)
{
  return failing_memory_count ()
             ? ENOMEM
             : __real_posix_memalign (memory, alignment, bytes);
}

gpointer
__wrap_g_try_malloc_n (gsize n, gsize bytes)
{
  return failing_memory_count () ? NULL : __real_g_try_malloc_n (n, bytes);
}

gpointer
__wrap_g_try_realloc_n (gpointer memory, gsize n, gsize bytes)
{
  return failing_memory_count () ? NULL
                                 : __real_g_try_realloc_n (memory, n, bytes);
}

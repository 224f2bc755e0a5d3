/* SPDX-License-Identifier: MIT */
/* pinned.c: which ranges of host memory are pinned.

   DESIGN. The ranges are kept in an array sorted by address, so that a device
   finds with one binary search whether a block can be copied without staging.

   Thread safety: any thread; one lock over the ranges. */
#include "pinned.h"

#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
/* HassPinnedRange, by ascending address; guarded by `lock` */
static GArray *ranges;

/* Returns: the index of the first range that ends behind the address; the
   number of ranges if there is none. Under the lock. */
static guint
first_behind (guintptr address)
{
  guint lo = 0, hi = ranges ? ranges->len : 0;
  while (lo < hi)
    {
      guint middle = lo + (hi - lo) / 2;
      if (g_array_index (ranges, HassPinnedRange, middle).end <= address)
        lo = middle + 1;
      else
        hi = middle;
    }
  return lo;
}

gboolean
hass_memory_is_pinned (gconstpointer memory, gsize bytes)
{
  guintptr begin = (guintptr)memory;
  gboolean pinned = FALSE;
  pthread_rwlock_rdlock (&lock);
  guint i = first_behind (begin);
  if (ranges && i < ranges->len)
    {
      const HassPinnedRange *r = &g_array_index (ranges, HassPinnedRange, i);
      pinned = r->pinned && r->begin <= begin && bytes <= r->end - begin;
    }
  pthread_rwlock_unlock (&lock);
  return pinned;
}

/* Adds a range of memory. Returns: FALSE without effect if it overlaps a known
   range. */
gboolean
hass_pinned_add (const HassPinnedRange *range)
{
  pthread_rwlock_wrlock (&lock);
  if (!ranges)
    ranges = g_array_new (FALSE, FALSE, sizeof (HassPinnedRange));
  guint i = first_behind (range->begin);
  gboolean ok
      = i >= ranges->len
        || g_array_index (ranges, HassPinnedRange, i).begin >= range->end;
  if (ok)
    g_array_insert_vals (ranges, i, range, 1);
  pthread_rwlock_unlock (&lock);
  return ok;
}

/* Marks the known range that begins at @memory as pinned. */
void
hass_pinned_confirm (gconstpointer memory)
{
  pthread_rwlock_wrlock (&lock);
  guint i = first_behind ((guintptr)memory);
  g_array_index (ranges, HassPinnedRange, i).pinned = TRUE;
  pthread_rwlock_unlock (&lock);
}

/* Removes the range that begins at @memory, which hass has allocated
   (@allocated) or the user registered, and copies it to @found. Returns: FALSE
   if there is no such range. */
gboolean
hass_pinned_remove (gconstpointer memory, gboolean allocated,
                    HassPinnedRange *found)
{
  guintptr begin = (guintptr)memory;
  pthread_rwlock_wrlock (&lock);
  guint i = first_behind (begin);
  gboolean ok = ranges && i < ranges->len;
  if (ok)
    {
      *found = g_array_index (ranges, HassPinnedRange, i);
      ok = found->begin == begin && found->allocated == allocated;
    }
  if (ok)
    g_array_remove_index (ranges, i);
  pthread_rwlock_unlock (&lock);
  return ok;
}

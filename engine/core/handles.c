/* SPDX-License-Identifier: MIT */
/* handles.c: the memory of emitters and workers, which callbacks get as handles
   to call the library with.

   DESIGN. The memory is kept for later farms and never returned to the system.
   So if a program calls the library with the emitter or worker of a farm that
   has ended, the handle is still readable and has no job, and the misuse is
   detected. If the memory serves another farm by then, the check of thread or
   unit fails instead.

   Thread safety: any thread. */
#include "job-private.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static HassHandles *kept; /* under lock: handles that no farm uses */

HassHandles *
hass_handles_take (guint n_workers)
{
  pthread_mutex_lock (&lock);
  HassHandles **at = &kept;
  while (*at && (*at)->capacity < n_workers)
    at = &(*at)->next;
  HassHandles *h = *at;
  if (h)
    *at = h->next;
  pthread_mutex_unlock (&lock);
  if (h)
    return h;
  h = g_aligned_alloc0 (1, sizeof *h + n_workers * sizeof (HassWorker),
                        HASS_CACHE_LINE);
  h->capacity = n_workers;
  return h;
}

/* Takes the handles back from a farm that has ended: clears them, so that later
   misuse is detected, and keeps them for another farm. */
void
hass_handles_keep (HassHandles *h)
{
  memset (&h->emitter, 0, sizeof h->emitter);
  memset (h->workers, 0, h->capacity * sizeof *h->workers);
  pthread_mutex_lock (&lock);
  h->next = kept;
  kept = h;
  pthread_mutex_unlock (&lock);
}

/* SPDX-License-Identifier: MIT */
/* urgent.h: threads that sleep most of the time and must not wait for
   a core when they wake.
   Thread safety: any thread. */
#ifndef HASS_URGENT_H
#define HASS_URGENT_H

/* Asks the kernel to run the calling thread soon after it wakes, although
   every core computes: a short slice, which Linux 6.12 and later heed, and a
   lower nice value where the process may have one. Does nothing elsewhere. */
void hass_thread_urgent (void);

#endif

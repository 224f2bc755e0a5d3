/* SPDX-License-Identifier: MIT */
/* urgent.h: threads that sleep most of the time and must not wait for
   a core when they wake.
   Thread safety: any thread. */
#ifndef HASS_URGENT_H
#define HASS_URGENT_H

/* Asks the kernel to run the calling thread soon after it wakes even if all
   cores are busy: with a short time slice, which Linux 6.12 and later obey,
   and with a lower nice value if the process may set one. Has no effect
   elsewhere. */
void hass_thread_urgent (void);

#endif

/* SPDX-License-Identifier: MIT */
/* copy_crew.h: a few threads that help a proxy to gather and scatter.

   One thread copies 10 to 14 GB/s, a PCI Express 5.0 link 55 GB/s. The threads
   are made for the first job, spin for 100 us after each job, then sleep.

   Thread safety: any thread. One job at a time uses the helpers; the caller of
   another job does it alone. */
#ifndef HASS_COPY_CREW_H
#define HASS_COPY_CREW_H

#include <glib.h>

/* Calls piece(0) to piece(n - 1), each once, on the calling thread and the
   helper threads of the crew, and returns when all calls have returned.
   Returns: the time that cores spent on the job, in ns. */
gint64 hass_copy_crew_run (guint n, void (*piece) (guint i, gpointer data),
                           gpointer data);

/* Does the same as hass_copy_crew_run(); in addition the calling thread calls
   between() after each of its pieces and while it waits for the other
   threads. */
gint64 hass_copy_crew_run_between (guint n,
                                   void (*piece) (guint i, gpointer data),
                                   void (*between) (gpointer data),
                                   gpointer data);

/* Wakes helper threads for a job of about @n pieces that will follow soon, so
   that they are ready when it is published. */
void hass_copy_crew_expect (guint n);

#endif

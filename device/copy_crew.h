/* SPDX-License-Identifier: MIT */
/* copy_crew.h: a few threads that help a proxy to gather and scatter.

   One thread copies 10 to 14 GB/s, a PCI Express 5.0 link 55 GB/s. The threads
   are made for the first job, spin for 100 us after each job, then sleep.

   Thread safety: any thread. One job at a time uses the helpers; the caller of
   another job does it alone. */
#ifndef HASS_COPY_CREW_H
#define HASS_COPY_CREW_H

#include <glib.h>

/* Calls piece(0) to piece(n - 1), each once, on the caller and the crew;
   returns when all have returned: the time that cores spent on it, in ns. */
gint64 hass_copy_crew_run (guint n, void (*piece) (guint i, gpointer data),
                           gpointer data);

/* The same, and the caller calls between() after each of its pieces and while
   it waits for the others. */
gint64 hass_copy_crew_run_between (guint n,
                                   void (*piece) (guint i, gpointer data),
                                   void (*between) (gpointer data),
                                   gpointer data);

/* Wakes helpers for a job of about n pieces that will follow soon. */
void hass_copy_crew_expect (guint n);

#endif

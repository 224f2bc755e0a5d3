/* SPDX-License-Identifier: MIT */
/* copy_crew.h: a few threads that help a proxy to gather and scatter.

   One thread copies 10 to 14 GB/s, a link takes 55. The threads are made
   when there is first something for them, look out for more for a while
   after each job, then sleep.

   Thread safety: any thread; one job at a time has the crew, others are done
   by their caller alone. */
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

/* A job of about n pieces is about to come: helpers that sleep are woken, so
   that they are there when it does. */
void hass_copy_crew_expect (guint n);

#endif

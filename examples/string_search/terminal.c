/* SPDX-License-Identifier: MIT */
/* terminal.c: shows bytes, throughput and time left, on stderr if that is a
   terminal, and gets out of the way of the output.
   Thread safety: see terminal.h. */
#include "terminal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct Terminal
{
  gboolean wanted;
  gint64 begin_us;
  _Atomic guint64 total; /* bytes of the files found so far */
  pthread_mutex_t lock;  /* the rest */
  guint64 done_before;   /* by farms that have ended */
  guint64 done_now;
  gboolean shown;
};

Terminal *
terminal_new (gboolean wanted)
{
  Terminal *t = g_new0 (Terminal, 1);
  t->wanted = wanted && isatty (2);
  t->begin_us = g_get_monotonic_time ();
  pthread_mutex_init (&t->lock, NULL);
  return t;
}

void
terminal_free (Terminal *t)
{
  terminal_hide (t);
  pthread_mutex_destroy (&t->lock);
  g_free (t);
}

void
terminal_add_total (Terminal *t, guint64 bytes)
{
  atomic_fetch_add_explicit (&t->total, bytes, memory_order_relaxed);
}

static void
erase (Terminal *t)
{
  if (t->shown)
    fputs ("\r\033[K", stderr);
  t->shown = FALSE;
}

/* Takes the line away before something else is printed. */
void
terminal_hide (Terminal *t)
{
  if (!t->wanted)
    return;
  pthread_mutex_lock (&t->lock);
  erase (t);
  pthread_mutex_unlock (&t->lock);
}

static void
show (const HassProgressInfo *info, gpointer user_data)
{
  Terminal *t = user_data;
  double s = (g_get_monotonic_time () - t->begin_us) * 1e-6;
  guint64 total = atomic_load_explicit (&t->total, memory_order_relaxed);
  pthread_mutex_lock (&t->lock);
  t->done_now = info->bytes_done;
  guint64 done = t->done_before + t->done_now;
  double rate = s > 0 ? done / s : 0;
  g_autofree char *of = g_format_size_full (total, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *is = g_format_size_full (done, G_FORMAT_SIZE_IEC_UNITS);
  erase (t);
  fprintf (stderr, "%s of %s%s, %.2f GB/s", is, of,
           info->generated ? "" : " so far", rate * 1e-9);
  if (info->generated && rate > 0 && total >= done)
    fprintf (stderr, ", %.0f s left", (total - done) / rate);
  fflush (stderr);
  t->shown = TRUE;
  pthread_mutex_unlock (&t->lock);
}

/* Makes a farm show its progress if standard error is a terminal. */
void
terminal_watch (Terminal *t, HassRunOptions *run)
{
  if (!t->wanted)
    return;
  pthread_mutex_lock (&t->lock);
  t->done_before += t->done_now;
  t->done_now = 0;
  pthread_mutex_unlock (&t->lock);
  run->progress = show;
  run->progress_data = t;
}

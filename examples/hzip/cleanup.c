/* SPDX-License-Identifier: MIT */
/* cleanup.c: see cleanup.h.

   DESIGN. SIGINT, SIGTERM, SIGHUP and SIGXCPU are blocked in all
   threads; a thread of its own waits for them, removes the file and ends the
   program by the signal. GNU gzip handles these, SIGPIPE and SIGXFSZ; any other
   signal, as SIGQUIT, SIGUSR1 or SIGALRM, ends both programs at once, and what
   is written so far remains. Where no thread can be made, so do these. It is no
   signal handler, so it may lock: the file is created and noted under the lock,
   and none that is another program's can be removed. SIGPIPE and SIGXFSZ are
   ignored: the write that would have raised them fails.

   Thread safety: see cleanup.h. */
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* @unfinished: path of the output; NULL: none. Under @lock. */
static GMutex lock;
static char *unfinished;
static gboolean pipe_ends;

static gpointer
wait_for_signals (gpointer set)
{
  int number;
  while (sigwait (set, &number) != 0)
    ;
  /* Never unlocked: no further file is created. */
  g_mutex_lock (&lock);
  if (unfinished)
    unlink (unfinished);
  signal (number, SIG_DFL);
  pthread_sigmask (SIG_UNBLOCK, set, NULL);
  raise (number);
  _exit (1);
}

static gboolean
is_ignored (int number)
{
  struct sigaction action;
  return sigaction (number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void
cleanup_start (void)
{
  static sigset_t set;
  static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGXCPU };
  sigemptyset (&set);
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (!is_ignored (numbers[i]))
      sigaddset (&set, numbers[i]);
  pipe_ends = !is_ignored (SIGPIPE);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
  GThread *thread = g_thread_try_new ("signals", wait_for_signals, &set, NULL);
  if (thread)
    g_thread_unref (thread);
  else
    pthread_sigmask (SIG_UNBLOCK, &set, NULL);
}

int
cleanup_create (const char *path)
{
  g_mutex_lock (&lock);
  int fd
      = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0)
    unfinished = g_strdup (path);
  g_mutex_unlock (&lock);
  return fd;
}

void
cleanup_keep (void)
{
  g_mutex_lock (&lock);
  g_clear_pointer (&unfinished, g_free);
  g_mutex_unlock (&lock);
}

void
cleanup_remove (void)
{
  g_mutex_lock (&lock);
  if (unfinished)
    unlink (unfinished);
  g_clear_pointer (&unfinished, g_free);
  g_mutex_unlock (&lock);
}

void
cleanup_broken_pipe (void)
{
  if (!pipe_ends)
    return;
  cleanup_remove ();
  signal (SIGPIPE, SIG_DFL);
  raise (SIGPIPE);
}

/* SPDX-License-Identifier: MIT */
/* watchdog.c: ends a test that hangs; temporary files.

   A test that hangs does nothing, or polls, so neither the time nor the CPU
   time of the process tells it from one that other processes keep from the
   CPUs: only patience does. It costs nothing where the library works.

   Thread safety: one thread. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial.h"

/* Patience, in times the seconds that a caller asks for, which are for an idle
   machine. A machine whose load is this many times its CPUs ends no test. */
#define PATIENCE 10
/* Most seconds that patience leads to: tests/stress/stress.sh ends a suite
   after 900 s and could not say what hung. */
#define MOST_S 800

static char hung[600];

static void
on_alarm (int signal)
{
  static const char text[] = "\nhung: ";
  (void)signal;
  if (write (2, text, sizeof text - 1) < 0 || write (2, hung, strlen (hung)) < 0
      || write (2, "\n", 1) < 0)
    _exit (4);
  abort ();
}

void
watchdog (guint seconds, const char *what)
{
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  seconds *= 3;
#endif
  seconds = MAX (seconds, MIN (PATIENCE * seconds, MOST_S));
  g_strlcpy (hung, what ? what : "", sizeof hung);
  signal (SIGALRM, on_alarm);
  alarm (seconds);
}

char *
trial_file (const char *text)
{
  char *path = NULL;
  int fd = g_file_open_tmp ("hass-test-XXXXXX", &path, NULL);
  if (fd < 0)
    return NULL;
  close (fd);
  if (!g_file_set_contents (path, text, -1, NULL))
    g_clear_pointer (&path, g_free);
  return path;
}

/* SPDX-License-Identifier: MIT */
/* watchdog.c: ends a test that hangs; temporary files.
   Thread safety: one thread. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial.h"

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

/* SPDX-License-Identifier: MIT */
/* child.c: a measurement in a process of its own.
   Thread safety: one thread. */
#include "gpu_bench.h"

#include <stdio.h>
#include <stdlib.h>

char *
child_output (const char *command, char *spec)
{
  GError *error = NULL;
  gint status = 0;
  char *out = NULL, *err = NULL;
  char *self = g_file_read_link ("/proc/self/exe", NULL);
  char *argv[] = { self, (char *)command, "--run", spec, NULL };
  gboolean ok = g_spawn_sync (NULL, argv, NULL, 0, NULL, NULL, &out, &err,
                              &status, &error)
                && g_spawn_check_wait_status (status, &error);
  if (err && *err)
    fputs (err, stderr);
  if (!ok)
    {
      fflush (stdout);
      fprintf (stderr, "a process that ran %s failed: %s\n", spec,
               error->message);
      exit (1);
    }
  g_free (err);
  g_free (self);
  return out;
}

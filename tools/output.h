/* SPDX-License-Identifier: MIT */
/* output.h: a tool whose standard output cannot be written whole, as on a full
   disk, says so and fails, however it exits.
   Thread safety: output_watch is called once, first in main. */
#ifndef HASS_TOOLS_OUTPUT_H
#define HASS_TOOLS_OUTPUT_H

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_FAILED 1 /* the exit status then */

/* Where nothing was to be written, standard output may be closed. */
static void
output_close (void)
{
  int lost = ferror (stdout), pending = __fpending (stdout) != 0;
  errno = 0;
  if ((fclose (stdout) == 0 || (errno == EBADF && !pending)) && !lost)
    return;
  fprintf (stderr, "%s: standard output: %s\n", program_invocation_short_name,
           errno != 0 ? strerror (errno) : "write error");
  _exit (OUTPUT_FAILED);
}

static inline void
output_watch (void)
{
  atexit (output_close);
}

#endif

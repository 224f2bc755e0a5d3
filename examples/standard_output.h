/* SPDX-License-Identifier: MIT */
/* standard_output.h: a program fails, with a message, if its standard output
   could not be written completely, for instance on a full disk, however it
   exits: also where GLib prints --help and exits.
   Thread safety: output_check is called once, first in main. */
#ifndef HASS_EXAMPLES_STANDARD_OUTPUT_H
#define HASS_EXAMPLES_STANDARD_OUTPUT_H

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_FAILED 1 /* exit status on failure */

/* A closed standard output is an error only if something was written. */
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
output_check (void)
{
  atexit (output_close);
}

#endif

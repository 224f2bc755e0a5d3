/* SPDX-License-Identifier: MIT */
/* message.c: messages to stderr, and the exit status that they lead to.
   Thread safety: see hzip.h. */
#include "hzip.h"

#include <stdarg.h>
#include <stdio.h>

static void
print_line (const char *format, va_list args)
{
  fputs (NAME ": ", stderr);
  vfprintf (stderr, format, args);
  fputc ('\n', stderr);
}

void
complain (Hzip *hzip, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  print_line (format, args);
  va_end (args);
  hzip->status = STATUS_ERROR;
}

void
warn (Hzip *hzip, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  if (!hzip->options.quiet)
    print_line (format, args);
  va_end (args);
  if (hzip->status == 0)
    hzip->status = STATUS_WARNING;
}

/* SPDX-License-Identifier: MIT */
/* main.c: hzip, gzip for many cores.
   Thread safety: single-threaded; the pipelines are not. */
#include "../standard_output.h"
#include "cleanup.h"
#include "hzip.h"
#include "list.h"

/* What the library has to say of its own files is none of -q's errors. */
static void
say_nothing (const char *text)
{
  (void)text;
}

int
main (int argc, char **argv)
{
  Hzip hzip = { 0 };
  /* What -l, -h and -V print; compressed bytes do not pass through stdio. */
  output_check ();
  OptionsResult result = hzip_options_parse (&hzip.options, argc, argv);
  if (result == OPTIONS_WRONG)
    return STATUS_ERROR;
  if (result == OPTIONS_RUN)
    {
      if (hzip.options.quiet)
        g_set_printerr_handler (say_nothing);
      cleanup_start ();
      if (!*hzip.options.paths)
        process_stdin (&hzip);
      for (char **path = hzip.options.paths; *path && !hzip.aborted; path++)
        process_path (&hzip, *path);
      if (!hzip.aborted)
        list_totals (&hzip);
    }
  return hzip.status;
}

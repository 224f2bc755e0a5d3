/* SPDX-License-Identifier: MIT */
/* main.c: string_search, a search for fixed strings on all cores and GPUs,
   with the output of grep -rF.
   Thread safety: single-threaded; the farms are not. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "search.h"

#define FOUND 0
#define NOT_FOUND 1
#define TROUBLE 2

static gboolean
search_all (Search *search, GError **error)
{
  Walk *walk = walk_new (search->options->paths);
  FileItem *large;
  gboolean ok;
  do
    {
      ok = search_small_files (search, walk, &large, error);
      if (ok && large)
        ok = search_large_file (search, large, walk_names_files (walk), error);
      if (large)
        file_item_free (large);
    }
  while (ok && large && !search->write_error);
  walk_free (walk);
  return ok;
}

/* FALSE: not all of it was written; @failure: the errno of an earlier write
   that failed, or 0. */
static gboolean
close_output (int failure)
{
  gboolean lost = ferror (stdout) != 0;
  errno = 0;
  if (fclose (stdout) == 0 && !lost)
    return TRUE;
  fprintf (stderr, "string_search: write error: %s\n",
           g_strerror (failure != 0 ? failure
                       : errno != 0 ? errno
                                    : EIO));
  return FALSE;
}

static int
run (const Options *options)
{
  g_autoptr (GError) error = NULL;
  gboolean utf8 = strcmp (nl_langinfo (CODESET), "UTF-8") == 0;
  gsize n;
  const Pattern *patterns = pattern_list_get (options->patterns, &n);
  g_autoptr (Matcher) matcher
      = matcher_new (patterns, n, options->ignore_case, utf8, NULL, &error);
  if (!matcher)
    {
      fprintf (stderr, "string_search: %s\n", error->message);
      return TROUBLE;
    }
  Search search = { .options = options,
                    .matcher = matcher,
                    .format = { .line_number = options->line_number,
                                .byte_offset = options->byte_offset,
                                .only_matching = options->only_matching,
                                .check_encoding = utf8 },
                    .terminal = terminal_new (!options->no_progress),
                    .output = stdout };
  gboolean ok = search_all (&search, &error);
  terminal_free (search.terminal);
  ok &= close_output (search.write_error);
  if (error)
    fprintf (stderr, "string_search: %s\n", error->message);
  if (options->report && search.total)
    {
      g_autofree char *table = hass_report_to_string (search.total);
      fputs (table, stderr);
    }
  hass_report_free (search.total);
  gpu_filter_free (search.filter);
  if (!ok || search.failed)
    return TROUBLE;
  return search.n_lines > 0 ? FOUND : NOT_FOUND;
}

int
main (int argc, char **argv)
{
  Options options;
  int status = TROUBLE;
  setlocale (LC_ALL, "");
  switch (options_parse (&options, argc, argv))
    {
    case OPTIONS_RUN:
      status = run (&options);
      break;
    case OPTIONS_SHOWN:
      status = close_output (0) ? FOUND : TROUBLE;
      break;
    case OPTIONS_WRONG:
      break;
    }
  options_clear (&options);
  return status;
}

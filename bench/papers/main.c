/* SPDX-License-Identifier: MIT */
/* papers: runs the figures of the papers in virtual time and writes
   papers.md and papers/NAME.svg into a folder. Exit status: 0, 1 when a file
   cannot be written, 2 when something does not run.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <stdio.h>

#include "papers.h"

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 2)
    {
      fprintf (stderr, "usage: papers FOLDER\n");
      return 2;
    }
  g_autofree char *plots = g_build_filename (argv[1], "papers", NULL);
  g_autofree char *file = g_build_filename (argv[1], "papers.md", NULL);
  if (g_mkdir_with_parents (plots, 0777) != 0)
    {
      fprintf (stderr, "papers: cannot make %s\n", plots);
      return 1;
    }
  g_autofree Papers *all = g_new0 (Papers, 1);
  if (!papers_all (all, &error))
    {
      fprintf (stderr, "papers: %s\n", error->message);
      return 2;
    }
  PapersPage page = { .text = g_string_new (NULL), .folder = argv[1] };
  papers_page (&page, all);
  if (!g_file_set_contents (file, page.text->str, -1, &error))
    {
      fprintf (stderr, "papers: %s\n", error->message);
      page.failed = TRUE;
    }
  g_string_free (page.text, TRUE);
  return page.failed ? 1 : 0;
}

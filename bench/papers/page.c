/* SPDX-License-Identifier: MIT */
/* page.c: text and plots are added to the page.
   Thread safety: one thread. */
#include <stdio.h>

#include "papers.h"

void
papers_say (PapersPage *page, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_string_append_vprintf (page->text, format, args);
  va_end (args);
}

void
papers_show (PapersPage *page, const char *name, const char *alt,
             const DrawPlot *plots, guint n)
{
  g_autofree char *svg = draw_plots (plots, n);
  g_autofree char *path
      = g_strdup_printf ("%s/papers/%s.svg", page->folder, name);
  g_autoptr (GError) error = NULL;
  if (!g_file_set_contents (path, svg, -1, &error))
    {
      fprintf (stderr, "papers: %s\n", error->message);
      page->failed = TRUE;
    }
  papers_say (page, "![%s](papers/%s.svg)\n\n", alt, name);
}

/* SPDX-License-Identifier: MIT */
/* list.c: see list.h.
   Thread safety: see list.h. */
#include "list.h"

#include <stdio.h>
#include <time.h>

double
saved_percent (guint64 bytes, guint64 stored)
{
  return bytes == 0 ? 0 : 100 * (1 - (double)stored / (double)bytes);
}

static void
line (guint64 in, guint64 out, guint64 overhead, const char *name)
{
  printf ("%19" G_GUINT64_FORMAT " %19" G_GUINT64_FORMAT " %5.1f%% %s\n", in,
          out, saved_percent (out, in - overhead), name);
}

void
list_file (Hzip *hzip, const Listed *l)
{
  const Options *o = &hzip->options;
  if (hzip->n_listed++ == 0 && !o->quiet)
    printf ("%s%19s %19s  ratio uncompressed_name\n",
            o->verbose ? "method  crc     date  time  " : "", "compressed",
            "uncompressed");
  if (o->verbose)
    {
      char date[32] = "";
      time_t at = (time_t)l->mtime;
      struct tm tm;
      if (localtime_r (&at, &tm))
        strftime (date, sizeof date, "%b %e %H:%M", &tm);
      printf ("defla %08x %s ", l->crc, date);
    }
  line (l->in, l->out, l->overhead, l->name);
  hzip->listed_in += l->in;
  hzip->listed_out += l->out;
}

void
list_totals (const Hzip *hzip)
{
  if (hzip->n_listed < 2 || hzip->options.quiet)
    return;
  printf ("%s", hzip->options.verbose ? "                            " : "");
  line (hzip->listed_in, hzip->listed_out, 0, "(totals)");
}

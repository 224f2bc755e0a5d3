/* SPDX-License-Identifier: MIT */
/* list.h: the lines of -l and -v.
   Thread safety: one thread. */
#ifndef HZIP_LIST_H
#define HZIP_LIST_H

#include "hzip.h"

/* A compressed file. @in, @out: bytes of it and of what it contains;
   @overhead: of its first header and trailer. @mtime: s since 1970. */
typedef struct
{
  const char *name;
  guint64 in, out, overhead;
  guint32 crc;
  gint64 mtime;
} Listed;

/* Returns: what is saved, in percent of @bytes, if it is stored as @stored. */
double saved_percent (guint64 bytes, guint64 stored);

void list_file (Hzip *hzip, const Listed *listed);
void list_totals (const Hzip *hzip);

#endif

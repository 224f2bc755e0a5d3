/* SPDX-License-Identifier: MIT */
/* print.h: persons as lines of text.
   Thread safety: one thread at a time, but for person_put_line(). */
#ifndef PERSON_PRINT_H
#define PERSON_PRINT_H

#include "query.h"

/* "ID NAME BIRTHDAY SALARY DEPARTMENT" with tabs between, and a newline, at
   @at, which has room for PERSON_LINE_BYTES; returns the end. A
   #PersonLineFunc: any thread. */
char *person_put_line (char *at, const Person *person);

typedef struct
{
  const char *path; /* for messages */
  int fd;
  GString *text; /* not yet written */
} PersonOutput;

/* @path NULL: standard output. */
gboolean person_output_open (PersonOutput *output, const char *path,
                             GError **error);

/* A #PersonRowsFunc; the data is a PersonOutput. */
gboolean person_output_rows (const PersonTable *table, const guint32 *rows,
                             gsize n_rows, gpointer output, GError **error);

/* A #PersonTextFunc, likewise. */
gboolean person_output_text (const char *text, gsize bytes, gpointer output,
                             GError **error);

/* Writes what is left. Afterwards there is nothing to close. */
gboolean person_output_close (PersonOutput *output, GError **error);

#endif

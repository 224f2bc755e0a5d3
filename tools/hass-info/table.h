/* SPDX-License-Identifier: MIT */
/* table.h: text tables with aligned columns.
   Thread safety: any thread, with a table of its own. */
#ifndef INFO_TABLE_H
#define INFO_TABLE_H

#include <glib.h>

/* Cells row by row; each column is as wide as its widest cell. */
typedef struct
{
  guint n_columns;
  gboolean numbers; /* all columns but the first are right-aligned */
  GPtrArray *cells; /* char * */
} InfoTable;

InfoTable info_table_new (guint n_columns, gboolean numbers);
void info_table_add (InfoTable *t, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
void info_table_print (InfoTable *t, GString *out);

#endif

/* SPDX-License-Identifier: MIT */
/* table.c: see table.h.
   Thread safety: any thread. */
#include "table.h"

#define MOST_COLUMNS 80

/* @n_columns: at most 80. */
InfoTable
info_table_new (guint n_columns, gboolean numbers)
{
  return (InfoTable){ MIN (n_columns, MOST_COLUMNS), numbers,
                      g_ptr_array_new_with_free_func (g_free) };
}

/* Adds the next cell. */
void
info_table_add (InfoTable *t, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (t->cells, g_strdup_vprintf (format, args));
  va_end (args);
}

static void
pad (GString *out, const char *cell, int width, gboolean right)
{
  int n = width - (int)g_utf8_strlen (cell, -1);
  g_string_append_printf (out, "%*s%s%*s", right ? n : 0, "", cell,
                          right ? 0 : n, "");
}

/* Appends the table to @out and frees it. */
void
info_table_print (InfoTable *t, GString *out)
{
  int width[MOST_COLUMNS] = { 0 };
  for (guint i = 0; i < t->cells->len; i++)
    width[i % t->n_columns] = MAX (width[i % t->n_columns],
                                   (int)g_utf8_strlen (t->cells->pdata[i], -1));
  for (guint i = 0; i < t->cells->len; i++)
    {
      guint c = i % t->n_columns;
      gboolean last = c + 1 == t->n_columns;
      g_string_append (out, "  ");
      if (last && !t->numbers)
        g_string_append (out, t->cells->pdata[i]);
      else
        pad (out, t->cells->pdata[i], width[c], t->numbers && c > 0);
      if (last)
        g_string_append_c (out, '\n');
    }
  g_ptr_array_unref (t->cells);
}

/* SPDX-License-Identifier: MIT */
/* reference.c: the query as a plain loop, with which the farm is compared.
   Thread safety: reads only. */
#include "query.h"

static gboolean
is_wanted (const Person *p, const PersonWanted *w)
{
  if (p->birthday < w->born_from || p->birthday > w->born_to)
    return FALSE;
  return p->salary >= w->salary_min && p->salary <= w->salary_max;
}

char *
person_query_reference (const PersonTable *table, const PersonWanted *wanted,
                        const guint32 *rows, gsize n_rows, guint64 n_found)
{
  gsize n = 0;
  for (gsize row = 0; row < table->n_persons; row++)
    {
      if (!is_wanted (&table->persons[row], wanted))
        continue;
      if (rows && n >= n_rows)
        return g_strdup_printf ("row %zu is wanted, but was not delivered "
                                "after the last of %zu",
                                row, n_rows);
      if (rows && rows[n] != row)
        return g_strdup_printf ("result %zu is row %u, not row %zu", n, rows[n],
                                row);
      n++;
    }
  if (rows && n < n_rows)
    return g_strdup_printf ("result %zu is row %u, but no more are wanted", n,
                            rows[n]);
  if (n != n_found)
    return g_strdup_printf ("%" G_GUINT64_FORMAT " found, not %zu", n_found, n);
  return NULL;
}

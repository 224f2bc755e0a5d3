/* SPDX-License-Identifier: MIT */
/* person_trial.c: runs queries and compares what they find with a plain loop.
   Thread safety: one thread. */
#include "person_trial.h"

#include <stdio.h>
#include <unistd.h>

#include "hass_test.h"
#include "person_query/print.h"
#include "tests/engine/trial.h"

gint32
day_of (guint year, guint month, guint day)
{
  g_autoptr (GDate) date
      = g_date_new_dmy ((GDateDay)day, (GDateMonth)month, (GDateYear)year);
  g_autoptr (GDate) epoch = g_date_new_dmy (1, 1, 1970);
  return g_date_days_between (epoch, date);
}

gboolean
keep_rows (const PersonTable *table, const guint32 *rows, gsize n_rows,
           gpointer data, GError **error)
{
  (void)table, (void)error;
  g_array_append_vals (data, rows, (guint)n_rows);
  return TRUE;
}

void
append_line (GString *text, const Person *person)
{
  char line[PERSON_LINE_BYTES];
  g_string_append_len (text, line, person_put_line (line, person) - line);
}

static gboolean
keep_text (const char *text, gsize bytes, gpointer data, GError **error)
{
  (void)error;
  g_string_append_len (data, text, (gssize)bytes);
  return TRUE;
}

/* Runs the query for lines; NULL if they are those of the rows, else
   what is wrong. */
static char *
try_lines (PersonQuery query, const GArray *rows)
{
  g_autoptr (GString) wanted = g_string_new (NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  guint64 n_found = 0;
  query.take = NULL;
  query.line = person_put_line;
  query.take_text = keep_text;
  query.take_data = text;
  if (!person_query_run (&query, &n_found, NULL, &error))
    return g_strdup (error->message);
  for (guint i = 0; i < rows->len; i++)
    append_line (wanted,
                 &query.table->persons[g_array_index (rows, guint32, i)]);
  if (n_found != rows->len || !g_string_equal (text, wanted))
    return g_strdup_printf ("%zu bytes of %zu lines are not the %zu of %u rows",
                            text->len, (gsize)n_found, wanted->len, rows->len);
  return NULL;
}

/* Runs the query for rows, for lines and for a count; NULL if all are right,
   else what is wrong. */
static char *
try_query (const PersonQuery *what)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GError) error = NULL;
  PersonQuery query = *what;
  guint64 n_found = 0;
  char *wrong = NULL;
  watchdog (60, "person_query");
  g_array_set_size (rows, 1); /* so that there is an array */
  g_array_set_size (rows, 0);
  query.take = keep_rows;
  query.take_data = rows;
  if (!person_query_run (&query, &n_found, NULL, &error))
    wrong = g_strdup (error->message);
  else
    wrong = person_query_reference (query.table, &query.wanted,
                                    (const guint32 *)(gpointer)rows->data,
                                    rows->len, n_found);
  if (!wrong)
    wrong = try_lines (query, rows);
  query.take = NULL;
  if (!wrong && !person_query_run (&query, &n_found, NULL, &error))
    wrong = g_strdup (error->message);
  if (!wrong)
    wrong
        = person_query_reference (query.table, &query.wanted, NULL, 0, n_found);
  watchdog (0, NULL);
  return wrong;
}

void
expect_right_query (const PersonQuery *query)
{
  g_autofree char *wrong = try_query (query);
  if (!wrong)
    return;
  printf ("\n    farm %d, strategy %s, %u cores, %zu persons: %s", query->farm,
          query->run.strategy ? query->run.strategy : "default",
          query->run.n_cores, query->table->n_persons, wrong);
  CU_FAIL ("the rows are wrong");
}

char *
temporary_file (void)
{
  char *path = NULL;
  int fd = g_file_open_tmp ("hass-persons-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  return path;
}

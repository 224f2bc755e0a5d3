/* SPDX-License-Identifier: MIT */
/* person_trial.h: queries of person_query that are compared with a plain loop.
   Thread safety: one thread. */
#ifndef HASS_TEST_PERSON_TRIAL_H
#define HASS_TEST_PERSON_TRIAL_H

#include "person_query/query.h"

/* Days since 1970-01-01, by GLib's calendar. */
gint32 day_of (guint year, guint month, guint day);

/* A PersonTakeFunc that appends the rows to the GArray @data. */
gboolean keep_rows (const PersonTable *table, const guint32 *rows, gsize n_rows,
                    gpointer data, GError **error);

/* Appends the person's line of output. */
void append_line (GString *text, const Person *person);

/* Runs the query for rows, for lines and for a count. The test fails unless
   all three are what person_query_reference() finds. */
void expect_right_query (const PersonQuery *query);

/* The name of a new empty file; free with g_free(). */
char *temporary_file (void);

#endif

/* SPDX-License-Identifier: MIT */
/* calendar.h: dates of the Gregorian calendar as days since 1970-01-01.
   Thread safety: pure functions. */
#ifndef PERSON_CALENDAR_H
#define PERSON_CALENDAR_H

#include <glib.h>

gint32 person_date_to_days (gint64 year, guint month, guint day);
void person_days_to_date (gint32 days, gint64 *year, guint *month, guint *day);

/**
 * person_parse_born:
 * @text: FROM..TO, both included, each YYYY, YYYY-MM or YYYY-MM-DD or
 *   nothing; a year or month means its first day in FROM, its last in TO.
 *
 * FALSE with HASS_ERROR_INVALID; @from and @to are then as they were.
 */
gboolean person_parse_born (const char *text, gint32 *from, gint32 *to,
                            GError **error);

/* The same for MIN..MAX, whole numbers. */
gboolean person_parse_salary (const char *text, gint32 *min, gint32 *max,
                              GError **error);

#endif

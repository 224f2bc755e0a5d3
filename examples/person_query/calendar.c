/* SPDX-License-Identifier: MIT */
/* calendar.c: dates as days, and the ranges that a query is asked with.
   Thread safety: pure functions. */
#include "calendar.h"

#include <hass/error.h>
#include <stdio.h>
#include <string.h>

/* Years begin in March here, so that a leap day is a year's last; 400 years
   are an era of 146097 days; day 0 of era 0 is 0000-03-01. */
#define ERA_DAYS 146097
#define DAYS_TO_1970 719468

gint32
person_date_to_days (gint64 year, guint month, guint day)
{
  gint64 y = month > 2 ? year : year - 1;
  gint64 era = (y >= 0 ? y : y - 399) / 400;
  gint64 of_era = y - era * 400;
  gint64 of_year
      = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  gint64 day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return (gint32)(era * ERA_DAYS + day_of_era - DAYS_TO_1970);
}

void
person_days_to_date (gint32 days, gint64 *year, guint *month, guint *day)
{
  gint64 z = (gint64)days + DAYS_TO_1970;
  gint64 era = (z >= 0 ? z : z - (ERA_DAYS - 1)) / ERA_DAYS;
  guint of_era = (guint)(z - era * ERA_DAYS);
  guint y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  guint of_year = of_era - (365 * y + y / 4 - y / 100);
  guint m = (5 * of_year + 2) / 153;
  *day = of_year - (153 * m + 2) / 5 + 1;
  *month = m < 10 ? m + 3 : m - 9;
  *year = y + era * 400 + (*month <= 2);
}

static guint
days_in_month (guint year, guint month)
{
  guint y = month < 12 ? year : year + 1, m = month < 12 ? month + 1 : 1;
  return (guint)(person_date_to_days (y, m, 1)
                 - person_date_to_days (year, month, 1));
}

/* Takes n digits off the text. */
static gboolean
take_digits (const char **text, guint n, guint *number)
{
  *number = 0;
  for (guint i = 0; i < n; i++)
    {
      if (!g_ascii_isdigit (**text))
        return FALSE;
      *number = 10 * *number + (guint)(*(*text)++ - '0');
    }
  return TRUE;
}

/* An end of a range: the first or the last day of what the text names. */
static gboolean
parse_date (const char *text, gboolean last, gint32 *days)
{
  guint year, month = last ? 12 : 1, day = 0;
  if (!take_digits (&text, 4, &year) || year < 1)
    return FALSE;
  if (*text == '-')
    {
      text++;
      if (!take_digits (&text, 2, &month) || month < 1 || month > 12)
        return FALSE;
      if (*text == '-')
        {
          text++;
          if (!take_digits (&text, 2, &day) || day < 1)
            return FALSE;
        }
    }
  guint most = days_in_month (year, month);
  if (*text != '\0' || day > most)
    return FALSE;
  *days = person_date_to_days (year, month, day > 0 ? day : last ? most : 1);
  return TRUE;
}

static gboolean
parse_salary (const char *text, gint32 *salary)
{
  gint64 value;
  if (!g_ascii_string_to_signed (text, 10, G_MININT32, G_MAXINT32, &value,
                                 NULL))
    return FALSE;
  *salary = (gint32)value;
  return TRUE;
}

static gboolean
refuse (GError **error, const char *format, const char *text)
{
  g_autofree char *message = g_strdup_printf ("%s, not '%s'", format, text);
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_INVALID, message);
  return FALSE;
}

/* Cuts FROM..TO in two. */
static gboolean
cut (const char *text, char **from, char **to)
{
  const char *dots = strstr (text, "..");
  if (!dots)
    return FALSE;
  *from = g_strndup (text, (gsize)(dots - text));
  *to = g_strdup (dots + 2);
  return TRUE;
}

gboolean
person_parse_born (const char *text, gint32 *from, gint32 *to, GError **error)
{
  g_autofree char *a = NULL, *b = NULL;
  gint32 first = G_MININT32, last = G_MAXINT32;
  if (!cut (text, &a, &b) || (*a && !parse_date (a, FALSE, &first))
      || (*b && !parse_date (b, TRUE, &last)))
    return refuse (error,
                   "--born needs FROM..TO, each a day of the calendar from "
                   "0001-01-01 to 9999-12-31, a month, a year or nothing",
                   text);
  if (first > last)
    return refuse (error, "--born needs a FROM that is not after its TO", text);
  *from = first;
  *to = last;
  return TRUE;
}

gboolean
person_parse_salary (const char *text, gint32 *min, gint32 *max, GError **error)
{
  g_autofree char *a = NULL, *b = NULL;
  gint32 least = G_MININT32, most = G_MAXINT32;
  if (!cut (text, &a, &b) || (*a && !parse_salary (a, &least))
      || (*b && !parse_salary (b, &most)))
    return refuse (error,
                   "--salary needs MIN..MAX, each a whole number of at most "
                   "31 bits or nothing",
                   text);
  if (least > most)
    return refuse (error, "--salary needs a MIN that is not above its MAX",
                   text);
  *min = least;
  *max = most;
  return TRUE;
}

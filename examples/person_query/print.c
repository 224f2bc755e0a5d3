/* SPDX-License-Identifier: MIT */
/* print.c: persons as lines of text.
   Thread safety: print.h. */
#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "calendar.h"

#define FULL_BYTES (256 << 10)

#define LINE_BYTES 128

/* At least so many digits, and what comes after them. */
static char *
put_number (char *at, gint64 number, guint digits, char after)
{
  char buffer[24];
  guint first = sizeof buffer, n = 0;
  guint64 left = number < 0 ? -(guint64)number : (guint64)number;
  for (; left > 0 || n < digits; left /= 10, n++)
    buffer[--first] = (char)('0' + left % 10);
  if (number < 0)
    *at++ = '-';
  memcpy (at, buffer + first, n);
  at[n] = after;
  return at + n + 1;
}

void
person_append_line (GString *text, const Person *person)
{
  char line[LINE_BYTES], *at = line;
  gint64 year;
  guint month, day;
  at = put_number (at, person->id, 1, '\t');
  for (guint i = 0; i < PERSON_NAME_BYTES && person->name[i]; i++)
    *at++ = g_ascii_iscntrl (person->name[i]) ? '?' : person->name[i];
  *at++ = '\t';
  person_days_to_date (person->birthday, &year, &month, &day);
  at = put_number (at, year, 4, '-');
  at = put_number (at, month, 2, '-');
  at = put_number (at, day, 2, '\t');
  at = put_number (at, person->salary, 1, '\t');
  at = put_number (at, person->department, 1, '\n');
  g_string_append_len (text, line, at - line);
}

static gboolean
failed (const PersonOutput *output, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", output->path,
               g_strerror (errno));
  return FALSE;
}

gboolean
person_output_open (PersonOutput *output, const char *path, GError **error)
{
  output->path = path ? path : "standard output";
  output->text = NULL;
  output->fd = path
                   ? open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                   : STDOUT_FILENO;
  if (output->fd < 0)
    return failed (output, error);
  output->text = g_string_sized_new (FULL_BYTES + 1024);
  return TRUE;
}

static gboolean
flush (PersonOutput *output, GError **error)
{
  for (gsize at = 0; at < output->text->len;)
    {
      gssize n
          = write (output->fd, output->text->str + at, output->text->len - at);
      if (n < 0 && errno != EINTR)
        return failed (output, error);
      at += n > 0 ? (gsize)n : 0;
    }
  g_string_truncate (output->text, 0);
  return TRUE;
}

gboolean
person_output_rows (const PersonTable *table, const guint32 *rows, gsize n_rows,
                    gpointer data, GError **error)
{
  PersonOutput *output = data;
  for (gsize i = 0; i < n_rows; i++)
    {
      person_append_line (output->text, &table->persons[rows[i]]);
      if (output->text->len >= FULL_BYTES && !flush (output, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
person_output_close (PersonOutput *output, GError **error)
{
  gboolean ok = flush (output, error);
  if (output->fd != STDOUT_FILENO && close (output->fd) != 0 && ok)
    ok = failed (output, error);
  g_string_free (output->text, TRUE);
  return ok;
}

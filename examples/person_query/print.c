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

/* 00 to 99: two digits a division, as divisions wait for each other. */
static const char two_digits[] = "00010203040506070809"
                                 "10111213141516171819"
                                 "20212223242526272829"
                                 "30313233343536373839"
                                 "40414243444546474849"
                                 "50515253545556575859"
                                 "60616263646566676869"
                                 "70717273747576777879"
                                 "80818283848586878889"
                                 "90919293949596979899";

static guint
count_digits (guint32 value)
{
  return 1u + (value >= 10) + (value >= 100) + (value >= 1000)
         + (value >= 10000) + (value >= 100000) + (value >= 1000000)
         + (value >= 10000000) + (value >= 100000000) + (value >= 1000000000);
}

/* Writes at least @least digits, and the character after them. */
static char *
put_digits (char *at, guint32 value, guint least, char after)
{
  char *end = at + MAX (count_digits (value), least), *to = end;
  for (; to - at >= 2; value /= 100)
    memcpy (to -= 2, two_digits + value % 100 * 2, 2);
  if (to > at)
    *at = (char)('0' + value % 10);
  *end = after;
  return end + 1;
}

static char *
put_signed (char *at, gint32 value, guint least, char after)
{
  if (value < 0)
    *at++ = '-';
  return put_digits (at, value < 0 ? -(guint32)value : (guint32)value, least,
                     after);
}

/* Copies all bytes of the name and then moves the end: no branch a byte. */
static char *
put_name (char *at, const char *name, char after)
{
  const char *end = memchr (name, '\0', PERSON_NAME_BYTES);
  gsize n = end ? (gsize)(end - name) : PERSON_NAME_BYTES;
  for (guint i = 0; i < PERSON_NAME_BYTES; i++)
    {
      guchar c = (guchar)name[i];
      at[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
  at[n] = after;
  return at + n + 1;
}

char *
person_put_line (char *at, const Person *person)
{
  gint64 year;
  guint month, day;
  at = put_digits (at, person->id, 1, '\t');
  at = put_name (at, person->name, '\t');
  person_days_to_date (person->birthday, &year, &month, &day);
  at = put_signed (at, (gint32)year, 4, '-');
  at = put_digits (at, month, 2, '-');
  at = put_digits (at, day, 2, '\t');
  at = put_signed (at, person->salary, 1, '\t');
  return put_digits (at, person->department, 1, '\n');
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
person_output_text (const char *text, gsize bytes, gpointer data,
                    GError **error)
{
  PersonOutput *output = data;
  g_string_append_len (output->text, text, (gssize)bytes);
  return output->text->len < FULL_BYTES || flush (output, error);
}

gboolean
person_output_rows (const PersonTable *table, const guint32 *rows, gsize n_rows,
                    gpointer data, GError **error)
{
  char line[PERSON_LINE_BYTES];
  for (gsize i = 0; i < n_rows; i++)
    {
      char *end = person_put_line (line, &table->persons[rows[i]]);
      if (!person_output_text (line, (gsize)(end - line), data, error))
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

/* SPDX-License-Identifier: MIT */
/* market.c: reads a symmetric matrix in the Matrix Market format (Boisvert,
   Pozo and Remington 1996), of any size and from any source: each number is
   given once, is finite and has its mirror.

   DESIGN. Places that no line has given hold NaN, which no line may give; so a
   second number for a place is noticed without memory for it. What is still NaN
   in the end is 0.

   Thread safety: one thread. */
#include "cholesky.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The format's own limit, and the end of the line. */
#define MOST_LINE 1026

static gboolean bad (const MarketFile *m, GError **error, const char *format,
                     ...) G_GNUC_PRINTF (3, 4);

static gboolean
bad (const MarketFile *m, GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "%s:%" G_GUINT64_FORMAT ": %s", m->name, m->line, text);
  return FALSE;
}

/* One line, without its end. */
static gboolean
read_line (MarketFile *m, char line[MOST_LINE], GError **error)
{
  m->line++;
  if (!fgets (line, MOST_LINE, m->in))
    return bad (m, error, "%s",
                ferror (m->in) ? g_strerror (errno) : "the file ends here");
  gsize length = strlen (line);
  if (length > 0 && line[length - 1] == '\n')
    line[length - 1] = '\0';
  else if (!feof (m->in))
    return bad (m, error, "longer than 1024 characters, or not a text");
  return TRUE;
}

/* The next one that has something to say. */
static gboolean
read_content (MarketFile *m, char line[MOST_LINE], GError **error)
{
  do
    if (!read_line (m, line, error))
      return FALSE;
  while (line[0] == '%' || line[strspn (line, " \t\r")] == '\0');
  return TRUE;
}

/* Takes a whole number of 0 to @most from the text. */
static gboolean
take_number (char **text, guint64 most, guint64 *number)
{
  char *end;
  *text += strspn (*text, " \t");
  if (!g_ascii_isdigit (**text))
    return FALSE;
  errno = 0;
  *number = g_ascii_strtoull (*text, &end, 10);
  *text = end;
  return errno == 0 && *number <= most
         && (*end == '\0' || g_ascii_isspace (*end));
}

static gboolean
take_value (char **text, double *value)
{
  char *end;
  *value = g_ascii_strtod (*text, &end);
  gboolean ok = end != *text && (*end == '\0' || g_ascii_isspace (*end));
  *text = end;
  return ok;
}

static gboolean
at_end (const char *text)
{
  return text[strspn (text, " \t\r")] == '\0';
}

/* "%%MatrixMarket matrix FORMAT FIELD SYMMETRY", in any case of letters. */
static gboolean
read_banner (MarketFile *m, GError **error)
{
  char line[MOST_LINE], word[5][32];
  if (!read_line (m, line, error))
    return FALSE;
  if (sscanf (line, "%31s %31s %31s %31s %31s", word[0], word[1], word[2],
              word[3], word[4])
          != 5
      || strcmp (word[0], "%%MatrixMarket") != 0
      || g_ascii_strcasecmp (word[1], "matrix") != 0)
    return bad (m, error, "no '%%%%MatrixMarket matrix FORMAT FIELD SYMMETRY'");
  m->array = g_ascii_strcasecmp (word[2], "array") == 0;
  if (!m->array && g_ascii_strcasecmp (word[2], "coordinate") != 0)
    return bad (m, error, "the format is array or coordinate, not '%s'",
                word[2]);
  if (g_ascii_strcasecmp (word[3], "real") != 0
      && g_ascii_strcasecmp (word[3], "integer") != 0)
    return bad (m, error, "the field must be real or integer, not '%s'",
                word[3]);
  m->symmetric = g_ascii_strcasecmp (word[4], "symmetric") == 0;
  if (!m->symmetric && g_ascii_strcasecmp (word[4], "general") != 0)
    return bad (m, error, "the matrix must be symmetric or general, not '%s'",
                word[4]);
  return TRUE;
}

gboolean
market_read_head (MarketFile *m, GError **error)
{
  char line[MOST_LINE], *text = line;
  guint64 cols;
  m->line = 0;
  if (!read_banner (m, error) || !read_content (m, line, error))
    return FALSE;
  if (!take_number (&text, CHOLESKY_MOST_ROWS, &m->n)
      || !take_number (&text, CHOLESKY_MOST_ROWS, &cols))
    return bad (m, error, "no numbers of rows and columns up to %d",
                CHOLESKY_MOST_ROWS);
  if (m->n != cols)
    return bad (m, error,
                "a matrix of %" G_GUINT64_FORMAT " rows and %" G_GUINT64_FORMAT
                " columns is not symmetric",
                m->n, cols);
  guint64 most = m->symmetric ? m->n * (m->n + 1) / 2 : m->n * m->n;
  m->n_entries = most;
  if (!m->array && !take_number (&text, most, &m->n_entries))
    return bad (m, error, "no number of entries up to %" G_GUINT64_FORMAT,
                most);
  return at_end (text) || bad (m, error, "'%s' is too much", text);
}

/* The place after this one in the order of an array. */
static void
step (const MarketFile *m, guint64 *row, guint64 *col)
{
  if (++*row == m->n)
    *row = m->symmetric ? ++*col : (++*col, 0);
}

static gboolean
read_entry (MarketFile *m, const CholeskyProblem *p, guint64 *row, guint64 *col,
            GError **error)
{
  char line[MOST_LINE], *text = line;
  double value;
  if (!read_content (m, line, error))
    return FALSE;
  if (!m->array
      && (!take_number (&text, m->n, row) || !take_number (&text, m->n, col)
          || *row == 0 || *col == 0))
    return bad (m, error, "no row and column from 1 to %" G_GUINT64_FORMAT,
                m->n);
  if (!take_value (&text, &value) || !at_end (text))
    return bad (m, error, "no number, or too much of them");
  if (!isfinite (value)
      || (p->type == HASS_LA_FLOAT && fabs (value) > G_MAXFLOAT))
    return bad (m, error, "%g is out of range", value);
  guint64 i = *row - !m->array, j = *col - !m->array;
  if (m->symmetric && j > i)
    return bad (m, error, "above the diagonal of a symmetric matrix");
  if (!isnan (cholesky_get (p, i, j)))
    return bad (m, error,
                "row %" G_GUINT64_FORMAT ", column %" G_GUINT64_FORMAT
                " for the second time",
                i + 1, j + 1);
  cholesky_set (p, i, j, value);
  if (m->symmetric)
    cholesky_set (p, j, i, value);
  return TRUE;
}

/* All numbers are there: NaN becomes 0, and mirrors are compared. */
static gboolean
finish (const MarketFile *m, const CholeskyProblem *p, GError **error)
{
  for (gsize i = 0; i < p->n * p->n; i++)
    if (isnan (cholesky_get (p, i % p->n, i / p->n)))
      cholesky_set (p, i % p->n, i / p->n, 0);
  for (gsize col = 0; col < p->n && !m->symmetric; col++)
    for (gsize row = 0; row < col; row++)
      {
        double above = cholesky_get (p, row, col);
        double below = cholesky_get (p, col, row);
        if (above != below)
          return bad (m, error,
                      "the matrix is not symmetric: row %zu, column %zu is "
                      "%.17g, and its mirror %.17g",
                      row + 1, col + 1, above, below);
      }
  return TRUE;
}

gboolean
market_read_numbers (MarketFile *m, const CholeskyProblem *p, GError **error)
{
  guint64 row = 0, col = 0;
  char line[MOST_LINE];
  memset (p->a, 0xff, p->n * p->n * cholesky_number_bytes (p));
  for (guint64 i = 0; i < m->n_entries; i++)
    {
      if (!read_entry (m, p, &row, &col, error))
        return FALSE;
      if (m->array)
        step (m, &row, &col);
    }
  if (read_content (m, line, NULL))
    return bad (m, error, "more than %" G_GUINT64_FORMAT " entries",
                m->n_entries);
  if (!feof (m->in))
    return bad (m, error, "something after the last entry");
  return finish (m, p, error);
}

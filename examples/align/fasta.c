/* SPDX-License-Identifier: MIT */
/* fasta.c: see fasta.h.
   Thread safety: as fasta.h. */
#include "fasta.h"

#include <errno.h>
#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *
header_name (const char *line, gsize length)
{
  gsize n = 0;
  while (n < length && !g_ascii_isspace (line[n]))
    n++;
  return g_utf8_make_valid (line, (gssize)n);
}

/* Appends the residues of a line. FALSE: there is something else in it. */
static gboolean
take_residues (FastaRecord *r, const char *line, gsize length)
{
  for (gsize i = 0; i < length; i++)
    if (g_ascii_isalpha (line[i]) || line[i] == '*')
      r->residues[r->length++] = line[i];
    else if (!g_ascii_isspace (line[i]))
      return FALSE;
  return TRUE;
}

/* FALSE: the file could not be read to its end; errno says why. */
static gboolean
read_lines (FastaRecord *r, FILE *file, const char *name, GError **error)
{
  char *line = NULL;
  gsize room = 0, capacity = 0;
  gssize n;
  gboolean ok = TRUE;
  errno = 0;
  for (guint64 number = 1; ok && !r->more; number++)
    {
      if ((n = getline (&line, &room, file)) < 0)
        break;
      if (r->length + (gsize)n > capacity)
        {
          capacity = 2 * capacity + (gsize)n;
          r->residues = g_realloc (r->residues, capacity);
        }
      if (line[0] == '>' && (r->name || r->length > 0))
        r->more = TRUE;
      else if (line[0] == '>')
        r->name = header_name (line + 1, (gsize)n - 1);
      else if (line[0] != ';' && !take_residues (r, line, (gsize)n))
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                       "%s: line %" G_GUINT64_FORMAT
                       " has other characters than letters and '*'",
                       name, number);
          ok = FALSE;
        }
    }
  if (ok && ferror (file))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", name,
                   g_strerror (errno));
      ok = FALSE;
    }
  free (line);
  return ok;
}

gboolean
fasta_read (FastaRecord *r, const char *name, GError **error)
{
  gboolean is_stdin = strcmp (name, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen (name, "rb");
  memset (r, 0, sizeof *r);
  if (!file)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", name,
                   g_strerror (errno));
      return FALSE;
    }
  gboolean ok = read_lines (r, file, is_stdin ? "standard input" : name, error);
  if (!is_stdin)
    fclose (file);
  if (ok && !r->name)
    r->name = g_strdup ("");
  if (!ok)
    fasta_clear (r);
  return ok;
}

void
fasta_clear (FastaRecord *r)
{
  g_free (r->name);
  g_free (r->residues);
  memset (r, 0, sizeof *r);
}

gboolean
fasta_looks_like_dna (const FastaRecord *r)
{
  gsize n = 0;
  for (gsize i = 0; i < r->length; i++)
    n += strchr ("ACGTUN", g_ascii_toupper (r->residues[i])) != NULL;
  return n >= r->length - r->length / 10;
}

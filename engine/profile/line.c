/* SPDX-License-Identifier: MIT */
/* line.c: an entry of the profile store as a line of text.

   DESIGN. Fields are separated by tabs: machine, farm, kind, cost class, device
   and model, which are the entry's key; then the number of runs, the work of a
   unit, when the entry was updated, when its rate last drifted, and a field for
   each sample, rate:latency. Names are escaped as in C, so that they may hold
   any bytes.

   Thread safety: any thread. */
#include "profile-private.h"

#include <string.h>

enum
{
  MACHINE,
  FARM,
  KIND,
  COST,
  DEVICE,
  MODEL,
  RUNS,
  UNIT_WORK,
  UPDATED,
  DRIFTED,
  SAMPLES
};

/* Largest rate, time or work in a line that is accepted, in the unit of its
   field; the least rate is 1 / MOST_NUMBER. Costs are floats, so real values
   are far below, and sums and ratios of a few numbers of this size are finite
   doubles. */
#define MOST_NUMBER 1e100

static const char *const kinds[]
    = { "partition", "combine",  "indivisible", "function",
        "pipeline",  "dataflow", NULL };
static const char *const costs[] = { "equal", "sized", "unknown", NULL };

/* -- Writing ------------------------------------------------------------ */

/* Returns the text with which the line of this entry, and of no other, begins:
   the fields of its key. */
char *
hass_profile_line_key (const HassProfileEntry *e)
{
  guint kind = g_bit_nth_lsf (e->kind, -1);
  g_autofree char *machine = g_strescape (e->machine, NULL);
  g_autofree char *farm = g_strescape (e->farm, NULL);
  g_autofree char *device = g_strescape (e->device, NULL);
  g_autofree char *model = g_strescape (e->model, NULL);
  return g_strdup_printf ("%s\t%s\t%s\t%s\t%s\t%s\t", machine, farm,
                          kinds[kind], costs[e->cost], device, model);
}

static const char *
number (double value, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
  return g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, "%.9g", value);
}

char *
hass_profile_line_new (const HassProfileEntry *e)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *key = hass_profile_line_key (e);
  GString *line = g_string_new (key);
  g_string_append_printf (
      line, "%u\t%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT, e->runs,
      number (e->unit_work, a), e->updated_s, e->drifted_s);
  for (guint i = 0; i < e->n_samples; i++)
    g_string_append_printf (line, "\t%s:%s", number (e->work_per_ns[i], a),
                            number (e->latency_ns[i], b));
  return g_string_free (line, FALSE);
}

/* -- Reading ------------------------------------------------------------ */

static gboolean
find_name (const char *name, const char *const *names, guint *index)
{
  for (guint i = 0; names[i]; i++)
    if (strcmp (name, names[i]) == 0)
      {
        *index = i;
        return TRUE;
      }
  return FALSE;
}

/* Reads a number from 0 to MOST_NUMBER, which the character @after must follow,
   and moves *@text behind that. Returns: FALSE if there is no such number. */
static gboolean
parse_number (const char **text, char after, double *value)
{
  char *end;
  *value = g_ascii_strtod (*text, &end);
  if (end == *text || *end != after || !(*value >= 0 && *value <= MOST_NUMBER))
    return FALSE;
  *text = end + 1;
  return TRUE;
}

static gboolean
parse_samples (char **fields, guint n, HassProfileEntry *e)
{
  if (n == 0 || n > HASS_PROFILE_SAMPLES)
    return FALSE;
  for (e->n_samples = 0; e->n_samples < n; e->n_samples++)
    {
      const char *text = fields[e->n_samples];
      double *rate = &e->work_per_ns[e->n_samples];
      if (!parse_number (&text, ':', rate) || *rate < 1 / MOST_NUMBER
          || !parse_number (&text, 0, &e->latency_ns[e->n_samples]))
        return FALSE;
    }
  return TRUE;
}

/* Returns: FALSE if the name ends with a backslash that escapes nothing, which
   g_strcompress() does not allow. */
static gboolean
is_escaped (const char *name)
{
  for (; *name; name++)
    if (*name == '\\' && *++name == '\0')
      return FALSE;
  return TRUE;
}

/* Reads an entry from a line of the file. Returns: NULL if the line is not
   valid. */
HassProfileEntry *
hass_profile_line_parse (const char *line)
{
  g_auto (GStrv) fields = g_strsplit (line, "\t", -1);
  guint n = g_strv_length (fields), kind = 0, cost = 0;
  guint64 runs = 0;
  if (n <= SAMPLES)
    return NULL;
  HassProfileEntry *e = g_new0 (HassProfileEntry, 1);
  const char *unit_work = fields[UNIT_WORK];
  gboolean ok = is_escaped (fields[MACHINE]) && is_escaped (fields[FARM])
                && is_escaped (fields[DEVICE]) && is_escaped (fields[MODEL])
                && find_name (fields[KIND], kinds, &kind)
                && find_name (fields[COST], costs, &cost)
                && g_ascii_string_to_unsigned (fields[RUNS], 10, 1,
                                               G_MAXUINT - 1, &runs, NULL)
                && parse_number (&unit_work, 0, &e->unit_work)
                && g_ascii_string_to_signed (fields[UPDATED], 10, 0, G_MAXINT64,
                                             &e->updated_s, NULL)
                && g_ascii_string_to_signed (fields[DRIFTED], 10, 0, G_MAXINT64,
                                             &e->drifted_s, NULL)
                && parse_samples (fields + SAMPLES, n - SAMPLES, e);
  if (!ok)
    {
      g_free (e);
      return NULL;
    }
  e->machine = g_strcompress (fields[MACHINE]);
  e->farm = g_strcompress (fields[FARM]);
  e->device = g_strcompress (fields[DEVICE]);
  e->model = g_strcompress (fields[MODEL]);
  e->kind = 1 << kind;
  e->cost = cost;
  e->runs = (guint)runs;
  return e;
}

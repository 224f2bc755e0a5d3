/* SPDX-License-Identifier: MIT */
/* key_file.c: reads key files and says which line is wrong.
   Thread safety: any thread, each with a file of its own. */
#include "key_file.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

/* Returns: the number of the line, from 1, that holds @key in @group, or the
   head of the group if @key is NULL; 0 if there is none. For messages. */
static guint
line_of (const HassKeyFile *r, const char *group, const char *key)
{
  g_auto (GStrv) lines = g_strsplit (r->text, "\n", -1);
  g_autofree char *head = g_strdup_printf ("[%s]", group);
  gboolean inside = FALSE;
  for (guint i = 0; lines[i]; i++)
    {
      char *line = g_strstrip (lines[i]);
      if (*line == '[')
        {
          inside = strcmp (line, head) == 0;
          if (inside && !key)
            return i + 1;
        }
      else if (inside && key && g_str_has_prefix (line, key)
               && strchr (" \t=", line[strlen (key)]))
        return i + 1;
    }
  return 0;
}

gboolean
hass_key_file_broken (const HassKeyFile *r, const char *group, const char *key,
                      GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  guint line = group ? line_of (r, group, key) : 0;
  if (line == 0 && group)
    line = line_of (r, group, NULL);
  g_set_error (error, HASS_ERROR, HASS_ERROR_PLATFORM,
               "%s file %s, line %u: %s", r->what, r->path, MAX (line, 1),
               what);
  return FALSE;
}

/* Returns: what distinguishes the key of a line from those of all groups. */
static char *
key_of (const char *group, const char *line)
{
  return g_strchomp (
      g_strdup_printf ("%s%.*s", group, (int)strcspn (line, "="), line));
}

/* Checks that each line is a group, key, comment or blank, and each key the
   first of its name in its group. Returns: FALSE with an error that names the
   first other line; GKeyFile would only say that there is one, and would take
   the last of equal keys. */
static gboolean
check_lines (const HassKeyFile *r, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (r->text, "\n", -1);
  g_autoptr (GHashTable) keys
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const char *group = NULL;
  for (guint i = 0; lines[i]; i++)
    {
      const char *line = g_strstrip (lines[i]);
      const char *why = NULL;
      if (*line == '\0' || *line == '#')
        continue;
      if (*line == '[')
        {
          if (line[strlen (line) - 1] != ']')
            why = "a group needs a closing ]";
          group = line;
        }
      else if (!strchr (line, '=') || *line == '=')
        why = "neither a [group] nor key = value";
      else if (!group)
        why = "a key before the first [group]";
      else if (!g_hash_table_add (keys, key_of (group, line)))
        why = "the group has this key already";
      if (why)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_PLATFORM,
                       "%s file %s, line %u: '%s': %s", r->what, r->path, i + 1,
                       line, why);
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
hass_key_file_number (const HassKeyFile *r, const char *group, const char *key,
                      HassKeyBounds bounds, double *value, GError **error)
{
  g_autofree char *text = g_key_file_get_value (r->file, group, key, NULL);
  if (!text)
    return !bounds.needed
           || hass_key_file_broken (r, group, NULL, error, "[%s] needs %s",
                                    group, key);
  char *end;
  double v = g_ascii_strtod (text, &end);
  if (end == text || *end != '\0' || !isfinite (v))
    return hass_key_file_broken (r, group, key, error,
                                 "%s = '%s' is not a number", key, text);
  if (v < bounds.min || v > bounds.max)
    return hass_key_file_broken (r, group, key, error,
                                 "%s = %s is not in %.15g to %.15g", key, text,
                                 bounds.min, bounds.max);
  *value = v;
  return TRUE;
}

gboolean
hass_key_file_whole (const HassKeyFile *r, const char *group, const char *key,
                     HassKeyBounds bounds, guint64 *value, GError **error)
{
  double v = *value;
  if (!hass_key_file_number (r, group, key, bounds, &v, error))
    return FALSE;
  if (v != floor (v))
    return hass_key_file_broken (r, group, key, error,
                                 "%s = %.15g is not a whole number", key, v);
  *value = (guint64)v;
  return TRUE;
}

gboolean
hass_key_file_truth (const HassKeyFile *r, const char *group, const char *key,
                     gboolean *value, GError **error)
{
  g_autofree char *text = g_key_file_get_value (r->file, group, key, NULL);
  if (!text)
    return TRUE;
  if (strcmp (text, "yes") && strcmp (text, "no"))
    return hass_key_file_broken (r, group, key, error,
                                 "%s = '%s': yes or no is needed", key, text);
  *value = strcmp (text, "yes") == 0;
  return TRUE;
}

gboolean
hass_key_file_only_keys (const HassKeyFile *r, const char *group,
                         const char *const *known, GError **error)
{
  g_auto (GStrv) keys = g_key_file_get_keys (r->file, group, NULL, NULL);
  for (char **k = keys; k && *k; k++)
    if (!g_strv_contains (known, *k))
      {
        g_autofree char *list = g_strjoinv (", ", (char **)known);
        return hass_key_file_broken (r, group, *k, error,
                                     "[%s] knows no key '%s'; known are %s",
                                     group, *k, list);
      }
  return TRUE;
}

/* Reads the key file at @path; messages call its kind @what. Returns: FALSE
   with HASS_ERROR_PLATFORM or HASS_ERROR_IO; there is nothing to close then. */
gboolean
hass_key_file_open (HassKeyFile *r, const char *what, const char *path,
                    GError **error)
{
  GError *inner = NULL;
  *r = (HassKeyFile){ .what = what, .path = path };
  if (!g_file_get_contents (path, &r->text, NULL, &inner))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s file: %s", what,
                   inner->message);
      g_clear_error (&inner);
      return FALSE;
    }
  r->file = g_key_file_new ();
  gboolean ok = check_lines (r, error);
  if (ok
      && !g_key_file_load_from_data (r->file, r->text, strlen (r->text), 0,
                                     &inner))
    {
      ok = hass_key_file_broken (r, NULL, NULL, error, "%s", inner->message);
      g_clear_error (&inner);
    }
  if (!ok)
    hass_key_file_close (r);
  return ok;
}

void
hass_key_file_close (HassKeyFile *r)
{
  g_clear_pointer (&r->file, g_key_file_free);
  g_clear_pointer (&r->text, g_free);
}

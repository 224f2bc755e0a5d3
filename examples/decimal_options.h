/* SPDX-License-Identifier: MIT */
/* decimal_options.h: parses a command line with GOption, but whole numbers are
   decimal: GOption alone takes 010 as 8.
   Thread safety: single-threaded, at start-up. */
#ifndef HASS_EXAMPLES_DECIMAL_OPTIONS_H
#define HASS_EXAMPLES_DECIMAL_OPTIONS_H

#include <glib.h>

static inline gboolean
decimal_option_set (const GOptionEntry *entry, const char *text, GError **error)
{
  gboolean wide = entry->arg == G_OPTION_ARG_INT64;
  gint64 least = wide ? G_MININT64 : G_MININT;
  gint64 most = wide ? G_MAXINT64 : G_MAXINT, value;
  if (!g_ascii_string_to_signed (text, 10, least, most, &value, NULL))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--%s %s: a whole number from %" G_GINT64_FORMAT
                   " to %" G_GINT64_FORMAT " is needed",
                   entry->long_name, text, least, most);
      return FALSE;
    }
  if (wide)
    *(gint64 *)entry->arg_data = value;
  else
    *(gint *)entry->arg_data = (gint)value;
  return TRUE;
}

/* Adds @entries to @context and parses, as g_option_context_parse does. */
static inline gboolean
decimal_options_parse (GOptionContext *context, const GOptionEntry *entries,
                       int *argc, char ***argv, GError **error)
{
  guint n = 0;
  while (entries[n].long_name)
    n++;
  g_autofree GOptionEntry *asked = g_memdup2 (entries, (n + 1) * sizeof *asked);
  g_autofree char **texts = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++)
    if (entries[i].arg == G_OPTION_ARG_INT
        || entries[i].arg == G_OPTION_ARG_INT64)
      {
        asked[i].arg = G_OPTION_ARG_STRING;
        asked[i].arg_data = &texts[i];
      }
  g_option_context_add_main_entries (context, asked, NULL);
  gboolean ok = g_option_context_parse (context, argc, argv, error);
  for (guint i = 0; i < n; i++)
    {
      ok = ok
           && (!texts[i] || decimal_option_set (&entries[i], texts[i], error));
      g_free (texts[i]);
    }
  return ok;
}

#endif

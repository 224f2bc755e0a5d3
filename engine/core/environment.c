/* SPDX-License-Identifier: MIT */
/* environment.c: reads and checks the HASS_* variables; doc/environment.md
   lists them.
   Thread safety: see environment.h. */
#include "environment.h"

#include <string.h>

#include "hass/error.h"

static const char *const known[] = { "HASS_DATADIR", "HASS_DEVICES",
                                     "HASS_DOT",     "HASS_EXPLAIN",
                                     "HASS_GPU_MEM", "HASS_NCPU",
                                     "HASS_NGPU",    "HASS_PLATFORM",
                                     "HASS_PROFILE", "HASS_RECORD",
                                     "HASS_REPORT",  "HASS_STRATEGY",
                                     "HASS_TRACE",   NULL };

/* Warns on stderr of each environment variable HASS_* that is not known, which
   may be misspelt. */
static void
warn_of_unknown (void)
{
  g_auto (GStrv) names = g_listenv ();
  for (char **n = names; *n; n++)
    if (g_str_has_prefix (*n, "HASS_") && !g_strv_contains (known, *n))
      {
        g_autofree char *list = g_strjoinv (", ", (char **)known);
        g_printerr ("hass: environment variable %s is not known; known are "
                    "%s\n",
                    *n, list);
      }
}

/* Checks the values of the numeric variables, and the names of all on the first
   call. An empty value counts as not set. */
gboolean
hass_environment_check (GError **error)
{
  static gsize once;
  guint64 unused;
  if (g_once_init_enter (&once))
    {
      warn_of_unknown ();
      g_once_init_leave (&once, 1);
    }
  return hass_environment_uint ("HASS_NCPU", 1, 4096, &unused, error)
         && hass_environment_uint ("HASS_NGPU", 0, 64, &unused, error);
}

/* Reads an environment variable as a whole number from @min to @max into
   @value, which is left as it is when the variable is not set. Returns: FALSE
   with an error if it is no such number. */
gboolean
hass_environment_uint (const char *name, guint64 min, guint64 max,
                       guint64 *value, GError **error)
{
  const char *text = g_getenv (name);
  GError *inner = NULL;
  if (!text || !*text)
    return TRUE;
  if (g_ascii_string_to_unsigned (text, 10, min, max, value, &inner))
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "%s='%s': a whole number from %" G_GUINT64_FORMAT
               " to %" G_GUINT64_FORMAT " is needed",
               name, text, min, max);
  g_clear_error (&inner);
  return FALSE;
}

/* SPDX-License-Identifier: MIT */
/* list.c: lists of strategies, of which each serves other kinds of farms.
   Thread safety: any thread. */
#include <string.h>

#include "registry.h"

static gboolean
is_parameter (const char *part)
{
  return part[strcspn (part, "=:")] == '=';
}

char **
hass_strategy_split (const char *list)
{
  g_auto (GStrv) parts = g_strsplit (list, ",", -1);
  GPtrArray *specs = g_ptr_array_new ();
  for (guint i = 0; parts[i];)
    {
      GString *spec = g_string_new (parts[i++]);
      for (; parts[i] && is_parameter (parts[i]); i++)
        g_string_append_printf (spec, ",%s", parts[i]);
      g_ptr_array_add (specs, g_string_free (spec, FALSE));
    }
  g_ptr_array_add (specs, NULL);
  return (char **)g_ptr_array_free (specs, FALSE);
}

gboolean
hass_strategy_choose (const char *list, HassFarmKind farm, char **spec,
                      GError **error)
{
  g_auto (GStrv) specs = hass_strategy_split (list);
  const char *chosen = NULL;
  *spec = NULL;
  for (char **s = specs; *s; s++)
    {
      const HassStrategyOps *ops = hass_strategy_parse (*s, NULL, error);
      if (!ops)
        return FALSE;
      if (!chosen && ops->farms & farm)
        chosen = *s;
    }
  *spec = g_strdup (chosen);
  return TRUE;
}

char *
hass_strategy_serving (HassFarmKind farm)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  GString *names = g_string_new (NULL);
  for (guint i = 0; all[i]; i++)
    if (all[i]->farms & farm)
      g_string_append_printf (names, "%s%s", names->len ? ", " : "",
                              all[i]->name);
  return g_string_free (names, FALSE);
}

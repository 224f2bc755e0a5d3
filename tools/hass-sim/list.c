/* SPDX-License-Identifier: MIT */
/* list.c: lists strategies, platforms, workloads and suites, and parses lists
   of strategies.
   Thread safety: one thread. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "device/model/key_file.h"
#include "device/model/shipped.h"
#include "hass/error.h"
#include "sched/registry.h"

static void
list_files (const char *kind, const char *group)
{
  g_auto (GStrv) names = hass_shipped_names (kind);
  printf ("\n%s:\n", kind);
  for (char **n = names; *n; n++)
    {
      g_autofree char *path = hass_shipped_find (kind, *n, NULL);
      HassKeyFile k;
      g_autofree char *source = NULL;
      if (path && hass_key_file_open (&k, kind, path, NULL))
        {
          source = g_key_file_get_value (k.file, group, "source", NULL);
          hass_key_file_close (&k);
        }
      printf ("  %-22s %s\n", *n, source ? source : "");
    }
}

static void
list_suites (const char *title, char **names)
{
  printf ("\n%s:\n", title);
  for (char **s = names; *s; s++)
    {
      g_auto (GStrv) members = sim_suite (*s, NULL);
      g_autofree char *text = members ? g_strjoinv (" ", members) : NULL;
      printf ("  %-12s %s\n", *s, text ? text : "");
    }
}

void
sim_print_list (void)
{
  g_autofree const HassStrategyOps **list = hass_strategy_list ();
  puts ("strategies:");
  for (guint i = 0; list[i]; i++)
    printf ("  %-22s %s%s%s%s\n", list[i]->name, list[i]->summary,
            list[i]->source ? " (" : "", list[i]->source ? list[i]->source : "",
            list[i]->source ? ")" : "");
  printf ("  %-22s %s\n", "oracle",
          "the best static split in steps of 1 %, found by search");
  list_files ("platforms", "platform");
  list_files ("workloads", "workload");
  g_auto (GStrv) suites = sim_suite_names ();
  g_auto (GStrv) hard = sim_hard_suite_names ();
  list_suites ("suites", suites);
  list_suites ("hard suites, not among all", hard);
}

char **
sim_strategies (const char *text, gboolean oracle, GError **error)
{
  g_auto (GStrv) asked = hass_strategy_split (text);
  GPtrArray *list = g_ptr_array_new_with_free_func (g_free);
  gboolean ok = TRUE;
  for (char **a = asked; *a && ok; a++)
    {
      g_autofree char *name = g_strndup (*a, strcspn (*a, ":"));
      if (strcmp (name, "all") == 0)
        {
          g_autofree const HassStrategyOps **all = hass_strategy_list ();
          for (guint i = 0; all[i]; i++)
            if (strcmp (all[i]->name, "static") != 0)
              g_ptr_array_add (list, g_strdup (all[i]->name));
          if (oracle)
            g_ptr_array_add (list, g_strdup ("oracle"));
          continue;
        }
      ok = strcmp (name, "oracle") == 0 || strcmp (name, SIM_MAPPINGS) == 0
           || hass_strategy_find (name, error);
      g_ptr_array_add (list, g_strdup (*a));
    }
  if (ok && list->len == 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "no strategy is named; see --list");
      ok = FALSE;
    }
  if (!ok)
    {
      g_ptr_array_unref (list);
      return NULL;
    }
  g_ptr_array_add (list, NULL);
  g_ptr_array_set_free_func (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

/* Of a farm of a kind that it serves, gpu-only does not serve one on cores
   alone. */
gboolean
sim_unfit (const char *strategy, HassFarmKind farm, const GError *error)
{
  const HassStrategyOps *ops = hass_strategy_parse (strategy, NULL, NULL);
  return ops
         && (!(ops->farms & farm)
             || (strcmp (ops->name, "gpu-only") == 0
                 && g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_DEVICE)));
}

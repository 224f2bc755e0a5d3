/* SPDX-License-Identifier: MIT */
/* profile.c: the profile store as text.
   Thread safety: any thread. */
#include <string.h>

#include "hass/profile.h"
#include "info.h"
#include "table.h"

const char *
info_kind_name (HassFarmKind kind)
{
  return kind == HASS_FARM_PARTITION     ? "partition"
         : kind == HASS_FARM_COMBINE     ? "combine"
         : kind == HASS_FARM_INDIVISIBLE ? "indivisible"
         : kind == HASS_FARM_FUNCTION    ? "function"
         : kind == HASS_FARM_DATAFLOW    ? "dataflow"
                                         : "pipeline";
}

const char *
info_cost_name (HassCostClass cost)
{
  return cost == HASS_COST_EQUAL   ? "equal"
         : cost == HASS_COST_SIZED ? "sized"
                                   : "unknown";
}

static void
add_entry (InfoTable *t, const HassProfileEntry *e)
{
  HassProfileRate rate = hass_profile_entry_rate (e);
  g_autoptr (GDateTime) when = g_date_time_new_from_unix_local (e->updated_s);
  g_autofree char *day = when ? g_date_time_format (when, "%F") : NULL;
  info_table_add (t, "%s", e->farm);
  info_table_add (t, "%s", info_kind_name (e->kind));
  info_table_add (t, "%s", info_cost_name (e->cost));
  info_table_add (t, "%s", e->device);
  info_table_add (t, "%.4g", rate.work_per_ns * 1e3);
  if (rate.latency_ns > 0)
    info_table_add (t, "%.1f", rate.latency_ns * 1e-3);
  else
    info_table_add (t, "-");
  info_table_add (t, "%u", e->runs);
  info_table_add (t, "%s", day ? day : "-");
  info_table_add (t, "%s", e->model);
}

/* Prints the entries of one machine, from @first. Returns: the next entry. */
static guint
print_machine (const GPtrArray *entries, guint first, GString *out)
{
  static const char *const head[]
      = { "farm",        "kind", "costs",    "device", "work/us",
          "latency, us", "runs", "last run", "model" };
  const HassProfileEntry *e = entries->pdata[first];
  const char *machine = e->machine;
  InfoTable t = info_table_new (G_N_ELEMENTS (head), FALSE);
  gboolean ours = strcmp (machine, hass_profile_machine ()) == 0;
  g_string_append_printf (out, "\n%s%s\n", machine,
                          ours ? " (this machine)" : "");
  for (guint i = 0; i < G_N_ELEMENTS (head); i++)
    info_table_add (&t, "%s", head[i]);
  for (; first < entries->len; first++)
    {
      e = entries->pdata[first];
      if (strcmp (e->machine, machine) != 0)
        break;
      add_entry (&t, e);
    }
  info_table_print (&t, out);
  return first;
}

/* path: NULL: the store is off. entries: HassProfileEntry. Free with
   g_free (). */
char *
info_profile_text (const char *path, const GPtrArray *entries)
{
  GString *out = g_string_new ("Profile store\n");
  g_string_append_printf (out, "  %s\n", path ? path : "off, by HASS_PROFILE");
  if (path && entries->len == 0)
    g_string_append (out, "  nothing is remembered yet: only farms that have a "
                          "name are\n");
  for (guint i = 0; i < entries->len;)
    i = print_machine (entries, i, out);
  return g_string_free (out, FALSE);
}

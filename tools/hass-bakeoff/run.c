/* SPDX-License-Identifier: MIT */
/* run.c: runs the program under a strategy and reads the reports of its farms.
   Thread safety: see bakeoff.h. */
#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bakeoff.h"
#include "engine/observe/observe-private.h"
#include "sched/registry.h"

/* -- Entries ------------------------------------------------------------ */

static void
clear_device (gpointer data)
{
  g_free (((BakeoffDevice *)data)->name);
}

BakeoffEntry *
bakeoff_entry_new (const char *spec)
{
  BakeoffEntry *entry = g_new0 (BakeoffEntry, 1);
  entry->spec = g_strdup (spec);
  entry->farm_s = g_array_new (FALSE, FALSE, sizeof (double));
  entry->program_s = g_array_new (FALSE, FALSE, sizeof (double));
  entry->devices = g_array_new (FALSE, FALSE, sizeof (BakeoffDevice));
  g_array_set_clear_func (entry->devices, clear_device);
  return entry;
}

void
bakeoff_entry_free (BakeoffEntry *entry)
{
  g_free (entry->spec);
  g_free (entry->problem);
  g_array_unref (entry->farm_s);
  g_array_unref (entry->program_s);
  g_array_unref (entry->devices);
  g_free (entry);
}

static gboolean
add_spec (GPtrArray *specs, char *spec, GError **error)
{
  g_autofree char *owned = spec;
  gboolean twice = FALSE;
  for (guint i = 0; i < specs->len; i++)
    twice |= !strcmp (specs->pdata[i], spec);
  if (*spec && *spec != ':' && !twice)
    {
      g_ptr_array_add (specs, g_steal_pointer (&owned));
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               twice ? "strategy '%s' is there twice"
                     : "'%s' in the list of strategies has no name",
               spec);
  return FALSE;
}

char **
bakeoff_specs (const char *list, guint kinds, GError **error)
{
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func (g_free);
  if (!strcmp (list, "all"))
    {
      g_autofree const HassStrategyOps **all = hass_strategy_list ();
      for (guint i = 0; all[i]; i++)
        if (kinds == 0 || all[i]->farms & kinds)
          g_ptr_array_add (specs, g_strdup (all[i]->name));
    }
  else
    {
      g_auto (GStrv) parts = hass_strategy_split (*list ? list : ",");
      for (char **part = parts; *part; part++)
        if (!add_spec (specs, g_strdup (*part), error))
          return NULL;
    }
  g_ptr_array_add (specs, NULL);
  return (char **)g_ptr_array_steal (specs, NULL);
}

/* Returns: the value of HASS_STRATEGY for "a+b:x=1e+3": a plus sign that a
   letter follows is no part of a number. Free with g_free(). */
static char *
variable_of (const char *spec)
{
  char *list = g_strdup (spec);
  for (char *c = list; *c; c++)
    if (*c == '+' && g_ascii_isalpha (c[1]))
      *c = ',';
  return list;
}

/* Returns whether a strategy is one of the entry. */
static gboolean
has_strategy (const BakeoffEntry *entry, const char *name)
{
  g_autofree char *list = variable_of (entry->spec);
  g_auto (GStrv) specs = hass_strategy_split (list);
  gboolean found = FALSE;
  for (char **spec = specs; *spec; spec++)
    {
      gsize length = strcspn (*spec, ":");
      found |= strlen (name) == length && !strncmp (name, *spec, length);
    }
  return found;
}

/* Returns whether a strategy of the entry serves one of these kinds of farms,
   or may: it is not known what strategies the program registers. */
static gboolean
may_serve (const BakeoffEntry *entry, guint kinds)
{
  g_autofree char *list = variable_of (entry->spec);
  g_auto (GStrv) specs = hass_strategy_split (list);
  gboolean may = kinds == 0;
  for (char **spec = specs; *spec; spec++)
    {
      g_autofree char *name = g_strndup (*spec, strcspn (*spec, ":"));
      const HassStrategyOps *ops = hass_strategy_find (name, NULL);
      may |= !ops || ops->farms & kinds;
    }
  return may;
}

/* -- Reports ------------------------------------------------------------ */

/* The reports of the farms of a run. */
typedef struct
{
  gboolean counts;         /* the run is no warm-up */
  guint n_farms, n_served; /* farms; farms under the requested strategy */
  guint kinds;             /* of the farms */
  double makespan_s;
  char *error;    /* of the last farm that failed, or NULL */
  char *strategy; /* another strategy that a farm used, or NULL */
} Reports;

static void
add_work (BakeoffEntry *entry, JsonObject *device)
{
  const char *name = json_object_get_string_member (device, "name");
  double work = json_object_get_double_member (device, "work");
  for (guint i = 0; i < entry->devices->len; i++)
    {
      BakeoffDevice *d = &g_array_index (entry->devices, BakeoffDevice, i);
      if (!strcmp (d->name, name))
        {
          d->work += work;
          return;
        }
    }
  BakeoffDevice d = { g_strdup (name), work };
  g_array_append_val (entry->devices, d);
}

/* Returns: the kind of farm that a report names, or 0. */
static guint
kind_of (JsonObject *o)
{
  const char *kind = json_object_get_string_member_with_default (o, "kind", "");
  for (guint k = HASS_FARM_PARTITION; k <= HASS_FARM_DATAFLOW; k <<= 1)
    if (!strcmp (kind, hass_farm_kind_text (k)))
      return k;
  return 0;
}

char *
bakeoff_noun (guint kinds, guint n)
{
  static const struct
  {
    guint kinds;
    const char *name;
  } nouns[] = { { HASS_FARM_ANY, "farm" },
                { HASS_FARM_PIPELINE, "pipeline" },
                { HASS_FARM_DATAFLOW, "dataflow" } };
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (nouns); i++)
    if ((kinds ? kinds : HASS_FARM_ANY) & nouns[i].kinds)
      g_string_append_printf (text, "%s%s%s", text->len > 0 ? " and " : "",
                              nouns[i].name, n == 1 ? "" : "s");
  return g_string_free (text, FALSE);
}

/* @entry: NULL: only what kinds of farms there are is wanted. */
static void
read_report (BakeoffEntry *entry, JsonObject *o, Reports *r)
{
  const char *error
      = json_object_get_string_member_with_default (o, "error", NULL);
  const char *strategy
      = json_object_get_string_member_with_default (o, "strategy", NULL);
  if (error)
    {
      g_free (r->error);
      r->error = g_strdup (error);
    }
  if (!strategy)
    return;
  r->n_farms++;
  r->kinds |= kind_of (o);
  if (!entry)
    return;
  r->makespan_s += json_object_get_double_member (o, "makespan_s");
  if (has_strategy (entry, strategy))
    r->n_served++;
  else
    {
      g_free (r->strategy);
      r->strategy = g_strdup (strategy);
    }
  JsonArray *devices = json_object_get_array_member (o, "devices");
  for (guint i = 0; r->counts && i < json_array_get_length (devices); i++)
    add_work (entry, json_array_get_object_element (devices, i));
}

static void
read_reports (BakeoffEntry *entry, const char *path, Reports *r)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line; line++)
    {
      g_autoptr (JsonNode) node
          = **line ? json_from_string (*line, NULL) : NULL;
      if (node && JSON_NODE_HOLDS_OBJECT (node))
        read_report (entry, json_node_get_object (node), r);
    }
}

/* -- A run -------------------------------------------------------------- */

static char *
last_line (char *text)
{
  g_strchomp (text);
  char *at = strrchr (text, '\n');
  return at ? at + 1 : text;
}

/* Returns: why a run does not count, or NULL. */
static char *
problem_of (const BakeoffEntry *entry, const Reports *r, const BakeoffExit *e,
            double limit_s)
{
  const char *said = r->error ? r->error : last_line (e->err);
  int status = e->status;
  if (e->ended_by != 0)
    return g_strdup_printf (
        "not over within the limit of %g s: %s%s%s", limit_s,
        e->survived              ? "it does not even end by SIGKILL"
        : e->ended_by == SIGKILL ? "ended by SIGKILL, as SIGTERM did not end it"
                                 : "ended by SIGTERM",
        *said ? ": " : "", said);
  if (WIFSIGNALED (status))
    return g_strdup_printf ("the program ended by signal %d (%s)%s%s",
                            WTERMSIG (status), g_strsignal (WTERMSIG (status)),
                            *said ? ": " : "", said);
  if (WEXITSTATUS (status) != 0)
    return g_strdup_printf ("the program ended with status %d%s%s",
                            WEXITSTATUS (status), *said ? ": " : "", said);
  if (r->error)
    return g_strdup (r->error);
  if (r->n_farms == 0 || r->n_served > 0)
    return NULL;
  g_autofree char *noun = bakeoff_noun (r->kinds, 2);
  if (!may_serve (entry, r->kinds))
    return g_strdup_printf ("%s does not serve the program's %s, which ran "
                            "under '%s'",
                            entry->spec, noun, r->strategy);
  return g_strdup_printf ("its %s ran under '%s': the program chooses its "
                          "strategy itself",
                          noun, r->strategy);
}

/* Runs the program and reads its reports. @entry: NULL: under no strategy of
   hass-bakeoff. @r: filled; see also clear_run(). */
static gboolean
run_once (BakeoffEntry *entry, char **program, double limit_s, Reports *r,
          BakeoffExit *e, GError **error)
{
  g_autofree char *report = NULL;
  g_autofree char *list = entry ? variable_of (entry->spec) : NULL;
  int fd = g_file_open_tmp ("hass-bakeoff-XXXXXX", &report, error);
  if (fd < 0)
    return FALSE;
  close (fd);
  g_auto (GStrv) environment = g_get_environ ();
  environment
      = list ? g_environ_setenv (environment, "HASS_STRATEGY", list, TRUE)
             : g_environ_unsetenv (environment, "HASS_STRATEGY");
  environment = g_environ_setenv (environment, "HASS_REPORT", report, TRUE);
  gboolean ok = bakeoff_spawn (program, environment, limit_s, e, error);
  if (ok)
    read_reports (entry, report, r);
  g_unlink (report);
  return ok;
}

/* Frees what a run left, and ends hass-bakeoff by the signal that it got
   meanwhile. */
static void
clear_run (Reports *r, BakeoffExit *e)
{
  if (e->told_to_end != 0)
    raise (e->told_to_end);
  g_free (e->err);
  g_free (r->error);
  g_free (r->strategy);
}

gboolean
bakeoff_run (BakeoffEntry *entry, char **program, double limit_s, guint round,
             GError **error)
{
  Reports r = { .counts = round > 0 };
  BakeoffExit e = { 0 };
  gboolean ok = run_once (entry, program, limit_s, &r, &e, error);
  if (ok)
    {
      entry->problem = problem_of (entry, &r, &e, limit_s);
      entry->failed_round = round;
      entry->n_farms = r.n_farms;
      entry->kinds = r.kinds;
    }
  if (ok && !entry->problem && round > 0)
    {
      g_array_append_val (entry->program_s, e.seconds);
      g_array_append_val (entry->farm_s, r.makespan_s);
    }
  clear_run (&r, &e);
  return ok;
}

gboolean
bakeoff_kinds (char **program, double limit_s, guint *kinds, GError **error)
{
  Reports r = { 0 };
  BakeoffExit e = { 0 };
  gboolean ok = run_once (NULL, program, limit_s, &r, &e, error);
  *kinds = r.kinds;
  clear_run (&r, &e);
  return ok;
}

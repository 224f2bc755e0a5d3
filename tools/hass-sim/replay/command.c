/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --replay: a recorded farm under one strategy
   after the other, as a table, JSON or CSV.
   Thread safety: one thread. */
#include "command.h"
#include "engine/observe/json-private.h"

#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "hass/error.h"
#include "replay.h"
#include "tools/hass-sim/csv.h"
#include "tools/hass-sim/sim.h"

typedef struct
{
  char *strategy, *refused; /* either the report or why there is none */
  gboolean unfit;           /* the strategy does not serve the farm */
  HassReport *report;
} Outcome;

static void
outcome_free (gpointer data)
{
  Outcome *o = data;
  g_free (o->strategy);
  g_free (o->refused);
  g_clear_pointer (&o->report, hass_report_free);
  g_free (o);
}

/* Returns: the requested farm, from 1; 0: the longest that did not fail. */
static const RecordFarm *
choose_farm (const GPtrArray *farms, const SimReplay *s, GError **error)
{
  const RecordFarm *longest = NULL;
  if (s->farm > farms->len)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "record file %s holds %u farms: there is no farm %u",
                   s->path, farms->len, s->farm);
      return NULL;
    }
  if (s->farm > 0)
    return farms->pdata[s->farm - 1];
  for (guint i = 0; i < farms->len; i++)
    {
      const RecordFarm *f = farms->pdata[i];
      if (!f->failed && (!longest || f->makespan > longest->makespan))
        longest = f;
    }
  return longest ? longest : farms->pdata[0];
}

static ReplayMachine *
choose_machine (const Replay *replay, const SimReplay *s, GError **error)
{
  ReplayMachine *m = s->platform
                         ? replay_machine_of (replay, s->platform, error)
                         : replay_machine (replay);
  for (char **c = s->changes; m && c && *c; c++)
    if (!replay_change (m, *c, error))
      g_clear_pointer (&m, replay_machine_free);
  return m;
}

/* Leaves out the strategies that do not serve the farm, unless none does: then
   each says so. Returns: whether a strategy is left that did not run. */
static gboolean
leave_out_unfit (GPtrArray *all)
{
  gboolean any = FALSE, refused = FALSE;
  for (guint i = 0; i < all->len; i++)
    any |= !((Outcome *)all->pdata[i])->unfit;
  for (guint i = all->len; i > 0; i--)
    {
      const Outcome *o = all->pdata[i - 1];
      if (any && o->unfit)
        g_ptr_array_remove_index (all, i - 1);
      else
        refused |= o->refused != NULL;
    }
  return refused;
}

static GPtrArray *
run_all (const ReplayMachine *m, const SimReplay *s)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (outcome_free);
  char *recorded[] = { m->replay->farm->strategy, NULL };
  for (char **name = s->strategies ? s->strategies : recorded; *name; name++)
    {
      Outcome *o = g_new0 (Outcome, 1);
      GError *error = NULL;
      o->strategy = g_strdup (*name);
      if (!replay_run (m, *name, s->seed, &o->report, &error))
        {
          g_clear_pointer (&o->report, hass_report_free);
          o->refused = g_strdup (error->message);
          o->unfit = sim_unfit (*name, m->replay->farm->kind, error);
          g_clear_error (&error);
        }
      g_ptr_array_add (all, o);
    }
  return all;
}

/* -- Output ------------------------------------------------------------- */

static const char *
kind_of (const RecordFarm *f)
{
  return f->kind == HASS_FARM_PARTITION     ? "partition"
         : f->kind == HASS_FARM_COMBINE     ? "combine"
         : f->kind == HASS_FARM_INDIVISIBLE ? "indivisible"
                                            : "function";
}

static double
share (const HassReport *r, guint d)
{
  return r->work > 0 ? r->devices[d].work / r->work : 0;
}

static void
print_table (const Replay *replay, const GPtrArray *all)
{
  const RecordFarm *f = replay->farm;
  printf ("farm '%s' of %s, line %u: %s, %s on %s, %s, strategy %s\n", f->farm,
          f->path, f->line, kind_of (f), f->live ? "live" : "virtual time",
          f->live ? f->host : f->platform, f->date, f->strategy);
  printf ("%" G_GUINT64_FORMAT " units in %u rounds took %.3f ms\n", f->n_units,
          replay->n_rounds, f->makespan * 1e-6);
  for (guint i = 0; i < replay->notes->len; i++)
    printf ("  %s\n", (char *)replay->notes->pdata[i]);
  printf ("\n%-24s %12s %10s  %s\n", "strategy", "makespan", "of record",
          "shares of the work");
  for (guint i = 0; i < all->len; i++)
    {
      const Outcome *o = all->pdata[i];
      if (o->refused)
        {
          printf ("%-24s %s\n", o->strategy, o->refused);
          continue;
        }
      printf ("%-24s %9.3f ms %8.2f %%  ", o->strategy,
              o->report->makespan_s * 1e3,
              100 * o->report->makespan_s * 1e9 / f->makespan);
      for (guint d = 0; d < o->report->n_devices; d++)
        printf ("%s%s %.1f %%", d > 0 ? ", " : "", o->report->devices[d].name,
                100 * share (o->report, d));
      printf ("\n");
    }
}

static void
print_csv (const Replay *replay, const GPtrArray *all)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE];
  printf ("record,farm,recorded_s,strategy,makespan_s\n");
  for (guint i = 0; i < all->len; i++)
    {
      const Outcome *o = all->pdata[i];
      if (o->report)
        {
          sim_csv_text (replay->farm->path);
          sim_csv_text (replay->farm->farm);
          printf ("%s,", g_ascii_formatd (a, sizeof a, "%.9g",
                                          replay->farm->makespan * 1e-9));
          sim_csv_text (o->strategy);
          printf ("%s\n",
                  g_ascii_formatd (a, sizeof a, "%.9g", o->report->makespan_s));
        }
    }
}

static void
add_outcome (JsonBuilder *j, const Outcome *o)
{
  json_builder_begin_object (j);
  json_add_string (j, "strategy", o->strategy);
  if (o->refused)
    json_add_string (j, "refused", o->refused);
  else
    {
      json_add_double (j, "makespan_s", o->report->makespan_s);
      json_builder_set_member_name (j, "devices");
      json_builder_begin_array (j);
      for (guint d = 0; d < o->report->n_devices; d++)
        {
          const HassDeviceReport *v = &o->report->devices[d];
          json_builder_begin_object (j);
          json_add_string (j, "name", v->name);
          json_add_double (j, "share", share (o->report, d));
          json_add_double (j, "busy_s", v->busy_s);
          json_add_double (j, "bundles", v->bundles);
          json_builder_end_object (j);
        }
      json_builder_end_array (j);
    }
  json_builder_end_object (j);
}

static void
print_json (const Replay *replay, const GPtrArray *all)
{
  const RecordFarm *f = replay->farm;
  g_autoptr (JsonBuilder) j = json_builder_new ();
  json_builder_begin_object (j);
  json_add_string (j, "record", f->path);
  json_add_string (j, "farm", f->farm);
  json_add_string (j, "recorded_strategy", f->strategy);
  json_add_double (j, "recorded_s", f->makespan * 1e-9);
  json_builder_set_member_name (j, "notes");
  json_builder_begin_array (j);
  for (guint i = 0; i < replay->notes->len; i++)
    json_builder_add_string_value (j, replay->notes->pdata[i]);
  json_builder_end_array (j);
  json_builder_set_member_name (j, "replays");
  json_builder_begin_array (j);
  for (guint i = 0; i < all->len; i++)
    add_outcome (j, all->pdata[i]);
  json_builder_end_array (j);
  json_builder_end_object (j);
  g_autofree char *text = json_text (j, TRUE);
  printf ("%s\n", text);
}

/* Replays a record and prints the results. Returns: FALSE with an error if the
   record, the platform or a change is invalid; *failed: some strategy did not
   run. */
gboolean
sim_replay (const SimReplay *s, gboolean *failed, GError **error)
{
  GPtrArray *farms = record_read (s->path, error);
  const RecordFarm *farm = farms ? choose_farm (farms, s, error) : NULL;
  Replay *replay = farm ? replay_fit (farm, error) : NULL;
  ReplayMachine *m = replay ? choose_machine (replay, s, error) : NULL;
  if (m)
    {
      g_autoptr (GPtrArray) all = run_all (m, s);
      *failed |= leave_out_unfit (all);
      if (s->output == 'j')
        print_json (replay, all);
      else if (s->output == 'c')
        print_csv (replay, all);
      else
        print_table (replay, all);
    }
  gboolean ok = m != NULL;
  if (m)
    replay_machine_free (m);
  if (replay)
    replay_free (replay);
  if (farms)
    g_ptr_array_unref (farms);
  return ok;
}

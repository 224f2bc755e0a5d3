/* SPDX-License-Identifier: MIT */
/* show.c: the outcome as a table and as JSON.
   Thread safety: any thread. */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "bakeoff.h"
#include "engine/observe/json-private.h"
#include "draw/svg.h"

#define NAMED 4 /* maximum number of strategies in a sentence */

static const BakeoffRank *
rank_at (const BakeoffOutcome *o, guint i)
{
  return &g_array_index (o->ranks, BakeoffRank, i);
}

/* -- Text --------------------------------------------------------------- */

static char *
shares_of (const BakeoffEntry *e)
{
  GString *text = g_string_new (NULL);
  double all = 0;
  for (guint i = 0; i < e->devices->len; i++)
    all += g_array_index (e->devices, BakeoffDevice, i).work;
  for (guint i = 0; i < e->devices->len && all > 0; i++)
    {
      const BakeoffDevice *d = &g_array_index (e->devices, BakeoffDevice, i);
      g_string_append_printf (text, "%s%s %.0f %%", i > 0 ? ", " : "", d->name,
                              100 * d->work / all);
    }
  return g_string_free (text, FALSE);
}

static void
append_heading (GString *out, const BakeoffOutcome *o)
{
  g_autofree char *program = g_strjoinv (" ", o->program);
  g_string_append_printf (out,
                          "%s\n%u round%s of %u strateg%s after %u warm-up%s, "
                          "in an order drawn for each round from seed %u\n",
                          program, o->rounds, o->rounds == 1 ? "" : "s",
                          o->ranks->len, o->ranks->len == 1 ? "y" : "ies",
                          o->warm_up, o->warm_up == 1 ? "" : "s", o->seed);
}

static void
append_rank (GString *out, const BakeoffOutcome *o, guint i, int width,
             double unit_ns)
{
  const BakeoffRank *r = rank_at (o, i);
  const BakeoffRatio *q = &r->to_best;
  g_autofree char *shares = shares_of (r->entry);
  g_autofree char *quartiles = g_strdup_printf (
      "%.4g .. %.4g", r->low_s * 1e9 / unit_ns, r->high_s * 1e9 / unit_ns);
  g_autofree char *interval
      = i == 0     ? g_strdup ("")
        : q->known ? g_strdup_printf ("%.3f .. %.3f%s", q->low, q->high,
                                      r->tied ? " *" : "")
                   : g_strdup ("unknown *");
  g_autofree char *program = draw_duration (r->program_s * 1e9);
  g_autofree char *line
      = g_strdup_printf ("%-*s %9.4g  %-19s  %6.3f  %-18s %9s  %s", width,
                         r->entry->spec, r->median_s * 1e9 / unit_ns, quartiles,
                         q->median, interval, program, shares);
  g_string_append_printf (out, "%s\n", g_strchomp (line));
}

static void
append_table (GString *out, const BakeoffOutcome *o)
{
  double unit_ns;
  const char *unit = draw_time_unit (rank_at (o, 0)->median_s * 1e9, &unit_ns);
  const BakeoffEntry *first = rank_at (o, 0)->entry;
  g_autofree char *noun = bakeoff_noun (first->kinds, first->n_farms);
  int width = 8;
  for (guint i = 0; i < o->ranks->len; i++)
    width = MAX (width, (int)strlen (rank_at (o, i)->entry->spec));
  if (o->by_farm)
    g_string_append_printf (out, "times in %s, of the %u %s of a run\n", unit,
                            first->n_farms, noun);
  else
    g_string_append_printf (out,
                            "times in %s, of the whole program: no farm "
                            "reported one\n",
                            unit);
  g_string_append_printf (out, "\n%-*s %9s  %-19s  %6s  %-18s %9s  %s\n", width,
                          "strategy", "median", "quartiles", "ratio",
                          "95 % interval", "program", "shares");
  for (guint i = 0; i < o->ranks->len; i++)
    append_rank (out, o, i, width, unit_ns);
}

static void
append_tied (GString *out, const BakeoffOutcome *o)
{
  guint named = 0;
  for (guint i = 1; i < o->ranks->len && named < NAMED; i++)
    if (rank_at (o, i)->tied)
      g_string_append_printf (out, "%s%s (%+.1f %%)", named++ > 0 ? ", " : "",
                              rank_at (o, i)->entry->spec,
                              100 * (rank_at (o, i)->to_best.median - 1));
  if (o->n_tied > named)
    g_string_append_printf (out, " and %u more", o->n_tied - named);
}

static void
append_verdict (GString *out, const BakeoffOutcome *o)
{
  const char *best = rank_at (o, 0)->entry->spec;
  guint needed = bakeoff_rounds_needed (o->chance);
  if (o->ranks->len == 1)
    g_string_append_printf (out, "\n%s has nothing to be compared with.\n",
                            best);
  else if (o->n_tied == 0)
    {
      const BakeoffRank *next = rank_at (o, 1);
      g_string_append_printf (
          out,
          "\n%s is best: %s, the next, takes %.1f %% longer (95 %% interval "
          "%.1f to %.1f %%).\n",
          best, next->entry->spec, 100 * (next->to_best.median - 1),
          100 * (next->to_best.low - 1), 100 * (next->to_best.high - 1));
    }
  else
    {
      g_string_append_printf (
          out,
          "\n%s is the fastest round by round, but within the noise (*) "
          "lie ",
          best);
      append_tied (out, o);
      g_string_append (out, ".\n");
    }
  if (o->ranks->len > 1 && o->rounds < needed)
    g_string_append_printf (out,
                            "%u rounds are too few to tell %u strategies "
                            "apart: at least %u are needed.\n",
                            o->rounds, o->ranks->len, needed);
}

static void
append_problems (GString *out, const BakeoffOutcome *o)
{
  gboolean any = FALSE;
  for (guint i = 0; i < o->entries->len; i++)
    {
      const BakeoffEntry *e = o->entries->pdata[i];
      if (!e->problem)
        continue;
      if (!any)
        g_string_append (out, "\nnot measured:\n");
      any = TRUE;
      g_string_append_printf (out, "%s", e->spec);
      if (e->failed_round > 1)
        g_string_append_printf (out, " (in round %u)", e->failed_round);
      g_string_append_printf (out, ": %s\n", e->problem);
    }
}

char *
bakeoff_text (const BakeoffOutcome *o)
{
  GString *out = g_string_new (NULL);
  append_heading (out, o);
  if (o->ranks->len > 0)
    {
      append_table (out, o);
      append_verdict (out, o);
    }
  append_problems (out, o);
  return g_string_free (out, FALSE);
}

/* -- JSON --------------------------------------------------------------- */

static void
add_number (JsonBuilder *j, const char *name, double value, gboolean known)
{
  json_builder_set_member_name (j, name);
  if (known)
    json_put_double (j, value);
  else
    json_builder_add_null_value (j);
}

static void
add_times (JsonBuilder *j, const char *name, const GArray *times)
{
  json_builder_set_member_name (j, name);
  json_builder_begin_array (j);
  for (guint i = 0; i < times->len; i++)
    json_put_double (j, g_array_index (times, double, i));
  json_builder_end_array (j);
}

static void
add_shares (JsonBuilder *j, const BakeoffEntry *e)
{
  double all = 0;
  for (guint i = 0; i < e->devices->len; i++)
    all += g_array_index (e->devices, BakeoffDevice, i).work;
  json_builder_set_member_name (j, "shares");
  json_builder_begin_object (j);
  for (guint i = 0; i < e->devices->len; i++)
    {
      const BakeoffDevice *d = &g_array_index (e->devices, BakeoffDevice, i);
      add_number (j, d->name, all > 0 ? d->work / all : 0, TRUE);
    }
  json_builder_end_object (j);
}

/* @rank: NULL: not measured. */
static void
add_entry (JsonBuilder *j, const BakeoffEntry *e, const BakeoffRank *rank)
{
  BakeoffRank none = { 0 };
  const BakeoffRank *r = rank ? rank : &none;
  gboolean known = rank && r->to_best.known;
  json_builder_begin_object (j);
  json_add_string (j, "strategy", e->spec);
  json_add_string (j, "problem", e->problem);
  add_number (j, "median_s", r->median_s, rank != NULL);
  add_number (j, "low_quartile_s", r->low_s, rank != NULL);
  add_number (j, "high_quartile_s", r->high_s, rank != NULL);
  add_number (j, "program_median_s", r->program_s, rank != NULL);
  add_number (j, "ratio", r->to_best.median, rank != NULL);
  add_number (j, "ratio_low", r->to_best.low, known);
  add_number (j, "ratio_high", r->to_best.high, known);
  json_add_bool (j, "tied", r->tied);
  add_times (j, "farm_s", e->farm_s);
  add_times (j, "program_s", e->program_s);
  add_shares (j, e);
  json_builder_end_object (j);
}

char *
bakeoff_json (const BakeoffOutcome *o)
{
  g_autoptr (JsonBuilder) j = json_builder_new ();
  gboolean any = o->ranks->len > 0;
  json_builder_begin_object (j);
  json_builder_set_member_name (j, "program");
  json_builder_begin_array (j);
  for (char **arg = o->program; *arg; arg++)
    json_builder_add_string_value (j, *arg);
  json_builder_end_array (j);
  json_add_int (j, "rounds", o->rounds);
  json_add_int (j, "warm_up", o->warm_up);
  json_add_int (j, "seed", o->seed);
  add_number (j, "limit_s", o->limit_s, isfinite (o->limit_s));
  json_add_string (j, "times_of", o->by_farm ? "farm" : "program");
  json_add_string (j, "best", any ? rank_at (o, 0)->entry->spec : NULL);
  json_add_bool (j, "clear", o->ranks->len > 1 && o->n_tied == 0);
  json_builder_set_member_name (j, "strategies");
  json_builder_begin_array (j);
  for (guint i = 0; i < o->ranks->len; i++)
    add_entry (j, rank_at (o, i)->entry, rank_at (o, i));
  for (guint i = 0; i < o->entries->len; i++)
    if (((BakeoffEntry *)o->entries->pdata[i])->problem)
      add_entry (j, o->entries->pdata[i], NULL);
  json_builder_end_array (j);
  json_builder_end_object (j);
  return json_text (j, TRUE);
}

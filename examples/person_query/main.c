/* SPDX-License-Identifier: MIT */
/* main.c: person_query, the application of Zhang 2011, section 5.3: persons
   by birthday and salary, found on all cores and GPUs.
   Thread safety: single-threaded; the farm is not. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "../standard_output.h"
#include "options.h"
#include "print.h"

#define FINE 0
#define DIFFERENT 1
#define TROUBLE 2

/* What becomes of the rows. */
typedef struct
{
  PersonOutput *output; /* NULL: they are not printed */
  gboolean keep;        /* for --verify */
  guint32 *rows;
  gsize n_rows, room;
} Taker;

static void
keep_rows (Taker *t, const guint32 *rows, gsize n_rows)
{
  if (t->n_rows + n_rows > t->room)
    {
      t->room = MAX (2 * t->room, t->n_rows + n_rows);
      t->rows = g_renew (guint32, t->rows, t->room);
    }
  memcpy (t->rows + t->n_rows, rows, n_rows * sizeof *rows);
  t->n_rows += n_rows;
}

static gboolean
take (const PersonTable *table, const guint32 *rows, gsize n_rows,
      gpointer user_data, GError **error)
{
  Taker *t = user_data;
  if (t->keep)
    keep_rows (t, rows, n_rows);
  return !t->output
         || person_output_rows (table, rows, n_rows, t->output, error);
}

static void
show_report (const PersonOptions *o, const HassReport *report)
{
  g_autofree char *table = NULL, *json = NULL;
  if (!report)
    return;
  if (o->report)
    fputs (table = hass_report_to_string (report), stderr);
  if (o->json)
    fprintf (stderr, "%s\n", json = hass_report_to_json (report));
}

static int
verify (const PersonTable *table, const PersonOptions *o, const Taker *t,
        guint64 n_found)
{
  static const guint32 none[1];
  const guint32 *rows = t->rows ? t->rows : none;
  g_autofree char *wrong = person_query_reference (
      table, &o->wanted, o->count ? NULL : rows, t->n_rows, n_found);
  if (wrong)
    fprintf (stderr, "person_query: %s\n", wrong);
  else
    fprintf (stderr,
             "person_query: verified, %" G_GUINT64_FORMAT " of %zu persons\n",
             n_found, table->n_persons);
  return wrong ? DIFFERENT : FINE;
}

/* The query and its output. */
static gboolean
ask (const PersonTable *table, const PersonOptions *o, Taker *t,
     guint64 *n_found, GError **error)
{
  PersonOutput output;
  g_autoptr (HassReport) report = NULL;
  PersonQuery query = { .table = table,
                        .wanted = o->wanted,
                        .farm = o->farm,
                        .group_persons = o->group_persons,
                        .cpu_only = o->cpu_only,
                        .gpu_only = o->gpu_only,
                        .run = { .strategy = o->strategy,
                                 .platform = o->platform,
                                 .n_cores = o->n_cores } };
  if (!person_output_open (&output, o->output, error))
    return FALSE;
  t->output = o->quiet ? NULL : &output;
  if (!o->count && !o->quiet && !o->verify)
    {
      query.line = person_put_line;
      query.take_text = person_output_text;
      query.take_data = &output;
    }
  else if (!o->count)
    {
      query.take = take;
      query.take_data = t;
    }
  gboolean ok = person_query_run (&query, n_found, &report, error)
                && person_table_whole (table, o->table, error);
  if (ok && o->count)
    g_string_append_printf (output.text, "%" G_GUINT64_FORMAT "\n", *n_found);
  /* Of two errors the first is the cause. */
  ok &= person_output_close (&output, error && *error ? NULL : error);
  show_report (o, report);
  return ok;
}

static int
run (const PersonOptions *o, GError **error)
{
  Taker t = { .keep = o->verify };
  guint64 n_found = 0;
  if (o->make_table)
    return person_table_write (o->make_table, o->n_persons, o->seed, error)
               ? FINE
               : TROUBLE;
  g_autoptr (PersonTable) table
      = o->table
            ? person_table_open (o->table, error)
            : person_table_generate (o->n_persons, o->seed, o->n_cores, error);
  if (!table)
    return TROUBLE;
  int status = ask (table, o, &t, &n_found, error) ? FINE : TROUBLE;
  if (status == FINE && o->verify)
    status = verify (table, o, &t, n_found);
  g_free (t.rows);
  return status;
}

int
main (int argc, char **argv)
{
  PersonOptions options;
  g_autoptr (GError) error = NULL;
  int status = TROUBLE;
  setlocale (LC_ALL, "");
  output_check ();
  if (person_options_parse (&options, &argc, &argv, &error))
    status = run (&options, &error);
  if (error)
    fprintf (stderr, "person_query: %s\n", error->message);
  person_options_clear (&options);
  return status;
}

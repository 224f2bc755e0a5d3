/* SPDX-License-Identifier: MIT */
/* hass-bakeoff: runs a program under several strategies in turn and reports
   which is best. Exit status: 0; 1 if no strategy could be measured or the
   output cannot be written; 2 if the options are invalid.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bakeoff.h"
#include "device/cpu/cpu_pool.h"
#include "examples/decimal_options.h"
#include "tools/output.h"

#define MOST_ROUNDS 100000
#define LEAST_LIMIT 0.001
#define MOST_LIMIT 1e6 /* seconds; the timer counts milliseconds in 32 bits */

static char *list;
static gint rounds = 15, warm_up = 1;
static gint64 seed = 1;
static gdouble limit = INFINITY;
static gboolean json;

static const GOptionEntry entries[]
    = { { "strategies", 's', 0, G_OPTION_ARG_STRING, &list,
          "These, or all that serve the program (all)",
          "A,B:KEY=VALUE,C+D,..." },
        { "rounds", 'n', 0, G_OPTION_ARG_INT, &rounds,
          "Each runs so often (15)", "N" },
        { "warm-up", 'w', 0, G_OPTION_ARG_INT, &warm_up,
          "And so often before that (1)", "N" },
        { "seed", 0, 0, G_OPTION_ARG_INT64, &seed,
          "The order of strategies in a round comes from it (1)", "S" },
        { "limit", 'l', 0, G_OPTION_ARG_DOUBLE, &limit,
          "A run that takes longer is ended, and its strategy is out (none)",
          "SECONDS" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL } };

static gboolean
in_range (const char *name, gint64 value, gint64 least, gint64 most,
          GError **error)
{
  if (value >= least && value <= most)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s is %" G_GINT64_FORMAT ", must be from %" G_GINT64_FORMAT
               " to %" G_GINT64_FORMAT,
               name, value, least, most);
  return FALSE;
}

/* Infinite, the preset, is no limit. */
static gboolean
limit_is_fine (GError **error)
{
  if (limit == INFINITY || (limit >= LEAST_LIMIT && limit <= MOST_LIMIT))
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--limit is %.15g, must be from %g to %.15g seconds", limit,
               LEAST_LIMIT, MOST_LIMIT);
  return FALSE;
}

/* Leaves the program and its arguments in *argv. */
static gboolean
parse (int *argc, char ***argv, GError **error)
{
  g_autoptr (GOptionContext) context
      = g_option_context_new ("-- PROGRAM [ARGUMENT...]");
  g_option_context_set_strict_posix (context, TRUE);
  g_option_context_set_summary (
      context, "Runs a program with hass under several strategies, by turns, "
               "and says which is\nbest, by how much, and whether that is "
               "more than noise.");
  g_option_context_set_description (context, "See hass-bakeoff(1).");
  if (!decimal_options_parse (context, entries, argc, argv, error)
      || !in_range ("--rounds", rounds, 1, MOST_ROUNDS, error)
      || !in_range ("--warm-up", warm_up, 0, MOST_ROUNDS, error)
      || !in_range ("--seed", seed, 0, G_MAXUINT32, error)
      || !limit_is_fine (error))
    return FALSE;
  --*argc, ++*argv;
  if (*argc > 0 && !strcmp (**argv, "--"))
    --*argc, ++*argv;
  if (*argc > 0)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "no program to run; see --help");
  return FALSE;
}

static void
shuffle (GRand *rand, guint *order, guint n)
{
  for (guint i = n; i > 1; i--)
    {
      guint k = (guint)g_rand_int_range (rand, 0, (gint)i), at = order[k];
      order[k] = order[i - 1];
      order[i - 1] = at;
    }
}

static void
progress (guint round, guint n)
{
  if (isatty (STDERR_FILENO))
    fprintf (stderr, round < n ? "\rround %u of %u " : "\r\033[K", round + 1,
             n);
}

/* Each round, and each warm-up, runs every strategy once. */
static gboolean
run_all (BakeoffOutcome *o, GError **error)
{
  guint n = o->entries->len;
  g_autofree guint *order = g_new (guint, n);
  GRand *rand = g_rand_new_with_seed (o->seed);
  gboolean ok = TRUE;
  for (guint i = 0; i < n; i++)
    order[i] = i;
  for (guint r = 0; ok && r < o->warm_up + o->rounds; r++)
    {
      guint round = r < o->warm_up ? 0 : r - o->warm_up + 1;
      progress (r, o->warm_up + o->rounds);
      shuffle (rand, order, n);
      for (guint i = 0; ok && i < n; i++)
        {
          BakeoffEntry *entry = o->entries->pdata[order[i]];
          if (!entry->problem)
            ok = bakeoff_run (entry, o->program, o->limit_s, round, error);
        }
    }
  progress (o->warm_up + o->rounds, o->warm_up + o->rounds);
  g_rand_free (rand);
  return ok;
}

/* Sets what is run of "all": the strategies that serve the program. */
static gboolean
choose_all (char **program, char ***specs, GError **error)
{
  guint kinds;
  if (!bakeoff_kinds (program, limit, &kinds, error))
    return FALSE;
  *specs = bakeoff_specs ("all", kinds, error);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) specs = NULL;
  output_begin ();
  gboolean parsed = parse (&argc, &argv, &error);
  gboolean all = !list || !strcmp (list, "all");
  if (!parsed || (!all && !(specs = bakeoff_specs (list, 0, &error))))
    {
      fprintf (stderr, "hass-bakeoff: %s\n", error->message);
      return 2;
    }
  int failure;
  if (hass_cpu_pool_try_threads (1, &failure) < 1)
    {
      fprintf (stderr, "hass-bakeoff: no thread can be made: %s\n",
               g_strerror (failure));
      return 1;
    }
  BakeoffOutcome o = { .program = argv,
                       .rounds = (guint)rounds,
                       .warm_up = (guint)warm_up,
                       .seed = (guint32)seed,
                       .limit_s = limit };
  o.entries
      = g_ptr_array_new_with_free_func ((GDestroyNotify)bakeoff_entry_free);
  gboolean chosen = !all || choose_all (argv, &specs, &error);
  for (char **spec = specs; chosen && *spec; spec++)
    g_ptr_array_add (o.entries, bakeoff_entry_new (*spec));
  int status = 1;
  if (chosen && run_all (&o, &error))
    {
      bakeoff_compare (&o);
      g_autofree char *text = json ? bakeoff_json (&o) : bakeoff_text (&o);
      fputs (text, stdout);
      if (json)
        putchar ('\n');
      status = o.ranks->len > 0 ? 0 : 1;
      g_array_unref (o.ranks);
    }
  else
    fprintf (stderr, "hass-bakeoff: %s\n", error->message);
  g_ptr_array_unref (o.entries);
  return status;
}

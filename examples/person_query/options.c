/* SPDX-License-Identifier: MIT */
/* options.c: the command line of person_query.
   Thread safety: options.h. */
#include "options.h"

#include <string.h>

#include "calendar.h"

#define DEFAULT_PERSONS 1000000

static const char summary[]
    = "Prints the persons of a table who were born and who earn in the given\n"
      "ranges, both ends included, in order of the table: number, name,\n"
      "birthday, salary and department, with tabs between. An end that is\n"
      "left out is open: --born=1966.. --salary=1001.. are those born after\n"
      "1965 who earn more than 1000.";
static const char exit_status[]
    = "Exit status: 0 all is well, 1 --verify found a difference, "
      "2 there was an error.\n";

/* What GOption fills in; the texts of numbers, to be checked; NULL where an
   option is not given. */
typedef struct
{
  char *persons, *seed, *born, *salary, *group, *cores;
  gboolean departments;
} Given;

static void
given_clear (Given *g)
{
  g_free (g->persons);
  g_free (g->seed);
  g_free (g->born);
  g_free (g->salary);
  g_free (g->group);
  g_free (g->cores);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Given, given_clear)

static gboolean
wrong (GError **error, const char *what)
{
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_INVALID, what);
  return FALSE;
}

/* A number in bounds, where the option was given. */
static gboolean
take_number (const char *option, const char *text, guint64 min, guint64 max,
             guint64 *number, GError **error)
{
  if (!text || g_ascii_string_to_unsigned (text, 10, min, max, number, NULL))
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "%s needs a number from %" G_GUINT64_FORMAT
               " to %" G_GUINT64_FORMAT ", not '%s'",
               option, min, max, text);
  return FALSE;
}

/* Refuses options that contradict each other. */
static gboolean
fit_together (const PersonOptions *o, const Given *g, GError **error)
{
  if (o->table && (g->persons || g->seed))
    return wrong (error, "--table brings its own persons: --persons and "
                         "--seed do not go with it");
  if (o->table && o->make_table)
    return wrong (error, "--make-table makes a table of its own: --table "
                         "does not go with it");
  if (g->departments && g->group)
    return wrong (error, "--departments and --group are two ways to read the "
                         "table: choose one");
  if (o->cpu_only && o->gpu_only)
    return wrong (error, "--cpu-only and --gpu-only leave no device");
  if (o->count && o->quiet)
    return wrong (error, "--quiet prints no lines and --count has none");
  return TRUE;
}

static gboolean
understand (PersonOptions *o, const Given *g, GError **error)
{
  PersonWanted *w = &o->wanted;
  guint64 n_persons = DEFAULT_PERSONS, n_group = 1, n_cores = 0;
  *w = (PersonWanted)PERSON_WANT_ALL;
  if (!take_number ("--persons", g->persons, 0, PERSON_MAX_ROWS, &n_persons,
                    error)
      || !take_number ("--seed", g->seed, 0, G_MAXUINT64, &o->seed, error)
      || !take_number ("--group", g->group, 1, PERSON_MAX_ROWS, &n_group, error)
      || !take_number ("--cores", g->cores, 1, 4096, &n_cores, error)
      || (g->born
          && !person_parse_born (g->born, &w->born_from, &w->born_to, error))
      || (g->salary
          && !person_parse_salary (g->salary, &w->salary_min, &w->salary_max,
                                   error)))
    return FALSE;
  o->n_persons = n_persons;
  o->group_persons = n_group;
  o->n_cores = (guint)n_cores;
  o->farm = g->departments ? PERSON_DEPARTMENTS
            : g->group     ? PERSON_GROUPS
                           : PERSON_TABLE;
  return fit_together (o, g, error);
}

gboolean
person_options_parse (PersonOptions *o, int *argc, char ***argv, GError **error)
{
  g_auto (Given) g = { 0 };
  memset (o, 0, sizeof *o);
  const GOptionEntry entries[] = {
    { "persons", 'n', 0, G_OPTION_ARG_STRING, &g.persons,
      "Make up a table of N persons (1000000)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_STRING, &g.seed, "Which table (0)", "S" },
    { "table", 't', 0, G_OPTION_ARG_FILENAME, &o->table,
      "Read the table from FILE", "FILE" },
    { "make-table", 0, 0, G_OPTION_ARG_FILENAME, &o->make_table,
      "Write the made-up table to FILE, and no more", "FILE" },
    { "born", 'b', 0, G_OPTION_ARG_STRING, &g.born,
      "Birthdays from FROM to TO: days, months or years", "FROM..TO" },
    { "salary", 's', 0, G_OPTION_ARG_STRING, &g.salary,
      "Salaries from MIN to MAX", "MIN..MAX" },
    { "count", 'c', 0, G_OPTION_ARG_NONE, &o->count,
      "Print only how many there are", NULL },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &o->quiet,
      "Find the persons, but print none", NULL },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o->output, "Print to FILE",
      "FILE" },
    { "departments", 0, 0, G_OPTION_ARG_NONE, &g.departments,
      "Each department is a load, GPUs get bundles", NULL },
    { "group", 0, 0, G_OPTION_ARG_STRING, &g.group,
      "Read the table in groups of N persons", "N" },
    { "verify", 0, 0, G_OPTION_ARG_NONE, &o->verify,
      "Compare with a plain loop over the table", NULL },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy,
      "Schedule with this strategy", "NAME" },
    { "platform", 0, 0, G_OPTION_ARG_FILENAME, &o->platform,
      "Run on a modelled machine, in virtual time", "FILE" },
    { "cores", 0, 0, G_OPTION_ARG_STRING, &g.cores, "Use at most N cores",
      "N" },
    { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &o->cpu_only, "Use no GPU", NULL },
    { "gpu-only", 0, 0, G_OPTION_ARG_NONE, &o->gpu_only, "Use only GPUs",
      NULL },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went, to stderr", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "The same as JSON, to stderr",
      NULL },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, exit_status);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (*argc > 1)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "'%s' is no option; see --help", (*argv)[1]);
      return FALSE;
    }
  return understand (o, &g, error);
}

void
person_options_clear (PersonOptions *o)
{
  g_free (o->output);
  g_free (o->table);
  g_free (o->make_table);
  g_free (o->strategy);
  g_free (o->platform);
}

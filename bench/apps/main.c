/* SPDX-License-Identifier: MIT */
/* main.c: gpu-apps, compares `auto` on the applications with every other
   strategy and the best static division, on this machine.

   DESIGN. Each application makes its data once. Then, with one GPU and, if
   there are two, with two:
   1. it runs under static divisions, to find the best;
   2. it runs under all strategies without rates of earlier runs, then with
      such rates in a store of its own.
   The first run opens the GPUs; their contexts stay. The remaining time is
   shared equally by the remaining work.

   Without a GPU it prints that and succeeds, unless --cpu-only or a modelled
   machine is requested.

   Thread safety: one thread. */
#include "apps.h"
#include "device/cuda/gpus-private.h"
#include "device/model/model.h"
#include "examples/decimal_options.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GPUS 8
#define OF_STATIC 97
#define OF_OTHER 98
/* Parts of an application's time for the search and for the cold case. */
#define SEARCH_PART 0.4
#define COLD_PART 0.7

static const AppsProgram *const programs[] = {
  &apps_string_search,
#ifndef WITHOUT_matrix_multiply
  &apps_matrix_multiply,
#endif
  &apps_pi,
  &apps_asian,
  &apps_person_query,
};

static const char usual[] = "auto,modified-greedy,naive-greedy,min-min,"
                            "hass-ce,hass-cd,hass-p";

/* -- Options ------------------------------------------------------------ */

#define REPEAT 5
#define NOT_SAID G_MININT

static int n_gpus_wanted, n_repeat = NOT_SAID;
static double time_limit = 60;
static gboolean quick, cpu_only;
static char *platform, *folder, *only, *strategy_list;
static char **strategies;

static const GOptionEntry entries[] = {
  { "out", 'o', 0, G_OPTION_ARG_FILENAME, &folder, "for apps.md (.)", "DIR" },
  { "repeat", 0, 0, G_OPTION_ARG_INT, &n_repeat,
    "runs of each strategy, cold and warm (5; with --quick 1)", "R" },
  { "strategies", 0, 0, G_OPTION_ARG_STRING, &strategy_list,
    "separated by commas, or all (those of the thesis and auto)", "LIST" },
  { "app", 0, 0, G_OPTION_ARG_STRING, &only,
    "only this one, or those whose names begin so", "NAME" },
  { "gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus_wanted,
    "only with N GPUs (with one, then two where there are)", "N" },
  { "time-limit", 0, 0, G_OPTION_ARG_DOUBLE, &time_limit,
    "for each number of GPUs: a finer search and rounds beyond the third are "
    "left out rather than exceed it (60)",
    "S" },
  { "quick", 0, 0, G_OPTION_ARG_NONE, &quick, "a 64th of the data", NULL },
  { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &cpu_only,
    "without GPUs, a 64th of the data", NULL },
  { "platform", 0, 0, G_OPTION_ARG_FILENAME, &platform,
    "a modelled machine, in virtual time; nothing is computed", "FILE" },
  { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL }
};

static gboolean
is_wanted (const AppsProgram *program)
{
  return !only || g_str_has_prefix (program->name, only);
}

static char *
wrong_options (void)
{
  gboolean any = FALSE;
  if (n_repeat != NOT_SAID && (n_repeat < 1 || n_repeat > 1000))
    return g_strdup ("--repeat must be 1 to 1000");
  if (!(time_limit >= 0 && time_limit <= 86400))
    return g_strdup ("--time-limit must be 0 to 86400 seconds");
  if (n_gpus_wanted < 0 || n_gpus_wanted > MOST_GPUS)
    return g_strdup ("--gpus must be 1 to 8");
  if (cpu_only && (platform || n_gpus_wanted > 0))
    return g_strdup ("--cpu-only goes with neither --platform nor --gpus");
  if (platform && n_gpus_wanted > 0)
    return g_strdup ("--platform has all GPUs of its file, without --gpus");
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    any |= is_wanted (programs[i]);
  if (any)
    return NULL;
  GString *known = g_string_new ("--app: known are");
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    g_string_append_printf (known, "%s %s", i ? "," : "", programs[i]->name);
  return g_string_free (known, FALSE);
}

/* All that are registered, but for the static division, which is searched. */
static char **
all_strategies (void)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (gsize i = 0; all[i]; i++)
    if (strcmp (all[i]->name, "static") != 0)
      g_ptr_array_add (names, g_strdup (all[i]->name));
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* Commas also separate parameters: a part with neither a registered name nor a
   colon belongs to the one before. */
static char **
read_strategies (const char *list, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (list, ",", -1);
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; parts[i]; i++)
    {
      g_autofree char *name = g_strndup (parts[i], strcspn (parts[i], ":"));
      if (strchr (name, '=') && specs->len > 0)
        {
          char *before = specs->pdata[specs->len - 1];
          specs->pdata[specs->len - 1]
              = g_strconcat (before, ",", parts[i], NULL);
          g_free (before);
          continue;
        }
      if (!hass_strategy_find (name, error))
        return NULL;
      g_ptr_array_add (specs, g_strdup (parts[i]));
    }
  g_ptr_array_add (specs, NULL);
  return (char **)g_ptr_array_steal (specs, NULL);
}

G_GNUC_NORETURN
static void
refuse (const char *why)
{
  fprintf (stderr, "gpu-apps: %s; see --help\n", why);
  exit (2);
}

static void
read_options (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  GOptionContext *context = g_option_context_new (NULL);
  g_option_context_set_summary (
      context, "The examples' own farms under every strategy, against each "
               "other and\nagainst the best static division.");
  if (!decimal_options_parse (context, entries, &argc, &argv, &error))
    refuse (error->message);
  g_option_context_free (context);
  g_autofree char *wrong
      = argc > 1 ? g_strdup_printf ("unknown argument %s", argv[1])
                 : wrong_options ();
  if (wrong)
    refuse (wrong);
  const char *list = strategy_list ? strategy_list : usual;
  strategies = strcmp (list, "all") == 0 ? all_strategies ()
                                         : read_strategies (list, &error);
  if (!strategies)
    refuse (error->message);
  if (platform)
    n_repeat = 1;
  else if (n_repeat == NOT_SAID)
    n_repeat = quick ? 1 : REPEAT;
  if (!folder)
    folder = g_strdup (".");
  if (g_mkdir_with_parents (folder, 0777) != 0)
    apps_fail ("no folder %s", folder);
}

/* -- The store of the warm case ----------------------------------------- */

static char *store_folder, *store;

static void
remove_store (void)
{
  g_autofree char *lock = g_strconcat (store, ".lock", NULL);
  g_unlink (store);
  g_unlink (lock);
  g_rmdir (store_folder);
}

static void
make_store (void)
{
  g_autoptr (GError) error = NULL;
  store_folder = g_dir_make_tmp ("gpu-apps-XXXXXX", &error);
  if (!store_folder)
    apps_fail ("%s", error->message);
  store = g_build_filename (store_folder, "profile", NULL);
  atexit (remove_store);
}

/* -- The machine -------------------------------------------------------- */

static guint
gpus_there (void)
{
  g_autoptr (GError) error = NULL;
  if (cpu_only)
    return 0;
  if (!platform)
    return hass_gpus_count ();
  HassPlatform *model = hass_platform_load (platform, "", &error);
  if (!model)
    apps_fail ("%s", error->message);
  guint n = model->n_gpus;
  hass_platform_free (model);
  return n;
}

static void
describe_machine (GString *out, guint n_gpus)
{
  g_string_append (out, "# The applications under every strategy\n\n");
  if (platform)
    {
      g_autofree char *name = g_path_get_basename (platform);
      g_string_append_printf (
          out,
          "A modelled machine, %s, in virtual time; nothing is computed. Its "
          "general rates are those of one application; groups [farm "
          "matrix_double], [farm pi] and so on give those of others.\n",
          name);
    }
  else
    {
      g_string_append_printf (out, "%u cores", bench_cores ());
      for (guint g = 0; g < n_gpus; g++)
        g_string_append_printf (out, "; gpu%u: %s", g,
                                hass_gpus_get (g)->properties.name);
      g_string_append (out, ". All results are checked.\n");
    }
  g_string_append (
      out, "\nTimes are of the farm, from its call to its last result, "
           "medians. Speeds are medians of ratios within a round. Parts are "
           "of the work.\n\n");
}

/* -- An application on a machine ---------------------------------------- */

static void
write_search (GString *out, const AppsSearch *s)
{
  g_string_append (out, "- Static divisions, part of the CPU and ms:");
  for (guint i = 0; i < s->tried->len; i++)
    {
      const AppsStatic *one = &g_array_index (s->tried, AppsStatic, i);
      g_string_append_printf (out, "%s %.1f %% %.3f", i ? "," : "",
                              one->part / 10.0, one->ms);
    }
  if (s->finest > 0)
    g_string_append_printf (out, "; the least distance was %.1f %%%s",
                            s->finest / 10.0,
                            s->cut_short ? ", then time was up" : "");
  g_string_append (out, ".\n\n");
}

/* A target that was not measured is missed; other figures are omitted. */
static void
add_target (const char *name, const AppsMachine *m, const char *devices,
            const char *than, double target, double measured)
{
  gboolean is_claim = m->n_gpus > 0 && !quick && !platform;
  if (is_claim || !isnan (measured))
    target_add (is_claim ? TARGET_AT_LEAST : TARGET_NONE, target, measured, "%",
                "%s, %s: speed of auto / best %s", name, devices, than);
}

static void
compare (const AppsSubject *subject, gint64 until_ns, GString *out)
{
  const AppsMachine *m = subject->machine;
  const char *title = subject->program->name;
  gint64 now = bench_now_ns (), left = MAX (until_ns - now, 0);
  gsize before = out->len;
  g_autofree char *devices
      = m->n_gpus == 0 ? g_strdup ("CPU only")
                       : g_strdup_printf ("CPU and %u GPU%s", m->n_gpus,
                                          m->n_gpus > 1 ? "s" : "");
  g_setenv ("HASS_PROFILE", "off", TRUE);
  AppsSearch *search
      = apps_search (subject, quick, now + (gint64)(SEARCH_PART * left));
  g_autofree char *what = subject->program->describe (subject->self);
  g_string_append_printf (out, "## %s, %s\n\n%s.\n\n", title, devices, what);
  write_search (out, search);
  /* Virtual time has no profile store. */
  for (guint warm = 0; warm <= !m->platform; warm++)
    {
      AppsCase how
          = { .warm = warm,
              .strategies = strategies,
              .repeat = (guint)n_repeat,
              .until_ns = warm ? until_ns : now + (gint64)(COLD_PART * left) };
      g_setenv ("HASS_PROFILE", warm ? store : "off", TRUE);
      AppsVerdict v = apps_case (subject, &how, search, out);
      g_autofree char *where
          = g_strconcat (devices, warm ? ", warm" : ", cold", NULL);
      add_target (title, m, where, "static", OF_STATIC, v.of_static);
      add_target (title, m, where, "other", OF_OTHER, v.of_other);
    }
  apps_search_free (search);
  printf ("%s", out->str + before);
  fflush (stdout);
}

/* -- All of them -------------------------------------------------------- */

typedef struct
{
  AppsMachine machine;
  guint first, last; /* GPUs */
  AppsSize size;
  gint64 until_ns;
  guint n_left; /* applications times machines */
  GString *out;
} Bench;

static void
use_gpus (Bench *b, guint n)
{
  g_autofree char *text = g_strdup_printf ("%u", n);
  b->machine.n_gpus = n;
  if (!b->machine.platform)
    g_setenv ("HASS_NGPU", text, TRUE);
}

static void
run_program (Bench *b, const AppsProgram *program)
{
  g_autoptr (GError) error = NULL;
  if (b->last > 0 && !program->has_gpu_worker ())
    {
      g_autofree char *text = g_strdup_printf (
          "## %s\n\nBuilt without its GPU worker.\n\n", program->name);
      g_string_append (b->out, text);
      printf ("%s", text);
      b->n_left -= b->last - b->first + 1;
      return;
    }
  use_gpus (b, b->first);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  AppsSubject subject
      = { .program = program,
          .machine = &b->machine,
          .self = program->prepare (&b->machine, &b->size, &error) };
  if (!subject.self)
    apps_fail ("%s: %s", program->name, error->message);
  for (guint n = b->first; n <= b->last; n++)
    {
      gint64 now = bench_now_ns ();
      use_gpus (b, n);
      compare (&subject, now + (b->until_ns - now) / b->n_left--, b->out);
      if (!platform && program->finish
          && !program->finish (subject.self, &error))
        apps_fail ("%s: wrong results: %s", program->name, error->message);
    }
  program->release (subject.self);
}

static void
write_out (const GString *out)
{
  g_autofree char *path = g_build_filename (folder, "apps.md", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text
      = g_strconcat (out->str, "## Targets\n\n" TARGETS_HEAD, NULL);
  if (!g_file_set_contents (path, text, -1, &error))
    apps_fail ("%s", error->message);
  targets_print (path);
}

int
main (int argc, char **argv)
{
  read_options (argc, argv);
  guint n_there = gpus_there ();
  if (n_there == 0 && !cpu_only)
    {
      printf ("no GPU: nothing measured; --cpu-only runs without\n");
      return 0;
    }
  if (n_gpus_wanted > (int)n_there)
    apps_fail ("--gpus=%d: there are %u", n_gpus_wanted, n_there);
  Bench b = { .machine = { .platform = platform },
              .size = { .small = quick || cpu_only,
                        .crew = crew_new (bench_cores ()) },
              .out = g_string_new (NULL) };
  b.first = platform || cpu_only ? n_there
            : n_gpus_wanted > 0  ? (guint)n_gpus_wanted
                                 : 1;
  b.last
      = platform || cpu_only || n_gpus_wanted > 0 ? b.first : MIN (n_there, 2);
  guint n_machines = b.last - b.first + 1;
  gint64 begin = bench_now_ns ();
  b.until_ns = begin + (gint64)(time_limit * 1e9 * n_machines);
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    b.n_left += is_wanted (programs[i]) ? n_machines : 0;
  make_store ();
  describe_machine (b.out, b.last);
  printf ("%s", b.out->str);
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    if (is_wanted (programs[i]))
      run_program (&b, programs[i]);
  write_out (b.out);
  printf ("%.1f s in all\n", (bench_now_ns () - begin) * 1e-9);
  crew_free (b.size.crew);
  g_string_free (b.out, TRUE);
  g_strfreev (strategies);
  return 0;
}

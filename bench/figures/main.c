/* SPDX-License-Identifier: MIT */
/* main.c: gpu-figures, the comparisons of Zhang 2011, figures 29 to 33.

   DESIGN.
   1. The work of an element is chosen so that one GPU, which gets the bytes
      over its link, is --ratio times as fast as all cores: both are measured
      alone, and the steps corrected a few times.
   2. Each figure is run with one GPU, then with two where there are.
   3. figures.md and the plots are written.

   Without a GPU it says so and succeeds, unless asked for the CPU alone or
   for a modelled machine.

   Thread safety: one thread. */
#include "examples/decimal_options.h"
#include "figures.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_STEPS (4.0 * FIGURES_WORDS)
#define CORRECTIONS 3
#define CALIBRATION_ROUNDS 4

/* -- Options ------------------------------------------------------------ */

static int n_gpus_wanted, n_loads = 2000, load_kib = 128, n_rounds = 20,
                          n_repeat = 3, seed = 1;
static double ratio_wanted = 4;
static gboolean quick, cpu_only;
static char *platform, *folder, *only;

static const GOptionEntry entries[] = {
  { "out", 'o', 0, G_OPTION_ARG_FILENAME, &folder,
    "for figures.md and the plots (.)", "DIR" },
  { "repeat", 0, 0, G_OPTION_ARG_INT, &n_repeat, "runs of each strategy (3)",
    "R" },
  { "rounds", 0, 0, G_OPTION_ARG_INT, &n_rounds, "of a run (20)", "N" },
  { "loads", 0, 0, G_OPTION_ARG_INT, &n_loads, "of a round (2000)", "N" },
  { "load-kib", 0, 0, G_OPTION_ARG_INT, &load_kib,
    "of an equal load (128, the mean of the distinct ones)", "KIB" },
  { "ratio", 0, 0, G_OPTION_ARG_DOUBLE, &ratio_wanted,
    "one GPU is to be so many times as fast as all cores (4)", "X" },
  { "figure", 0, 0, G_OPTION_ARG_STRING, &only,
    "only this one: 29 to 33, "
    "indivisible",
    "ID" },
  { "gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus_wanted,
    "only with N GPUs (with one, then two where there are)", "N" },
  { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "of bytes and sizes (1)", "N" },
  { "quick", 0, 0, G_OPTION_ARG_NONE, &quick,
    "a fifth of the loads, 8 rounds, one run", NULL },
  { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &cpu_only, "without GPUs", NULL },
  { "platform", 0, 0, G_OPTION_ARG_FILENAME, &platform,
    "a modelled machine, in virtual time", "FILE" },
  { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL }
};

static void
fail (GError *error)
{
  fflush (stdout);
  fprintf (stderr, "gpu-figures: %s\n", error->message);
  exit (1);
}

static const char *
wrong_options (void)
{
  if (n_loads < 20 || n_loads > 1000000)
    return "--loads must be 20 to 1000000";
  if (load_kib < 8 || load_kib > 65536)
    return "--load-kib must be 8 to 65536";
  if (n_rounds < 2 || n_rounds > 1000)
    return "--rounds must be 2 to 1000";
  if (n_repeat < 1 || n_repeat > 1000)
    return "--repeat must be 1 to 1000";
  if (!(ratio_wanted > 0.01 && ratio_wanted < 1000))
    return "--ratio must be 0.01 to 1000";
  if (n_gpus_wanted < 0 || n_gpus_wanted > FIGURES_MOST_GPUS)
    return "--gpus must be 1 to 8";
  if (cpu_only && (platform || n_gpus_wanted > 0))
    return "--cpu-only goes with neither --platform nor --gpus";
  for (guint i = 0; only && i <= figures_n_all; i++)
    if (i == figures_n_all)
      return "--figure must be 29 to 33 or indivisible";
    else if (strcmp (figures_all[i].id, only) == 0)
      break;
  return NULL;
}

static void
read_options (int argc, char **argv)
{
  GError *error = NULL;
  GOptionContext *context = g_option_context_new (NULL);
  g_option_context_set_summary (
      context, "The strategies of Zhang 2011, figures 29 to 33, against each "
               "other and\nagainst the best static division.");
  if (!decimal_options_parse (context, entries, &argc, &argv, &error))
    fail (error);
  g_option_context_free (context);
  if (quick)
    {
      n_loads = MAX (n_loads / 5, 20);
      n_rounds = MIN (n_rounds, 8);
      n_repeat = 1;
    }
  const char *wrong = argc > 1 ? "unknown argument" : wrong_options ();
  if (wrong)
    {
      fprintf (stderr, "gpu-figures: %s; see --help\n", wrong);
      exit (2);
    }
  if (!folder)
    folder = g_strdup (".");
  if (g_mkdir_with_parents (folder, 0777) != 0)
    {
      fprintf (stderr, "gpu-figures: no folder %s\n", folder);
      exit (1);
    }
}

/* -- The modelled machine ----------------------------------------------- */

static guint
modelled_gpus (void)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  GError *error = NULL;
  char group[16];
  guint n = 0;
  if (!g_key_file_load_from_file (file, platform, G_KEY_FILE_NONE, &error))
    fail (error);
  do
    g_snprintf (group, sizeof group, "gpu%u", n);
  while (g_key_file_has_group (file, group) && ++n < FIGURES_MOST_GPUS);
  return n;
}

static void
divide (GKeyFile *file, const char *group, const char *key, double by)
{
  double value = g_key_file_get_double (file, group, key, NULL);
  g_key_file_set_double (file, group, key, value / by);
}

/* Converts the platform's rates: a unit of its work is a byte with one step for
   each word, a unit of the copy's is an element with so many steps. Only the
   first GPUs are kept. */
static void
write_platform (const char *path, guint n_gpus, double steps)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  GError *error = NULL;
  double by = FIGURES_ELEMENT_BYTES * steps / FIGURES_WORDS;
  if (!g_key_file_load_from_file (file, platform, G_KEY_FILE_NONE, &error))
    fail (error);
  divide (file, "cpu", "work_per_us", by);
  for (guint g = 0; g < FIGURES_MOST_GPUS; g++)
    {
      char group[16];
      g_snprintf (group, sizeof group, "gpu%u", g);
      if (g >= n_gpus)
        g_key_file_remove_group (file, group, NULL);
      else
        {
          int width = g_key_file_get_integer (file, group, "width", NULL);
          g_key_file_set_integer (file, group, "width",
                                  MAX (width / (int)FIGURES_ELEMENT_BYTES, 1));
          divide (file, group, "work_per_us", by);
        }
    }
  if (!g_key_file_save_to_file (file, path, &error))
    fail (error);
}

/* -- 1. Calibration ----------------------------------------------------- */

static const FiguresFarm equal_loads
    = { HASS_FARM_COMBINE, HASS_COST_EQUAL, FALSE, FALSE };

/* Time of a round that the CPU pool (index FIGURES_STATIC_STEPS) or the GPUs
   (0) run alone. */
static double
alone_ms (const FiguresMachine *m, guint index)
{
  g_autofree char *spec = figures_static_spec (index);
  g_autoptr (FiguresOutcome) o = figures_run (
      m, &equal_loads, spec, MIN (CALIBRATION_ROUNDS, m->work->rounds));
  return figures_outcome_settled_ms (o, 1);
}

static void
set_steps (const FiguresMachine *m, double steps)
{
  figures_work_set_steps (m->work, steps);
  if (m->platform)
    write_platform (m->platform, m->n_gpus, figures_work_steps (m->work));
}

/* The GPU's time is that of its link, so it is measured with few steps. */
static void
calibrate (const FiguresMachine *m)
{
  set_steps (m, FIRST_STEPS);
  if (m->n_gpus == 0)
    return;
  alone_ms (m, 0); /* a warm-up */
  double gpu = alone_ms (m, 0);
  for (guint i = 0; i < CORRECTIONS; i++)
    {
      double cpu = alone_ms (m, FIGURES_STATIC_STEPS);
      set_steps (m, figures_work_steps (m->work) * ratio_wanted * gpu / cpu);
    }
}

/* -- 3. What is written ------------------------------------------------- */

static void
describe_machine (GString *out, guint n_gpus)
{
  if (platform)
    {
      g_autofree char *name = g_path_get_basename (platform);
      g_string_append_printf (out, "A modelled machine, %s, in virtual time.\n",
                              name);
      return;
    }
  g_string_append_printf (out, "%u cores", bench_cores ());
  for (guint g = 0; g < n_gpus; g++)
    {
      g_autofree char *name = figures_gpu_name (g);
      g_string_append_printf (out, "; gpu%u: %s", g, name);
    }
  g_string_append (out, ".\n");
}

static void
describe_work (GString *out, const FiguresMachine *m)
{
  const FiguresWork *w = m->work;
  double cpu = alone_ms (m, FIGURES_STATIC_STEPS);
  double gib = w->n_elements * FIGURES_ELEMENT_BYTES / (double)GIB;
  g_string_append_printf (
      out,
      "\nA round has %zu loads of %zu elements of %zu bytes, %.3f GiB in all, "
      "an element %.0f steps of a hash. Results are %s.\n\nMeasured alone: the "
      "CPU %.2f ms a round (%.1f GB/s",
      w->n_loads, w->load_elements, FIGURES_ELEMENT_BYTES, gib,
      figures_work_steps (w), m->platform ? "not computed" : "checked", cpu,
      w->n_elements * FIGURES_ELEMENT_BYTES / cpu * 1e-6);
  if (!m->platform)
    g_string_append_printf (out, ", %.3f ms a load and core",
                            cpu * bench_cores () / w->n_loads);
  g_string_append (out, ")");
  if (m->n_gpus > 0)
    {
      double gpu = alone_ms (m, 0);
      g_string_append_printf (
          out, ", one GPU %.2f ms (%.1f GB/s): 1 : %.2f", gpu,
          w->n_elements * FIGURES_ELEMENT_BYTES / gpu * 1e-6, cpu / gpu);
    }
  g_string_append (out,
                   ".\n\nTables: medians; GPU part of the work; bundles that "
                   "GPUs got; part of their input that did not lie in one "
                   "stretch and was gathered first.\n\n");
}

static void
write_markdown (const GString *markdown)
{
  g_autofree char *path = g_build_filename (folder, "figures.md", NULL);
  GError *error = NULL;
  if (!g_file_set_contents (path, markdown->str, markdown->len, &error))
    fail (error);
}

/* -- 2. All figures ----------------------------------------------------- */

static void
run_figures (FiguresMachine *m, guint n_there, GString *markdown)
{
  guint first = n_there == 0        ? 0
                : n_gpus_wanted > 0 ? MIN ((guint)n_gpus_wanted, n_there)
                                    : 1;
  guint last = n_gpus_wanted > 0 ? first : MIN (n_there, 2);
  m->n_gpus = MIN (n_there, 1);
  describe_machine (markdown, last);
  calibrate (m);
  describe_work (markdown, m);
  printf ("%s", markdown->str);
  fflush (stdout);
  for (m->n_gpus = first; m->n_gpus <= last; m->n_gpus++)
    {
      if (m->platform)
        write_platform (m->platform, m->n_gpus, figures_work_steps (m->work));
      for (guint i = 0; i < figures_n_all; i++)
        if (!only || strcmp (only, figures_all[i].id) == 0)
          figures_report (m, &figures_all[i], (guint)n_rounds, (guint)n_repeat,
                          folder, markdown);
      write_markdown (markdown);
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (GString) markdown
      = g_string_new ("# Figures 29 to 33 of Zhang 2011, run again\n\n");
  g_autofree char *model = NULL;
  guint n_there = 0;
  read_options (argc, argv);
  g_setenv ("HASS_PROFILE", "off", TRUE); /* each run begins unlearned */
  if (platform)
    n_there = modelled_gpus ();
  else if (!cpu_only && figures_gpu_count)
    n_there = figures_gpu_count ();
  if (n_there == 0 && !cpu_only)
    {
      printf ("no GPU: nothing measured; --cpu-only runs without\n");
      return 0;
    }
  gint64 begin = bench_now_ns ();
  gsize elements = (gsize)load_kib * KIB / FIGURES_ELEMENT_BYTES;
  if (platform)
    {
      int fd = g_file_open_tmp ("hass-figures-XXXXXX", &model, NULL);
      if (fd < 0)
        return 1;
      close (fd);
    }
  FiguresMachine m
      = { .work = figures_work_new ((gsize)n_loads, elements, (guint)n_rounds,
                                    (guint64)seed, platform == NULL),
          .platform = model };
  run_figures (&m, n_there, markdown);
  printf ("%.1f s in all\n", (bench_now_ns () - begin) * 1e-9);
  figures_work_free (m.work);
  if (model)
    unlink (model);
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* report.c: runs a figure and says what came out: a table, facts, a plot.

   DESIGN.
   1. The best static division is searched for; that also shows what the CPU
      and the GPUs need alone.
   2. All strategies and that division run in turn, several times over, each
      time beginning with another one. A short run of each warms up.
   3. Numbers are medians over the runs; ratios are taken between runs of the
      same turn.

   Thread safety: one thread. */
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_ROUNDS 3
#define SETTLED 7 /* from round 8 on, where the thesis sees HASS_p settled */
#define STATIC "static"

typedef struct
{
  char *name, *spec;
  FiguresOutcome **outcomes; /* [repeat] */
} Row;

typedef struct
{
  const FiguresMachine *machine;
  const FiguresFigure *figure;
  guint rounds, repeat, settled;
  FiguresStatic statics;
  Row *rows; /* [n_rows], the static division last */
  guint n_rows;
  GString *out;
} Report;

/* -- 1. and 2. Running -------------------------------------------------- */

static void
make_rows (Report *r)
{
  guint n = g_strv_length ((char **)r->figure->strategies);
  r->n_rows = n + 1;
  r->rows = g_new0 (Row, r->n_rows);
  for (guint i = 0; i < n; i++)
    {
      r->rows[i].name = g_strdup (r->figure->strategies[i]);
      r->rows[i].spec = g_strdup (r->figure->strategies[i]);
    }
  r->rows[n].name = g_strdup_printf (
      STATIC ", %u %% CPU", 100 * r->statics.best / FIGURES_STATIC_STEPS);
  r->rows[n].spec = figures_static_spec (r->statics.best);
  for (guint i = 0; i < r->n_rows; i++)
    r->rows[i].outcomes = g_new0 (FiguresOutcome *, r->repeat);
}

static void
run_rows (Report *r)
{
  const FiguresFarm *farm = &r->figure->farm;
  for (guint i = 0; i < r->n_rows; i++)
    figures_outcome_free (figures_run (r->machine, farm, r->rows[i].spec,
                                       MIN (WARM_UP_ROUNDS, r->rounds)));
  for (guint k = 0; k < r->repeat; k++)
    for (guint i = 0; i < r->n_rows; i++)
      {
        Row *row = &r->rows[(i + k) % r->n_rows];
        row->outcomes[k] = figures_run (r->machine, farm, row->spec, r->rounds);
      }
}

static void
free_rows (Report *r)
{
  for (guint i = 0; i < r->n_rows; i++)
    {
      for (guint k = 0; k < r->repeat; k++)
        figures_outcome_free (r->rows[i].outcomes[k]);
      g_free (r->rows[i].outcomes);
      g_free (r->rows[i].name);
      g_free (r->rows[i].spec);
    }
  g_free (r->rows);
}

/* -- 3. Medians over the runs ------------------------------------------- */

/* A number of a run. */
typedef double (*Number) (const Report *r, const FiguresOutcome *o, guint arg);

static double
total_ms (const Report *r, const FiguresOutcome *o, guint unused)
{
  (void)r, (void)unused;
  return o->total_ms;
}

static double
settled_ms (const Report *r, const FiguresOutcome *o, guint unused)
{
  (void)unused;
  return figures_outcome_settled_ms (o, r->settled);
}

static double
round_ms (const Report *r, const FiguresOutcome *o, guint round)
{
  (void)r;
  return o->round_ms[round];
}

/* @arg: round and device. */
static double
part (const Report *r, const FiguresOutcome *o, guint arg)
{
  (void)r;
  return o->parts[arg];
}

static double
n_bundles (const Report *r, const FiguresOutcome *o, guint unused)
{
  (void)r, (void)unused;
  return (double)o->bundles;
}

static double
gathered (const Report *r, const FiguresOutcome *o, guint unused)
{
  (void)r, (void)unused;
  return o->gathered;
}

static double
gpu_part (const Report *r, const FiguresOutcome *o, guint unused)
{
  double cpu = 0;
  (void)unused;
  for (guint i = 0; i < r->rounds; i++)
    cpu += o->parts[(gsize)i * FIGURES_MOST_DEVICES] / r->rounds;
  return 1 - cpu;
}

static double
median (const Report *r, const Row *row, Number number, guint arg)
{
  g_autofree double *values = g_new (double, r->repeat);
  for (guint k = 0; k < r->repeat; k++)
    values[k] = number (r, row->outcomes[k], arg);
  return median_of (values, r->repeat);
}

static double
ratio (const Report *r, const Row *of, const Row *than, Number number)
{
  g_autofree double *values = g_new (double, r->repeat);
  for (guint k = 0; k < r->repeat; k++)
    values[k]
        = number (r, of->outcomes[k], 0) / number (r, than->outcomes[k], 0);
  return median_of (values, r->repeat);
}

/* -- What is written ---------------------------------------------------- */

static const Row *
row_of (const Report *r, const char *name)
{
  for (guint i = 0; i < r->n_rows; i++)
    if (g_str_has_prefix (r->rows[i].spec, name)
        && strchr (":", r->rows[i].spec[strlen (name)]))
      return &r->rows[i];
  g_assert_not_reached ();
}

static void
write_table (Report *r)
{
  const Row *best = &r->rows[r->n_rows - 1];
  g_string_append_printf (
      r->out,
      "| strategy | %u rounds [ms] | round 1 [ms] | round %u [ms] | from round "
      "%u on [ms] | GPU part | GPU bundles | gathered | time / best static |\n"
      "|:--|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      r->rounds, r->rounds, r->settled + 1);
  for (guint i = 0; i < r->n_rows; i++)
    {
      const Row *row = &r->rows[i];
      g_string_append_printf (
          r->out,
          "| %s | %.1f | %.2f | %.2f | %.2f | %.1f %% | %.0f | %.0f %% "
          "| %.3f |\n",
          row->name, median (r, row, total_ms, 0), median (r, row, round_ms, 0),
          median (r, row, round_ms, r->rounds - 1),
          median (r, row, settled_ms, 0), 100 * median (r, row, gpu_part, 0),
          median (r, row, n_bundles, 0), 100 * median (r, row, gathered, 0),
          ratio (r, row, best, total_ms));
    }
  g_string_append_c (r->out, '\n');
}

static void
write_facts (Report *r)
{
  const double *ms = r->statics.round_ms;
  double gpu = ms[0], cpu = ms[FIGURES_STATIC_STEPS];
  if (r->machine->n_gpus > 0)
    g_string_append_printf (
        r->out,
        "- Alone the CPU needs %.2f ms a round, the GPU%s %.2f ms: 1 : "
        "%.2f. At these rates both together would need %.2f ms.\n",
        cpu, r->machine->n_gpus > 1 ? "s" : "", gpu, cpu / gpu,
        1 / (1 / cpu + 1 / gpu));
  g_string_append (r->out,
                   "- Static divisions with 0, 5, ... 100 % for the CPU, ms a "
                   "round:");
  for (guint i = 0; i <= FIGURES_STATIC_STEPS; i++)
    g_string_append_printf (r->out, " %.2f", ms[i]);
  g_string_append (r->out, ".\n");
  for (const FiguresPair *p = r->figure->pairs; p->of; p++)
    {
      const Row *of = row_of (r, p->of), *than = row_of (r, p->than);
      g_string_append_printf (
          r->out,
          "- %s takes %.3f of the time of %s, from round %u on %.3f. The "
          "thesis: %s.\n",
          of->name, ratio (r, of, than, total_ms), than->name, r->settled + 1,
          ratio (r, of, than, settled_ms), p->thesis);
    }
  g_string_append_c (r->out, '\n');
}

static const char *
device_name (guint device, char name[16])
{
  g_snprintf (name, 16, device == 0 ? "cpu" : "gpu%u", device - 1);
  return name;
}

static void
write_parts (Report *r)
{
  const Row *row = row_of (r, r->figure->parts_of);
  char name[16];
  g_string_append_printf (r->out, "| round of %s |", row->name);
  for (guint d = 0; d <= r->machine->n_gpus; d++)
    g_string_append_printf (r->out, " %s |", device_name (d, name));
  g_string_append (r->out, " ms |\n|--:|");
  for (guint d = 0; d <= r->machine->n_gpus; d++)
    g_string_append (r->out, "--:|");
  g_string_append (r->out, "--:|\n");
  for (guint i = 0; i < r->rounds; i++)
    {
      g_string_append_printf (r->out, "| %u |", i + 1);
      for (guint d = 0; d <= r->machine->n_gpus; d++)
        g_string_append_printf (
            r->out, " %.1f %% |",
            100 * median (r, row, part, i * FIGURES_MOST_DEVICES + d));
      g_string_append_printf (r->out, " %.2f |\n",
                              median (r, row, round_ms, i));
    }
  g_string_append_c (r->out, '\n');
}

/* -- The plot ----------------------------------------------------------- */

/* The palette of Okabe and Ito, distinguishable with colour blindness; a
   strategy has the same colour in all figures. */
static const struct
{
  const char *strategy, *colour;
} colours[] = { { "naive-greedy", "#d55e00" },    { "min-min", "#e69f00" },
                { "modified-greedy", "#cc79a7" }, { "hass-cd", "#56b4e9" },
                { "hass-ce", "#0072b2" },         { "hass-p", "#009e73" },
                { "hass-i", "#009e73" },          { "auto", "#8a8a8a" } };
static const char *const device_colours[]
    = { "#e69f00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#d55e00" };

static const char *
colour_of (const char *strategy)
{
  for (guint i = 0; i < G_N_ELEMENTS (colours); i++)
    if (strcmp (colours[i].strategy, strategy) == 0)
      return colours[i].colour;
  return "#000000";
}

static double *
values_of (const Report *r, const Row *row, Number number, guint first,
           guint stride)
{
  double *values = g_new (double, r->rounds);
  for (guint i = 0; i < r->rounds; i++)
    values[i] = median (r, row, number, first + i * stride);
  return values;
}

static char *
plot (const Report *r, const char *title, const char *subtitle)
{
  FiguresLine lines[FIGURES_MOST_LINES];
  g_autoptr (GPtrArray) owned = g_ptr_array_new_with_free_func (g_free);
  const char *of = r->figure->parts_of;
  guint n = MIN (of ? 1 + r->machine->n_gpus : r->n_rows, FIGURES_MOST_LINES);
  for (guint i = 0; i < n; i++)
    {
      const Row *row = of ? row_of (r, of) : &r->rows[i];
      char name[16];
      char *label = of ? g_strdup (device_name (i, name))
                       : g_strdup_printf ("%s: %.1f ms", row->name,
                                          median (r, row, total_ms, 0));
      double *values = of ? values_of (r, row, part, i, FIGURES_MOST_DEVICES)
                          : values_of (r, row, round_ms, 0, 1);
      g_ptr_array_add (owned, label);
      g_ptr_array_add (owned, values);
      lines[i] = (FiguresLine){
        .name = label,
        .colour = of ? device_colours[i % G_N_ELEMENTS (device_colours)]
                     : colour_of (row->name),
        .values = values,
        .dashed = !of && i == r->n_rows - 1,
      };
    }
  return (of ? figures_plot_parts : figures_plot_lines) (title, subtitle, lines,
                                                         n, r->rounds);
}

static void
write_plot (Report *r, const char *folder, const char *title,
            const char *subtitle)
{
  guint n = r->machine->n_gpus;
  g_autofree char *name
      = n > 1 ? g_strdup_printf ("figure-%s-%ugpus.svg", r->figure->id, n)
              : g_strdup_printf ("figure-%s.svg", r->figure->id);
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *svg = plot (r, title, subtitle);
  GError *error = NULL;
  if (!g_file_set_contents (path, svg, -1, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      exit (1);
    }
  g_string_append_printf (r->out, "![%s](%s)\n\n", title, name);
}

void
figures_report (const FiguresMachine *machine, const FiguresFigure *figure,
                guint rounds, guint repeat, const char *folder,
                GString *markdown)
{
  guint n = machine->n_gpus;
  Report r = { .machine = machine,
               .figure = figure,
               .rounds = rounds,
               .repeat = repeat,
               .settled = MIN (SETTLED, rounds - 1),
               .out = markdown };
  g_autofree char *devices
      = n == 0 ? g_strdup ("CPU only")
               : g_strdup_printf ("CPU and %u GPU%s", n, n > 1 ? "s" : "");
  g_autofree char *subtitle = g_strdup_printf (
      "%s, %u run%s of %u rounds%s", devices, repeat, repeat > 1 ? "s" : "",
      rounds, machine->platform ? ", in virtual time" : "");
  gsize before = markdown->len;
  g_string_append_printf (markdown, "## %s, %s\n\n%s\n\n", figure->title,
                          devices, figure->what);
  r.statics = figures_search_static (machine, &figure->farm);
  make_rows (&r);
  run_rows (&r);
  write_table (&r);
  write_facts (&r);
  if (figure->parts_of)
    write_parts (&r);
  write_plot (&r, folder, figure->title, subtitle);
  free_rows (&r);
  printf ("\n%s", markdown->str + before);
  fflush (stdout);
}

/* SPDX-License-Identifier: MIT */
/* options.c: parses the command line with GOption.
   Thread safety: single-threaded, at start-up. */
#include "options.h"

#include <string.h>

#include <hass/strategy.h>

#include "../decimal_options.h"
#include "../gpu_limit.h"

#define DEFAULT_N 2048
#define NOT_GIVEN G_MININT64
#define MOST_ROUNDS 1000000

/* What GOption fills in; the defaults where it does not. */
typedef struct
{
  gint64 n, m, k, rounds, seed;
  gint cores, gpus;
  char *type, *tile;
} Given;

static gboolean wrong (GError **error, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

static gboolean
wrong (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, text);
  return FALSE;
}

static gboolean
in_range (const char *option, gint64 value, gint64 min, gint64 max,
          GError **error)
{
  if (value >= min && value <= max)
    return TRUE;
  return wrong (error,
                "%s needs a number from %" G_GINT64_FORMAT
                " to %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                option, min, max, value);
}

/* "ROWSxCOLS", or one number for both. */
static gboolean
parse_tile (const char *text, MatrixProblem *p, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", 2);
  guint64 rows, cols;
  if (!parts[0]
      || !g_ascii_string_to_unsigned (parts[0], 10, 1, MATRIX_MOST_ROWS, &rows,
                                      NULL)
      || !g_ascii_string_to_unsigned (parts[parts[1] ? 1 : 0], 10, 1,
                                      MATRIX_MOST_ROWS, &cols, NULL))
    return wrong (error, "--tile needs ROWSxCOLS or one number, not '%s'",
                  text);
  p->tile_rows = MIN (rows, p->m);
  p->tile_cols = MIN (cols, p->n);
  return TRUE;
}

static gboolean
understand (MatrixOptions *o, const Given *g, GError **error)
{
  MatrixProblem *p = &o->problem;
  const struct
  {
    const char *option;
    gint64 value, max;
  } numbers[] = { { "--n", g->n, MATRIX_MOST_ROWS },
                  { "--m", g->m, MATRIX_MOST_ROWS },
                  { "--k", g->k, MATRIX_MOST_ROWS },
                  { "--rounds", g->rounds, MOST_ROUNDS } };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (!in_range (numbers[i].option, numbers[i].value, 1, numbers[i].max,
                   error))
      return FALSE;
  if (!in_range ("--cores", g->cores, 0, 4096, error)
      || !in_range ("--gpus", g->gpus == ALL_GPUS ? 0 : g->gpus, 0, 64, error))
    return FALSE;
  if (o->cpu_only && (o->gpu_only || g->gpus > 0))
    return wrong (error, "--cpu-only leaves no device for %s",
                  o->gpu_only ? "--gpu-only" : "--gpus");
  if (o->gpu_only && g->gpus == 0)
    return wrong (error, "--gpus=0 leaves no device for --gpu-only");
  p->m = g->m;
  p->k = g->k;
  p->n = g->n;
  o->rounds = g->rounds;
  o->cores = g->cores;
  o->gpus = gpu_limit (g->gpus, o->cpu_only);
  o->cpu_only = o->gpus < 0;
  o->seed = g->seed;
  if (!g->type || strcmp (g->type, "double") == 0)
    p->type = MATRIX_DOUBLE;
  else if (strcmp (g->type, "float") == 0)
    p->type = MATRIX_FLOAT;
  else
    return wrong (error, "--type is float or double, not '%s'", g->type);
  if (g->tile)
    return parse_tile (g->tile, p, error);
  matrix_choose_tiles (p);
  return TRUE;
}

static char *
list_strategies (void)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  GString *s = g_string_new ("Strategies:\n");
  for (gsize i = 0; all[i]; i++)
    if (all[i]->farms & HASS_FARM_PARTITION)
      g_string_append_printf (s, "  %-16s %s\n", all[i]->name, all[i]->summary);
  return g_string_free (s, FALSE);
}

gboolean
matrix_options_parse (MatrixOptions *o, int argc, char **argv, GError **error)
{
  Given g = { .n = DEFAULT_N,
              .m = NOT_GIVEN,
              .k = NOT_GIVEN,
              .rounds = 1,
              .seed = 1,
              .gpus = ALL_GPUS };
  memset (o, 0, sizeof *o);
  const GOptionEntry entries[] = {
    { "n", 'n', 0, G_OPTION_ARG_INT64, &g.n,
      "Columns of B and C, and the default of --m and --k (2048)", "N" },
    { "m", 'm', 0, G_OPTION_ARG_INT64, &g.m, "Rows of A and C", "M" },
    { "k", 'k', 0, G_OPTION_ARG_INT64, &g.k, "Columns of A and rows of B",
      "K" },
    { "type", 't', 0, G_OPTION_ARG_STRING, &g.type, "float or double (double)",
      "TYPE" },
    { "tile", 0, 0, G_OPTION_ARG_STRING, &g.tile,
      "Size of C's tiles (by the size of C)", "ROWSxCOLS" },
    { "rounds", 'r', 0, G_OPTION_ARG_INT64, &g.rounds,
      "Multiply so many times (1)", "R" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &g.seed, "Of the random matrices (1)",
      "S" },
    { "verify", 'v', 0, G_OPTION_ARG_NONE, &o->verify,
      "Compare the product with an independent reference", NULL },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json,
      "Print that as JSON, and all else to stderr", NULL },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy,
      "Schedule with this strategy, see below", "NAME" },
    { "platform", 0, 0, G_OPTION_ARG_FILENAME, &o->platform,
      "Run on a modelled machine, in virtual time", "FILE" },
    { "cores", 0, 0, G_OPTION_ARG_INT, &g.cores, "Use at most so many", "N" },
    { "gpus", 0, 0, G_OPTION_ARG_INT, &g.gpus, "Use at most so many, 0: none",
      "N" },
    { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &o->cpu_only, "Use no GPU", NULL },
    { "gpu-only", 0, 0, G_OPTION_ARG_NONE, &o->gpu_only,
      "Compute on GPUs alone", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autofree char *strategies = list_strategies ();
  g_option_context_set_summary (
      context, "Multiplies random matrices, C = A*B, on all cores and GPUs.");
  g_option_context_set_description (context, strategies);
  gboolean ok = decimal_options_parse (context, entries, &argc, &argv, error);
  if (ok && argc > 1)
    ok = wrong (error, "'%s' is not an option", argv[1]);
  g.m = g.m == NOT_GIVEN ? g.n : g.m;
  g.k = g.k == NOT_GIVEN ? g.n : g.k;
  ok = ok && understand (o, &g, error);
  g_free (g.type);
  g_free (g.tile);
  return ok;
}

void
matrix_options_clear (MatrixOptions *o)
{
  g_free (o->strategy);
  g_free (o->platform);
}

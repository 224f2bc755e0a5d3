/* SPDX-License-Identifier: MIT */
/* options.c: parses the command line with GOption.
   Thread safety: single-threaded, at start-up. */
#include "options.h"

#include <string.h>

#include "../decimal_options.h"
#include "../gpu_limit.h"

#define DEFAULT_N 4096
#define NOT_GIVEN G_MININT64
#define MOST_ROUNDS 1000000

/* What GOption fills in; the defaults where it does not. */
typedef struct
{
  gint64 n, rounds, seed;
  gint cores, gpus;
  gboolean upper, cpu_only;
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

/* "ROWSxCOLS", or one number for both. */
static gboolean
parse_tile (const char *text, CholeskyOptions *o, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", 2);
  guint64 rows, cols;
  if (!parts[0]
      || !g_ascii_string_to_unsigned (parts[0], 10, 1, CHOLESKY_MOST_ROWS,
                                      &rows, NULL)
      || !g_ascii_string_to_unsigned (parts[parts[1] ? 1 : 0], 10, 1,
                                      CHOLESKY_MOST_ROWS, &cols, NULL))
    return wrong (error, "--tile needs ROWSxCOLS or one number, not '%s'",
                  text);
  o->tile_rows = rows;
  o->tile_cols = cols;
  return TRUE;
}

static gboolean
understand (CholeskyOptions *o, const Given *g, GError **error)
{
  gint64 n = g->n == NOT_GIVEN ? DEFAULT_N : g->n;
  const struct
  {
    const char *option;
    gint64 value, least, most;
  } numbers[] = { { "--n", n, 0, CHOLESKY_MOST_ROWS },
                  { "--rounds", g->rounds, 1, MOST_ROUNDS },
                  { "--cores", g->cores, 0, 4096 },
                  { "--gpus", g->gpus == ALL_GPUS ? 0 : g->gpus, 0, 64 } };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (numbers[i].value < numbers[i].least
        || numbers[i].value > numbers[i].most)
      return wrong (error,
                    "%s needs a number from %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                    numbers[i].option, numbers[i].least, numbers[i].most,
                    numbers[i].value);
  if (o->file && g->n != NOT_GIVEN)
    return wrong (error, "--n is of a random matrix, not of a file");
  o->problem.n = n;
  o->problem.triangle = g->upper ? HASS_LA_UPPER : HASS_LA_LOWER;
  o->rounds = g->rounds;
  o->cores = g->cores;
  o->gpus = gpu_limit (g->gpus, g->cpu_only);
  if (g->cpu_only && g->gpus > 0)
    return wrong (error, "--cpu-only leaves no device for --gpus");
  o->seed = g->seed;
  if (!g->type || strcmp (g->type, "double") == 0)
    o->problem.type = HASS_LA_DOUBLE;
  else if (strcmp (g->type, "float") == 0)
    o->problem.type = HASS_LA_FLOAT;
  else
    return wrong (error, "--type is float or double, not '%s'", g->type);
  return !g->tile || parse_tile (g->tile, o, error);
}

gboolean
cholesky_options_parse (CholeskyOptions *o, int argc, char **argv,
                        GError **error)
{
  Given g = { .n = NOT_GIVEN, .rounds = 3, .seed = 1, .gpus = ALL_GPUS };
  memset (o, 0, sizeof *o);
  const GOptionEntry entries[] = {
    { "n", 'n', 0, G_OPTION_ARG_INT64, &g.n, "Rows of a random matrix (4096)",
      "N" },
    { "type", 't', 0, G_OPTION_ARG_STRING, &g.type, "float or double (double)",
      "TYPE" },
    { "upper", 'u', 0, G_OPTION_ARG_NONE, &g.upper,
      "U'*U of the upper triangle, in place of L*L' of the lower one", NULL },
    { "tile", 0, 0, G_OPTION_ARG_STRING, &g.tile,
      "Size of the tiles (by N and the cores)", "ROWSxCOLS" },
    { "rounds", 'r', 0, G_OPTION_ARG_INT64, &g.rounds,
      "Factorise so many times (3)", "R" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &g.seed, "Of the random matrix (1)",
      "S" },
    { "alone", 'a', 0, G_OPTION_ARG_NONE, &o->alone,
      "Do not measure OpenBLAS, cuBLAS and cuSOLVER", NULL },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time of the last round went", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json,
      "Print that as JSON, and all else to stderr", NULL },
    { "cores", 0, 0, G_OPTION_ARG_INT, &g.cores, "Use at most so many", "N" },
    { "gpus", 0, 0, G_OPTION_ARG_INT, &g.gpus, "Use at most so many, 0: none",
      "N" },
    { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &g.cpu_only, "Use no GPU", NULL },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy,
      "Schedule with this strategy", "NAME" },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("[FILE]");
  g_option_context_set_summary (
      context,
      "Factorises a symmetric positive definite matrix on all cores "
      "and GPUs: that\nof FILE, in Matrix Market format, - being standard "
      "input, or a random one.");
  gboolean ok = decimal_options_parse (context, entries, &argc, &argv, error);
  if (ok && argc > 2)
    ok = wrong (error, "one file at a time, not also '%s'", argv[2]);
  o->file = ok && argc > 1 ? g_strdup (argv[1]) : NULL;
  ok = ok && understand (o, &g, error);
  g_free (g.type);
  g_free (g.tile);
  return ok;
}

void
cholesky_options_clear (CholeskyOptions *o)
{
  g_free (o->file);
  g_free (o->strategy);
}

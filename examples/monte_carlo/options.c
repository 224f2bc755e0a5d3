/* SPDX-License-Identifier: MIT */
/* options.c: parses monte_carlo's command line.
   Thread safety: single-threaded, at start-up. */
#include "options.h"

#include <string.h>

#include "../decimal_options.h"
#include "../gpu_limit.h"

#define SAMPLES_PI ((gint64)1 << 28)
#define SAMPLES_OPTION ((gint64)1 << 20)

static const char summary[]
    = "Estimates pi, or the price of a call option, by sampling on all cores\n"
      "and GPUs. The fingerprint that is printed has every bit of the sums;\n"
      "for the same samples, seed and option it is the same whatever computed\n"
      "them: any strategy, any cores, any GPUs.";

/* What GOption fills in; the defaults where it does not. */
typedef struct
{
  gboolean pi, cpu_only, gpu_only;
  char *kind;
  gint64 samples, block, seed; /* samples 0: the default of the kind */
  int steps, cores, gpus;
} Given;

static gboolean
wrong (GError **error, const char *what)
{
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
  return FALSE;
}

static gboolean
check (const char *option, double value, double low, double high,
       GError **error)
{
  if (value >= low && value <= high)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--%s=%g is not a number from %g to %g", option, value, low,
               high);
  return FALSE;
}

static gboolean
check_option (const McOption *o, int steps, GError **error)
{
  return check ("spot", o->spot, 1e-9, 1e9, error)
         && check ("strike", o->strike, 1e-9, 1e9, error)
         && check ("rate", o->rate, -10, 10, error)
         && check ("volatility", o->volatility, 1e-6, 10, error)
         && check ("years", o->years, 1e-6, 1000, error)
         && check ("steps", steps, 1, MC_MAX_STEPS, error);
}

static gboolean
parse_kind (const char *name, McKind *kind, GError **error)
{
  if (!name)
    *kind = MC_PI;
  else if (strcmp (name, "european") == 0)
    *kind = MC_EUROPEAN;
  else if (strcmp (name, "asian") == 0)
    *kind = MC_ASIAN;
  else
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--option=%s is neither european nor asian", name);
      return FALSE;
    }
  return TRUE;
}

/* Checks what was given and fills the options' job from it. */
static gboolean
understand (McOptions *o, const Given *g, GError **error)
{
  McKind kind;
  gint64 samples = g->samples;
  if (!parse_kind (g->kind, &kind, error))
    return FALSE;
  if (kind != MC_PI && g->pi)
    return wrong (error, "--pi and --option exclude each other");
  if (g->cpu_only && g->gpu_only)
    return wrong (error, "--cpu-only and --gpu-only exclude each other");
  if (g->gpus == 0 && g->gpu_only)
    return wrong (error, "--gpus=0 and --gpu-only exclude each other");
  if (g->gpu_only && !monte_carlo_gpu_worker)
    return wrong (error, "--gpu-only: this program was built without CUDA");
  if (samples == 0)
    samples = kind == MC_PI ? SAMPLES_PI : SAMPLES_OPTION;
  if (!check ("samples", samples, 1, MC_MAX_SAMPLES, error)
      || !check ("block", g->block, 0, G_MAXINT64, error)
      || !check ("cores", g->cores, 0, G_MAXINT, error)
      || !check ("gpus", g->gpus == ALL_GPUS ? 0 : g->gpus, 0, G_MAXINT, error))
    return FALSE;
  if (kind != MC_PI && !check_option (&o->option, g->steps, error))
    return FALSE;
  guint64 seed = (guint64)g->seed;
  gint n_gpus = gpu_limit (g->gpus, g->cpu_only);
  o->option.steps = (guint)g->steps;
  o->job = (McJob){ .samples = (guint64)samples,
                    .block = (guint64)g->block,
                    .gpu_worker = n_gpus < 0 ? NULL : monte_carlo_gpu_worker,
                    .no_cpu = g->gpu_only };
  o->job.model = kind == MC_PI
                     ? monte_carlo_pi_model (seed)
                     : monte_carlo_option_model (kind, &o->option, seed);
  o->job.run.strategy = o->strategy;
  o->job.run.platform = o->platform;
  o->job.run.n_cores = (guint)g->cores;
  o->job.run.n_gpus = n_gpus;
  return TRUE;
}

gboolean
monte_carlo_options_parse (McOptions *o, int *argc, char ***argv,
                           GError **error)
{
  Given g = { .seed = 1, .steps = 64, .gpus = ALL_GPUS };
  memset (o, 0, sizeof *o);
  o->option = (McOption){ 100, 100, 0.05, 0.2, 1, 0 };
  const GOptionEntry entries[] = {
    { "pi", 0, 0, G_OPTION_ARG_NONE, &g.pi, "Estimate pi (the default)", NULL },
    { "option", 0, 0, G_OPTION_ARG_STRING, &g.kind,
      "Price a call: european, or asian on the mean price", "KIND" },
    { "samples", 'n', 0, G_OPTION_ARG_INT64, &g.samples,
      "Points (default 2^28) or paths (2^20)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &g.seed, "Of the random numbers (1)",
      "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT, &g.steps, "Of a path (64)", "N" },
    { "spot", 0, 0, G_OPTION_ARG_DOUBLE, &o->option.spot, "Price now (100)",
      "X" },
    { "strike", 0, 0, G_OPTION_ARG_DOUBLE, &o->option.strike,
      "Price agreed on (100)", "X" },
    { "rate", 0, 0, G_OPTION_ARG_DOUBLE, &o->option.rate,
      "Interest for a year (0.05)", "X" },
    { "volatility", 0, 0, G_OPTION_ARG_DOUBLE, &o->option.volatility,
      "For a year (0.2)", "X" },
    { "years", 0, 0, G_OPTION_ARG_DOUBLE, &o->option.years, "To maturity (1)",
      "X" },
    { "verify", 0, 0, G_OPTION_ARG_NONE, &o->verify,
      "Compare with what is known and with a serial loop", NULL },
    { "block", 0, 0, G_OPTION_ARG_INT64, &g.block,
      "Samples in a block (what takes a core 200 us)", "N" },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy,
      "Schedule with this strategy", "NAME" },
    { "platform", 0, 0, G_OPTION_ARG_FILENAME, &o->platform,
      "Run on a modelled machine, virtual time", "FILE" },
    { "cores", 0, 0, G_OPTION_ARG_INT, &g.cores, "Use at most N cores", "N" },
    { "gpus", 0, 0, G_OPTION_ARG_INT, &g.gpus, "Use at most N GPUs, 0: none",
      "N" },
    { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &g.cpu_only, "Use no GPU", NULL },
    { "gpu-only", 0, 0, G_OPTION_ARG_NONE, &g.gpu_only, "Use no core", NULL },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went, to stderr", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "The same as JSON, to stderr",
      NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (context, summary);
  gboolean ok = decimal_options_parse (context, entries, argc, argv, error);
  if (ok && *argc > 1)
    ok = wrong (error, "there are no arguments, only options");
  ok = ok && understand (o, &g, error);
  g_free (g.kind);
  return ok;
}

void
monte_carlo_options_clear (McOptions *o)
{
  g_free (o->strategy);
  g_free (o->platform);
}

/* SPDX-License-Identifier: MIT */
/* options.c: parses y4m_denoise's command line.
   Thread safety: as options.h. */
#include "options.h"

#include <string.h>

#include "../decimal_options.h"
#include "../gpu_limit.h"
#include "blend.h"

static const char summary[]
    = "Removes noise from uncompressed video (YUV4MPEG2, 8 bit) on all cores\n"
      "and GPUs: non-local means, then a blend with the frame before. The\n"
      "output is the same whatever computed it. Without file names it stands\n"
      "between two programs:\n\n"
      "  ffmpeg -i IN -f yuv4mpegpipe - | y4m_denoise | ffmpeg -i - OUT";

/* What GOption fills in; the defaults where it does not. */
typedef struct
{
  double strength;
  int patch, search, temporal, frames, cores, gpus;
  gboolean cpu_only, gpu_only;
  char **files;
} Given;

static gboolean G_GNUC_PRINTF (2, 3)
    wrong (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
  return FALSE;
}

static gboolean
check_size (const char *option, int size, GError **error)
{
  if (size < 1 || size > NLM_MAX_SIZE || size % 2 == 0)
    return wrong (error, "--%s=%d is not an odd number from 1 to %d", option,
                  size, NLM_MAX_SIZE);
  return TRUE;
}

static gboolean
check_devices (const Given *g, GError **error)
{
  if (g->cores < 0)
    return wrong (error, "--cores=%d is negative", g->cores);
  if (g->gpus < 0 && g->gpus != ALL_GPUS)
    return wrong (error, "--gpus=%d is negative", g->gpus);
  if (g->frames < 0)
    return wrong (error, "--frames=%d is negative", g->frames);
  if (g->cpu_only && g->gpu_only)
    return wrong (error, "--cpu-only and --gpu-only exclude each other");
  if (g->gpus == 0 && g->gpu_only)
    return wrong (error, "--gpus=0 and --gpu-only exclude each other");
  if (g->gpu_only && !y4m_gpu_worker)
    return wrong (error, "--gpu-only: this program was built without CUDA");
  return TRUE;
}

static gboolean
take_files (Y4mOptions *o, char **files, GError **error)
{
  guint n = files ? g_strv_length (files) : 0;
  if (n > 2)
    return wrong (error, "there are %u arguments, not INPUT and OUTPUT", n);
  if (n > 0 && strcmp (files[0], "-") != 0)
    o->input = g_strdup (files[0]);
  if (n > 1 && strcmp (files[1], "-") != 0)
    o->output = g_strdup (files[1]);
  return TRUE;
}

/* Checks what was given and fills the options from it. */
static gboolean
understand (Y4mOptions *o, const Given *g, GError **error)
{
  if (!(g->strength >= 0.1 && g->strength <= NLM_MAX_STRENGTH))
    return wrong (error, "--strength=%g is not from 0.1 to %g", g->strength,
                  NLM_MAX_STRENGTH);
  if (g->temporal < 0 || g->temporal > BLEND_MAX_STRENGTH)
    return wrong (error, "--temporal=%d is not from 0 to %d", g->temporal,
                  BLEND_MAX_STRENGTH);
  if (!check_size ("patch", g->patch, error)
      || !check_size ("search", g->search, error) || !check_devices (g, error)
      || !take_files (o, g->files, error))
    return FALSE;
  o->job.nlm = nlm_params (g->strength, g->patch, g->search);
  o->job.temporal = (guint)g->temporal;
  o->job.frames = (guint)g->frames;
  o->job.no_cpu = g->gpu_only;
  o->job.run.strategy = o->strategy;
  o->job.run.platform = o->platform;
  o->job.run.n_cores = (guint)g->cores;
  o->job.run.n_gpus = gpu_limit (g->gpus, g->cpu_only);
  o->job.gpu = o->job.run.n_gpus >= 0;
  return TRUE;
}

gboolean
y4m_options_parse (Y4mOptions *o, int *argc, char ***argv, GError **error)
{
  Given g = {
    .strength = 3, .patch = 7, .search = 15, .temporal = 8, .gpus = ALL_GPUS
  };
  memset (o, 0, sizeof *o);
  const GOptionEntry entries[] = {
    { "strength", 's', 0, G_OPTION_ARG_DOUBLE, &g.strength,
      "Of non-local means, 0.1 to 30, as ffmpeg's nlmeans (3)", "X" },
    { "patch", 'p', 0, G_OPTION_ARG_INT, &g.patch,
      "Compare patches of N x N samples, odd (7)", "N" },
    { "search", 'r', 0, G_OPTION_ARG_INT, &g.search,
      "Search N x N samples, odd (15)", "N" },
    { "temporal", 't', 0, G_OPTION_ARG_INT, &g.temporal,
      "Blend samples that differ by less from the frame before, 0: none (8)",
      "N" },
    { "frames", 0, 0, G_OPTION_ARG_INT, &g.frames,
      "Keep at most N frames in flight, 0: as many as are useful (0)", "N" },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o->strategy,
      "Schedule with this strategy", "NAME" },
    { "platform", 0, 0, G_OPTION_ARG_FILENAME, &o->platform,
      "Run on a modelled machine, virtual time", "FILE" },
    { "cores", 0, 0, G_OPTION_ARG_INT, &g.cores, "Use at most N cores", "N" },
    { "gpus", 0, 0, G_OPTION_ARG_INT, &g.gpus, "Use at most N GPUs, 0: none",
      "N" },
    { "cpu-only", 0, 0, G_OPTION_ARG_NONE, &g.cpu_only, "Use no GPU", NULL },
    { "gpu-only", 0, 0, G_OPTION_ARG_NONE, &g.gpu_only, "Denoise on GPUs alone",
      NULL },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went, to stderr", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &g.files, NULL,
      "[INPUT [OUTPUT]]" },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (context, summary);
  gboolean ok = decimal_options_parse (context, entries, argc, argv, error)
                && understand (o, &g, error);
  g_strfreev (g.files);
  return ok;
}

void
y4m_options_clear (Y4mOptions *o)
{
  g_free (o->input);
  g_free (o->output);
  g_free (o->strategy);
  g_free (o->platform);
}

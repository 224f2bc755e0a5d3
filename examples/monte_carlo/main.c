/* SPDX-License-Identifier: MIT */
/* main.c: monte_carlo, pi and the prices of options by sampling.
   Thread safety: single-threaded; the farms are not. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../exit_status.h"
#include "../standard_output.h"
#include "options.h"

/* Standard errors between an estimate and the truth; 5 are exceeded once in
   1.7 million seeds. */
#define DEVIATIONS 5
/* Fewer samples are not distributed as those standard errors assume. */
#define FEWEST_SAMPLES 1000
/* What the serial loop computes in about two seconds. */
#define SERIAL_STEPS ((guint64)1 << 26)

static gboolean
verify_value (const McOptions *o, McEstimate e)
{
  if (o->job.samples < FEWEST_SAMPLES || e.standard_error == 0)
    {
      puts ("verify          too few samples to tell more than their bits");
      return TRUE;
    }
  double low = G_PI, high = G_PI;
  if (o->job.model.kind == MC_EUROPEAN)
    low = high = monte_carlo_black_scholes (&o->option);
  else if (o->job.model.kind == MC_ASIAN)
    monte_carlo_asian_bounds (&o->option, &low, &high);
  double off = MAX (MAX (low - e.value, e.value - high), 0);
  gboolean ok = off <= DEVIATIONS * e.standard_error;
  printf ("verify          %s: ", ok ? "ok" : "FAILED");
  if (low < high)
    printf ("between %.9g and %.9g", low, high);
  else
    printf ("%.9g", low);
  printf (", %.2f standard errors off\n", off / e.standard_error);
  return ok;
}

/* The same samples, or the first of them, by one plain loop. */
static gboolean
verify_bits (const McOptions *o, const McSums *sums, GError **error)
{
  McJob job = o->job;
  McSums farmed = *sums;
  job.samples = MIN (job.samples, SERIAL_STEPS / MAX (job.model.steps, 1));
  if (job.samples < o->job.samples
      && !monte_carlo_run (&job, &farmed, NULL, error))
    return FALSE;
  McSums serial = mc_share (&job.model, job.model.kind, 0, job.samples, 0, 1);
  gboolean ok = memcmp (&serial, &farmed, sizeof serial) == 0;
  printf ("verify          %s: %" PRIu64 " samples by a serial loop\n",
          ok ? "ok, the same bits" : "FAILED", job.samples);
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
                 "the sums are not those of a serial loop");
  return ok;
}

static void
print_results (const McOptions *o, const McSums *sums, McEstimate e)
{
  static const char *const names[] = { "pi", "european call", "asian call" };
  const McModel *m = &o->job.model;
  g_autofree char *fingerprint = monte_carlo_fingerprint (sums);
  printf ("%-15s %.9f\n", names[m->kind], e.value);
  printf ("standard error  %.9f\n", e.standard_error);
  printf ("samples         %" PRIu64 ", seed %" PRIu64, sums->n, m->seed);
  if (m->kind != MC_PI)
    printf (", %u steps", m->steps);
  printf ("\nfingerprint     %s\n", fingerprint);
  if (m->kind != MC_PI && sums->special > 0)
    printf ("cut off         %" PRIu64 " payoffs above %g spot prices\n",
            sums->special, MC_CAP);
}

static gboolean
run (const McOptions *o, GError **error)
{
  McSums sums;
  g_autoptr (HassReport) report = NULL;
  gboolean ok = monte_carlo_run (&o->job, &sums, &report, error);
  if (report && o->report)
    {
      g_autofree char *table = hass_report_to_string (report);
      fputs (table, stderr);
    }
  if (report && o->json)
    {
      g_autofree char *json = hass_report_to_json (report);
      fprintf (stderr, "%s\n", json);
    }
  if (!ok)
    return FALSE;
  McEstimate e = monte_carlo_estimate (
      &sums, o->job.model.kind == MC_PI ? NULL : &o->option);
  print_results (o, &sums, e);
  if (!o->verify)
    return TRUE;
  if (!verify_value (o, e))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
                   "the estimate is too far off");
      return FALSE;
    }
  return verify_bits (o, &sums, error);
}

int
main (int argc, char **argv)
{
  McOptions options;
  g_autoptr (GError) error = NULL;
  int status = 0;
  output_check ();
  if (!monte_carlo_options_parse (&options, &argc, &argv, &error))
    status = 2;
  else if (!run (&options, &error))
    status = exit_status_of (error);
  if (error)
    fprintf (stderr, "monte_carlo: %s\n", error->message);
  monte_carlo_options_clear (&options);
  return status;
}

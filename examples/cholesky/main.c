/* SPDX-License-Identifier: MIT */
/* main.c: cholesky, A = L*L' by tiles on all cores and GPUs, beside OpenBLAS's
   own threads and, on one GPU, cuSOLVER.
   Exit status: 0 done, 1 failed or the factor is wrong, 2 wrong options.
   Thread safety: single-threaded; the dataflow is not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hass/report.h>

#include "../exit_status.h"
#include "../standard_output.h"
#include "options.h"

#define DONE 0
#define FAILED 1
#define WRONG_OPTIONS 2

/* Multiplications that are repeated one by one in about a second. */
#define FULL_CHECK_UP_TO 1e8

/* In us: OpenBLAS's threads look for work for 2^26 cycles after a call. */
#define OPENBLAS_SPINS_US 40000

/* Times of the rounds, in s. */
typedef struct
{
  double *ours, *theirs;
} Times;

static gboolean
read_file (CholeskyProblem *p, const char *path, GError **error)
{
  gboolean input = strcmp (path, "-") == 0;
  MarketFile m = { .in = input ? stdin : fopen (path, "r"), .name = path };
  if (!m.in)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", path,
                   g_strerror (errno));
      return FALSE;
    }
  gboolean ok = market_read_head (&m, error);
  p->n = m.n;
  ok = ok && cholesky_allocate (p, error) && market_read_numbers (&m, p, error);
  if (!input)
    fclose (m.in);
  return ok;
}

static double
seconds_since (gint64 begin_us)
{
  return (g_get_monotonic_time () - begin_us) / 1e6;
}

static gboolean
one_round (const CholeskyOptions *o, HassLaPotrf *potrf, guint round,
           Times *times, HassReport **report, GError **error)
{
  const CholeskyProblem *p = &o->problem;
  gint64 begin_us;
  if (!o->alone)
    {
      begin_us = g_get_monotonic_time ();
      cholesky_openblas (p, o->cores);
      times->theirs[round] = seconds_since (begin_us);
      g_usleep (OPENBLAS_SPINS_US);
      if (!cholesky_restore (p, o->cores, error))
        return FALSE;
    }
  g_clear_pointer (report, hass_report_free);
  begin_us = g_get_monotonic_time ();
  gboolean ok = hass_la_potrf (potrf, NULL, report, error);
  times->ours[round] = seconds_since (begin_us);
  return ok
         && (round + 1 == o->rounds || cholesky_restore (p, o->cores, error));
}

static int
by_size (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double
median (double *values, guint n)
{
  qsort (values, n, sizeof *values, by_size);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static void
show_line (FILE *to, const char *name, double gflop, double ours, double theirs)
{
  fprintf (to, "%s: %.4f s, %.1f GFLOP/s", name, ours, gflop / ours);
  if (theirs > 0)
    fprintf (to, "; OpenBLAS %.4f s, %.1f GFLOP/s: %.3f times its rate", theirs,
             gflop / theirs, theirs / ours);
  fputc ('\n', to);
}

/* Returns: the median of our rounds, in s. */
static double
show_times (FILE *to, const CholeskyOptions *o, Times *t)
{
  double n = o->problem.n, gflop = 1e-9 * n * n * n / 3;
  for (guint i = 0; i < o->rounds; i++)
    {
      g_autofree char *name = g_strdup_printf ("round %u", i + 1);
      show_line (to, name, gflop, t->ours[i], t->theirs[i]);
    }
  double ours = median (t->ours, o->rounds);
  show_line (to, "median", gflop, ours, median (t->theirs, o->rounds));
  return ours;
}

/* Beside what the libraries achieve on one GPU. */
static void
show_gpu (FILE *to, const CholeskyGpu *gpu, double n, double ours)
{
  double gflop = 1e-9 * n * n * n / 3;
  if (gpu->gemm_flops > 0)
    fprintf (to,
             "one GPU: cuBLAS gemm %.1f GFLOP/s; the median is %.3f times its "
             "rate\n",
             1e-9 * gpu->gemm_flops, 1e9 * gflop / ours / gpu->gemm_flops);
  if (gpu->potrf_seconds > 0)
    fprintf (to,
             "one GPU: cuSOLVER potrf %.4f s, %.1f GFLOP/s, and %.4f s for "
             "copying the matrix there: %.3f times its rate, %.3f times with "
             "the copy\n",
             gpu->potrf_seconds, gflop / gpu->potrf_seconds, gpu->copy_seconds,
             gpu->potrf_seconds / ours,
             (gpu->potrf_seconds + gpu->copy_seconds) / ours);
}

static gboolean
verify (FILE *to, const CholeskyProblem *p, guint64 seed)
{
  CholeskyCheck c = cholesky_check (p, seed, FULL_CHECK_UP_TO);
  fprintf (to, "%s: largest residual %.2e of at most %.2e (%s)\n",
           c.right ? "verified" : "WRONG", c.worst, c.limit,
           c.full ? "all numbers" : "times a random vector");
  return c.right;
}

static gboolean
factorise (CholeskyOptions *o, FILE *to, HassReport **report, GError **error)
{
  CholeskyProblem *p = &o->problem;
  HassLaPotrf potrf = HASS_LA_POTRF_INIT;
  g_autofree double *ours = g_new0 (double, o->rounds);
  g_autofree double *theirs = g_new0 (double, o->rounds);
  Times times = { ours, theirs };
  CholeskyGpu gpu = { 0 };
  gsize rows, cols;
  potrf.type = p->type;
  potrf.triangle = p->triangle;
  potrf.n = p->n;
  potrf.a = p->a;
  potrf.tile_rows = o->tile_rows;
  potrf.tile_cols = o->tile_cols;
  potrf.run.n_cores = o->cores;
  potrf.run.n_gpus = o->gpus;
  potrf.run.strategy = o->strategy;
  if (!hass_la_potrf_tiles (&potrf, &rows, &cols, error))
    return FALSE;
  fprintf (to, "A = %s of %zu x %zu, %s, tiles of %zu x %zu, kernels for %s\n",
           p->triangle == HASS_LA_UPPER ? "U'*U" : "L*L'", p->n, p->n,
           p->type == HASS_LA_FLOAT ? "float" : "double", rows, cols,
           cholesky_openblas_kernels ());
#ifdef CHOLESKY_WITH_CUSOLVER
  if (!o->alone && o->gpus >= 0 && !cholesky_cusolver (p, &gpu, error))
    return FALSE;
#endif
  for (guint i = 0; i < o->rounds; i++)
    if (!one_round (o, &potrf, i, &times, report, error))
      return FALSE;
  show_gpu (to, &gpu, (double)p->n, show_times (to, o, &times));
  return TRUE;
}

static int
run (CholeskyOptions *o, GError **error)
{
  CholeskyProblem *p = &o->problem;
  FILE *to = o->json ? stderr : stdout;
  g_autoptr (HassReport) report = NULL;
  gboolean there = o->file ? read_file (p, o->file, error)
                           : cholesky_allocate (p, error)
                                 && cholesky_fill (p, o->seed, o->cores, error);
  if (!there)
    return FAILED;
  cholesky_keep_diagonal (p);
  if (!factorise (o, to, &report, error))
    return exit_status_of (*error);
  int status = verify (to, p, o->seed) ? DONE : FAILED;
  if (o->report || o->json)
    {
      g_autofree char *text = o->json ? hass_report_to_json (report)
                                      : hass_report_to_string (report);
      printf ("%s%s", text, o->json ? "\n" : "");
    }
  return status;
}

int
main (int argc, char **argv)
{
  CholeskyOptions o;
  g_autoptr (GError) error = NULL;
  int status = WRONG_OPTIONS;
  output_check ();
  if (cholesky_options_parse (&o, argc, argv, &error))
    status = run (&o, &error);
  cholesky_clear (&o.problem);
  cholesky_options_clear (&o);
  if (error)
    fprintf (stderr, "cholesky: %s\n", error->message);
  return status;
}

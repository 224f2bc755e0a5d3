/* SPDX-License-Identifier: MIT */
/* main.c: matrix_multiply, C = A*B by tiles on all cores and GPUs, with
   OpenBLAS and cuBLAS.
   Exit status: 0 done, 1 failed or the product is wrong, 2 wrong options.
   Thread safety: single-threaded; the farms are not. */
#include <stdio.h>

#include <hass/hass.h>

#include "../exit_status.h"
#include "../standard_output.h"
#include "options.h"

#define DONE 0
#define FAILED 1
#define WRONG_OPTIONS 2

/* Multiplications that are repeated one by one in about a second. */
#define FULL_CHECK_UP_TO 1e8

/* Only linked where there is cuBLAS. */
gboolean matrix_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer problem, GError **error)
    __attribute__ ((weak));

static void
show_times (FILE *to, const MatrixOptions *o, const MatrixRun *run,
            const HassReport *report)
{
  const MatrixProblem *p = &o->problem;
  double gflop = 2e-9 * p->m * p->k * p->n;
  fprintf (to, "C = A*B of %zu x %zu x %zu, %s, %zu tiles of %zu x %zu\n", p->m,
           p->k, p->n, p->type == MATRIX_FLOAT ? "float" : "double",
           matrix_n_tiles (p), p->tile_rows, p->tile_cols);
  for (guint i = 0; i < o->rounds && !report->virtual_time; i++)
    fprintf (to, "round %u: %.4f s, %.1f GFLOP/s\n", i + 1, run->seconds[i],
             gflop / run->seconds[i]);
  fprintf (to, "total: %.4f s%s, %.1f GFLOP/s\n", report->makespan_s,
           report->virtual_time ? " of virtual time" : "",
           gflop * o->rounds / report->makespan_s);
}

static void
advise (const MatrixRun *run, const HassReport *report)
{
  const char *better
      = run->cpu && !report->virtual_time ? matrix_better_kernels () : NULL;
  if (better)
    fprintf (stderr,
             "matrix_multiply: OpenBLAS does not know this processor: cores "
             "may be several times faster with OPENBLAS_CORETYPE=%s\n",
             better);
}

static gboolean
verify (FILE *to, const MatrixProblem *p, guint64 seed)
{
  MatrixCheck c = matrix_check (p, seed, FULL_CHECK_UP_TO);
  fprintf (to,
           "%s: relative norm %.2e of at most %.2e, largest error %.2e of at "
           "most %.2e (%s)\n",
           c.right ? "verified" : "WRONG", c.norm, c.norm_limit, c.worst,
           c.worst_limit, c.full ? "all numbers" : "times a random vector");
  return c.right;
}

/* All but the matrices' memory. */
static int
run (const MatrixOptions *o, GError **error)
{
  const MatrixProblem *p = &o->problem;
  FILE *to = o->json ? stderr : stdout;
  g_autoptr (HassReport) report = NULL;
  g_autofree double *seconds = g_new0 (double, o->rounds);
  MatrixRun how = { .rounds = o->rounds,
                    .forget = o->verify,
                    .cpu = !o->gpu_only,
                    .gpu_worker = o->cpu_only ? NULL : matrix_gpu_worker,
                    .options = { .strategy = o->strategy,
                                 .platform = o->platform,
                                 .seed = o->seed,
                                 .n_cores = o->cores,
                                 .n_gpus = o->gpus },
                    .seconds = seconds };
  if (!matrix_fill (p, o->seed, o->cores, error)
      || !matrix_multiply (p, &how, &report, error))
    return exit_status_of (*error);
  show_times (to, o, &how, report);
  advise (&how, report);
  int status = o->verify && !verify (to, p, o->seed) ? FAILED : DONE;
  if (o->report || o->json)
    {
      g_autofree char *text = o->json ? hass_report_to_json (report)
                                      : hass_report_to_string (report);
      printf ("%s%s", text, o->json ? "\n" : "");
    }
  return status;
}

static gboolean
allocate (MatrixProblem *p, GError **error)
{
  gsize bytes = matrix_number_bytes (p);
  return (p->a = hass_memory_alloc (p->m * p->k * bytes, error))
         && (p->b = hass_memory_alloc (p->k * p->n * bytes, error))
         && (p->c = hass_memory_alloc (p->m * p->n * bytes, error));
}

int
main (int argc, char **argv)
{
  MatrixOptions o;
  g_autoptr (GError) error = NULL;
  int status = WRONG_OPTIONS;
  output_check ();
  if (matrix_options_parse (&o, argc, argv, &error))
    {
      status = FAILED;
      if (o.gpu_only && !matrix_gpu_worker)
        g_set_error (&error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                     "--gpu-only: built without cuBLAS");
      else if (allocate (&o.problem, &error))
        status = run (&o, &error);
      hass_memory_free (o.problem.a);
      hass_memory_free (o.problem.b);
      hass_memory_free (o.problem.c);
    }
  matrix_options_clear (&o);
  if (error)
    fprintf (stderr, "matrix_multiply: %s\n", error->message);
  return status;
}

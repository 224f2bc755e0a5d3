/* SPDX-License-Identifier: MIT */
/* cholesky.c: hass_la_potrf() beside OpenBLAS's own threads and task libraries
   over the same kernels, each with its best of several sizes of tiles; and the
   program cholesky beside StarPU's cholesky_implicit, both in float, whose
   place is STARPU_CHOLESKY or that of Debian's package starpu-examples.
   BENCH_N, BENCH_ROUNDS: one size, and how many rounds.
   Usage: cholesky [PROGRAM], the program cholesky.
   Thread safety: one thread. */
#include <cblas.h>
#include <f77blas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "factorings.h"

#include <hass/la.h>
#include <hass/memory.h>

/* In us: threads of OpenBLAS and OpenMP look for work after a call, the former
   for 2^26 cycles. */
#define SPINS_US 40000

static const guint tiles[] = { 128, 192, 256, 320, 384, 512 };

static double *matrix, *factor;
static gsize n;

/* A way, and the size of its tiles. */
typedef struct
{
  const FactoringPeer *peer;
  guint tile;
} Way;

static double
rate (double seconds)
{
  return 1e-9 * (double)n * n * n / 3 / seconds;
}

static void
set_up (void)
{
  for (gsize j = 0; j < n; j++)
    memcpy (factor + j * n + j, matrix + j * n + j, (n - j) * sizeof (double));
  g_usleep (SPINS_US);
}

/* So that no way is fast because it is wrong. */
static void
check (const char *name)
{
  double sum = 0, at = matrix[n - 1 + (n / 2) * n];
  for (gsize k = 0; k <= n / 2; k++)
    sum += factor[n - 1 + k * n] * factor[n / 2 + k * n];
  if (!(fabs (sum - at) < 1e-9))
    {
      g_printerr ("%s factorises wrongly: %g instead of %g\n", name, sum, at);
      exit (1);
    }
}

static double
measure_hass (gconstpointer arg)
{
  HassLaPotrf s = HASS_LA_POTRF_INIT;
  (void)arg;
  s.n = n;
  s.a = factor;
  s.run.n_cores = bench_cores ();
  s.run.n_gpus = -1;
  set_up ();
  gint64 begin = bench_now_ns ();
  if (!hass_la_potrf (&s, NULL, NULL, NULL))
    exit (1);
  double seconds = 1e-9 * (bench_now_ns () - begin);
  check ("hass");
  return rate (seconds);
}

static double
measure_openblas (gconstpointer arg)
{
  blasint order = (blasint)n, info = 0;
  char lower[] = "L";
  (void)arg;
  set_up ();
  openblas_set_num_threads ((int)bench_cores ());
  gint64 begin = bench_now_ns ();
  BLASFUNC (dpotrf) (lower, &order, factor, &order, &info);
  double seconds = 1e-9 * (bench_now_ns () - begin);
  openblas_set_num_threads (1);
  check ("OpenBLAS");
  return rate (seconds);
}

static double
measure_way (gconstpointer arg)
{
  const Way *w = arg;
  Factoring f = { factor, n, w->tile };
  set_up ();
  openblas_set_num_threads (1);
  if (w->peer->begin)
    w->peer->begin ();
  gint64 begin = bench_now_ns ();
  w->peer->run (&f);
  double seconds = 1e-9 * (bench_now_ns () - begin);
  if (w->peer->end)
    w->peer->end ();
  check (w->peer->name);
  return rate (seconds);
}

/* The best of two runs with each size. */
static void
choose_tile (Way *w)
{
  double most = 0;
  Way trial = *w;
  for (guint i = 0; i < G_N_ELEMENTS (tiles) && tiles[i] <= n; i++)
    for (int again = 0; again < 2; again++)
      {
        trial.tile = tiles[i];
        double r = measure_way (&trial);
        if (r > most)
          w->tile = tiles[i];
        most = fmax (most, r);
      }
}

static void
show_ratios (Contest *c)
{
  for (guint i = 1; i < contest_size (c); i++)
    printf ("%s / %s, N = %zu: %.3f\n", contest_name (c, 0),
            contest_name (c, i), n, contest_ratio (c, 0, i));
  fflush (stdout);
}

static void
compare (guint rounds)
{
  Way ways[] = {
#ifdef BENCH_OPENMP
    { &factoring_openmp, 0 },
#endif
#ifdef BENCH_STARPU
    { &factoring_starpu, 0 },
#endif
    { NULL, 0 }
  };
  Contest *c = contest_new (BENCH_MORE_IS_BETTER, "GFLOP/s",
                            "dpotrf, N = %zu, %u cores", n, bench_cores ());
  contest_add (c, measure_hass, NULL, "hass");
  contest_add (c, measure_openblas, NULL, "OpenBLAS's threads");
  for (Way *w = ways; w->peer; w++)
    {
      choose_tile (w);
      contest_add (c, measure_way, w, "%s, tiles of %u", w->peer->name,
                   w->tile);
    }
  contest_run (c, rounds, TRUE);
  show_ratios (c);
  contest_free (c);
}

static void
fill (gsize most)
{
  GRand *r = g_rand_new_with_seed (1);
  n = most;
  for (gsize j = 0; j < n; j++)
    for (gsize i = j; i < n; i++)
      matrix[i + j * n] = i == j ? n : g_rand_double_range (r, -1, 1);
  g_rand_free (r);
}

/* -- Programs ----------------------------------------------------------- */

/* @before: what comes before the rate in its output. */
typedef struct
{
  char *command;
  const char *before;
  guint words; /* between that and the rate */
} Program;

static double
measure_program (gconstpointer arg)
{
  const Program *p = arg;
  g_autofree char *out = NULL;
  int status = 0;
  g_usleep (SPINS_US);
  if (!g_spawn_command_line_sync (p->command, &out, NULL, &status, NULL)
      || status != 0)
    return NAN;
  const char *at = strstr (out, p->before);
  g_auto (GStrv) words = g_strsplit_set (at ? at : "", " \t\n", -1);
  return g_strv_length (words) > p->words
             ? g_ascii_strtod (words[p->words], NULL)
             : NAN;
}

static char *
find_implicit (void)
{
  const char *given = g_getenv ("STARPU_CHOLESKY");
  char *debian = g_build_filename ("/usr/lib/x86_64-linux-gnu/starpu/examples",
                                   "cholesky_implicit", NULL);
  if (given || !g_file_test (debian, G_FILE_TEST_IS_EXECUTABLE))
    {
      g_free (debian);
      return g_strdup (given);
    }
  return debian;
}

static void
compare_programs (const char *cholesky, guint rounds)
{
  g_autofree char *implicit = find_implicit ();
  Program programs[1 + G_N_ELEMENTS (tiles)] = { 0 };
  guint n_programs = 0;
  if (!cholesky || !implicit)
    {
      puts ("cholesky_implicit of starpu-examples is not there");
      return;
    }
  g_setenv ("OPENBLAS_NUM_THREADS", "1", TRUE);
  g_setenv ("STARPU_SILENT", "1", TRUE);
  Contest *c = contest_new (BENCH_MORE_IS_BETTER, "GFLOP/s",
                            "programs, spotrf, N = %zu", n);
  programs[n_programs++] = (Program){
    g_strdup_printf ("%s -n %zu -t float -a -r 1 --cpu-only --cores %u",
                     cholesky, n, bench_cores ()),
    "round 1:", 4
  };
  for (guint i = 0; i < G_N_ELEMENTS (tiles) && 2 * tiles[i] <= n; i++)
    programs[n_programs++] = (Program){
      g_strdup_printf ("env STARPU_NCPU=%u %s -size %zu -nblocks %zu",
                       bench_cores (), implicit, n, n / tiles[i]),
      "GFlop/s", 3
    };
  for (guint i = 0; i < n_programs; i++)
    contest_add (c, measure_program, &programs[i], "%s",
                 i == 0 ? "cholesky" : strstr (programs[i].command, "-size"));
  contest_run (c, rounds, TRUE);
  show_ratios (c);
  contest_free (c);
  for (guint i = 0; i < n_programs; i++)
    g_free (programs[i].command);
}

int
main (int argc, char **argv)
{
  static const gsize sizes[][2]
      = { { 1000, 21 }, { 2000, 15 }, { 4000, 9 }, { 8000, 5 } };
  gsize only = (gsize)bench_setting ("BENCH_N", 0);
  gsize most = only ? only : 8000;
  matrix = hass_memory_alloc (most * most * sizeof (double), NULL);
  factor = hass_memory_alloc (most * most * sizeof (double), NULL);
  if (!matrix || !factor)
    return 1;
  memset (factor, 0, most * most * sizeof (double));
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      if (only && i > 0)
        break;
      fill (only ? only : sizes[i][0]);
      compare (bench_rounds ((guint)sizes[i][1]));
      compare_programs (argc > 1 ? argv[1] : NULL,
                        bench_rounds ((guint)sizes[i][1]));
    }
  hass_memory_free (matrix);
  hass_memory_free (factor);
  return 0;
}

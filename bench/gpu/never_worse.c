/* SPDX-License-Identifier: MIT */
/* never_worse.c: the sub-command "never-worse": a farm that is bound by
   computing, on CPU and GPU together and on each alone.

   DESIGN. Each measurement is a process of its own, this program again with
   --run, which touches CUDA with its first farm only and remembers nothing
   of other processes: its first run is a user's first run, start of the
   driver included. The elements have no bytes. Where GPU and CPU shall be
   about equally fast, the GPU takes the steps of each element many times.
   All processes must come to the same sum.

   Thread safety: one thread. */
#include "farms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS ((gsize)1 << 31)
#define LATER_RUNS 5
#define FAR_SECONDS 0.15 /* of the GPU alone */
#define NEAR_SECONDS 0.3 /* of each */

/* What a process does. */
typedef struct
{
  guint cpu, n_gpus;
  gsize n, block;
  guint n_steps, gpu_repeat;
} Spec;

typedef struct
{
  double first, later; /* seconds */
  guint64 sum;
} Times;

/* -- The process -------------------------------------------------------- */

static int
run_spec (const char *text)
{
  Spec s;
  double seconds[1 + LATER_RUNS];
  guint64 sum = 0;
  if (sscanf (text, "%u:%u:%zu:%zu:%u:%u", &s.cpu, &s.n_gpus, &s.n, &s.block,
              &s.n_steps, &s.gpu_repeat)
      != 6)
    return 2;
  const Steps steps = { 1664525, 1013904223, s.n_steps, s.gpu_repeat, 0 };
  const FarmSettings settings = { "steps", NULL, s.cpu > 0, s.n_gpus, s.block };
  for (guint i = 0; i <= LATER_RUNS; i++)
    {
      FarmResult r = farm_steps (&settings, &steps, s.n);
      if (i > 0 && r.sum != sum)
        {
          fprintf (stderr,
                   "run %u sums to %" G_GUINT64_FORMAT
                   ", not to %" G_GUINT64_FORMAT "\n",
                   i, r.sum, sum);
          return 1;
        }
      sum = r.sum;
      seconds[i] = r.seconds;
    }
  printf ("%.9f %.9f %" G_GUINT64_FORMAT "\n", seconds[0],
          median_of (seconds + 1, LATER_RUNS), sum);
  return 0;
}

static Times
in_process (const Spec *s)
{
  Times times;
  char *spec = g_strdup_printf ("%u:%u:%zu:%zu:%u:%u", s->cpu, s->n_gpus, s->n,
                                s->block, s->n_steps, s->gpu_repeat);
  child_scan ("never-worse", spec, 3, "%lf %lf %" G_GUINT64_FORMAT,
              &times.first, &times.later, &times.sum);
  return times;
}

/* -- Many processes, in turn -------------------------------------------- */

#define MOST_ROWS 3
#define MOST_ROUNDS 15
#define MOST_NEAR_ROUNDS 3

typedef struct
{
  const char *name;
  Spec spec;
  double first[MOST_ROUNDS], later[MOST_ROUNDS];
} Row;

static void
run_rows (Row *rows, guint n_rows, guint rounds, const char *title)
{
  guint64 sum = 0;
  for (guint round = 0; round < rounds; round++)
    for (guint i = 0; i < n_rows; i++)
      {
        Row *row = &rows[(i + round) % n_rows];
        Times t = in_process (&row->spec);
        row->first[round] = t.first * 1e3;
        row->later[round] = t.later * 1e3;
        if (sum != 0 && t.sum != sum)
          {
            fflush (stdout);
            fprintf (stderr,
                     "%s: the sum is %" G_GUINT64_FORMAT
                     ", not %" G_GUINT64_FORMAT "\n",
                     row->name, t.sum, sum);
            exit (1);
          }
        sum = t.sum;
      }
  printf ("\n%s [ms], medians of %u processes\n\n"
          "| %-24s | first run |    least |     most | later runs |\n"
          "|:-------------------------|----------:|---------:|---------:|"
          "-----------:|\n",
          title, rounds, "");
  for (guint i = 0; i < n_rows; i++)
    printf ("| %-24s | %9.1f | %8.1f | %8.1f | %10.2f |\n", rows[i].name,
            median_of (rows[i].first, rounds), least_of (rows[i].first, rounds),
            most_of (rows[i].first, rounds), median_of (rows[i].later, rounds));
  fflush (stdout);
}

/* Per cent: how much of @alone's time @both takes less, or more. */
static double
gain (const double *alone, const double *both, guint rounds)
{
  double ratios[MOST_ROUNDS];
  for (guint i = 0; i < rounds; i++)
    ratios[i] = 100 * alone[i] / both[i];
  return median_of (ratios, rounds);
}

/* -- The sub-command ---------------------------------------------------- */

/* Steps per ns. */
static double
rate_of (guint cpu, guint n_gpus, gsize n, guint n_steps)
{
  Spec spec = { cpu, n_gpus, n, 0, n_steps, 1 };
  return (double)n * n_steps / in_process (&spec).later * 1e-9;
}

static guint
steps_for (double seconds, double rate)
{
  return (guint)CLAMP (seconds * rate * 1e9 / (double)ELEMENTS, 1, 1e9);
}

static void
run_far (double gpu_rate, guint rounds)
{
  static const gsize blocks[] = { 0, 32768 };
  for (guint b = 0; b < G_N_ELEMENTS (blocks); b++)
    {
      char *cut = blocks[b] > 0
                      ? g_strdup_printf ("blocks of %zu elements", blocks[b])
                      : g_strdup ("default blocks");
      char *title = g_strdup_printf ("The GPU far faster, %s", cut);
      Spec gpu
          = { 0, 1, ELEMENTS, blocks[b], steps_for (FAR_SECONDS, gpu_rate), 1 };
      Spec both = gpu;
      both.cpu = 1;
      Row rows[] = { { .name = "GPU alone", .spec = gpu },
                     { .name = "CPU and GPU", .spec = both } };
      run_rows (rows, 2, rounds, title);
      target_add (TARGET_AT_LEAST, 98,
                  gain (rows[0].first, rows[1].first, rounds), "%",
                  "GPU far faster, %s, first run: of the GPU alone", cut);
      target_add (TARGET_AT_LEAST, 98,
                  gain (rows[0].later, rows[1].later, rounds), "%",
                  "GPU far faster, %s, later runs: of the GPU alone", cut);
      g_free (title);
      g_free (cut);
    }
}

/* The work is chosen so that the CPU takes this long. */
static void
run_near (double gpu_rate, double cpu_rate, guint rounds)
{
  guint repeat = (guint)MAX (gpu_rate / cpu_rate + 0.5, 1);
  Spec cpu = { 1, 0, ELEMENTS, 0, steps_for (NEAR_SECONDS, cpu_rate), repeat };
  Spec gpu = cpu, both = cpu;
  double ratios[MOST_ROUNDS];
  gpu.cpu = 0;
  gpu.n_gpus = both.n_gpus = 1;
  Row rows[] = { { .name = "CPU alone", .spec = cpu },
                 { .name = "GPU alone", .spec = gpu },
                 { .name = "CPU and GPU", .spec = both } };
  run_rows (rows, 3, rounds, "CPU and GPU about equally fast");
  for (guint i = 0; i < rounds; i++)
    ratios[i] = 100 / rows[2].later[i]
                / (1 / rows[0].later[i] + 1 / rows[1].later[i]);
  target_add (TARGET_AT_LEAST, 97, median_of (ratios, rounds), "%",
              "CPU and GPU about equally fast: of the sum of their rates");
}

int
never_worse_main (const GpuBenchOptions *options)
{
  if (options->run)
    return run_spec (options->run);
  guint rounds = MIN (options->repeat, MOST_ROUNDS);
  double gpu_rate = rate_of (0, 1, ELEMENTS, 400);
  double cpu_rate = rate_of (1, 0, ELEMENTS / 64, 400);
  printf ("\nSteps of a multiplication and an addition, 2^31 elements without "
          "bytes: GPU %.0f, CPU %.0f steps per ns, %.0f times\n",
          gpu_rate, cpu_rate, gpu_rate / cpu_rate);
  fflush (stdout);
  run_far (gpu_rate, rounds);
  run_near (gpu_rate, cpu_rate, MIN (rounds, MOST_NEAR_ROUNDS));
  return 0;
}

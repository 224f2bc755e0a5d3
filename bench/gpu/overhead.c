/* SPDX-License-Identifier: MIT */
/* overhead.c: the sub-command "overhead": what hass adds to the launch of a
   kernel and to the wait for its end.

   DESIGN. A farm's turnaround is the time of many empty bundles, one after
   another, less that of few, so that what a farm costs once is not in it.
   Shares of a core are CPU time of the whole process over wall-clock time,
   while kernels of known length run one after another.

   Thread safety: one thread. */
#include "farms.h"
#include "raw.h"

#include <stdio.h>
#include <sys/resource.h>

#define FEW 500
#define MANY 4500

static const FarmSettings one_by_one = { "empty", "naive-greedy", FALSE, 1, 0 };

static double
measure_raw (gconstpointer arg)
{
  return raw_launch_wait_ns (GPOINTER_TO_UINT (arg), MANY - FEW) * 1e-3;
}

static double
measure_turnaround (gconstpointer arg)
{
  (void)arg;
  double few = farm_empty (&one_by_one, worker_empty, NULL, FEW).seconds;
  double many = farm_empty (&one_by_one, worker_empty, NULL, MANY).seconds;
  return (many - few) / (MANY - FEW) * 1e6;
}

static double
measure_farm (gconstpointer arg)
{
  (void)arg;
  return farm_empty (&one_by_one, worker_empty, NULL, 1).seconds * 1e6;
}

/* Of the differences within a round, through the ratio. */
static double
above (const Contest *contest, guint row, guint other)
{
  return (contest_ratio (contest, row, other) - 1)
         * contest_median (contest, other);
}

static void
time_turnaround (guint repeat)
{
  Contest *contest = contest_new (BENCH_LESS_IS_BETTER, "us",
                                  "An empty kernel and the wait for its end");
  contest_add (contest, measure_raw, GUINT_TO_POINTER (RAW_SPIN),
               "CUDA, cudaStreamSynchronize");
  contest_add (contest, measure_raw, GUINT_TO_POINTER (RAW_EVENT_SLEEP),
               "CUDA, cudaEventSynchronize, blocking");
  contest_add (contest, measure_turnaround, NULL,
               "hass, a bundle of a combine farm, naive-greedy");
  contest_add (contest, measure_farm, NULL, "hass, a whole farm of one bundle");
  contest_run (contest, repeat, TRUE);
  target_add (TARGET_AT_MOST, 10, above (contest, 2, 0), "us",
              "turnaround of an empty bundle above launch and spinning wait");
  target_add (TARGET_NONE, 0, above (contest, 2, 1), "us",
              "the same above launch and sleeping wait");
  contest_free (contest);
}

/* -- Cores that wait ---------------------------------------------------- */

/* The default makes bundles of several kernels, which is what a user gets. */
static const FarmSettings short_ones = { "pauses-1", NULL, FALSE, 1, 0 };
static const FarmSettings long_ones = { "pauses-10", NULL, FALSE, 1, 0 };

typedef struct
{
  double ms;                /* of a kernel */
  const FarmSettings *farm; /* NULL: plain CUDA */
} Waiting;

static double
cpu_seconds (void)
{
  struct rusage u;
  getrusage (RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
         + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Per cent of a core, over about half a second. */
static double
measure_waiting (gconstpointer arg)
{
  const Waiting *w = arg;
  double ms = w->ms;
  guint n = (guint)MAX (400 / ms, 4);
  double cpu = cpu_seconds ();
  gint64 begin = bench_now_ns ();
  if (w->farm)
    farm_empty (w->farm, worker_pause, &ms, n);
  else
    plain_pauses (ms, n);
  double wall = (double)(bench_now_ns () - begin) * 1e-9;
  return 100 * (cpu_seconds () - cpu) / wall;
}

static void
time_waiting (guint repeat)
{
  static const Waiting all[]
      = { { 1, NULL },  { 1, &one_by_one },  { 1, &short_ones },
          { 10, NULL }, { 10, &one_by_one }, { 10, &long_ones } };
  Contest *contest
      = contest_new (BENCH_LESS_IS_BETTER, "% of a core",
                     "CPU time while a GPU computes, one kernel after another");
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    contest_add (contest, measure_waiting, &all[i], "kernels of %g ms, %s",
                 all[i].ms,
                 !all[i].farm ? "CUDA, cudaEventSynchronize, blocking"
                 : all[i].farm->strategy ? "hass, naive-greedy"
                                         : "hass, auto");
  contest_run (contest, MIN (repeat, 5), TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (all[i].farm)
      target_add (TARGET_AT_MOST, 5, contest_median (contest, i), "%",
                  "share of a core while the GPU computes: %s",
                  contest_name (contest, i));
  contest_free (contest);
}

int
overhead_main (const GpuBenchOptions *options)
{
  time_turnaround (options->repeat);
  time_waiting (options->repeat);
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* monte_carlo.c: monte_carlo's pi and its Asian option.

   Samples take no memory, so their number is doubled until a run is long
   enough. Without GPUs that is judged by the CPU time, which other processes do
   not stretch: the number is the same on a busy machine. Sums are integers: all
   runs must give the same bits. The first one must give an estimate near the
   known value, and fewer samples the same bits as a serial loop.

   Thread safety: one thread. */
#include "apps.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "examples/monte_carlo/monte_carlo.h"

#define LEAST_MS 40.0
/* The store takes no runs below 10 ms. A guess: smaller, and a core that is
   faster than when the number of samples was chosen gives no rates. */
#define SMALL_LEAST_MS 30.0
#define MOST_SAMPLES ((guint64)1 << 38)
#define SEED 1
#define SERIAL_STEPS ((guint64)1 << 22)
/* Standard errors; 5 are exceeded once in 1.7 million seeds. */
#define DEVIATIONS 5

static const McOption asian = { 100, 100, 0.05, 0.2, 1, 64 };

typedef struct
{
  McJob job;
  McSums sums, first;
  gboolean has_first;
} Task;

static gboolean
run (gpointer self, const AppsMachine *machine, const char *strategy,
     HassReport **report, GError **error)
{
  Task *t = self;
  McJob job = t->job;
  job.gpu_worker = machine->n_gpus > 0 ? monte_carlo_gpu_worker : NULL;
  job.run.strategy = strategy;
  job.run.platform = machine->platform;
  job.run.dry = machine->platform != NULL;
  return monte_carlo_run (&job, &t->sums, report, error);
}

static gboolean
check_value (const Task *t, GError **error)
{
  double low = G_PI, high = G_PI;
  gboolean is_pi = t->job.model.kind == MC_PI;
  McEstimate e = monte_carlo_estimate (&t->sums, is_pi ? NULL : &asian);
  if (!is_pi)
    monte_carlo_asian_bounds (&asian, &low, &high);
  double off = MAX (MAX (low - e.value, e.value - high), 0);
  return off <= DEVIATIONS * e.standard_error
         || apps_wrong (error, "%.9g is %.2f standard errors off", e.value,
                        off / e.standard_error);
}

static gboolean
check (gpointer self, GError **error)
{
  Task *t = self;
  if (!t->has_first)
    {
      t->first = t->sums;
      t->has_first = TRUE;
      return check_value (t, error);
    }
  return memcmp (&t->first, &t->sums, sizeof t->sums) == 0
         || apps_wrong (error, "not the bits of the first run");
}

/* Runs @samples under the default strategy. */
static gboolean
try_samples (Task *t, const AppsMachine *machine, guint64 samples, double *ms,
             GError **error)
{
  g_autoptr (HassReport) report = NULL;
  t->job.samples = samples;
  if (!run (t, machine, NULL, &report, error))
    return FALSE;
  *ms = report->makespan_s * 1e3;
  return TRUE;
}

/* The least time of a run of as many samples without GPUs: CPU time of a run on
   one core / cores. */
static gboolean
least_ms (Task *t, const AppsMachine *machine, double *ms, GError **error)
{
  g_autoptr (HassReport) report = NULL;
  struct timespec begin, end;
  t->job.run.n_cores = 1;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &begin);
  gboolean ok = run (t, machine, NULL, &report, error);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &end);
  t->job.run.n_cores = 0;
  *ms = (1e3 * (double)(end.tv_sec - begin.tv_sec)
         + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec))
        / bench_cores ();
  return ok;
}

static gboolean
choose_samples (Task *t, const AppsMachine *machine, const AppsSize *size,
                GError **error)
{
  double ms, least = size->small ? SMALL_LEAST_MS : LEAST_MS;
  guint64 samples = SERIAL_STEPS / MAX (t->job.model.steps, 1);
  /* The first run opens the GPUs, which takes longer than its samples. */
  for (guint i = 0; i < 2; i++)
    if (!try_samples (t, machine, samples, &ms, error))
      return FALSE;
  if (!machine->platform)
    {
      const McModel *m = &t->job.model;
      McSums serial = mc_share (m, m->kind, 0, samples, 0, 1);
      if (memcmp (&serial, &t->sums, sizeof serial) != 0)
        return apps_wrong (error, "not the sums of a serial loop");
    }
  gboolean by_cpu = machine->n_gpus == 0 && !machine->platform;
  gboolean ok = !by_cpu || least_ms (t, machine, &ms, error);
  while (ok && ms < least && samples < MOST_SAMPLES)
    {
      samples *= 2;
      ms *= 2;
      if (by_cpu)
        t->job.samples = samples;
      else
        ok = try_samples (t, machine, samples, &ms, error);
    }
  return ok;
}

static gpointer
prepare (const AppsMachine *machine, const AppsSize *size, McModel model,
         GError **error)
{
  Task *t = g_new0 (Task, 1);
  t->job.model = model;
  if (choose_samples (t, machine, size, error))
    return t;
  g_free (t);
  return NULL;
}

static gpointer
prepare_pi (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  return prepare (machine, size, monte_carlo_pi_model (SEED), error);
}

static gpointer
prepare_asian (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  return prepare (machine, size,
                  monte_carlo_option_model (MC_ASIAN, &asian, SEED), error);
}

static char *
describe (gpointer self)
{
  const Task *t = self;
  return t->job.model.kind == MC_PI
             ? g_strdup_printf ("Monte Carlo: pi from 2^%.0f points",
                                log2 ((double)t->job.samples))
             : g_strdup_printf ("Monte Carlo: an Asian call from 2^%.0f paths "
                                "of %u steps",
                                log2 ((double)t->job.samples), asian.steps);
}

static gboolean
has_gpu_worker (void)
{
  return monte_carlo_gpu_worker != NULL;
}

const AppsProgram apps_pi = { .name = "monte_carlo pi",
                              .farm = "pi",
                              .prepare = prepare_pi,
                              .run = run,
                              .check = check,
                              .describe = describe,
                              .release = g_free,
                              .has_gpu_worker = has_gpu_worker };

const AppsProgram apps_asian = { .name = "monte_carlo asian",
                                 .farm = "asian",
                                 .prepare = prepare_asian,
                                 .run = run,
                                 .check = check,
                                 .describe = describe,
                                 .release = g_free,
                                 .has_gpu_worker = has_gpu_worker };

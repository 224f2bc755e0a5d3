/* SPDX-License-Identifier: MIT */
/* functions.c: what a function farm has done of each function that its tasks
   call, for the report.

   DESIGN. Each worker keeps counts of its own, which are added up at the end.
   1. Before a core computes the units of a pull, or when a bundle has come
      back, the units are noted by function: afterwards the user may have freed
      the task.
   2. When the time of the pull or bundle is known, it is divided among its
      functions. A core that pulled units of several measures each run of units
      of one function, and divides by these times. Where its units are so short
      that reading the clock would cost as much, it does so in one pull of
      MEASURED_EVERY, and divides the others by the mean times so found. In
      virtual time, and for the bundles of devices, only the total is known; it
      is divided by the work of the units.

   Thread safety: counts belong to the thread of their worker; the report is
   made by the calling thread when all others have left. */
#include "job-private.h"

/* Units of less than this, in ns, are not all measured by function. A guess:
   lower, and reading the clock, about 30 ns, shows in the makespan; higher, and
   the times are less exact than they might be. */
#define SHORT_NS 1000
/* Of pulls of such units one of so many is measured. A guess, as that for the
   codelets of a dataflow. */
#define MEASURED_EVERY 64

#define N_COUNTS (HASS_MOST_FUNCTIONS + 1)

/* What a worker has done of one function. */
typedef struct
{
  guint64 tasks, bytes, batches;
  double busy_ns;
  /* of the pull or bundle that is not counted yet: tasks, their bytes and work,
     and the time that was measured for them */
  guint64 noted, noted_bytes;
  double noted_work, measured_ns;
  /* of all runs that were measured */
  double all_measured_ns;
  guint64 n_measured;
} Count;

/* The last count is of tasks that call none of the functions that are told
   apart. */
struct HassFunctionCounts
{
  Count of[N_COUNTS];
  guint64 n_short; /* pulls of short units */
  guint last;      /* function of the unit that was noted last */
  gboolean mixed;  /* units of others were noted as well */
};

/* Returns: NULL if nothing is counted: loads are no tasks, as in a model, tasks
   call one function, or those of a generator have none of a device, so that
   nobody has asked what they call. */
HassFunctionCounts *
hass_functions_new (const HassJob *job)
{
  const HassFarm *farm = job->farm;
  gboolean told = farm->known_function_of && farm->n_functions > 1
                  && (!farm->generate || job->n_devices > 1);
  return told ? g_new0 (HassFunctionCounts, 1) : NULL;
}

static guint
function_at (const HassJob *job, const HassRound *round, guint32 position)
{
  return job->farm->known_function_of (hass_round_load (round, position),
                                       job->farm->function_data);
}

/* -- 1. Units ------------------------------------------------------------ */

/* Adds @n units of a function to what is noted, or with @sign -1 takes them
   off. */
static Count *
note_some (HassFunctionCounts *counts, guint function, guint32 n, gint sign)
{
  Count *c = &counts->of[function];
  counts->mixed
      |= counts->last != function && counts->of[counts->last].noted > 0;
  counts->last = function;
  c->noted += (guint64)(sign * (gint64)n);
  return c;
}

/* Adds the units of @e to what is noted, or with @sign -1 takes them off. */
static void
note (HassWorker *worker, const HassRound *round, HassExtent e, gint sign)
{
  if (round->n_functions == 1)
    {
      note_some (worker->functions, 0, e.n, sign);
      return;
    }
  for (guint32 i = 0; i < e.n; i++)
    {
      guint32 at = e.first + i;
      guint function = function_at (worker->job, round, at);
      Count *c = note_some (worker->functions, function, 1, sign);
      c->noted_work += sign * hass_round_true_cost (round, at);
      c->noted_bytes
          += (guint64)sign * hass_round_load (round, at)->input_bytes;
    }
}

/* Notes units that the worker is about to compute, or that its device has. */
void
hass_functions_note (HassWorker *worker, const HassRound *round, HassExtent e)
{
  note (worker, round, e, 1);
}

/* Takes back the note of units that were not begun because the farm stops. */
void
hass_functions_forget (HassWorker *worker, const HassRound *round, HassExtent e)
{
  note (worker, round, e, -1);
}

/* -- 2. Times ------------------------------------------------------------ */

/* Returns: whether the core shall compute the units of a pull run by run, and
   measure each. */
gboolean
hass_functions_measure (HassWorker *worker)
{
  HassFunctionCounts *counts = worker->functions;
  if (!worker->job->engine->real_time || !counts->mixed)
    return FALSE;
  if (worker->unit_ns == 0 || worker->unit_ns >= SHORT_NS)
    return TRUE;
  return counts->n_short++ % MEASURED_EVERY == 0;
}

/* Returns: how many units at the front of @e call the same function, which is
   put into @function. */
guint32
hass_functions_run (const HassJob *job, const HassRound *round, HassExtent e,
                    guint *function)
{
  guint32 n = 1;
  *function = function_at (job, round, e.first);
  while (n < e.n && function_at (job, round, e.first + n) == *function)
    n++;
  return n;
}

/* @n units of a function, computed by the core one after another, took @ns. */
void
hass_functions_took (HassWorker *worker, guint function, guint32 n, gint64 ns)
{
  Count *c = &worker->functions->of[function];
  /* at least 1, since none would be as if nothing was measured */
  c->measured_ns += (double)MAX (ns, 1);
  c->all_measured_ns += (double)ns;
  c->n_measured += n;
}

/* By what the time of a pull or bundle is divided. */
typedef enum
{
  BY_MEASURED,
  BY_MEAN,
  BY_WORK,
  BY_NUMBER
} Divider;

static double
weight (const Count *c, Divider by)
{
  switch (by)
    {
    case BY_MEASURED:
      return c->measured_ns;
    case BY_MEAN:
      return c->n_measured > 0
                 ? (double)c->noted * c->all_measured_ns / (double)c->n_measured
                 : 0;
    case BY_WORK:
      return c->noted_work;
    default:
      return (double)c->noted;
    }
}

/* Returns: the best divider that gives each function that was noted a part;
   @sum: the sum of the weights. */
static Divider
divider_of (const HassFunctionCounts *counts, double *sum)
{
  Divider by = BY_MEASURED;
  for (; by < BY_NUMBER; by++)
    {
      gboolean all = TRUE;
      for (guint f = 0; f < N_COUNTS; f++)
        all &= counts->of[f].noted == 0 || weight (&counts->of[f], by) > 0;
      if (all)
        break;
    }
  *sum = 0;
  for (guint f = 0; f < N_COUNTS; f++)
    *sum += counts->of[f].noted > 0 ? weight (&counts->of[f], by) : 0;
  return by;
}

/* Counts what was noted of a function, which took @busy_ns. */
static void
count (Count *c, double busy_ns, guint64 bytes)
{
  c->busy_ns += c->noted > 0 ? busy_ns : 0;
  c->bytes += bytes;
  c->tasks += c->noted;
  c->batches += c->noted > 0;
  c->noted = c->noted_bytes = 0;
  c->noted_work = c->measured_ns = 0;
}

/* Counts what was noted, which has @bytes and took the worker @busy_ns. */
void
hass_functions_count (HassWorker *worker, gint64 busy_ns, guint64 bytes)
{
  HassFunctionCounts *counts = worker->functions;
  if (!counts->mixed)
    {
      count (&counts->of[counts->last], (double)busy_ns, bytes);
      return;
    }
  double sum;
  Divider by = divider_of (counts, &sum);
  for (guint f = 0; f < N_COUNTS; f++)
    {
      Count *c = &counts->of[f];
      double part = c->noted > 0 ? weight (c, by) / MAX (sum, 1e-300) : 0;
      count (c, part * (double)busy_ns, c->noted_bytes);
    }
  counts->mixed = FALSE;
}

/* -- The report ---------------------------------------------------------- */

/* Adds up what all workers have done of a function. */
static void
add_up (const HassJob *job, guint function, HassStageReport *r)
{
  for (guint i = 0; i < job->n_workers; i++)
    {
      const Count *c = &job->workers[i].functions->of[function];
      r->tokens += c->tasks;
      r->bytes += c->bytes;
      r->batches += c->batches;
      *(i < job->n_cores ? &r->busy_s : &r->device_s) += c->busy_ns * 1e-9;
    }
}

/* Adds an entry for each function to the report, if tasks of several were
   computed. */
void
hass_functions_report (HassJob *job, HassReport *report)
{
  HassStageReport all[N_COUNTS] = { 0 };
  const HassFarm *farm = job->farm;
  guint n = 0;
  for (guint f = 0; f < N_COUNTS && job->workers[0].functions; f++)
    {
      add_up (job, f, &all[f]);
      n += all[f].tokens > 0;
    }
  if (n < 2)
    return;
  report->stages = g_new0 (HassStageReport, n);
  for (guint f = 0; f < N_COUNTS; f++)
    {
      if (all[f].tokens == 0)
        continue;
      HassStageReport *r = &report->stages[report->n_stages++];
      *r = all[f];
      r->mode = "function";
      r->name = f < HASS_MOST_FUNCTIONS
                    ? farm->function_name (f, farm->function_data)
                    : g_strdup ("other tasks");
      if (job->n_cores > 0 && report->makespan_s > 0)
        r->utilisation = r->busy_s / (job->n_cores * report->makespan_s);
    }
}

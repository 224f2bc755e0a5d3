/* SPDX-License-Identifier: MIT */
/* graph_report.c: what the report says of a dataflow: its codelets, a lower
   bound of its makespan, where the rest of the makespan went, and what binds.

   DESIGN.
   1. Bound. It is the larger of the area and the critical path. The area is the
      time for which the device that computed longest computed, of the cores
      the mean: with these shares of the tasks no order of them is faster. The
      critical path is the path of a recorded graph whose tasks, each taken to
      last as long as the mean task of its codelet, take the longest. Of a
      graph that is not recorded, or was not computed whole, it is unknown.
   2. Losses. A core is in one of these states at any time: before the build
      callback is called; submitting, if it is the calling thread's; computing
      a codelet; at work for the library between two tasks; without a task, for
      one of the reasons of idle.c; after the last task. The losses are the
      means over the cores of all but computing. What the critical path exceeds
      the area by is no loss, and comes off the time without a task.
   3. Short tasks are measured by samples, see run.c, so the time in
      codelets is an estimate, of at most the time that the cores were busy.

   Thread safety: the thread that called the dataflow, when all other threads
   have left it; hass_graph_progress() any thread. */
#include "hass/report.h"
#include "place.h"
#include "tape.h"

/* What takes less than this part of the makespan does not bind. A guess: lower,
   and the sentence names what could be faster without effect; higher, and it
   names small causes where cores were about busy. */
#define BINDS 0.7

/* -- Totals ------------------------------------------------------------- */

/* Lists the tasks that were not computed, and what has failed. */
static void
list_unfinished (HassGraph *graph)
{
  HassJob *job = graph->job;
  guint64 first = graph->edges.first ? 0 : graph->n_retired;
  guint64 end = graph->edges.first ? hass_tape_length (graph->run->tape)
                                   : graph->n_submitted;
  if (graph->n_submitted > 0 && hass_graph_drained (graph))
    first = end;
  for (guint64 t = first; t < end; t++)
    {
      const HassGraphTask *task = &graph->tasks[t & graph->mask];
      if (!(task->flags & HASS_TASK_INTERNAL)
          && (graph->n_submitted == 0
              || atomic_load_explicit (&task->ended, memory_order_relaxed)
                     != TRUE))
        hass_job_add_unfinished (job, hass_graph_number (graph, t), 1, 0, 0,
                                 NULL);
    }
  for (guint i = 0; i < graph->failures->len; i++)
    {
      const HassTaskFailure *f
          = &g_array_index (graph->failures, HassTaskFailure, i);
      g_autofree char *text
          = f->took == 0 ? g_strdup (f->message)
                         : g_strdup_printf ("%s; %" G_GUINT64_FORMAT
                                            " tasks that needed its data "
                                            "failed with it",
                                            f->message, f->took);
      hass_job_add_unfinished (job, f->number, 1, 0, 0, text);
    }
}

/* Adds what devices beside the CPU pool have done. */
static void
add_devices (HassGraph *graph)
{
  HassJob *job = graph->job;
  for (guint i = 0; graph->placing && i < graph->placing->n_devices; i++)
    {
      const HassGraphDevice *device = &graph->placing->devices[i];
      HassTotals *t = &job->totals[device->d];
      t->units += device->n_tasks;
      t->work += (double)device->n_tasks;
      t->bundles += device->n_calls;
      t->bytes += device->bytes_in;
      job->totals[job->cpu].bytes += device->bytes_home;
      t->busy_ns += device->busy_ns;
      t->kernel_ns += device->busy_ns;
      t->failures += device->n_failed;
      job->n_loads += device->n_tasks;
    }
}

void
hass_graph_finish (HassJob *job)
{
  HassGraph *graph = job->flow;
  HassTotals *t = &job->totals[job->cpu];
  list_unfinished (graph);
  job->n_loads = 0;
  for (guint w = 0; w < graph->n_queues; w++)
    {
      HassGraphWorker *worker = &graph->workers[w];
      double busy = (double)worker->busy_ns / job->n_cores;
      hass_graph_busy (worker, job->phases.worked_ns);
      t->units += worker->n_computed;
      t->work += (double)worker->n_computed;
      t->bundles += worker->n_computed;
      t->busy_ns += busy;
      t->kernel_ns += busy;
      job->n_loads += worker->n_computed;
    }
  t->failures = graph->failures->len;
  add_devices (graph);
}

/* Returns: what all cores have done of a codelet. */
HassCodeletCount
hass_graph_count (const HassGraph *graph, guint codelet)
{
  HassCodeletCount all = { 0, 0, 0 };
  for (guint w = 0; w < graph->n_queues; w++)
    {
      const HassCodeletCount *one = &graph->workers[w].codelets[codelet];
      all.n += one->n;
      all.measured += one->measured;
      all.ns += one->ns;
    }
  return all;
}

/* Adds one entry for each codelet that was called. @mean_ns: [n_codelets],
   filled in: the mean time of a task, wherever it ran. Returns: the time that
   all cores took for codelets, in ns. */
static double
add_codelets (const HassGraph *graph, HassReport *report, double *mean_ns)
{
  const HassJob *job = graph->job;
  double all_ns = 0;
  guint n = 0;
  report->stages = g_new0 (HassStageReport, MAX (graph->codelets->len, 1));
  for (guint c = 0; c < graph->codelets->len; c++)
    {
      const HassCodeletState *codelet = g_ptr_array_index (graph->codelets, c);
      HassCodeletCount all = hass_graph_count (graph, c);
      /* none may have been measured if earlier runs have */
      mean_ns[c] = all.measured > 0
                       ? (double)all.ns / (double)all.measured
                       : (double)atomic_load_explicit (&codelet->mean_ns,
                                                       memory_order_relaxed);
      double cores_ns = (double)all.n * mean_ns[c], devices_ns = 0;
      for (guint i = 0; graph->placing && i < graph->placing->n_devices; i++)
        {
          const HassDeviceCodelet *there
              = &graph->placing->devices[i].codelets[c];
          all.n += there->n_tasks;
          devices_ns += there->busy_ns;
        }
      /* of a run that was stopped a device may have ended none of its tasks */
      if (all.n == 0 && devices_ns <= 0)
        continue;
      mean_ns[c] = (cores_ns + devices_ns) / (double)MAX (all.n, 1);
      HassStageReport *r = &report->stages[n++];
      r->name = g_strdup (codelet->name);
      r->mode = "codelet";
      r->tokens = r->batches = all.n;
      r->busy_s = cores_ns * 1e-9;
      r->device_s = devices_ns * 1e-9;
      all_ns += cores_ns;
      if (report->makespan_s > 0)
        r->utilisation = r->busy_s / (job->n_cores * report->makespan_s);
    }
  report->n_stages = n;
  return all_ns;
}

/* -- 1. Bound ----------------------------------------------------------- */

typedef enum
{
  BY_AREA,
  BY_PATH
} BoundKind;

/* Times in ns; those of cores are means over the cores. */
typedef struct
{
  BoundKind kind;
  guint device;                     /* BY_AREA: the one that computed longest */
  double bound, computing, between; /* between tasks */
  HassTapePath path;
  double submit, idle[HASS_N_IDLE];
} Times;

static Times
times_of (const HassGraph *graph, double codelets_ns, const double *mean_ns,
          double makespan_ns)
{
  const HassJob *job = graph->job;
  const HassPhases *p = &job->phases;
  double n = MAX (job->n_cores, 1), busy = job->totals[job->cpu].kernel_ns;
  Times t = { .kind = BY_AREA, .device = (guint)job->cpu };
  t.computing = t.bound = MIN (codelets_ns / n, busy);
  t.between = busy - t.computing;
  t.submit = (double)(p->generated_ns - p->generate_ns - p->room_ns
                      - graph->at_once_ns)
             / n;
  for (guint w = 0; w < graph->n_queues; w++)
    for (guint i = 0; i < HASS_N_IDLE; i++)
      t.idle[i] += (double)graph->workers[w].idle_ns[i] / n;
  for (guint d = 0; d < job->n_devices; d++)
    if ((gint)d != job->cpu && job->totals[d].kernel_ns > t.bound)
      {
        t.device = d;
        t.bound = job->totals[d].kernel_ns;
      }
  /* of a run that was stopped the path has tasks that took no time */
  if (graph->run->tape && job->unfinished->len == 0)
    t.path = hass_tape_longest (graph->run->tape, mean_ns);
  if (t.path.ns > 0 && t.path.ns >= t.bound)
    {
      t.kind = BY_PATH;
      t.bound = t.path.ns;
    }
  t.bound = MIN (t.bound, makespan_ns);
  return t;
}

/* -- 2. Losses ---------------------------------------------------------- */

/* Returns the part of the @left ns that a cause of @ns explains, in s, and
   subtracts it from @left. */
static double
take (double *left, double ns)
{
  double part = CLAMP (ns, 0, *left);
  *left -= part;
  return part * 1e-9;
}

/* Attributes what the makespan exceeds the bound by. */
static void
set_losses (const HassJob *job, HassReport *r, const Times *t)
{
  const HassPhases *p = &job->phases;
  double makespan_ns = r->makespan_s * 1e9;
  double left = MAX (makespan_ns - t->bound, 0);
  double idle = t->idle[HASS_IDLE_DEPEND] + t->idle[HASS_IDLE_WINDOW]
                + t->idle[HASS_IDLE_WAIT];
  r->bound_s = t->bound * 1e-9;
  r->efficiency = makespan_ns > 0 ? t->bound / makespan_ns : 0;
  r->critical_path_s = t->path.ns * 1e-9;
  r->lost_copies_s = r->lost_halo_s = r->lost_collector_s = 0;
  r->lost_reduce_s = 0;
  r->lost_startup_s = take (&left, (double)(p->generate_ns - job->begin_ns));
  r->lost_teardown_s = take (&left, (double)job->begin_ns + makespan_ns
                                        - (double)p->worked_ns);
  r->lost_generator_s = take (&left, t->submit + t->idle[HASS_IDLE_SUBMIT]);
  r->lost_imbalance_s = take (&left, idle - (t->bound - t->computing));
  r->lost_overhead_s = take (&left, left);
}

/* -- What binds --------------------------------------------------------- */

/* Returns (transfer full): what kept cores from computing most. */
static char *
binding_loss (const HassGraph *graph, const HassReport *r, const Times *t)
{
  double makespan_ns = r->makespan_s * 1e9;
  double of[] = { t->idle[HASS_IDLE_SUBMIT] + t->submit,
                  t->idle[HASS_IDLE_DEPEND],
                  t->idle[HASS_IDLE_WINDOW],
                  t->idle[HASS_IDLE_WAIT],
                  t->between,
                  r->lost_startup_s * 1e9 };
  guint most = 0;
  for (guint i = 1; i < G_N_ELEMENTS (of); i++)
    if (of[i] > of[most])
      most = i;
  double percent = 100 * of[most] / makespan_ns;
  if (most == HASS_IDLE_SUBMIT)
    return g_strdup_printf ("submission binds: the build callback submits more "
                            "slowly than cores compute; that took %.0f %% of "
                            "their time",
                            percent);
  if (most == HASS_IDLE_DEPEND)
    return g_strdup_printf ("dependences bind: for %.0f %% of their time cores "
                            "found no task that could begin",
                            percent);
  if (most == HASS_IDLE_WINDOW)
    return g_strdup_printf ("the window binds: for %.0f %% of their time cores "
                            "found none of %" G_GUINT64_FORMAT
                            " tasks that could begin",
                            percent, graph->most);
  if (most == HASS_IDLE_WAIT)
    return g_strdup_printf ("hass_graph_wait() binds: for %.0f %% of their "
                            "time cores had no task while the build callback "
                            "waited",
                            percent);
  if (most == HASS_N_IDLE)
    return g_strdup_printf ("tasks are short: for %.0f %% of their time cores "
                            "went from one to the next; the mean task takes "
                            "%.0f ns",
                            percent,
                            t->computing * MAX (graph->job->n_cores, 1)
                                / (double)MAX (r->loads, 1));
  return g_strdup_printf ("starting binds: it took %.0f %% of the time",
                          percent);
}

/* Returns (transfer full): what bounds the makespan, in a sentence. */
static char *
binding (const HassGraph *graph, const HassReport *r, const Times *t)
{
  const HassJob *job = graph->job;
  double makespan_ns = r->makespan_s * 1e9;
  if (makespan_ns <= 0 || r->loads == 0)
    return NULL;
  double cores = 100 * t->computing / makespan_ns;
  if (t->bound >= BINDS * makespan_ns && t->kind == BY_PATH)
    return g_strdup_printf ("the critical path binds: %u tasks, %.0f %% of the "
                            "time, most of it in '%s'; cores computed %.0f %%",
                            t->path.n_tasks, 100 * t->bound / makespan_ns,
                            t->path.codelet, cores);
  if (t->bound >= BINDS * makespan_ns && (gint)t->device != job->cpu)
    return g_strdup_printf ("%s binds: computed %.0f %%; cores %.0f %%",
                            job->devices[t->device].name,
                            100 * t->bound / makespan_ns, cores);
  if (t->bound >= BINDS * makespan_ns)
    return g_strdup_printf ("the cores bind: all computed %.0f %%", cores);
  g_autofree char *loss = binding_loss (graph, r, t);
  return g_strdup_printf ("%s; cores computed %.0f %%", loss, cores);
}

void
hass_graph_report (HassJob *job, HassReport *report)
{
  const HassGraph *graph = job->flow;
  g_autofree double *mean_ns = g_new0 (double, graph->codelets->len + 1);
  double codelets_ns = add_codelets (graph, report, mean_ns);
  Times t = times_of (graph, codelets_ns, mean_ns, report->makespan_s * 1e9);
  set_losses (job, report, &t);
  report->binding = binding (graph, report, &t);
}

/* -- Progress ----------------------------------------------------------- */

void
hass_graph_progress (HassJob *job, HassProgressInfo *info)
{
  const HassGraph *graph = job->flow;
  guint64 ended = 0;
  for (guint w = 0; w < graph->n_workers; w++)
    ended += atomic_load_explicit (&graph->workers[w].n_ended,
                                   memory_order_relaxed);
  info->loads_emitted
      = atomic_load_explicit (&graph->published, memory_order_relaxed);
  info->units_done = info->loads_done = MIN (ended, info->loads_emitted);
  if (graph->run->tape)
    info->loads_total
        = hass_tape_length (graph->run->tape) * MAX (graph->run->times, 1);
  else if (info->generated)
    info->loads_total = info->loads_emitted;
}

/* SPDX-License-Identifier: MIT */
/* at_once.c: the submitting thread computes short tasks itself.

   DESIGN. Giving a task to another core costs the cache lines of the task, of
   its data and of the tasks that wait for it, on both sides: with tasks that
   take less than that a second core makes a graph slower. So a task that may
   begin when it is submitted, and is expected to take less than HASS_SHORT_NS,
   is computed by the thread that submits it, before hass_graph_task() returns.
   No task after it then waits for it, and no list is closed for it by a locked
   instruction.

   1. What is expected is about the least time of the codelet, for tasks take
      longer where their data come from other cores; some core has to show it
      first. Until then the tasks have gone to other cores, and those that
      follow wait for them. So when short tasks wait, and no codelet is longer,
      the submitting thread computes with the other cores until none is in
      flight (hass_graph_catch_up()); from then on each begins at once.
   2. A recorded graph whose codelets are all so short may be run in the order
      in which it was submitted, without counting what waits. tape.c measures
      runs of both kinds and keeps to the faster one. If a codelet turns out to
      be longer, the rest of the run goes to all cores.
   3. Where there is one core it computes each task at once, unless priorities
      are to decide.

   Thread safety: the submitting thread. */
#include "place.h"

/* By so much sooner the clock is looked at for each such task: if they get long
   without notice, some 30 are computed before that is known. A guess: fewer,
   and the looks cost more. */
#define OFTEN_NS 300
/* Tasks between two looks whether short tasks wait for short tasks. A guess: a
   look reads a cache line of each core. */
#define CATCH_UP 64
/* So often in a row it looks for a task in vain before it submits more. A
   guess: a codelet may wait for what the build callback does next. */
#define MOST_VAIN 64

/* Returns: TRUE if all codelets are short. The one that was not before comes
   first. */
static gboolean
all_are_short (HassGraph *graph)
{
  guint n = graph->codelets->len;
  for (guint i = 0, c = graph->too_long; i < n; i++, c++)
    {
      c = c < n ? c : 0;
      if (!hass_codelet_is_short (g_ptr_array_index (graph->codelets, c)))
        {
          graph->too_long = c;
          return FALSE;
        }
    }
  return TRUE;
}

/* Computes a task that may begin. Returns: the time, or 0. */
static gint64
compute (HassGraph *graph, HassGraphTask *task)
{
  HassHand hand = { NULL, 0 };
  graph->workers[0].until_look_ns -= OFTEN_NS;
  gint64 now
      = hass_task_run_measured (graph, &graph->job->workers[0], task, &hand, 0);
  if (now > 0)
    hass_job_check_deadline (graph->job, now);
  return now;
}

void
hass_task_run_at_once (HassGraph *graph, HassGraphTask *task)
{
  HassJob *job = graph->job;
  HassGraphWorker *w = &graph->workers[0];
  const HassCodeletState *codelet = task->codelet;
  const HassCodeletCount *count = &w->codelets[codelet->index];
  gint64 ns, before_ns = count->ns;
  HassCallback before
      = hass_engine_enter_callback ("codelet", job, &job->workers[0]);
  graph->building = FALSE;
  gint64 now = compute (graph, task);
  graph->building = TRUE;
  hass_engine_leave_callback (before);
  hass_task_say_ended (w);
  ns = now > 0 ? count->ns - before_ns
               : atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  w->busy_ns += ns;
  graph->at_once_ns += ns;
}

/* A short task waits. If only short ones can be what it waits for: computes,
   until none is in flight or no core finds another one. */
void
hass_graph_catch_up (HassGraph *graph)
{
  HassJob *job = graph->job;
  graph->catch_up_at = graph->n_submitted + CATCH_UP;
  if (!all_are_short (graph))
    return;
  gint64 begin = job->engine->now (job);
  graph->building = FALSE;
  for (guint vain = 0; vain < MOST_VAIN && !hass_graph_drained (graph)
                       && !hass_job_stopping (job);)
    vain = hass_graph_work (job, &job->workers[0]) ? 0 : vain + 1;
  gint64 end = job->engine->now (job);
  hass_graph_busy (&graph->workers[0], end);
  graph->building = TRUE;
  graph->at_once_ns += end - begin;
}

gboolean
hass_graph_suits_in_order (HassGraph *graph)
{
  return !graph->placing && !graph->modelled && !graph->lasts
         && all_are_short (graph);
}

/* Computes the tasks of a recorded graph in their order, as long as they are
   short. Returns: how many it has computed. */
guint32
hass_graph_run_in_order (HassGraph *graph, guint32 n_tasks)
{
  HassJob *job = graph->job;
  HassGraphWorker *w = &graph->workers[0];
  guint32 t = 0;
  gint64 begin = job->engine->now (job);
  HassCallback before
      = hass_engine_enter_callback ("codelet", job, &job->workers[0]);
  graph->in_order = TRUE;
  for (; t < n_tasks && hass_codelet_is_short (graph->tasks[t].codelet)
         && !hass_job_stopping (job);
       t++)
    compute (graph, &graph->tasks[t]);
  graph->in_order = FALSE;
  hass_engine_leave_callback (before);
  hass_task_say_ended (w);
  gint64 ns = job->engine->now (job) - begin;
  w->busy_ns += ns;
  graph->at_once_ns += ns;
  return t;
}

/* SPDX-License-Identifier: MIT */
/* at_once.c: the submitting thread computes short tasks itself.

   DESIGN. Giving a task to another core costs the cache lines of the task, of
   its data and of the tasks that wait for it, on both sides: with tasks that
   take less than that a second core makes a graph slower. So a task that may
   begin when it is submitted, and is expected to take less than SHORT_NS, is
   computed by the thread that submits it, before hass_graph_task() returns. No
   task after it then waits for it, and no list is closed for it by a locked
   instruction.

   1. What is expected is the mean time of the codelet, which some core has to
      show first. Until then the tasks have gone to other cores, and those that
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

/* What is short, looking at the clock included. Measured, where a task that is
   computed at once takes the same time as on two to sixteen cores: tasks of a
   tiled Cholesky 110 to 230 ns, those of 64 chains 50 to 180. */
#define SHORT_NS 100
/* A recorded graph is tried in its order if its tasks take less: more than
   SHORT_NS, as tasks seem longer whose data come from other cores. A guess. */
#define IN_ORDER_NS 250
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

static guint
mean_ns (const HassCodeletState *codelet)
{
  return atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
}

static gboolean
takes_less (const HassCodeletState *codelet, guint ns)
{
  guint mean = mean_ns (codelet);
  return mean > 0 && mean < ns;
}

gboolean
hass_codelet_is_short (const HassCodeletState *codelet)
{
  return takes_less (codelet, SHORT_NS);
}

/* Returns: TRUE if all codelets take less. The one that did not before comes
   first. */
static gboolean
all_take_less (HassGraph *graph, guint ns)
{
  guint n = graph->codelets->len;
  for (guint i = 0, c = graph->too_long; i < n; i++, c++)
    {
      c = c < n ? c : 0;
      if (!takes_less (g_ptr_array_index (graph->codelets, c), ns))
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

gboolean
hass_task_suits_at_once (const HassGraph *graph, const HassGraphTask *task)
{
  if (graph->placing || graph->modelled || task->flags & HASS_TASK_LOCKS)
    return FALSE;
  return hass_codelet_is_short (task->codelet)
         || (graph->n_queues == 1 && !hass_task_is_ranked (graph, task));
}

void
hass_task_run_at_once (HassGraph *graph, HassGraphTask *task)
{
  HassJob *job = graph->job;
  HassGraphWorker *w = &graph->workers[0];
  const HassCodeletState *codelet = task->codelet;
  const HassCodeletCount *count = &w->codelets[codelet->index];
  gint64 ns = -count->ns;
  HassCallback before
      = hass_engine_enter_callback ("codelet", job, &job->workers[0]);
  graph->building = FALSE;
  gint64 now = compute (graph, task);
  graph->building = TRUE;
  hass_engine_leave_callback (before);
  hass_task_say_ended (w);
  ns = now > 0 ? ns + count->ns : mean_ns (codelet);
  w->busy_ns += ns;
  graph->at_once_ns += ns;
}

/* A short task waits. If only short ones can be what it waits for: computes,
   until none is in flight or no core finds another one. */
void
hass_graph_catch_up (HassGraph *graph)
{
  HassJob *job = graph->job;
  if (!all_take_less (graph, SHORT_NS))
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
  graph->catch_up_at = graph->n_submitted + CATCH_UP;
}

gboolean
hass_graph_suits_in_order (HassGraph *graph)
{
  return !graph->placing && !graph->modelled && !graph->lasts
         && all_take_less (graph, IN_ORDER_NS);
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
  for (; t < n_tasks && takes_less (graph->tasks[t].codelet, IN_ORDER_NS)
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

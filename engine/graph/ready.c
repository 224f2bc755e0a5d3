/* SPDX-License-Identifier: MIT */
/* ready.c: where ready tasks wait, and which of them a core takes.

   DESIGN. Each core has a queue, in order of arrival. Its owner publishes an
   entry by raising the tail; whoever takes entries from the front reads them,
   then raises the head with one compare-and-swap, which fails if another has
   taken them. The heap for tasks with priorities has a lock.

   Thread safety: see graph-private.h. */
#include "graph-private.h"

void
hass_task_queue_init (HassTaskQueue *queue, guint64 most)
{
  queue->tasks = g_malloc_n (most, sizeof *queue->tasks);
  queue->mask = (guint32)(most - 1);
}

gboolean
hass_task_is_long (const HassGraphTask *task)
{
  /* Acquire pairs with begin_task(): the task may be one that this core cannot
     take any more, and its slot a new one's. */
  HassCodeletState *codelet
      = atomic_load_explicit (&task->codelet, memory_order_acquire);
  guint ns = atomic_load_explicit (&codelet->mean_ns, memory_order_relaxed);
  return ns == 0 || ns >= HASS_LONG_NS;
}

/* -- The heap ----------------------------------------------------------- */

static void
rank (HassGraph *graph, const HassGraphTask *task)
{
  pthread_mutex_lock (&graph->lock);
  hass_heap_push (graph->heap,
                  &(HassRanked){ .priority = task->priority,
                                 .level = task->level,
                                 .task = hass_task_index (graph, task),
                                 .order = graph->order++ });
  atomic_store_explicit (&graph->n_ranked, graph->heap->len,
                         memory_order_relaxed);
  pthread_mutex_unlock (&graph->lock);
}

/* Returns: FALSE if the heap is empty. */
static gboolean
take_first (HassGraph *graph, guint32 *task)
{
  if (atomic_load_explicit (&graph->n_ranked, memory_order_relaxed) == 0)
    return FALSE;
  pthread_mutex_lock (&graph->lock);
  guint n = graph->heap->len;
  if (n > 0)
    {
      *task = g_array_index (graph->heap, HassRanked, 0).task;
      hass_heap_remove (graph->heap, 0);
      atomic_store_explicit (&graph->n_ranked, n - 1, memory_order_relaxed);
    }
  pthread_mutex_unlock (&graph->lock);
  return n > 0;
}

/* -- The queues --------------------------------------------------------- */

static void
push (HassTaskQueue *queue, guint32 task)
{
  guint64 tail = atomic_load_explicit (&queue->tail, memory_order_relaxed);
  atomic_store_explicit (&queue->tasks[tail & queue->mask], task,
                         memory_order_relaxed);
  /* Release publishes the entry and the task. */
  atomic_store_explicit (&queue->tail, tail + 1, memory_order_release);
}

/* Takes up to HASS_MOST_TAKEN short tasks, or one. @share: of how many takers
   this is one. Returns: the number of tasks. */
static guint
take (const HassGraph *graph, HassTaskQueue *queue, guint share, guint32 *tasks)
{
  guint64 head = atomic_load_explicit (&queue->head, memory_order_relaxed);
  for (;;)
    {
      guint64 tail = atomic_load_explicit (&queue->tail, memory_order_acquire);
      if (head >= tail)
        return 0;
      guint n = (guint)MIN ((tail - head + share - 1) / share, HASS_MOST_TAKEN);
      for (guint i = 0; i < n; i++)
        {
          /* Another core may have taken this entry, and the owner may write it
             again; then the exchange fails. */
          tasks[i] = atomic_load_explicit (
              &queue->tasks[(head + i) & queue->mask], memory_order_relaxed);
          if (hass_task_is_long (&graph->tasks[tasks[i]]))
            n = i > 0 ? i : 1;
        }
      if (atomic_compare_exchange_strong_explicit (
              &queue->head, &head, head + n, memory_order_acquire,
              memory_order_relaxed))
        return n;
    }
}

/* Makes a task available to all cores. Where @worker is not a core, it has no
   queue that others would look into. */
void
hass_task_to_cores (HassGraph *graph, guint worker, HassGraphTask *task)
{
  if (worker >= graph->n_queues
      || (atomic_load_explicit (&graph->ranked, memory_order_relaxed)
          && hass_task_is_long (task)))
    rank (graph, task);
  else
    push (&graph->workers[worker].queue, hass_task_index (graph, task));
}

/* Takes tasks for a worker. @tasks: [HASS_MOST_TAKEN] Returns: how many. */
guint
hass_ready_take (HassGraph *graph, guint worker, guint32 *tasks)
{
  HassGraphWorker *w = &graph->workers[worker];
  if (take_first (graph, &tasks[0]))
    return 1;
  guint n = take (graph, &w->queue, graph->n_queues, tasks);
  for (guint i = 0; n == 0 && i < graph->n_queues; i++)
    {
      if (w->victim != worker)
        n = take (graph, &graph->workers[w->victim].queue, 2, tasks);
      if (n == 0)
        w->victim = w->victim + 1 < graph->n_queues ? w->victim + 1 : 0;
    }
  return n;
}

/* Any thread. Returns: TRUE if a task waits. */
gboolean
hass_ready_any (HassGraph *graph)
{
  if (atomic_load_explicit (&graph->n_ranked, memory_order_seq_cst) > 0)
    return TRUE;
  for (guint w = 0; w < graph->n_queues; w++)
    {
      const HassTaskQueue *q = &graph->workers[w].queue;
      if (atomic_load_explicit (&q->head, memory_order_relaxed)
          < atomic_load_explicit (&q->tail, memory_order_seq_cst))
        return TRUE;
    }
  return FALSE;
}

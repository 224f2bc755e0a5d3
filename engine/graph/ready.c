/* SPDX-License-Identifier: MIT */
/* ready.c: where ready tasks wait, and which of them a core takes.

   DESIGN. Each core has a queue, in order of arrival. Its owner publishes an
   entry by raising the tail; whoever takes entries from the front reads them,
   then raises the head with one compare-and-swap, which fails if another has
   taken them. An entry says about how long its task takes, so nobody reads a
   task that another core may have taken.

   A task that another core computes costs some 500 ns: its cache lines, and
   those of the tasks that wait for it, go there and come back. So a core leaves
   a queue with less than STEAL_NS of short tasks to its owner, unless it finds
   the same task in front at its next look: then the owner is busy. What it
   steals beyond that work enters its own queue, where others find it. Modelled
   cores, which have no cache lines, take one task at a time from any queue:
   their entries do not say how long tasks take.

   The heap for tasks with priorities has a lock, see HASS_LONG_NS.

   Thread safety: see graph-private.h. */
#include "graph-private.h"

gboolean
hass_task_queue_init (HassTaskQueue *queue, guint64 most)
{
  queue->entries = g_try_malloc_n (most, sizeof *queue->entries);
  queue->mask = (guint32)(most - 1);
  return queue->entries != NULL;
}

/* Work for which another core is worth its cost, in ns. Measured on 8 cores,
   chains of tasks without work: 313 ns a task without this rule, 109 with it.
   Less, and the owner waits for its cache lines; 16000 is no better. */
#define STEAL_NS 8000
/* Most tasks that a core steals at once. Measured: 8 to 128 differ by less than
   their noise. */
#define MOST_STOLEN 32

/* An entry: index of the task; in the bits above the length of its expected
   time in ns, in bits, 0: unknown. */
#define INDEX_BITS 24
G_STATIC_ASSERT (HASS_MOST_WINDOW == 1 << INDEX_BITS);

static guint
mean_ns (const HassGraphTask *task)
{
  return atomic_load_explicit (&task->codelet->mean_ns, memory_order_relaxed);
}

static guint32
entry_of (const HassGraph *graph, const HassGraphTask *task)
{
  guint ns = graph->modelled ? 0 : mean_ns (task);
  guint bits = ns > 0 ? g_bit_storage (ns) : 0;
  return hass_task_index (graph, task) | bits << INDEX_BITS;
}

/* Returns: at most so long its task takes, in ns; STEAL_NS if unknown. */
static guint64
time_of (guint32 entry)
{
  guint bits = entry >> INDEX_BITS;
  return bits > 0 ? (guint64)1 << bits : STEAL_NS;
}

/* Returns: how many of the first of @n entries a core takes for itself: about
   STEAL_NS of work, for other cores do not find it. */
static guint
at_once (const guint32 *entries, guint n)
{
  guint64 ns = 0;
  for (guint i = 0; i < MIN (n, HASS_MOST_TAKEN); i++)
    {
      ns += time_of (entries[i]);
      if (i > 0 && ns > STEAL_NS)
        return i;
    }
  return MIN (n, HASS_MOST_TAKEN);
}

gboolean
hass_task_is_ranked (const HassGraph *graph, const HassGraphTask *task)
{
  if (!atomic_load_explicit (&graph->ranked, memory_order_relaxed))
    return FALSE;
  guint ns = mean_ns (task);
  return ns == 0 || ns >= HASS_LONG_NS * graph->n_queues;
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
push (HassTaskQueue *queue, guint32 entry)
{
  guint64 tail = atomic_load_explicit (&queue->tail, memory_order_relaxed);
  atomic_store_explicit (&queue->entries[tail & queue->mask], entry,
                         memory_order_relaxed);
  /* Release publishes the entry and the task. */
  atomic_store_explicit (&queue->tail, tail + 1, memory_order_release);
}

/* The entry at @head. Another core may have taken it, and the owner may write
   it again; then raising the head fails. */
static guint32
entry_at (const HassTaskQueue *queue, guint64 head)
{
  return atomic_load_explicit (&queue->entries[head & queue->mask],
                               memory_order_relaxed);
}

/* Takes about STEAL_NS of work from a core's own queue. @entries:
   [HASS_MOST_TAKEN] Returns: the number of tasks. */
static guint
take (HassTaskQueue *queue, guint n_cores, guint32 *entries)
{
  guint64 tail = atomic_load_explicit (&queue->tail, memory_order_relaxed);
  guint64 head = atomic_load_explicit (&queue->head, memory_order_relaxed);
  while (head < tail)
    {
      guint n
          = (guint)MIN ((tail - head + n_cores - 1) / n_cores, HASS_MOST_TAKEN);
      for (guint i = 0; i < n; i++)
        entries[i] = entry_at (queue, head + i);
      n = at_once (entries, n);
      if (atomic_compare_exchange_strong_explicit (
              &queue->head, &head, head + n, memory_order_acquire,
              memory_order_relaxed))
        return n;
    }
  return 0;
}

/* Takes half of another core's queue. @passed: the head at which this core left
   the queue alone, + 1; updated. @entries: [MOST_STOLEN] Returns: the number of
   tasks; 0, too, if yet another core has been there at the same time. */
static guint
steal (HassTaskQueue *queue, guint64 *passed, guint32 *entries)
{
  guint64 head = atomic_load_explicit (&queue->head, memory_order_relaxed);
  guint64 tail = atomic_load_explicit (&queue->tail, memory_order_acquire);
  if (head >= tail)
    return 0;
  if ((tail - head) * time_of (entry_at (queue, head)) < STEAL_NS
      && *passed != head + 1)
    {
      *passed = head + 1;
      return 0;
    }
  guint n = (guint)MIN ((tail - head + 1) / 2, MOST_STOLEN);
  for (guint i = 0; i < n; i++)
    entries[i] = entry_at (queue, head + i);
  return atomic_compare_exchange_strong_explicit (&queue->head, &head, head + n,
                                                  memory_order_acquire,
                                                  memory_order_relaxed)
             ? n
             : 0;
}

/* Makes a task available to all cores. Where @worker is not a core, it has no
   queue that others would look into. */
void
hass_task_to_cores (HassGraph *graph, guint worker, HassGraphTask *task)
{
  if (worker >= graph->n_queues || hass_task_is_ranked (graph, task))
    rank (graph, task);
  else
    push (&graph->workers[worker].queue, entry_of (graph, task));
}

/* Takes tasks for a worker. @tasks: [HASS_MOST_TAKEN] Returns: how many. */
guint
hass_ready_take (HassGraph *graph, guint worker, guint32 *tasks)
{
  HassGraphWorker *w = &graph->workers[worker];
  guint32 entries[MOST_STOLEN];
  if (take_first (graph, &tasks[0]))
    return 1;
  guint n = take (&w->queue, graph->n_queues, entries);
  for (guint i = 0; n == 0 && i < graph->n_queues; i++)
    {
      if (w->victim != worker)
        n = steal (&graph->workers[w->victim].queue, &w->passed[w->victim],
                   entries);
      if (n == 0)
        w->victim = w->victim + 1 < graph->n_queues ? w->victim + 1 : 0;
    }
  if (n == 0)
    return 0;
  guint n_now = at_once (entries, n);
  for (guint i = 0; i < n_now; i++)
    tasks[i] = entries[i] & (HASS_MOST_WINDOW - 1);
  for (guint i = n_now; i < n; i++)
    push (&w->queue, entries[i]);
  /* A core may have left when it found these tasks in no queue. */
  if (n > n_now)
    hass_job_loads_came (graph->job);
  return n_now;
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

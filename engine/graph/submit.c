/* SPDX-License-Identifier: MIT */
/* submit.c: tasks enter a graph; their dependences follow from their accesses:
   step 2 of the DESIGN paragraph in graph.h.

   A task is published with a count that is too large by BIAS, so that it cannot
   begin while its accesses are still being linked; the last step subtracts BIAS
   and what was over already.

   Thread safety: the submitting thread. */
#include "place.h"
#include "pool/struct_size.h"

#define BIAS (1 << 30)

/* -- Codelets ----------------------------------------------------------- */

/* @work: of its first task; not above 0: unknown. */
static HassCodeletState *
add_codelet (HassGraph *graph, const HassCodelet *key, double work)
{
  HassCodelet codelet;
  GError *error = NULL;
  if (!key
      || !hass_struct_read (&codelet, sizeof codelet,
                            HASS_SIZE_UP_TO (HassCodelet, cpu), key,
                            "HassCodelet", &error))
    {
      hass_graph_refuse (graph, HASS_ERROR_INVALID, "hass_graph_task: %s",
                         error ? error->message : "codelet is NULL");
      g_clear_error (&error);
      return NULL;
    }
  guint n = graph->codelets->len;
  guint32 devices = hass_codelet_devices (graph, &codelet);
  gboolean can_run = hass_codelet_can_run (graph, &codelet, devices);
  if (!can_run || n == HASS_MOST_CODELETS)
    {
      hass_graph_refuse_codelet (graph, &codelet, can_run);
      return NULL;
    }
  HassCodeletState *state
      = g_aligned_alloc0 (1, sizeof *state, HASS_CACHE_LINE);
  state->public = codelet;
  state->key = key;
  state->name = codelet.name ? g_strdup (codelet.name)
                             : g_strdup_printf ("codelet %u", n + 1);
  if (!codelet.user_data)
    state->public.user_data = graph->run->user_data;
  state->index = n;
  state->devices = devices;
  state->sized = work > 0;
  if (graph->recalls)
    hass_codelet_recall (graph, state,
                         state->sized ? MIN (work, G_MAXFLOAT) : 1);
  if (devices)
    hass_place_add_codelet (graph, state);
  g_ptr_array_add (graph->codelets, state);
  g_hash_table_insert (graph->by_key, (gpointer)key, state);
  return state;
}

static inline HassCodeletState *
find_codelet (HassGraph *graph, const HassCodelet *key,
              const HassTaskHints *hints)
{
  if (G_LIKELY (graph->last_codelet && graph->last_codelet->key == key))
    return graph->last_codelet;
  HassCodeletState *state = g_hash_table_lookup (graph->by_key, key);
  if (!state)
    state = add_codelet (graph, key, hints ? hints->work : 0);
  graph->last_codelet = state;
  return state;
}

/* -- Dependences -------------------------------------------------------- */

/* Makes @access wait for the one that @ref refers to. @listed: it is in a list
   already, or will be in several. Returns: 1; 0 if that one is over. */
static inline guint
wait_on (HassGraph *graph, HassRef ref, HassTaskAccess *access, HassRef me,
         gboolean listed)
{
  if (!hass_ref_lives (graph, ref))
    return 0;
  HassTaskAccess *before = hass_ref_access (graph, ref);
  if (G_UNLIKELY (graph->pairs != NULL))
    {
      guint64 late = hass_access_changes (before) ? 0 : 1;
      guint64 pair[2] = { (ref >> 16) - 1, ((me >> 16) - 1) << 1 | late };
      g_array_append_vals (graph->pairs, pair, 2);
      return 0;
    }
  HassTaskAccess *list
      = atomic_load_explicit (&before->waiting, memory_order_acquire);
  do
    {
      if (list == HASS_ACCESS_OVER)
        return 0;
      if (!listed)
        access->next = list;
    }
  while (!atomic_compare_exchange_weak_explicit (&before->waiting, &list,
                                                 access, memory_order_acq_rel,
                                                 memory_order_acquire));
  if (G_UNLIKELY (graph->placing != NULL) && !hass_access_changes (before))
    hass_place_send_home (graph, hass_access_task (before));
  return 1;
}

/* Links an access to those that it must follow. Returns: how many it waits for.
 */
static inline guint
link_access (HassGraph *graph, HassData *data, HassTaskAccess *access,
             HassRef me)
{
  HassAccessMode mode = hass_access_mode (access);
  guint n = 0;
  access->next = NULL;
  if (hass_mode_is_shared (mode))
    {
      n = wait_on (graph, data->writer, access, me, FALSE);
      access->older = data->group;
      data->group = me;
      data->group_mode = mode;
      return n;
    }
  if (!data->group)
    n = wait_on (graph, data->writer, access, me, FALSE);
  /* No other access waits for a member of the group, so `next` stays NULL. */
  for (HassRef ref = data->group; hass_ref_lives (graph, ref);
       ref = hass_ref_access (graph, ref)->older)
    n += wait_on (graph, ref, access, me, TRUE);
  data->writer = me;
  data->group = 0;
  data->written = TRUE;
  return n;
}

/* -- Checks ------------------------------------------------------------- */

/* Returns: FALSE if access @i of the next task is wrong; the dataflow is
   stopped. Only what is unusual is looked at again. */
static inline gboolean
check_access (HassGraph *graph, const HassCodeletState *codelet,
              const HassAccess *a, guint i)
{
  HassData *data = a->data;
  guint64 number = graph->n_submitted + 1;
  if (G_UNLIKELY (!data || data->graph != graph || (guint)a->mode > HASS_UPDATE
                  || data->forgotten || data->last_task == number
                  || !data->written)
      && !hass_graph_check_access (graph, codelet, a, i))
    return FALSE;
  data->last_task = number;
  return TRUE;
}

/* -- Submitting --------------------------------------------------------- */

/* Doubles the slots of a graph that is recorded. */
static gboolean
grow (HassGraph *graph)
{
  if (graph->most >= HASS_MOST_WINDOW)
    {
      hass_graph_refuse (graph, HASS_ERROR_OVERFLOW,
                         "a recorded graph has at most %d tasks",
                         HASS_MOST_WINDOW);
      return FALSE;
    }
  HassGraphTask *tasks
      = g_aligned_alloc (2 * graph->most, sizeof *tasks, HASS_TASK_BYTES);
  memcpy (tasks, graph->tasks, graph->most * sizeof *tasks);
  g_aligned_free (graph->tasks);
  graph->tasks = tasks;
  graph->work = g_renew (double, graph->work, 2 * graph->most);
  graph->most *= 2;
  graph->mask = (guint32)(graph->most - 1);
  return TRUE;
}

/* Takes a slot. Returns: NULL if the dataflow is stopping. */
static inline HassGraphTask *
new_task (HassGraph *graph)
{
  if (G_UNLIKELY (graph->n_submitted - graph->n_retired >= graph->most))
    {
      if (!(graph->job ? hass_graph_await (graph, HASS_WAIT_SLOT, NULL)
                       : grow (graph)))
        return NULL;
    }
  return &graph->tasks[graph->n_submitted & graph->mask];
}

/* Memory for the accesses that do not fit into the task. Returns: FALSE if
   there is none. */
static gboolean
add_more (HassGraph *graph, HassGraphTask *task, guint n)
{
  guint far = n - HASS_TASK_INLINE;
  HassTaskMore *more = NULL;
  if (posix_memalign ((void **)&more, 64,
                      sizeof *more + far * sizeof *more->accesses)
      != 0)
    {
      hass_graph_refuse (graph, HASS_ERROR_NO_MEMORY,
                         "there is no memory for a task with %u accesses", n);
      return FALSE;
    }
  more->arguments = NULL;
  for (guint i = 0; i < far; i++)
    more->accesses[i].task = task;
  task->more = more;
  task->flags |= HASS_TASK_HAS_MORE;
  graph->allocates = TRUE;
  return TRUE;
}

/* Returns: FALSE if there is no memory for a copy. */
static gboolean
copy_arguments (HassGraph *graph, HassGraphTask *task,
                const HassTaskHints *hints)
{
  if (hints->argument_bytes == 0)
    return TRUE;
  if (hints->argument_bytes <= sizeof task->bytes
      && !(task->flags & HASS_TASK_HAS_MORE))
    {
      memcpy (task->bytes, hints->arguments, hints->argument_bytes);
      task->flags |= HASS_TASK_FEW_BYTES;
      return TRUE;
    }
  gpointer copy = hints->argument_bytes <= G_MAXSSIZE
                      ? g_try_malloc (hints->argument_bytes)
                      : NULL;
  if (!copy)
    return FALSE;
  memcpy (copy, hints->arguments, hints->argument_bytes);
  if (task->flags & HASS_TASK_HAS_MORE)
    task->more->arguments = copy;
  else
    task->arguments = copy;
  task->flags |= HASS_TASK_ARGUMENTS;
  graph->allocates = TRUE;
  return TRUE;
}

static void
publish (HassGraph *graph, HassGraphTask *task, guint waits)
{
  if (G_UNLIKELY (graph->tells))
    hass_graph_tell_submitted (graph, task, graph->n_submitted);
  graph->n_submitted++;
  if (graph->pairs)
    return;
  atomic_store_explicit (&graph->published, graph->n_submitted,
                         memory_order_relaxed);
  /* Acquire: what the tasks that it waited for have written. */
  if (waits == 0
      || atomic_fetch_sub_explicit (&task->pending, BIAS - (gint)waits,
                                    memory_order_acq_rel)
             == BIAS - (gint)waits)
    {
      if (hass_task_suits_at_once (graph, task))
        {
          hass_task_run_at_once (graph, task);
          return;
        }
      hass_task_ready (graph, 0, task);
      hass_job_loads_came (graph->job);
    }
  else if (graph->n_submitted >= graph->catch_up_at
           && hass_task_suits_at_once (graph, task))
    hass_graph_catch_up (graph);
}

/* Takes a slot for a task and fills in all but its accesses. */
static inline HassGraphTask *
begin_task (HassGraph *graph, HassCodeletState *codelet, guint n,
            const HassTaskHints *hints)
{
  HassGraphTask *task = new_task (graph);
  if (G_UNLIKELY (!task))
    return NULL;
  /* A slot that is used for the first time has undefined flags. */
  if (graph->n_submitted >= graph->most
      && G_UNLIKELY (task->flags & (HASS_TASK_ARGUMENTS | HASS_TASK_HAS_MORE)))
    hass_task_clear (task);
  hass_codelet_count (codelet);
  task->codelet = codelet;
  task->arguments = NULL;
  atomic_store_explicit (&task->pending, BIAS, memory_order_relaxed);
  task->priority = 0;
  task->n = (guint16)n;
  task->flags = 0;
  task->level = 0;
  if (G_UNLIKELY (graph->work != NULL))
    graph->work[hass_task_index (graph, task)] = hints ? hints->work : 0;
  atomic_store_explicit (&task->ended, FALSE, memory_order_relaxed);
  if (G_UNLIKELY (n > HASS_TASK_INLINE) && !add_more (graph, task, n))
    return NULL;
  if (hints)
    {
      task->priority = hints->priority;
      if (codelet->sized && hints->work > 0)
        {
          codelet->work += MIN (hints->work, G_MAXFLOAT);
          codelet->n_work++;
        }
      if (hints->priority != 0
          && !atomic_load_explicit (&graph->ranked, memory_order_relaxed))
        atomic_store_explicit (&graph->ranked, TRUE, memory_order_relaxed);
      if (G_UNLIKELY (!copy_arguments (graph, task, hints)))
        {
          hass_graph_refuse (graph, HASS_ERROR_NO_MEMORY,
                             "task %" G_GUINT64_FORMAT
                             " ('%s'): there is no memory for %zu bytes of "
                             "arguments",
                             hass_graph_number (graph, graph->n_submitted),
                             codelet->name, hints->argument_bytes);
          return NULL;
        }
    }
  return task;
}

static inline guint
add_access (HassGraph *graph, HassGraphTask *task, guint i, HassData *data,
            HassAccessMode mode)
{
  HassTaskAccess *access = hass_task_access (task, i);
  atomic_store_explicit (&access->waiting, NULL, memory_order_relaxed);
  access->older = 0;
  access->data = (guintptr)data | (guintptr)mode
                 | (i < HASS_TASK_INLINE ? 0 : HASS_ACCESS_MORE);
  return link_access (graph, data, access, (graph->n_submitted + 1) << 16 | i);
}

static gboolean
nothing (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return TRUE;
}

/* Orders a shared group after another one: an UPDATE that computes nothing. The
   executing core merges the copies of a REDUCE group. */
static const HassCodelet order = { .struct_size = sizeof (HassCodelet),
                                   .name = "(order)",
                                   .cpu = nothing };

/* Submits a task of the library that has the datum to itself, so that what
   follows is ordered after the shared group before it. */
static gboolean
separate (HassGraph *graph, HassData *data)
{
  HassCodeletState *codelet = find_codelet (graph, &order, NULL);
  HassGraphTask *task = begin_task (graph, codelet, 1, NULL);
  if (!task)
    return FALSE;
  task->flags |= HASS_TASK_INTERNAL;
  if (data->group_mode == HASS_REDUCE)
    task->flags |= HASS_TASK_REDUCES;
  hass_graph_note_internal (graph);
  data->last_task = graph->n_submitted + 1;
  guint waits = add_access (graph, task, 0, data, HASS_UPDATE);
  publish (graph, task, waits);
  return TRUE;
}

/* Two shared groups must not follow each other, and copies must be merged
   before anything else. Returns: FALSE if the dataflow is stopping. */
static gboolean
separate_groups (HassGraph *graph, const HassAccess *accesses, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      HassData *data = accesses[i].data;
      if (!data->group || data->group_mode == accesses[i].mode)
        continue;
      if ((data->group_mode == HASS_REDUCE
           || hass_mode_is_shared (accesses[i].mode))
          && !separate (graph, data))
        return FALSE;
    }
  return TRUE;
}

static guint
note_shared (HassGraph *graph, HassData *data, HassAccessMode mode)
{
  if (mode == HASS_COMMUTE)
    {
      if (!data->parked)
        data->parked = g_queue_new ();
      return HASS_TASK_LOCKS;
    }
  if (!data->copies)
    data->copies = g_new0 (gpointer, graph->n_workers);
  data->written = data->reduced = TRUE;
  return HASS_TASK_REDUCES;
}

gboolean
hass_graph_task (HassGraph *graph, const HassCodelet *codelet,
                 const HassAccess *accesses, guint n_accesses,
                 const HassTaskHints *hints)
{
  if (G_UNLIKELY (!hass_graph_may (graph, "hass_graph_task")))
    return FALSE;
  HassCodeletState *state = find_codelet (graph, codelet, hints);
  if (G_UNLIKELY (!state))
    return FALSE;
  if (G_UNLIKELY (n_accesses > G_MAXUINT16 || (n_accesses > 0 && !accesses)
                  || (hints
                      && ((hints->argument_bytes > 0 && !hints->arguments)
                          || !hass_work_is_valid (hints->work)))))
    return hass_graph_refuse_task (graph, state, n_accesses, hints);
  gboolean groups = FALSE, for_cores = FALSE;
  for (guint i = 0; i < n_accesses; i++)
    {
      if (!check_access (graph, state, &accesses[i], i))
        return FALSE;
      const HassData *data = accesses[i].data;
      groups |= data->group && data->group_mode != accesses[i].mode;
      for_cores |= accesses[i].mode >= HASS_COMMUTE;
    }
  if (G_UNLIKELY (for_cores && !state->public.cpu))
    return hass_graph_refuse_for_cores (graph, state);
  if (G_UNLIKELY (!state->begun))
    hass_codelet_begin (graph, state, accesses, n_accesses);
  if (G_UNLIKELY (groups) && !separate_groups (graph, accesses, n_accesses))
    return FALSE;
  HassGraphTask *task = begin_task (graph, state, n_accesses, hints);
  if (G_UNLIKELY (!task))
    return FALSE;
  guint waits = 0, flags = 0;
  for (guint i = 0; i < n_accesses; i++)
    {
      if (G_UNLIKELY (accesses[i].mode >= HASS_COMMUTE))
        flags |= note_shared (graph, accesses[i].data, accesses[i].mode);
      waits += add_access (graph, task, i, accesses[i].data, accesses[i].mode);
    }
  task->flags |= (guint8)flags;
  publish (graph, task, waits);
  return TRUE;
}

/* -- Waiting ------------------------------------------------------------ */

/* Has the private copies of a datum into which tasks reduce merged. Returns:
   FALSE if the dataflow is stopping. */
gboolean
hass_graph_merge (HassGraph *graph, HassData *data)
{
  return !data->group || data->group_mode != HASS_REDUCE
         || separate (graph, data);
}

gboolean
hass_graph_merge_all (HassGraph *graph)
{
  for (guint i = 0; i < graph->data->len; i++)
    if (!hass_graph_merge (graph, g_ptr_array_index (graph->data, i)))
      return FALSE;
  return TRUE;
}

gboolean
hass_graph_wait (HassGraph *graph, HassData *data)
{
  if (!hass_graph_may (graph, "hass_graph_wait"))
    return FALSE;
  if (!graph->job)
    {
      hass_graph_refuse (graph, HASS_ERROR_MISUSE,
                         "hass_graph_wait: nothing runs while a graph is "
                         "recorded");
      return FALSE;
    }
  if (data && !hass_graph_owns (graph, data, "hass_graph_wait"))
    return FALSE;
  if (!(data ? hass_graph_merge (graph, data) : hass_graph_merge_all (graph)))
    return FALSE;
  if (!hass_graph_await (graph, data ? HASS_WAIT_DATUM : HASS_WAIT_ALL, data))
    return FALSE;
  hass_place_renew (graph, data);
  return !data
         || atomic_load_explicit (&data->invalid, memory_order_relaxed) == 0;
}

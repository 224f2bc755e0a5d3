/* SPDX-License-Identifier: MIT */
/* fate.c: how a farm comes to an early end, and which units it leaves
   unfinished.

   DESIGN.
   1. Callbacks. Each thread knows which callback of which farm or recorded
      graph it is in, and with which worker. Misuse of an emitter or worker
      stops that farm, or fails that recording.
   2. Stopping. The first error stops the farm; later ones are dropped.
   3. Unfinished units. Units that failed or were not computed are listed, then
      sorted and joined for the report.

   Thread safety: any thread; tidying by the thread that called the farm, when
   all others have left. */
#include "job-private.h"
#include "pool/callback_error.h"

/* -- 1. The callback that a thread is in -------------------------------- */

__thread HassCallback hass_callback;

HassCallback
hass_engine_enter_callback (const char *what, HassJob *job, HassWorker *worker)
{
  HassCallback before = hass_callback;
  hass_callback = (HassCallback){
    .what = what, .job = job, .worker = worker, .charged = worker
  };
  return before;
}

HassCallback
hass_engine_enter_recording (const HassRecording *recording)
{
  HassCallback before = hass_callback;
  hass_callback
      = (HassCallback){ .what = "build callback", .recording = recording };
  return before;
}

void
hass_engine_leave_callback (HassCallback before)
{
  hass_callback = before;
}

const char *
hass_engine_callback (void)
{
  static __thread char text[128];
  const HassCallback *in = &hass_callback;
  if (!in->what)
    return NULL;
  g_snprintf (text, sizeof text, "the %s of %s '%s'", in->what,
              in->job ? hass_farm_noun (in->job->farm) : "dataflow",
              in->job ? in->job->farm->name : in->recording->name);
  return text;
}

/* -- 2. Stopping -------------------------------------------------------- */

/* Makes the farm end early. Takes over @error; only the first error is kept. */
void
hass_job_stop (HassJob *job, GError *error)
{
  pthread_mutex_lock (&job->failure);
  if (!job->error)
    job->error = error;
  else
    g_error_free (error);
  pthread_mutex_unlock (&job->failure);
  atomic_store_explicit (&job->stop, TRUE, memory_order_seq_cst);
  job->engine->changed (job);
}

/* Makes the farm end early, with a message that begins with its name. */
void
hass_job_fail (HassJob *job, HassError code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  GError *error = g_error_new_valist (HASS_ERROR, (gint)code, format, args);
  va_end (args);
  g_prefix_error (&error, "%s '%s': ", hass_farm_noun (job->farm),
                  job->farm->name);
  hass_job_stop (job, error);
}

/* Stops the farm if it has a deadline and @now_ns is past that. */
void
hass_job_check_deadline (HassJob *job, gint64 now_ns)
{
  if (job->deadline_ns == 0 || now_ns < job->deadline_ns
      || hass_job_stopping (job))
    return;
  hass_job_fail (job, HASS_ERROR_DEADLINE,
                 "its deadline of %" G_GINT64_FORMAT " ms has passed",
                 job->farm->run->deadline_ms);
}

/* Stops the farm because a load's cost is not finite or negative; the slow path
   of hass_job_check_cost(). */
void
hass_job_refuse_cost (HassJob *job, const HassLoad *load, guint64 seq)
{
  gboolean task = job->farm->kind == HASS_FARM_FUNCTION;
  hass_job_fail (job, HASS_ERROR_INVALID,
                 "%s %" G_GUINT64_FORMAT
                 " has the expected %s %g; it must lie between 0 and %g",
                 task ? "task" : "load", seq, task ? "time" : "cost",
                 load->cost, G_MAXFLOAT);
}

/* -- Loads that cannot run ---------------------------------------------- */

static guint
flag_of (const HassDeviceTraits *device)
{
  if (device->load_flag)
    return (guint)device->load_flag;
  return device->kind == HASS_DEVICE_CPU ? HASS_LOAD_CPU : HASS_LOAD_GPU;
}

/* Returns the first load of a span that no device of the farm can run; span->n:
   there is none. */
static guint32
unrunnable (const HassJob *job, const HassSpan *span)
{
  guint present = 0;
  guint32 i = 0;
  for (guint d = 0; d < job->n_devices; d++)
    present |= flag_of (&job->devices[d]);
  for (guint checked = 0; i < span->n; i++)
    {
      guint flags = hass_span_load (span, i)->flags;
      if (G_LIKELY (flags == checked))
        continue;
      guint kinds = flags & (HASS_LOAD_CPU | HASS_LOAD_GPU | HASS_LOAD_KINDS);
      if (kinds != 0 && !(kinds & present))
        break;
      checked = flags;
    }
  return i;
}

/* Checks that each load of a span can run on a device of a function farm.
   Returns: FALSE if one cannot; the farm is stopped. @seq: number of the first
   load; NULL: the farm is not stopped. */
gboolean
hass_job_check_devices (HassJob *job, const HassSpan *span, const guint64 *seq)
{
  if (job->farm->kind != HASS_FARM_FUNCTION)
    return TRUE;
  guint32 i = unrunnable (job, span);
  if (i == span->n || !seq)
    return i == span->n;
  guint kinds = hass_span_load (span, i)->flags
                & (HASS_LOAD_CPU | HASS_LOAD_GPU | HASS_LOAD_KINDS);
  hass_job_fail (job, HASS_ERROR_NO_DEVICE,
                 "task %" G_GUINT64_FORMAT
                 " can only run on a %s, and none is present",
                 *seq + i,
                 kinds == HASS_LOAD_CPU   ? "CPU"
                 : kinds == HASS_LOAD_GPU ? "GPU"
                                          : "device of another kind");
  return FALSE;
}

/* Checks the costs of a span's loads where that cannot be left to the cores.
   Where the CPU pool is the only device, the core that computes a load checks
   its cost, because it reads the load anyway: a separate pass over a million
   loads takes as long as computing small ones. Beside GPUs, where the strategy
   uses sums of costs, and in virtual time, all costs are checked before the
   loads may run. Returns and @seq as for hass_job_check_devices(). */
gboolean
hass_job_check_costs (HassJob *job, const HassSpan *span, const guint64 *seq)
{
  gboolean planned
      = job->farm->cost == HASS_COST_SIZED && !hass_job_overlaps (job);
  if (job->engine->real_time && !planned)
    return TRUE;
  for (guint32 i = 0; i < span->n; i++)
    {
      const HassLoad *load = hass_span_load (span, i);
      if (seq ? !hass_job_check_cost (job, load, *seq + i)
              : !hass_load_cost_is_valid (load))
        return FALSE;
    }
  return TRUE;
}

/* -- Misuse ------------------------------------------------------------- */

/* Reports the use of an emitter, worker or graph that is NULL or whose farm has
   ended: stops the farm, or fails the recording, whose callback this thread is
   in; outside of callbacks it can only be logged. */
void
hass_engine_dead_handle (const char *function)
{
  static const char such[] = "with an emitter, worker or graph that is NULL or "
                             "of a farm that has ended";
  const HassCallback *in = &hass_callback;
  if (!in->what)
    {
      g_warning ("%s called %s", function, such);
      return;
    }
  g_autofree char *why
      = g_strdup_printf ("its %s called %s %s", in->what, function, such);
  if (in->job)
    hass_job_fail (in->job, HASS_ERROR_MISUSE, "%s", why);
  else
    in->recording->refuse (in->recording->graph, why);
}

/* Returns: TRUE if the calling thread is the emitter's and is in its generator;
   if not, the farm is stopped. Only the owner of an emitter reads and writes
   emitter->emits. */
gboolean
hass_emitter_is_generating (HassEmitter *emitter, const char *function)
{
  HassJob *job = emitter ? emitter->job : NULL;
  if (G_LIKELY (emitter && emitter->owner == hass_this_thread ()
                && emitter->emits != HASS_EMITS_NOTHING))
    return TRUE;
  if (job)
    hass_job_fail (job, HASS_ERROR_MISUSE, "%s called outside its generator",
                   function);
  else
    hass_engine_dead_handle (function);
  return FALSE;
}

/* Returns: TRUE if the farm takes what it was given, tasks or loads; if not,
   the farm is stopped. */
gboolean
hass_job_takes (HassJob *job, gboolean tasks, const char *function)
{
  if (G_LIKELY (tasks == hass_farm_takes_tasks (job->farm)))
    return TRUE;
  hass_job_fail (job, HASS_ERROR_MISUSE, "%s called in a %s, which takes %s",
                 function,
                 job->farm->kind == HASS_FARM_PIPELINE ? "pipeline"
                 : tasks                               ? "data farm"
                                                       : "function farm",
                 tasks ? "loads" : "tasks");
  return FALSE;
}

/* -- 3. Unfinished units ------------------------------------------------ */

void
hass_job_add_unfinished (HassJob *job, guint64 seq, guint64 n_loads,
                         gsize first, gsize count, const char *message)
{
  HassUnfinished u = { .seq = seq,
                       .n_loads = n_loads,
                       .first = first,
                       .count = count,
                       .message = g_strdup (message) };
  if (n_loads == 0)
    return;
  pthread_mutex_lock (&job->failure);
  g_array_append_val (job->unfinished, u);
  if (n_loads == 1)
    g_hash_table_add (job->failed, GSIZE_TO_POINTER (seq + 1));
  atomic_fetch_add_explicit (&job->n_unfinished, 1, memory_order_relaxed);
  pthread_mutex_unlock (&job->failure);
}

/* Returns: TRUE if a unit of the load with sequence number @seq has failed. */
gboolean
hass_job_is_unfinished (HassJob *job, guint64 seq)
{
  if (atomic_load_explicit (&job->n_unfinished, memory_order_relaxed) == 0)
    return FALSE;
  pthread_mutex_lock (&job->failure);
  gboolean found
      = g_hash_table_contains (job->failed, GSIZE_TO_POINTER (seq + 1));
  pthread_mutex_unlock (&job->failure);
  return found;
}

static gint
by_place (gconstpointer a, gconstpointer b)
{
  const HassUnfinished *x = a, *y = b;
  if (x->seq != y->seq)
    return x->seq < y->seq ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the list of unfinished units and joins adjacent entries without a
   message. */
void
hass_job_tidy_unfinished (HassJob *job)
{
  GArray *list = job->unfinished;
  g_array_sort (list, by_place);
  guint n = 0;
  for (guint i = 0; i < list->len; i++)
    {
      HassUnfinished *u = &g_array_index (list, HassUnfinished, i);
      HassUnfinished *last
          = n > 0 ? &g_array_index (list, HassUnfinished, n - 1) : NULL;
      gboolean alike = last && !last->message && !u->message;
      if (alike && u->count == 0 && last->count == 0
          && u->seq == last->seq + last->n_loads)
        last->n_loads += u->n_loads;
      else if (alike && u->count > 0 && u->seq == last->seq
               && u->first == last->first + last->count)
        last->count += u->count;
      else
        g_array_index (list, HassUnfinished, n++) = *u;
    }
  g_array_set_size (list, n);
}

/* SPDX-License-Identifier: MIT */
/* ask.c: what the strategy of a pipeline sees, is told and is asked, and how
   the pipeline goes on whatever it answers.

   DESIGN. A device other than the CPU pool is asked through its proxy when it
   has room. The CPU pool is not asked for each batch: the strategy publishes
   how many tokens of each stage cores leave to other devices, and is asked
   again when CONSULT_NS have passed. It has no say where no other device can
   run a stage.

   Liveness. A strategy that lets all devices wait is asked with force when
   nothing has been computed for STALL_NS and no device is being opened; if it
   answers WAIT again, cores take from all stages until the next grant is done,
   and the device takes one token of the latest stage that only devices like it
   can run. Where no device is left for a stage with tokens, the pipeline fails.

   Thread safety: all functions under the decision lock, except where stated. */
#include "ticket.h"

/* Least time between two questions for the CPU pool, in ns. A guess: less, and
   cores ask instead of computing; more, and thresholds are stale. */
#define CONSULT_NS 20000
/* A pipeline in which nothing ends for so long, in ns, has stalled. A guess:
   less, and a strategy that waits for a bundle to fill is overruled; more, and
   a strategy that forgets a device costs more. */
#define STALL_NS 5000000

/* -- What the strategy sees and is told --------------------------------- */

/* Sums up what all workers have done and are computing. By worker, whose counts
   of all stages lie side by side: machines have more workers than stages. */
static void
sum_up (HassStream *stream)
{
  HassJob *job = stream->job;
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassClassState *c = &stream->class_states[s];
      c->done = c->bytes = 0;
      c->running = 0;
    }
  for (guint w = 0; w < job->n_workers; w++)
    {
      const HassStreamWorker *worker = &stream->workers[w];
      for (guint s = 0; s < stream->n_stages; s++)
        {
          const HassStageCount *n = &worker->stages[s];
          HassClassState *c = &stream->class_states[s];
          c->done += atomic_load_explicit (&n->tokens, memory_order_relaxed);
          c->bytes += atomic_load_explicit (&n->bytes, memory_order_relaxed);
        }
      guint32 at
          = w < job->n_cores
                ? atomic_load_explicit (&worker->at_stage, memory_order_relaxed)
                : 0;
      if (at > 0)
        stream->class_states[at - 1].running
            += atomic_load_explicit (&worker->n_running, memory_order_relaxed);
    }
}

/* Returns how many of the loads that a pipeline without a generator was given
   have not come yet: they do so as there is room. */
static guint64
n_given_later (const HassJob *job)
{
  guint64 given = job->farm->generate ? 0 : job->farm->n_loads;
  return given - MIN (given, hass_load_pool_emitted (job->pool));
}

/* Returns the state of the stream, valid until the next call. */
const HassStreamState *
hass_stream_look (HassStream *stream, gint64 now_ns)
{
  HassJob *job = stream->job;
  HassStreamState *state = &stream->state;
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassBatchQueue *ready = &stream->stages[s].ready;
      HassClassState *c = &stream->class_states[s];
      c->ready = atomic_load_explicit (&ready->n_tokens, memory_order_relaxed);
      c->oldest_ns
          = atomic_load_explicit (&ready->oldest_ns, memory_order_relaxed);
    }
  sum_up (stream);
  for (guint d = 0; d < job->n_devices; d++)
    stream->device_states[d]
        = (HassDeviceHolds){ .units = &stream->holds[d * stream->n_stages],
                             .bundles = stream->bundles[d],
                             .lost = job->totals[d].lost };
  guint64 tokens
      = atomic_load_explicit (&stream->n_tokens, memory_order_relaxed);
  guint64 begun = atomic_load_explicit (&stream->n_begun, memory_order_relaxed);
  HassStreamState now = {
    .now_ns = now_ns,
    .n_classes = stream->n_stages,
    .classes = stream->class_states,
    .n_devices = job->n_devices,
    .devices = stream->device_states,
    .tokens = tokens,
    .waiting = n_given_later (job) + hass_stream_n_waiting (stream),
    .ended = begun - MIN (begun, tokens),
    .generated
    = !job->farm->generate
      || atomic_load_explicit (&job->generated, memory_order_relaxed),
  };
  hass_stream_look_at_window (stream, &now);
  *state = now;
  return state;
}

void
hass_stream_tell_served (HassStream *stream, const HassServed *served)
{
  hass_decide_served (stream->job, hass_stream_look (stream, served->end_ns),
                      served);
}

/* Tells the strategy and the profile store what the cores have done since they
   were told last. The time of tokens that other devices have computed meanwhile
   counts as time of those that cores have, whose mean it then gives if times
   are distributed exponentially; as long as there are none of these, as that of
   one. A core may be counting a token at this moment: nothing is told without
   some time, since a strategy would take it for a core that needs none. */
void
hass_stream_tell_cores (HassStream *stream, gint64 now_ns)
{
  HassJob *job = stream->job;
  const HassStreamState *state = NULL;
  if (!job->strategy->ops->served && !job->samplers)
    return;
  for (guint s = 0; s < stream->n_stages; s++)
    {
      guint64 n = 0, bytes = 0, lost = 0;
      gint64 busy_ns = 0, helped_ns = 0;
      for (guint w = 0; w < job->n_cores; w++)
        {
          const HassStageCount *c = &stream->workers[w].stages[s];
          /* Acquire pairs with the releases in hass_stream_count(). */
          n += atomic_load_explicit (&c->tokens, memory_order_acquire);
          bytes += atomic_load_explicit (&c->bytes, memory_order_relaxed);
          lost += atomic_load_explicit (&c->lost, memory_order_relaxed);
          helped_ns
              += atomic_load_explicit (&c->helped_ns, memory_order_acquire);
          busy_ns += atomic_load_explicit (&c->busy_ns, memory_order_relaxed);
        }
      gint64 held_ns = busy_ns - helped_ns;
      HassStageTold *told = &stream->told[s];
      if (busy_ns <= told->busy_ns)
        continue;
      if (!state) /* one look for all stages: each sums up all workers */
        state = hass_stream_look (stream, now_ns);
      if (n > told->tokens || lost > told->lost)
        hass_decide_served (
            job, state,
            &(HassServed){ .device = (guint)job->cpu,
                           .class_index = s,
                           .units = MAX (n - told->tokens, 1),
                           .bytes = bytes - told->bytes,
                           .busy_ns = (double)(busy_ns - told->busy_ns),
                           .held_ns = (double)(held_ns - told->held_ns),
                           .grant_ns = stream->consulted_ns,
                           .start_ns = stream->consulted_ns,
                           .end_ns = now_ns });
      told->lost = lost;
      if (n > told->tokens)
        *told = (HassStageTold){ n, bytes, lost, busy_ns, held_ns };
    }
}

/* -- Liveness ----------------------------------------------------------- */

/* Returns: TRUE if some device beside the CPU pool that is not lost can run the
   class. */
static gboolean
has_device (const HassStream *stream, guint s)
{
  const HassJob *job = stream->job;
  for (guint d = 0; d < job->n_devices; d++)
    if ((gint)d != job->cpu && !job->totals[d].lost
        && stream->classes[s].devices >> d & 1)
      return TRUE;
  return FALSE;
}

/* Stops the pipeline if tokens wait for a stage that no device is left for. */
static void
check_devices (HassStream *stream)
{
  HassJob *job = stream->job;
  for (guint s = 0; s < stream->n_stages && !hass_job_stopping (job); s++)
    {
      const HassStageState *stage = &stream->stages[s];
      guint64 ready
          = atomic_load_explicit (&stage->ready.n_tokens, memory_order_relaxed);
      if (ready == 0 || !stage->linked || stage->public.cpu
          || has_device (stream, s))
        continue;
      g_autofree char *what = g_strdup_printf (
          "pipeline '%s': %" G_GUINT64_FORMAT " tokens wait for %s and no "
          "device is left that can run it",
          job->farm->name, ready, stage->label);
      hass_decide_stop_without_devices (job, what);
    }
}

/* Returns: TRUE if a device or a core computes. */
static gboolean
is_running (const HassStream *stream)
{
  for (guint d = 0; d < stream->job->n_devices; d++)
    if (stream->bundles[d] > 0)
      return TRUE;
  for (guint w = 0; w < stream->job->n_cores; w++)
    if (atomic_load_explicit (&stream->workers[w].at_stage,
                              memory_order_relaxed)
        > 0)
      return TRUE;
  return FALSE;
}

/* Returns since when something could have ended: the last end, or the first
   question, but not while a device is being opened, unless that is late, as the
   strategy may count on it. */
static gint64
quiet_since_ns (HassStream *stream, gint64 now_ns)
{
  const HassJob *job = stream->job;
  if (stream->told_ns == 0)
    stream->told_ns = now_ns;
  gint64 since_ns = stream->told_ns;
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTotals *t = &job->totals[d];
      if (!t->lost && hass_decide_late_ns (job, d) > now_ns)
        return now_ns;
      since_ns = MAX (since_ns, t->ready_ns);
    }
  return since_ns;
}

static gboolean
has_stalled (HassStream *stream, gint64 now_ns)
{
  return !is_running (stream)
         && now_ns - quiet_since_ns (stream, now_ns) > STALL_NS;
}

/* Returns when the strategy of a device that is granted nothing is asked again
   if nothing changes; 0: need not. In virtual time all devices are asked
   whenever something ends, so the clock need not go on in small steps while
   something runs. */
static gint64
look_again_ns (const HassStream *stream, const HassServe *serve, gint64 now_ns)
{
  if (serve->within_ns > 0)
    return now_ns + MIN (serve->within_ns, G_MAXINT64 - now_ns);
  if (!stream->job->engine->real_time && is_running (stream))
    return 0;
  return now_ns + STALL_NS;
}

/* -- Asking ------------------------------------------------------------- */

/* Sets what cores leave of a linked stage. Returns: TRUE if that is less than
   before. */
static gboolean
publish_stage (HassStageState *stage, guint32 leave, guint32 at_once)
{
  guint32 left
      = atomic_exchange_explicit (&stage->leave, leave, memory_order_seq_cst);
  guint32 was = atomic_exchange_explicit (&stage->at_once, at_once,
                                          memory_order_seq_cst);
  return leave < left || (was > 0 && (at_once == 0 || at_once > was));
}

static void
publish (HassStream *stream, const HassServe *serve)
{
  gboolean more = FALSE;
  gboolean leashed = !stream->unleashed && !hass_stream_is_alone (stream);
  for (guint s = 0; s < stream->n_stages; s++)
    {
      HassStageState *stage = &stream->stages[s];
      gboolean bound = leashed && has_device (stream, s);
      atomic_store_explicit (&stage->bound, bound, memory_order_relaxed);
      if (stage->linked)
        more |= publish_stage (stage, bound ? serve->leave[s] : 0,
                               bound ? serve->at_once[s] : 0)
                && atomic_load_explicit (&stage->ready.n_tokens,
                                         memory_order_relaxed)
                       > 0;
    }
  if (more)
    stream->job->engine->changed (stream->job);
  atomic_store_explicit (&stream->feed, MIN (serve->feed, stream->n_stages),
                         memory_order_relaxed);
  gsize most = stream->user_tokens;
  if (serve->tokens > 0)
    most = MIN (most, MAX (serve->tokens, 1));
  atomic_store_explicit (&stream->most_tokens, most, memory_order_relaxed);
  hass_stream_want (stream, serve->tokens);
}

/* Asks the strategy for the CPU pool, if that is due. @idle: the asking core
   has nothing to do. */
static void
consult (HassStream *stream, gint64 now_ns, gboolean idle)
{
  HassServe serve = { 0 };
  gboolean stalled = idle && has_stalled (stream, now_ns);
  hass_stream_tell_cores (stream, now_ns);
  stream->consulted_ns = MAX (now_ns, 1);
  stream->unleashed = stalled && stream->was_forced;
  stream->was_forced = stalled;
  stream->job->strategy->ops->serve (stream->job->strategy->self,
                                     hass_stream_look (stream, now_ns),
                                     (guint)stream->job->cpu, stalled, &serve);
  publish (stream, &serve);
  check_devices (stream);
}

/* Asks the strategy what cores may take, if there are other devices. @urgent:
   in any case, and waits for the decision lock; else only if the last question
   is some time ago and no other thread has the lock. Any core, without the
   lock. */
void
hass_stream_consult (HassStream *stream, gint64 now_ns, gboolean idle,
                     gboolean urgent)
{
  HassJob *job = stream->job;
  if (!stream->linked || job->cpu < 0)
    return;
  if (urgent)
    hass_lock_take (&job->decision);
  else if (!hass_lock_try (&job->decision))
    return;
  if (urgent || stream->consulted_ns == 0
      || now_ns - stream->consulted_ns >= CONSULT_NS)
    consult (stream, now_ns, idle);
  hass_lock_give (&job->decision);
}

gint64
hass_stream_again_ns (HassStream *stream, gint64 now_ns)
{
  return stream->linked
                 && atomic_load_explicit (&stream->n_ready,
                                          memory_order_relaxed)
                        > 0
             ? now_ns + STALL_NS
             : 0;
}

/* Returns the class of which a device takes a token when the strategy lets all
   wait: the latest with tokens that no core may take. */
static gboolean
forced_class (const HassStream *stream, guint device, HassServe *serve)
{
  for (guint s = stream->n_stages; s-- > 0;)
    if (stream->classes[s].devices >> device & 1
        && !stream->stages[s].public.cpu
        && atomic_load_explicit (&stream->stages[s].ready.n_tokens,
                                 memory_order_relaxed)
               > 0)
      {
        *serve = (HassServe){ .class_index = s, .units = 1 };
        return TRUE;
      }
  return FALSE;
}

static gboolean
is_valid (const HassStream *stream, guint device, const HassServe *serve)
{
  return serve->class_index < stream->n_stages
         && stream->classes[serve->class_index].devices >> device & 1;
}

/* Asks the strategy for a grant to a device other than the CPU pool. Returns:
   the round of the grant, with its units in @extent; NULL: none now. @again_ns:
   when to ask again if nothing changes; 0: need not. */
HassSlot *
hass_stream_ask (HassStream *stream, HassWorker *worker, guint device,
                 gint64 now_ns, HassExtent *extent, gint64 *again_ns)
{
  HassJob *job = stream->job;
  HassServe serve = { 0 };
  *again_ns = 0;
  check_devices (stream);
  if (job->totals[device].lost || hass_job_stopping (job)
      || stream->bundles[device] >= MAX (stream->depth[device], 1))
    return NULL;
  const HassStrategyOps *ops = stream->job->strategy->ops;
  gpointer self = stream->job->strategy->self;
  gboolean stalled = has_stalled (stream, now_ns);
  const HassStreamState *state = hass_stream_look (stream, now_ns);
  stream->state.held = hass_stream_held (stream, device);
  HassAnswer answer = ops->serve (self, state, device, stalled, &serve);
  *again_ns = look_again_ns (stream, &serve, now_ns);
  if (answer != HASS_TAKE
      && (!stalled || !forced_class (stream, device, &serve)))
    return NULL;
  if (!serve.again && !is_valid (stream, device, &serve))
    return NULL;
  stream->depth[device]
      = CLAMP (serve.in_flight, 1, MAX (job->devices[device].max_in_flight, 1));
  stream->unleashed = FALSE;
  /* A core may have taken the tokens since the strategy looked. */
  HassSlot *slot = hass_ticket_grant (stream, worker, device, &serve, extent);
  if (slot)
    *again_ns = 0;
  return slot;
}

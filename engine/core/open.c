/* SPDX-License-Identifier: MIT */
/* open.c: loads that become ready one by one, and the open rounds that they
   join.

   DESIGN.
   1. Joining. What workers emit, and tasks with a priority, enter the ready set
      of the job (pool/ready_set.h), if the strategy serves open rounds: if the
      CPU pool is the only device, a deque of the core that has emitted them.
      They are numbered when they are taken from it.
   2. Serving. One open round at a time takes from the set. It is begun when a
      device looks for work and loads are ready. Units that a device gave back
      to an open round are found first, also after that is full.
   3. The critical path. A load that a worker emits can begin when its emitter
      has ended; so each load has the earliest time at which it could begin, and
      the largest end of a load is a lower bound of the makespan. In virtual
      time it is reckoned at the rate of the fastest device; in real time by the
      time of the pulls.

   Thread safety: hass_open_join from any thread; hass_open_follow by the
   worker's; the rest under the decision lock, except where stated. */
#include "job-private.h"

/* Tasks of less than this, in ns, that a worker emits together are one run:
   they get the highest priority among them. Measured: keeping one by itself
   takes 0.2 us; larger, and the order of tasks is less exact. */
#define TINY_NS 1000

/* Sets up what joins, if the strategy and the kind of farm allow it. Called
   once the strategy has been made. */
void
hass_open_init (HassJob *job)
{
  const HassFarm *farm = job->farm;
  const HassRound *round = &hass_job_slot (job, 0)->round;
  if (!(job->strategy->ops->flags & HASS_STRATEGY_OPEN)
      || !(farm->kind
           & (HASS_FARM_COMBINE | HASS_FARM_INDIVISIBLE | HASS_FARM_FUNCTION)))
    return;
  job->ready
      = hass_ready_set_new (farm->cost == HASS_COST_SIZED, round->all_classes);
  /* Without deques loads are numbered in the order in which they became ready,
     which is that of an ordered farm's results. */
  if (job->engine->real_time && hass_job_overlaps (job) && !job->ordered)
    hass_ready_set_add_deques (job->ready, job->n_cores);
}

/* -- 1. Joining --------------------------------------------------------- */

static gint64
priority_of (const HassJob *job, const HassLoad *load)
{
  return load->flags & HASS_LOAD_URGENT && job->farm->priority_of
                 && !job->ordered
             ? job->farm->priority_of (load)
             : 0;
}

/* Stops the farm because a load that would join cannot run. The error names the
   number that the load would get if everything that is ready were taken in the
   order of emission. @locked: the caller holds the decision lock. */
static void
refuse (HassJob *job, const HassSpan *span, gboolean locked)
{
  if (!locked)
    hass_lock_take (&job->decision);
  const HassSlot *slot
      = atomic_load_explicit (&job->open, memory_order_relaxed);
  guint64 seq = slot ? slot->round.seq_base + hass_round_units (&slot->round)
                     : job->n_loads;
  seq += hass_ready_set_waiting (job->ready);
  if (!locked)
    hass_lock_give (&job->decision);
  if (hass_job_check_costs (job, span, &seq))
    hass_job_check_devices (job, span, &seq);
}

/* Returns: how many of @most loads are one run, of which mask and priority are
   put into @run. @tiny: loads of different priorities may be one. @alike: set
   to whether all of the run have the same flags, and no priority: what holds
   for the first holds for all. */
static guint32
find_run (const HassJob *job, const HassLoad *loads, guint64 most,
          gboolean tiny, HassReadyRun *run, gboolean *alike)
{
  const HassRound *round = &hass_job_slot (job, 0)->round;
  const HassLoad *end = loads + most, *other = loads + 1;
  run->mask = hass_round_mask_of (round, loads);
  run->priority = priority_of (job, loads);
  if (!(loads->flags & HASS_LOAD_URGENT))
    while (other < end && other->flags == loads->flags)
      other++;
  *alike = other == end;
  for (; other < end; other++)
    {
      gint64 priority = priority_of (job, other);
      if (hass_round_mask_of (round, other) != run->mask
          || (priority != run->priority && !tiny))
        break;
      run->priority = MAX (run->priority, priority);
    }
  return (guint32)(other - loads);
}

/* Adds loads to the ready set. @from: the worker that has emitted them, or
   NULL: the generator. */
void
hass_open_join (HassJob *job, const HassWorker *from, const HassSpan *span)
{
  gboolean tiny = from && from->unit_ns > 0 && from->unit_ns < TINY_NS;
  HassReadyRun run = { .earliest_ns = from ? from->path_ns : 0 };
  guint deque = from ? from->index : G_MAXUINT;
  for (guint32 i = 0, n; i < span->n; i += n)
    {
      const HassLoad *loads = hass_span_load (span, i);
      /* the loads that lie side by side: a ring may begin again */
      guint64 rest = span->mask - ((span->base + i) & span->mask);
      guint64 most = MIN (span->n - i - 1, rest) + 1;
      gboolean alike;
      n = find_run (job, loads, most, tiny, &run, &alike);
      HassSpan joins = { .loads = loads, .mask = G_MAXUINT64, .n = n };
      HassSpan some
          = { .loads = loads, .mask = G_MAXUINT64, .n = alike ? 1 : n };
      if (G_UNLIKELY (!hass_job_check_costs (job, &joins, NULL)
                      || !hass_job_check_devices (job, &some, NULL)))
        refuse (job, &joins, !from);
      if (!hass_ready_deque_push (job->ready, deque, &run, loads, n))
        hass_ready_set_add (job->ready, &run, loads, n);
    }
  /* Rarely written, since all cores read this cache line. Sequentially
     consistent, as are the exchange in look_at_joined() and the counts of
     loads: if this thread sees TRUE, the thread that resets it sees the loads.
   */
  if (!atomic_load_explicit (&job->joined, memory_order_seq_cst))
    atomic_store_explicit (&job->joined, TRUE, memory_order_seq_cst);
}

/* Returns: whether tasks of the generator may join: as many may be ready as may
   wait in the pool. */
gboolean
hass_open_has_room (HassJob *job)
{
  return hass_ready_set_waiting (job->ready) < job->farm->pool_loads
         && hass_ready_set_bytes (job->ready) < job->farm->pool_bytes;
}

/* -- 2. Serving --------------------------------------------------------- */

/* Returns an open round that units were given back to which this class of
   devices can run; NULL: there is none. */
static HassSlot *
returned_to (HassJob *job, guint klass)
{
  for (guint i = HASS_SLOTS; i < job->slots->len; i++)
    {
      HassSlot *slot = hass_job_slot (job, i);
      if (slot->state == HASS_SLOT_RUNNING
          && hass_round_has_returned (&slot->round, klass))
        return slot;
    }
  return NULL;
}

static HassSlot *
begin_open (HassJob *job)
{
  guint32 n = hass_job_room (job, HASS_OPEN_UNITS);
  HassSlot *slot = n > 0 ? hass_slot_find (job, TRUE) : NULL;
  if (!slot || hass_job_stopping (job))
    return NULL;
  slot->round.seq_base = job->n_loads;
  job->n_loads += n;
  hass_round_begin_loads (&slot->round, job->farm->kind, job->farm->cost,
                          &(HassSpan){ .n = n });
  hass_slot_begin (job, slot);
  hass_round_let_join (&slot->round);
  job->has_opened = TRUE;
  atomic_store_explicit (&job->open, slot, memory_order_release);
  return slot;
}

/* Returns the open round that has units for a class of devices, or may have;
   begins one if loads are ready and none has room for them. NULL: nothing is
   ready, or no round can begin now. */
HassSlot *
hass_open_slot (HassJob *job, guint klass)
{
  if (!job->ready)
    return NULL;
  if (hass_ready_set_returned (job->ready) > 0)
    {
      HassSlot *slot = returned_to (job, klass);
      if (slot)
        return slot;
    }
  if (hass_ready_set_waiting (job->ready) == 0)
    return NULL;
  HassSlot *slot = atomic_load_explicit (&job->open, memory_order_relaxed);
  return slot && hass_round_takes_ready (&slot->round) ? slot
                                                       : begin_open (job);
}

/* Returns: the number of loads that wait in the core's own deque. */
guint32
hass_open_own (HassJob *job, guint core)
{
  return core < job->ready->n_deques
             ? hass_ready_deque_n (&job->ready->deques[core])
             : 0;
}

/* Returns the open round that cores may pull from, or NULL. Needs no lock;
   takes the decision lock only where units were given back. @core: the one
   that looks; what it has emitted is looked at first. */
HassSlot *
hass_open_pullable (HassJob *job, guint core)
{
  if (G_UNLIKELY (hass_ready_set_returned (job->ready) > 0))
    {
      hass_lock_take (&job->decision);
      HassSlot *slot = returned_to (job, HASS_DEVICE_CPU);
      hass_lock_give (&job->decision);
      if (slot)
        return slot;
    }
  /* Acquire pairs with the release in begin_open, which publishes the round. */
  return hass_open_own (job, core) > 0
                 || hass_ready_set_waiting (job->ready) > 0
             ? atomic_load_explicit (&job->open, memory_order_acquire)
             : NULL;
}

/* Returns: whether cores have a reason to look for work in open rounds: they
   may pull, or a round must be begun for what is ready. Needs no lock. */
gboolean
hass_open_may_have_work (HassJob *job)
{
  if (!job->ready)
    return FALSE;
  HassSlot *slot = hass_open_pullable (job, 0);
  if (!slot)
    return hass_ready_set_waiting (job->ready) > 0;
  return hass_decide_pullable (slot)
         || (!hass_round_takes_ready (&slot->round)
             && hass_ready_set_waiting (job->ready) > 0);
}

/* Makes open rounds go on if they have stalled; see hass_decide_stalled().
   Returns: TRUE if the strategy should be asked again. */
gboolean
hass_open_stalled (HassJob *job)
{
  for (guint c = 0; job->ready && c < HASS_MOST_CLASSES; c++)
    {
      HassSlot *slot = hass_open_slot (job, c);
      if (slot && hass_decide_stalled (job, slot))
        return TRUE;
    }
  return FALSE;
}

/* -- 3. The critical path ----------------------------------------------- */

/* Notes when the units of extent @e could have ended at the earliest, for what
   the worker has emitted with them; @begin_ns: when their pull or bundle began,
   in real time. Called before the emitted loads join. */
void
hass_open_follow (HassJob *job, HassWorker *worker, const HassSlot *slot,
                  HassExtent e, const HassDone *done)
{
  double begin_ns = hass_round_earliest_ns (&slot->round, e);
  double ns = 0;
  if (done->n == 0)
    return;
  if (!job->engine->real_time)
    ns = job->fastest > 0 ? done->work / done->n / job->fastest : 0;
  else if (worker->begin_ns > 0)
    ns = (double)(job->engine->now (job) - worker->begin_ns) / done->n;
  worker->path_ns = begin_ns + ns;
  worker->longest_ns = MAX (worker->longest_ns, worker->path_ns);
}

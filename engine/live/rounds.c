/* SPDX-License-Identifier: MIT */
/* rounds.c: how the live engine drives the rounds of a farm: what a core pulls,
   step 3 of the DESIGN paragraph in live.c, and what a device is granted.
   Thread safety: as HassLiveCourse. */
#include "proxy-private.h"

/* -- Cores -------------------------------------------------------------- */

static void
learn_cost (HassWorker *worker, guint32 n, gint64 ns)
{
  double one = MAX (ns, 1) / (double)n;
  worker->unit_ns = worker->unit_ns > 0 ? 0.5 * (worker->unit_ns + one) : one;
  worker->last_chunk = n;
}

/* Pulls units of an open round: what this core has emitted, else others. Unless
   it goes on in the round of its last pull, the units of that are counted. */
static HassExtent
pull_open (HassJob *job, HassWorker *worker, HassSlot *slot)
{
  guint32 k = hass_chunk (job, worker, slot);
  HassExtent e = hass_round_pull_own (&slot->round, worker->index, k);
  if (e.n == 0 || slot != worker->owed_to)
    hass_job_settle (job, worker);
  return e.n > 0 ? e : hass_round_pull (&slot->round, k);
}

/* The core has finished @n units. Those of an open round are counted when it
   looks for the next ones, where other cores alone wait for that. */
static void
finish (HassJob *job, HassWorker *worker, HassSlot *slot, guint32 n)
{
  worker->owed_to = slot;
  worker->n_owed += n;
  if (!slot->round.ready || !hass_job_overlaps (job))
    hass_job_settle (job, worker);
}

/* Pulls units and computes them, once: of an open round if it has some, since
   what has become ready keeps memory, else of the current round. Returns: FALSE
   if there was nothing to pull. */
static gboolean
once (HassJob *job, HassWorker *worker)
{
  /* Acquire pairs with the release in hass_job_begin_round, which publishes the
     round. */
  HassSlot *slot = job->ready ? hass_open_pullable (job, worker->index) : NULL;
  HassSlot *current
      = atomic_load_explicit (&job->current, memory_order_acquire);
  if (!slot)
    hass_job_settle (job, worker);
  if (!slot && !current)
    return FALSE;
  const HassLive *live = job->driver;
  if (atomic_load_explicit (&live->n_serving, memory_order_relaxed) > 0)
    hass_yield (job, worker);
  HassExtent e = { 0, 0 };
  if (slot)
    e = pull_open (job, worker, slot);
  if (e.n == 0 && (slot = current))
    e = hass_round_pull (&slot->round, hass_chunk (job, worker, slot));
  if (e.n == 0)
    return FALSE;
  gint64 begin = worker->now_ns > 0 ? worker->now_ns : hass_live_now (job);
  worker->begin_ns = begin;
  /* The wait for lines that all cores write is no cost of a unit: pulls would
     become smaller where they are frequent, and more frequent. */
  gint64 pulled = slot->round.ready ? hass_live_now (job) : begin;
  gboolean in_hand = job->spoliates && !slot->round.ready;
  if (in_hand)
    hass_in_hand_begin (worker, slot, e, begin);
  HassDone done = hass_execute (job, worker, slot, e, FALSE);
  if (in_hand)
    hass_in_hand_end (worker);
  gint64 end = hass_live_now (job);
  worker->now_ns = end;
  HASS_ANNOUNCE (job, pulled,
                 &(HassPulled){ .round = &slot->round,
                                .first = slot->order_base,
                                .worker = worker->index,
                                .extent = e,
                                .n = done.n,
                                .work = done.work,
                                .failed = done.n_failed > 0,
                                .begin_ns = begin,
                                .end_ns = end });
  if (done.n > 0)
    {
      learn_cost (worker, done.n, end - pulled);
      hass_execute_count (job, worker, slot, done, end - begin, end);
      finish (job, worker, slot, done.n);
    }
  hass_job_check_deadline (job, end);
  return TRUE;
}

/* Publishes when cores for which the strategy answered WAIT should ask it
   again; 0: only after a completion. Under the decision lock. */
static void
note_again (HassJob *job)
{
  HassLive *live = job->driver;
  HassSlot *of[] = { atomic_load_explicit (&job->current, memory_order_relaxed),
                     atomic_load_explicit (&job->open, memory_order_relaxed) };
  gint64 ns = 0;
  for (guint i = 0; i < G_N_ELEMENTS (of) && job->cpu >= 0; i++)
    {
      gint64 one_ns = of[i] ? hass_decide_again_ns (job, of[i], job->cpu) : 0;
      if (one_ns > 0 && (ns == 0 || one_ns < ns))
        ns = one_ns;
    }
  atomic_store_explicit (&live->again_ns, ns, memory_order_relaxed);
}

static gint64
again_ns (HassJob *job)
{
  HassLive *live = job->driver;
  hass_lock_take (&job->decision);
  note_again (job);
  hass_lock_give (&job->decision);
  return atomic_load_explicit (&live->again_ns, memory_order_relaxed);
}

/* Asks the strategy, or begins the next round. */
static HassFind
find (HassJob *job, double unit_ns, gboolean patient)
{
  HassFind found = HASS_FIND_NOTHING;
  if (patient)
    hass_lock_take (&job->decision);
  else if (!hass_lock_try (&job->decision))
    return HASS_FIND_NOTHING;
  guint64 told = job->n_told;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  HassSlot *open = hass_open_slot (job, HASS_DEVICE_CPU);
  if (open && job->cpu >= 0 && hass_decide_cpu (job, open))
    found = HASS_FIND_FOUND;
  else if (slot && job->cpu >= 0 && hass_decide_cpu (job, slot))
    found = HASS_FIND_FOUND;
  else if (slot && hass_decide_stalled (job, slot))
    found = HASS_FIND_FOUND;
  else if (hass_open_stalled (job))
    found = HASS_FIND_FOUND;
  else if (hass_job_may_begin (job, slot) && hass_live_begin (job, unit_ns))
    found = HASS_FIND_FOUND;
  else if (atomic_load_explicit (&job->generated, memory_order_seq_cst)
           && hass_job_idle (job))
    found = HASS_FIND_FINISHED;
  note_again (job);
  /* Proxies may wait until the strategy is told of a completion, which has just
     happened if n_told has changed. */
  gboolean news = found == HASS_FIND_FOUND || job->n_told != told;
  hass_lock_give (&job->decision);
  if (news)
    hass_live_changed (job);
  return found;
}

/* -- Devices ------------------------------------------------------------ */

/* Asks the strategy for a grant to the device of units of @slot, which may be
   NULL. Returns: whether it made one, which the feeder then has. */
static gboolean
ask_for (HassProxy *p, HassSlot *slot)
{
  HassExtent extent;
  HassGrant grant;
  if (!slot || slot->state != HASS_SLOT_RUNNING
      || !hass_decide_gpu (p->job, slot, p->d, &extent, &grant))
    return FALSE;
  hass_feeder_grant (&p->feeder, slot, extent, hass_live_now (p->job));
  return TRUE;
}

/* Asks the strategy for a grant to the device, of an open round first, after
   beginning a round if the proxies do that and none runs. Returns: FALSE if
   there is no grant now. */
static gboolean
ask (HassProxy *p)
{
  HassJob *job = p->job;
  hass_lock_take (&job->decision);
  guint klass = hass_job_slot (job, 0)->round.classes[p->d];
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean begun = !slot && p->live->proxies_begin
                   && hass_job_may_begin (job, slot)
                   && hass_live_begin (job, 0);
  if (begun)
    slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  HassSlot *open = hass_open_slot (job, klass);
  gboolean go = ask_for (p, open) || ask_for (p, slot);
  if (!go && p->feeder.n_in_flight == 0
      && ((slot && hass_decide_stalled (job, slot)) || hass_open_stalled (job)))
    hass_live_changed (job);
  hass_lock_give (&job->decision);
  if (begun)
    hass_live_changed (job);
  return go;
}

/* Returns how long an idle proxy sleeps if nothing changes, in ns: until a few
   loads have waited long enough for a round, or until the end of the strategy's
   WAIT; < 0: no limit. */
static gint64
patience_ns (HassProxy *p)
{
  HassJob *job = p->job;
  gint64 ns = p->live->proxies_begin && hass_load_pool_waiting (job->pool) > 0
                  ? HASS_FEW_WAIT_NS
                  : -1;
  if (hass_job_stopping (job))
    return ns;
  hass_lock_take (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  HassSlot *open = atomic_load_explicit (&job->open, memory_order_relaxed);
  gint64 until_ns = slot ? hass_decide_again_ns (job, slot, p->d) : 0;
  if (until_ns == 0 && open)
    until_ns = hass_decide_again_ns (job, open, p->d);
  hass_lock_give (&job->decision);
  if (until_ns == 0)
    return ns;
  gint64 left_ns = MAX (until_ns - hass_live_now (job), 0);
  return ns < 0 || left_ns < ns ? left_ns : ns;
}

const HassLiveCourse hass_live_rounds = { .once = once,
                                          .find = find,
                                          .again_ns = again_ns,
                                          .ask = ask,
                                          .patience_ns = patience_ns };

/* SPDX-License-Identifier: MIT */
/* slots.c: the rounds in flight: how a round begins, ends and is retired,
   whatever it was filled with (rounds.c, open.c).

   DESIGN.
   1. Beginning. A free slot gets units, a number and seats for the devices.
   2. Ending. Devices finish units; the thread that finishes the last one ends
      the round and tells the strategy. An open round is closed first: when
      nothing is in flight in it and nothing is ready to join, or when a round
      with loads of the pool begins, since the numbers of loads and units are
      counted over all rounds and it gives back those that it did not need.
   3. Retiring. When all of a round's results are delivered, its loads are
      released and its slot is free.

   HASS_SLOTS slots are for rounds of many loads. Where a unit can be a round,
   since a long one keeps its open round from ending and a divisible load has a
   round of its own, there are more, and others go on. Slots of open rounds are
   not used for others.

   Thread safety: beginning and closing under the decision lock; the rest from
   any thread, without it. */
#include "job-private.h"

#include <string.h>

/* -- 1. Beginning ------------------------------------------------------- */

static void
seat_all (HassJob *job, HassSlot *slot)
{
  for (guint d = 0; d < job->n_devices; d++)
    slot->seats[d] = (HassSeat){ .state = job->totals[d].lost ? HASS_SEAT_LOST
                                                              : HASS_SEAT_ASK,
                                 .reported_ns = slot->round.begin_ns };
}

/* Returns how many rounds of one unit may be in flight: more than units can be,
   so that one of them can always end. */
static guint
most_small (const HassJob *job)
{
  guint n = HASS_SLOTS + job->n_workers;
  for (guint d = 0; d < job->n_devices; d++)
    n += job->devices[d].max_in_flight;
  return n;
}

guint
hass_slots_most (const HassJob *job)
{
  return job->farm->kind == HASS_FARM_PARTITION ? HASS_SLOTS + most_small (job)
                                                : HASS_SLOTS;
}

/* Returns how many of @most units may begin: in an ordered farm so many that at
   most farm->window units are begun and not delivered, over all rounds. */
guint32
hass_job_room (HassJob *job, guint32 most)
{
  if (!job->ordered)
    return most;
  guint64 begun = atomic_load_explicit (&job->n_units, memory_order_relaxed);
  guint64 open = begun - hass_result_pool_n_passed (job->results);
  gsize window = job->farm->window;
  gsize room = open < window ? window - open : 0;
  /* Less than an eighth of the window (a guess) makes small rounds. */
  return room >= MAX (window / 8, 1) ? (guint32)MIN (room, most) : 0;
}

static HassSlot *
new_slot (HassJob *job, HassReadySet *ready)
{
  HassSlot *slot = g_aligned_alloc0 (1, sizeof *slot, HASS_CACHE_LINE);
  hass_round_init (&slot->round, job->n_devices, job->devices);
  slot->round.most_functions = job->env.n_functions;
  slot->seats = g_new0 (HassSeat, MAX (job->n_devices, 1));
  if (ready)
    hass_round_init_open (&slot->round, ready, HASS_OPEN_UNITS);
  g_ptr_array_add (job->slots, slot);
  return slot;
}

static void
slot_free (gpointer data)
{
  HassSlot *slot = data;
  hass_round_clear (&slot->round);
  g_free (slot->seats);
  g_aligned_free (slot);
}

gboolean
hass_slots_create (HassJob *job, GError **error)
{
  (void)error;
  /* As large as it can become: threads without the decision lock read its first
     slot, so it must not be moved. */
  job->slots = g_ptr_array_new_full (HASS_SLOTS + most_small (job), slot_free);
  for (guint i = 0; i < HASS_SLOTS; i++)
    new_slot (job, NULL);
  return TRUE;
}

void
hass_slots_clear (HassJob *job)
{
  g_clear_pointer (&job->slots, g_ptr_array_unref);
  g_clear_pointer (&job->ready, hass_ready_set_free);
}

/* Returns a slot for a round, or with @open for an open one; NULL: all are in
   use. */
HassSlot *
hass_slot_find (HassJob *job, gboolean open)
{
  guint most = open ? HASS_SLOTS + most_small (job) : hass_slots_most (job);
  for (guint i = open ? HASS_SLOTS : 0; i < MIN (most, job->slots->len); i++)
    {
      HassSlot *slot = hass_job_slot (job, i);
      if (slot->state == HASS_SLOT_FREE)
        return slot;
    }
  return job->slots->len < most ? new_slot (job, job->ready) : NULL;
}

/* Begins the round of a slot that was filled. */
void
hass_slot_begin (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  round->number = job->n_rounds++;
  round->begin_ns = job->engine->now (job);
  slot->state = HASS_SLOT_RUNNING;
  if (!round->ready)
    atomic_fetch_add_explicit (&job->n_taken, 1, memory_order_seq_cst);
  slot->order_base = atomic_load_explicit (&job->n_units, memory_order_relaxed);
  slot->forced = slot->grab = FALSE;
  atomic_store_explicit (&job->n_units, slot->order_base + round->n_units,
                         memory_order_relaxed);
  seat_all (job, slot);
  HASS_ANNOUNCE (job, round_begun,
                 &(HassRoundFact){ .round = round,
                                   .first = slot->order_base,
                                   .n_loads = round->span.n,
                                   .at_ns = round->begin_ns });
  hass_round_open (round);
}

/* -- 2. Ending ---------------------------------------------------------- */

/* Adds what the devices have done in a round to their totals. */
void
hass_slot_add_up (HassJob *job, HassSlot *slot, gint64 end_ns)
{
  HassDeviceSummary *summary = job->summary;
  HassRound *round = &slot->round;
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassProgress p = hass_round_progress (round, d);
      HassTotals *t = &job->totals[d];
      guint64 bytes = 0, bundles = 0;
      gint64 last = 0;
      guint a = round->counter_of[d], b = round->counter_of[d + 1];
      for (guint i = a; i < b; i++)
        {
          HassCounter *c = &round->counters[i];
          gint64 finish
              = atomic_load_explicit (&c->last_finish_ns, memory_order_relaxed);
          bytes += atomic_load_explicit (&c->bytes, memory_order_relaxed);
          bundles += atomic_load_explicit (&c->bundles, memory_order_relaxed);
          last = MAX (last, finish);
          t->halo += atomic_load_explicit (&c->halo, memory_order_relaxed);
          t->exclusive
              += atomic_load_explicit (&c->exclusive, memory_order_relaxed);
        }
      summary[d]
          = (HassDeviceSummary){ .units = p.units,
                                 .work = p.work,
                                 .bundles = bundles,
                                 .busy_ns = p.busy_ns,
                                 .last_finish_ns
                                 = last > 0 ? last - round->begin_ns : 0 };
      t->units += p.units;
      t->bytes += bytes;
      t->bundles += bundles;
      t->work += p.work;
      t->busy_ns += p.busy_ns;
      if (job->devices[d].kind == HASS_DEVICE_CPU)
        t->kernel_ns += p.busy_ns;
    }
  hass_account_round (job, round, end_ns);
}

static double
work_of_all (const HassJob *job)
{
  double work = 0;
  for (guint d = 0; d < job->n_devices; d++)
    work += job->summary[d].work;
  return work;
}

static void
end_locked (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  gint64 end_ns = job->engine->now (job);
  if (job->cpu >= 0)
    hass_decide_report_cpu (job, slot);
  hass_slot_add_up (job, slot, end_ns);
  HassRoundSummary told
      = { round->number, round->n_units, end_ns - round->begin_ns,
          job->n_devices, job->summary };
  if (round->ready)
    round->span.n = round->n_units;
  else if (job->strategy->ops->end_round)
    job->strategy->ops->end_round (job->strategy->self, &told);
  double work = work_of_all (job);
  if (round->divisible)
    job->elements_per_ns = work / MAX (told.makespan_ns, 1);
  HASS_ANNOUNCE (job, round_ended,
                 &(HassRoundFact){ .round = round,
                                   .first = slot->order_base,
                                   .n_loads = round->span.n,
                                   .work = work,
                                   .at_ns = end_ns });
  slot->mark = job->results ? hass_result_pool_mark (
                   job->results, slot->order_base + round->n_units)
                            : 0;
  slot->state = HASS_SLOT_ENDED;
  atomic_store_explicit (&round->pull_source, HASS_PULL_DONE,
                         memory_order_relaxed);
  HassSlot *self = slot;
  atomic_compare_exchange_strong_explicit (
      round->ready ? &job->open : &job->current, &self, NULL,
      memory_order_release, memory_order_relaxed);
  atomic_fetch_add_explicit (&job->n_ended, 1, memory_order_seq_cst);
}

static void
end_round (HassJob *job, HassSlot *slot)
{
  hass_lock_take (&job->decision);
  end_locked (job, slot);
  hass_lock_give (&job->decision);
}

/* Closes the open round, if there is one: no more units join it. It ends now or
   with its last unit. Under the decision lock. */
void
hass_job_close_open (HassJob *job)
{
  HassSlot *slot = atomic_load_explicit (&job->open, memory_order_relaxed);
  if (!slot)
    return;
  guint32 rest = hass_round_close (&slot->round);
  atomic_store_explicit (&job->open, NULL, memory_order_relaxed);
  job->n_loads -= rest;
  atomic_fetch_sub_explicit (&job->n_units, rest, memory_order_relaxed);
  /* Acquire and release as in hass_job_units_finished(). */
  if (rest > 0
      && atomic_fetch_sub_explicit (&slot->round.outstanding, rest,
                                    memory_order_acq_rel)
             == rest)
    end_locked (job, slot);
}

/* Returns: whether nothing of the open round is in flight and nothing is ready
   to join it. */
static gboolean
is_quiet (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  return atomic_load_explicit (&round->outstanding, memory_order_relaxed)
             == hass_round_missing (round)
         && hass_ready_set_waiting (job->ready) == 0;
}

static void
close_if_quiet (HassJob *job, HassSlot *slot)
{
  if (G_LIKELY (!is_quiet (job, slot)))
    return;
  hass_lock_take (&job->decision);
  if (atomic_load_explicit (&job->open, memory_order_relaxed) == slot
      && is_quiet (job, slot))
    hass_job_close_open (job);
  hass_lock_give (&job->decision);
}

/* @n units are computed and committed, or failed; the last ends the round. */
void
hass_job_units_finished (HassJob *job, HassSlot *slot, guint32 n)
{
  if (n == 0 || job->source->grant_over) /* a pipeline counts tokens */
    return;
  /* Read while units are outstanding: the slot may be used again after. */
  gboolean open = slot->round.ready != NULL;
  /* Release hands this thread's results and counters to the thread that ends
     the round; acquire gives that thread the results and counters of all.
     Sequentially consistent, as in hass_slots_computed(): either that sees the
     units, or this thread the flag, which was set before (tests/model/weak.pml,
     6). */
  if (atomic_fetch_sub_explicit (&slot->round.outstanding, n,
                                 memory_order_seq_cst)
      == n)
    end_round (job, slot);
  else if (open)
    close_if_quiet (job, slot);
  /* Also at a round's end: its results may be kept from being delivered. */
  if (!open && atomic_load_explicit (&job->awaits_units, memory_order_seq_cst))
    job->engine->changed (job);
  /* Sequentially consistent, as are the count in end_round and the result
     pool's mark: of the thread that ends a round and the thread that delivers
     the round's last result, at least one sees what the other has done. */
  if (atomic_load_explicit (&job->n_ended, memory_order_seq_cst) > 0)
    hass_job_retire (job);
}

/* Counts the units that the core has finished and still owes to their round.
   A core that goes on with what it has emitted owes them meanwhile, since all
   cores write the count of a round. The round ends no later for that: it has to
   wait for the units that the core goes on with. */
void
hass_job_settle (HassJob *job, HassWorker *worker)
{
  guint32 n = worker->n_owed;
  worker->n_owed = 0;
  hass_job_units_finished (job, worker->owed_to, n);
}

/* Returns: how many loads of the pool are computed and not released, as their
   rounds go on or their results are not delivered; at least so many, if loads
   are cut into blocks. @data: the job. */
guint64
hass_slots_computed (gpointer data)
{
  HassJob *job = data;
  guint64 n = 0;
  hass_lock_take (&job->decision);
  for (guint i = 0; i < job->slots->len; i++)
    {
      HassSlot *slot = hass_job_slot (job, i);
      if (!slot->round.span.from_ring
          || (slot->state != HASS_SLOT_RUNNING
              && slot->state != HASS_SLOT_ENDED))
        continue;
      guint32 left = atomic_load_explicit (&slot->round.outstanding,
                                           memory_order_seq_cst);
      n += slot->round.span.n - MIN (left, slot->round.span.n);
    }
  hass_lock_give (&job->decision);
  return n;
}

/* -- 3. Retiring -------------------------------------------------------- */

/* Frees what the library holds for a load: its buffer or its task's copy. */
void
hass_job_disown (HassJob *job, const HassLoad *load, guint64 seq)
{
  if (load->flags & HASS_LOAD_BUFFER)
    hass_buffer_recycle (job, load, seq);
  if (load->flags & HASS_LOAD_COPIED && job->farm->tag_bytes > 0)
    hass_copy_free (job, load->tag);
}

/* Tells the user's release function that a load is no longer used, then frees
   what the library holds for it. */
void
hass_job_let_go (HassJob *job, const HassLoad *load, guint64 seq,
                 gboolean committed)
{
  if (job->farm->release)
    {
      HassCallback before
          = hass_engine_enter_callback ("release function", job, NULL);
      job->farm->release (load, committed, job->farm->release_data);
      hass_engine_leave_callback (before);
    }
  hass_job_disown (job, load, seq);
}

static HassSlot *
claim_ended (HassJob *job)
{
  HassSlot *found = NULL;
  hass_lock_take (&job->decision);
  for (guint i = 0; i < job->slots->len && !found; i++)
    {
      HassSlot *slot = hass_job_slot (job, i);
      if (slot->state == HASS_SLOT_ENDED
          && (!job->results
              || hass_result_pool_passed (job->results, slot->mark)))
        {
          slot->state = HASS_SLOT_RETIRING;
          atomic_fetch_sub_explicit (&job->n_ended, 1, memory_order_seq_cst);
          found = slot;
        }
    }
  hass_lock_give (&job->decision);
  return found;
}

static void
release_loads (HassJob *job, const HassSpan *span, guint64 seq)
{
  const HassFarm *farm = job->farm;
  if (!farm->release && !hass_job_has_owned (job))
    return;
  if (!farm->release
      && hass_farm_takes_tasks (farm)) /* which have no buffers */
    {
      hass_copies_free (job, span);
      return;
    }
  for (guint32 i = 0; i < span->n; i++)
    {
      hass_job_let_go (job, hass_span_load (span, i), seq + i,
                       farm->release && !hass_job_is_unfinished (job, seq + i));
    }
}

/* Retires rounds whose results are delivered: releases loads, frees slots. */
void
hass_job_retire (HassJob *job)
{
  HassSlot *slot;
  while ((slot = claim_ended (job)))
    {
      release_loads (job, &slot->round.span, slot->round.seq_base);
      hass_load_pool_release (job->pool, &slot->round.span);
      hass_lock_take (&job->decision);
      slot->state = HASS_SLOT_FREE;
      if (!slot->round.ready)
        atomic_fetch_sub_explicit (&job->n_taken, 1, memory_order_seq_cst);
      hass_lock_give (&job->decision);
      job->engine->changed (job);
    }
}

/* Returns: TRUE if no load waits and no round runs. Under decision. */
gboolean
hass_job_idle (HassJob *job)
{
  for (guint i = 0; i < job->slots->len; i++)
    if (hass_job_slot (job, i)->state != HASS_SLOT_FREE)
      return FALSE;
  return hass_load_pool_waiting (job->pool) == 0
         && (!job->ready || hass_ready_set_waiting (job->ready) == 0);
}

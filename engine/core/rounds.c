/* SPDX-License-Identifier: MIT */
/* rounds.c: moves loads from the pool into rounds and retires rounds whose
   results are delivered.

   DESIGN.
   1. Beginning. A free slot gets a span of the pool (in a partition farm one
      load, cut into blocks); the strategy orders and divides it.
   2. Ending. Devices finish units; the thread that finishes the last one ends
      the round and tells the strategy.
   3. Retiring. When all of a round's results are delivered, its loads are
      released and its slot is free.

   Thread safety: begin under the decision lock; the rest from any thread,
   without it. */
#include "job-private.h"

#include <string.h>

/* -- 1. Beginning ------------------------------------------------------- */

/* Frees what the library holds for a load: its buffer or its task's copy. */
void
hass_job_disown (HassJob *job, const HassLoad *load, guint64 seq)
{
  if (load->flags & HASS_LOAD_BUFFER)
    hass_buffer_recycle (job, load, seq);
  if (load->flags & HASS_LOAD_COPIED && job->farm->tag_bytes > 0)
    hass_copy_free (job, load->tag);
}

/* Releases a load, and frees what the library holds for it. */
void
hass_job_let_go (HassJob *job, const HassLoad *load, guint64 seq,
                 gboolean committed)
{
  if (job->farm->release)
    {
      const char *before = hass_engine_enter_callback ("release function", job);
      job->farm->release (load, committed, job->farm->release_data);
      hass_engine_leave_callback (before);
    }
  hass_job_disown (job, load, seq);
}

static void
refuse_load (HassJob *job, const HassLoad *load, guint64 seq, GError *error)
{
  hass_job_add_unfinished (job, seq, 1, 0, 0, error->message);
  if (job->farm->run->on_error == HASS_ON_ERROR_STOP)
    hass_job_stop (job, error);
  else
    g_error_free (error);
  hass_job_let_go (job, load, seq, FALSE);
}

static void
abandon_loads (HassJob *job, const HassSpan *span, guint64 seq)
{
  hass_job_add_unfinished (job, seq, span->n, 0, 0, NULL);
  for (guint32 i = 0; i < span->n; i++)
    hass_job_let_go (job, &span->loads[(span->base + i) & span->mask], seq + i,
                     FALSE);
  hass_load_pool_release (job->pool, span);
}

/* Begins a round of a partition farm with the next load that can be divided
   into blocks; loads that cannot be are refused. Returns: FALSE if none waits.
 */
static gboolean
begin_divisible (HassJob *job, HassSlot *slot)
{
  const HassFarm *farm = job->farm;
  HassSpan span;
  while (!hass_job_stopping (job) && hass_load_pool_next (job->pool, 1, &span))
    {
      HassLoad load = span.loads[span.base & span.mask];
      GError *error = NULL;
      gsize e = hass_divide_block_elements (job, &load);
      HassBlock *blocks = NULL;
      guint32 n = 0;
      slot->round.seq_base = job->n_loads++;
      gboolean ok = hass_divide_check (&load, e, !farm->partition, &error);
      if (ok && farm->partition)
        ok = (blocks = hass_divide_cut (job, slot, &load, e, &n, &error))
             != NULL;
      else if (ok)
        n = (guint32)((load.size - 1) / e + 1);
      if (ok)
        {
          HassDivision division = { load, e, farm->halo_elements, blocks };
          hass_round_begin_load (&slot->round, farm->cost, &division, n);
          slot->span = span;
          return TRUE;
        }
      g_prefix_error (&error, "farm '%s', load %" G_GUINT64_FORMAT ": ",
                      farm->name, slot->round.seq_base);
      refuse_load (job, &load, slot->round.seq_base, error);
      hass_load_pool_release (job->pool, &span);
      job->engine->changed (job); /* the pool has room again */
    }
  return FALSE;
}

static guint
flag_of (const HassDeviceTraits *device)
{
  if (device->load_flag)
    return (guint)device->load_flag;
  return device->kind == HASS_DEVICE_CPU ? HASS_LOAD_CPU : HASS_LOAD_GPU;
}

static gboolean
check_devices (HassJob *job, const HassSpan *span, guint64 seq)
{
  guint present = 0;
  for (guint d = 0; d < job->n_devices; d++)
    present |= flag_of (&job->devices[d]);
  for (guint32 i = 0; i < span->n; i++)
    {
      const HassLoad *load = &span->loads[(span->base + i) & span->mask];
      guint kinds
          = load->flags & (HASS_LOAD_CPU | HASS_LOAD_GPU | HASS_LOAD_KINDS);
      if (kinds == 0 || (kinds & present))
        continue;
      hass_job_stop (
          job,
          g_error_new (HASS_ERROR, HASS_ERROR_NO_DEVICE,
                       "farm '%s': %s %" G_GUINT64_FORMAT
                       " can only run on a %s, and none is present",
                       job->farm->name,
                       job->farm->kind == HASS_FARM_FUNCTION ? "task" : "load",
                       seq + i,
                       kinds == HASS_LOAD_CPU   ? "CPU"
                       : kinds == HASS_LOAD_GPU ? "GPU"
                                                : "device of another kind"));
      return FALSE;
    }
  return TRUE;
}

/* Checks the costs of a round's loads where that cannot be left to the cores.
   Where the CPU pool is the only device, the core that computes a load checks
   its cost, because it reads the load anyway: a separate pass over a million
   loads takes as long as computing small ones. Beside GPUs, where the strategy
   uses sums of costs, and in virtual time, all costs are checked before the
   round begins. */
static gboolean
check_costs (HassJob *job, const HassSpan *span, guint64 seq)
{
  gboolean planned
      = job->farm->cost == HASS_COST_SIZED && !hass_job_overlaps (job);
  if (job->engine->real_time && !planned)
    return TRUE;
  for (guint32 i = 0; i < span->n; i++)
    if (!hass_job_check_cost (job, &span->loads[(span->base + i) & span->mask],
                              seq + i))
      return FALSE;
  return TRUE;
}

/* Returns how many units may begin in an ordered farm so that at most
   farm->window units are begun and not delivered, over all rounds. */
static guint32
room_in_window (HassJob *job)
{
  if (!job->ordered)
    return G_MAXUINT32;
  guint64 begun = atomic_load_explicit (&job->n_units, memory_order_relaxed);
  guint64 open = begun - hass_result_pool_n_passed (job->results);
  gsize window = job->farm->window;
  gsize room = open < window ? window - open : 0;
  /* Less than an eighth of the window (a guess) makes small rounds. */
  return room >= MAX (window / 8, 1) ? (guint32)MIN (room, G_MAXUINT32) : 0;
}

static gboolean
begin_loads (HassJob *job, HassSlot *slot)
{
  const HassFarm *farm = job->farm;
  HassSpan span;
  guint32 most = MIN (farm->round_loads, room_in_window (job));
  if (most == 0 || !hass_load_pool_next (job->pool, most, &span))
    return FALSE;
  guint64 seq = job->n_loads;
  job->n_loads += span.n;
  if (!check_costs (job, &span, seq))
    {
      abandon_loads (job, &span, seq);
      return FALSE;
    }
  slot->round.seq_base = seq;
  slot->span = span;
  hass_round_begin_loads (&slot->round, farm->kind, farm->cost, &span);
  if (farm->kind == HASS_FARM_FUNCTION)
    check_devices (job, &span, slot->round.seq_base);
  return TRUE;
}

static void
seat_all (HassJob *job, HassSlot *slot)
{
  for (guint d = 0; d < job->n_devices; d++)
    slot->seats[d] = (HassSeat){ .state = job->totals[d].lost ? HASS_SEAT_LOST
                                                              : HASS_SEAT_ASK,
                                 .reported_ns = slot->round.begin_ns };
}

/* Returns: TRUE if a round may begin while @slot, which may be NULL, is
   current. If @slot has units that are not taken, no round may begin, because
   the strategy is only asked for the current round. */
gboolean
hass_job_may_begin (HassJob *job, HassSlot *slot)
{
  return atomic_load_explicit (&job->n_taken, memory_order_seq_cst) < HASS_SLOTS
         && (job->farm->kind == HASS_FARM_PARTITION || room_in_window (job) > 0)
         && (!slot
             || (hass_job_overlaps (job)
                 && hass_round_waiting_anywhere (&slot->round) == 0));
}

/* Begins a round with the loads that wait. Returns: its slot; NULL if no load
   waits, no slot is free or the farm is stopping. Under the decision lock. */
HassSlot *
hass_job_begin_round (HassJob *job)
{
  HassSlot *slot = NULL;
  for (guint i = 0; i < HASS_SLOTS && !slot; i++)
    if (job->slots[i].state == HASS_SLOT_FREE)
      slot = &job->slots[i];
  if (!slot || hass_job_stopping (job))
    return NULL;
  gboolean begun = job->farm->kind == HASS_FARM_PARTITION
                       ? begin_divisible (job, slot)
                       : begin_loads (job, slot);
  if (!begun)
    return NULL;
  HassRound *round = &slot->round;
  round->number = job->n_rounds++;
  round->begin_ns = job->engine->now (job);
  slot->state = HASS_SLOT_RUNNING;
  atomic_fetch_add_explicit (&job->n_taken, 1, memory_order_seq_cst);
  slot->order_base = atomic_load_explicit (&job->n_units, memory_order_relaxed);
  slot->forced = slot->grab = FALSE;
  atomic_store_explicit (&job->n_units, slot->order_base + round->n_units,
                         memory_order_relaxed);
  seat_all (job, slot);
  HASS_ANNOUNCE (job, round_begun,
                 &(HassRoundFact){ .round = round,
                                   .first = slot->order_base,
                                   .n_loads = slot->span.n,
                                   .at_ns = round->begin_ns });
  hass_round_open (round);
  if (job->strategy->ops->begin_round)
    job->strategy->ops->begin_round (job->strategy->self, round);
  atomic_store_explicit (&job->current, slot, memory_order_release);
  if (job->cpu >= 0)
    hass_decide_cpu (job, slot);
  return slot;
}

/* -- 2. Ending ---------------------------------------------------------- */

static void
add_up (HassJob *job, HassSlot *slot, gint64 end_ns)
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

/* Tells listeners of the round's end; job->summary holds its totals. */
static void
announce_end (HassJob *job, const HassSlot *slot, gint64 end_ns)
{
  double work = 0;
  for (guint d = 0; d < job->n_devices && job->listeners; d++)
    work += job->summary[d].work;
  HASS_ANNOUNCE (job, round_ended,
                 &(HassRoundFact){ .round = &slot->round,
                                   .first = slot->order_base,
                                   .n_loads = slot->span.n,
                                   .work = work,
                                   .at_ns = end_ns });
}

static void
end_round (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  pthread_mutex_lock (&job->decision);
  gint64 end_ns = job->engine->now (job);
  if (job->cpu >= 0)
    hass_decide_report_cpu (job, slot);
  add_up (job, slot, end_ns);
  HassRoundSummary told
      = { round->number, round->n_units, end_ns - round->begin_ns,
          job->n_devices, job->summary };
  if (job->strategy->ops->end_round)
    job->strategy->ops->end_round (job->strategy->self, &told);
  announce_end (job, slot, end_ns);
  slot->mark = job->results ? hass_result_pool_mark (
                   job->results, slot->order_base + round->n_units)
                            : 0;
  slot->state = HASS_SLOT_ENDED;
  atomic_store_explicit (&round->pull_source, HASS_PULL_DONE,
                         memory_order_relaxed);
  HassSlot *self = slot;
  atomic_compare_exchange_strong_explicit (
      &job->current, &self, NULL, memory_order_release, memory_order_relaxed);
  atomic_fetch_add_explicit (&job->n_ended, 1, memory_order_seq_cst);
  pthread_mutex_unlock (&job->decision);
}

/* @n units are computed and committed, or failed; the last ends the round. */
void
hass_job_units_finished (HassJob *job, HassSlot *slot, guint32 n)
{
  if (n == 0 || job->flow)
    return;
  /* Release hands this thread's results and counters to the thread that ends
     the round; acquire gives that thread the results and counters of all. */
  if (atomic_fetch_sub_explicit (&slot->round.outstanding, n,
                                 memory_order_acq_rel)
      == n)
    end_round (job, slot);
  /* Sequentially consistent, as are the count in end_round and the result
     pool's mark: of the thread that ends a round and the thread that delivers
     the round's last result, at least one sees what the other has done. */
  if (atomic_load_explicit (&job->n_ended, memory_order_seq_cst) > 0)
    hass_job_retire (job);
}

/* -- 3. Retiring -------------------------------------------------------- */

static HassSlot *
claim_ended (HassJob *job)
{
  HassSlot *found = NULL;
  pthread_mutex_lock (&job->decision);
  for (guint i = 0; i < HASS_SLOTS && !found; i++)
    {
      HassSlot *slot = &job->slots[i];
      if (slot->state == HASS_SLOT_ENDED
          && (!job->results
              || hass_result_pool_passed (job->results, slot->mark)))
        {
          slot->state = HASS_SLOT_RETIRING;
          found = slot;
        }
    }
  pthread_mutex_unlock (&job->decision);
  return found;
}

static void
release_loads (HassJob *job, const HassSpan *span, guint64 seq)
{
  const HassFarm *farm = job->farm;
  if (!farm->release && !hass_job_has_owned (job))
    return;
  for (guint32 i = 0; i < span->n; i++)
    {
      const HassLoad *load = &span->loads[(span->base + i) & span->mask];
      hass_job_let_go (job, load, seq + i,
                       !hass_job_is_unfinished (job, seq + i));
    }
}

/* Retires rounds whose results are delivered: releases loads, frees slots. */
void
hass_job_retire (HassJob *job)
{
  HassSlot *slot;
  while ((slot = claim_ended (job)))
    {
      release_loads (job, &slot->span, slot->round.seq_base);
      hass_load_pool_release (job->pool, &slot->span);
      pthread_mutex_lock (&job->decision);
      slot->state = HASS_SLOT_FREE;
      atomic_fetch_sub_explicit (&job->n_ended, 1, memory_order_seq_cst);
      atomic_fetch_sub_explicit (&job->n_taken, 1, memory_order_seq_cst);
      pthread_mutex_unlock (&job->decision);
      job->engine->changed (job);
    }
}

/* Returns: TRUE if no load waits and no round runs. Under decision. */
gboolean
hass_job_idle (HassJob *job)
{
  for (guint i = 0; i < HASS_SLOTS; i++)
    if (job->slots[i].state != HASS_SLOT_FREE)
      return FALSE;
  return hass_load_pool_waiting (job->pool) == 0;
}

/* -- A farm that was stopped -------------------------------------------- */

static void
name_units (HassJob *job, HassRound *round, HassExtent e)
{
  HassBlock block;
  if (e.n > 0 && hass_round_merge (round, e, &block))
    {
      hass_job_add_unfinished (job, block.seq, 1, block.first, block.count,
                               NULL);
      return;
    }
  for (guint32 i = 0; i < e.n; i++)
    {
      hass_round_block (round, e.first + i, &block);
      hass_job_add_unfinished (job, block.seq, 1,
                               round->divisible ? block.first : 0,
                               round->divisible ? block.count : 0, NULL);
    }
}

/* Releases the loads of a round that did not end, after its waiting units have
   been listed as unfinished; their loads are released as not committed. */
static void
abandon_round (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  const HassSpan *span = &slot->span;
  if (slot->state == HASS_SLOT_RUNNING)
    add_up (job, slot, job->engine->now (job));
  g_autofree guint8 *missing = g_malloc0 (MAX (span->n, 1));
  for (;;)
    {
      HassExtent e = { 0, 0 };
      for (guint c = 0; c < round->n_classes && e.n == 0; c++)
        e = hass_round_take_any (round, c, G_MAXUINT32);
      if (e.n == 0)
        break;
      name_units (job, round, e);
      for (guint32 i = 0; i < e.n; i++)
        missing[round->divisible ? 0 : hass_round_unit (round, e.first + i)]
            = 1;
    }
  for (guint32 i = 0; i < span->n; i++)
    {
      const HassLoad *load = &span->loads[(span->base + i) & span->mask];
      hass_job_let_go (
          job, load, round->seq_base + i,
          !missing[i] && !hass_job_is_unfinished (job, round->seq_base + i));
    }
  hass_load_pool_release (job->pool, span);
  slot->state = HASS_SLOT_FREE;
}

/* Lists everything that a stopped farm has not computed as unfinished and
   releases it, when no other thread works for the job. */
void
hass_job_abandon (HassJob *job)
{
  hass_job_retire (job);
  for (guint i = 0; i < HASS_SLOTS; i++)
    if (job->slots[i].state != HASS_SLOT_FREE)
      abandon_round (job, &job->slots[i]);
  HassSpan span;
  while (hass_load_pool_next (job->pool, G_MAXUINT32, &span))
    {
      abandon_loads (job, &span, job->n_loads);
      job->n_loads += span.n;
    }
}

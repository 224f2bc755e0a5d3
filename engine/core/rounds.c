/* SPDX-License-Identifier: MIT */
/* rounds.c: fills rounds with loads of the pool, and lists what a stopped farm
   has not computed.

   DESIGN. Rounds are a source of work (source.h). A free slot gets a span of
   the pool (in a partition farm loads that are cut into blocks); the strategy
   orders and divides it. Tasks with a priority join an open round instead
   (open.c).

   Thread safety: under the decision lock; hass_job_abandon when all other
   threads have left; the operations of the source as source.h says. */
#include "job-private.h"

#include <string.h>

static void
let_go (HassJob *job, const HassSpan *span, guint64 seq)
{
  for (guint32 i = 0; i < span->n; i++)
    hass_job_let_go (job, hass_span_load (span, i), seq + i, FALSE);
  hass_load_pool_release (job->pool, span);
}

static void
abandon_loads (HassJob *job, const HassSpan *span, guint64 seq)
{
  hass_job_add_unfinished (job, seq, span->n, 0, 0, NULL);
  let_go (job, span, seq);
}

/* Beside a device, rounds do not overlap, and at the end of each the devices
   wait for one another, for as long as a copy takes. So large loads that wait
   are joined to a round of this time, in ns. A guess: less, and more is lost at
   the ends; more, and the first loads are released later. */
#define JOINED_ROUND_NS 20000000

/* Takes the loads of the next round of a partition farm: one, or beside a
   device as many as take JOINED_ROUND_NS at the pace of the last round, or of
   earlier runs of the farm. While the generator is at work, half of those that
   wait: if a round took all of a full pool, there would be room for no more
   until it ends. Returns: FALSE if none waits. */
static gboolean
take_divisible (HassJob *job, HassSpan *span)
{
  const HassFarm *farm = job->farm;
  if (hass_job_overlaps (job))
    return hass_load_pool_next (job->pool, 1, span);
  guint64 most = hass_load_pool_waiting (job->pool);
  if (!atomic_load_explicit (&job->generated, memory_order_relaxed))
    most = (most + 1) / 2;
  guint32 room = hass_job_room (job, farm->round_loads);
  most = CLAMP (most, 1, MAX (room, 1));
  double elements = job->elements_per_ns * JOINED_ROUND_NS;
  double blocks
      = HASS_ROUND_MAX_UNITS / 2; /* the loads' last ones not counted */
  if (farm->block_elements > 0)
    elements = MIN (elements, blocks * farm->block_elements);
  return hass_load_pool_next_elements (job->pool, (guint32)most,
                                       (guint64)MIN (elements, 1e18), span);
}

/* Begins a round of a partition farm with the next loads, cut into blocks;
   loads that cannot be divided are refused. Returns: FALSE if none waits. */
static gboolean
begin_divisible (HassJob *job, HassSlot *slot)
{
  HassSpan span;
  while (!hass_job_stopping (job) && take_divisible (job, &span))
    {
      guint64 seq = job->n_loads;
      job->n_loads += span.n;
      HassDivision division = hass_divide (job, &span, seq);
      if (division.cuts[span.n].block > 0)
        {
          slot->round.seq_base = seq;
          hass_round_begin_blocks (&slot->round, job->farm->cost, &span,
                                   &division);
          return TRUE;
        }
      g_free (division.cuts);
      g_free (division.blocks);
      let_go (job, &span, seq);
      job->engine->changed (job); /* the pool has room again */
    }
  return FALSE;
}

/* Has the tasks of a span join an open round, in a farm whose strategy serves
   those, if one of them has a priority. Returns: FALSE if they do not. In an
   ordered farm results come in the order of emission, so priorities have no
   meaning. */
static gboolean
join (HassJob *job, const HassSpan *span)
{
  gboolean urgent = job->has_urgent;
  if (!job->ready || job->ordered || job->farm->kind != HASS_FARM_FUNCTION)
    return FALSE;
  for (guint32 i = 0; i < span->n && !urgent; i++)
    urgent = hass_span_load (span, i)->flags & HASS_LOAD_URGENT;
  if (!urgent)
    return FALSE;
  job->has_urgent = TRUE;
  hass_open_join (job, NULL, span);
  hass_load_pool_release (job->pool, span);
  job->engine->changed (job); /* the pool has room again */
  return TRUE;
}

/* Fills @slot with loads that wait. Returns: the slot; if the loads have joined
   an open round, that one's; NULL if no load waits. */
static HassSlot *
begin_loads (HassJob *job, HassSlot *slot)
{
  const HassFarm *farm = job->farm;
  HassSpan span;
  guint32 most = hass_job_room (job, farm->round_loads);
  if (most == 0 || (job->has_urgent && !hass_open_has_room (job))
      || !hass_load_pool_next (job->pool, most, &span))
    return NULL;
  if (join (job, &span))
    return hass_open_slot (job, HASS_DEVICE_CPU);
  hass_job_close_open (job);
  guint64 seq = job->n_loads;
  job->n_loads += span.n;
  if (!hass_job_check_costs (job, &span, &seq))
    {
      abandon_loads (job, &span, seq);
      return NULL;
    }
  slot->round.seq_base = seq;
  hass_round_begin_loads (&slot->round, farm->kind, farm->cost, &span);
  hass_job_check_devices (job, &span, &seq);
  return slot;
}

/* Returns: TRUE if a round may begin while @slot, which may be NULL, is
   current. If @slot has units that are not taken, no round may begin, because
   the strategy is only asked for the current round. */
gboolean
hass_job_may_begin (HassJob *job, HassSlot *slot)
{
  return atomic_load_explicit (&job->n_taken, memory_order_seq_cst)
             < hass_slots_most (job)
         && (job->farm->kind == HASS_FARM_PARTITION
             || hass_job_room (job, 1) > 0)
         && (!slot
             || (hass_job_overlaps (job)
                 && hass_round_waiting_anywhere (&slot->round) == 0));
}

/* Begins a round with the loads that wait, or has them join an open one.
   Returns: its slot; NULL if no load waits, no slot is free or the farm is
   stopping. Under the decision lock. */
HassSlot *
hass_job_begin_round (HassJob *job)
{
  HassSlot *slot = hass_slot_find (job, FALSE);
  if (!slot || hass_job_stopping (job))
    return NULL;
  if (job->farm->kind == HASS_FARM_PARTITION)
    {
      if (!begin_divisible (job, slot))
        return NULL;
    }
  else
    {
      HassSlot *filled = begin_loads (job, slot);
      if (filled != slot)
        return filled;
    }
  hass_slot_begin (job, slot);
  if (job->strategy->ops->begin_round)
    job->strategy->ops->begin_round (job->strategy->self, &slot->round);
  atomic_store_explicit (&job->current, slot, memory_order_release);
  if (job->cpu >= 0)
    hass_decide_cpu (job, slot);
  return slot;
}

/* -- A farm that was stopped -------------------------------------------- */

static void
name_units (HassJob *job, HassRound *round, HassExtent e)
{
  HassBlock block;
  for (guint32 n; e.n > 0; e = hass_extent_rest (e, n))
    {
      n = hass_round_merge (round, e, &block);
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
  const HassSpan *span = &round->span;
  if (round->ready)
    round->span.n = round->n_units;
  if (slot->state == HASS_SLOT_RUNNING)
    hass_slot_add_up (job, slot, job->engine->now (job));
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
        missing[hass_round_load_index (round, e.first + i)] = 1;
    }
  for (guint32 i = 0; i < span->n; i++)
    {
      hass_job_let_go (
          job, hass_span_load (span, i), round->seq_base + i,
          !missing[i] && !hass_job_is_unfinished (job, round->seq_base + i));
    }
  hass_load_pool_release (job->pool, span);
  slot->state = HASS_SLOT_FREE;
}

/* Lists the loads that wait for an open round as unfinished and releases them.
 */
static void
abandon_ready (HassJob *job)
{
  HassLoad load;
  for (guint c = 0; job->ready && c < HASS_MOST_CLASSES; c++)
    while (hass_ready_set_pop (job->ready, c, &load))
      {
        hass_job_add_unfinished (job, job->n_loads, 1, 0, 0, NULL);
        hass_job_let_go (job, &load, job->n_loads++, FALSE);
      }
}

static void
rounds_finish (HassJob *job)
{
  hass_lock_take (&job->decision);
  hass_job_close_open (job);
  hass_lock_give (&job->decision);
  hass_job_retire (job);
  for (guint i = 0; i < job->slots->len; i++)
    if (hass_job_slot (job, i)->state != HASS_SLOT_FREE)
      abandon_round (job, hass_job_slot (job, i));
  abandon_ready (job);
}

/* Lists the loads that still wait in the pool as unfinished and releases them,
   when no other thread works for the job. */
void
hass_job_abandon (HassJob *job)
{
  HassSpan span;
  while (hass_load_pool_next (job->pool, G_MAXUINT32, &span))
    {
      abandon_loads (job, &span, job->n_loads);
      job->n_loads += span.n;
    }
}

/* -- As a source of work ------------------------------------------------ */

static void
rounds_started (HassJob *job)
{
  if (job->samplers)
    job->known = job->env.profile;
  if (job->farm->kind == HASS_FARM_PARTITION) /* whose work is elements */
    for (guint d = 0; d < job->n_devices && job->env.profile; d++)
      job->elements_per_ns += job->env.profile[d].work_per_ns;
  hass_open_init (job);
}

static gboolean
rounds_are_idle (HassJob *job)
{
  hass_lock_take (&job->decision);
  gboolean idle = hass_job_idle (job);
  hass_lock_give (&job->decision);
  return idle;
}

static gboolean
rounds_have_work (HassJob *job, gboolean caller, guint others)
{
  (void)caller;
  (void)others;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_seq_cst);
  return hass_open_may_have_work (job)
         || (hass_load_pool_waiting (job->pool) > 0
             && hass_job_may_begin (job, slot))
         || (slot && hass_decide_pullable (slot));
}

/* The strategy is not asked for the device again, in this or any later round.
 */
static void
rounds_lost (HassJob *job, guint device)
{
  for (guint s = 0; s < job->slots->len; s++)
    hass_job_slot (job, s)->seats[device].state = HASS_SEAT_LOST;
}

const HassSourceOps hass_rounds_ops = { .create = hass_slots_create,
                                        .started = rounds_started,
                                        .finish = rounds_finish,
                                        .free = hass_slots_clear,
                                        .idle = rounds_are_idle,
                                        .has_work = rounds_have_work,
                                        .report = hass_functions_report,
                                        .lost = rounds_lost };

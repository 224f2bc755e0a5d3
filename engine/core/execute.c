/* SPDX-License-Identifier: MIT */
/* execute.c: computes units on a core and takes their results.

   DESIGN. A core computes the units of one pull one after another; adjacent
   blocks of a divisible load are computed in one call. The results of a pull
   form one run, which is committed (handed to the result pool) as a whole.
   Units that had not begun when the farm stopped are given back to the round,
   and what is taken from the core (spoliate.c).

   Thread safety: a worker context belongs to one thread at a time. */
#include "job-private.h"
#include "pool/callback_error.h"

#include <string.h>

/* -- Units -------------------------------------------------------------- */

/* Computes one unit with the user's worker @function and takes its results.
   Returns: FALSE if the unit failed or was given back. Inlined in each loop,
   since a call costs much beside an empty load. */
static inline G_ALWAYS_INLINE gboolean
compute (HassJob *job, HassWorker *worker, const HassBlock *block,
         HassCpuWorkerFunc function, gpointer data)
{
  HassUnitMark mark = { worker->run ? worker->run->used : 0, worker->n_nested };
  GError *error = NULL;
  if (G_UNLIKELY (hass_block_is_nowhere (block))
      && !hass_results_check (job, block))
    {
      hass_job_add_unfinished (job, block->seq, 1, 0, 0,
                               "its input or output is NULL");
      return FALSE;
    }
  worker->has_result = FALSE;
  gboolean ok = function (block, worker, data, &error);
  if (G_UNLIKELY (!hass_callback_ok (ok, &error, HASS_ERROR_WORKER)))
    {
      if (hass_unit_is_unneeded (job, worker))
        hass_unit_given_back (job, worker, mark, error);
      else
        hass_unit_failed (job, worker, block, mark, error);
      return FALSE;
    }
  hass_unit_output_is_result (job, worker, block);
  return TRUE;
}

static inline void
add_done (HassDone *done, const HassRound *round, const HassBlock *block,
          HassExtent units, gsize bytes)
{
  done->n += units.n;
  done->bytes += bytes;
  done->halo += block->halo_before + block->halo_after;
  if (round->divisible)
    done->work += block->count;
  else if (round->cost == HASS_COST_SIZED)
    done->work += hass_round_true_cost (round, units.first);
  else
    done->work += 1;
}

/* Computes the units of extent @e one by one, adjacent blocks of a divisible
   load as one. In an ordered farm whose round is permuted each unit's results
   are committed by themselves, because neighbours in position are not
   neighbours in sequence. Returns: the totals of the units. */
static HassDone
compute_each (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e,
              gboolean dry)
{
  const HassFarm *farm = job->farm;
  HassRound *round = &slot->round;
  gboolean alone = job->ordered && hass_round_order (round);
  gboolean sized = round->cost == HASS_COST_SIZED && !round->divisible;
  HassDone done = { 0 };
  HassBlock block;
  worker->unit = &block;
  while (done.n < e.n && !hass_job_stopping (job))
    {
      HassExtent units = hass_extent_rest (e, done.n);
      units.n = hass_round_merge (round, units, &block);
      if (sized && !hass_job_check_cost (job, block.load, block.seq))
        break;
      gsize bytes = block.input_bytes;
      if (!dry
          && !compute (job, worker, &block, farm->cpu_worker,
                       farm->cpu_worker_data))
        {
          if (worker->gave_back)
            break;
          done.n_failed += units.n;
        }
      if (alone)
        hass_units_commit (job, worker, slot,
                           hass_round_unit (round, units.first), 1);
      add_done (&done, round, &block, units, bytes);
    }
  worker->unit = NULL;
  if (!alone && done.n > 0)
    hass_units_commit (job, worker, slot, e.first, done.n);
  return done;
}

/* Computes the units of extent @e one by one, in a round whose loads are
   neither permuted nor divided. This is the most frequent case, so values that
   are the same for all units are read once. Returns: the totals of the units.
 */
static HassDone
compute_plain (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e)
{
  const HassRound *round = &slot->round;
  HassSpan span = round->span;
  gboolean sized = round->cost == HASS_COST_SIZED;
  HassCpuWorkerFunc function = job->farm->cpu_worker;
  gpointer data = job->farm->cpu_worker_data;
  HassDone done = { 0 };
  HassBlock block = { .seq = round->seq_base + e.first };
  span.base += e.first;
  worker->unit = &block;
  for (; done.n < e.n && !hass_job_stopping (job); done.n++)
    {
      const HassLoad *load = hass_span_load (&span, done.n);
      if (sized && !hass_job_check_cost (job, load, block.seq))
        break;
      block.load = load;
      block.count = load->size;
      block.input = load->input;
      block.input_bytes = load->input_bytes;
      block.output = load->output;
      block.output_bytes = load->output_bytes;
      done.bytes += load->input_bytes;
      if (sized)
        done.work += hass_load_work (load);
      if (G_UNLIKELY (!compute (job, worker, &block, function, data)))
        {
          if (worker->gave_back)
            {
              done.bytes -= load->input_bytes;
              done.work -= sized ? hass_load_work (load) : 0;
              break;
            }
          done.n_failed++;
        }
      block.seq++;
    }
  worker->unit = NULL;
  if (!sized)
    done.work = done.n;
  if (done.n > 0)
    hass_units_commit (job, worker, slot, e.first, done.n);
  return done;
}

static HassDone
compute_units (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e,
               gboolean dry)
{
  if (!dry && !slot->round.divisible && !hass_round_order (&slot->round))
    return compute_plain (job, worker, slot, e);
  return compute_each (job, worker, slot, e, dry);
}

/* Computes the units of extent @e, measuring each run of units that call the
   same function. Returns: the totals of the units. */
static HassDone
compute_runs (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e)
{
  HassDone all = { 0 };
  gint64 begin_ns = job->engine->now (job);
  guint32 n = 0;
  for (HassExtent run = e; all.n < e.n && all.n == n;)
    {
      guint function;
      run = hass_extent_rest (e, all.n);
      run.n = hass_functions_run (job, &slot->round, run, &function);
      n += run.n;
      gint64 collect_ns = worker->collect_ns;
      HassDone done = compute_units (job, worker, slot, run, FALSE);
      gint64 end_ns = job->engine->now (job);
      hass_functions_took (worker, function, done.n,
                           end_ns - begin_ns
                               - (worker->collect_ns - collect_ns));
      begin_ns = end_ns;
      all.n += done.n;
      all.n_failed += done.n_failed;
      all.bytes += done.bytes;
      all.work += done.work;
      all.halo += done.halo;
    }
  return all;
}

/* Computes the units of extent @e on the calling thread; with @dry only counts
   them. Units that are not begun because the farm stops, or that are taken from
   the core, are given back to the round. Returns: the totals of the computed
   units, which the caller passes to hass_execute_count() and
   hass_job_units_finished(). */
HassDone
hass_execute (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e,
              gboolean dry)
{
  HassCallback before = hass_engine_enter_callback ("cpu_worker", job, worker);
  gint64 collect_ns = worker->collect_ns;
  HassDone done;
  if (G_UNLIKELY (worker->functions))
    hass_functions_note (worker, &slot->round, e);
  if (G_UNLIKELY (worker->functions) && hass_functions_measure (worker))
    done = compute_runs (job, worker, slot, e);
  else
    done = compute_units (job, worker, slot, e, dry);
  hass_engine_leave_callback (before);
  done.collect_ns = worker->collect_ns - collect_ns;
  done.exclusive = hass_round_is_exclusive (&slot->round, e) ? done.work : 0;
  if (G_UNLIKELY (slot->round.n_functions > 1))
    done.function = hass_round_function (&slot->round, e.first);
  if (job->ready)
    hass_open_follow (job, worker, slot, e, &done);
  hass_units_flush_nested (job, worker);
  if (G_LIKELY (done.n == e.n && done.n_failed == 0))
    return done;
  if (worker->functions)
    hass_functions_forget (worker, &slot->round, hass_extent_rest (e, done.n));
  /* Under the lock, because a strategy may be moving the waiting units. */
  hass_lock_take (&job->decision);
  if (done.n_failed > 0)
    hass_units_count_failures (job, worker, done.n_failed);
  gboolean taken = worker->gave_back;
  if (taken)
    hass_spoliated (job, worker, slot, hass_extent_rest (e, done.n));
  else
    hass_round_give_back (&slot->round, hass_extent_rest (e, done.n));
  hass_lock_give (&job->decision);
  if (taken)
    job->engine->changed (job);
  return done;
}

/* Adds the totals of computed units to the worker's counters of the round. Only
   this thread writes the counters, so relaxed loads and stores suffice. */
void
hass_execute_count (HassJob *job, HassWorker *worker, HassSlot *slot,
                    HassDone done, gint64 busy_ns, gint64 end_ns)
{
  HassCounter *c = &slot->round.counters[worker->counter];
  gint64 helped_ns = hass_worker_take_helped (worker);
#define ADD(field, value)                                                      \
  atomic_store_explicit (                                                      \
      &c->field,                                                               \
      atomic_load_explicit (&c->field, memory_order_relaxed) + (value),        \
      memory_order_relaxed)
  ADD (bundles, done.part ? 0 : 1);
  ADD (bytes, done.bytes);
  if (G_UNLIKELY (done.halo > 0))
    ADD (halo, done.halo);
  if (G_UNLIKELY (done.exclusive > 0))
    ADD (exclusive, done.exclusive);
#undef ADD
  if (G_UNLIKELY (slot->round.n_functions > 1))
    hass_counter_add_function (c, done.function, done.n, done.work,
                               busy_ns + helped_ns);
  hass_counter_add (c, done.n, done.work, busy_ns + helped_ns);
  if (G_UNLIKELY (worker->functions))
    hass_functions_count (worker, busy_ns + helped_ns - done.collect_ns,
                          done.bytes);
  atomic_store_explicit (&c->last_finish_ns, end_ns, memory_order_relaxed);
  worker->last_end_ns = end_ns;
  worker->computed_ns = end_ns - done.collect_ns;
  /* Acquire pairs with the release in hass_job_generate and makes generated_ns
     visible. early_ns counts the busy time before the generator returned. */
  if (atomic_load_explicit (&job->generated, memory_order_acquire))
    busy_ns = CLAMP (job->phases.generated_ns - (end_ns - busy_ns), 0, busy_ns);
  worker->early_ns += busy_ns;
  if (job->farm->run->progress && !job->source->progress)
    {
      atomic_fetch_add_explicit (&job->units_done, done.n,
                                 memory_order_relaxed);
      atomic_fetch_add_explicit (&job->bytes_done, done.bytes,
                                 memory_order_relaxed);
    }
}

/* -- How many to pull --------------------------------------------------- */

/* Returns: the number of loads that wait to join an open round. Where units are
   so short that looking at what all cores have emitted would cost as much, the
   core takes its own loads for the average. */
static guint32
ready_for (HassJob *job, const HassWorker *worker)
{
  guint64 n = (guint64)hass_open_own (job, worker->index) * job->n_cores;
  if (n == 0 || worker->unit_ns >= HASS_PULL_NS)
    n = hass_ready_set_waiting (job->ready);
  return (guint32)MIN (n, HASS_OPEN_UNITS);
}

/* Returns how many units the core should pull next: the strategy's chunk, or if
   that is more as many as take HASS_CHUNK_NS by the recent time of a unit, but
   for the latter at most eight times the last pull. Neither may exceed a
   quarter of the core's fair share of the waiting units, so that other cores do
   not wait for this one; but that limit allows HASS_PULL_NS of work, because
   smaller pulls would mostly cost contention for the range's cache line. */
guint32
hass_chunk (HassJob *job, HassWorker *worker, HassSlot *slot)
{
  HassRound *round = &slot->round;
  gint32 source
      = atomic_load_explicit (&round->pull_source, memory_order_acquire);
  if (source < 0)
    return 1;
  guint32 waiting = round->ready
                        ? ready_for (job, worker)
                        : hass_unit_range_peek (&round->ranges[source]).n;
  guint64 chunk
      = atomic_load_explicit (&round->pull_chunk, memory_order_relaxed);
  guint32 fair = waiting / (4 * job->n_cores);
  guint32 grown = worker->last_chunk > G_MAXUINT32 / 8 ? G_MAXUINT32
                                                       : worker->last_chunk * 8;
  guint32 filling = 1, least = 1;
  if (worker->unit_ns > 0 && worker->unit_ns < HASS_CHUNK_NS)
    filling = (guint32)MIN (HASS_CHUNK_NS / worker->unit_ns, G_MAXUINT32);
  if (worker->unit_ns > 0 && worker->unit_ns < HASS_PULL_NS)
    least = (guint32)MIN (HASS_PULL_NS / worker->unit_ns, G_MAXUINT32);
  guint32 k = MIN (filling, grown);
  if (chunk > k)
    k = (guint32)MIN (chunk, G_MAXUINT32);
  /* Where rounds overlap, the loads that wait for the next round count as
     waiting units, too. */
  if (k > MAX (fair, least) && !round->ready && hass_job_overlaps (job)
      && job->farm->kind != HASS_FARM_PARTITION)
    fair = (guint32)MIN ((waiting + hass_load_pool_waiting (job->pool))
                             / (4 * job->n_cores),
                         G_MAXUINT32);
  k = MIN (k, MAX (fair, least));
  return MAX (k, 1);
}

/* SPDX-License-Identifier: MIT */
/* execute.c: computes units on a core and takes their results.

   DESIGN. A core computes the units of one pull one after another; adjacent
   blocks of a divisible load become one call. Results gather in one run per
   pull. A unit that fails leaves nothing behind: its results and its nested
   loads are dropped. What was not begun when the farm stopped is given back
   to the round.

   Thread safety: a worker context belongs to one thread at a time. */
#include "job-private.h"
#include "pool/error-private.h"

#include <string.h>

/* -- What a worker may call --------------------------------------------- */

guint
hass_worker_index (const HassWorker *worker)
{
  return worker->index;
}

/* FALSE: the worker's farm has ended. */
static inline gboolean
is_alive (const HassWorker *worker, const char *function)
{
  if (G_LIKELY (worker->job))
    return TRUE;
  hass_engine_dead_handle (function);
  return FALSE;
}

guint
hass_worker_count (const HassWorker *worker)
{
  return is_alive (worker, "hass_worker_count") ? worker->job->n_workers : 0;
}

gpointer
hass_worker_accumulator (HassWorker *worker)
{
  return is_alive (worker, "hass_worker_accumulator") ? worker->accumulator
                                                      : NULL;
}

gconstpointer
hass_worker_constant (const HassWorker *worker, guint index)
{
  if (!is_alive (worker, "hass_worker_constant"))
    return NULL;
  const HassFarm *farm = worker->job->farm;
  return index < farm->n_constants ? farm->constants[index].data : NULL;
}

gboolean
hass_worker_stopping (const HassWorker *worker)
{
  return !is_alive (worker, "hass_worker_stopping")
         || hass_job_stopping (worker->job);
}

static gboolean
in_unit (HassWorker *worker, const char *what)
{
  if (G_LIKELY (worker->unit && pthread_equal (pthread_self (), worker->owner)))
    return TRUE;
  if (is_alive (worker, what))
    hass_job_stop (worker->job,
                   g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                                "farm '%s': %s called outside a cpu_worker, on "
                                "another thread than its own, or with the "
                                "worker of a loop's body",
                                worker->job->farm->name, what));
  return FALSE;
}

gboolean
hass_worker_result (HassWorker *worker, gconstpointer data, gsize bytes)
{
  HassJob *job = worker->job;
  if (!in_unit (worker, "hass_worker_result"))
    return FALSE;
  if (!job->results)
    {
      hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_MISUSE,
                                       "farm '%s': hass_worker_result called, "
                                       "but the farm has no collector",
                                       job->farm->name));
      return FALSE;
    }
  const HassBlock *unit = worker->unit;
  HassResultItem record = { .seq = unit->seq,
                            .tag = unit->load->tag,
                            .first = unit->first,
                            .count = unit->count,
                            .bytes = bytes };
  if (!worker->run)
    worker->run = hass_result_pool_run (job->results);
  hass_run_add (worker->run, &record, data);
  worker->has_result = TRUE;
  return TRUE;
}

static gboolean
may_nest (HassWorker *worker, gboolean tasks, const char *function)
{
  return in_unit (worker, function)
         && hass_job_takes (worker->job, tasks, function)
         && !hass_job_stopping (worker->job);
}

static void
nest (HassWorker *worker, const HassLoad *load)
{
  if (!worker->nested)
    worker->nested = g_array_new (FALSE, FALSE, sizeof (HassLoad));
  g_array_append_vals (worker->nested, load, 1);
}

gboolean
hass_worker_emit (HassWorker *worker, const HassLoad *load)
{
  if (!may_nest (worker, FALSE, "hass_worker_emit")
      || (load->flags & HASS_LOAD_BUFFER
          && !hass_buffer_claim (worker->job, load, worker->unit->seq, TRUE)))
    return FALSE;
  nest (worker, load);
  return TRUE;
}

gboolean
hass_engine_nest_task (HassWorker *worker, HassLoad *load)
{
  if (!may_nest (worker, TRUE, "hass_worker_emit_task"))
    return FALSE;
  load->tag = hass_copy_new (worker->job, &worker->copier, load->tag);
  load->flags |= HASS_LOAD_COPIED;
  nest (worker, load);
  return TRUE;
}

/* A loop within a unit. */
typedef struct
{
  HassWorker worker; /* the bodies': it is in no unit and has no accumulator */
  HassLoopFunc body;
  gpointer user_data;
  _Atomic gboolean failed;
  GError *error; /* of who set failed first */
} Loop;

static void
run_piece (gsize first, gsize count, gpointer data)
{
  Loop *loop = data;
  GError *error = NULL;
  /* Relaxed: it only saves work. The error is read when all pieces are over. */
  if (atomic_load_explicit (&loop->failed, memory_order_relaxed))
    return;
  const char *before
      = hass_engine_enter_callback ("loop body", loop->worker.job);
  gboolean ok
      = loop->body (first, count, &loop->worker, loop->user_data, &error);
  hass_engine_leave_callback (before);
  gboolean silent = !error;
  if (hass_callback_ok (ok, &error, HASS_ERROR_WORKER))
    return;
  if (silent)
    g_prefix_error (&error, "loop body, iterations %zu to %zu: ", first,
                    first + count);
  if (atomic_exchange_explicit (&loop->failed, TRUE, memory_order_relaxed))
    g_error_free (error);
  else
    loop->error = error;
}

gboolean
hass_worker_parallel_for (HassWorker *worker, gsize n, gsize grain,
                          HassLoopFunc body, gpointer user_data, GError **error)
{
  if (!is_alive (worker, "hass_worker_parallel_for"))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
                   "hass_worker_parallel_for called when its farm has ended");
      return FALSE;
    }
  HassJob *job = worker->job;
  HassCpuPool *pool = hass_cpu_pool_get (MAX (job->n_cores, 1), NULL);
  Loop loop = { .worker = { .job = job, .index = worker->index },
                .body = body,
                .user_data = user_data };
  if (grain == 0)
    grain = MAX (n / (8 * MAX (job->n_cores, 1)), 1);
  if (pool)
    hass_cpu_pool_parallel_for (pool, n, grain, run_piece, &loop);
  else if (n > 0)
    run_piece (0, n, &loop);
  if (loop.error)
    g_propagate_error (error, loop.error);
  return !loop.failed;
}

/* -- Units -------------------------------------------------------------- */

/* Where a unit began, to drop what it left when it fails. */
typedef struct
{
  gsize run_used;
  guint n_nested;
} Mark;

/* Nested loads that a failed unit has emitted, behind the first @n. */
static void
drop_nested (HassJob *job, HassWorker *worker, guint n)
{
  GArray *nested = worker->nested;
  for (guint i = n; i < nested->len; i++)
    hass_job_disown (job, &g_array_index (nested, HassLoad, i), 0);
  g_array_set_size (nested, n);
}

/* Takes the error. */
static void
failed (HassJob *job, HassWorker *worker, const HassBlock *block, Mark mark,
        GError *error)
{
  if (worker->run)
    worker->run->used = mark.run_used;
  if (worker->nested)
    drop_nested (job, worker, mark.n_nested);
  gboolean part = job->farm->kind == HASS_FARM_PARTITION;
  hass_job_add_unfinished (job, block->seq, 1, part ? block->first : 0,
                           part ? block->count : 0, error->message);
  if (job->farm->run->on_error == HASS_ON_ERROR_CONTINUE)
    {
      g_error_free (error);
      return;
    }
  g_prefix_error (&error,
                  "farm '%s': worker failed on load %" G_GUINT64_FORMAT
                  " (elements %zu to %zu): ",
                  job->farm->name, block->seq, block->first,
                  block->first + block->count);
  hass_job_stop (job, error);
}

/* FALSE, and the farm stops: the block has bytes for a GPU but no address. A
   bundler or an unbundler may know where they are; on cores alone the number
   bounds the pool and the worker knows. */
gboolean
hass_execute_check (HassJob *job, const HassBlock *block)
{
  gboolean in = !block->input && block->input_bytes > 0 && !job->farm->bundle;
  gboolean out
      = !block->output && block->output_bytes > 0 && !job->farm->unbundle;
  gboolean copied = job->farm->gpu_worker || job->farm->gpu_worker_of;
  if (!copied || (!in && !out))
    return TRUE;
  const char *what = in ? "input" : "output";
  hass_job_stop (job,
                 g_error_new (HASS_ERROR, HASS_ERROR_INVALID,
                              "farm '%s': load %" G_GUINT64_FORMAT
                              ": %s is NULL, but %s_bytes is %zu",
                              job->farm->name, block->seq, what, what,
                              in ? block->input_bytes : block->output_bytes));
  return FALSE;
}

/* Adds the unit's output as its result, unless it emitted one. */
static void
output_is_result (HassJob *job, HassWorker *worker, const HassBlock *block)
{
  if (worker->has_result || !block->output)
    return;
  HassResultItem record = { .seq = block->seq,
                            .tag = block->load->tag,
                            .first = block->first,
                            .count = block->count,
                            .data = block->output,
                            .bytes = block->output_bytes };
  if (!worker->run)
    worker->run = hass_result_pool_run (job->results);
  hass_run_add (worker->run, &record, NULL);
}

/* FALSE: the unit failed. */
static inline gboolean
compute (HassJob *job, HassWorker *worker, const HassBlock *block,
         HassCpuWorkerFunc function, gpointer data)
{
  Mark mark = { worker->run ? worker->run->used : 0,
                worker->nested ? worker->nested->len : 0 };
  GError *error = NULL;
  if (G_UNLIKELY (hass_block_is_nowhere (block))
      && !hass_execute_check (job, block))
    {
      hass_job_add_unfinished (job, block->seq, 1, 0, 0,
                               "its input or output is NULL");
      return FALSE;
    }
  worker->has_result = FALSE;
  gboolean ok = function (block, worker, data, &error);
  if (G_UNLIKELY (!hass_callback_ok (ok, &error, HASS_ERROR_WORKER)))
    {
      failed (job, worker, block, mark, error);
      return FALSE;
    }
  if (job->results)
    output_is_result (job, worker, block);
  return TRUE;
}

static void
commit (HassJob *job, HassWorker *worker, HassSlot *slot, guint32 unit,
        guint32 n_units)
{
  HassRun *run = worker->run;
  worker->run = NULL;
  if (!job->results || (!run && !job->ordered))
    return;
  if (!run)
    run = hass_result_pool_run (job->results);
  run->key = slot->order_base + unit;
  run->n_units = n_units;
  gint64 ns = hass_result_pool_commit (job->results, run);
  if (job->engine->real_time)
    worker->collect_ns += ns;
}

static void
flush_nested (HassJob *job, HassWorker *worker)
{
  GArray *nested = worker->nested;
  if (!nested || nested->len == 0)
    return;
  hass_load_pool_add_nested (job->pool, (HassLoad *)nested->data, nested->len);
  g_array_set_size (nested, 0);
  job->engine->changed (job);
}

static inline void
add_done (HassDone *done, const HassRound *round, const HassBlock *block,
          guint32 position, gsize bytes)
{
  done->n++;
  done->bytes += bytes;
  done->halo += block->halo_before + block->halo_after;
  if (round->divisible)
    done->work += block->count;
  else if (round->cost == HASS_COST_SIZED)
    done->work += hass_round_true_cost (round, position);
  else
    done->work += 1;
}

/* Units one by one. In sequence order a permuted round commits each by
   itself, since neighbours in position are not neighbours in sequence. */
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
  for (guint32 i = 0; i < e.n && !hass_job_stopping (job); i++)
    {
      hass_round_block (round, e.first + i, &block);
      if (sized && !hass_job_check_cost (job, block.load, block.seq))
        break;
      gsize bytes = block.input_bytes;
      if (!dry
          && !compute (job, worker, &block, farm->cpu_worker,
                       farm->cpu_worker_data))
        done.n_failed++;
      if (alone)
        commit (job, worker, slot, hass_round_unit (round, e.first + i), 1);
      add_done (&done, round, &block, e.first + i, bytes);
    }
  worker->unit = NULL;
  if (!alone && done.n > 0)
    commit (job, worker, slot, e.first, done.n);
  return done;
}

/* The same for loads in the order they lie in, which is most of them: what is
   the same for all units is looked up once. */
static HassDone
compute_plain (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e)
{
  const HassRound *round = &slot->round;
  const HassLoad *loads = round->loads;
  guint64 at = round->base + e.first, mask = round->mask;
  gboolean sized = round->cost == HASS_COST_SIZED;
  HassCpuWorkerFunc function = job->farm->cpu_worker;
  gpointer data = job->farm->cpu_worker_data;
  HassDone done = { 0 };
  HassBlock block = { .seq = round->seq_base + e.first };
  worker->unit = &block;
  for (; done.n < e.n && !hass_job_stopping (job); done.n++)
    {
      const HassLoad *load = &loads[(at + done.n) & mask];
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
        done.work += hass_round_true_cost (round, e.first + done.n);
      if (G_UNLIKELY (!compute (job, worker, &block, function, data)))
        done.n_failed++;
      block.seq++;
    }
  worker->unit = NULL;
  if (!sized)
    done.work = done.n;
  if (done.n > 0)
    commit (job, worker, slot, e.first, done.n);
  return done;
}

/* Adjacent blocks of a divisible load, as one. */
static HassDone
compute_merged (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e,
                const HassBlock *block, gboolean dry)
{
  const HassFarm *farm = job->farm;
  if (hass_job_stopping (job))
    return (HassDone){ 0 };
  HassDone done = { .n = e.n,
                    .bytes = block->input_bytes,
                    .work = block->count,
                    .halo = block->halo_before + block->halo_after };
  worker->unit = block;
  if (!dry
      && !compute (job, worker, block, farm->cpu_worker, farm->cpu_worker_data))
    done.n_failed = e.n;
  worker->unit = NULL;
  commit (job, worker, slot, e.first, e.n);
  return done;
}

static void
count_failures (HassJob *job, const HassWorker *worker, guint32 n)
{
  guint n_cores = MAX (job->n_cores, 1);
  guint d = job->cpu >= 0 && worker->index < n_cores
                ? (guint)job->cpu
                : worker->index - n_cores + (job->cpu >= 0 ? 1 : 0);
  job->totals[d].failures++;
  job->totals[d].failed_units += n;
}

/* Computes the units of an extent; dry: only counts them. Those not begun
   because the farm stops are given back. The caller adds up what is done,
   then finishes the units. */
HassDone
hass_execute (HassJob *job, HassWorker *worker, HassSlot *slot, HassExtent e,
              gboolean dry)
{
  HassBlock block;
  worker->owner = pthread_self ();
  const char *before = hass_engine_enter_callback ("cpu_worker", job);
  gint64 collect_ns = worker->collect_ns;
  HassDone done;
  if (hass_round_merge (&slot->round, e, &block))
    done = compute_merged (job, worker, slot, e, &block, dry);
  else if (!dry && !slot->round.divisible && !hass_round_order (&slot->round))
    done = compute_plain (job, worker, slot, e);
  else
    done = compute_each (job, worker, slot, e, dry);
  hass_engine_leave_callback (before);
  done.collect_ns = worker->collect_ns - collect_ns;
  done.exclusive = hass_round_is_exclusive (&slot->round, e) ? done.work : 0;
  flush_nested (job, worker);
  if (G_LIKELY (done.n == e.n && done.n_failed == 0))
    return done;
  /* Under the lock: a strategy may be moving what waits. */
  pthread_mutex_lock (&job->decision);
  if (done.n_failed > 0)
    count_failures (job, worker, done.n_failed);
  hass_round_give_back (&slot->round,
                        (HassExtent){ e.first + done.n, e.n - done.n });
  pthread_mutex_unlock (&job->decision);
  return done;
}

/* -- What a device has computed ----------------------------------------- */

/* The records of a bundle, those of each block together. */
typedef struct
{
  guint8 *bytes;  /* [n * record_bytes], sorted; NULL: as they came */
  guint64 *first; /* [n_blocks + 1] */
} Sorted;

/* Counting sort by block; a block's records keep their order. */
static Sorted
sort_records (const HassBundleDone *done, gsize n_blocks, gsize record_bytes)
{
  Sorted s = { NULL, g_new0 (guint64, n_blocks + 2) };
  if (n_blocks == 1 || !done->record_blocks)
    {
      s.first[1] = done->n_records;
      return s;
    }
  s.bytes = g_malloc (MAX (done->n_records * record_bytes, 1));
  for (guint64 i = 0; i < done->n_records; i++)
    s.first[MIN (done->record_blocks[i], n_blocks - 1) + 2]++;
  for (gsize k = 0; k < n_blocks; k++)
    s.first[k + 2] += s.first[k + 1];
  for (guint64 i = 0; i < done->n_records; i++)
    {
      gsize k = MIN (done->record_blocks[i], n_blocks - 1);
      memcpy (s.bytes + s.first[k + 1]++ * record_bytes,
              (const guint8 *)done->records + i * record_bytes, record_bytes);
    }
  return s;
}

/* One block's results: the farm's gpu_result, or its output. */
static gboolean
take_block (HassJob *job, HassWorker *worker, const HassBlock *block,
            gconstpointer records, gsize n_records)
{
  const HassFarm *farm = job->farm;
  Mark mark = { worker->run ? worker->run->used : 0,
                worker->nested ? worker->nested->len : 0 };
  GError *error = NULL;
  worker->unit = block;
  worker->has_result = FALSE;
  gboolean ok = TRUE;
  if (farm->gpu_result)
    ok = farm->gpu_result (block, records, n_records, worker, farm->user_data,
                           &error);
  ok = hass_callback_ok (ok, &error, HASS_ERROR_WORKER);
  if (!ok)
    failed (job, worker, block, mark, error);
  else if (job->results)
    output_is_result (job, worker, block);
  worker->unit = NULL;
  return ok;
}

/* Takes over what a bundle, whose outputs are back in host memory, has left:
   its accumulator, its results. Returns how many units failed in that. */
guint32
hass_execute_bundle_results (HassJob *job, HassWorker *worker, HassSlot *slot,
                             HassExtent e, const HassBlock *blocks,
                             gsize n_blocks, const HassBundleDone *done)
{
  const HassFarm *farm = job->farm;
  gboolean alone = job->ordered && hass_round_order (&slot->round);
  guint32 n_failed = 0;
  worker->owner = pthread_self ();
  const char *before = hass_engine_enter_callback ("gpu_result", job);
  if (farm->reduce && done->accumulator)
    farm->reduce (worker->accumulator, done->accumulator, farm->user_data);
  if (farm->gpu_result || job->results)
    {
      Sorted s = sort_records (done, n_blocks, farm->gpu_record_bytes);
      const guint8 *records = s.bytes ? s.bytes : done->records;
      for (gsize i = 0; i < n_blocks; i++)
        {
          if (!take_block (job, worker, &blocks[i],
                           records + s.first[i] * farm->gpu_record_bytes,
                           s.first[i + 1] - s.first[i]))
            n_failed += n_blocks == 1 ? e.n : 1;
          if (alone)
            commit (job, worker, slot,
                    hass_round_unit (&slot->round, e.first + (guint32)i), 1);
        }
      g_free (s.bytes);
      g_free (s.first);
      if (!alone)
        commit (job, worker, slot, e.first, e.n);
    }
  hass_engine_leave_callback (before);
  flush_nested (job, worker);
  if (n_failed > 0)
    {
      pthread_mutex_lock (&job->decision);
      count_failures (job, worker, n_failed);
      pthread_mutex_unlock (&job->decision);
    }
  return n_failed;
}

/* One unit that no device can take: it fails. */
void
hass_execute_refused (HassJob *job, HassWorker *worker, HassSlot *slot,
                      HassExtent e, const char *why)
{
  HassBlock block;
  Mark mark = { 0, 0 };
  hass_round_block (&slot->round, e.first, &block);
  failed (job, worker, &block, mark,
          g_error_new_literal (HASS_ERROR, HASS_ERROR_NO_MEMORY, why));
  commit (job, worker, slot, hass_round_unit (&slot->round, e.first), e.n);
  pthread_mutex_lock (&job->decision);
  count_failures (job, worker, e.n);
  pthread_mutex_unlock (&job->decision);
}

/* Adds what is done to the round's counters. The caller alone writes this
   counter, so plain adding of relaxed values is enough. */
void
hass_execute_count (HassJob *job, HassWorker *worker, HassSlot *slot,
                    HassDone done, gint64 busy_ns, gint64 end_ns)
{
  HassCounter *c = &slot->round.counters[worker->counter];
#define ADD(field, value)                                                      \
  atomic_store_explicit (                                                      \
      &c->field,                                                               \
      atomic_load_explicit (&c->field, memory_order_relaxed) + (value),        \
      memory_order_relaxed)
  ADD (units, done.n);
  ADD (bundles, done.part ? 0 : 1);
  ADD (busy_ns, busy_ns);
  ADD (bytes, done.bytes);
  ADD (work, done.work);
  if (G_UNLIKELY (done.halo > 0))
    ADD (halo, done.halo);
  if (G_UNLIKELY (done.exclusive > 0))
    ADD (exclusive, done.exclusive);
#undef ADD
  atomic_store_explicit (&c->last_finish_ns, end_ns, memory_order_relaxed);
  worker->last_end_ns = end_ns;
  worker->computed_ns = end_ns - done.collect_ns;
  /* Acquire pairs with the release in hass_job_generate. */
  if (atomic_load_explicit (&job->generated, memory_order_acquire))
    busy_ns = CLAMP (job->phases.generated_ns - (end_ns - busy_ns), 0, busy_ns);
  worker->early_ns += busy_ns;
  if (job->farm->run->progress)
    {
      atomic_fetch_add_explicit (&job->units_done, done.n,
                                 memory_order_relaxed);
      atomic_fetch_add_explicit (&job->bytes_done, done.bytes,
                                 memory_order_relaxed);
    }
}

/* -- How many to pull --------------------------------------------------- */

/* What the strategy asks for, or a share of what waits; but at least what
   fills 100 us by the costs seen lately, growing at most eightfold from pull
   to pull, and never so much that the other cores would wait for it, unless
   that would make a pull of less than 2 us: then cores would spend their
   time on passing the range's line around. */
guint32
hass_chunk (HassJob *job, HassWorker *worker, HassSlot *slot)
{
  HassRound *round = &slot->round;
  gint32 source
      = atomic_load_explicit (&round->pull_source, memory_order_acquire);
  if (source < 0)
    return 1;
  guint32 waiting = hass_unit_range_peek (&round->ranges[source]).n;
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
  /* Where the next round begins before this one has ended, what waits for
     it counts too. */
  if (k > MAX (fair, least) && hass_job_overlaps (job)
      && job->farm->kind != HASS_FARM_PARTITION)
    fair = (guint32)MIN ((waiting + hass_load_pool_waiting (job->pool))
                             / (4 * job->n_cores),
                         G_MAXUINT32);
  k = MIN (k, MAX (fair, least));
  return MAX (k, 1);
}

/* -- Collecting --------------------------------------------------------- */

/* The result pool's way to the user's collector. */
gboolean
hass_job_collect (const HassResultItem *record, gpointer data)
{
  HassJob *job = data;
  HassResult result = { record->seq,   record->tag,  record->first,
                        record->count, record->data, record->bytes };
  GError *error = NULL;
  const char *before = hass_engine_enter_callback ("collector", job);
  gboolean ok = job->farm->collect (&result, job->farm->user_data, &error);
  hass_engine_leave_callback (before);
  if (hass_callback_ok (ok, &error, HASS_ERROR_COLLECTOR))
    return TRUE;
  g_prefix_error (&error,
                  "farm '%s': collector failed on a result of load "
                  "%" G_GUINT64_FORMAT ": ",
                  job->farm->name, record->seq);
  hass_job_stop (job, error);
  return FALSE;
}

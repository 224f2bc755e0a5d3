/* SPDX-License-Identifier: MIT */
/* results.c: takes over what units emit or leave, computed by a core or by a
   device: results, nested loads (loads that a worker emits), failures.

   DESIGN. The results of one pull or bundle form one run, which is committed to
   the result pool as a whole. A unit that fails leaves nothing: its results and
   its nested loads are dropped.

   Thread safety: a worker context belongs to one thread at a time; collecting
   under the result pool's delivery. */
#include "job-private.h"
#include "pool/callback_error.h"

#include <string.h>

/* -- A unit ------------------------------------------------------------- */

/* Drops all but the first @n nested loads (loads that the worker's callback has
   emitted): the others were emitted by a unit that has failed. */
static void
drop_nested (HassJob *job, HassWorker *worker, guint n)
{
  for (guint i = n; i < worker->n_nested; i++)
    hass_job_disown (job, &worker->nested[i], 0);
  worker->n_nested = n;
}

/* Handles a failed unit: drops the results and loads that the unit has emitted
   since @mark, lists it as unfinished and, by the farm's error policy, stops
   the farm. Takes over @error. */
void
hass_unit_failed (HassJob *job, HassWorker *worker, const HassBlock *block,
                  HassUnitMark mark, GError *error)
{
  if (worker->run)
    worker->run->used = mark.run_used;
  drop_nested (job, worker, mark.n_nested);
  gboolean part = job->farm->kind == HASS_FARM_PARTITION;
  hass_job_add_unfinished (job, block->seq, 1, part ? block->first : 0,
                           part ? block->count : 0, error->message);
  if (job->farm->run->on_error == HASS_ON_ERROR_CONTINUE)
    {
      g_error_free (error);
      return;
    }
  g_autofree char *elements
      = part ? g_strdup_printf (", elements %zu to %zu", block->first,
                                block->first + block->count - 1)
             : NULL;
  g_prefix_error (&error,
                  "farm '%s': worker failed on load %" G_GUINT64_FORMAT "%s: ",
                  job->farm->name, block->seq, elements ? elements : "");
  hass_job_stop (job, error);
}

/* Handles a unit that was taken from its core: drops what it has emitted since
   @mark, and the reason for which it ended early. A run without results is not
   kept, as the core may have no further unit with which to commit it. */
void
hass_unit_given_back (HassJob *job, HassWorker *worker, HassUnitMark mark,
                      GError *error)
{
  if (worker->run)
    worker->run->used = mark.run_used;
  if (mark.run_used == 0)
    g_clear_pointer (&worker->run, hass_run_free);
  drop_nested (job, worker, mark.n_nested);
  g_error_free (error);
  worker->gave_back = TRUE;
}

/* Checks a block that has an input or output of some bytes but without an
   address. A farm with a GPU worker needs an address, unless a bundler or an
   unbundler finds the bytes; a farm without one only counts the bytes against
   the bound of the pool. Returns: FALSE if the address is missing; the farm is
   stopped. */
gboolean
hass_results_check (HassJob *job, const HassBlock *block)
{
  gboolean in = !block->input && block->input_bytes > 0 && !job->farm->bundle;
  gboolean out
      = !block->output && block->output_bytes > 0 && !job->farm->unbundle;
  gboolean copied = job->farm->gpu_worker || job->farm->gpu_worker_of;
  if (!copied || (!in && !out))
    return TRUE;
  const char *what = in ? "input" : "output";
  hass_job_fail (job, HASS_ERROR_INVALID,
                 "load %" G_GUINT64_FORMAT ": %s is NULL, but %s_bytes is %zu",
                 block->seq, what, what,
                 in ? block->input_bytes : block->output_bytes);
  return FALSE;
}

/* Adds the output memory of a unit to the worker's run of results. */
void
hass_unit_add_output (HassJob *job, HassWorker *worker, const HassBlock *block)
{
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

void
hass_units_commit (HassJob *job, HassWorker *worker, HassSlot *slot,
                   guint32 unit, guint32 n_units)
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

void
hass_units_flush_nested (HassJob *job, HassWorker *worker)
{
  guint n = worker->n_nested;
  if (n == 0)
    return;
  worker->n_nested = 0;
  if (job->ready)
    hass_open_join (
        job, worker,
        &(HassSpan){ .loads = worker->nested, .mask = G_MAXUINT64, .n = n });
  else
    hass_load_pool_add_nested (job->pool, worker->nested, n);
  if (job->ready)
    job->engine->joined (job);
  else
    job->engine->changed (job);
}

void
hass_units_count_failures (HassJob *job, const HassWorker *worker, guint32 n)
{
  guint n_cores = MAX (job->n_cores, 1);
  guint d = job->cpu >= 0 && worker->index < n_cores
                ? (guint)job->cpu
                : worker->index - n_cores + (job->cpu >= 0 ? 1 : 0);
  job->totals[d].failures++;
  job->totals[d].failed_units += n;
}

/* -- What a device has computed ----------------------------------------- */

/* The records that a GPU worker has written for a bundle, sorted by block. */
typedef struct
{
  /* [number of records * record_bytes]; NULL: they were sorted already */
  guint8 *bytes;
  guint64 *first; /* [n_blocks + 1]: first record of each block */
} Sorted;

/* Sorts the records of a bundle by block with a counting sort, so that the
   records of one block keep their order. */
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

/* Takes over the results of one block that a device has computed: what the
   user's gpu_result() emits, or the block's output. Returns: FALSE if
   gpu_result() failed. */
static gboolean
take_block (HassJob *job, HassWorker *worker, const HassBlock *block,
            gconstpointer records, gsize n_records)
{
  const HassFarm *farm = job->farm;
  HassUnitMark mark = { worker->run ? worker->run->used : 0, worker->n_nested };
  GError *error = NULL;
  worker->unit = block;
  worker->has_result = FALSE;
  gboolean ok = TRUE;
  if (farm->gpu_result)
    ok = farm->gpu_result (block, records, n_records, worker, farm->user_data,
                           &error);
  ok = hass_callback_ok (ok, &error, HASS_ERROR_WORKER);
  if (!ok)
    hass_unit_failed (job, worker, block, mark, error);
  else
    hass_unit_output_is_result (job, worker, block);
  worker->unit = NULL;
  return ok;
}

/* Returns: how many units of the round became one block. */
static guint32
merged (const HassRound *round, const HassBlock *block)
{
  const HassDivision *d = &round->division;
  if (!round->divisible || d->blocks)
    return 1;
  return (guint32)((block->count - 1) / d->block_elements + 1);
}

/* Takes over the accumulator and the results of a bundle whose outputs are in
   host memory. Returns: the number of units for which that failed. */
guint32
hass_results_of_bundle (HassWorker *worker, HassSlot *slot, HassExtent e,
                        const HassBlock *blocks, gsize n_blocks,
                        const HassBundleDone *done)
{
  HassJob *job = worker->job;
  const HassFarm *farm = job->farm;
  gboolean alone = job->ordered && hass_round_order (&slot->round);
  guint32 n_failed = 0;
  HassCallback before = hass_engine_enter_callback ("gpu_result", job, worker);
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
            n_failed += merged (&slot->round, &blocks[i]);
          if (alone) /* a round with an order has no merged blocks */
            hass_units_commit (
                job, worker, slot,
                hass_round_unit (&slot->round, e.first + (guint32)i), 1);
        }
      g_free (s.bytes);
      g_free (s.first);
      if (!alone)
        hass_units_commit (job, worker, slot, e.first, e.n);
    }
  hass_engine_leave_callback (before);
  if (job->ready)
    hass_open_follow (
        job, worker, slot, e,
        &(HassDone){ .n = e.n,
                     .work = hass_round_work_taken (&slot->round, e) });
  hass_units_flush_nested (job, worker);
  if (n_failed > 0)
    {
      hass_lock_take (&job->decision);
      hass_units_count_failures (job, worker, n_failed);
      hass_lock_give (&job->decision);
    }
  return n_failed;
}

void
hass_results_refused (HassJob *job, HassWorker *worker, HassSlot *slot,
                      HassExtent e, const char *why)
{
  HassBlock block;
  HassUnitMark mark = { 0, 0 };
  if (job->source->refused)
    {
      job->source->refused (job, slot, e.first, why);
      return;
    }
  hass_round_block (&slot->round, e.first, &block);
  hass_unit_failed (
      job, worker, &block, mark,
      g_error_new_literal (HASS_ERROR, HASS_ERROR_NO_MEMORY, why));
  hass_units_commit (job, worker, slot, hass_round_unit (&slot->round, e.first),
                     e.n);
  hass_lock_take (&job->decision);
  hass_units_count_failures (job, worker, e.n);
  hass_lock_give (&job->decision);
}

/* -- Collecting --------------------------------------------------------- */

/* Passes one result to the user's collector; called by the result pool.
   Returns: FALSE if the collector failed, which stops the farm. */
gboolean
hass_job_collect (const HassResultItem *record, gpointer data)
{
  HassJob *job = data;
  HassResult result = { record->seq,   record->tag,  record->first,
                        record->count, record->data, record->bytes };
  GError *error = NULL;
  HassCallback before = hass_engine_enter_callback ("collector", job, NULL);
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

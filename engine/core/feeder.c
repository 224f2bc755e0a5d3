/* SPDX-License-Identifier: MIT */
/* feeder.c: the course of the grants and parts of one device. The DESIGN
   paragraph and the thread-safety line are in feeder.h. */
#include "feeder.h"
#include "job-private.h"

/* A device is given up after this many parts of grants in a row have failed. A
   guess: lower, and a passing fault costs a whole device; higher, and a broken
   device delays the farm for longer. */
#define FAILURES_IN_A_ROW 3
/* Least input bytes of a part (what is submitted at once) for which two parts
   in flight can fill the link; smaller copies leave gaps. A quarter of the part
   size of CUDA devices, a guess. Too low, and the link idles; too high, and
   copies share it needlessly. */
#define LARGE_BYTES ((guint64)8 << 20)
/* Two parts in flight are enough if a part's copy to the device takes this many
   times as long as its other stages together. A guess: 1 would do if no
   duration varied; higher, and fewer farms profit. */
#define FAR_LONGER 4

/* -- Set-up ------------------------------------------------------------- */

void
hass_feeder_init (HassFeeder *f, HassJob *job, guint d)
{
  const HassDeviceTraits *traits = &job->devices[d];
  /* The workers of the cores come first in job->workers; without a CPU pool
     there is one for the calling thread. */
  guint before = MAX (job->n_cores, 1), first_gpu = job->cpu >= 0 ? 1 : 0;
  *f = (HassFeeder){ .job = job,
                     .d = d,
                     .worker = &job->workers[before + d - first_gpu],
                     .depth = MAX (traits->max_in_flight, 1),
                     .part_bytes = traits->part_bytes,
                     .few_copies = TRUE };
  f->enough = f->depth;
  f->grants = g_new0 (HassFeederGrant, f->depth);
  f->parts = g_new0 (HassFeederPart, f->depth);
  for (guint i = 0; i < f->depth; i++)
    f->parts[i].index = i;
  if (traits->memory_bytes > 0)
    {
      guint64 each = MAX (traits->memory_bytes / f->depth, 1);
      f->part_bytes = f->part_bytes > 0 ? MIN (f->part_bytes, each) : each;
    }
}

void
hass_feeder_clear (HassFeeder *f)
{
  for (guint i = 0; i < f->depth; i++)
    g_free (f->parts[i].blocks);
  g_free (f->grants);
  g_free (f->parts);
}

/* -- What the report and the strategy are told -------------------------- */

/* Remembers domain and code of the device's latest error, so that the farm can
   fail with that error if no device is left. @error NULL clears them: the
   device gave no error. */
void
hass_feeder_remember (HassFeeder *f, const GError *error)
{
  f->error_domain = error ? error->domain : 0;
  f->error_code = error ? error->code : 0;
}

/* Keeps @message, with the domain and code of the device's latest error, for
   the farm's report, unless the report has a message for this device already.
   @part: (nullable): the part that failed, if the message does not name its
   load. The caller holds the decision lock. */
void
hass_feeder_note_locked (HassFeeder *f, const HassFeederPart *part,
                         const char *message)
{
  HassTotals *totals = &f->job->totals[f->d];
  if (part && !totals->message)
    totals->failed_load = part->blocks[0].seq + 1;
  if (message && !totals->message)
    {
      totals->error_domain = f->error_domain;
      totals->error_code = f->error_code;
    }
  hass_decide_note (f->job, f->d, message);
}

/* Marks the device as lost, with @message as the reason in the report: it is
   granted nothing more in any round. @part: as for hass_feeder_note_locked().
 */
void
hass_feeder_give_up (HassFeeder *f, const HassFeederPart *part,
                     const char *message)
{
  HassJob *job = f->job;
  hass_lock_take (&job->decision);
  hass_feeder_note_locked (f, part, message);
  hass_decide_lost (job, f->d, message);
  hass_lock_give (&job->decision);
}

/* If all units of a grant are cut into parts and all parts have been settled,
   frees the grant's entry and tells the strategy that the grant is complete.
   The caller holds the decision lock, and has held it since units of the grant
   were given back: others that take them can end the round, after which its
   slot is another round's. */
void
hass_feeder_finish_locked (HassFeeder *f, HassFeederGrant *grant, gint64 end_ns)
{
  if (grant->n_parts > 0 || grant->rest.n > 0)
    return;
  grant->busy = FALSE;
  f->n_grants--;
  f->part_units = 0;
  grant->told.end_ns = end_ns;
  grant->told.failed = grant->failed;
  hass_decide_completed (f->job, grant->round, &grant->told);
}

/* -- 1. and 2. Handing over --------------------------------------------- */

/* Returns the oldest grant with units that have not been cut into parts yet, or
   NULL. */
static HassFeederGrant *
grant_with_rest (HassFeeder *f)
{
  HassFeederGrant *oldest = NULL;
  for (guint i = 0; i < f->depth; i++)
    {
      HassFeederGrant *grant = &f->grants[i];
      if (grant->busy && grant->rest.n > 0
          && (!oldest || grant->told.grant_ns < oldest->told.grant_ns))
        oldest = grant;
    }
  return oldest;
}

static HassFeederGrant *
free_grant (HassFeeder *f)
{
  for (guint i = 0; i < f->depth; i++)
    if (!f->grants[i].busy)
      return &f->grants[i];
  return NULL;
}

static HassFeederPart *
free_part (HassFeeder *f)
{
  for (guint i = 0; i < f->depth; i++)
    if (!f->parts[i].grant)
      return &f->parts[i];
  return NULL;
}

static gboolean
is_lost (HassFeeder *f)
{
  hass_lock_take (&f->job->decision);
  gboolean lost = f->job->totals[f->d].lost;
  hass_lock_give (&f->job->decision);
  return lost;
}

/* Gives the units of a grant that have not been cut into parts back to the
   round and marks the grant as failed. Under the decision lock. */
static void
give_rest_back (HassFeederGrant *grant)
{
  hass_round_give_back (&grant->round->round, grant->rest);
  grant->rest.n = 0;
  grant->failed = TRUE;
}

/* Gives what is left of a grant back because the farm stops or the device is
   lost. */
static void
drop_rest (HassFeeder *f, HassFeederGrant *grant, gint64 now_ns)
{
  hass_lock_take (&f->job->decision);
  give_rest_back (grant);
  hass_feeder_finish_locked (f, grant, now_ns);
  hass_lock_give (&f->job->decision);
  f->job->engine->changed (f->job);
}

/* Returns what the engine should do for the device now: nothing, ask the
   strategy for a grant, submit @part, which this function has cut from the
   oldest grant, or call again, because the rest of a grant went back to its
   round. */
HassFeed
hass_feeder_next (HassFeeder *f, gint64 now_ns, HassFeederPart **part)
{
  gboolean stopping = hass_job_stopping (f->job);
  if (f->n_grants == 0) /* nor any part, so none of the entries is looked at */
    return stopping ? HASS_FEED_NOTHING : HASS_FEED_ASK;
  HassFeederGrant *grant = grant_with_rest (f);
  if (grant && (stopping || is_lost (f)))
    {
      drop_rest (f, grant, now_ns);
      return HASS_FEED_DROPPED;
    }
  *part = free_part (f);
  if (stopping || !*part || f->n_in_flight >= (f->alone ? 1 : f->enough))
    return HASS_FEED_NOTHING;
  if (!grant)
    return free_grant (f) ? HASS_FEED_ASK : HASS_FEED_NOTHING;
  hass_feeder_cut (f, grant, *part);
  return HASS_FEED_PART;
}

/* Stores the grant of @extent that the strategy has made after
   hass_feeder_next() returned HASS_FEED_ASK. */
void
hass_feeder_grant (HassFeeder *f, HassSlot *round, HassExtent extent,
                   gint64 now_ns)
{
  *free_grant (f) = (HassFeederGrant){
    .busy = TRUE,
    .round = round,
    .rest = extent,
    .told = { .device = f->d,
              .function = hass_round_function (&round->round, extent.first),
              .grant_ns = now_ns,
              .start_ns = MAX (now_ns, f->last_end_ns) }
  };
  f->n_grants++;
}

void
hass_feeder_submitted (HassFeeder *f)
{
  f->n_in_flight++;
  f->alone = FALSE;
}

/* -- 3. What has left the device ---------------------------------------- */

/* Returns how many parts of grants in flight keep the device busy from now on,
   also in later rounds, judged by @part, which has just left the device: two if
   its copy is large and takes far longer than its other stages, else all that
   the device allows. host_ns (gathering inputs on the host) and worker_ns (the
   GPU worker's own time on the host) count as other stages, since they must
   begin early to be overlapped. */
static guint
enough_parts (const HassFeeder *f, const HassFeederPart *part,
              const HassBundleDone *done)
{
  guint n_copied = f->busy_times ? 1 : f->n_in_flight + 1;
  double copy_ns = done->h2d_ns / n_copied;
  double else_ns
      = done->kernel_ns + done->d2h_ns + done->host_ns + done->worker_ns;
  return f->few_copies && part->in_bytes >= LARGE_BYTES
                 && copy_ns > FAR_LONGER * else_ns
             ? MIN (2, f->depth)
             : f->depth;
}

/* Removes the part of a grant that @done reports from the parts in flight and
   returns it; NULL: the device had no part in that slot. */
HassFeederPart *
hass_feeder_left (HassFeeder *f, const HassBundleDone *done)
{
  HassFeederPart *part = done->slot < f->depth ? &f->parts[done->slot] : NULL;
  if (!part || !part->grant)
    return NULL;
  f->n_in_flight--;
  f->enough = enough_parts (f, part, done);
  return part;
}

/* Takes over the results of @part of a grant, which the device has copied to
   host memory. Returns: what to add to the round's counters. */
HassDone
hass_feeder_results (HassFeeder *f, const HassFeederPart *part,
                     const HassBundleDone *done)
{
  HassSlot *round = part->grant->round;
  HassExtent e = part->extent;
  HassDone counted = { .n = e.n,
                       .bytes = part->in_bytes,
                       .work = hass_round_work_taken (&round->round, e) };
  if (G_UNLIKELY (f->worker->functions))
    hass_functions_note (f->worker, &round->round, e);
  if (hass_round_is_exclusive (&round->round, e))
    counted.exclusive = counted.work;
  for (gsize i = 0; i < part->n_blocks; i++)
    counted.halo += part->blocks[i].halo_before + part->blocks[i].halo_after;
  counted.n_failed = hass_results_of_bundle (f->worker, round, e, part->blocks,
                                             part->n_blocks, done);
  return counted;
}

/* Estimates when the stages of a part of a grant (copy in, kernel, copy out)
   began and ended, since devices report only durations. Each stage is assumed
   to begin when the stage before it and the same stage of the previous part are
   over; then stages are moved forward so that none ends after the beginning of
   the stage that follows, or after @end_ns. */
static const HassStages *
estimated_stages (HassFeeder *f, const HassFeederPart *part,
                  const HassBundleDone *done, gint64 end_ns)
{
  const double ns[] = { done->h2d_ns, done->kernel_ns, done->d2h_ns };
  HassStages *s = &f->stages;
  gint64 at = part->submit_ns, last = end_ns;
  for (guint i = 0; i < HASS_N_STAGES; i++)
    {
      s->begin_ns[i] = MAX (at, s->end_ns[i]);
      at = s->begin_ns[i] + (gint64)ns[i];
    }
  for (guint i = HASS_N_STAGES; i-- > 0;)
    {
      s->end_ns[i] = MIN (s->begin_ns[i] + (gint64)ns[i], last);
      s->begin_ns[i] = MAX (s->end_ns[i] - (gint64)ns[i],
                            MIN (part->submit_ns, s->end_ns[i]));
      last = s->begin_ns[i];
    }
  return s;
}

/* Adds the times and amounts of a part that has not failed to the completion of
   its grant, which the strategy is told when the grant is complete. */
static void
add_up (HassCompletion *told, const HassFeederPart *part,
        const HassFeederBack *back)
{
  const HassBundleDone *done = back->done;
  told->units += back->counted.n;
  told->work += back->counted.work;
  told->elements += part->elements;
  told->bytes += part->in_bytes;
  told->h2d_ns += done->h2d_ns;
  told->kernel_ns += done->kernel_ns;
  told->d2h_ns += done->d2h_ns;
  told->host_ns += done->host_ns;
  told->worker_ns += done->worker_ns;
  told->kernel_busy_ns += done->kernel_busy_ns;
  told->h2d_busy_ns += done->h2d_busy_ns;
  told->d2h_busy_ns += done->d2h_busy_ns;
  told->setup_ns += done->setup_ns;
}

/* Announces a part that has left the device, before its units end the round or,
   given back, are taken by others that end it, and its slot is used again. */
static void
announce (HassFeeder *f, const HassFeederPart *part, const HassFeederBack *back)
{
  const HassFeederGrant *grant = part->grant;
  const HassBundleDone *done = back->done;
  const HassRound *round = &grant->round->round;
  HassPartFact fact
      = { .round = round,
          .first = grant->round->order_base,
          .device = f->d,
          .worker = f->worker->index,
          .stage = grant->round->stage,
          .fused = grant->round->fused,
          .extent = part->extent,
          .n = done->failed ? part->extent.n : back->counted.n,
          .grant_ns = grant->told.grant_ns,
          .submit_ns = part->submit_ns,
          .start_ns = MAX (part->submit_ns, f->last_end_ns),
          .left_ns = back->left_ns,
          .end_ns = back->end_ns,
          .settled_ns = back->settled_ns,
          .h2d_ns = done->h2d_ns,
          .kernel_ns = done->kernel_ns,
          .d2h_ns = done->d2h_ns,
          .busy_ns
          = { done->h2d_busy_ns, done->kernel_busy_ns, done->d2h_busy_ns },
          .busy_times = f->busy_times,
          .stages = back->stages,
          .work = done->failed ? hass_round_work_taken (round, part->extent)
                               : back->counted.work,
          .elements = part->elements,
          .in_bytes = part->in_bytes,
          .out_bytes = part->out_bytes,
          .failed = done->failed };
  if (!fact.stages && !done->failed)
    fact.stages = estimated_stages (f, part, done, back->left_ns);
  HASS_ANNOUNCE (f->job, part, &fact);
}

/* Counts failed parts of grants in a row and gives the device up if it says
   that it is lost or after FAILURES_IN_A_ROW. A part that failed from the same
   cause as the one before it (done->together) is not counted again. */
static void
count_failure (HassFeeder *f, const HassFeederPart *part,
               const HassFeederBack *back)
{
  const HassBundleDone *done = back->done;
  if (!done->failed)
    f->n_failures = 0;
  else if (!done->together)
    f->n_failures++;
  if (done->lost || f->n_failures >= FAILURES_IN_A_ROW)
    hass_feeder_give_up (f, part, back->message);
}

/* Counts the units of a part that has not failed. */
static void
count (HassFeeder *f, const HassFeederPart *part, const HassFeederBack *back)
{
  HassFeederGrant *grant = part->grant;
  HassDone counted = back->counted;
  counted.part = grant->counted;
  counted.function = grant->told.function;
  if (counted.n > 0)
    hass_execute_count (f->job, f->worker, grant->round, counted,
                        back->end_ns - MAX (part->submit_ns, f->last_end_ns),
                        back->end_ns);
  grant->counted |= counted.n > 0;
  grant->failed |= counted.n == 0;
  add_up (&grant->told, part, back);
}

/* Books a part of a grant that has left the device, or was refused, and frees
   its slot: counts its units, or gives them back to the round, with what is
   left of the grant, if it failed. The caller passes the counted units to
   hass_job_units_finished(). */
void
hass_feeder_settle (HassFeeder *f, HassFeederPart *part,
                    const HassFeederBack *back)
{
  HassFeederGrant *grant = part->grant;
  gboolean failed = back->done->failed;
  count_failure (f, part, back);
  if (G_UNLIKELY (f->job->listeners))
    announce (f, part, back);
  if (!failed)
    count (f, part, back);
  f->last_end_ns = back->end_ns;
  f->last_left_ns = MAX (f->last_left_ns, back->left_ns);
  grant->n_parts--;
  part->grant = NULL;
  hass_lock_take (&f->job->decision);
  if (failed)
    {
      hass_feeder_note_locked (f, part, back->message);
      hass_round_give_back (&grant->round->round, part->extent);
      give_rest_back (grant);
    }
  hass_feeder_finish_locked (f, grant, f->last_left_ns);
  hass_lock_give (&f->job->decision);
}

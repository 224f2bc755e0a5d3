/* SPDX-License-Identifier: MIT */
/* decide.c: asks the strategy; that a round always goes on is guaranteed by
   liveness.c.

   DESIGN.
   1. Asking. Each device has a seat in the round, which says whether the
      strategy may be asked for the device: ASK: yes; WAIT: after the next
      completion; DONE: not in this round; LOST: never again.
   2. The CPU pool. A grant to it names a range (a queue of units) from which
      the cores pull; they return here only when it is empty. The units of a
      grant that is limited are first moved to the range HASS_RANGE_ALLOTMENT.
   3. Completions. The strategy is told of a completion; then seats that wait
      may be asked again. A WAIT with an end is also over at that time.

   Thread safety: under the decision lock. */
#include "job-private.h"

#include "engine/profile/sampler.h"

gint64 hass_late_ns = 5000000000;

static const HassStrategyOps *
ops (HassJob *job)
{
  return job->strategy->ops;
}

static void
granted (HassJob *job, HassSlot *slot, guint device, const HassGrant *grant)
{
  HASS_ANNOUNCE (job, granted,
                 &(HassGranted){ .round = &slot->round,
                                 .device = device,
                                 .grant = grant,
                                 .at_ns = job->engine->now (job) });
  if (ops (job)->granted)
    ops (job)->granted (job->strategy->self, &slot->round, device, grant);
}

static HassAnswer
ask (HassJob *job, HassSlot *slot, guint device, HassGrant *grant)
{
  *grant = (HassGrant){ .share = device };
  HassSeat *seat = &slot->seats[device];
  job->n_asked++;
  HassAnswer answer = ops (job)->grant (job->strategy->self, &slot->round,
                                        device, slot->forced, grant);
  seat->state = answer == HASS_TAKE   ? HASS_SEAT_ASK
                : answer == HASS_WAIT ? HASS_SEAT_WAIT
                                      : HASS_SEAT_DONE;
  seat->again_ns = 0;
  if (answer == HASS_WAIT && grant->within_ns > 0)
    {
      gint64 now = job->engine->now (job);
      seat->again_ns = now + MIN (grant->within_ns, G_MAXINT64 - now);
    }
  return answer;
}

static void
look_at_clock (HassJob *job, HassSeat *seat)
{
  if (seat->state == HASS_SEAT_WAIT && seat->again_ns > 0
      && job->engine->now (job) >= seat->again_ns)
    seat->state = HASS_SEAT_ASK;
}

/* Returns when a device that is being opened is late, in ns on the engine's
   clock. 0: it is open, or nobody knows when it should be. */
gint64
hass_decide_late_ns (const HassJob *job, guint device)
{
  const HassDeviceTraits *t = &job->devices[device];
  return t->opening && t->opens_at_ns > 0 ? t->opens_at_ns + hass_late_ns : 0;
}

/* Returns when a WAIT of the device ends although nothing was completed; 0: the
   strategy did not answer WAIT, or nothing ends it. A WAIT without an end may
   count on a device that is being opened; once that is late, liveness.c does
   not. */
static gint64
wait_ends_ns (HassJob *job, const HassSlot *slot, guint device)
{
  const HassSeat *seat = &slot->seats[device];
  if (seat->state != HASS_SEAT_WAIT)
    return 0;
  if (seat->again_ns > 0)
    return seat->again_ns;
  gint64 first_ns = 0;
  for (guint d = 0; d < job->n_devices; d++)
    {
      gint64 late_ns = hass_decide_late_ns (job, d);
      if (late_ns > 0 && job->engine->now (job) < late_ns
          && (first_ns == 0 || late_ns < first_ns))
        first_ns = late_ns;
    }
  return first_ns;
}

/* Returns when the device may be asked for again, or may have what cores have
   begun, although nothing was completed, in ns on the engine's clock; 0:
   never. */
gint64
hass_decide_again_ns (HassJob *job, const HassSlot *slot, guint device)
{
  gint64 ends_ns = wait_ends_ns (job, slot, device);
  gint64 look_ns = slot->seats[device].look_ns;
  return ends_ns > 0 && look_ns > 0 ? MIN (ends_ns, look_ns)
                                    : MAX (ends_ns, look_ns);
}

/* -- 2. The CPU pool ---------------------------------------------------- */

static gint32
source_of (const HassJob *job, const HassRound *round, const HassGrant *grant)
{
  if (round->ready)
    return HASS_RANGE_COMMON;
  if (grant->source == HASS_FROM_SHARE || grant->source == HASS_FROM_THEFT)
    return HASS_RANGE_SHARES + MIN (grant->share, job->n_devices - 1);
  return HASS_RANGE_COMMON;
}

static gboolean
anything_for_cpu (HassRound *round, gint32 source)
{
  if (G_UNLIKELY (round->ready))
    return hass_round_has_returned (round, HASS_DEVICE_CPU)
           || (source == HASS_RANGE_COMMON && hass_round_can_pull (round));
  return hass_unit_range_peek (&round->ranges[source]).n > 0
         || hass_round_partial_units (round, HASS_DEVICE_CPU) > 0
         || hass_round_has_returned (round, HASS_DEVICE_CPU);
}

/* Returns: TRUE if the cores can pull units of this round without asking the
   strategy first. Needs no lock. */
gboolean
hass_decide_pullable (HassSlot *slot)
{
  gint32 source
      = atomic_load_explicit (&slot->round.pull_source, memory_order_acquire);
  return source >= 0 && anything_for_cpu (&slot->round, source);
}

static void
publish (HassRound *round, gint32 source, guint64 chunk)
{
  atomic_store_explicit (&round->pull_chunk, chunk, memory_order_relaxed);
  /* Release pairs with the acquire in hass_round_pull and makes the range and
     the chunk visible to the cores. */
  atomic_store_explicit (&round->pull_source, source, memory_order_release);
}

/* Makes units that were taken for the cores the only ones that they pull. An
   open round may be full by then, so that cores look for units of it only where
   some were given back. */
static void
allot (HassRound *round, HassExtent e)
{
  if (round->ready)
    hass_round_keep_for_cpu (round, e);
  else
    hass_unit_range_set (&round->ranges[HASS_RANGE_ALLOTMENT], e.first, e.n);
}

/* If loads have become ready, seats of open rounds whose strategy answered WAIT
   or DONE may be asked again. */
static void
look_at_joined (HassJob *job)
{
  if (!atomic_load_explicit (&job->joined, memory_order_relaxed)
      || !atomic_exchange_explicit (&job->joined, FALSE, memory_order_seq_cst))
    return;
  for (guint i = HASS_SLOTS; i < job->slots->len; i++)
    for (guint d = 0; d < job->n_devices; d++)
      {
        HassSeat *seat = &hass_job_slot (job, i)->seats[d];
        if (seat->state != HASS_SEAT_LOST)
          seat->state = HASS_SEAT_ASK;
      }
}

/* Asks the strategy for a grant to the CPU pool, unless the cores still have
   units to pull. Returns: TRUE if the cores have units to pull now. */
gboolean
hass_decide_cpu (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  HassSeat *seat = &slot->seats[job->cpu];
  gint32 source
      = atomic_load_explicit (&round->pull_source, memory_order_relaxed);
  if (source >= 0)
    {
      if (anything_for_cpu (round, source))
        return TRUE;
      if (round->ready && hass_round_waiting_anywhere (round) == 0)
        return FALSE; /* what becomes ready may be pulled at once */
      seat->state = HASS_SEAT_ASK;
    }
  else if (round->ready)
    look_at_joined (job);
  /* The strategy may have answered WAIT until the cores have finished units, so
     it is told of those first. */
  hass_decide_report_cpu (job, slot);
  look_at_clock (job, seat);
  if (seat->state != HASS_SEAT_ASK || hass_round_waiting_anywhere (round) == 0)
    {
      publish (round, HASS_PULL_WAIT, 0);
      return FALSE;
    }
  HassGrant grant;
  if (ask (job, slot, job->cpu, &grant) == HASS_TAKE)
    {
      source = source_of (job, round, &grant);
      atomic_store_explicit (&round->pull_leave, grant.leave,
                             memory_order_relaxed);
      atomic_store_explicit (&round->pull_back, grant.source == HASS_FROM_BACK,
                             memory_order_relaxed);
      if (grant.units > 0)
        {
          allot (round, hass_round_take (round, job->cpu, &grant));
          source = HASS_RANGE_ALLOTMENT;
        }
      else
        {
          HassExtent e = hass_unit_range_peek (&round->ranges[source]);
          grant.first = e.first;
          grant.taken = e.n;
        }
      if (anything_for_cpu (round, source))
        {
          granted (job, slot, job->cpu, &grant);
          publish (round, source, grant.chunk);
          return TRUE;
        }
      seat->state = HASS_SEAT_WAIT;
    }
  publish (round, HASS_PULL_WAIT, 0);
  return FALSE;
}

/* Tells the strategy of a round with several functions, by function, of the
   units that the cores have finished. @done: of all together. */
static void
report_functions (HassJob *job, HassSlot *slot, HassCompletion done)
{
  HassSeat *seat = &slot->seats[job->cpu];
  for (guint f = 0; f < slot->round.n_functions; f++)
    {
      HassProgress *told = &seat->reported_functions[f];
      HassProgress now
          = hass_round_function_progress (&slot->round, (guint)job->cpu, f);
      HassProgress before = *told;
      if (now.units == before.units)
        continue;
      *told = now;
      done.function = f;
      done.units = now.units - before.units;
      done.work = now.work - before.work;
      done.kernel_ns = now.busy_ns - before.busy_ns;
      done.elements = (guint64)MIN (done.work, 1e18);
      hass_decide_completed (job, slot, &done);
      done.bytes = 0; /* of all functions they have been told */
    }
}

/* Tells the strategy, as one completion (of each function of a function farm),
   of the units that the cores have finished since this function was last called
   in this round. */
void
hass_decide_report_cpu (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  HassSeat *seat = &slot->seats[job->cpu];
  HassProgress now = hass_round_progress (round, job->cpu);
  if (now.units == seat->reported.units)
    return;
  guint64 bytes = 0;
  guint a = round->counter_of[job->cpu], b = round->counter_of[job->cpu + 1];
  for (guint i = a; i < b; i++)
    bytes += atomic_load_explicit (&round->counters[i].bytes,
                                   memory_order_relaxed);
  gint64 t = job->engine->now (job);
  HassCompletion done = {
    .device = job->cpu,
    .units = now.units - seat->reported.units,
    .work = now.work - seat->reported.work,
    .bytes = bytes - seat->reported_bytes,
    .grant_ns = seat->reported_ns,
    .start_ns = seat->reported_ns,
    .end_ns = t,
    .kernel_ns = now.busy_ns - seat->reported.busy_ns,
  };
  done.elements = (guint64)MIN (done.work, 1e18);
  seat->reported = now;
  seat->reported_bytes = bytes;
  seat->reported_ns = t;
  if (round->n_functions > 1)
    report_functions (job, slot, done);
  else
    hass_decide_completed (job, slot, &done);
}

/* Grants the CPU pool up to @n units from any range without asking the
   strategy. The pool must have nothing to pull. Returns: FALSE if no unit waits
   that the CPU can run. */
gboolean
hass_decide_give_cpu (HassRound *round, guint32 n)
{
  HassExtent e = hass_round_take_any (round, HASS_DEVICE_CPU, n);
  if (e.n == 0)
    return FALSE;
  allot (round, e);
  publish (round, HASS_RANGE_ALLOTMENT, 0);
  return TRUE;
}

/* -- GPUs --------------------------------------------------------------- */

static gboolean
grant_gpu (HassJob *job, HassSlot *slot, guint device, HassExtent *extent,
           HassGrant *grant)
{
  HassRound *round = &slot->round;
  HassSeat *seat = &slot->seats[device];
  if (round->ready)
    look_at_joined (job);
  look_at_clock (job, seat);
  guint32 waiting = hass_round_waiting_anywhere (round);
  if (waiting == 0 || seat->state == HASS_SEAT_LOST
      || (seat->in_flight > 0 && seat->in_flight >= MAX (seat->depth, 1))
      || (seat->state != HASS_SEAT_ASK && !slot->grab))
    return FALSE;
  *extent = (HassExtent){ 0, 0 };
  if (seat->state == HASS_SEAT_ASK
      && ask (job, slot, device, grant) == HASS_TAKE)
    {
      guint64 multiple = MAX (job->farm->gpu_multiple, 1);
      grant->multiple
          = (MAX (grant->multiple, 1) + multiple - 1) / multiple * multiple;
      *extent = hass_round_take (round, device, grant);
      if (extent->n == 0)
        seat->state = HASS_SEAT_WAIT;
    }
  if (extent->n == 0 && slot->grab)
    {
      guint n_gpus = job->n_devices - (job->cpu >= 0);
      *grant = (HassGrant){ .share = device };
      *extent = hass_round_take_any (round, round->classes[device],
                                     (waiting + n_gpus - 1) / n_gpus);
      grant->first = extent->first;
      grant->taken = extent->n;
    }
  if (extent->n == 0)
    return FALSE;
  seat->in_flight++;
  seat->depth = CLAMP (grant->in_flight, 1, job->devices[device].max_in_flight);
  granted (job, slot, device, grant);
  return TRUE;
}

/* Asks the strategy for a grant to a device other than the CPU pool. Returns:
   TRUE if it made one: the device is to compute the units of @extent, and
   @grant holds what the strategy said. */
gboolean
hass_decide_gpu (HassJob *job, HassSlot *slot, guint device, HassExtent *extent,
                 HassGrant *grant)
{
  gboolean any = grant_gpu (job, slot, device, extent, grant);
  if (any)
    slot->seats[device].look_gap_ns = 0;
  else if (job->spoliates)
    hass_spoliate (job, slot, device);
  return any;
}

/* -- 3. Completions ----------------------------------------------------- */

/* After a completion the strategy may be asked again for devices that wait, and
   after one that failed for those that were done. In an open round the cores
   ask again, too, since what they may take depends on what the other devices
   do. */
static void
ask_again (HassJob *job, HassSlot *slot, gboolean failed)
{
  HassRound *round = &slot->round;
  slot->forced = FALSE;
  if (round->ready && job->n_devices > 1
      && atomic_load_explicit (&round->pull_source, memory_order_relaxed) >= 0)
    publish (round, HASS_PULL_ASK, 0);
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassSeat *seat = &slot->seats[d];
      seat->look_ns = 0;
      if (seat->state == HASS_SEAT_WAIT
          || (failed && seat->state == HASS_SEAT_DONE))
        seat->state = HASS_SEAT_ASK;
    }
}

void
hass_decide_completed (HassJob *job, HassSlot *slot, const HassCompletion *done)
{
  HassSeat *seat = &slot->seats[done->device];
  HassCompletion told = *done;
  job->n_told++;
  told.first_of_round = !seat->completed;
  seat->completed = TRUE;
  if (job->devices[done->device].kind == HASS_DEVICE_GPU)
    {
      HassTotals *totals = &job->totals[done->device];
      seat->in_flight--;
      /* Units that are taken back because the farm stops have not failed. */
      totals->failures += told.failed && !hass_job_stopping (job);
      if (!told.failed)
        totals->kernel_ns += hass_busy_added_ns (
            &totals->tells_busy, told.kernel_busy_ns, told.kernel_ns);
      if (!told.failed && told.kernel_ns > 0 && !job->platform_name)
        totals->rate = MAX (totals->rate, told.work / told.kernel_ns);
    }
  if (job->source->grant_over)
    {
      job->source->grant_over (job, slot, &told);
      return;
    }
  HASS_ANNOUNCE (job, completed, &(HassCompleted){ &slot->round, &told });
  hass_samplers_observe (job->samplers, &told);
  if (ops (job)->observe)
    ops (job)->observe (job->strategy->self, &slot->round, &told);
  ask_again (job, slot, told.failed);
  if (!job->ready)
    return;
  HassSlot *others[]
      = { atomic_load_explicit (&job->current, memory_order_relaxed),
          atomic_load_explicit (&job->open, memory_order_relaxed) };
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (others[i] && others[i] != slot)
      ask_again (job, others[i], told.failed);
}

/* Tells the strategy of a pipeline, and the profile store, what a device has
   done of a stage. */
void
hass_decide_served (HassJob *job, const HassStreamState *state,
                    const HassServed *served)
{
  hass_samplers_served (job->samplers, served);
  if (ops (job)->served)
    ops (job)->served (job->strategy->self, state, served);
}

/* -- Lost devices ------------------------------------------------------- */

/* Keeps @why as the device's message in the report, unless there is one
   already. */
void
hass_decide_note (HassJob *job, guint device, const char *why)
{
  HassTotals *totals = &job->totals[device];
  if (!totals->message)
    totals->message = g_strdup (why ? why : "it failed without saying why");
}

/* Marks the device as lost: the strategy is not asked for it again, in this or
   any later round. */
void
hass_decide_lost (HassJob *job, guint device, const char *why)
{
  hass_decide_note (job, device, why);
  job->totals[device].lost = TRUE;
  if (job->source->lost)
    job->source->lost (job, device);
}

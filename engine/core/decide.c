/* SPDX-License-Identifier: MIT */
/* decide.c: asks the strategy, and guarantees that a round always goes on.

   DESIGN.
   1. Asking. Each device has a seat in the round, which says whether the
      strategy may be asked for the device: ASK: yes; WAIT: after the next
      completion; DONE: not in this round; LOST: never again.
   2. The CPU pool. A grant to it names a range (a queue of units) from which
      the cores pull; they return here only when it is empty. The units of a
      grant that is limited are first moved to the range HASS_RANGE_ALLOTMENT.
   3. Completions. The strategy is told of a completion; then seats that wait
      may be asked again. A WAIT with an end is also over at that time.
   4. Liveness. A round has stalled when units wait, nothing is in flight and no
      seat may be asked. Then seats that wait are asked with force; then the CPU
      gets one unit, or all units if every seat is DONE; without a CPU the GPUs
      take the remaining units.

   Thread safety: under the decision lock. */
#include "job-private.h"

#include "engine/profile/sampler.h"

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

/* Returns when the strategy may be asked for the device again although nothing
   was completed, in ns on the engine's clock; 0: the strategy did not answer
   WAIT, or its WAIT has no end. */
gint64
hass_decide_again_ns (const HassSlot *slot, guint device)
{
  const HassSeat *seat = &slot->seats[device];
  return seat->state == HASS_SEAT_WAIT ? seat->again_ns : 0;
}

/* -- 2. The CPU pool ---------------------------------------------------- */

static gint32
source_of (const HassJob *job, const HassGrant *grant)
{
  if (grant->source == HASS_FROM_SHARE || grant->source == HASS_FROM_THEFT)
    return HASS_RANGE_SHARES + MIN (grant->share, job->n_devices - 1);
  return HASS_RANGE_COMMON;
}

static gboolean
anything_for_cpu (HassRound *round, gint32 source)
{
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
      seat->state = HASS_SEAT_ASK;
    }
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
      source = source_of (job, &grant);
      if (grant.units > 0)
        {
          HassExtent e = hass_round_take (round, job->cpu, &grant);
          hass_unit_range_set (&round->ranges[HASS_RANGE_ALLOTMENT], e.first,
                               e.n);
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

/* Tells the strategy, as one completion, of the units that the cores have
   finished since this function was last called in this round. */
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
  hass_decide_completed (job, slot, &done);
}

/* -- GPUs --------------------------------------------------------------- */

/* Asks the strategy for a grant to a device other than the CPU pool. Returns:
   TRUE if it made one: the device is to compute the units of @extent, and
   @grant holds what the strategy said. */
gboolean
hass_decide_gpu (HassJob *job, HassSlot *slot, guint device, HassExtent *extent,
                 HassGrant *grant)
{
  HassRound *round = &slot->round;
  HassSeat *seat = &slot->seats[device];
  look_at_clock (job, seat);
  if (seat->state == HASS_SEAT_LOST
      || (seat->in_flight > 0 && seat->in_flight >= MAX (seat->depth, 1)))
    return FALSE;
  guint32 waiting = hass_round_waiting_anywhere (round);
  if (waiting == 0)
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

/* -- 3. Completions ----------------------------------------------------- */

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
        totals->kernel_ns += told.kernel_ns;
      if (!told.failed && told.kernel_ns > 0 && !job->platform_name)
        totals->rate = MAX (totals->rate, told.work / told.kernel_ns);
    }
  if (job->flow)
    {
      job->farm->flow->grant_over (job, slot, &told);
      return;
    }
  HASS_ANNOUNCE (job, completed, &(HassCompleted){ &slot->round, &told });
  hass_samplers_observe (job->samplers, &told);
  if (ops (job)->observe)
    ops (job)->observe (job->strategy->self, &slot->round, &told);
  slot->forced = FALSE;
  for (guint d = 0; d < job->n_devices; d++)
    if (slot->seats[d].state == HASS_SEAT_WAIT
        || (told.failed && slot->seats[d].state == HASS_SEAT_DONE))
      slot->seats[d].state = HASS_SEAT_ASK;
}

/* -- 4. Liveness -------------------------------------------------------- */

static gboolean
all_said_no (const HassJob *job, const HassSlot *slot, gboolean *all_done)
{
  *all_done = TRUE;
  for (guint d = 0; d < job->n_devices; d++)
    {
      if (slot->seats[d].state == HASS_SEAT_ASK)
        return FALSE;
      *all_done &= slot->seats[d].state != HASS_SEAT_WAIT;
    }
  return TRUE;
}

static void
append_lost (const HassJob *job, GString *why)
{
  for (guint d = 0; d < job->n_devices; d++)
    if (job->totals[d].lost)
      g_string_append_printf (why, "; %s is lost: %s", job->devices[d].name,
                              job->totals[d].message);
}

/* Stops the farm because no device is left. The farm's error gets the domain
   and code of the error by which the first device was lost, which may come from
   a user's callback. */
void
hass_decide_stop_without_devices (HassJob *job, const char *message)
{
  GQuark domain = HASS_ERROR;
  gint code = HASS_ERROR_DEVICE;
  for (guint d = job->n_devices; d-- > 0;)
    {
      const HassTotals *t = &job->totals[d];
      if (!t->lost || t->error_domain == 0
          || (t->error_domain == HASS_ERROR
              && t->error_code == HASS_ERROR_NO_MEMORY))
        continue;
      domain = t->error_domain;
      code = t->error_code;
    }
  hass_job_stop (job, g_error_new_literal (domain, code, message));
}

static const char *
load_name (const HassJob *job)
{
  return job->farm->kind == HASS_FARM_FUNCTION ? "task" : "load";
}

/* Stops the farm because no device can run the units that wait in @round. The
   farm's error names the first of them. */
static void
nobody_left (HassJob *job, HassRound *round)
{
  g_autoptr (GString) why = g_string_new (NULL);
  guint32 waiting = hass_round_waiting_anywhere (round);
  HassBlock block = { 0 };
  HassExtent e = { 0, 0 };
  for (guint c = round->n_classes; c-- > 0 && e.n == 0;)
    e = hass_round_take_any (round, c, 1);
  if (e.n > 0)
    hass_round_block (round, e.first, &block);
  hass_round_give_back (round, e);
  g_string_append_printf (
      why,
      "round %" G_GUINT64_FORMAT " of farm '%s': %u units wait and no device "
      "is left that can run them, the first is %s %" G_GUINT64_FORMAT,
      round->number, job->farm->name, waiting, load_name (job), block.seq);
  append_lost (job, why);
  hass_decide_stop_without_devices (job, why->str);
}

/* Stops the farm because no device is left, while no round is running. The
   error names the first load in no round; the loads that the farm was given
   count although they may not be in the load pool yet. */
void
hass_decide_nobody_left (HassJob *job)
{
  g_autoptr (GString) why = g_string_new (NULL);
  guint64 known = MAX (hass_load_pool_emitted (job->pool), job->farm->n_loads);
  guint64 waiting = known - job->n_loads;
  g_string_append_printf (why,
                          "farm '%s': no device is left: ", job->farm->name);
  if (waiting > 0)
    g_string_append_printf (why,
                            "%" G_GUINT64_FORMAT " %ss wait, the first is "
                            "%s %" G_GUINT64_FORMAT,
                            waiting, load_name (job), load_name (job),
                            job->n_loads);
  else
    g_string_append (why, "before its generator had emitted more");
  append_lost (job, why);
  hass_decide_stop_without_devices (job, why->str);
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
  hass_unit_range_set (&round->ranges[HASS_RANGE_ALLOTMENT], e.first, e.n);
  publish (round, HASS_RANGE_ALLOTMENT, 0);
  return TRUE;
}

/* Step 4, liveness: called when a device found nothing to do, makes the round
   go on if it has stalled. Returns: TRUE if the strategy should be asked again,
   because this function has changed a seat or a range. */
gboolean
hass_decide_stalled (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  gboolean all_done;
  guint32 waiting = hass_round_waiting_anywhere (round);
  gint32 source
      = atomic_load_explicit (&round->pull_source, memory_order_relaxed);
  if (slot->state != HASS_SLOT_RUNNING || waiting == 0
      || (job->cpu >= 0 && source >= 0)
      || atomic_load_explicit (&round->outstanding, memory_order_acquire)
             > waiting
      || !all_said_no (job, slot, &all_done))
    return FALSE;
  if (!slot->forced)
    {
      slot->forced = TRUE;
      for (guint d = 0; d < job->n_devices; d++)
        if (slot->seats[d].state == HASS_SEAT_WAIT)
          slot->seats[d].state = HASS_SEAT_ASK;
      if (!all_done)
        return TRUE;
    }
  if (job->cpu >= 0 && hass_decide_give_cpu (round, all_done ? G_MAXUINT32 : 1))
    return TRUE;
  gboolean grabbed = slot->grab;
  slot->grab = TRUE;
  for (guint d = 0; d < job->n_devices; d++)
    if (job->devices[d].kind == HASS_DEVICE_GPU
        && slot->seats[d].state != HASS_SEAT_LOST)
      return !grabbed;
  nobody_left (job, round);
  return FALSE;
}

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
  for (guint s = 0; s < HASS_SLOTS; s++)
    job->slots[s].seats[device].state = HASS_SEAT_LOST;
}

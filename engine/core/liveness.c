/* SPDX-License-Identifier: MIT */
/* liveness.c: guarantees that a round goes on, whatever a strategy answers.

   DESIGN. A round has stalled when units wait, nothing is in flight and no seat
   may be asked, except those of devices that are late: they should have been
   open for long. Then seats that wait are asked with force; then the CPU gets
   one unit, or all units if every seat is DONE; without a CPU the GPUs take the
   remaining units. If no device is left, the farm is stopped.

   Thread safety: under the decision lock. */
#include "job-private.h"

static gboolean
all_said_no (HassJob *job, const HassSlot *slot, gboolean *all_done)
{
  *all_done = TRUE;
  for (guint d = 0; d < job->n_devices; d++)
    {
      gint64 late_ns = hass_decide_late_ns (job, d);
      if (slot->seats[d].state == HASS_SEAT_ASK
          && (late_ns == 0 || job->engine->now (job) < late_ns))
        return FALSE;
      *all_done &= slot->seats[d].state != HASS_SEAT_WAIT
                   && slot->seats[d].state != HASS_SEAT_ASK;
    }
  return TRUE;
}

static const char *
load_name (const HassJob *job)
{
  if (job->source->grant_over)
    return "token";
  return job->farm->kind == HASS_FARM_FUNCTION ? "task" : "load";
}

static void
append_lost (const HassJob *job, GString *why)
{
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTotals *t = &job->totals[d];
      if (!t->lost)
        continue;
      g_string_append_printf (why, "; %s is lost", job->devices[d].name);
      if (t->failed_load > 0)
        g_string_append_printf (
            why, ", it failed first in the bundle of %s %" G_GUINT64_FORMAT,
            load_name (job), t->failed_load - 1);
      g_string_append_printf (why, ": %s", t->message);
    }
}

/* Stops the farm because no device is left, with @message and what is known of
   the lost devices. The farm's error gets the domain and code of the error by
   which the first device was lost, which may come from a user's callback. */
void
hass_decide_stop_without_devices (HassJob *job, const char *message)
{
  g_autoptr (GString) why = g_string_new (message);
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
  append_lost (job, why);
  hass_job_stop (job, g_error_new_literal (domain, code, why->str));
}

/* Stops the farm if no device can run the units that wait in @round. The farm's
   error names the first of them. Returns: TRUE if the cores can run it: one
   that was about to pull when the strategy withdrew the units took those that
   waited before, and has emitted others. */
static gboolean
nobody_left (HassJob *job, HassRound *round)
{
  g_autoptr (GString) why = g_string_new (NULL);
  guint32 waiting = hass_round_waiting_anywhere (round);
  HassBlock block = { 0 };
  HassExtent e = { 0, 0 };
  for (guint c = round->n_classes; c-- > 0 && e.n == 0;)
    e = hass_round_take_any (round, c, 1);
  if (e.n == 0)
    return FALSE;
  hass_round_block (round, e.first, &block);
  hass_round_give_back (round, e);
  if (job->cpu >= 0 && hass_round_mask (round, e.first) & 1u << HASS_DEVICE_CPU)
    return TRUE;
  g_string_append_printf (
      why,
      "round %" G_GUINT64_FORMAT " of farm '%s': %u units wait and no device "
      "is left that can run them, the first is %s %" G_GUINT64_FORMAT,
      round->number, job->farm->name, waiting, load_name (job), block.seq);
  hass_decide_stop_without_devices (job, why->str);
  return FALSE;
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
  g_string_append_printf (why, "%s '%s': no device is left: ",
                          hass_farm_noun (job->farm), job->farm->name);
  if (waiting > 0)
    g_string_append_printf (why,
                            "%" G_GUINT64_FORMAT " %ss wait, the first is "
                            "%s %" G_GUINT64_FORMAT,
                            waiting, load_name (job), load_name (job),
                            job->n_loads);
  else
    g_string_append (why, "before its generator had emitted more");
  hass_decide_stop_without_devices (job, why->str);
}

/* Returns: whether units of the round, or of any round where open ones are
   served, are in flight. */
static gboolean
anything_in_flight (HassJob *job, HassSlot *slot)
{
  for (guint i = 0; job->ready && i < job->slots->len; i++)
    {
      HassSlot *other = hass_job_slot (job, i);
      if (other->state == HASS_SLOT_RUNNING && other != slot
          && hass_round_in_flight (&other->round))
        return TRUE;
    }
  return hass_round_in_flight (&slot->round);
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
      || (job->cpu >= 0 && source >= 0) || anything_in_flight (job, slot)
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
  return nobody_left (job, round);
}

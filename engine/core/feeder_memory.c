/* SPDX-License-Identifier: MIT */
/* feeder_memory.c: parts of grants for which a device has no memory; step 4 of
   the DESIGN paragraph in feeder.h.
   Thread safety: the feeder's thread. */
#include "feeder.h"
#include "job-private.h"

static gboolean
cpu_can_take (const HassFeeder *f, const HassRound *round, HassExtent e)
{
  return f->job->cpu >= 0
         && hass_round_mask (round, e.first) & 1u << HASS_DEVICE_CPU;
}

/* Handles one unit that did not fit in the empty device. If it was to pass
   several stages of a pipeline there, it goes back, to pass one at a time,
   which takes less memory. Else it is left to the CPU if the CPU pool can run
   it, and fails if not. */
static void
refuse_unit (HassFeeder *f, HassFeederPart *part, const char *why,
             gint64 now_ns)
{
  HassJob *job = f->job;
  HassFeederGrant *grant = part->grant;
  HassSlot *round = grant->round;
  HassExtent e = part->extent;
  gboolean again = round->fused > 0;
  gboolean elsewhere
      = again || (!round->not_for_cores && cpu_can_take (f, &round->round, e));
  g_autofree char *message = g_strdup_printf (
      "load %" G_GUINT64_FORMAT " needs %" G_GUINT64_FORMAT " bytes on %s: %s",
      part->blocks[0].seq, hass_feeder_bytes (&part->blocks[0]),
      job->devices[f->d].name, why ? why : "it did not say why");
  if (!elsewhere)
    {
      HassDone counted = { .n = e.n, .n_failed = e.n, .part = TRUE };
      if (f->worker->functions)
        hass_functions_note (f->worker, &round->round, e);
      hass_results_refused (job, f->worker, round, e, message);
      hass_execute_count (job, f->worker, round, counted, 0, now_ns);
    }
  grant->failed |= elsewhere;
  grant->n_parts--;
  part->grant = NULL;
  hass_lock_take (&job->decision);
  hass_feeder_note_locked (f, NULL, message);
  if (again)
    {
      job->source->unfuse (job, round, e.first);
      hass_round_give_back (&round->round, e);
    }
  else if (elsewhere)
    hass_round_keep_for_cpu (&round->round, e);
  hass_feeder_finish_locked (f, grant, now_ns);
  hass_lock_give (&job->decision);
  if (!elsewhere)
    hass_job_units_finished (job, round, e.n);
  job->engine->changed (job);
}

/* Handles a part of a grant for which the device had no memory, because of @why
   (nullable). Its units become the front of the rest of the grant again, to be
   cut smaller; if another part was cut behind them meanwhile, they go back to
   the round. If the device was empty the bound on parts is halved, else the
   next part waits until the device is empty. */
void
hass_feeder_too_large (HassFeeder *f, HassFeederPart *part, const char *why,
                       gint64 now_ns)
{
  HassFeederGrant *grant = part->grant;
  HassExtent e = part->extent;
  gboolean was_alone = f->n_in_flight == 0;
  if (was_alone && e.n == 1)
    {
      f->alone = FALSE;
      refuse_unit (f, part, why, now_ns);
      return;
    }
  if (was_alone)
    {
      f->part_bytes = MAX (part->all_bytes / 2, 1);
      f->part_units = e.n / 2;
    }
  f->alone = !was_alone;
  grant->n_parts--;
  part->grant = NULL;
  if (grant->rest.n == 0 || e.first + e.n == grant->rest.first)
    {
      grant->rest = (HassExtent){ e.first, e.n + grant->rest.n };
      return;
    }
  hass_lock_take (&f->job->decision);
  hass_feeder_note_locked (f, part, why);
  hass_round_give_back (&grant->round->round, e);
  hass_lock_give (&f->job->decision);
  grant->failed = TRUE;
}

/* SPDX-License-Identifier: MIT */
/* model.c: what a HassVirtualModel adds to the course of a run: failures and
   slowdowns of devices, gaps before rounds, cores and GPUs that join late, the
   merge at a round's end, and the report of each round. The DESIGN paragraph is
   in virtual-private.h.
   Thread safety: by the world's thread. */
#include "virtual-private.h"

/* -- 4. What goes wrong ------------------------------------------------- */

static gboolean
is_due (const HassVirtualWorld *w, const HassVirtualEvent *event,
        const HassSlot *slot)
{
  if (event->at_ns > 0)
    return w->clock >= event->at_ns;
  if (!slot) /* a pipeline has no rounds */
    return FALSE;
  const HassRound *round = &slot->round;
  double left
      = atomic_load_explicit (&round->outstanding, memory_order_relaxed);
  double done = 1 - left / MAX (round->n_units, 1);
  return round->number + done >= event->round;
}

/* Makes the device lost: what it has in flight fails now, and it is granted
   nothing more. If it serves a dataflow, that finds out. */
static void
lose (HassVirtualWorld *w, guint d)
{
  HassJob *job = w->job;
  HassVirtualGpu *gpu = &w->gpus[d - hass_virtual_first_gpu (w)];
  hass_virtual_gpu_lose (gpu);
  if (gpu->serving)
    return;
  hass_lock_take (&job->decision);
  hass_decide_lost (job, d, HASS_VIRTUAL_LOST);
  hass_lock_give (&job->decision);
}

void
hass_virtual_let_happen (HassVirtualWorld *w, const HassSlot *slot)
{
  for (guint i = 0; w->model && i < w->model->n_events; i++)
    {
      const HassVirtualEvent *event = &w->model->events[i];
      if (w->happened[i] || event->device >= w->job->n_devices
          || !is_due (w, event, slot))
        continue;
      w->happened[i] = TRUE;
      if (event->slower > 0)
        w->slower[event->device] *= event->slower;
      else if ((gint)event->device != w->job->cpu
               && !w->job->totals[event->device].lost)
        lose (w, event->device);
    }
}

static void
wake_at (HassVirtualWorld *w, gint64 t)
{
  hass_virtual_push (w, (HassVirtualDue){ .t = t, .core = -1 });
}

/* Queues a wake-up at the time of each of the model's events (a device gets
   slower or is lost) that is still to come, so that the clock stops there even
   if no device ends anything at that time. */
void
hass_virtual_announce_times (HassVirtualWorld *w)
{
  for (guint i = 0; w->model && i < w->model->n_events; i++)
    if (!w->happened[i] && w->model->events[i].at_ns > w->clock)
      wake_at (w, w->model->events[i].at_ns);
}

/* -- Rounds ------------------------------------------------------------- */

/* Moves the clock over the model's gap before the next round, a time in which
   nothing runs; once for each round. */
void
hass_virtual_pass_gap (HassVirtualWorld *w)
{
  guint64 number = w->job->n_rounds;
  if (!w->model || !w->model->gap_ns || number < w->n_gaps
      || number >= w->model->n_gaps)
    return;
  w->n_gaps = number + 1;
  w->clock = hass_virtual_later (w, w->clock, floor (w->model->gap_ns[number]));
}

/* Sets when each core and each GPU joins the round that has begun, and queues a
   wake-up at these times, so that the clock stops there. */
static void
let_in (HassVirtualWorld *w, const HassSlot *slot)
{
  const HassVirtualModel *m = w->model;
  guint cores = w->job->n_cores;
  guint64 number = slot->round.number;
  for (guint c = 0; c < cores; c++)
    {
      w->core_begins[c] = w->clock;
      if (m && m->late_ns && number < m->n_late)
        w->core_begins[c] = hass_virtual_later (
            w, w->clock, floor (m->late_ns[number * cores + c]));
      if (w->core_begins[c] > w->clock)
        wake_at (w, w->core_begins[c]);
    }
  for (guint d = hass_virtual_first_gpu (w); d < w->job->n_devices; d++)
    if ((w->job->devices[d].opening = !hass_virtual_is_open (w, d)))
      {
        w->job->devices[d].opens_at_ns = w->open_ns[d];
        wake_at (w, w->job->devices[d].opens_at_ns);
      }
}

void
hass_virtual_round_begins (HassVirtualWorld *w, const HassSlot *slot)
{
  hass_virtual_let_happen (w, slot);
  hass_virtual_announce_times (w);
  let_in (w, slot);
}

/* Finishes @n units that were computed. If they are the round's last units and
   more than one device has computed some, the clock first passes the model's
   time for merging the results on the host. */
void
hass_virtual_finished (HassVirtualWorld *w, HassSlot *slot, guint32 n)
{
  HassJob *job = w->job;
  HassRound *round = &slot->round;
  guint n_took = 0;
  if (n > 0 && w->model && w->model->merge_ns > 0
      && atomic_load_explicit (&round->outstanding, memory_order_relaxed) == n)
    {
      for (guint d = 0; d < job->n_devices; d++)
        n_took += hass_round_progress (round, d).units > 0;
      if (job->cpu >= 0)
        {
          hass_lock_take (&job->decision);
          hass_decide_report_cpu (job, slot);
          hass_lock_give (&job->decision);
        }
      if (n_took > 1)
        w->clock = hass_virtual_later (w, w->clock, floor (w->model->merge_ns));
    }
  hass_job_units_finished (job, slot, n);
}

void
hass_virtual_tell_of_round (HassVirtualWorld *w, const HassRound *round)
{
  HassJob *job = w->job;
  if (!w->model || !w->model->round_ended)
    return;
  HassRoundSummary summary
      = { round->number, round->n_units, (double)(w->clock - round->begin_ns),
          job->n_devices, job->summary };
  for (guint d = 0; d < job->n_devices; d++)
    {
      guint64 now = job->totals[d].bytes + w->entry_bytes[d];
      w->bytes[d] = now - w->bytes_before[d];
      w->bytes_before[d] = now;
    }
  HassVirtualRound told = { .summary = &summary,
                            .begin_ns = round->begin_ns,
                            .end_ns = w->clock,
                            .bytes = w->bytes,
                            .asked = job->n_asked };
  w->model->round_ended (w->model->data, &told);
}

/* SPDX-License-Identifier: MIT */
/* proxy_need.c: a device that takes long to open is opened only when that can
   pay; step 1 of proxy.c.

   DESIGN. A GPU's first start may take longer than all of a farm's work takes
   the CPU. While the device says so, its thread looks every now and then, and
   opens it as soon as one of these holds:

   1. There is no CPU pool, or a unit that only GPUs can run.
   2. It is not known how much work is left, because the generator has not
      ended or loads wait for a later round.
   3. The cores have finished nothing, or, at the speed that they have shown,
      now or in earlier runs, need longer for what is left than the device for
      opening.
   4. The cores may take no more, nothing runs, and units are left: the
      strategy counts on the device.

   2 and 3 count after a fortieth of the time that opening takes, 5 ms of 0.2 s,
   which is all that a farm can lose here. 4 counts as soon as the generator has
   ended, but where the strategy only lets the cores wait, and has not set aside
   for other devices what is left, the cores get it bit by bit for as long as 3
   does not hold. Nothing could be faster: the device would still be opening
   when they are done. So a farm that keeps its last units for a GPU that nobody
   knows yet does not have to start one.

   The farm's end interrupts the wait. The device is told how long the farm has
   done without it, and may count that, so that many small farms in one process
   get it in the end.

   Thread safety: the device's proxy thread. */
#include "proxy-private.h"

#include <math.h>

#define LEAST_NS 1000000 /* who opens sooner is not waited for */
#define GRACE 40         /* part of that in which cores show their speed */
#define BIT_NS 5000000   /* of the cores' work */
/* Between two looks: while a farm may be over any moment, later, and when the
   cores have got a bit. */
#define EARLY_LOOK_NS 100000
#define LOOK_NS 500000
#define BIT_LOOK_NS 50000

typedef enum
{
  OPEN,
  WAIT,
  GIVE /* cores have got something */
} Need;

/* What the device says, where it can. */
gint64
hass_proxy_opening_ns (HassProxy *p)
{
  const HassDeviceOps *ops = p->device->ops;
  return ops->struct_size > G_STRUCT_OFFSET (HassDeviceOps, opening_ns)
                 && ops->opening_ns
             ? ops->opening_ns (p->device)
             : 0;
}

static void
tell_unopened (HassProxy *p, gint64 ns)
{
  const HassDeviceOps *ops = p->device->ops;
  if (ops->struct_size > G_STRUCT_OFFSET (HassDeviceOps, unopened)
      && ops->unopened)
    ops->unopened (p->device, ns);
}

static gboolean
generated (HassJob *job)
{
  return atomic_load_explicit (&job->generated, memory_order_seq_cst);
}

/* How long the cores will take for the rest of the round, by what they have
   done, else by what the profile store says, until two units should have been
   done by that; infinite where nobody knows. */
static double
cores_need_ns (HassJob *job, HassRound *round, double grace_ns)
{
  double done = hass_round_progress (round, job->cpu).work;
  double total = hass_round_total_work (round);
  double elapsed_ns = hass_live_now (job) - round->begin_ns;
  const HassProfileRate *known = job->known ? &job->known[job->cpu] : NULL;
  if (done > 0)
    return elapsed_ns * (total - done) / done;
  if (!known || known->work_per_ns <= 0)
    return INFINITY;
  double core_rate = known->work_per_ns / job->n_cores;
  if (elapsed_ns > grace_ns + 2 * total / round->n_units / core_rate)
    return INFINITY;
  return total / core_rate / MIN (round->n_units, job->n_cores);
}

/* Has the CPU pool been refused what is left, while nothing runs? */
static gboolean
cores_wait (HassJob *job, HassSlot *slot)
{
  HassRound *round = &slot->round;
  HassSeatState said = slot->seats[job->cpu].state;
  guint32 waiting = hass_round_waiting_anywhere (round);
  return (said == HASS_SEAT_WAIT || said == HASS_SEAT_DONE) && waiting > 0
         && atomic_load_explicit (&round->pull_source, memory_order_relaxed) < 0
         && atomic_load_explicit (&round->outstanding, memory_order_acquire)
                <= waiting;
}

/* The cores wait and need so long for what is left. */
static gboolean
give_a_bit (HassJob *job, HassSlot *slot, double need_ns)
{
  HassRound *round = &slot->round;
  guint32 waiting = hass_round_waiting_anywhere (round);
  double bit = need_ns > 0 ? waiting * (BIT_NS / need_ns) : waiting;
  return slot->seats[job->cpu].state == HASS_SEAT_WAIT
         && hass_round_waiting (round) == waiting
         && hass_decide_give_cpu (round,
                                  (guint32)CLAMP (bit, job->n_cores, waiting));
}

/* Whether to open a device that takes so long. Under the decision lock. */
static Need
decide (HassJob *job, gint64 waited_ns, gint64 open_ns)
{
  gint64 grace_ns = open_ns / GRACE;
  gboolean early = waited_ns < grace_ns;
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean last = generated (job) && hass_load_pool_waiting (job->pool) == 0;
  if (hass_job_stopping (job))
    return WAIT;
  if (!slot || slot->state != HASS_SLOT_RUNNING)
    return early || last ? WAIT : OPEN;
  HassRound *round = &slot->round;
  double need_ns = cores_need_ns (job, round, grace_ns);
  if (round->n_only_gpu > 0)
    return OPEN;
  if (cores_wait (job, slot))
    {
      if (last && need_ns < open_ns && give_a_bit (job, slot, need_ns))
        return GIVE;
      return early && !generated (job) ? WAIT : OPEN;
    }
  if (early || (last && hass_round_waiting_anywhere (round) == 0))
    return WAIT;
  return last && need_ns < open_ns ? WAIT : OPEN;
}

/* Waits until the device should be opened. FALSE: the farm is over first. */
gboolean
hass_proxy_is_needed (HassProxy *p)
{
  HassJob *job = p->job;
  HassLive *live = p->live;
  gint64 begin = hass_live_now (job), open_ns;
  while (job->cpu >= 0 && (open_ns = hass_proxy_opening_ns (p)) >= LEAST_NS)
    {
      guint64 epoch = hass_event_prepare (&live->end);
      gint64 waited_ns = hass_live_now (job) - begin;
      if (atomic_load_explicit (&live->over, memory_order_seq_cst))
        {
          hass_event_cancel (&live->end);
          tell_unopened (p, waited_ns);
          return FALSE;
        }
      pthread_mutex_lock (&job->decision);
      Need need = decide (job, waited_ns, open_ns);
      pthread_mutex_unlock (&job->decision);
      if (need == OPEN)
        {
          hass_event_cancel (&live->end);
          return TRUE;
        }
      if (need == GIVE)
        hass_live_changed (job);
      hass_event_wait (&live->end, epoch,
                       need == GIVE                  ? BIT_LOOK_NS
                       : waited_ns * GRACE < open_ns ? EARLY_LOOK_NS
                                                     : LOOK_NS);
    }
  return TRUE;
}

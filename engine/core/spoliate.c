/* SPDX-License-Identifier: MIT */
/* spoliate.c: takes units that cores have begun away from them, for a device
   that will have done them sooner.

   DESIGN. A long unit that a core has begun holds up the end of a round if a
   device turns out to be much faster. No thread can be made to leave a user's
   callback, but one that calls hass_worker_stopping() leaves by itself.
   1. A core says what it computes, and its worker's question is noted.
   2. When a device holds nothing and no unit waits, the strategy says which of
      the units whose workers have asked the device should have instead
      (HassStrategyOps.spoliate). From then on their workers are told to stop,
      and the cores have to ask the strategy before they pull again.
   3. A worker that fails after that has not failed: what its unit has emitted
      is dropped, and the unit waits again, as do those of its pull that were
      not begun. A worker that goes on to the end keeps its unit.
   So a unit is computed by one device at a time, and its memory is written by
   one.

   Beaumont, Eyraud-Dubois and Kumar (IPDPS 2017) call this spoliation and prove
   how far from the optimum a schedule can be with it.

   Thread safety: 1 and 3 by the core's thread, 2 under the decision lock. */
#include "job-private.h"

/* The first interval after which it is looked again whether workers of units
   that cores have begun have asked meanwhile, in ns, and the longest; in
   between it doubles. Guesses: less wakes a thread more often, more finds out
   later. */
#define LEAST_LOOK_NS 100000
#define MOST_LOOK_NS 10000000
/* A pull of more units is not taken from its core: they are short, and adding
   their work up would cost time. A guess. */
#define MOST_UNITS 64

/* -- 1. Cores ----------------------------------------------------------- */

void
hass_in_hand_begin (HassWorker *worker, HassSlot *slot, HassExtent extent,
                    gint64 now_ns)
{
  HassInHand *in = &worker->in_hand;
  if (extent.n > MOST_UNITS)
    return;
  worker->unneeded = &in->unneeded;
  worker->asks = &in->asked;
#define SET(field, value)                                                      \
  atomic_store_explicit (&in->field, value, memory_order_relaxed)
  SET (slot, slot);
  SET (first, extent.first);
  SET (n, extent.n);
  SET (work, hass_round_work_taken (&slot->round, extent));
  SET (asked, FALSE);
  SET (unneeded, FALSE);
  SET (begin_ns, MAX (now_ns, 1));
}

void
hass_in_hand_end (HassWorker *worker)
{
  HassInHand *in = &worker->in_hand;
  SET (begin_ns, 0);
#undef SET
  worker->unneeded = NULL;
  worker->asks = NULL;
}

/* -- 2. Devices --------------------------------------------------------- */

/* Returns: for how long the core has computed units of the slot that the device
   can run, in ns; 0: it computes none. */
static gint64
busy_for_ns (const HassJob *job, const HassWorker *worker, const HassSlot *slot,
             guint device)
{
  const HassInHand *in = &worker->in_hand;
  const HassRound *round = &slot->round;
  gint64 begin_ns = atomic_load_explicit (&in->begin_ns, memory_order_relaxed);
  if (begin_ns == 0
      || atomic_load_explicit (&in->slot, memory_order_relaxed) != slot)
    return 0;
  guint32 first = atomic_load_explicit (&in->first, memory_order_relaxed);
  if (!(hass_round_mask (round, first) & 1u << round->classes[device]))
    return 0;
  return MAX (job->engine->now ((HassJob *)job) - begin_ns, 1);
}

/* Tells the cores that they are to give back what the strategy takes. Returns:
   whether it is anything. */
static gboolean
take (HassJob *job, HassSlot *slot, const HassBegun *begun,
      HassWorker *const *of, guint n)
{
  gboolean any = FALSE;
  for (guint i = 0; i < n; i++)
    if (begun[i].take)
      {
        atomic_store_explicit (&of[i]->in_hand.unneeded, TRUE,
                               memory_order_relaxed);
        any = TRUE;
      }
  if (any)
    {
      slot->seats[job->cpu].state = HASS_SEAT_ASK;
      atomic_store_explicit (&slot->round.pull_source, HASS_PULL_ASK,
                             memory_order_release);
    }
  return any;
}

/* Finds the cores whose units the device could have. Returns: their number; of
   [n_cores] each, @begun says what they compute, @of who they are. */
static guint
find (const HassJob *job, const HassSlot *slot, guint device, HassBegun *begun,
      HassWorker **of)
{
  guint n = 0;
  for (guint c = 0; c < job->n_cores; c++)
    {
      HassInHand *in = &job->workers[c].in_hand;
      gint64 ns = busy_for_ns (job, &job->workers[c], slot, device);
      if (ns == 0 || !atomic_load_explicit (&in->asked, memory_order_relaxed)
          || atomic_load_explicit (&in->unneeded, memory_order_relaxed))
        continue;
      begun[n] = (HassBegun){
        .first = atomic_load_explicit (&in->first, memory_order_relaxed),
        .units = atomic_load_explicit (&in->n, memory_order_relaxed),
        .work = atomic_load_explicit (&in->work, memory_order_relaxed),
        .ns = ns
      };
      of[n++] = &job->workers[c];
    }
  return n;
}

/* Asks the strategy whether the device, which it has granted nothing, should
   have what cores have begun. Does nothing while that need not be asked yet, or
   the device holds something. Where units wait or no worker has asked, it is
   looked later, at growing intervals. */
void
hass_spoliate (HassJob *job, HassSlot *slot, guint device)
{
  const HassStrategy *strategy = job->strategy;
  HassSeat *seat = &slot->seats[device];
  gint64 now_ns = job->engine->now (job), again_ns;
  if (slot->round.ready || seat->in_flight > 0 || seat->state == HASS_SEAT_LOST
      || now_ns < seat->look_ns)
    return;
  g_autofree HassBegun *begun = g_new0 (HassBegun, job->n_cores);
  g_autofree HassWorker **of = g_new (HassWorker *, job->n_cores);
  guint n = hass_round_waiting_anywhere (&slot->round) > 0
                ? 0
                : find (job, slot, device, begun, of);
  seat->look_gap_ns
      = CLAMP (2 * seat->look_gap_ns, LEAST_LOOK_NS, MOST_LOOK_NS);
  if (n == 0)
    again_ns = seat->look_gap_ns;
  else
    again_ns = strategy->ops->spoliate (strategy->self, &slot->round, device,
                                        begun, n);
  if (take (job, slot, begun, of, n))
    again_ns = seat->look_gap_ns; /* others may ask by then */
  seat->look_ns = again_ns > 0 ? now_ns + again_ns : 0;
}

/* -- 3. What comes back ------------------------------------------------- */

void
hass_spoliated (HassJob *job, HassWorker *worker, HassSlot *slot,
                HassExtent extent)
{
  HassTotals *totals = &job->totals[job->cpu];
  gint64 begin_ns
      = atomic_load_explicit (&worker->in_hand.begin_ns, memory_order_relaxed);
  guint32 first
      = atomic_load_explicit (&worker->in_hand.first, memory_order_relaxed);
  totals->taken_back += extent.n;
  if (extent.first == first) /* else the pull counts as busy */
    totals->vain_ns
        += job->engine->now (job) - begin_ns + hass_worker_take_helped (worker);
  worker->gave_back = FALSE;
  hass_round_give_back (&slot->round, extent);
  for (guint d = 0; d < job->n_devices; d++)
    if ((gint)d != job->cpu && slot->seats[d].state != HASS_SEAT_LOST)
      slot->seats[d].state = HASS_SEAT_ASK;
}

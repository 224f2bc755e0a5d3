/* SPDX-License-Identifier: MIT */
/* proxy_need.c: decides when a device that takes long to open is opened, so
   that the opening can pay; step 1, opening, of proxy.c.

   DESIGN. A GPU's first start may take longer than all of a farm's work takes
   the CPU or another GPU. While the device reports such an opening time, its
   proxy checks at intervals whether the device is needed. It is needed as soon
   as one of these holds:
   1. There is no CPU pool, or there is a unit that only GPUs can run.
   2. The remaining work is unknown, because the generator has not returned or
      loads wait for a later round.
   3. The cores have finished nothing yet, or the time that they need for the
      remaining work, by their rate in this run or in earlier ones, exceeds the
      opening time.
   4. The strategy grants the cores nothing more, nothing is in flight, and
      units remain: the strategy counts on the device.

   Conditions 2 and 3 apply after a grace time, 1/GRACE of the opening time, 5
   ms of 0.2 s, which bounds what a farm can lose by waiting. Condition 4
   applies as soon as the generator has returned. Exception: where the strategy
   answered WAIT to the cores and the remaining units lie in no device's share,
   the cores get them in small amounts as long as condition 3 does not hold,
   because they are done before the device would be open. So a strategy that
   keeps the last units of a farm for a GPU of unknown rate does not cause a
   start.

   Several GPUs may be needed in the last round of a farm, or within the grace
   time. Then one is opened first, unless the strategy has given the others
   shares: making a CUDA context delays the first bundle of another GPU, by 100
   to 150 ms on two H200s, and with 6 GB of pinned memory its kernel launches,
   by 240 ms. The other GPUs follow when one has finished units, at the latest
   one opening time after the first should have been ready. They are not opened
   while the remaining work, by the rate of all devices since the first GPU
   finished units, takes less than HASS_PROXY_WORTH times their start and the
   copies of the farm's constants. Beyond that a GPU as fast as the devices at
   work gains more than its start costs, even if it stops all of them meanwhile.

   A pipeline may have stages that only GPUs can run, and nothing is known of
   the work to come, so its first GPU is opened at once, that of a dataflow when
   it has a task; for the others see proxy_turn.c.

   The end of the farm interrupts the wait. The device is told how long the farm
   has run without it and may count that time towards its start, so that many
   small farms in one process open it eventually.

   Thread safety: the device's proxy thread. */
#include "proxy-private.h"

#include <math.h>

/* A device whose opening (its first start in the process) takes less than this,
   in ns, is opened at once. A guess: lower, and checks cost more than they
   save; higher, and openings that do not pay are made. */
#define LEAST_NS 1000000
/* The other devices are measured for 1/GRACE of the opening time before it is
   decided whether to open this one. A guess: larger, and rates are measured on
   too little work; smaller, and the farm loses more by waiting. */
#define GRACE 40
/* For IN_HAND times the grace time (opening time / GRACE) after the first GPU
   has finished units, work in flight counts as done when others_suffice()
   measures the rate of the devices. A guess: smaller, and devices with long
   bundles seem slow; larger, and the rate is too high. */
#define IN_HAND 10
/* Work that the cores are given at a time while the device is not opened, in
   ns. A guess: smaller, and the cores often wait for the next check; larger,
   and they end less evenly. */
#define BIT_NS 5000000
/* Time between two checks whether the device is needed, in ns: EARLY within the
   grace time, when a farm may end at any moment; LOOK later; BIT after the
   cores were given work. Guesses: shorter, and checks take time from a core;
   longer, and the device is opened late. */
#define EARLY_LOOK_NS 100000
#define LOOK_NS 500000
#define BIT_LOOK_NS 50000

typedef enum
{
  OPEN,
  WAIT,
  GIVE /* not needed yet, but the cores were given units */
} Need;

/* Returns how long copying the farm's constants to the device takes, in ns. */
static gint64
copying_ns (const HassProxy *p)
{
  double link = p->job->devices[p->d].link_bytes_per_ns, bytes = 0;
  for (guint i = 0; i < p->farm.n_constants; i++)
    bytes += p->farm.constants[i].bytes;
  return link > 0 ? (gint64)(bytes / link) : 0;
}

/* Asks the device how long it takes to open, for @w->open_ns and @w->start_ns:
   if its opening begins now, it is ready after start_ns. Returns: open_ns; 0:
   unknown. */
gint64
hass_proxy_estimate (HassProxy *p, HassProxyWatch *w)
{
  w->open_ns = p->ops.opening_ns ? p->ops.opening_ns (p->device) : 0;
  w->start_ns = w->open_ns + copying_ns (p);
  return w->open_ns;
}

static void
tell_unopened (HassProxy *p, gint64 ns)
{
  if (p->ops.unopened)
    p->ops.unopened (p->device, ns);
}

static gboolean
generated (HassJob *job)
{
  return atomic_load_explicit (&job->generated, memory_order_seq_cst);
}

/* Returns the time, in ns, that the cores need for the remaining work of the
   round: by the rate of this round; else by the rate of earlier runs, until the
   cores should have finished two units by that rate; else infinite. */
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

/* Returns: TRUE if units wait and none is in flight. */
static gboolean
nothing_runs (HassRound *round)
{
  guint32 waiting = hass_round_waiting_anywhere (round);
  return waiting > 0
         && atomic_load_explicit (&round->outstanding, memory_order_acquire)
                <= waiting;
}

/* Returns: TRUE if the cores wait, because the strategy grants them nothing,
   and no device computes anything. */
static gboolean
cores_wait (HassJob *job, HassSlot *slot)
{
  HassSeatState said = slot->seats[job->cpu].state;
  return (said == HASS_SEAT_WAIT || said == HASS_SEAT_DONE)
         && atomic_load_explicit (&slot->round.pull_source,
                                  memory_order_relaxed)
                < 0
         && nothing_runs (&slot->round);
}

/* Grants the cores about BIT_NS of work without the strategy, if it made them
   wait and the waiting units are in no device's share. @need_ns: time that they
   need for all remaining work. Returns: FALSE if they got nothing. */
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

static gint64
grace_ns (const HassProxyWatch *w)
{
  return w->open_ns / GRACE;
}

static gboolean
is_early (const HassProxyWatch *w, gint64 now_ns)
{
  return now_ns - w->begin_ns < grace_ns (w);
}

/* Returns the running round; NULL: there is none. */
static HassSlot *
running (HassJob *job)
{
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  return slot && slot->state == HASS_SLOT_RUNNING ? slot : NULL;
}

/* Returns: TRUE if no round can follow this one: the generator has returned and
   no load waits. */
static gboolean
is_last (HassJob *job)
{
  return generated (job) && hass_load_pool_waiting (job->pool) == 0
         && !atomic_load_explicit (&job->open, memory_order_relaxed);
}

/* Decides whether the device is needed beside the cores, by conditions 1 to 4
   of DESIGN: units that only GPUs can run, unknown remaining work, more
   remaining work than the cores can do in the opening time, or a strategy that
   counts on the device. May give the cores some work instead. */
static Need
beside_cores (HassJob *job, const HassProxyWatch *w, gint64 now_ns)
{
  gboolean early = is_early (w, now_ns), last = is_last (job);
  HassSlot *slot = running (job);
  if (job->ready && hass_ready_set_partial (job->ready, HASS_DEVICE_GPU) > 0)
    return OPEN;
  if (!slot)
    return early || last ? WAIT : OPEN;
  HassRound *round = &slot->round;
  if (round->n_partial_linked > 0)
    return OPEN;
  gboolean wait = cores_wait (job, slot);
  /* Looked at later: what was in flight before has been counted since. */
  double need_ns = cores_need_ns (job, round, grace_ns (w));
  if (wait)
    {
      if (last && need_ns < w->open_ns && give_a_bit (job, slot, need_ns))
        return GIVE;
      return early && !generated (job) ? WAIT : OPEN;
    }
  if (early || (last && hass_round_waiting_anywhere (round) == 0))
    return WAIT;
  return last && need_ns < w->open_ns ? WAIT : OPEN;
}

/* Returns: TRUE if another GPU has finished units, so that it is at work and
   its rate counts. */
static gboolean
another_has_shown (const HassProxy *p, HassSlot *slot)
{
  HassJob *job = p->job;
  for (guint d = 0; d < job->n_devices; d++)
    if (job->gpus[d] && d != p->d && !job->totals[d].lost
        && (job->totals[d].units > 0
            || (slot && hass_round_progress (&slot->round, d).units > 0)))
      return TRUE;
  return FALSE;
}

/* Returns: TRUE if units wait, nothing is in flight and the strategy grants
   them to no device that is open: it counts on one that is not. */
static gboolean
all_wait (HassJob *job, HassSlot *slot)
{
  if (!nothing_runs (&slot->round)
      || (job->cpu >= 0 && !cores_wait (job, slot)))
    return FALSE;
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassSeat *seat = &slot->seats[d];
      if (job->gpus[d] && !job->devices[d].opening
          && (seat->in_flight > 0 || seat->state == HASS_SEAT_ASK))
        return FALSE;
    }
  return TRUE;
}

/* Returns: TRUE if this GPU should wait because another one is being opened or
   computes its first bundle; see DESIGN. */
static gboolean
another_is_first (const HassProxy *p, const HassProxyWatch *w, gint64 now_ns)
{
  HassJob *job = p->job;
  HassSlot *slot = running (job);
  if (!is_last (job) && !is_early (w, now_ns))
    return FALSE;
  for (guint d = 0; d < job->n_devices; d++)
    {
      gint64 ready_ns = job->devices[d].opens_at_ns;
      if (job->gpus[d] && d != p->d && !job->totals[d].lost && ready_ns > 0
          && now_ns < ready_ns + w->open_ns
          && (job->devices[d].opening || !slot || !all_wait (job, slot)))
        return TRUE;
    }
  return FALSE;
}

/* Returns the sum of all devices' progress in the round. */
static HassProgress
progress_of_all (const HassJob *job, const HassRound *round)
{
  HassProgress sum = { 0 };
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassProgress p = hass_round_progress (round, d);
      sum.units += p.units;
      sum.work += p.work;
    }
  return sum;
}

/* Returns: TRUE if the devices at work finish the remaining work so soon that
   opening this one cannot pay, by their rate since a GPU first finished units.
   At first, work in flight counts as done, but at most as much as has been
   finished since, or all of it if nothing has: neither a proxy that takes a
   bundle over late nor a long bundle may make a GPU seem slow. */
static gboolean
others_suffice (HassJob *job, HassProxyWatch *w, gint64 now_ns)
{
  HassSlot *slot = running (job);
  if (!is_last (job) || (slot && all_wait (job, slot)))
    return FALSE;
  if (!slot)
    return TRUE;
  HassRound *round = &slot->round;
  HassProgress done = progress_of_all (job, round);
  guint32 waiting = hass_round_waiting_anywhere (round);
  if (w->shown_ns == 0 || done.work < w->shown_work)
    {
      w->shown_ns = now_ns;
      w->shown_work = done.work;
    }
  double total = hass_round_total_work (round), rest = total - done.work;
  double since = done.work - w->shown_work;
  gint64 seen_ns = now_ns - w->shown_ns;
  if (seen_ns < IN_HAND * grace_ns (w))
    {
      /* This assumes that each unit in flight costs the mean of the round. */
      gint64 units = (gint64)round->n_units - waiting - (gint64)done.units;
      double in_hand = MIN (MAX (units, 0) * (total / round->n_units), rest);
      since += since > 0 ? MIN (in_hand, since) : in_hand;
    }
  return waiting == 0 || seen_ns < grace_ns (w)
         || rest * seen_ns < HASS_PROXY_WORTH * since * w->start_ns;
}

/* Decides whether to open the device now. Under the decision lock. */
static Need
decide (HassProxy *p, HassProxyWatch *w, gint64 now_ns)
{
  HassJob *job = p->job;
  HassSlot *slot = running (job);
  if (job->source->rest)
    return hass_proxy_has_turn (p, w, now_ns) ? OPEN : WAIT;
  if (hass_job_stopping (job))
    return WAIT;
  Need need = job->cpu >= 0 ? beside_cores (job, w, now_ns) : OPEN;
  if (need != OPEN || (slot && hass_round_share (&slot->round, p->d) > 0))
    return need;
  gboolean waits = another_has_shown (p, slot)
                       ? others_suffice (job, w, now_ns)
                       : another_is_first (p, w, now_ns);
  return waits ? WAIT : OPEN;
}

/* Returns when the device is expected to be open, if its proxy opens it without
   waiting, in ns on the engine's clock; else 0. Under the decision lock. */
gint64
hass_proxy_opens_at_ns (HassProxy *p)
{
  gint64 now_ns = hass_live_now (p->job);
  HassProxyWatch w = { .begin_ns = now_ns };
  gboolean at_once
      = hass_proxy_estimate (p, &w) < LEAST_NS
        || (p->job->source->rest && hass_proxy_has_turn (p, &w, now_ns));
  return at_once ? now_ns + w.start_ns : 0;
}

/* Waits until the device should be opened, with checks at intervals. Returns:
   FALSE if the farm ends first. */
gboolean
hass_proxy_is_needed (HassProxy *p)
{
  HassJob *job = p->job;
  HassLive *live = p->live;
  HassProxyWatch w = { .begin_ns = hass_live_now (job) };
  while (hass_proxy_estimate (p, &w) >= LEAST_NS)
    {
      guint64 epoch = hass_event_prepare (&live->end);
      gint64 now_ns = hass_live_now (job);
      if (atomic_load_explicit (&live->over, memory_order_seq_cst))
        {
          hass_event_cancel (&live->end);
          tell_unopened (p, now_ns - w.begin_ns);
          return FALSE;
        }
      hass_lock_take (&job->decision);
      Need need = decide (p, &w, now_ns);
      job->devices[p->d].opening_ns = is_last (job) ? w.start_ns : 0;
      if (need == OPEN) /* the proxies of other devices read opens_at_ns */
        job->devices[p->d].opens_at_ns = now_ns + w.start_ns;
      hass_lock_give (&job->decision);
      if (need == OPEN)
        {
          hass_event_cancel (&live->end);
          return TRUE;
        }
      if (need == GIVE)
        hass_live_changed (job);
      hass_event_wait (&live->end, epoch,
                       need == GIVE            ? BIT_LOOK_NS
                       : is_early (&w, now_ns) ? EARLY_LOOK_NS
                                               : LOOK_NS);
    }
  return TRUE;
}

/* SPDX-License-Identifier: MIT */
/* proxy_need.c: a device that takes long to open is opened only when that can
   pay; step 1 of proxy.c.

   DESIGN. A GPU's first start may take longer than all of a farm's work takes
   the CPU, or another GPU. While the device says so, its thread looks every now
   and then. It is wanted as soon as one of these holds:

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

   Of several that are wanted in a farm's last round, or before the generator
   has had that fortieth to end, one goes first, unless the strategy has set
   aside units for the others: while a CUDA context is made, what another GPU
   makes once in its first bundle waits, and with GBs of pinned memory its
   kernels do. (On two H200s cuBLAS' first product was back 200 to 250 ms after
   two contexts were begun together, 100 ms after one alone; a context made
   later, with 6 GB pinned, held the other's launches up for 240 ms.) The others
   follow when one has finished something, at the latest when the start that
   they wait for should have been over for as long as their own takes. Nor do
   they when by what all have done in a fortieth of that time and later, at
   first with what they have in hand, the rest will take less than twice what it
   takes to start them and to copy the farm's constants: from there on a GPU as
   fast as those at work gains more than its start takes from them, should that
   stop them altogether.

   The farm's end interrupts the wait. The device is told how long the farm has
   done without it, and may count that, so that many small farms in one process
   get it in the end.

   Thread safety: the device's proxy thread. */
#include "proxy-private.h"

#include <math.h>

#define LEAST_NS 1000000 /* who opens sooner is not waited for */
#define GRACE 40         /* part of that in which others show their speed */
#define IN_HAND 10       /* times that, in which what they have counts */
#define WORTH 2          /* times as long they must need for the rest */
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
  return p->ops.opening_ns ? p->ops.opening_ns (p->device) : 0;
}

/* What the farm's constants take on their way to the device. */
gint64
hass_proxy_copying_ns (const HassProxy *p)
{
  double link = p->job->devices[p->d].link_bytes_per_ns, bytes = 0;
  for (guint i = 0; i < p->farm.n_constants; i++)
    bytes += p->farm.constants[i].bytes;
  return link > 0 ? (gint64)(bytes / link) : 0;
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

/* Units are left, and none is at work. */
static gboolean
nothing_runs (HassRound *round)
{
  guint32 waiting = hass_round_waiting_anywhere (round);
  return waiting > 0
         && atomic_load_explicit (&round->outstanding, memory_order_acquire)
                <= waiting;
}

/* Has the CPU pool been refused what is left, while nothing runs? */
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

/* What the thread has seen so far. */
typedef struct
{
  gint64 begin_ns, open_ns;
  gint64 start_ns;   /* to open it and to copy the farm's constants */
  gint64 shown_ns;   /* when it first saw that a GPU had done something; 0 */
  double shown_work; /* all that was done of the round by then */
} Watch;

static gint64
grace_ns (const Watch *w)
{
  return w->open_ns / GRACE;
}

static gboolean
is_early (const Watch *w, gint64 now_ns)
{
  return now_ns - w->begin_ns < grace_ns (w);
}

/* The running round; NULL: none. */
static HassSlot *
running (HassJob *job)
{
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  return slot && slot->state == HASS_SLOT_RUNNING ? slot : NULL;
}

/* Nothing comes after this round. */
static gboolean
is_last (HassJob *job)
{
  return generated (job) && hass_load_pool_waiting (job->pool) == 0;
}

/* Whether it is wanted, as far as the cores are concerned. */
static Need
beside_cores (HassJob *job, const Watch *w, gint64 now_ns)
{
  gboolean early = is_early (w, now_ns), last = is_last (job);
  HassSlot *slot = running (job);
  if (!slot)
    return early || last ? WAIT : OPEN;
  HassRound *round = &slot->round;
  double need_ns = cores_need_ns (job, round, grace_ns (w));
  if (round->n_partial_linked > 0)
    return OPEN;
  if (cores_wait (job, slot))
    {
      if (last && need_ns < w->open_ns && give_a_bit (job, slot, need_ns))
        return GIVE;
      return early && !generated (job) ? WAIT : OPEN;
    }
  if (early || (last && hass_round_waiting_anywhere (round) == 0))
    return WAIT;
  return last && need_ns < w->open_ns ? WAIT : OPEN;
}

/* Another GPU has finished something. */
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

/* Units are left, and who is open has been refused them. */
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

/* Another GPU is opening, or at its first bundle. */
static gboolean
another_is_first (const HassProxy *p, const Watch *w, gint64 now_ns)
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

/* What all devices have done of the round. */
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

/* Those who are at work will have done the rest so soon that it cannot pay. At
   first as much of what they have in hand counts as done as has been done, or
   all of it: a thread that is late to see a bundle's end must not make its GPU
   seem slow, nor must long bundles. */
static gboolean
others_suffice (HassJob *job, Watch *w, gint64 now_ns)
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
      /* As if all units cost the mean. */
      gint64 units = (gint64)round->n_units - waiting - (gint64)done.units;
      double in_hand = MIN (MAX (units, 0) * (total / round->n_units), rest);
      since += since > 0 ? MIN (in_hand, since) : in_hand;
    }
  return waiting == 0 || seen_ns < grace_ns (w)
         || rest * seen_ns < WORTH * since * w->start_ns;
}

/* Whether to open a device that takes so long. Under the decision lock. */
static Need
decide (HassProxy *p, Watch *w, gint64 now_ns)
{
  HassJob *job = p->job;
  HassSlot *slot = running (job);
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

/* Waits until the device should be opened. FALSE: the farm is over first. */
gboolean
hass_proxy_is_needed (HassProxy *p)
{
  HassJob *job = p->job;
  HassLive *live = p->live;
  Watch w = { .begin_ns = hass_live_now (job) };
  while ((w.open_ns = hass_proxy_opening_ns (p)) >= LEAST_NS)
    {
      guint64 epoch = hass_event_prepare (&live->end);
      gint64 now_ns = hass_live_now (job);
      if (atomic_load_explicit (&live->over, memory_order_seq_cst))
        {
          hass_event_cancel (&live->end);
          tell_unopened (p, now_ns - w.begin_ns);
          return FALSE;
        }
      pthread_mutex_lock (&job->decision);
      w.start_ns = w.open_ns + hass_proxy_copying_ns (p);
      Need need = decide (p, &w, now_ns);
      job->devices[p->d].opening_ns = is_last (job) ? w.start_ns : 0;
      if (need == OPEN) /* and others see it */
        job->devices[p->d].opens_at_ns = now_ns + w.open_ns;
      pthread_mutex_unlock (&job->decision);
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

/* SPDX-License-Identifier: MIT */
/* account.c: the bound of a farm, and what the rest of its makespan was lost
   to.

   DESIGN. Of each device, a core of the CPU pool being an average one,

     makespan = computing + collecting + copying + idle.

   Every idle time has one cause:
   1. start-up: before the generator was called, and until a GPU was ready;
   2. generator: before it had returned, while the device had nothing to do and
      the pool was not full; on the calling thread's core also the generating
      itself. At most the time that the caller was in the generator without
      computing;
   3. imbalance: the ends of rounds, after the generator had returned or while
      loads waited;
   4. collector: results are delivered, and no unit is left to be computed in
      this round, or, where rounds overlap, in the farm;
   5. reduce, and teardown: after the last result.
   Times are taken once a farm, a round or a pull, never for a load. What no
   cause explains is overhead. Devices are weighted by their rates, since an
   idle time of a fast device is more work that was not done.

   The bound is a linear programme over where work may run. Tasks of a function
   farm may be for one kind of device alone, so it is the largest of
   all work / all rates, CPU-only work / rate of the CPU pool and GPU-only work
   / rates of the GPUs. Losses are those of the devices that it names; what
   these did of other work counts as imbalance.

   Thread safety: round under the decision lock; the rest by the caller when
   all other threads have left. */
#include "job-private.h"

/* -- Rounds ------------------------------------------------------------- */

/* Rounds that overlap have no tails of their own. */
static gboolean
tails_at_end (const HassJob *job)
{
  return job->engine->real_time && hass_job_overlaps (job);
}

/* When the last unit so far was computed. After that only results are
   delivered, which takes no time in virtual time. */
static gint64
computed_until (const HassJob *job, gint64 begin_ns, gint64 end_ns)
{
  gint64 last = begin_ns;
  if (!job->results || !job->engine->real_time)
    return end_ns;
  for (guint i = 0; i < job->n_workers; i++)
    last = MAX (last, job->workers[i].computed_ns);
  return MIN (last, end_ns);
}

/* Time that the average core collected while no unit was computed anywhere. */
static double
count_drain (HassJob *job, gint64 computed_ns, gint64 end_ns)
{
  double sum = 0;
  for (guint i = 0; i < job->n_cores && computed_ns < end_ns; i++)
    {
      const HassWorker *w = &job->workers[i];
      sum += MAX (w->last_end_ns - MAX (w->computed_ns, computed_ns), 0);
    }
  job->phases.drain_ns += end_ns - computed_ns;
  if (job->n_cores == 0)
    return 0;
  job->totals[job->cpu].drained_ns += sum / job->n_cores;
  return sum / job->n_cores;
}

/* Adds up the tails of a round that has ended. */
void
hass_account_round (HassJob *job, const HassRound *round, gint64 end_ns)
{
  if (tails_at_end (job))
    return;
  /* Acquire pairs with the release in hass_job_generate. */
  gboolean generated
      = atomic_load_explicit (&job->generated, memory_order_acquire);
  gint64 limit = generated ? job->phases.generated_ns : G_MAXINT64;
  gboolean starved
      = !generated && hass_load_pool_waiting (job->pool) == 0
        && !atomic_load_explicit (&job->full, memory_order_relaxed);
  gint64 computed = computed_until (job, round->begin_ns, end_ns);
  double drained = count_drain (job, computed, end_ns);
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassTotals *t = &job->totals[d];
      guint a = round->counter_of[d], b = round->counter_of[d + 1];
      double tail = 0, early = 0, late = 0;
      for (guint i = a; i < b; i++)
        {
          gint64 from = atomic_load_explicit (
              &round->counters[i].last_finish_ns, memory_order_relaxed);
          from = from > 0 ? from : round->begin_ns;
          tail += end_ns - from;
          from = MAX (from, t->ready_ns);
          late += MAX (computed - MAX (from, limit), 0);
          early += MAX (MIN (computed, limit) - from, 0);
        }
      t->tail_ns += tail / (b - a);
      if (job->devices[d].opening)
        continue;
      t->imbalance_ns += late / (b - a);
      if (generated)
        continue;
      t->early_ns += end_ns - computed - ((gint)d == job->cpu ? drained : 0);
      if (starved)
        continue;
      t->imbalance_ns += early / (b - a);
      t->early_ns += early / (b - a);
    }
}

/* Where rounds overlap, a core's tail is what follows its very last unit. */
static void
add_last_tails (HassJob *job, gint64 end_ns)
{
  const HassPhases *p = &job->phases;
  gint64 computed = computed_until (job, p->generated_ns, p->worked_ns);
  double tail = 0, imbalance = 0;
  for (guint i = 0; i < job->n_cores; i++)
    {
      gint64 last = MAX (job->workers[i].last_end_ns, job->begin_ns);
      tail += MAX (end_ns - last, 0);
      imbalance += MAX (computed - MAX (last, p->generated_ns), 0);
    }
  count_drain (job, computed, MAX (p->worked_ns, computed));
  job->totals[0].tail_ns = tail / job->n_cores;
  job->totals[0].imbalance_ns = imbalance / job->n_cores;
}

/* -- The end ------------------------------------------------------------ */

/* A device's workers. */
static void
workers_of (const HassJob *job, guint d, guint *first, guint *n)
{
  gboolean cpu = job->devices[d].kind == HASS_DEVICE_CPU;
  *first = cpu ? 0 : MAX (job->n_cores, 1) + d - (job->cpu >= 0);
  *n = cpu ? job->n_cores : 1;
}

/* The average of the device's workers, in ns. */
static double
collecting (const HassJob *job, guint d)
{
  guint first, n;
  double sum = 0;
  workers_of (job, d, &first, &n);
  for (guint i = first; i < first + n; i++)
    sum += job->workers[i].collect_ns;
  return sum / n;
}

/* The farm has ended: subtracts collecting from the busy time of the cores. */
void
hass_account_end (HassJob *job, gint64 end_ns)
{
  if (tails_at_end (job))
    add_last_tails (job, end_ns);
  if (job->cpu < 0)
    return;
  HassTotals *t = &job->totals[job->cpu];
  double ns = collecting (job, job->cpu);
  t->busy_ns -= ns;
  t->kernel_ns -= ns;
}

/* -- Losses ------------------------------------------------------------- */

/* Of one device, in ns. */
typedef struct
{
  double startup, generator, collector, copies, imbalance;
} Lost;

/* @common: what all devices lost at the end. */
static Lost
lost_on (const HassJob *job, guint d, double makespan_ns, double common)
{
  const HassPhases *p = &job->phases;
  const HassTotals *t = &job->totals[d];
  double in_generator = p->generated_ns - p->generate_ns;
  double early
      = t->early_ns + CLAMP (t->ready_ns - p->generate_ns, 0, in_generator);
  guint first, n;
  workers_of (job, d, &first, &n);
  for (guint i = first; i < first + n; i++)
    early += (double)job->workers[i].early_ns / n;
  Lost lost = {
    .startup = MAX (p->generate_ns, t->ready_ns) - job->begin_ns,
    .generator
    = CLAMP (in_generator - early, 0, MAX (in_generator - p->room_ns, 0)),
    .copies = MAX (t->busy_ns - t->kernel_ns, 0),
    .imbalance = t->imbalance_ns,
    .collector = collecting (job, d) - t->drained_ns,
  };
  /* A GPU with bundles in flight goes on computing while its proxy delivers. */
  double idle = makespan_ns - t->busy_ns - lost.startup - lost.generator
                - lost.imbalance - common;
  if (job->devices[d].kind != HASS_DEVICE_CPU)
    lost.collector = CLAMP (lost.collector, 0, MAX (idle, 0));
  return lost;
}

/* The work of a device that counts for the bound, and its rate. */
typedef struct
{
  double rate; /* elements or work per ns; 0: it has none and does not count */
  double done; /* work, by the model's costs in virtual time */
  double exclusive;
  double halo;
} Share;

static Share
share_of (const HassJob *job, guint d)
{
  const HassTotals *t = &job->totals[d];
  Share s = { .rate = t->rate, .done = t->work, .exclusive = t->exclusive };
  if (s.rate <= 0 && t->work > 0 && t->kernel_ns > 0)
    s.rate = t->work / t->kernel_ns;
  if (s.rate <= 0)
    return (Share){ 0 };
  if (job->platform_name)
    {
      s.done = t->cost;
      s.exclusive *= t->work > 0 ? t->cost / t->work : 0;
    }
  else if (t->work > 0)
    {
      s.halo = t->halo;
      s.rate *= (t->work + s.halo) / t->work;
    }
  return s;
}

/* A bound, and the devices that it counts: all, or those of one kind. */
typedef struct
{
  gboolean cpu, gpus, exclusive;
  double bound_ns, rates;
} Bound;

static Bound
bound_of (const HassJob *job, const Share *shares)
{
  Bound of[] = { { TRUE, TRUE, FALSE, 0, 0 },
                 { TRUE, FALSE, TRUE, 0, 0 },
                 { FALSE, TRUE, TRUE, 0, 0 } };
  guint best = 0;
  for (guint k = 0; k < G_N_ELEMENTS (of); k++)
    {
      double work = 0;
      for (guint d = 0; d < job->n_devices; d++)
        if ((gint)d == job->cpu ? of[k].cpu : of[k].gpus)
          {
            of[k].rates += shares[d].rate;
            work += of[k].exclusive ? shares[d].exclusive : shares[d].done;
          }
      of[k].bound_ns = of[k].rates > 0 ? work / of[k].rates : 0;
      if (of[k].bound_ns > of[best].bound_ns)
        best = k;
    }
  return of[best];
}

/* Sets the makespan and with it the efficiency. */
static void
set_makespan (HassReport *r, double s)
{
  r->makespan_s = s;
  r->efficiency = s > 0 ? r->bound_s / s : 0;
}

/* All losses that have a cause: all but overhead. */
static double
named_s (const HassReport *r)
{
  return r->lost_startup_s + r->lost_generator_s + r->lost_copies_s
         + r->lost_halo_s + r->lost_imbalance_s + r->lost_collector_s
         + r->lost_reduce_s + r->lost_teardown_s;
}

/* Teardown has made the farm last until now. */
void
hass_report_add_teardown (HassReport *r, gint64 makespan_ns)
{
  double more = makespan_ns * 1e-9 - r->makespan_s;
  for (guint d = 0; d < r->n_devices; d++)
    r->devices[d].waiting_s += more;
  if (r->bound_s > 0)
    r->lost_teardown_s += more;
  set_makespan (r, r->makespan_s + more);
}

/* Fills in bound, efficiency and losses; see HassReport. */
void
hass_account (HassJob *job, HassReport *r, double makespan_ns)
{
  const HassPhases *p = &job->phases;
  double end_ns = job->begin_ns + makespan_ns - p->worked_ns;
  double reduce = p->reduce_ns, all_collect = 0, drain = p->drain_ns;
  double teardown = MAX (end_ns - p->flush_ns - reduce, 0);
  g_autofree Share *shares = g_new0 (Share, MAX (job->n_devices, 1));
  for (guint d = 0; d < job->n_devices; d++)
    {
      guint first, n;
      workers_of (job, d, &first, &n);
      shares[d] = share_of (job, d);
      r->work += shares[d].rate > 0 ? job->totals[d].work : 0;
      r->halo_elements += job->totals[d].halo;
      all_collect += n * collecting (job, d);
    }
  Bound b = bound_of (job, shares);
  if (b.rates <= 0)
    return;
  drain = MIN (drain, all_collect) + p->flush_ns;
  r->bound_s = b.bound_ns * 1e-9;
  for (guint d = 0; d < job->n_devices; d++)
    if (((gint)d == job->cpu ? b.cpu : b.gpus) && shares[d].rate > 0)
      {
        const Share *s = &shares[d];
        Lost lost = lost_on (job, d, makespan_ns, drain + reduce + teardown);
        double part = s->rate / b.rates * 1e-9;
        double other = b.exclusive ? s->done - s->exclusive : 0;
        r->lost_startup_s += part * lost.startup;
        r->lost_generator_s += part * lost.generator;
        r->lost_collector_s += part * lost.collector;
        r->lost_copies_s += part * lost.copies;
        r->lost_imbalance_s += part * lost.imbalance + other / b.rates * 1e-9;
        r->lost_halo_s += s->halo / b.rates * 1e-9;
      }
  r->lost_collector_s += drain * 1e-9;
  r->lost_reduce_s = reduce * 1e-9;
  r->lost_teardown_s = teardown * 1e-9;
  set_makespan (r, makespan_ns * 1e-9);
  r->lost_overhead_s = r->makespan_s - r->bound_s - named_s (r);
}

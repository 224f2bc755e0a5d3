/* SPDX-License-Identifier: MIT */
/* account.c: the lower bound of a farm's makespan, and to which causes the rest
   of the makespan was lost.

   DESIGN. The makespan of each device, a core of the CPU pool being an average
   one, is

     makespan = computing + collecting + copying + idle.

   Collecting is delivering results to the user's collector. Every idle time has
   one cause:
   1. Start-up: before the generator was called, and until a GPU was ready.
   2. Generator: before it had returned, while the device had nothing to do and
      the load pool was not full; on the calling thread's core also the
      generating itself. At most the time that the calling thread was in the
      generator without computing.
   3. Imbalance: the ends of rounds, after the generator had returned or while
      loads waited.
   4. Collector: results are delivered, and no unit is left to be computed in
      this round, or, where rounds overlap, in the farm.
   5. Reduction, and teardown: after the last result.
   Times are taken once a farm, a round or a pull, never for a load. What no
   cause explains is overhead. Devices are weighted by their rates, since an
   idle time of a fast device is more work that was not done.

   The bound is a linear programme over where work may run. Tasks of a function
   farm may be for one kind of device alone, so it is the largest of all work /
   all rates, CPU-only work / rate of the CPU pool and GPU-only work / rates of
   the GPUs. The losses are those of the devices that the largest quotient is
   about; time that these spent on work that other devices could have done
   counts as imbalance. Where workers emit what joins open rounds, the longest
   chain of loads of which each was emitted by the one before (open.c) is a
   bound, too; what it exceeds the quotients by is no loss, and comes off the
   imbalance.

   Open rounds overlap with any other, so in a farm that has begun one the
   imbalance is all time in which a device computed nothing after the generator
   had returned.

   Thread safety: hass_account_round under the decision lock; the rest by the
   calling thread when all other threads have left. */
#include "job-private.h"

/* -- Rounds ------------------------------------------------------------- */

/* Returns: TRUE if tails (idle times of devices at the end of a round) are
   counted once, at the end of the farm, because in a live farm on the CPU alone
   the next round begins before the last one ends, and because open rounds run
   beside others. */
static gboolean
tails_at_end (const HassJob *job)
{
  return (job->engine->real_time && hass_job_overlaps (job)) || job->has_opened;
}

/* Returns when a worker last finished computing, in ns, at most @end_ns. After
   that time only results are delivered, which takes no time in virtual time:
   there, and without a collector, the function returns @end_ns. */
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

/* Returns the time, in ns, that the average core spent on delivering results
   after @computed_ns, when no unit was computed on any device, and adds it to
   the totals. */
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

/* Adds the tails of a round that has ended, in ns, to each device's totals. A
   tail is the time from a core's or device's last unit to the end of the round.
   As long as the generator has not returned, tails count as imbalance only if
   loads waited; if none did, the generator caused them. */
void
hass_account_round (HassJob *job, const HassRound *round, gint64 end_ns)
{
  if (tails_at_end (job))
    return;
  /* Acquire pairs with the release in hass_job_generate, which publishes
     generated_ns. */
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

/* Adds up the tails of the cores once, at the end of a farm whose rounds
   overlap: a core's tail is the time after its very last unit. */
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

void
hass_job_workers_of (const HassJob *job, guint d, guint *first, guint *n)
{
  gboolean cpu = job->devices[d].kind == HASS_DEVICE_CPU;
  *first = cpu ? 0 : MAX (job->n_cores, 1) + d - (job->cpu >= 0);
  *n = cpu ? job->n_cores : 1;
}

/* Adds up the idle times of each device once, at the end of a farm that has
   begun open rounds; replaces what rounds before those have added. */
static void
add_idle_times (HassJob *job, gint64 end_ns)
{
  const HassPhases *p = &job->phases;
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassTotals *t = &job->totals[d];
      guint first, n;
      double tail = 0, early = 0;
      hass_job_workers_of (job, d, &first, &n);
      for (guint i = first; i < first + n; i++)
        {
          const HassWorker *w = &job->workers[i];
          tail += MAX (end_ns - MAX (w->last_end_ns, job->begin_ns), 0);
          early += w->early_ns;
        }
      t->tail_ns = tail / n;
      double from = MAX (p->generated_ns, t->ready_ns);
      t->imbalance_ns = MAX (p->worked_ns - from - (t->busy_ns - early / n), 0);
    }
}

/* Returns the time, in ns, that device @d spent on delivering results to the
   collector, as an average over its workers. */
static double
collecting (const HassJob *job, guint d)
{
  guint first, n;
  double sum = 0;
  hass_job_workers_of (job, d, &first, &n);
  for (guint i = first; i < first + n; i++)
    sum += job->workers[i].collect_ns;
  return sum / n;
}

/* Completes the totals when the farm has ended. The busy time of the cores so
   far includes delivering results to the collector, which is subtracted. */
void
hass_account_end (HassJob *job, gint64 end_ns)
{
  if (job->has_opened)
    add_idle_times (job, end_ns);
  else if (tails_at_end (job))
    add_last_tails (job, end_ns);
  if (job->cpu < 0)
    return;
  HassTotals *t = &job->totals[job->cpu];
  double ns = collecting (job, job->cpu);
  t->busy_ns -= ns;
  t->kernel_ns -= ns;
}

/* -- Losses ------------------------------------------------------------- */

/* The time, in ns, that one device lost to each cause. */
typedef struct
{
  double startup, generator, collector, copies, imbalance;
} Lost;

/* Returns the time that device @d lost to each cause. @common: ns at the end of
   the farm that are lost to all devices alike (collector, reduction, teardown).
 */
static Lost
lost_on (const HassJob *job, guint d, double makespan_ns, double common)
{
  const HassPhases *p = &job->phases;
  const HassTotals *t = &job->totals[d];
  double in_generator = p->generated_ns - p->generate_ns;
  double early
      = t->early_ns + CLAMP (t->ready_ns - p->generate_ns, 0, in_generator);
  guint first, n;
  hass_job_workers_of (job, d, &first, &n);
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
  /* A GPU with bundles in flight goes on computing while its proxy thread
     delivers results, so at most the GPU's idle time was lost to the collector.
   */
  double idle = makespan_ns - t->busy_ns - lost.startup - lost.generator
                - lost.imbalance - common;
  if (job->devices[d].kind != HASS_DEVICE_CPU)
    lost.collector = CLAMP (lost.collector, 0, MAX (idle, 0));
  return lost;
}

/* The work that one device did, and its rate, as the bound counts them. */
typedef struct
{
  /* elements or work per ns; 0: unknown, the device does not count */
  double rate;
  double done; /* work done; in virtual time by the model's costs */
  /* the part of @done that no other kind of device may run */
  double exclusive;
  /* elements of halos, neighbours of blocks that were read besides */
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

/* A lower bound of the makespan, and the devices that it is about: all of them,
   or those of one kind with the work that only they can run. */
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

/* Returns the time, in ns, of the longest chain of loads of which each was
   emitted by the one before; 0: none was. */
static double
longest_chain_ns (const HassJob *job)
{
  double longest = 0;
  for (guint i = 0; i < job->n_workers && job->has_opened; i++)
    longest = MAX (longest, job->workers[i].longest_ns);
  return longest;
}

static void
set_makespan (HassReport *r, double s)
{
  r->makespan_s = s;
  r->efficiency = s > 0 ? r->bound_s / s : 0;
}

/* Returns the sum of all losses with a known cause, in s: all but overhead. */
static double
named_s (const HassReport *r)
{
  return r->lost_startup_s + r->lost_generator_s + r->lost_copies_s
         + r->lost_halo_s + r->lost_imbalance_s + r->lost_collector_s
         + r->lost_reduce_s + r->lost_teardown_s;
}

/* Extends the report's makespan to @makespan_ns: the time since the report was
   made went into teardown, when all devices waited. */
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

/* Fills in the bound, the efficiency and the losses of the report; HassReport
   says what each means. */
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
      hass_job_workers_of (job, d, &first, &n);
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
  double more = MAX (longest_chain_ns (job) * 1e-9 - r->bound_s, 0);
  r->lost_imbalance_s = MAX (r->lost_imbalance_s - more, 0);
  r->bound_s += more;
  set_makespan (r, makespan_ns * 1e-9);
  r->lost_overhead_s = r->makespan_s - r->bound_s - named_s (r);
}

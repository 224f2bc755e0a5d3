/* SPDX-License-Identifier: MIT */
/* alone.c: what decides whether devices are started for a pipeline: short ones,
   which cores compute alone, and what is left for devices.

   DESIGN. A GPU that was not used yet takes a quarter of a second to start, and
   pinning memory waits for that. Cores may be through before. Whether they are
   is known from earlier runs (engine/profile/stages.c): how long a token takes
   the devices, and how many loads the last run had. If that many take the cores
   less than the start of a GPU and what cores and GPU take together then, the
   cores have the pipeline for themselves: no GPU is started, and memory is not
   pinned. This ends when more loads have come than in the last run, or when the
   pipeline has run for as long as it would have taken with a GPU; from then on
   all is as if it had begun then.

   Loses where a long stream follows a short one and its loads come slowly: at
   most as long as that.

   Thread safety: the calling thread, except where stated. */
#include "stream-private.h"

#include <math.h>

#include "device/ops.h"

/* A start that takes less than this, in ns, is not worth avoiding. A guess, as
   in engine/live/proxy_need.c. */
#define LEAST_START_NS 1000000
/* Devices bind if they have something in flight for at least this part of a
   time. Measured on an H200: 0.99 where the GPU binds, 0.27 and 0.57 where an
   ordered stage on the cores does. Less, and devices are opened that cores keep
   waiting; more, and short gaps between bundles keep one from being opened. */
#define BINDS 0.9

/* Returns: the time in ns in which the soonest of the devices that have to be
   started would be; 0: one needs no start, or there is none. */
static double
start_ns (const HassJob *job)
{
  double least_ns = INFINITY;
  for (guint d = 0; d < job->n_devices; d++)
    {
      HassDeviceOps ops;
      if ((gint)d == job->cpu)
        continue;
      if (!job->gpus[d] || !hass_device_ops_read (&ops, job->gpus[d], NULL)
          || !ops.opening_ns)
        return 0;
      least_ns = MIN (least_ns, (double)ops.opening_ns (job->gpus[d]));
    }
  return isfinite (least_ns) && least_ns >= LEAST_START_NS ? least_ns : 0;
}

/**
 * Known: what earlier runs have shown, of the stages that devices can compute,
 *   too: the others are not measured and take as long in any case.
 * @all_ns: time of a token on all cores together, in ns.
 * @one_ns: of one token alone: on one core, or in a stage in which cores help
 *   each other, on these.
 * @with_ns: of a token on all cores and devices together; 0 in a stage that no
 *   device is known in, as it may be fast there.
 */
typedef struct
{
  double all_ns, one_ns, with_ns;
} Known;

/* Returns: FALSE if the cores' time in a stage is unknown, or it needs a
   device. */
static gboolean
look_up (const HassStream *stream, Known *known)
{
  const HassJob *job = stream->job;
  *known = (Known){ 0 };
  for (guint s = 0; s < stream->n_stages; s++)
    {
      const HassProfileRate *rates = &job->env.profile[s * job->n_devices];
      const HassProfileRate *cores = &rates[job->cpu];
      double devices = 0;
      if (!stream->stages[s].linked)
        continue;
      if (cores->work_per_ns <= 0)
        return FALSE;
      for (guint d = 0; d < job->n_devices; d++)
        devices += (gint)d != job->cpu ? rates[d].work_per_ns : 0;
      known->all_ns += 1 / cores->work_per_ns;
      known->one_ns += cores->latency_ns > 0
                           ? cores->latency_ns
                           : job->n_cores / cores->work_per_ns;
      if (devices > 0)
        known->with_ns += 1 / (cores->work_per_ns + devices);
    }
  return known->all_ns > 0;
}

/* The strategy has been made. */
void
hass_stream_alone_begin (HassJob *job)
{
  HassStream *stream = hass_stream_of (job);
  double loads = (double)job->loads_before, open_ns;
  Known known;
  if (loads == 0 || job->cpu < 0 || !job->env.profile
      || (open_ns = start_ns (job)) <= 0 || !look_up (stream, &known))
    return;
  /* No more tokens than the bound are computed at a time, and one is computed
     when all others are through. */
  double each_ns
      = MAX (known.all_ns, known.one_ns / (double)stream->user_tokens);
  double with_ns = open_ns + loads * known.with_ns;
  if (loads * each_ns + known.one_ns >= with_ns)
    return;
  stream->alone_loads = job->loads_before;
  stream->alone_ns = with_ns;
  atomic_store_explicit (&job->alone, TRUE, memory_order_relaxed);
}

/* Any thread, under the decision lock. Returns: TRUE if the cores have the
   pipeline for themselves, which may end now. */
gboolean
hass_stream_is_alone (HassStream *stream)
{
  HassJob *job = stream->job;
  if (!atomic_load_explicit (&job->alone, memory_order_relaxed))
    return FALSE;
  if (hass_load_pool_emitted (job->pool) <= stream->alone_loads
      && (double)(job->engine->now (job) - job->begin_ns) < stream->alone_ns)
    return TRUE;
  atomic_store_explicit (&job->alone, FALSE, memory_order_relaxed);
  return FALSE;
}

/* -- What is left ------------------------------------------------------- */

/* Returns: the time in which a device had something in flight, in ns. */
static double
busy_ns (const HassJob *job, const HassStream *stream, guint d, gint64 now_ns)
{
  gint64 since_ns
      = stream->bundles[d] > 0 ? now_ns - stream->busy_until_ns[d] : 0;
  return job->totals[d].busy_ns + (double)MAX (since_ns, 0);
}

/* Returns: how many loads are not admitted yet, those included that have not
   come but will. *@more: others may come. */
static double
n_to_come (const HassJob *job, gboolean *more)
{
  const HassFarm *farm = job->farm;
  double n = (double)hass_stream_n_waiting (hass_stream_of (job));
  *more = FALSE;
  if (atomic_load_explicit (&job->generated, memory_order_acquire))
    return n;
  guint64 emitted = hass_load_pool_emitted (job->pool);
  guint64 given = MIN (emitted, farm->n_loads);
  guint64 expected = farm->generate ? farm->run->loads_expected : 0;
  *more = farm->generate && (expected == 0 || emitted - given > expected);
  n += (double)(farm->n_loads - given);
  if (farm->generate && !*more)
    n += (double)(expected - (emitted - given));
  return n;
}

/* Each token in flight or to come passes at least one more stage. */
HassRest
hass_stream_rest (HassJob *job, guint device)
{
  HassStream *stream = hass_stream_of (job);
  HassRest rest = { .alone = hass_stream_is_alone (stream), .binds = BINDS };
  double tokens
      = (double)atomic_load_explicit (&stream->n_tokens, memory_order_relaxed)
        + n_to_come (job, &rest.more);
  gint64 now_ns = job->engine->now (job);
  double units = 0, done_ns = 0;
  guint n = 0;
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassTotals *t = &job->totals[d];
      if (!job->gpus[d] || !hass_device_alike (job->gpus[d], job->gpus[device])
          || t->lost || t->units == 0)
        continue;
      n++;
      units += (double)t->units;
      done_ns += t->busy_ns;
      rest.busy_ns += busy_ns (job, stream, d, now_ns);
      rest.open |= (guint64)1 << d;
    }
  rest.shown = n > 0;
  if (n == 0)
    return rest;
  rest.busy_ns /= n;
  rest.ns = tokens * done_ns / units / n;
  return rest;
}

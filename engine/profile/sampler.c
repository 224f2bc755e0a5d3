/* SPDX-License-Identifier: MIT */
/* sampler.c: measures the devices of a live farm for the profile store.

   DESIGN. Each completion is added to a few sums, which takes no memory. When
   the farm has ended without an error, the sums of each device that did enough
   work become a sample.

   1. The first completion of a device is its warm-up and is excluded. A
      completion of a CPU pool stands for many pulls, often for all; if its busy
      time is at least WARM_BUSY_NS, the warm-up is a small fraction of it and
   it is included.
   2. The rate is work / busy time. The busy time of a GPU's bundle is from its
      grant or the end of the bundle before to its results; that of a CPU pool
   is the average over its cores.
   3. A farm that is too short for the file is remembered by the process, with
   the little that it shows: the best bundle except the first, and all work of
   the cores.
   4. The fixed cost of a bundle is the intercept of a line fitted to busy time
      over work, if bundles differ enough in work and lie close to the line.

   Thread safety: begin and store by the thread that called the farm; observe
   under the decision lock. */
#include "sampler.h"
#include "profile-private.h"

#define LEAST_RUN_NS 10000000  /* shorter farms are not worth a write */
#define LONG_RUN_NS 1000000000 /* always are */
#define SHORT_S 10 /* between samples of others, once they are known */
#define LEAST_BUSY_NS 1000000 /* of a device */
#define SHORT_BUSY_NS 10000   /* in such a farm */
#define WARM_BUSY_NS 10000000 /* a CPU pool's, that hides the warm-up */
#define LEAST_COMPLETIONS 3   /* of a CPU pool: pulls */
#define LEAST_FOR_LINE 5      /* bundles */
#define LEAST_SPREAD 0.1      /* standard deviation of work by mean */
#define LEAST_CORRELATION 0.5 /* squared */

typedef struct
{
  guint64 units;
  double work, busy_ns;
} Sum;

/* Of one device. */
typedef struct
{
  gboolean begun;
  Sum warm_up, rest;
  gint64 end_ns; /* of the last bundle */
  guint64 n;     /* completions in rest, and their moments */
  double mean_work, mean_ns, var_work, var_ns, covar;
  double best_rate; /* of one */
} Sampler;

struct HassSamplers
{
  const HassStrategyEnv *env; /* the farm's */
  const char *strategy;
  HassProfileRate *known; /* [n_devices] */
  Sampler each[];         /* [n_devices] */
};

/* Looks up what earlier runs have shown and puts it into @env, which stays the
   caller's and must stay valid, as @strategy must. NULL: nothing is to be
   measured. */
HassSamplers *
hass_samplers_begin (HassStrategyEnv *env, const char *strategy)
{
  if (!hass_profile_wanted (env->farm_name))
    return NULL;
  HassProfileRate *known = hass_profile_find (env, strategy);
  env->profile = known;
  if (!known)
    return NULL;
  HassSamplers *s = g_malloc0 (sizeof *s + env->n_devices * sizeof s->each[0]);
  s->env = env;
  s->strategy = strategy;
  s->known = known;
  return s;
}

void
hass_samplers_free (HassSamplers *samplers)
{
  g_free (samplers->known);
  g_free (samplers);
}

static gboolean
is_cpu (const HassSamplers *s, guint device)
{
  return s->env->devices[device].kind == HASS_DEVICE_CPU;
}

static void
add (Sum *sum, const HassCompletion *done, double busy_ns)
{
  sum->units += done->units;
  sum->work += done->work;
  sum->busy_ns += busy_ns;
}

void
hass_samplers_observe (HassSamplers *samplers, const HassCompletion *done)
{
  if (!samplers || done->failed)
    return;
  Sampler *s = &samplers->each[done->device];
  gboolean cpu = is_cpu (samplers, done->device);
  /* With several in flight it began when the one before was done. */
  gint64 start_ns = MAX (done->start_ns, s->end_ns);
  double ns = cpu ? done->kernel_ns : (double)(done->end_ns - start_ns);
  s->end_ns = MAX (s->end_ns, done->end_ns);
  add (s->begun ? &s->rest : &s->warm_up, done, ns);
  if (s->begun && !cpu)
    {
      double off_work = done->work - s->mean_work, off_ns = ns - s->mean_ns;
      s->n++;
      s->best_rate = MAX (s->best_rate, done->work / MAX (ns, 1));
      s->mean_work += off_work / s->n;
      s->mean_ns += off_ns / s->n;
      s->var_work += off_work * (done->work - s->mean_work);
      s->var_ns += off_ns * (ns - s->mean_ns);
      s->covar += off_work * (ns - s->mean_ns);
    }
  s->begun = TRUE;
}

static double
latency (const Sampler *s)
{
  double least = LEAST_SPREAD * s->mean_work;
  if (s->n < LEAST_FOR_LINE || s->covar <= 0
      || s->var_work < s->n * least * least
      || s->covar * s->covar < LEAST_CORRELATION * s->var_work * s->var_ns)
    return 0;
  return MAX (s->mean_ns - s->covar / s->var_work * s->mean_work, 0);
}

static HassProfileSample
sample_of (const HassSamplers *samplers, guint device,
           const HassSampled *totals, gboolean is_short)
{
  const Sampler *s = &samplers->each[device];
  gboolean cpu = is_cpu (samplers, device);
  guint64 n = cpu ? totals->bundles : s->n;
  Sum sum = s->rest;
  if (cpu && (is_short || s->warm_up.busy_ns >= WARM_BUSY_NS))
    {
      sum.units += s->warm_up.units;
      sum.work += s->warm_up.work;
      sum.busy_ns += s->warm_up.busy_ns;
    }
  if (totals->lost || n < (is_short ? 1 : LEAST_COMPLETIONS)
      || sum.busy_ns < (is_short ? SHORT_BUSY_NS : LEAST_BUSY_NS)
      || sum.units == 0 || !(sum.work > 0))
    return (HassProfileSample){ 0 };
  double rate = sum.work / sum.busy_ns;
  return (HassProfileSample){ .work_per_ns
                              = is_short ? MAX (rate, s->best_rate) : rate,
                              .latency_ns = latency (s),
                              .unit_work = sum.work / sum.units };
}

/* The farm has ended well after so long. */
void
hass_samplers_store (HassSamplers *s, const HassSampled *devices, gint64 run_ns)
{
  guint n = s->env->n_devices;
  gboolean any = FALSE, is_short = run_ns <= LEAST_RUN_NS;
  double work = 0;
  if (is_short && n == 1)
    return;
  g_autofree HassProfileSample *samples = g_new (HassProfileSample, n);
  for (guint d = 0; d < n; d++)
    {
      samples[d] = sample_of (s, d, &devices[d], is_short);
      any |= samples[d].work_per_ns > 0;
      work += devices[d].work;
    }
  if (is_short && work > 0)
    hass_profile_remember (s->env, s->strategy, samples, work, (double)run_ns);
  if (!is_short && any)
    hass_profile_add (s->env, samples, run_ns < LONG_RUN_NS ? SHORT_S : 0);
}

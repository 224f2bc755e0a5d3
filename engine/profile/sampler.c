/* SPDX-License-Identifier: MIT */
/* sampler.c: measures the devices of a live farm for the profile store.

   DESIGN. Each completion is added to a few sums, which takes no memory. When
   the farm has ended without an error, the sums of each device that did enough
   work become a sample.
   1. Warm-up. The first completion of a device is its warm-up and is excluded.
      A completion of a CPU pool stands for many pulls, often for all; if its
      busy time is at least WARM_BUSY_NS, the warm-up is a small fraction of it
      and it is included. So it is if there is no other: a single unit is enough
      for a core, as a single further bundle is for a GPU, since more may cost
      more than they teach where one device is hundreds of times as fast. A
      GPU's only bundle counts if it was faster than all cores together, as the
      GPU is faster then whatever its warm-up took, or if they did nothing: then
      it was the farm.
   2. Rate. It is work / busy time, where the bundles of a GPU count by their
      work: it is asked what large bundles take, and a farm of few units has
      many small ones. The busy time of a GPU's bundle is from its grant, or the
      end of the previous bundle if that is later, to its results; that of a CPU
      pool is the average over its cores.
   3. Short farms. A farm that is too short for the file is remembered by the
      process, with the little that it shows: all bundles except the first, and
      all work of the cores.
   4. Functions. Those of a function farm are measured like farms of their own,
      but that a GPU's only bundle counts in any case, however short: it is
      tried with one unit of a function, and would be again in each run.
   5. Fixed part. The fixed part of a bundle's time is the intercept of a line
      fitted to busy time over work, if bundles differ enough in work and lie
      close to the line.

   A pipeline is measured by stages.c, a dataflow by itself.

   Thread safety: begin and store by the thread that called the farm; observe
   and served under the decision lock. */
#include "profile-private.h"
#include "sched/fit.h"

/* Farms that run for no longer than this, in ns, are only remembered by the
   process, not written to the profile store's file. A guess: smaller, and
   writing takes a notable part of a farm's time; larger, and more farms lose
   their rates when the process ends. */
#define LEAST_RUN_NS 10000000
/* Farms that run for at least this, in ns, always add a sample of their
   devices' rates to the profile store's file. A guess: smaller, and loops of
   farms write often; larger, and changes of a device are stored later. */
#define LONG_RUN_NS 1000000000
/* Least time, in s, between two samples of a farm that runs for less than
   LONG_RUN_NS and whose devices have enough runs in the profile store. A guess:
   shorter, and loops of farms write often; longer, and changes of a device are
   stored later. */
#define SHORT_S 10
/* Least busy time of a GPU that is not faster than all cores, or of all cores
   together, in ns, for a sample of its rate. A guess: less, and samples are
   noisy; more, and devices with a small share get none. */
#define LEAST_BUSY_NS 1000000
/* Least busy time, in ns, for a sample of the rate of a GPU that is faster than
   all cores, and of any device in a farm that is too short for the profile
   store's file. A guess: less, and samples are noisy; more, and the shortest
   farms get none. */
#define SHORT_BUSY_NS 10000
/* If the first completion of a CPU pool has at least this busy time, in ns, the
   pool's warm-up is a negligible part of it and the completion is included in
   the sample. A guess: smaller, and the warm-up lowers the rate; larger, and
   farms of one round give no sample. */
#define WARM_BUSY_NS 10000000
/* Least number of bundles for fitting the line of time over work whose
   intercept is the fixed part of a bundle's time. A guess: fewer, and the fixed
   part is noise; more, and the fixed part is seldom known. */
#define LEAST_FOR_LINE 3
/* Least spread of the bundles' work, as standard deviation / mean, for fitting
   the line of time over work that gives the fixed part of a bundle's time. A
   guess: smaller, and the fixed part is noise; larger, and the fixed part is
   seldom known. */
#define LEAST_SPREAD 0.1
/* Least squared correlation of the bundles' times with their work for using the
   line of time over work that gives the fixed part of a bundle's time. A guess:
   smaller, and the fixed part is noise; larger, and the fixed part is seldom
   known. */
#define LEAST_CORRELATION 0.5
/* At least this part of the time of bundles depends on their work. A guess, as
   in sched/fit.c: with 0 the rate could be infinite. */
#define LEAST_SLOPED 0.02

typedef struct
{
  guint64 units;
  double work, busy_ns;
  /* of the squares of a bundle's work, and of its work times its time, which is
     at least that from grant to results over the bundles in flight: one that
     was overtaken seems to take no time */
  double squares, products;
} Sum;

/* What was measured of one device in this run. */
typedef struct
{
  gboolean begun;
  Sum warm_up, rest;
  gint64 end_ns; /* end of the last bundle */
  /* completions in @rest, mean and squared deviations of their work and time */
  guint64 n;
  double mean_work, mean_ns, var_work, var_ns, covar;
  /* of all completions, their number and the part of their kernels' time that
     more units would not have needed */
  guint64 n_all;
  double unfilled_ns;
} Sampler;

struct HassSamplers
{
  HassStageSamplers *stages;  /* of a pipeline, which needs no other field */
  const HassStrategyEnv *env; /* what the strategy is told of the farm */
  const char *strategy;
  gboolean of_function;   /* these are samplers of a function of a farm */
  HassProfileRate *known; /* [n_devices] */
  /* [n_functions] of a function farm, each as if it were a farm */
  HassStrategyEnv *function_envs;
  HassSamplers **functions;
  HassProfileRate *function_profile; /* [n_functions * n_devices] */
  Sampler each[];                    /* [n_devices] */
};

static HassSamplers *
begin_stages (HassStrategyEnv *env)
{
  g_autofree char *path = hass_profile_path ();
  HassStageSamplers *stages = path ? hass_stage_samplers_begin (env) : NULL;
  if (!stages)
    return NULL;
  HassSamplers *s = g_new0 (HassSamplers, 1);
  s->stages = stages;
  return s;
}

static HassSamplers *
begin_farm (HassStrategyEnv *env, const char *strategy)
{
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

/* Looks the functions of a function farm up, each as a farm named "farm/1",
   "farm/2" and so on, in order of their first tasks: programs that emit the
   same tasks in each run find the same function under the same name. */
static void
begin_functions (HassSamplers *s, HassStrategyEnv *env)
{
  guint n = env->n_functions, n_devices = env->n_devices;
  s->function_envs = g_new0 (HassStrategyEnv, n);
  s->functions = g_new0 (HassSamplers *, n);
  s->function_profile = g_new0 (HassProfileRate, n * n_devices);
  for (guint f = 0; f < n; f++)
    {
      HassStrategyEnv *part = &s->function_envs[f];
      *part = *env;
      part->n_functions = 0;
      part->farm_name = g_strdup_printf ("%s/%u", env->farm_name, f + 1);
      if (hass_profile_wanted (part->farm_name))
        s->functions[f] = begin_farm (part, s->strategy);
      if (!s->functions[f])
        continue;
      s->functions[f]->of_function = TRUE;
      memcpy (s->function_profile + f * n_devices, part->profile,
              n_devices * sizeof *part->profile);
    }
  env->function_profile = s->function_profile;
}

/* Looks up the devices' rates in earlier runs and puts them into @env for the
   strategy. @env and @strategy stay the caller's and must stay valid. Returns:
   NULL if nothing is to be measured. */
HassSamplers *
hass_samplers_begin (HassStrategyEnv *env, const char *strategy)
{
  if (!hass_profile_wanted (env->farm_name) || env->farm == HASS_FARM_DATAFLOW)
    return NULL;
  if (env->farm == HASS_FARM_PIPELINE)
    return begin_stages (env);
  HassSamplers *s = begin_farm (env, strategy);
  if (s && env->n_functions > 1)
    begin_functions (s, env);
  return s;
}

void
hass_samplers_free (HassSamplers *samplers)
{
  g_clear_pointer (&samplers->stages, hass_stage_samplers_free);
  for (guint f = 0; samplers->functions && f < samplers->env->n_functions; f++)
    {
      g_clear_pointer (&samplers->functions[f], hass_samplers_free);
      g_free ((char *)samplers->function_envs[f].farm_name);
    }
  g_free (samplers->functions);
  g_free (samplers->function_envs);
  g_free (samplers->function_profile);
  g_free (samplers->known);
  g_free (samplers);
}

static gboolean
is_cpu (const HassSamplers *s, guint device)
{
  return s->env->devices[device].kind == HASS_DEVICE_CPU;
}

static void
add (Sum *sum, const HassCompletion *done, double busy_ns, double least_ns)
{
  sum->units += done->units;
  sum->work += done->work;
  sum->busy_ns += busy_ns;
  sum->squares += done->work * done->work;
  sum->products += done->work * MAX (busy_ns, least_ns);
}

/* Adds a completion to the sums of its function. If bundles of several
   functions are in flight, this one counts from the end of the previous one. */
static void
observe_function (HassSamplers *samplers, const HassCompletion *done)
{
  const Sampler *all = &samplers->each[done->device];
  HassCompletion told = *done;
  told.start_ns = MAX (done->start_ns, all->end_ns);
  hass_samplers_observe (samplers->functions[done->function], &told);
}

void
hass_samplers_observe (HassSamplers *samplers, const HassCompletion *done)
{
  if (!samplers || done->failed)
    return;
  if (samplers->functions)
    observe_function (samplers, done);
  Sampler *s = &samplers->each[done->device];
  gboolean cpu = is_cpu (samplers, done->device);
  /* If several bundles are in flight, this one counts from the end of the
     previous one. */
  gint64 start_ns = MAX (done->start_ns, s->end_ns);
  double took_ns = (double)MAX (done->end_ns - start_ns, 0);
  double least_ns = MAX (done->h2d_busy_ns, done->kernel_busy_ns);
  double idle_ns = MAX (took_ns - least_ns, 0);
  double once_ns = done->setup_ns + (s->begun ? 0 : done->worker_ns);
  double ns = cpu ? done->kernel_ns : took_ns - MIN (once_ns, idle_ns);
  s->end_ns = MAX (s->end_ns, done->end_ns);
  double held_ns = MAX (done->end_ns - done->start_ns - once_ns, 0);
  guint in_flight = samplers->env->devices[done->device].max_in_flight;
  add (s->begun ? &s->rest : &s->warm_up, done, ns,
       held_ns / MAX (in_flight, 1));
  s->n_all++;
  if (samplers->of_function && !cpu)
    s->unfilled_ns
        += hass_unfilled_ns (&samplers->env->devices[done->device], done, ns);
  if (s->begun && !cpu)
    {
      double off_work = done->work - s->mean_work, off_ns = ns - s->mean_ns;
      s->n++;
      s->mean_work += off_work / s->n;
      s->mean_ns += off_ns / s->n;
      s->var_work += off_work * (done->work - s->mean_work);
      s->var_ns += off_ns * (ns - s->mean_ns);
      s->covar += off_work * (ns - s->mean_ns);
    }
  s->begun = TRUE;
}

/* What a device has done of a stage of a pipeline. */
void
hass_samplers_served (HassSamplers *samplers, const HassServed *done)
{
  if (samplers)
    hass_stage_samplers_observe (samplers->stages, done);
}

guint64
hass_samplers_loads (const HassSamplers *samplers)
{
  return samplers->stages ? hass_stage_samplers_loads (samplers->stages) : 0;
}

void
hass_samplers_had_loads (HassSamplers *samplers, guint64 loads)
{
  if (samplers->stages)
    hass_stage_samplers_had_loads (samplers->stages, loads);
}

/* Returns: the fixed part of a bundle's time, as a line over bundles of several
   sizes shows it; 0: it does not. */
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

static void
include_warm_up (Sum *sum, const Sampler *s)
{
  sum->units += s->warm_up.units;
  sum->work += s->warm_up.work;
  sum->busy_ns += s->warm_up.busy_ns;
  sum->squares += s->warm_up.squares;
  sum->products += s->warm_up.products;
}

/* Returns: what all cores together have done; no work: nothing, or there are
   none. */
static Sum
of_cores (const HassSamplers *samplers)
{
  Sum all = { 0 };
  for (guint d = 0; d < samplers->env->n_devices; d++)
    if (is_cpu (samplers, d))
      {
        all = samplers->each[d].rest;
        include_warm_up (&all, &samplers->each[d]);
      }
  return all;
}

/* Returns: whether a GPU was faster in @sum than all cores together have
   been. */
static gboolean
outran (const Sum *sum, const Sum *cores)
{
  return cores->work > 0
         && sum->work * cores->busy_ns > cores->work * sum->busy_ns;
}

static HassProfileSample
sample_of (const HassSamplers *samplers, guint device, gboolean lost,
           gboolean is_short)
{
  const Sampler *s = &samplers->each[device];
  gboolean cpu = is_cpu (samplers, device);
  guint servers = cpu ? MAX (samplers->env->devices[device].cores, 1) : 1;
  Sum sum = s->rest, cores = of_cores (samplers);
  if (cpu ? is_short || sum.units == 0 || s->warm_up.busy_ns >= WARM_BUSY_NS
          : sum.units == 0
                && (samplers->of_function || cores.units == 0
                    || outran (&s->warm_up, &cores)))
    include_warm_up (&sum, s);
  gboolean brief
      = is_short || (!cpu && (samplers->of_function || outran (&sum, &cores)));
  if (lost || sum.busy_ns * servers < (brief ? SHORT_BUSY_NS : LEAST_BUSY_NS)
      || sum.units == 0 || !(sum.work > 0) || !(sum.products > 0))
    return (HassProfileSample){ 0 };
  /* Until bundles of a function have shown it, what a full GPU would not have
     needed is taken to be fixed. */
  double fixed_ns = latency (s);
  if (fixed_ns == 0 && !cpu && samplers->of_function)
    {
      fixed_ns = s->unfilled_ns / (double)s->n_all;
      sum.products = MAX (sum.products - fixed_ns * sum.work,
                          LEAST_SLOPED * sum.products);
    }
  return (HassProfileSample){ .work_per_ns = cpu ? sum.work / sum.busy_ns
                                                 : sum.squares / sum.products,
                              .latency_ns = fixed_ns,
                              .unit_work = sum.work / sum.units };
}

/* Fills in what a farm or function has shown of its devices [n_devices].
   Returns: its work. */
static double
sample_all (const HassSamplers *s, const gboolean *lost, gboolean is_short,
            HassProfileSample *samples)
{
  double work = 0;
  for (guint d = 0; d < s->env->n_devices; d++)
    {
      samples[d] = sample_of (s, d, lost[d], is_short);
      work += s->each[d].warm_up.work + s->each[d].rest.work;
    }
  return work;
}

/* Returns: how many functions the farm has called. */
static guint
n_called (const HassSamplers *s)
{
  guint n = 0;
  for (guint f = 0; s->functions && f < s->env->n_functions; f++)
    {
      double work = 0;
      for (guint d = 0; s->functions[f] && d < s->env->n_devices; d++)
        work += s->functions[f]->each[d].warm_up.work
                + s->functions[f]->each[d].rest.work;
      n += work > 0;
    }
  return n;
}

/* Stores the rates that the farm has shown of its devices, in the file or, if
   it was short, in this process. The farm has ended without an error after
   @run_ns. */
void
hass_samplers_store (HassSamplers *s, const gboolean *lost, gint64 run_ns)
{
  gboolean any = FALSE, is_short = run_ns <= LEAST_RUN_NS;
  gint64 within_s = run_ns < LONG_RUN_NS ? SHORT_S : 0;
  if (s->stages)
    {
      if (!is_short)
        hass_stage_samplers_store (s->stages, lost, run_ns, within_s);
      return;
    }
  guint n = s->env->n_devices, n_parts = 0;
  guint most = n_called (s) > 1 ? s->env->n_functions : 0;
  if (is_short && n == 1)
    return;
  g_autofree HassProfileSample *samples
      = g_new (HassProfileSample, (most + 1) * n);
  g_autofree HassStrategyEnv *parts = g_new (HassStrategyEnv, most + 1);
  for (guint f = 0; f <= most; f++)
    {
      const HassSamplers *part = f < most ? s->functions[f] : s;
      HassProfileSample *shown = &samples[n_parts * n];
      if (!part)
        continue;
      double work = sample_all (part, lost, is_short, shown);
      for (guint d = 0; d < n; d++)
        any |= shown[d].work_per_ns > 0;
      if (is_short && work > 0)
        hass_profile_remember (part->env, s->strategy, shown, work,
                               (double)run_ns);
      parts[n_parts++] = *part->env;
    }
  if (!is_short && any)
    hass_profile_add (parts, n_parts, samples, within_s);
}

/* Stores what the @n codelets of a dataflow have taken, which has ended without
   an error after @run_ns. */
void
hass_samplers_store_codelets (const HassStrategyEnv *env,
                              const HassProfiledCodelet *codelets, guint n,
                              gint64 run_ns)
{
  if (run_ns > LEAST_RUN_NS && hass_profile_wanted (env->farm_name))
    hass_stages_store_codelets (env, codelets, n,
                                run_ns < LONG_RUN_NS ? SHORT_S : 0);
}
